"""Evidence that grows while one looks: bets that win if a hypothesis is wrong.

A gambler starts with 1 and bets against the hypothesis. If it is true, no bet has a gain on average, whatever was
seen before, and so the wealth ever reaches 1/δ with a probability of at most δ, however long one looks (Ville).

Several bettors have equal parts of the money, and each puts his into play little by little: half at once, the rest
later, so that something is left if things go wrong only after a long time. All of that is one bet, which depends
on the past alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_AT_ONCE = 0.5
_MULTIPLES = (1.5, 2.0, 3.0, 5.0)
_TILTS = (-0.9, -0.5, 0.5, 0.9)
_BENDS = (-0.45, 0.5)
_POWER = 0.5
_LARGEST = 700.0  # the logarithm of nearly the largest float


@final
@dataclass(frozen=True)
class Evidence:
    """The wealth of bettors after some bets, in logarithms."""

    count: int = 0
    """How many bets there were."""
    bettors: tuple[float, ...] = ()
    """What each bettor has in play; empty before the first bet."""
    best: float = 0.0
    """The largest wealth so far, of all together."""

    def after(self, log_factors: Floats) -> tuple[Evidence, Floats]:
        """Return the evidence after more bets, and the wealth after each of them.

        Parameters
        ----------
        log_factors
            [bets, bettors] By what each bet multiplies the money of each bettor: on average at most 1, given what
            was before.
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
    """Return the share of the money that is not yet in play after some bets."""
    with np.errstate(divide="ignore"):
        return np.where(bets == 0, 1.0, _AT_ONCE / np.log2(bets + 1.0))


def mean_bets(values: Floats, alpha: float) -> Floats:
    """Return the logarithms of bets that values, from -α to 1 - α, have a mean above 0: [values, bettors].

    For losses of 0 and 1, less α, each is the likelihood ratio of a larger share of losses.
    """
    shares = np.array(sorted({min(times * alpha, (1 + alpha) / 2) for times in _MULTIPLES}))
    bet = (shares - alpha) / (alpha * (1 - alpha))
    return np.log1p(values[:, None] * bet)


def rank_bets(p: Floats) -> Floats:
    """Return the logarithms of bets that values between 0 and 1 are not uniform: [values, bettors]."""
    middle = 2 * p - 1
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    densities = [1 + tilt * middle for tilt in _TILTS]
    densities += [1 + bend * (3 * middle**2 - 1) for bend in _BENDS]
    densities += [_POWER * each ** (_POWER - 1) for each in (inside, 1 - inside)]
    return np.log(np.stack(densities, axis=1))


def as_number(log: float) -> float:
    """Return a number from its logarithm; a very large one if it is too large."""
    return math.exp(min(log, _LARGEST))
