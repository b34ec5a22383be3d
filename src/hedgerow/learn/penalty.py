"""How strong a penalty: from strong to weak, until examples that were held out are answered no better.

The score is AP, which asks both for right answers and for specific ones. Of values that score alike, up to one
standard error, the strongest penalty is chosen: it hedges more, also on classes that nobody has seen, and later
values of a path have an advantage, since each goes on from what the one before learnt. But the standard error of
few examples is large, and C below `LEAST` is seldom best: it is chosen only if it is better by more than that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learn import held_out
from hedgerow.learn.solver import Fitting, Layer, likelihood
from hedgerow.measure import CurveBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hedgerow.learn.shared_outputs import SharedOutputs
    from hedgerow.tree import Indices

Path = dict[str, list[float]]
"""The values of "C" that were tried, and the "AP" of each on held-out examples."""

FIRST = 60.0
"""C times the examples per label, where the path begins; the best value is seldom below it."""
FACTOR = 4.0
"""From one value of C to the next."""
LEAST = 5.0
"""A smaller C is chosen only if all larger ones are worse by more than a standard error; then the largest such."""
LONGEST = 10
"""Values that are tried at most."""
_PATIENCE = 2  # values in a row that are no better than the best before them
_ROUNDING = 1e-9
_EPOCHS = 3  # for each value; each goes on from the one before
_NEXT_RATE = 0.7  # of the learning rate, after the first: full steps would shake what was learnt
_USUAL, _FEW_SHOT = 20.0, 300.0


def usual(examples_per_label: float) -> float:
    """Return the C to use where nothing can be held out: 20, or more if labels have fewer than 15 examples.

    >>> usual(100.0), usual(3.0)
    (20.0, 100.0)
    """
    return max(_USUAL, _FEW_SHOT / examples_per_label)


def choose(
    fitting: Fitting,
    layers: Sequence[Layer],
    shared: SharedOutputs | None,
    X: Any,
    label: Indices,
    weight: NDArray[np.float64],
    random: np.random.RandomState,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[float, Path]:
    """Choose C for a model that starts with these weights; the usual one if too little can be held out.

    `done` is told of every value that was tried.

    Returns
    -------
    C, path
        The choice, and what was tried.
    """
    examples_per_label = float(weight.sum() / len(np.unique(label)))
    splits = held_out.folds(X, label, random)
    if not splits:
        return usual(examples_per_label), no_path()
    method = fitting.method
    networks = [fitting.network(layers, shared) for _ in splits]
    learnt = [fitting.examples(X[rows], label[rows], weight[rows]) for rows, _ in splits]
    first = FIRST / examples_per_label
    full_rate = fitting.schedule.learning_rate

    def score(C: float) -> float:
        curve = CurveBuilder(method.hierarchy, scale=method.scale)
        rate = full_rate if first == C else _NEXT_RATE * full_rate
        for network, examples, (rows, others) in zip(networks, learnt, splits, strict=True):
            strength = 1 / (C * weight[rows].sum())
            fitting.train(network, examples, strength, epochs=_EPOCHS, learning_rate=rate)
            q = likelihood(method, fitting.scaling, network.layers(), X[others], method.scale)
            curve.update(q, label[others], classes=method.hierarchy.names)
        ap = curve.compute().summary()["AP"]
        done(f"C = {C:.3g}, AP {100 * ap:.1f} %")
        return ap

    return relax(score, first, sum(len(others) for _, others in splits))


def no_path() -> Path:
    """Return what is reported where nothing was tried."""
    return {"C": [], "AP": []}


def relax(score: Callable[[float], float], first: float, examples: int) -> tuple[float, Path]:
    """Try one C after the other, from strong penalties to weak ones, until they are no better.

    Parameters
    ----------
    score
        AP of the held-out examples; called with ascending values, so that it can go on from the one before.
    first
        Where to begin.
    examples
        Number of held-out examples, on which the standard error of AP depends.

    Returns
    -------
    C, path
        The smallest value, `LEAST` or more, whose AP is within a standard error of the best, or else the largest
        such value; and what was tried.
    """
    path = no_path()
    for i in range(LONGEST):
        path["C"].append(first * FACTOR**i)
        path["AP"].append(score(path["C"][-1]))
        if path["C"][-1] >= LEAST and i - _within(_ROUNDING, path["AP"])[0] >= _PATIENCE:
            break
    best = max(path["AP"])
    error = math.sqrt(max(best * (1 - best), 0) / examples)
    close = [path["C"][i] for i in _within(error, path["AP"])]
    return next((C for C in close if C >= LEAST), close[-1]), path


def _within(margin: float, values: list[float]) -> list[int]:
    """Return the positions of the values within a margin of the greatest."""
    return [i for i, value in enumerate(values) if value >= max(values) - margin]
