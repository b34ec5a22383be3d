"""How strong a penalty: from strong to weak, until examples that were held out are answered no better.

The score is AP, which asks both for right answers and for specific ones. Of values that score alike, up to one
standard error, the strongest penalty is chosen: it hedges more, also on classes that nobody has seen, and later
values of a path have an advantage, since each goes on from what the one before learnt.
"""

from __future__ import annotations

import math
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.tree import Indices

Path = dict[str, list[float]]
"""The values of "C" that were tried, and the "AP" of each on held-out examples."""

FIRST = 60.0
"""C times the examples a label, where the path begins; the best value is seldom below it."""
FACTOR = 4.0
"""From one value of C to the next."""
_PATIENCE = 2  # values in a row that are no better than the best before them
_LONGEST = 10  # values in all
_ROUNDING = 1e-9
_SHARE, _FOLDS = 0.2, 5  # held out at a time, and how often at most
_FEWEST, _ENOUGH, _MOST = (
    20,
    1_000,
    3_000,
)  # held out in all folds: fewer say nothing, more than enough in one fold

_USUAL, _FEW_SHOT = 20.0, 300.0


def usual(examples_a_label: float) -> float:
    """Return the C to use where nothing can be held out: 20, or 300 at one example a label.

    >>> usual(100.0), usual(3.0)
    (20.0, 100.0)
    """
    return max(_USUAL, _FEW_SHOT / examples_a_label)


def folds(features: Any, label: Indices, random: np.random.RandomState) -> list[tuple[Indices, Indices]]:
    """Split examples into those to learn from and those held out, several times if there are few.

    One example of each label is always learnt from. Equal examples stay together, and one of them is held out for
    all: a copy among those learnt from would make it easy, and a weight then means the same as repetition. Labels
    at the root are never held out. Too little to hold out is no folds.
    """
    distinct, member = np.unique(_digests(features, label), return_inverse=True)
    first = np.full(len(distinct), len(label))
    np.minimum.at(first, member, np.arange(len(label)))
    order = random.permutation(len(distinct))
    _, kept = np.unique(label[first[order]], return_index=True)
    spare = np.delete(order, kept)
    spare = spare[label[first[spare]] > 0]
    # Rare labels have fewer to spare; these are drawn sooner, so that each label gets its share of the whole.
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
        The smallest value whose AP is within a standard error of the best, and what was tried.
    """
    path = no_path()
    for i in range(_LONGEST):
        path["C"].append(first * FACTOR**i)
        path["AP"].append(score(path["C"][-1]))
        if i - _first_within(_ROUNDING, path["AP"]) >= _PATIENCE:
            break
    best = max(path["AP"])
    return path["C"][_first_within(math.sqrt(max(best * (1 - best), 0) / examples), path["AP"])], path


def _first_within(margin: float, values: list[float]) -> int:
    """Return the place of the first value that is at most so far below the greatest."""
    return int(np.argmax(np.array(values) >= max(values) - margin))


def _digests(features: Any, label: Indices) -> NDArray[np.int64]:
    """Return a number for each example that depends on its features and label alone."""
    if sparse.issparse(features):
        data, indices = features.data, features.indices  # type: ignore[attr-defined]
        rows = [
            zlib.crc32(data[a:b].tobytes(), zlib.crc32(indices[a:b].tobytes()))
            for a, b in pairwise(features.indptr)  # type: ignore[attr-defined]
        ]
    else:
        rows = [zlib.crc32(row) for row in np.ascontiguousarray(features)]
    return np.array(rows, dtype=np.int64) * (int(label.max(initial=0)) + 1) + label
