"""Where strings stand in a list of strings, by whole-array hashing: for a million, much faster than a dict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Positions = NDArray[np.int64]

_WORD = 8
_ROWS = 1 << 14  # rows at a time, so that temporaries stay in the cache
# What is left of a word of 8 bytes when only the first 0, 1, ..., 8 belong to the string (little-endian).
_KEPT = np.array([(1 << (8 * size)) - 1 for size in range(_WORD + 1)], dtype=np.uint64)
_MIXERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)


@dataclass(frozen=True)
class Strings:
    """Strings as bytes, one after the other."""

    start: Positions
    size: Positions
    data: NDArray[np.uint8]
    words: Words
    """The 8 bytes from every position on, as one number; they overlap."""

    @classmethod
    def from_arrow(cls, array: Any) -> Self:
        """View an Arrow array of strings without nulls."""
        all_offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)
        offsets = all_offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
        data = array.buffers()[2]
        used = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
        padded = np.concatenate([used, np.zeros(_WORD, dtype=np.uint8)])
        words: Words = np.ndarray(len(used) + 1, dtype="<u8", buffer=padded, strides=(1,))
        return cls(offsets[:-1], np.diff(offsets), padded, words)

    def __len__(self) -> int:
        return len(self.start)

    def hashes(self) -> tuple[Words, Words]:
        """Return two independent 64-bit hashes of each string.

        Together they decide equality: among a million strings, two that differ agree in both with a probability
        below 1e-26.
        """
        result = np.empty((2, len(self)), dtype=np.uint64)
        for low in range(0, len(self), _ROWS):
            block = slice(low, low + _ROWS)
            start, size = self.start[block], self.size[block]
            values = [size.astype(np.uint64), size.astype(np.uint64)]
            shortest = int(size.min())
            for offset in range(0, int(size.max()), _WORD):
                rows: Any = slice(None) if shortest > offset else np.flatnonzero(size > offset)
                word = self.words[start[rows] + offset]
                if shortest < offset + _WORD:
                    word &= _KEPT[np.minimum(size[rows] - offset, _WORD)]
                for value, mixer in zip(values, _MIXERS, strict=True):
                    mixed = value[rows]
                    mixed ^= word
                    mixed *= mixer
                    mixed ^= mixed >> _HALF
                    value[rows] = mixed
            for value, mixer, hashed in zip(values, _MIXERS, result, strict=True):
                np.multiply(value, mixer, out=hashed[block])
        return result[0], result[1]

    def text(self, row: int) -> str:
        """Return one string."""
        start = int(self.start[row])
        return self.data[start : start + int(self.size[row])].tobytes().decode("utf-8")

    def same(self, rows: Positions) -> bool:
        """Tell whether some strings are all the same."""
        size = int(self.size[rows[0]])
        if np.any(self.size[rows] != size):
            return False
        return all(len(np.unique(self.data[self.start[rows] + offset])) == 1 for offset in range(size))


def match(keys: Strings, queries: Strings) -> Positions | None:
    """Return where each query stands among the keys, -1 where it does not; None if two keys are the same."""
    with ThreadPoolExecutor(2) as pool:
        (key_hash, key_check), (query_hash, query_check) = pool.map(Strings.hashes, (keys, queries))
    found = np.full(len(queries), -1, dtype=np.int64)
    open_keys = np.arange(len(keys), dtype=np.int32)
    open_queries: Positions | None = None  # all of them
    hashes, asked = key_hash, query_hash
    turn = 0
    while len(open_keys):
        # A table in which the last key of each slot wins; the others are left for the next, smaller table.
        bits = len(open_keys).bit_length() + 2
        slot = np.full(1 << bits, -1, dtype=np.int32)
        place = _place(hashes, bits, turn)
        slot[place] = open_keys
        winner = slot[place]
        lost = np.flatnonzero(winner != open_keys)
        if np.any(key_hash[winner[lost]] == hashes[lost]):
            return None
        candidate = slot[_place(asked, bits, turn)]
        hit = key_hash[candidate] == asked
        hit &= candidate >= 0
        missed = np.flatnonzero(~hit)
        if open_queries is None:
            np.copyto(found, candidate, where=hit)
            open_queries = missed
        else:
            found[open_queries[hit]] = candidate[hit]
            open_queries = open_queries[missed]
        open_keys, hashes, asked = open_keys[lost], hashes[lost], asked[missed]
        turn += 1
    matched = found >= 0
    if not np.array_equal(key_check[found[matched]], query_check[matched]):
        return None
    return found


def _place(hashes: Words, bits: int, turn: int) -> Positions:
    """Take some bits of each hash, others every turn."""
    shifted = hashes if turn == 0 else hashes << np.uint64(7 * turn % 42)
    return (shifted >> np.uint64(64 - bits)).view(np.int64)
