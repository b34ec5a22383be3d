"""One answer per event: the likelihoods of photographs of one burst, or of several models, become one row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from hedgerow.arrays import UNIT, as_numpy
from hedgerow.errors import ParameterError, check_each
from hedgerow.likelihood.entries import from_top
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.links import softmax_or_root
from hedgerow.likelihood.own_mass import own_entries
from hedgerow.likelihood.sparse_likelihoods import SparseLikelihoods
from hedgerow.likelihood.temperature import scores_behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy, Indices


Pooling = Literal["mean", "geometric", "max"]
"""How the likelihoods of the examples of an event become one: see `pool`."""


def pool(
    hierarchy: Hierarchy, q: Any, events: ArrayLike, how: Pooling = "mean", *, scale: Scale | None = None
) -> tuple[AnyLikelihoods, NDArray[np.object_]]:
    """Pool the likelihoods of the examples of each event: one row per event, in order of first appearance.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [examples, nodes] Likelihoods, dense or sparse.
    events
        [examples] The name of the event of each example.
    how
        "mean": the mean of the likelihoods (a linear pool). "geometric": the geometric mean of the probabilities
        of the leaves, divided by their sum; of lists of classes, only those that every example of the event lists
        are left. "max": the largest likelihood of each node.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".

    Returns
    -------
    (Likelihoods or SparseLikelihoods, array [events])
        The pooled likelihoods and the names of the events. Dense ones keep their scale.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> pooled, names = likelihood.pool(h, [[1, 0.5, 0.5], [1, 0.25, 0.75], [1, 1, 0]], ["a", "a", "b"])
    >>> pooled.values.tolist(), names.tolist()
    ([[1.0, 0.375, 0.625], [1.0, 1.0, 0.0]], ['a', 'b'])
    """
    if how not in _MODES:
        raise ParameterError(f"Events are pooled by {', '.join(_MODES)}, not by {how!r}.")
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    if given.treatment.pool is not None:
        raise ParameterError("These likelihoods have already been pooled.")
    names, member = numbered(events)
    check_each("events", member.shape, len(given))
    pooled: AnyLikelihoods
    if isinstance(given, SparseLikelihoods):
        given.require_all("Pooling of events")
        pooled = _MODES[how].sparse(given, member, len(names))
    else:
        order = np.argsort(member, kind="stable")
        start = np.searchsorted(member[order], np.arange(len(names)))
        values = _MODES[how].dense(given, order, start)
        pooled = Likelihoods.checked(hierarchy, values, given.scale)
    pooled.treatment = replace(given.treatment, pool=how)
    return pooled, names


def numbered(names: ArrayLike) -> tuple[NDArray[np.object_], Indices]:
    """Return the distinct names in order of first appearance, and the place of each name among them.

    >>> [each.tolist() for each in numbered(["b", "a", "b"])]
    [['b', 'a'], [0, 1, 0]]
    """
    given = np.array([str(name) for name in np.asarray(names).ravel().tolist()], dtype=object)
    if not len(given):
        return given, np.zeros(0, dtype=np.int64)
    distinct, first, place = np.unique(given, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[place]


# Means in whole multiples of the unit: in any order of adding the same, and no parent is below its child ---------


def _units(p: NDArray[np.float64], size: Indices) -> NDArray[np.int64]:
    """Return what each probability adds to the mean of so many."""
    return np.floor(p / size / UNIT).astype(np.int64)


def _summed(units: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.minimum(units.astype(np.float64), 1 / UNIT) * UNIT


# Dense: rows in the order of their events, and where those of each event start -----------------------------------


def _mean(q: Likelihoods, order: Indices, start: Indices) -> NDArray[np.float64]:
    """Return the mean probability of each node, on the scale of q: precise near 0 and near 1."""
    values = as_numpy(q.values).astype(np.float64)[order]
    if q.scale == "probability":
        size = _sizes(start, len(order))
        return _summed(np.add.reduceat(_units(values, np.repeat(size, size[:, 0], axis=0)), start, axis=0))
    if q.scale == "log":
        return _log_mean(values, start)
    from scipy import special  # takes a while, and few need it

    here, elsewhere = (_log_mean(special.log_expit(each), start) for each in (values, -values))
    return here - elsewhere


def _log_mean(x: NDArray[np.float64], start: Indices) -> NDArray[np.float64]:
    """Return ``log mean exp x`` of the rows of each event."""
    largest = np.maximum.reduceat(x, start, axis=0)
    size = _sizes(start, len(x))
    shift = np.where(np.isfinite(largest), largest, 0.0)
    less = np.expm1(x - np.repeat(shift, size[:, 0], axis=0))
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log1p(np.maximum(np.add.reduceat(less, start, axis=0) / size, -1.0)))


def _geometric(q: Likelihoods, order: Indices, start: Indices) -> NDArray[np.float64]:
    if q.scale == "logit":
        raise ParameterError(
            "A geometric mean needs leaf probabilities that sum to 1, and these are independent sigmoids. Pool "
            "them by mean or max."
        )
    theta = scores_behind(q, "A geometric mean")[order]
    mean = np.add.reduceat(theta, start, axis=0) / _sizes(start, len(order))
    return softmax_or_root(q.hierarchy, mean, scale=q.scale)


def _max(q: Likelihoods, order: Indices, start: Indices) -> NDArray[np.float64]:
    return np.asarray(np.maximum.reduceat(as_numpy(q.values).astype(np.float64)[order], start, axis=0))


def _sizes(start: Indices, rows: int) -> Indices:
    return np.diff(np.append(start, rows))[:, None]


# Sparse: entries in the order of their events and nodes ----------------------------------------------------------


def _merged(
    hierarchy: Hierarchy, member: Indices, node: Indices, value: NDArray[Any], combine: Any
) -> tuple[Indices, Indices, NDArray[Any]]:
    """Combine the entries of each event and node; return the event, the node and the value of each."""
    key = member * len(hierarchy) + node
    order = np.argsort(key, kind="stable")
    key, first = np.unique(key[order], return_index=True)
    merged = combine.reduceat(value[order], first) if len(first) else value
    return key // len(hierarchy), key % len(hierarchy), merged


def _as_rows(
    q: SparseLikelihoods, events: int, found: tuple[Indices, Indices, NDArray[np.float64]], scale: Scale
) -> SparseLikelihoods:
    event, node, value = found
    start = np.searchsorted(event, np.arange(events + 1))
    return SparseLikelihoods.checked(q.hierarchy, start, node, value, scale)


def _mean_sparse(q: SparseLikelihoods, member: Indices, events: int) -> SparseLikelihoods:
    size = np.bincount(member, minlength=events)[member[q.row]]
    units = _units(q.probabilities(), size)
    event, node, total = _merged(q.hierarchy, member[q.row], q.node, units, np.add)
    there = total > 0
    return _as_rows(q, events, (event[there], node[there], _summed(total[there])), "probability")


def _geometric_sparse(q: SparseLikelihoods, member: Indices, events: int) -> SparseLikelihoods:
    row, node, own = own_entries(q.hierarchy, q, "pooled by their geometric mean")
    there = own > 0
    row, node, log = row[there], node[there], np.log(own[there])
    size = np.bincount(member, minlength=events)
    event, nodes, total = _merged(q.hierarchy, member[row], node, log, np.add)
    count = _merged(q.hierarchy, member[row], node, np.ones(len(row), dtype=np.int64), np.add)[2]
    everywhere = count == size[event]
    event, nodes, mean = event[everywhere], nodes[everywhere], total[everywhere] / size[event[everywhere]]
    largest = np.full(events, -np.inf)
    np.maximum.at(largest, event, mean)
    return from_top(q.hierarchy, event, nodes, np.exp(mean - largest[event]), rows=events, renormalise=True)


def _max_sparse(q: SparseLikelihoods, member: Indices, events: int) -> SparseLikelihoods:
    return _as_rows(q, events, _merged(q.hierarchy, member[q.row], q.node, q.value, np.maximum), q.scale)


# The modes -------------------------------------------------------------------------------------------------------


class _Mode(NamedTuple):
    dense: Callable[[Likelihoods, Indices, Indices], NDArray[np.float64]]
    sparse: Callable[[SparseLikelihoods, Indices, int], SparseLikelihoods]


_MODES: dict[Pooling, _Mode] = {
    "mean": _Mode(_mean, _mean_sparse),
    "geometric": _Mode(_geometric, _geometric_sparse),
    "max": _Mode(_max, _max_sparse),
}
