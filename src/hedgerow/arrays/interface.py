"""Input arrays and tensors, and the interfaces of trees and of the modules that implement the operations."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.arrays import numpy_ops
from hedgerow.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


Indices = NDArray[np.int64]
Array = Any
"""A NumPy array or a torch tensor; results are of the same kind as the input."""
T = TypeVar("T")


class TreeArrays(Protocol):
    """A tree in depth-first order; `hedgerow.Hierarchy` is one."""

    @property
    def parent(self) -> Indices:
        """Parent of each node, -1 for the root."""

    @property
    def depth(self) -> Indices:
        """Number of edges from the root to each node."""

    @property
    def end(self) -> Indices:
        """One past the last descendant of each node."""

    @property
    def leaves(self) -> Indices:
        """The nodes without children."""

    @property
    def leaves_before(self) -> Indices:
        """Number of leaves with an index below each of 0 .. n."""

    @property
    def child_count(self) -> Indices:
        """Number of children of each node."""

    @property
    def levels(self) -> tuple[Indices, ...]:
        """The nodes at each depth."""

    def __len__(self) -> int:
        """Return the number of nodes."""

    def derived(self, key: Hashable, make: Callable[[], T], /) -> T:
        """Return the result of `make`, called once per tree and key."""


class Intervals(NamedTuple):
    """Intervals of columns, one for each node: that of the whole row comes first.

    Many nodes share theirs, so the distinct intervals of several columns are listed too.
    """

    low: Array
    """Where the interval of each node begins, int32."""
    high: Array
    """One past its last column, int32."""
    first: Array
    """Where each distinct interval of several columns begins."""
    last: Array
    """One past its last column."""
    number: Array
    """For each node, its column if it has only one; else the number of columns plus that of its interval."""


class Check(Protocol):
    """Returns rows of scores ready for use, or raises an error."""

    @property
    def usual(self) -> tuple[float, float]:
        """Scores between these two values, inclusive, pass unchanged."""

    def __call__(self, q: Any, first_row: int, /) -> Any:
        """Return q ready for use; `first_row` is the number of its first row."""


class Tiers(Protocol):
    """The candidates of a tree in tiers of equal information, on one device."""

    def leaders(self, q: Array, check: Check, /) -> tuple[Array, Array]:
        """Return the node with the largest score in every tier (the first of equals), and that score.

        q is [B, nodes of the tree], both results are [B, tiers]. Scores must pass the check.
        """

    def records(self, q: Array, minimum: float | None, /) -> tuple[Array, Array, Array] | None:
        """Keep the leaders whose score exceeds `minimum` and those of all higher tiers, in one pass.

        Returns the number that each row keeps, and the nodes and scores kept, row by row; None if there is no
        faster way than through the leaders.
        """

    def fetch_records(self, q: Array, minimum: float, check: Check, /) -> tuple[Array, Array, Array] | None:
        """Return the same as NumPy arrays, without node 0; scores must pass the check."""


class ArrayOps(Protocol):
    """Operations that the array API lacks, implemented by the modules `numpy_ops` and `torch_ops`."""

    @property
    def Tiers(self) -> Callable[[Indices, Indices, int, Any], Tiers]:  # noqa: N802  (a class)
        """Makes tiers from nodes (tier by tier), where each tier starts, the number of nodes, and the device."""

    def device_of(self, x: Array, /) -> Any:
        """Return the device of `x`."""

    def constant(self, array: NDArray[Any], device: Any, /) -> Array:
        """Return a constant array on a device."""

    def to_numpy(self, *arrays: Array) -> list[NDArray[Any]]:
        """Return arrays or tensors as arrays."""

    def prefix_sums(self, x: Array, /) -> Array:
        """Return float64 sums of the first 0, 1, 2, ... entries along the last axis."""

    def interval_shares(self, x: Array, intervals: Intervals, /) -> Array:
        """Sum x >= 0 over intervals of columns, as shares of the sum of the row."""

    def interval_softmax(self, x: Array, intervals: Intervals, /) -> Array:
        """Return the `interval_shares` of exp(x), safe from overflow."""

    def extremes(self, x: Array, /) -> tuple[float, float]:
        """Return the smallest and the largest entry; both are NaN if any entry is."""

    def running_max(self, x: Array, /) -> Array:
        """Return the largest entry so far, along the last axis."""

    def segment_max(self, x: Array, start: Array, segment: Array, /) -> Array:
        """Return the largest entry of each segment of the last axis; none is empty."""

    def segment_sum(self, x: Array, start: Array, segment: Array, /) -> Array:
        """Return the sum of each segment of the last axis; none is empty."""

    def sigmoid(self, x: Array, /) -> Array:
        """Return 1 / (1 + exp(-x))."""

    def log(self, x: Array, /) -> Array:
        """Return the logarithm; -inf for 0."""

    def log_sigmoid(self, x: Array, /) -> Array:
        """Return log(1 / (1 + exp(-x)))."""


def namespace(x: Array) -> Any:
    """Return the array API namespace of an array."""
    return _numpy_namespace() if type(x) is np.ndarray else array_api_compat.array_namespace(x)


@cache
def _numpy_namespace() -> Any:
    """Return that of NumPy's arrays: to ask for it takes longer than many an operation on a single row."""
    return array_api_compat.array_namespace(np.empty(0))


def ops_of(x: Array) -> ArrayOps:
    """Return the module with the operations that the array API lacks, for this kind of array."""
    if array_api_compat.is_torch_array(x):
        # By name, so that nothing in the evaluation part imports torch. Compiled graphs cannot import modules.
        name = "hedgerow.arrays.torch_ops"
        return cast("ArrayOps", sys.modules.get(name) or importlib.import_module(name))
    return numpy_ops


def placed(values: NDArray[Any], like: Array) -> Array:
    """Return values on the device of `like`."""
    ops = ops_of(like)
    return ops.constant(values, ops.device_of(like))


def as_scores(x: Any, width: int, what: str, advice: str = "") -> Array:
    """Return a float32 or float64 array or tensor with one column per `what`.

    Lists become arrays and half precision becomes single; any other width is an error, to which `advice` is added.
    """
    if not array_api_compat.is_array_api_obj(x) or isinstance(x, np.ma.MaskedArray):
        x = as_numpy(x)
    xp = namespace(x)
    if x.dtype not in (xp.float32, xp.float64):
        half = "float16" in str(x.dtype)  # bfloat16 is one
        if not half and not xp.isdtype(x.dtype, ("real floating", "integral", "bool")):
            raise ScoreError(f"Scores must be numbers, not {x.dtype}.")
        x = xp.astype(x, xp.float32 if half else xp.float64)
    if x.ndim < 1 or x.shape[-1] != width:
        raise ScoreError(
            f"Scores need one column per {what}, {width} in all; their shape is {tuple(x.shape)}.{advice}"
        )
    return x


def as_rows(x: Any, hierarchy: TreeArrays) -> Array:
    """Return a float32 or float64 array or tensor [examples, nodes]; any other shape is an error."""
    x = as_scores(x, len(hierarchy), "node")
    if x.ndim != 2:
        raise ScoreError(
            f"Likelihoods need one row per example and one column per node; got shape {tuple(x.shape)}."
        )
    return x


def as_numpy(x: Any) -> NDArray[Any]:
    """Return a tensor, an array or a sequence as an array."""
    if not array_api_compat.is_torch_array(x):
        if np.ma.is_masked(x):
            raise ScoreError("Some values are masked. Fill the gaps first: array.filled(value).")
        try:
            return np.asarray(x)
        except ValueError:
            raise ScoreError("Rows have different lengths: an array needs as many values in each.") from None
    # NumPy has no bfloat16.
    return np.asarray(x.detach().cpu().float() if "bfloat16" in str(x.dtype) else x.detach().cpu())


def rounded_down(threshold: ArrayLike, like: Array) -> NDArray[Any]:
    """Round thresholds down to the precision of `like`, so that the same values exceed them as before.

    >>> rounded_down(0.7, np.zeros(1, dtype=np.float32)).tolist() < 0.7
    True
    """
    given = np.asarray(threshold, dtype=np.float64)
    precision: Any = np.float32 if like.dtype.itemsize == 4 else np.float64
    with np.errstate(over="ignore"):
        nearest = given.astype(precision)
    return np.where(nearest > given, np.nextafter(nearest, precision(-np.inf)), nearest)
