"""The scales of likelihoods: probabilities, their logarithms, their logits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import array_api_compat
import numpy as np

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.arrays import Array

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
