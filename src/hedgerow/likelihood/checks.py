"""Checks of the numbers that users give: each value in its range, each row with its sum.

Every error names the rule, the row, the class, the value and a remedy, whether the values are columns of an array
or of a file, or entries of sparse rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from hedgerow.arrays import Array, namespace, ops_of, rounded_down
from hedgerow.errors import ScoreError
from hedgerow.likelihood.scales import ROUNDING, SUM_TOLERANCE, Scale

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

AGAIN = "Remove the row, or compute its scores again."
"""The remedy if nothing more is known."""


class Bounds(NamedTuple):
    """The range of some values, both ends inclusive; NaN is always outside."""

    rule: str
    lowest: float = 0.0
    highest: float = 1.0

    @classmethod
    def of(cls, scale: Scale, tolerance: float = ROUNDING) -> Bounds:
        """Return the range of likelihoods on a scale; `tolerance` is how far above 1 a probability may be."""
        if scale == "probability":
            return cls("Likelihoods must lie between 0 and 1", highest=1 + tolerance)
        return cls("Likelihoods must be numbers", -np.inf, np.inf)


_FINITE = float(np.finfo(np.float64).max)
PROBABILITIES = Bounds("Probabilities must lie between 0 and 1")
"""Those of single classes."""
POSITIVE = Bounds("Scores must be finite, and 0 or more", highest=_FINITE)
"""Counts, weights and votes."""
_LOGITS = Bounds("Logits must be finite (or -inf)", -np.inf, _FINITE)


@final
@dataclass(frozen=True)
class RowSource:
    """The source of rows: checks them, and says where they are."""

    path: str = ""
    """The file; '' for an array."""
    where: Callable[[int], str] = "row {:,}".format
    """Returns how messages name a row, given its number."""
    if_logits: str = "If these are logits, use likelihood.flat_softmax, which takes their softmax first."
    """What to do if they are logits."""
    if_less: str = ""
    """What to do if they sum to less than 1."""
    tolerance: float = SUM_TOLERANCE
    """How far the sums of rows may be from 1."""

    def check_range(
        self,
        values: Array,
        bounds: Bounds,
        name: Callable[[int], str],
        advice: Callable[[int], str] | str = AGAIN,
        row: Callable[[int], int] | None = None,
    ) -> tuple[float, float]:
        """Return the smallest and the largest value; raise an error if one is out of bounds.

        Parameters
        ----------
        values, bounds
            [rows, classes] or [entries] The values, and their range.
        name
            Returns the name of a column, or of the class of an entry.
        advice
            The remedy for numbers, or a function that returns that for a row.
        row
            Returns the row of an entry.
        """
        if 0 in values.shape:
            return np.inf, -np.inf
        lowest, highest = ops_of(values).extremes(values)
        if lowest >= bounds.lowest and highest <= bounds.highest:  # NaN fails both
            return lowest, highest
        flat, most = namespace(values).reshape(values, (-1,)), float(rounded_down(bounds.highest, values))
        place, more = _first(~((flat >= bounds.lowest) & (flat <= most)))
        here, column = (row(place), place) if row else divmod(place, values.shape[1])
        value = float(flat[place])
        problem = f"has {shown(value)} for {str(name(column))!r}{more}"
        raise self.error(bounds.rule, here, problem, AGAIN if np.isnan(value) else advice)

    def check_logits(self, theta: NDArray[Any], name: Callable[[int], str]) -> None:
        """Raise an error unless a softmax of each row [rows, classes] is defined."""
        lowest, _ = self.check_range(theta, _LOGITS, name)
        if lowest == -np.inf and (nothing := theta.max(axis=1) == -np.inf).any():
            problem = "has -inf for every class, which is no distribution"
            raise self.error(_LOGITS.rule, int(np.argmax(nothing)), problem)

    def check_sums(
        self, total: Array, wanted: Literal["1", "at most 1", "positive"], advice: Callable[[int], str] | str
    ) -> None:
        """Raise an error if the sum of a row is wrong: [rows]."""
        if wanted == "positive":
            good, rule = (total > 0) & (total < np.inf), "Scores must have a positive sum"
        else:
            over = total - 1
            good = (over if wanted == "at most 1" else abs(over)) <= self.tolerance
            rule = f"The scores of an example must sum to {wanted} within {self.tolerance}"
        if not bool(namespace(good).all(good)):
            row, more = _first(~good)
            raise self.error(rule, row, f"sums to {float(total[row]):.6g}{more}", advice)

    def error(self, rule: str, row: int, problem: str, advice: Callable[[int], str] | str = AGAIN) -> ScoreError:
        """Return an error about a row."""
        file = f"{self.path}: " if self.path else ""
        remedy = advice if isinstance(advice, str) else advice(row)
        return ScoreError(f"{file}{rule}; {self.where(row)} {problem}. {remedy}")


def shown(value: float) -> str:
    """Return a value as messages show it."""
    return "no number (NaN)" if np.isnan(value) else f"{value:.6g}"


def _first(bad: Array) -> tuple[int, str]:
    """Return the first place that is bad, and how many there are: at least, as arrays may be checked in blocks."""
    xp, count = namespace(bad), int(bad.sum())
    more = f" (the first of at least {count:,})" if count > 1 else ""
    return int(xp.argmax(xp.astype(bad, xp.int8))), more
