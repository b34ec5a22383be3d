"""The kinds of arrays that the package takes: tests run on all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Backend = tuple[str, str]

DEVICES = ["numpy", "cpu", *(["cuda"] if torch.cuda.is_available() else [])]
BACKENDS: list[Backend] = [(device, precision) for device in DEVICES for precision in ("float32", "float64")]
"""Where an array lives ("numpy", or the device of a tensor) and its precision."""


def make(backend: Backend, values: Any) -> Any:
    """Return values as an array or tensor of a kind."""
    where, precision = backend
    array = np.asarray(values, dtype=precision)
    return array if where == "numpy" else torch.tensor(array, device=where)


def values_of(backend: Backend, result: Any) -> Any:
    """Return what came out as a NumPy array, having checked that it is of the kind that went in."""
    if backend[0] == "numpy":
        assert isinstance(result, np.ndarray)
        return result
    assert isinstance(result, torch.Tensor)
    assert result.device.type == backend[0]
    return result.detach().cpu().numpy()
