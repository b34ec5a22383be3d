"""The operating curve: every trade-off between being right and being specific that a threshold can give."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, final
from zipfile import BadZipFile

import numpy as np
from scipy import special

from hedgerow.arrays import map_row_blocks
from hedgerow.errors import FileError, ParameterError, ScoreError
from hedgerow.files import atomic_write
from hedgerow.infer import Candidates
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import metrics
from hedgerow.measure.events import CustomMetric, Events, Measures
from hedgerow.measure.summary import CORRECT_LEVELS, summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.measure.metrics import BelowLabel, Metric
    from hedgerow.tree import Hierarchy, InformationKind

STANDARD_METRICS = (
    metrics.correct,
    metrics.exact,
    metrics.precision,
    metrics.recall,
    metrics.f1,
    metrics.coverage,
)
"""What every curve holds."""

_UNIT = 2.0**-32  # of the fixed-point sums of a binned curve: they add up the same in any order
_ADDED_AT_ONCE = 1 << 16
_TOP_LOGIT = 37.0  # 1 - σ(37) is below double precision


@final
@dataclass(frozen=True, eq=False, repr=False)
class OperatingCurve:
    """Metrics at every operating point, from conservative to specific.

    All arrays have the same length. Point 0 is "every answer the root". `threshold[j]` is the smallest threshold
    that gives point j, so that ``at(threshold[j])`` is point j; the last one is the bottom of the scale. The curve
    is exact and constant between its points.
    """

    threshold: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    """Mean of each metric over the examples, by name."""
    examples: int
    """Number of examples."""
    scale: Scale = "probability"
    """What the thresholds are: likelihoods, their logarithms or their logits."""

    @property
    def correct(self) -> NDArray[np.float64]:
        """Share of answers that are the label or an ancestor of it."""
        return self.values["correct"]

    @property
    def exact(self) -> NDArray[np.float64]:
        """Share of answers that are the label."""
        return self.values["exact"]

    @property
    def precision(self) -> NDArray[np.float64]:
        """Mean share of the answers' information that is right."""
        return self.values["precision"]

    @property
    def recall(self) -> NDArray[np.float64]:
        """Mean share of the labels' information that is found."""
        return self.values["recall"]

    @property
    def f1(self) -> NDArray[np.float64]:
        """Mean over the examples of the harmonic mean of precision and recall."""
        return self.values["f1"]

    @property
    def coverage(self) -> NDArray[np.float64]:
        """Mean information of the answers, right or wrong, as a share of the largest."""
        return self.values["coverage"]

    def __len__(self) -> int:
        return len(self.threshold)

    def index(self, tau: float) -> int:
        """Return the number of the point that a threshold gives."""
        if not tau >= self.threshold[-1]:
            raise ParameterError(
                f"The threshold must be {self.threshold[-1]:g} or more on this curve, its scale being "
                f"{self.scale}; got {tau}."
            )
        return int(np.searchsorted(-self.threshold, -tau))

    def at(self, tau: float) -> dict[str, float]:
        """Return every metric at one threshold."""
        point = self.index(tau)
        return {name: float(value[point]) for name, value in self.values.items()}

    def down_to(self, tau: float) -> OperatingCurve:
        """Return the part of the curve that thresholds of `tau` or more give."""
        last = self.index(tau)
        threshold = self.threshold[: last + 1].copy()
        threshold[-1] = tau
        values = {name: value[: last + 1] for name, value in self.values.items()}
        return OperatingCurve(threshold, values, self.examples, self.scale)

    def summary(
        self,
        *,
        correct: Sequence[float] = CORRECT_LEVELS,
        recall: Sequence[float] = (),
        tau_min: float | None = None,
    ) -> dict[str, float]:
        """Return integrals and intercepts: AP, AC, AC_exact, AURC, R@90C, R@95C, ...

        Parameters
        ----------
        correct
            Shares of correct answers at which to state the largest recall and exact.
        recall
            Recalls at which to state the largest precision.
        tau_min
            Look at thresholds of at least this only, such as 0.5.
        """
        curve = self if tau_min is None else self.down_to(tau_min)
        return summarise(curve.values, correct=correct, recall=recall)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the curve to an `.npz` file; see `load`."""
        values = {f"value:{name}": value for name, value in self.values.items()}
        with atomic_write(path, "wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                threshold=self.threshold,
                examples=np.array(self.examples),
                scale=np.array(self.scale),
                **values,
            )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a curve that `save` wrote."""
        try:
            with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            values = {key.removeprefix("value:"): arrays[key] for key in arrays if key.startswith("value:")}
            examples, scale = int(arrays["examples"]), cast("Scale", str(arrays["scale"]))
            if scale not in BOTTOM or any(a.shape != arrays["threshold"].shape for a in values.values()):
                raise ValueError("its parts do not fit together")
        except (OSError, ValueError, TypeError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            reason = getattr(error, "strerror", None) or "it is damaged, or of another kind"
            raise FileError(f"{path} cannot be read as a curve that hedgerow saved: {reason}.") from error
        return cls(arrays["threshold"], values, examples, scale)

    def __repr__(self) -> str:
        return f"OperatingCurve({len(self):,} points, {self.examples:,} examples)"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        plot: ClassVar[Callable[..., Any]]
        _repr_html_: ClassVar[Callable[..., str]]


@final
class CurveBuilder:
    """Builds an operating curve batch by batch.

    Memory grows with the number of threshold events, a handful per example, never with examples x nodes. Builders
    of parts of the data can be merged: any split gives the bit-identical curve.

    Parameters
    ----------
    hierarchy
        The tree.
    metrics
        Further metrics besides the standard ones: `hedgerow.metrics`, or functions (tree, label, prediction) with
        a `name` or `__name__`.
    information
        The measure of specificity that the threshold rule, precision and recall use: see `Hierarchy.information`.
    below_label
        What an answer below its label counts as: "label" or "wrong".
    scale
        What the scores are: likelihoods ("probability"), their logarithms or their logits. Any increasing map of
        the likelihoods gives the same curve; choose one that does not saturate.
    bins
        Bound the memory: keep only this many thresholds, evenly spaced in logits. Every point of the binned curve
        is a point of the exact curve, to within 2**-32; what happens between two neighbouring thresholds is not
        seen.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> b = hr.CurveBuilder(h)
    >>> b.update([[1, 0.7, 0.5, 0.2, 0.3]], ["cat"])
    >>> b.update([[1, 0.9, 0.2, 0.7, 0.1]], ["cat"])
    >>> curve = b.compute()
    >>> curve.threshold.tolist(), curve.correct.tolist()
    ([0.9, 0.7, 0.5, 0.0], [1.0, 1.0, 0.5, 0.5])
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        metrics: Sequence[Metric | CustomMetric] = (),
        information: InformationKind | ArrayLike = "leaves",
        below_label: BelowLabel = "label",
        scale: Scale = "probability",
        bins: int | None = None,
    ) -> None:
        if scale not in BOTTOM:
            raise ParameterError(f"scale must be one of {', '.join(map(repr, BOTTOM))}, not {scale!r}.")
        self.hierarchy = hierarchy
        self.scale: Scale = scale
        self.measures = Measures.of(hierarchy, (*STANDARD_METRICS, *metrics), information, below_label)
        self._candidates = Candidates.of(hierarchy, information)
        self._parts: list[Events] = []
        self.bins = None if bins is None else Bins(_edges(bins, scale), len(self.measures.metrics))

    @property
    def events(self) -> Events:
        """All threshold events so far; an exact builder only."""
        if self.bins is not None:
            raise ParameterError("A binned builder keeps no events; leave out bins= to have them.")
        if len(self._parts) > 1:
            self._parts = [Events.join(self._parts)]
        return self._parts[0] if self._parts else Events.none()

    def update(self, q: Any, labels: ArrayLike) -> None:
        """Add a batch.

        Parameters
        ----------
        q
            [B, nodes] likelihoods, an array or a tensor, on the builder's scale.
        labels
            B labels: names or node indices, any nodes.
        """
        self.add(Events.of(self.hierarchy, q, labels, self._candidates, self.scale))

    def add(self, events: Events) -> None:
        """Add examples whose events are known already."""
        if self.bins is None:
            self._parts.append(events)
        else:
            self.bins.add(events, self.measures)

    def merge(self, other: CurveBuilder) -> None:
        """Take in the examples of another builder with the same tree and settings."""
        same = (
            self.measures.same_as(other.measures)
            and self.scale == other.scale
            and (self.bins is None) == (other.bins is None)
            and (self.bins is None or np.array_equal(self.bins.edges, other.bins.edges))  # type: ignore[union-attr]
        )
        if not same:
            raise ParameterError("Only builders with the same tree, metrics, scale and bins can be merged.")
        if self.bins is not None and other.bins is not None:
            self.bins.add_sums(other.bins.sums)
        else:
            self._parts.extend(other._parts)

    def compute(self) -> OperatingCurve:
        """Return the curve of all examples so far."""
        if self.bins is not None:
            threshold, sums, examples = self.bins.curve(self.measures)
        else:
            threshold, sums, examples = self._exact_sums()
        if not examples:
            raise ScoreError("A curve needs at least one example.")
        return OperatingCurve(threshold, self.measures.means(sums, examples), examples, self.scale)

    def _exact_sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        events = self.events
        order, last, threshold = events.descending(self.scale)
        labels, number = events.distinct_labels
        # One column more than events, for the point before all of them; then everything in place.
        sums = np.empty((len(self.measures.metrics), len(order) + 1))
        sums[:, 0] = [np.sum(at_root * number) for at_root in self.measures.at_root(labels)]
        self.measures.changes(events, order, sums[:, 1:])
        map_row_blocks(lambda rows: _add_up(sums[rows]), len(sums), sums[:1].nbytes)
        if isinstance(last, np.ndarray):
            sums = sums[:, np.append(0, last + 1)]
        return threshold, sums, len(events.label)


@final
class Bins:
    """What a binned builder keeps: whole numbers that add up the same in any order, whatever adds them."""

    def __init__(self, edges: NDArray[np.float64], metrics: int) -> None:
        self.edges = edges
        """The thresholds, ascending."""
        self.sums: dict[str, NDArray[np.int64]] = {
            "examples": np.zeros((), dtype=np.int64),
            "bound": np.zeros(metrics, dtype=np.int64),
            "at_root": np.zeros(metrics, dtype=np.int64),
            "change": np.zeros((metrics, len(edges)), dtype=np.int64),
            "moves": np.zeros(len(edges), dtype=np.int64),
        }
        """How many examples there are, and how many events at each threshold; the metrics' fixed-point sums with
        every answer the root, how the events at each threshold change them, and what no sum exceeds."""

    def add(self, events: Events, measures: Measures) -> None:
        """Take in the events of some examples; none, if a metric is refused."""
        # An event belongs to the highest edge below its score: the threshold from which it has happened.
        edge = np.searchsorted(self.edges, events.score) - 1
        labels, number = events.distinct_labels
        at_root = measures.at_root(labels)
        moved = list(measures.before_and_after(events.moves))
        largest = [
            np.max(np.abs(np.append(first, after)), initial=0.0)
            for first, (_, after) in zip(at_root, moved, strict=True)
        ]
        bound = len(events.label) * np.ceil(largest)
        _check_bound(self.sums["bound"] + bound, measures)
        self.sums["bound"] += bound.astype(np.int64)
        self.sums["examples"] += len(events.label)
        self.sums["moves"] += np.bincount(edge, minlength=len(self.edges))
        for row, (first, (before, after)) in enumerate(zip(at_root, moved, strict=True)):
            self.sums["at_root"][row] += np.sum(_fixed(first) * number)
            np.add.at(self.sums["change"][row], edge, _fixed(after) - _fixed(before))

    def add_sums(self, other: Mapping[str, NDArray[np.int64]]) -> None:
        """Take in the sums of other bins with the same edges."""
        for name, total in self.sums.items():
            total += other[name]

    def curve(self, measures: Measures) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """Return the thresholds, the sum of each metric at each of them, and the number of examples."""
        _check_bound(self.sums["bound"], measures)
        # The edge above one with events is the lowest at which these have not happened yet.
        kept = np.append(True, self.sums["moves"][:-1] > 0)
        total = self.sums["at_root"][:, None] + np.cumsum(self.sums["change"][:, ::-1], axis=1)[:, ::-1]
        sums = np.multiply(total[:, kept][:, ::-1], _UNIT, dtype=np.float64)
        return self.edges[kept][::-1], sums, int(self.sums["examples"])


def operating_curve(hierarchy: Hierarchy, q: Any, labels: ArrayLike, **options: Any) -> OperatingCurve:
    """Return the exact operating curve of likelihoods [examples, nodes] and labels.

    `options` are those of `CurveBuilder`, which builds the same curve batch by batch.

    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> curve = hr.operating_curve(h, [[1, 0.7, 0.5, 0.2, 0.3]], ["cat"])
    >>> curve.at(0.6)["correct"], curve.at(0.6)["exact"]
    (1.0, 0.0)
    """
    builder = CurveBuilder(hierarchy, **options)
    builder.update(q, labels)
    return builder.compute()


def _add_up(rows: NDArray[np.float64]) -> None:
    """Replace the entries of each row by the sums of all up to them; in parts, to need no other memory."""
    for row in rows:
        for start in range(0, len(row) - 1, _ADDED_AT_ONCE):
            part = row[start : start + _ADDED_AT_ONCE + 1]  # it begins with the end of the part before
            part[:] = np.cumsum(part)


def _fixed(value: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(value / _UNIT).astype(np.int64)


def _check_bound(bound: NDArray[Any], measures: Measures) -> None:
    """Refuse metrics whose sums may not fit; on the way to them whole numbers may well overflow, and come back."""
    for name, value in zip(measures.metrics, bound, strict=True):
        if not value < _UNIT * 2**63:  # NaN is not
            raise ParameterError(
                f"The metric {name!r} has values that cannot be added up in bins: they are too large, or NaN. "
                "Measure it in larger units, or leave out `bins`."
            )


def _edges(bins: int, scale: Scale) -> NDArray[np.float64]:
    """Return ascending thresholds, evenly spaced in logits, from the bottom to the top of a scale."""
    if bins < 2:
        raise ParameterError(f"bins must be 2 or more, not {bins}.")
    logit = np.concatenate([[-np.inf], np.linspace(-_TOP_LOGIT, _TOP_LOGIT, bins - 1), [np.inf]])
    on_scale: dict[Scale, Any] = {"probability": special.expit, "log": special.log_expit, "logit": np.asarray}
    # Logarithms need not be normalised, so that some may lie above 0.
    return np.unique(np.append(on_scale[scale](logit), [np.inf] * (scale == "log")))
