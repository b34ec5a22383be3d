"""Arrays, tensors and lists as they come in: to which library they belong, and in which shape they are needed."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, cast

import array_api_compat
import numpy as np

from hedgerow.arrays import numpy_ops
from hedgerow.errors import ScoreError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.arrays.interface import Array, ArrayOps, TreeArrays


def namespace(x: Array) -> Any:
    """Return the array API namespace of an array."""
    return array_api_compat.array_namespace(x)


def ops_of(x: Array) -> ArrayOps:
    """Return the module with the operations that the array API lacks, for this kind of array."""
    if array_api_compat.is_torch_array(x):
        # By name, so that nothing in the evaluation part imports torch. Compiled graphs cannot import modules.
        name = "hedgerow.arrays.torch_ops"
        return cast("ArrayOps", sys.modules.get(name) or importlib.import_module(name))
    return numpy_ops


def as_scores(x: Any, width: int, what: str) -> Array:
    """Return a float32 or float64 array or tensor with one column per `what`.

    Lists become arrays and half precision becomes single; any other width is an error.
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
        raise ScoreError(f"Scores need one column per {what}, {width} in all; their shape is {tuple(x.shape)}.")
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
    precision: Any = np.float32 if "float32" in str(like.dtype) else np.float64
    with np.errstate(over="ignore"):
        nearest = given.astype(precision)
    return np.where(nearest > given, np.nextafter(nearest, precision(-np.inf)), nearest)
