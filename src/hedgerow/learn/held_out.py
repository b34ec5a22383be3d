"""Which examples take no part in learning, and what for: to choose a penalty, a point, or when to stop."""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import Indices

_SHARE, _FOLDS = 0.2, 5  # held out at a time, and how often at most
_FEWEST, _ENOUGH, _MOST = 20, 1_000, 3_000  # in all folds: fewer say nothing, more than enough in one fold


def for_point(
    label: Indices, weight: NDArray[np.float64], clusters: Any, share: float, random: np.random.RandomState
) -> tuple[NDArray[np.bool_], Indices]:
    """Return a mask of the examples to learn from, and those to choose an operating point with.

    Clusters are held out whole. An example without weight, or with a label at the root, is of no use for either.
    """
    names = np.arange(len(label)) if clusters is None else np.asarray(clusters)
    check_consistent_length(label, names)
    distinct, member = np.unique(names.astype(str), return_inverse=True)
    count = min(max(round(len(distinct) * share), 1), len(distinct) - 1)
    if count < 1:
        raise ParameterError("target needs at least two examples, or clusters: some to learn from, some held out.")
    chosen = np.isin(member, random.choice(len(distinct), count, replace=False))
    rows = np.flatnonzero(chosen & (weight > 0) & (label > 0))
    if not len(rows):
        raise ParameterError("No example with a label below the root was held out: target cannot be met.")
    return ~chosen, rows


def for_stopping(rows: Indices, share: float, random: np.random.RandomState) -> tuple[Indices, Indices]:
    """Return the examples to learn from, and those whose loss says when to stop, if there are two or more."""
    if len(rows) < 2:
        return rows, rows[:0]
    count = min(max(round(len(rows) * share), 1), len(rows) - 1)
    held_out = np.sort(random.choice(rows, count, replace=False))
    return np.setdiff1d(rows, held_out), held_out


def folds(features: Any, label: Indices, random: np.random.RandomState) -> list[tuple[Indices, Indices]]:
    """Split examples into those to learn from and those held out, several times if there are few.

    One example of each label is always learnt from. Equal examples stay together, and one of them is held out for
    all: a copy among those learnt from would make it easy, and a weight then means the same as repetition. Labels
    at the root are never held out. Where too little can be held out, there are no folds.
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
