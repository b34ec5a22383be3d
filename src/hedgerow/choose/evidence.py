"""Evidence that may be looked at at any time: bets that win if a hypothesis is wrong.

A gambler starts with 1 and bets against the hypothesis. If it is true, no bet gains on average, whatever came
before, so the probability that the wealth ever reaches 1/δ is at most δ, however long one looks (Ville).

Several bettors share the money equally. Each puts half of it into play at once and the rest little by little, so
that some is left if things go wrong only after a long time. Together they make one bet that depends on the past
alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_AT_ONCE = 0.5
_MULTIPLES = (1.5, 2.0, 3.0, 5.0)  # of α: the mean losses that are bet on
_TILTS = (-0.9, -0.5, 0.5, 0.9)  # densities that are bet on: slopes,
_BENDS = (-0.45, 0.5)  # parabolas,
_POWER = 0.5  # and peaks at either end
_LARGEST = 700.0  # the logarithm of nearly the largest float


@final
class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The wealth of some bettors after some bets, as logarithms."""

    count: int = 0
    """The number of bets."""
    bettors: tuple[float, ...] = ()
    """The money that each bettor has in play; empty before the first bet."""
    best: float = 0.0
    """The largest wealth of all bettors together so far."""

    def after(self, log_factors: Floats) -> tuple[Evidence, Floats]:
        """Return the evidence after more bets, and the wealth after each of them.

        Parameters
        ----------
        log_factors
            [bets, bettors] The logarithm of the factor by which each bet multiplies the money of each bettor.
            Given the past, the factor is at most 1 on average.
        """
        bets, number = log_factors.shape
        if not bets:
            return self, np.zeros(0)
        kept = _kept(np.arange(self.count, self.count + bets + 1))
        new = np.log((kept[:-1] - kept[1:]) / number)
        gain = np.cumsum(log_factors, axis=0)
        before = np.vstack([np.zeros(number), gain[:-1]])
        start = np.array(self.bettors or (-np.inf,) * number)[None]
        put_in = np.logaddexp.accumulate(np.vstack([start, new[:, None] - before]), axis=0)[1:]
        each = gain + put_in
        path: Floats = np.logaddexp(np.logaddexp.reduce(each, axis=1), np.log(kept[1:]))
        best = max(self.best, float(path.max()))
        return Evidence(self.count + bets, tuple(each[-1].tolist()), best), path


def _kept(bets: NDArray[np.int64]) -> Floats:
    """Return the share of the money that is not yet in play after each number of bets."""
    with np.errstate(divide="ignore"):
        return np.where(bets == 0, 1.0, _AT_ONCE / np.log2(bets + 1.0))


def mean_bets(values: Floats, alpha: float) -> Floats:
    """Return log factors of bets that values from -α to 1 - α have a mean above 0: [values, bettors].

    If a value is a loss of 0 or 1, less α, each factor is the likelihood ratio of a larger share of losses.
    """
    shares = np.array(sorted({min(times * alpha, (1 + alpha) / 2) for times in _MULTIPLES}))
    bet = (shares - alpha) / (alpha * (1 - alpha))
    return np.log1p(values[:, None] * bet)


def p_value_bets(p: Floats) -> Floats:
    """Return log factors of bets that p-values are not uniform: [p-values, bettors]."""
    middle = 2 * p - 1
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    densities = [1 + tilt * middle for tilt in _TILTS]
    densities += [1 + bend * (3 * middle**2 - 1) for bend in _BENDS]
    densities += [_POWER * each ** (_POWER - 1) for each in (inside, 1 - inside)]
    return np.log(np.stack(densities, axis=1))


def capped_exp(log: float) -> float:
    """Return the exponential of a number, or a very large float where it would overflow."""
    return math.exp(min(log, _LARGEST))
