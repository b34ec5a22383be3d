"""Choose the penalty: relax it step by step until answers to held-out examples no longer improve.

The score is AP, which rewards both right and specific answers. Of values within one standard error of the best,
the strongest penalty is chosen: it hedges more, also on unseen classes, and later values on the path have an
advantage, since each continues from the weights of the one before. But the standard error of few examples is
large, and C below `LEAST` is seldom best: it is chosen only if it is better by more than that.
"""

from __future__ import annotations

import math
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from hedgerow.learn.solver import Fitting, Layer, likelihood
from hedgerow.measure import CurveBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hedgerow.tree import Indices

PenaltyPath = dict[str, list[float]]
"""The values of "C" that were tried, and the "AP" of each on held-out examples."""

FIRST = 60.0
"""The path begins at this C divided by the examples per label; the best value is seldom smaller."""
FACTOR = 4.0
"""The ratio of successive values of C."""
LEAST = 5.0
"""A smaller C is chosen only if all larger ones are worse by more than a standard error; then the largest such."""
LONGEST = 10
"""The largest number of values to try."""
_PATIENCE = 2  # successive values without an improvement before the path ends
_ROUNDING = 1e-9
_EPOCHS = 3  # for each value, which continues from the weights of the one before
_NEXT_RATE = 0.7  # of the learning rate, after the first value: full steps would undo what was learnt
_SHARE, _FOLDS = 0.2, 5  # share held out in a fold, and the largest number of folds
_FEWEST, _ENOUGH, _MOST = (
    20,
    1_000,
    3_000,
)  # held-out examples: at least, in all folds; enough; at most, in one fold
_USUAL, _FEW_SHOT = 20.0, 300.0


def usual(examples_per_label: float) -> float:
    """Return the C to use if nothing can be held out: 20, or more if labels have fewer than 15 examples.

    >>> usual(100.0), usual(3.0)
    (20.0, 100.0)
    """
    return max(_USUAL, _FEW_SHOT / examples_per_label)


def choose(
    fitting: Fitting,
    layers: Sequence[Layer],
    X: Any,
    label: Indices,
    weight: NDArray[np.float64],
    random: np.random.RandomState,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[float, PenaltyPath]:
    """Choose C for a model that starts with these weights; the usual one if too little can be held out.

    `done` is called with a description of every value that was tried.

    Returns
    -------
    C, path
        The choice, and what was tried.
    """
    examples_per_label = float(weight.sum() / len(np.unique(label)))
    splits = folds(X, label, random)
    if not splits:
        return usual(examples_per_label), no_path()
    method = fitting.method
    networks = [fitting.network(layers) for _ in splits]
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


def no_path() -> PenaltyPath:
    """Return the path if nothing was tried."""
    return {"C": [], "AP": []}


def relax(score: Callable[[float], float], first: float, examples: int) -> tuple[float, PenaltyPath]:
    """Try one C after the other, from strong penalties to weak ones, until they no longer improve.

    Parameters
    ----------
    score
        Returns the AP of the held-out examples; called with ascending values, so that it can continue from the
        last one.
    first
        The first value.
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


def folds(features: Any, label: Indices, random: np.random.RandomState) -> list[tuple[Indices, Indices]]:
    """Split examples into those to learn from and those held out, several times if there are few.

    One example of each label is always learnt from. Equal examples stay together, and one of them is held out for
    all: a copy among those learnt from would make it easy, and a weight should mean the same as repetition. Labels
    at the root are never held out. If too little can be held out, there are no folds.
    """
    distinct, member = np.unique(_digests(features, label), return_inverse=True)
    first = np.full(len(distinct), len(label))
    np.minimum.at(first, member, np.arange(len(label)))
    order = random.permutation(len(distinct))
    _, kept = np.unique(label[first[order]], return_index=True)
    spare = np.delete(order, kept)
    spare = spare[label[first[spare]] > 0]
    # Rare labels have fewer to spare: draw them sooner, so that each label has its share of what is held out.
    size = np.bincount(label[first])[label[first[spare]]]
    spare = spare[np.argsort(random.exponential(size=len(spare)) * (size - 1) / size)]
    count = min(round(_SHARE * len(distinct)), _MOST, len(spare))
    if count == 0:
        return []
    wanted = min(-(-_ENOUGH // count), _FOLDS, len(spare) // count)
    if wanted * count < _FEWEST:
        return []
    groups = [spare[i * count : (i + 1) * count] for i in range(wanted)]
    return [(np.flatnonzero(~np.isin(member, group)), first[group]) for group in groups]


def _digests(features: Any, label: Indices) -> NDArray[np.int64]:
    """Return a number for each example that depends only on its features and label."""
    if sparse.issparse(features):
        data, indices = features.data, features.indices  # type: ignore[attr-defined]
        rows = [
            zlib.crc32(data[a:b].tobytes(), zlib.crc32(indices[a:b].tobytes()))
            for a, b in pairwise(features.indptr)  # type: ignore[attr-defined]
        ]
    else:
        rows = [zlib.crc32(row) for row in np.ascontiguousarray(features)]
    return np.array(rows, dtype=np.int64) * (int(label.max(initial=0)) + 1) + label
