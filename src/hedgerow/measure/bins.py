"""Bounded memory: the integer sums that a binned curve builder keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.likelihood import from_logit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.measure.builder import Measures
    from hedgerow.measure.events import Events

UNIT = 2.0**-32
"""Unit of the fixed-point sums, which do not depend on the order of adding."""
_TOP_LOGIT = 37.0  # in double precision, σ(37) rounds to 1


@final
class Bins:
    """The integer sums of a binned builder, which do not depend on the order of adding."""

    def __init__(self, edges: NDArray[np.float64], metrics: int) -> None:
        self.edges = edges
        """The thresholds, ascending."""
        self.sums: dict[str, NDArray[np.int64]] = {
            "examples": np.zeros((), dtype=np.int64),
            "bound": np.zeros(metrics, dtype=np.int64),
            "at_root": np.zeros(metrics, dtype=np.int64),
            "change": np.zeros((metrics, len(edges)), dtype=np.int64),
            "rise": np.zeros((metrics, len(edges)), dtype=np.int64),
            "moves": np.zeros(len(edges), dtype=np.int64),
        }
        """`examples`: their number. `moves`: the number of events at each threshold. For each metric, `at_root`:
        its fixed-point sum if every answer is the root; `change`: how the events at each threshold change that
        sum; `rise`: the same without the events that lower it; `bound`: a limit that no sum exceeds."""

    def add(self, events: Events, measures: Measures) -> None:
        """Add the events of some examples; if a metric does not fit, raise an error and add nothing."""
        # An event belongs to the highest edge below its score: at this threshold, it has happened.
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
            self.sums["at_root"][row] += np.sum(fixed(first) * number)
            change = fixed(after) - fixed(before)
            np.add.at(self.sums["change"][row], edge, change)
            np.add.at(self.sums["rise"][row], edge, np.maximum(change, 0))

    def add_sums(self, other: Mapping[str, NDArray[np.int64]]) -> None:
        """Add the sums of other bins with the same edges."""
        for name, total in self.sums.items():
            total += other[name]

    def curve(self, measures: Measures) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """Return the thresholds, the sum of each metric at each of them, and the number of examples."""
        _check_bound(self.sums["bound"], measures)
        # The edge above an edge with events is the lowest one at which they have not happened yet.
        kept = np.append(True, self.sums["moves"][:-1] > 0)
        sums = np.multiply(self._totals()[:, kept][:, ::-1], UNIT, dtype=np.float64)
        return self.edges[kept][::-1], sums, int(self.sums["examples"])

    def highest(self, measures: Measures) -> dict[str, NDArray[np.float64]]:
        """Return the most that the mean of each metric can be anywhere between two neighbouring thresholds."""
        happened = self.sums["moves"] > 0
        before = self._totals() - self.sums["change"]
        total = np.concatenate([self.sums["at_root"][:, None], (before + self.sums["rise"])[:, happened]], axis=1)
        # Beyond that number of events, the rise of a fraction may not fit into its sum.
        unknown = np.append(False, self.sums["moves"][happened] >= UNIT * 2**63)
        means = np.where(unknown, np.inf, total * (UNIT / max(1, int(self.sums["examples"]))))
        return dict(zip(measures.metrics, means, strict=True))

    def _totals(self) -> NDArray[np.int64]:
        """Return the fixed-point sum of each metric at each threshold."""
        changes = np.cumsum(self.sums["change"][:, ::-1], axis=1)[:, ::-1]
        return np.asarray(self.sums["at_root"][:, None] + changes)


def fixed(value: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return values as multiples of `UNIT`."""
    return np.rint(value / UNIT).astype(np.int64)


def _check_bound(bound: NDArray[Any], measures: Measures) -> None:
    """Raise an error for metrics whose sums may not fit; intermediate sums may overflow and wrap back."""
    for name, value in zip(measures.metrics, bound, strict=True):
        if not value < UNIT * 2**63:  # also for NaN
            raise ParameterError(
                f"The values of the metric {name!r} cannot be summed in bins: they are too large, or NaN. "
                "Measure it in larger units, or leave out `bins`."
            )


def edges_of(bins: int, scale: Scale) -> NDArray[np.float64]:
    """Return ascending thresholds, evenly spaced in logits, from the bottom to the top of a scale."""
    if bins < 2:
        raise ParameterError(f"bins must be 2 or more, not {bins}.")
    logit = np.concatenate([[-np.inf], np.linspace(-_TOP_LOGIT, _TOP_LOGIT, bins - 1), [np.inf]])
    # Log-likelihoods need not be normalised, so some may be above 0.
    return np.unique(np.append(from_logit(logit, scale), [np.inf] * (scale == "log")))
