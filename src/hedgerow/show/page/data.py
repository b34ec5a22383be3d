"""From evaluations to the data of the page: one JSON object that holds everything it shows.

Its size is bounded, whatever the number of examples and nodes: the slider has a few hundred positions, the tree
keeps the nodes with the most examples, and a few hundred examples are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from PIL import Image

from hedgerow.errors import ParameterError, argument
from hedgerow.measure import side_by_side
from hedgerow.show.lines import KINDS, System
from hedgerow.show.page.counts import Levels, Track, nearest_kept
from hedgerow.show.page.positions import Positions, as_probability, slider_steps
from hedgerow.show.page.sample import chosen_examples, described, events_of
from hedgerow.show.page.thumbnails import encoded
from hedgerow.show.page.words import LEVEL
from hedgerow.show.point import meaning, promises

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.choose import OperatingPoint
    from hedgerow.likelihood import Scale
    from hedgerow.measure import Evaluation, Interval, OperatingCurve
    from hedgerow.show.page.counts import Confusions
    from hedgerow.tree import Hierarchy, Indices

_NODES = (4_000, 2_000, 1_000, 500, 250)  # nodes of the tree to keep: the first number that fits
_CHANGES = 400_000  # of all counts of all nodes and models: about 2 MB
_SEARCHED = 30_000  # names that can be searched for beyond the kept nodes
_LONGEST_NAME = 300
_GRID = 600  # cells per unit of either axis of a drawn curve
_METRICS = ("correct", "exact", "precision", "recall", "f1")


@final
@dataclass(frozen=True, eq=False)
class PageModel:
    """One model on the page: an evaluation, or a curve alone."""

    name: str
    curve: OperatingCurve
    summary: Mapping[str, float]
    evaluation: Evaluation | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    recipe: str = ""
    """How it was trained, as TOML."""
    picture: Callable[[int], NDArray[np.uint8]] | None = None
    """Returns the image of an example, given by its number: [H, W] or [H, W, 3]."""

    @classmethod
    def of(cls, evaluation: Evaluation) -> PageModel:
        """Return the model that was evaluated."""
        return cls(evaluation.name, evaluation.curve, evaluation.summary, evaluation, evaluation.intervals)


@final
@dataclass(frozen=True)
class PagePoint:
    """What the page tells about an operating point that was chosen before."""

    promise: str
    """What it promises, in words."""
    threshold: float | None = None
    """Its threshold; None if it has several, or answers by another rule, so that it is not on the curve."""
    scale: Scale = "probability"
    """The scale of the threshold."""

    @classmethod
    def of(cls, point: OperatingPoint, evaluations: Sequence[Evaluation]) -> PagePoint:
        """Return an operating point for the page of some evaluations, which must fit it."""
        for evaluation in evaluations:
            point.check_tree(evaluation.hierarchy)
            for name in ("information", "below_label"):
                found, wanted = getattr(evaluation, name), getattr(point, name)
                if not isinstance(found, str) or found != wanted:
                    raise ParameterError(
                        f"The point was chosen with {argument(name, wanted)}, and {evaluation.name} was evaluated "
                        f"with another setting. Evaluate the scores again, or choose the point again."
                    )
        on_curve = point.by == "all" and point.rule == "threshold"
        said = " ".join([*promises(point), meaning(point)])
        return cls(said, point.threshold if on_curve else None, point.scale)

    @property
    def tau(self) -> float | None:
        """The threshold as a probability: the smallest that does not pass more than the threshold does."""
        if self.threshold is None:
            return None
        return min(1.0, float(as_probability(np.array([self.threshold]), self.scale)[0]))


def aligned(models: Sequence[PageModel]) -> tuple[list[PageModel], list[str]]:
    """Return the models with examples and nodes in one order where they match, and notes where they do not."""
    evaluations = [model.evaluation for model in models if model.evaluation is not None]
    if not evaluations:
        return list(models), []
    if len(evaluations) < len(models):
        raise ParameterError("A page shows evaluations, or curves alone; not both.")
    first = evaluations[0]
    for other in evaluations[1:]:
        if other.hierarchy.fingerprint != first.hierarchy.fingerprint:
            raise ParameterError(
                f"{other.name} was evaluated with another tree than {first.name}. Make a page for each, or "
                f"evaluate the scores again with one tree."
            )
    ordered, reasons = side_by_side(evaluations)
    notes = []
    for other, reason in zip(ordered, reasons, strict=True):
        if not np.array_equal(other.hierarchy.names, first.hierarchy.names):
            raise ParameterError(
                f"{other.name} and {first.name} have different examples, and their nodes in different "
                f"orders. Evaluate the scores again with one tree file."
            )
        if reason is not None:
            notes.append(f"{other.name} cannot be compared example by example with {ordered[0].name}: {reason}")
    return [
        replace(PageModel.of(each), recipe=model.recipe, picture=model.picture)
        for each, model in zip(ordered, models, strict=True)
    ], notes


@final
@dataclass(frozen=True, eq=False)
class PageData:
    """Everything on the page that depends on the data."""

    models: Sequence[PageModel]
    """From `aligned`."""
    point: PagePoint | None = None
    picture: Callable[[str], str | None] = lambda _: None
    """Turns the name of an image file into a data URL."""

    @cached_property
    def steps(self) -> dict[Any, list[float]]:
        """The values of the slider, by mode."""
        return slider_steps([model.curve for model in self.models], None if self.point is None else self.point.tau)

    def _exactly(self, curve: OperatingCurve) -> dict[float, float]:
        """Return the step of the chosen point with its threshold, if that is on the scale of the curve."""
        point = self.point
        if point is None or point.tau is None or point.threshold is None or point.scale != curve.scale:
            return {}
        return {point.tau: point.threshold}

    @cached_property
    def positions(self) -> list[Positions]:
        """The points that the slider reaches, of each model."""
        return [Positions.of(model.curve, self.steps, self._exactly(model.curve)) for model in self.models]

    @cached_property
    def tracks(self) -> list[Track]:
        """The events of each evaluation."""
        return [
            Track(model.evaluation, positions)
            for model, positions in zip(self.models, self.positions, strict=True)
            if model.evaluation is not None
        ]

    @cached_property
    def set_of(self) -> list[int]:
        """The data set of each evaluation: models with the same labels in the same order share one."""
        found: list[Track] = []
        numbers = []
        for track in self.tracks:
            same = [i for i, other in enumerate(found) if _same_examples(track.evaluation, other.evaluation)]
            if not same:
                found.append(track)
            numbers.append(same[0] if same else len(found) - 1)
        return numbers

    @cached_property
    def start(self) -> int:
        """The step of the mode "correct" that the headline is about."""
        return self.steps["correct"].index(LEVEL) if LEVEL in self.steps["correct"] else 0

    def at_headline(self, metric: str) -> list[float]:
        """Return a metric of each model where the share of right answers is that of the headline."""
        return [float(found.values[metric][found.at["correct"][self.start]]) for found in self.positions]

    def to_dict(self) -> dict[str, Any]:
        """Return the data, ready for JSON."""
        opened: dict[str, Any] = {"mode": "correct", "step": self.start}
        point = None
        if self.point is not None and self.point.tau is not None:
            point = {"step": self.steps["threshold"].index(self.point.tau)}
            opened = {"mode": "threshold", **point}
        models = [
            {
                "name": model.name,
                "line": _line(model),
                "at": {mode: found.tolist() for mode, found in positions.at.items()},
                "tau": positions.tau.tolist(),
                "figures": {name: positions.values[name].tolist() for name in _METRICS},
            }
            for model, positions in zip(self.models, self.positions, strict=True)
        ]
        kinds = {kind: list(axes) for kind, axes in KINDS.items()}
        opened["focus"] = int(np.argmax(self.at_headline("exact")))
        data = {"steps": self.steps, "start": opened, "point": point, "kinds": kinds, "models": models}
        if self.tracks:
            data["tree"] = _Clades(self).add_to(models)
        return data


@final
@dataclass(frozen=True, eq=False)
class _Clades:
    """What the page tells about the tree and about single examples."""

    page: PageData

    @cached_property
    def hierarchy(self) -> Hierarchy:
        return self.page.tracks[0].evaluation.hierarchy

    @cached_property
    def sets(self) -> list[list[Track]]:
        """The tracks of each data set."""
        number = self.page.set_of
        return [
            [track for track, of in zip(self.page.tracks, number, strict=True) if of == i]
            for i in range(max(number) + 1)
        ]

    @cached_property
    def rows(self) -> list[Indices]:
        """The examples that are shown of each data set."""
        return [
            chosen_examples(tracks[0], int(tracks[0].positions.at["correct"][self.page.start]))
            for tracks in self.sets
        ]

    @cached_property
    def examples_below(self) -> list[NDArray[np.int64]]:
        """The number of examples of each node, for each data set."""
        found = []
        for tracks in self.sets:
            own = np.bincount(tracks[0].evaluation.labels, minlength=len(self.hierarchy))
            before = np.concatenate([[0], np.cumsum(own)])
            found.append(before[self.hierarchy.end] - before[:-1])
        return found

    @cached_property
    def confusions(self) -> list[Confusions]:
        return [track.confusions() for track in self.page.tracks]

    @cached_property
    def _mentioned(self) -> Indices:
        """The nodes in examples and confusions, and all of their ancestors."""
        nodes = [np.zeros(1, dtype=np.int64)]
        for tracks, rows in zip(self.sets, self.rows, strict=True):
            mask = np.zeros(len(tracks[0].evaluation), dtype=bool)
            mask[rows] = True
            for track in tracks:
                events = track.evaluation.events.subset(mask)
                nodes += [events.label.astype(np.int64), events.node.astype(np.int64)]
        for pairs in self.confusions:
            nodes += [pairs.truth, pairs.answer]
        found = np.unique(np.concatenate(nodes))
        every = [found]
        while len(found := np.unique(self.hierarchy.parent[found[found > 0]])):
            every.append(found)
        return np.unique(np.concatenate(every))

    def _kept(self, number: int) -> Indices:
        """Return the nodes with the most examples, and the mentioned ones; with every node its parent."""
        total = np.sum(self.examples_below, axis=0)
        # A parent has at least as many examples as its child, and comes first among equals.
        most = np.argsort(-total, kind="stable")[:number]
        return np.union1d(most[total[most] > 0], self._mentioned)

    def add_to(self, models: list[dict[str, Any]]) -> dict[str, Any]:
        """Add to every model its counts along the slider; return the tree, the data sets and the examples."""
        for number in _NODES:
            kept = self._kept(number)
            right = [track.right_below(kept) for track in self.page.tracks]
            stops = [track.stops_at(kept) for track in self.page.tracks]
            if sum(map(len, right + stops)) <= _CHANGES:
                break
        levels = Levels.of(self.hierarchy)
        per_level = [track.per_level(levels) for track in self.page.tracks]
        used = np.flatnonzero(np.any([counts.any(axis=(0, 2)) for counts in per_level], axis=0))
        local = np.full(len(self.hierarchy), -1)
        local[kept] = np.arange(len(kept))
        for i, (model, track) in enumerate(zip(models, self.page.tracks, strict=True)):
            pairs = self.confusions[i]
            rows = self.rows[self.page.set_of[i]]
            model |= {
                "set": self.page.set_of[i],
                "belowLabel": track.evaluation.below_label,
                "levels": per_level[i][:, used].reshape(len(track.positions), -1).tolist(),
                "right": right[i].lists(len(kept)),
                "stops": stops[i].lists(len(kept)),
                "pairs": {
                    "truth": local[pairs.truth].tolist(),
                    "answer": local[pairs.answer].tolist(),
                    "leaves": (pairs.leaves * 1).tolist(),
                    "count": pairs.count.lists(len(pairs.truth)),
                },
                "events": [
                    [(int(local[node]), when, confidence) for node, when, confidence in events]
                    for events in events_of(track, rows)
                ],
            }
        return {
            "levels": [levels.names[i] for i in used],
            "nodes": self._nodes(kept, local),
            "others": self._others(kept),
            "sets": [
                {
                    "examples": len(tracks[0].evaluation),
                    "count": count[kept].tolist(),
                    "shown": [
                        about | {"label": int(local[about["label"]])} for about in self._shown(tracks[0], rows)
                    ],
                }
                for tracks, count, rows in zip(self.sets, self.examples_below, self.rows, strict=True)
            ],
        }

    def _nodes(self, kept: Indices, local: Indices) -> dict[str, Any]:
        hierarchy = self.hierarchy
        titles = None if hierarchy.title is None else hierarchy.title[kept].tolist()
        return {
            "name": [_short(name) for name in hierarchy.names[kept].tolist()],
            "title": None if titles is None else [_short(title) for title in titles],
            "rank": None if hierarchy.rank is None else hierarchy.rank[kept].tolist(),
            "parent": np.where(kept > 0, local[hierarchy.parent[kept]], -1).tolist(),
            "leaf": (hierarchy.is_leaf[kept] * 1).tolist(),
        }

    def _others(self, kept: Indices) -> dict[str, Any]:
        """Return nodes that are not kept, for the search: their names, and the nearest kept ancestors."""
        total = np.sum(self.examples_below, axis=0)
        total[kept] = 0
        most = np.argsort(-total, kind="stable")[:_SEARCHED]
        most = np.sort(most[total[most] > 0])
        names = [_short(self.hierarchy.display_name(node)) for node in most.tolist()]
        return {"name": names, "inside": nearest_kept(self.hierarchy, kept, most).tolist()}

    def _shown(self, track: Track, rows: Indices) -> list[dict[str, Any]]:
        shown = described(track.evaluation, rows)
        draw = self.page.models[self.page.tracks.index(track)].picture
        names = track.evaluation.answers.images
        for about, row in zip(shown, rows.tolist(), strict=True):
            picture = None
            if draw is not None:
                picture = encoded(Image.fromarray(draw(row)))
            elif names is not None and names[row]:
                picture = self.page.picture(names[row])
            if picture is not None:
                about["image"] = picture
        return shown


def _same_examples(a: Evaluation, b: Evaluation) -> bool:
    if a is b:
        return True
    ids = a.answers.ids, b.answers.ids
    return (
        np.array_equal(a.labels, b.labels)
        and a.below_label == b.below_label
        and (ids[0] is None or ids[1] is None or np.array_equal(ids[0], ids[1]))
    )


def _line(model: PageModel) -> dict[str, Any]:
    """Return the curve to draw, for each kind of figure; dashed after the point `half`."""
    system = System(model.name, (model.curve,))
    drawn: dict[str, Any] = {}
    for kind, (along, up) in KINDS.items():
        line = system.line(along, up, grid=_GRID)
        drawn[kind] = {"x": line.x.round(6).tolist(), "y": line.y.round(6).tolist(), "half": line.half}
    return drawn


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
