"""Operating points: rules with thresholds, and what they promise, as objects and as files."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  (the types are read when the module is loaded)
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, final

import numpy as np
from msgspec import Meta

from hedgerow.arrays import as_numpy
from hedgerow.choose.answer_paths import RANKS, Paths
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.promise import ANSWERED
from hedgerow.choose.request import By, Request, RequestFile
from hedgerow.choose.tips import BINS, clades_of, tip_likelihoods
from hedgerow.choose.written import from_number
from hedgerow.errors import ParameterError, argument, counted, some
from hedgerow.files import Count, Document, described, struct_of, write_json
from hedgerow.infer import Candidates, most_specific_above
from hedgerow.likelihood import AnyLikelihoods, Likelihoods, Pooling, Scale, Treatment
from hedgerow.measure import Ranks
from hedgerow.score_files import Scores, as_column
from hedgerow.tree import Hierarchy, SavedTree, Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.score_files import Block

AGAIN = "Choose the point again with hedgerow select."


@final
@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint:
    """How to answer, and what that promises; chosen by `select`, stored as JSON.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.9, 0.6, 0.3, 0.1]] * 15 + [[1, 0.6, 0.5, 0.1, 0.4]] * 5
    >>> point = hr.select(h, q, ["cat"] * 15 + ["dog"] * 5, target=("correct", 0.9))
    >>> point
    OperatingPoint(correct >= 0.9, conformal: threshold 0.5, 20 examples)
    >>> h.names[point.predict([[1, 0.9, 0.8, 0.1, 0.1], [1, 0.9, 0.45, 0.45, 0.1]])].tolist()
    ['cat', 'pet']
    """

    hierarchy: Hierarchy = described("The tree that the point is for.")
    request: Request = described("What it was asked for: the keywords of `select`.")
    thresholds: Mapping[str, float] = described(
        'By group, clade or rank, or "" for all: on the scale of the likelihoods, or λ; infinite: always the root.'
    )
    scale: Scale = described("The scale of the likelihoods.")
    at_most: bool = described(
        "Whether the target is an upper limit, because lower values of the metric are better.", False
    )
    root_is_safe: bool = described(
        "Whether the root always keeps the promise; otherwise, the most specific answers keep it best.", True
    )
    weight_steps: tuple[tuple[float, float], ...] = described(
        "With weights: pairs of a largest weight and a threshold, from cautious to bold. An example of weight w "
        "gets the last threshold whose largest weight is at least w, or the root if there is none. `thresholds` "
        "holds that of the mean weight.",
        (),
    )
    merged: tuple[tuple[str, ...], ...] = described(
        "The groups or clades that share a threshold and a promise, because some of them had too few examples.", ()
    )
    temperature: Annotated[float, Meta(gt=0)] = described("The number that the scores were divided by.", 1.0)
    prior: str | None = described("The digest of the prior of the likelihoods; None without one.", None)
    pool: Pooling | None = described("How the examples of each event were pooled; None without events.", None)
    examples: Count = described("The number of examples that the point was chosen with.", 0)
    clusters: Count | None = described("The number of their clusters; None without clusters.", None)
    calibrated_on: Mapping[str, tuple[Count, Count]] = described(
        "The number of units (examples or clusters) and of examples that each promise was calibrated on. By "
        'group, clade or rank, "unknown RANK", or "" for all. With weights or expected shares, the number of '
        "units is the effective one.",
        default_factory=dict,
    )
    tip_counts: tuple[Count, ...] = described(
        "How many units have the likelihood of their most likely tip in each bin: see `hedgerow.choose.tips`.", ()
    )
    notes: tuple[str, ...] = described("Warnings about this point, as sentences.", ())
    created: str = described("When it was chosen (UTC).", "")
    version: str = described("The version of hedgerow that chose it.", "")

    @property
    def rule(self) -> str:
        """The family of rules, or "ranks"."""
        return RANKS if self.by == "rank" else self.request.rule

    @property
    def by(self) -> By:
        """What has a threshold of its own: "all" examples together, or each "group", "clade" or "rank"."""
        return self.request.by

    @cached_property
    def clade_depth(self) -> int | None:
        """The depth of the clades; None without thresholds by clade."""
        return self.request.clade_depth(self.hierarchy)

    @property
    def settings(self) -> Settings:
        """What counts as specific and as right."""
        return self.request.settings

    @property
    def threshold(self) -> float:
        """The only threshold, on the scale of the likelihoods."""
        if self.by != "all":
            raise ParameterError(f"This point has one threshold per {self.by}: see its thresholds.")
        return self.thresholds[""]

    @property
    def promise(self) -> str:
        """What is promised, in short: "correct >= 0.95"."""
        asked, among = self.request, ""
        targets = asked.per_rank or {}
        if asked.target is not None:
            targets = {asked.metric_name: asked.target[1]}
        parts = [f"{name} {'<=' if self.at_most else '>='} {float(level):g}" for name, level in targets.items()]
        unknown = (asked.overclassification or {}).items()
        parts += [f"{rank} given to unknown taxa <= {float(share):g}" for rank, share in unknown]
        if asked.among is not None:
            among = (
                " among those answered" if asked.among == ANSWERED else f" among answers at {asked.among} or below"
            )
        exact = "weights" if asked.weights else "expected shares" if asked.expect else ""
        return ", ".join(parts) + among + (f" (if the {exact} are exact)" if exact else "")

    # Answering ---------------------------------------------------------------------------------------------

    def predict(
        self, q: Any, groups: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Return the answer to each example, as node indices: int64 [B].

        Parameters
        ----------
        q
            [B, nodes] `Likelihoods`; or an array or table on the scale of the point, in the node order of its
            tree; or a score file from `hedgerow.open_scores`.
        groups
            The group of each example, if the point has thresholds by group.
        weights
            The weight of each example, if the point was chosen with weights: how much more likely it is among
            new data than among the calibration data.
        """
        if isinstance(q, Scores):
            return np.concatenate([self.answer(block) for block in self.prepared(q)])
        likelihoods = self._checked_likelihoods(q)
        if self.by == "rank":
            candidates, thresholds = self._candidates(likelihoods), self.thresholds_by_node(likelihoods.hierarchy)
            return Paths.of(likelihoods, candidates, thresholds > -np.inf).answers(thresholds)
        tau, candidates = self._threshold_of_each(likelihoods, groups, weights), self._candidates(likelihoods)
        if self.rule == "threshold":  # faster than with events
            return as_numpy(most_specific_above(likelihoods, candidates, tau)).astype(np.int64)
        no_labels = np.zeros(len(likelihoods), dtype=np.int64)  # answers do not depend on them
        events = FAMILIES[self.rule].events(likelihoods, no_labels, candidates)
        return events.answers_above(tau).astype(np.int64)

    def prepared(self, scores: Scores) -> Scores:
        """Return scores with the temperature of the point; refuse another tree, prior or pooling."""
        self.check_tree(scores.hierarchy)
        tempered = scores if self.temperature == 1 else scores.tempered(self.temperature)
        self.check_treatment(tempered.treatment)
        return tempered

    def answer(self, block: Block) -> NDArray[np.int64]:
        """Return the answer to each example of a block."""
        weights = block.weights if self.request.weights else None
        return self.predict(block.likelihoods, block.groups if self.by == "group" else None, weights)

    @property
    def columns(self) -> dict[str, Callable[[Block], NDArray[Any]]]:
        """The columns that a monitor needs beside the answers, by name."""
        found: dict[str, Callable[[Block], Any]] = {
            "tip_likelihood": lambda block: tip_likelihoods(block.likelihoods, self._candidates(block.likelihoods))
        }
        if self.by == "group":
            found["group"] = lambda block: block.groups
        if self.by == "clade":
            found["clade"] = lambda block: self.clades_of(block.likelihoods)
        if self.clusters is not None:
            found["cluster"] = lambda block: np.full(len(block), "") if block.clusters is None else block.clusters
        return found

    def clades_of(self, q: AnyLikelihoods) -> NDArray[np.object_]:
        """Return the name of the clade of each example, for a point with thresholds by clade."""
        return clades_of(q, self.clade_depth or 1, self._candidates(q))

    def _checked_likelihoods(self, q: Any) -> AnyLikelihoods:
        """Return likelihoods; raise an error if they are not of the kind that the point was chosen with."""
        likelihoods: AnyLikelihoods = q if hasattr(q, "scale") else Likelihoods.of(self.hierarchy, q, self.scale)
        self.check_tree(likelihoods.hierarchy)
        self.check_scale(likelihoods.scale)
        if likelihoods is q:
            self.check_treatment(likelihoods.treatment)
        return likelihoods

    def thresholds_by_node(self, hierarchy: Hierarchy) -> NDArray[np.float64]:
        """Return the threshold of each node of a tree, that of its rank; -inf if it has none."""
        known = Ranks.of(self.hierarchy)
        rank = known.of_node
        if hierarchy is not self.hierarchy:  # the nodes may be in another order and lack ranks
            rank = rank[self.hierarchy.indices(hierarchy.names)]
        return np.array([self.thresholds.get(name, -np.inf) for name in (*known.names, "")])[rank]

    def _candidates(self, q: AnyLikelihoods) -> Candidates:
        return Candidates.of(q.hierarchy, self.settings)

    def _threshold_of_each(
        self, q: AnyLikelihoods, groups: ArrayLike | None, weights: ArrayLike | None
    ) -> NDArray[np.float64]:
        if self.request.weights or weights is not None:
            return self.thresholds_of_weights(weights, len(q))
        if groups is not None and self.by != "group":
            raise ParameterError("This point does not depend on groups: leave them out.")
        if self.by == "clade":
            return self.thresholds_of(self.clades_of(q), len(q))
        if self.by == "group" and groups is None:
            raise ParameterError(
                f"This point has a threshold for each group ({some(self.thresholds)}), so it needs the group of "
                f"each example: give {argument('groups', 'COLUMN', python='point.predict(q, groups)')}."
            )
        return self.thresholds_of(groups, len(q))

    def thresholds_of_weights(self, weights: ArrayLike | None, examples: int) -> NDArray[np.float64]:
        """Return the threshold of each example, by its weight."""
        if not self.request.weights:
            raise ParameterError("This point does not depend on weights: leave them out.")
        if weights is None:
            raise ParameterError(
                f"This point was chosen with weights, so it needs the weight of each example: give "
                f"{argument('weight_column', 'COLUMN', python='point.predict(q, weights=w)')}."
            )
        given = as_column("weights", weights, examples)
        most, tau = np.array(self.weight_steps, dtype=np.float64).reshape(-1, 2).T
        place = np.searchsorted(-most, -given, side="right") - 1
        return np.append(tau, np.inf)[place]

    def thresholds_of(self, names: ArrayLike | None, examples: int) -> NDArray[np.float64]:
        """Return the threshold of each example: that for all, or that of its group or clade."""
        if self.by == "all":
            return np.full(examples, self.thresholds[""])
        given = [str(name) for name in np.asarray(names).ravel().tolist()]
        if len(given) != examples:
            raise ParameterError(f"groups needs one entry per example, {examples:,}; got {len(given):,}.")
        distinct, place = np.unique(np.array(given, dtype=str), return_inverse=True)
        unknown = [name for name in distinct.tolist() if name not in self.thresholds]
        if unknown and not self.root_is_safe:
            raise ParameterError(
                f"Nothing is promised for the {self.by} {some(unknown)}, which had no examples when the point was "
                f"chosen. Leave it out, or choose the point again with examples of it."
            )
        # Nothing is known about the unknown ones, but the root keeps the promise there too.
        return np.array([self.thresholds.get(name, np.inf) for name in distinct.tolist()])[place]

    @property
    def treatment(self) -> Treatment:
        """How the likelihoods that the point is for were treated."""
        return Treatment(self.temperature, self.prior, self.pool)

    def check_treatment(self, treatment: Treatment) -> None:
        """Raise an error if likelihoods were treated in another way than those of the point."""
        if differ := self.treatment.difference(treatment):
            raise ParameterError(
                f"The point is for other likelihoods: {differ.what}. {differ.remedy}, or choose the point again."
            )

    def check_scale(self, scale: Scale) -> None:
        """Raise an error if likelihoods are not on the scale of the point."""
        if scale != self.scale:
            raise ParameterError(
                f"The point is for likelihoods on the scale {self.scale!r}, but these are on the scale {scale!r}: "
                f"they come from another kind of model or file. {AGAIN}"
            )

    def check_tree(self, hierarchy: Hierarchy) -> None:
        """Raise an error that shows the differences if a tree is not that of the point."""
        if hierarchy is self.hierarchy or hierarchy.fingerprint == self.hierarchy.fingerprint:
            return
        ours, theirs = (_parents(tree) for tree in (self.hierarchy, hierarchy))
        missing = [name for name in ours if name not in theirs]
        extra = [name for name in theirs if name not in ours]
        moved = [name for name in ours if name in theirs and ours[name] != theirs[name]]
        differ = [f"it lacks {some(missing)}"] * bool(missing)
        differ += [f"it also has {some(extra)}"] * bool(extra)
        if moved:
            name, more = moved[0], f" (and {len(moved) - 1:,} more differ)" if len(moved) > 1 else ""
            differ.append(f"{name!r} is below {theirs[name]!r}, not below {ours[name]!r}{more}")
        raise ParameterError(f"The point is for another tree: {'; '.join(differ)}. {AGAIN}")

    # Files -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON, with a digest of it."""
        return POINT.wrapped(
            {
                "request": self.request.to_dict(),
                **{name: getattr(self, name) for name in (*_DECIDING, *_FIELDS)},
                "thresholds": {name: _json_number(tau) for name, tau in self.thresholds.items()},
                "weight_steps": [[most, _json_number(tau)] for most, tau in self.weight_steps],
                "tree": self.hierarchy.to_dict(),
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the point to a JSON file; see `load`."""
        write_json(path, self.to_dict(), indent=1)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> OperatingPoint:
        """Read a point written by `save`; a file that was changed is refused."""
        with POINT.reading(path) as file:
            return _opened(file)

    @staticmethod
    def from_dict(content: Any) -> OperatingPoint:
        """Return the point that `to_dict` returned; everything in it is checked."""
        with POINT.unwrapped(content, "the point") as file:
            return _opened(file)

    def __reduce__(self) -> tuple[Any, ...]:
        return OperatingPoint.from_dict, (self.to_dict(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatingPoint) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content["digest"])

    @cached_property
    def _content(self) -> dict[str, Any]:
        return self.to_dict()

    def __repr__(self) -> str:
        if self.by != "all":
            tau = counted(len(self.thresholds), "threshold", "thresholds")
        elif self.threshold == math.inf:
            tau = "always the root"
        else:
            scale = "" if self.scale == "probability" else f" on the scale {self.scale!r}"
            tau = f"threshold {self.threshold:.6g}{scale}"
        unit = "" if self.clusters is None else f" in {self.clusters:,} clusters"
        return f"OperatingPoint({self.promise}, {self.request.guarantee}: {tau}, {self.examples:,} examples{unit})"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        _repr_html_: ClassVar[Callable[..., str]]


def _parents(hierarchy: Hierarchy) -> dict[str, str]:
    """Return the name of the parent of each node, by name; that of the root is ""."""
    above = ["", *hierarchy.names[hierarchy.parent[1:]].tolist()]
    return dict(zip(hierarchy.names.tolist(), above, strict=True))


# Files ---------------------------------------------------------------------------------------------------------


_DECISION = [
    ("rule", str, 'The rule of the request; "ranks" if there is a threshold for each rank.'),
    ("by", By, 'What has a threshold of its own: "all" examples together, or each "group", "clade" or "rank".'),
    ("clade_depth", int | None, "The depth of the clades; null without thresholds by clade."),
]
"""What programs that only answer need of the request."""
_DECIDING = [name for name, *_ in _DECISION]
_FIELDS = [each.name for each in fields(OperatingPoint) if each.name not in ("hierarchy", "request")]
_Tau = float | Literal["inf", "-inf"]  # JSON has no infinity
_PointFile: Any = struct_of(
    "PointFile",
    OperatingPoint,
    {
        "hierarchy": None,
        "request": RequestFile,
        "thresholds": dict[str, _Tau],
        "weight_steps": list[tuple[float, _Tau]],
    },
    [*_DECISION, ("tree", SavedTree, "The tree that the point is for.")],
)
POINT = Document("hedgerow operating point", 4, _PointFile, "a point", AGAIN, decode=from_number)


def _json_number(tau: float) -> float | str:
    """Return a threshold for JSON, which has no infinity."""
    return tau if math.isfinite(tau) else str(tau)


def _opened(file: Any) -> OperatingPoint:
    """Return the point in a file; refuse what its declaration allows, but what does not fit together."""
    found = {name: getattr(file, name) for name in _FIELDS}
    found["thresholds"] = {name: float(tau) for name, tau in file.thresholds.items()}
    found["weight_steps"] = tuple((most, float(tau)) for most, tau in file.weight_steps)
    request = Request.of_file(file.request, at_most=file.at_most)
    point = OperatingPoint(Hierarchy.from_dict(file.tree), request, **found)
    promises = request.promises(point.hierarchy)
    if any(each.loss.at_most != point.at_most for each in promises):
        raise ValueError("it promises in the wrong direction")
    if any(getattr(point, name) != getattr(file, name) for name in _DECIDING):
        raise ValueError("its rule is not that of its request")
    if (point.clusters is not None) != request.clusters or (point.weight_steps and not request.weights):
        raise ValueError("its clusters or weights are not those of its request")
    if len(file.tip_counts) not in (0, BINS):
        raise ValueError("it has another number of bins")
    if not _thresholds_fit(point, {each.rank for each in promises}):
        raise ValueError("its thresholds do not match its groups, clades or ranks")
    return point


def _thresholds_fit(point: OperatingPoint, promised: set[str]) -> bool:
    """Return whether the names of thresholds are those of the groups, clades or ranks of the point."""
    named, merged = set(point.thresholds), [name for names in point.merged for name in names]
    if not named or len(merged) > len(set(merged)) or not set(merged) <= named:
        return False
    if point.by == "group":
        return True
    return named <= set(point.hierarchy.names.tolist()) if point.by == "clade" else named == promised
