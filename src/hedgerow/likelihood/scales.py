"""The scales of likelihoods: probabilities, their logarithms, their logits; and checks of the numbers on them.

Every error names the rule, the row, the class, the value and a remedy, whether the numbers are columns of an array
or of a file, or entries of sparse rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import array_api_compat
import numpy as np

from hedgerow.arrays import Array, namespace, ops_of, rounded_down
from hedgerow.errors import ParameterError, ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


Scale = Literal["probability", "log", "logit"]

BOTTOM: dict[Scale, float] = {"probability": 0.0, "log": -np.inf, "logit": -np.inf}
"""The likelihood 0 on each scale: the lowest threshold. Nodes that do not exceed it are never answers."""
CERTAIN: dict[Scale, float] = {"probability": 1.0, "log": 0.0, "logit": np.inf}
"""The likelihood 1 on each scale."""
ROUNDING = 1e-5
"""How far above 1 a likelihood may be because of sums in single precision; it then counts as 1."""
SUM_TOLERANCE = 1e-3
"""How far the sum of a row of probabilities may be from 1 because they were rounded."""
_OF_HALF = 2e-2  # the same in half precision


def sum_tolerance(dtype: Any) -> float:
    """Return how far the sums of rows of this type may be from 1."""
    return _OF_HALF if "float16" in str(dtype) else SUM_TOLERANCE  # bfloat16 is half precision, too


def check_scale(scale: Any) -> None:
    """Raise an error unless this is the name of a scale."""
    if not isinstance(scale, str) or scale not in BOTTOM:
        raise ParameterError(f"scale must be {', '.join(map(repr, BOTTOM))}, not {scale!r}.")


def to_probability(x: Array, scale: Scale) -> Array:
    """Return likelihoods as probabilities: NumPy in, NumPy out; torch in, torch out.

    >>> to_probability(np.array([-1.0, 0.0, np.inf]), "logit").round(2).tolist()
    [0.27, 0.5, 1.0]
    """
    if scale == "probability":
        return x
    if array_api_compat.is_torch_array(x):
        return x.exp() if scale == "log" else x.sigmoid()
    if scale == "log":
        return np.exp(x)
    from scipy import special  # takes a while, and few need it

    return np.asarray(special.expit(x))


def threshold_probability(threshold: ArrayLike, scale: Scale) -> NDArray[np.float64]:
    """Convert thresholds to probabilities, rounded so that nothing more passes; 1 if none does.

    >>> threshold_probability([-np.inf, 0.0, 0.5], "log").tolist()
    [0.0, 1.0, 1.0]
    """
    given = np.asarray(threshold, dtype=np.float64)
    tau = np.minimum(to_probability(given, scale), 1.0)
    while (lower := (from_probability(tau, scale) < given) & (tau < 1)).any():  # it was rounded down
        tau = np.where(lower, np.nextafter(tau, 1), tau)
    return np.asarray(tau)


def from_logit(x: ArrayLike, scale: Scale) -> NDArray[np.float64]:
    """Convert thresholds from logits to another scale.

    >>> from_logit([-np.inf, 0.0, np.inf], "probability").tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy import special

    convert: dict[Scale, Any] = {
        "probability": special.expit,
        "log": special.log_expit,
        "logit": np.asarray,
    }
    return np.asarray(convert[scale](x))


def from_probability(tau: ArrayLike, scale: Scale) -> NDArray[np.float64]:
    """Convert thresholds from probabilities to another scale; values outside 0 .. 1 count as 0 or 1.

    >>> from_probability([0.0, 0.5, 1.0], "logit").tolist()
    [-inf, 0.0, inf]
    """
    given = np.asarray(tau, dtype=np.float64)
    if scale == "probability":
        return given
    with np.errstate(divide="ignore"):
        inside = np.clip(given, 0, 1)
        if scale == "log":
            return np.asarray(np.log(inside))
        from scipy import special

        return np.asarray(special.logit(inside))


# Checks: each value in its range, each row with its sum ---------------------------------------------------------

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
        self,
        total: Array,
        wanted: Literal["1", "at most 1", "positive"],
        advice: Callable[[int], str] | str,
        what: str = "The scores of an example",
    ) -> None:
        """Raise an error if the sum of a row is wrong: [rows]; `what` is added up."""
        if wanted == "positive":
            good, rule = (total > 0) & (total < np.inf), "Scores must have a positive sum"
        else:
            over = total - 1
            good = (over if wanted == "at most 1" else abs(over)) <= self.tolerance
            rule = f"{what} must sum to {wanted} within {self.tolerance}"
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
