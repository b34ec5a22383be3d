"""What a point gives: how specific its answers are, how often they are right, and what other levels would give."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import msgspec
import numpy as np

from hedgerow.choose.calibration import CalibrationSet, gather
from hedgerow.choose.select import choose
from hedgerow.choose.suggestions import MOSTLY_ROOT, Silence, silence
from hedgerow.choose.thresholds import CannotPromiseError
from hedgerow.measure import (
    STANDARD_METRICS,
    Clusters,
    Comparison,
    Measures,
    Ranks,
    metrics,
    right_of_answered,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.point import OperatingPoint
    from hedgerow.choose.request import Request
    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy

_MOST = 10  # classes listed
_SMALL = Fraction(1, 4)  # alternatives halve and double losses up to this, and move larger ones a little
_LITTLE = Fraction(1, 20)


@final
@dataclass(frozen=True)
class Level:
    """The answers at one rank or depth."""

    name: str
    """The rank or depth; "" for the root."""
    share: float
    """The share of all answers."""
    correct: float | None
    """The share of these that are right; None if there are none."""


@final
@dataclass(frozen=True)
class Shortened:
    """A class whose examples often get a right answer above their label."""

    name: str
    higher: int
    """The number of these examples."""
    examples: int
    """The number of all examples of the class."""


@final
@dataclass(frozen=True)
class Alternative:
    """What another level of the target would give."""

    level: float
    metrics: dict[str, float] | None
    """Means over the examples; None if they are too few to promise this level."""
    root: float = 1.0
    """The share of answers that are the root."""

    @property
    def right_of_answered(self) -> float | None:
        """The share of the answers below the root that are right; None if there are none."""
        return right_of_answered(self.metrics["correct"], 1 - self.root) if self.metrics else None


@final
@dataclass(frozen=True)
class Explanation:
    """What a point gives on some examples."""

    point: OperatingPoint
    examples: int
    metrics: dict[str, float]
    """Means over the examples."""
    levels: tuple[Level, ...]
    """The answers at each rank or depth, the root first."""
    kind: str
    """What a level is: "rank" or "depth"."""
    shortened: tuple[Shortened, ...]
    """The classes whose examples most often get a right answer above their label; at most ten."""
    answered: int
    """The number of answers below the root."""
    right_of_answered: float | None
    """The share of these that are right; None if there are none."""
    stricter: Alternative | None
    """What the next stricter level would give, if there is one."""
    looser: Alternative | None
    """What the next looser level would give, if there is one."""
    silence: Silence | None
    """If nearly every answer is the root: why, and which requests would give more answers."""
    cluster_metrics: dict[str, float] | None = None
    """Cluster-averaged metrics, covered by the promise; None if there are no clusters."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the point, ready for JSON."""
        return {name: msgspec.to_builtins(value) for name, value in vars(self).items() if name != "point"}


def explain(
    hierarchy: Hierarchy,
    point: OperatingPoint,
    scores: Any,
    labels: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = False,
    weights: ArrayLike | bool | None = None,
    scale: Scale | None = None,
) -> Explanation:
    """Return what a point gives on held-out examples.

    Parameters
    ----------
    hierarchy
        The tree.
    point
        The point.
    scores, labels, classes
        A score file, or likelihoods with labels, as in `select`.
    groups
        The group of each example, if the point has thresholds by group; True: those of the score file.
    clusters
        The cluster of each example, to compute what other levels would give; True: those of the score file.
    weights
        The weight of each example, if the point was chosen with weights; True: those of the score file.
    scale
        The scale of plain likelihoods; by default that of the point.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.choose import explain
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q, labels = [[1, 0.9, 0.6, 0.3, 0.1]] * 15 + [[1, 0.6, 0.5, 0.1, 0.4]] * 5, ["cat"] * 15 + ["dog"] * 5
    >>> found = explain(h, hr.select(h, q, labels, target=("correct", 0.9)), q, labels)
    >>> found.metrics["correct"], [(level.name, level.share) for level in found.levels]
    (1.0, [('', 0.0), ('1', 0.25), ('2', 0.75)])
    >>> found.shortened
    (Shortened(name='dog', higher=5, examples=5),)
    """
    point.check_tree(hierarchy)
    scale = scale or getattr(scores, "scale", point.scale)
    about: dict[str, Any] = {"groups": groups, "clusters": clusters, "weights": weights}
    examples = gather(point.request, hierarchy, scores, labels, classes=classes, scale=scale, **about)
    point.check_scale(examples.scale)
    return describe(point, examples)


def describe(point: OperatingPoint, examples: CalibrationSet) -> Explanation:
    """Return what a point gives on examples that were gathered for its request."""
    hierarchy, labels, request = examples.hierarchy, examples.labels, point.request
    answers = examples.answers(point)
    right = metrics.correct.of(Comparison.of(hierarchy, labels, answers, request.settings)) > 0
    ranks = Ranks.of(hierarchy)
    place = 1 + ranks.reached[answers]  # a node without a rank counts with the rank above it
    count = np.bincount(place, minlength=len(ranks.names) + 1)
    good = np.bincount(place, right, minlength=len(count))
    levels = tuple(
        Level(name, float(n / len(answers)), float(g / n) if n else None)
        for name, n, g in zip(("", *ranks.names), count.tolist(), good.tolist(), strict=True)
    )
    by_cluster = examples.known.clusters is not None and request.largest_cluster is None
    return Explanation(
        point,
        len(examples),
        _means(request, examples, answers),
        levels,
        ranks.kind,
        _shortened(hierarchy, labels, answers),
        int((answers > 0).sum()),
        float(right[answers > 0].mean()) if answers.any() else None,
        *_alternatives(request, examples),
        silence(point, examples) if (answers == 0).mean() > MOSTLY_ROOT else None,
        _means(request, examples, answers, examples.known.clusters) if by_cluster else None,
    )


def _means(
    request: Request, examples: CalibrationSet, answers: NDArray[Any], clusters: NDArray[Any] | None = None
) -> dict[str, float]:
    """Return the mean of each metric over the examples or, if given, over clusters."""
    units = Clusters.of(clusters, len(answers))
    own = [] if request.target is None else [metrics.as_metric(request.target[0])]
    measures = Measures.of(examples.hierarchy, dict.fromkeys([*STANDARD_METRICS, *own]), request.settings)
    values = measures.values(examples.labels, answers)
    return {name: units.mean(value) for name, value in zip(measures.metrics, values, strict=True)}


def _shortened(
    hierarchy: Hierarchy, labels: NDArray[np.int64], answers: NDArray[np.int64]
) -> tuple[Shortened, ...]:
    higher = hierarchy.is_ancestor(answers, labels) & (answers != labels)
    number = np.bincount(labels, minlength=len(hierarchy))
    often = np.bincount(labels, higher, minlength=len(hierarchy)).astype(np.int64)
    first = np.lexsort((np.arange(len(often)), number, -often))[:_MOST]
    return tuple(
        Shortened(str(hierarchy.names[node]), int(often[node]), int(number[node])) for node in first if often[node]
    )


def _alternatives(request: Request, examples: CalibrationSet) -> tuple[Alternative | None, Alternative | None]:
    """Return what the next stricter and the next looser level would give; None where there is none."""
    if request.target is None:
        return None, None
    (promise,) = request.promises(examples.hierarchy)
    loss = promise.alpha
    smaller, larger = (loss / 2, loss * 2) if loss <= _SMALL else (loss - _LITTLE, loss + _LITTLE)
    stricter, looser = (request.at_level(promise.loss.level_at(other)) for other in (smaller, larger))
    return _alternative(stricter, examples), _alternative(looser, examples) if larger < 1 else None


def _alternative(request: Request, examples: CalibrationSet) -> Alternative | None:
    level = float(request.level)
    try:
        answers = examples.answers(choose(request, examples))
    except CannotPromiseError:
        return Alternative(level, None)
    return Alternative(level, _means(request, examples, answers), float((answers == 0).mean()))
