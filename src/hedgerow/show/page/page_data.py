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

from hedgerow.errors import ParameterError
from hedgerow.likelihood import Scale, threshold_probability
from hedgerow.measure import Evaluation, Interval, Metric, OperatingCurve, right_of_answered, side_by_side
from hedgerow.show.curve_lines import KINDS, System
from hedgerow.show.page.clades import Clades
from hedgerow.show.page.event_counts import Track
from hedgerow.show.page.slider import Mode, Positions, slider_steps
from hedgerow.show.page.thumbnails import encoded
from hedgerow.show.printed_point import meaning, promises

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.choose import OperatingPoint

LEVEL, HEADLINE = 0.95, "R@95C"
"""The share of right answers that the headline is about, and the figure that it gives."""
_GRID = 600  # cells per unit of either axis of a drawn curve
_METRICS = ("correct", "exact", "precision", "recall", "f1")
_COLUMNS = ("correct", "answered", "right_of_answered", *_METRICS[1:])


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
    metrics: tuple[Metric, ...] = ()
    """Those of the curve in addition to the standard ones."""

    @classmethod
    def of(cls, evaluation: Evaluation) -> PageModel:
        """Return the model that was evaluated."""
        return cls(
            evaluation.name,
            evaluation.curve,
            evaluation.summary(),
            evaluation,
            evaluation.intervals,
            metrics=evaluation.metrics,
        )


@final
@dataclass(frozen=True)
class PagePoint:
    """An operating point to mark on the page."""

    promise: str
    """What it promises, in words."""
    threshold: float | None = None
    """Its threshold; None if it has several or another rule, so that it is not on the curve."""
    scale: Scale = "probability"
    """The scale of the threshold."""

    @classmethod
    def of(cls, point: OperatingPoint, evaluations: Sequence[Evaluation]) -> PagePoint:
        """Return an operating point for the page of some evaluations, which must fit it."""
        for evaluation in evaluations:
            point.check_tree(evaluation.hierarchy)
            if evaluation.settings != point.settings:
                raise ParameterError(
                    f"The point and {evaluation.name} have different settings: "
                    f"{point.settings.differences(evaluation.settings)}. Evaluate the scores again, or choose the "
                    f"point again."
                )
            if differ := point.treatment.difference(evaluation.treatment):
                raise ParameterError(
                    f"The point is for other scores than those of {evaluation.name}: {differ.what}. "
                    f"{differ.remedy} when you evaluate the scores, and save the evaluation."
                )
        on_curve = point.by == "all" and point.rule == "threshold"
        said = " ".join([*promises(point), meaning(point)])
        return cls(said, point.threshold if on_curve else None, point.scale)

    @property
    def tau(self) -> float | None:
        """The threshold as a probability: the smallest that does not pass more than the threshold does."""
        return None if self.threshold is None else float(threshold_probability(self.threshold, self.scale))


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

    @property
    def own(self) -> list[Metric]:
        """The additional metrics that all models have."""
        first, *others = self.models
        return [metric for metric in first.metrics if all(metric in other.metrics for other in others)]

    @cached_property
    def steps(self) -> dict[Mode, list[float]]:
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
        first: list[Evaluation] = []
        numbers = []
        for track in self.tracks:
            same = (i for i, other in enumerate(first) if _same_examples(track.evaluation, other))
            number = next(same, len(first))
            if number == len(first):
                first.append(track.evaluation)
            numbers.append(number)
        return numbers

    @cached_property
    def start(self) -> int:
        """The step of the mode "correct" that the headline is about."""
        return self.steps["correct"].index(LEVEL) if LEVEL in self.steps["correct"] else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the data, ready for JSON."""
        opened: dict[str, Any] = {"mode": "correct", "step": self.start}
        point = None
        if self.point is not None and self.point.tau is not None:
            point = {"step": self.steps["threshold"].index(self.point.tau)}
            opened = {"mode": "threshold", **point}
        own = {metric.name: metric.is_fraction for metric in self.own}
        models = [
            {
                "name": model.name,
                "line": _line(model),
                "at": {mode: found.tolist() for mode, found in positions.at.items()},
                "tau": positions.tau.tolist(),
                "figures": _figures(model, positions, own),
            }
            for model, positions in zip(self.models, self.positions, strict=True)
        ]
        kinds = {kind: list(axes) for kind, axes in KINDS.items()}
        opened["focus"] = int(np.argmax([model.summary[HEADLINE] for model in self.models]))
        data = {
            "steps": self.steps,
            "metrics": dict.fromkeys(_COLUMNS, True) | own,
            "start": opened,
            "point": point,
            "kinds": kinds,
            "models": models,
        }
        if self.tracks:
            clades = Clades(self.tracks, self.set_of, self.start, [self._pictures(model) for model in self.models])
            data["tree"] = clades.to_dict()
            for i, about in enumerate(models):
                about |= clades.of_model(i)
        return data

    def _pictures(self, model: PageModel) -> Callable[[int], str | None]:
        """Return a function from the number of an example to its image, as a data URL."""
        if (draw := model.picture) is not None:
            return lambda row: encoded(Image.fromarray(draw(row)))
        names = None if model.evaluation is None else model.evaluation.examples.images
        return lambda row: self.picture(names[row]) if names is not None and names[row] else None


def _figures(model: PageModel, positions: Positions, own: Iterable[str]) -> dict[str, list[Any]]:
    """Return the figures at each position; what is answered is not known of a curve alone."""
    figures: dict[str, list[Any]] = {name: positions.values[name].tolist() for name in (*_METRICS, *own)}
    if model.evaluation is not None:
        share = figures["answered"] = model.evaluation.answered_at(positions.threshold).tolist()
        figures["right_of_answered"] = [*map(right_of_answered, figures["correct"], share)]
    return figures


def _same_examples(a: Evaluation, b: Evaluation) -> bool:
    if a is b:
        return True
    ids = a.examples.ids, b.examples.ids
    return (
        np.array_equal(a.labels, b.labels)
        and a.settings == b.settings
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
