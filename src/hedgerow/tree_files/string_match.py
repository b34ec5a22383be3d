"""Where strings stand in a list of strings, by whole-array hashing: for a million, much faster than a dict."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._threads import map_row_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

Words = NDArray[np.uint64]
Positions = NDArray[np.int64]

_WORD = 8
# What is left of a word of 8 bytes when only the first 0, 1, ..., 8 belong to the string (little-endian).
_KEPT = np.array([(1 << (8 * size)) - 1 for size in range(_WORD + 1)], dtype=np.uint64)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
# Drawn anew in every process, so that nobody can prepare names that are taken for each other.
_STARTS = np.array([secrets.randbits(64) for _ in range(2)], dtype=np.uint64)
_MIXERS = np.array([secrets.randbits(64) | 1 for _ in range(2)], dtype=np.uint64)
_HALF = np.uint64(32)
_ROW_BYTES = 64  # what a string takes while it is worked on


@dataclass(frozen=True)
class Strings:
    """Strings as bytes, one after the other."""

    array: Any
    """The strings as an Arrow array; one more at its end pads the bytes."""
    offset: NDArray[np.int32]
    """Where each string starts, and where the last ends."""
    words: Words
    """The 8 bytes from every position on, as one number; they overlap."""

    @classmethod
    def from_arrow(cls, arrays: Sequence[Any]) -> Self:
        """Join Arrow arrays of strings without nulls."""
        import pyarrow as pa

        padded = pa.concat_arrays([*arrays, pa.array(["-" * _WORD])])
        offset = np.frombuffer(padded.buffers()[1], dtype=np.int32, count=len(padded))
        words: Words = np.ndarray(int(offset[-1]) + 1, dtype="<u8", buffer=padded.buffers()[2], strides=(1,))
        return cls(padded, offset, words)

    def __len__(self) -> int:
        return len(self.offset) - 1

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of all strings, and what pads them."""
        return np.frombuffer(self.array.buffers()[2], dtype=np.uint8)

    def hashes(self, block: slice) -> tuple[Words, Words]:
        """Return two 64-bit hashes of each string in a block.

        Together they decide equality: that two of a million strings agree in both by chance is as likely as
        one in 1e26.
        """
        start = self.offset[block].astype(np.int64)
        size = self.offset[block.start + 1 : block.stop + 1] - start
        values = tuple(size.astype(np.uint64) * mixer + seed for mixer, seed in zip(_MIXERS, _STARTS, strict=True))
        shortest = int(size.min())
        for offset in range(0, int(size.max()), _WORD):
            rows: Any = slice(None) if shortest > offset else np.flatnonzero(size > offset)
            word = self.words[start[rows] + offset]
            if shortest < offset + _WORD:
                word &= _KEPT.take(size[rows] - offset, mode="clip")
            word *= _SPREAD
            word ^= word >> _HALF  # or differences in the last bytes would reach the first bits only
            for value, mixer in zip(values, _MIXERS, strict=True):
                mixed = value[rows]
                mixed ^= word
                mixed *= mixer
                mixed ^= mixed >> _HALF
                value[rows] = mixed
        for value, mixer in zip(values, _MIXERS, strict=True):
            value *= mixer
        return values[0], values[1]

    def text(self, row: int) -> str:
        """Return one string."""
        return str(self.array[row])

    def take(self, rows: Positions) -> Any:
        """Return some of the strings as an Arrow array; the row past the last is what pads the bytes."""
        import pyarrow as pa

        return self.array.take(pa.array(rows))

    def distinct(self, rows: Positions) -> list[str]:
        """Return which different strings stand in some rows."""
        found: list[str] = self.take(rows).unique().to_pylist()
        return found


def match(keys: Strings, queries: Strings) -> Positions | None:
    """Return where each query stands among the keys, -1 where it does not; None if two keys are the same."""
    key_hash, key_check = np.empty((2, len(keys)), dtype=np.uint64)

    def hash_keys(block: slice) -> None:
        key_hash[block], key_check[block] = keys.hashes(block)

    map_row_blocks(hash_keys, len(keys), _ROW_BYTES)
    tables: list[_Table] = []
    left = np.arange(len(keys))
    while len(left):
        # One key of each slot wins; the others are left for the next, smaller table.
        tables.append(_Table(len(left), len(tables)))
        left = tables[-1].put(left, key_hash)
        if np.any(key_hash[tables[-1].keys(key_hash[left])] == key_hash[left]):
            return None
    found = np.full(len(queries), -1, dtype=np.int64)

    def look_up(block: slice) -> None:
        rows = np.arange(block.start, block.stop)
        hashed, check = queries.hashes(block)
        for table in tables:
            key = table.keys(hashed)
            same = (key_hash[key] == hashed) & (key_check[key] == check)
            found[rows] = np.where(same, key, -1)
            missed = np.flatnonzero(~same)
            rows, hashed, check = rows[missed], hashed[missed], check[missed]

    map_row_blocks(look_up, len(queries), _ROW_BYTES)
    return found


class _Table:
    """A hash table with at most one key a slot."""

    def __init__(self, count: int, turn: int) -> None:
        bits = count.bit_length() + 2
        self._drop = np.uint64(64 - bits)
        self._skip = np.uint64(7 * turn % 42)  # other bits of the hash every turn
        # An empty slot names key 0; the hash tells whether that is meant.
        self._key = np.zeros(1 << bits, dtype=np.int32)

    def _slot(self, hashes: Words) -> Positions:
        return ((hashes << self._skip) >> self._drop).view(np.int64)

    def keys(self, hashes: Words) -> Positions:
        """Return the keys in the slots of some hashes."""
        return self._key[self._slot(hashes)].astype(np.int64)  # NumPy is slow with indices of 32 bits

    def put(self, keys: Positions, key_hash: Words) -> Positions:
        """Put keys into their slots; return those whose slot went to another."""

        def fill(block: slice) -> None:
            rows = keys[block]
            self._key[self._slot(key_hash[rows])] = rows.astype(np.int32)

        def losers(block: slice) -> Positions:
            rows = keys[block]
            lost: Positions = rows[self.keys(key_hash[rows]) != rows]
            return lost

        map_row_blocks(fill, len(keys), _ROW_BYTES)
        return np.concatenate(map_row_blocks(losers, len(keys), _ROW_BYTES))
