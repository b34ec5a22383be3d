"""Texts as arrays of numbers: their UTF-8, one after the other, and where each ends."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from hedgerow.tree import Names

Arrays = dict[str, "NDArray[Any]"]


def packed(key: str, values: Iterable[str]) -> Arrays:
    """Return texts as the arrays `KEY_utf8` and `KEY_end`.

    >>> {name: array.tolist() for name, array in packed("ids", ["a", "", "bc"]).items()}
    {'ids_utf8': [97, 98, 99], 'ids_end': [1, 1, 3]}
    """
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    return {
        f"{key}_utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{key}_end": np.cumsum([len(value) for value in encoded], dtype=np.int64),
    }


def unpacked(key: str, arrays: Mapping[str, NDArray[Any]]) -> Names:
    """Return the texts that `packed` made arrays of."""
    data, ends = arrays[f"{key}_utf8"].tobytes(), arrays[f"{key}_end"].tolist()
    values = np.empty(len(ends), dtype=object)
    values[:] = [data[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise([0, *ends])]
    return values
