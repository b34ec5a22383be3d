"""Which strings are the same, by sorting whole arrays of hashes: for a million, much faster than a dict."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import map_row_blocks, row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

Words = NDArray[np.uint64]
Positions = NDArray[np.int64]
Numbers = NDArray[np.int32]

WORD = 8
"""Bytes that must follow the last string."""
# What is left of a word of 8 bytes when only the first 0, 1, ..., 8 belong to the string (little-endian).
_KEPT = np.array([(1 << (8 * size)) - 1 for size in range(WORD + 1)], dtype=np.uint64)
# Drawn anew in every process, so that nobody can prepare names that are taken for each other.
_KEYS = np.array([secrets.randbits(64) for _ in range(2)], dtype=np.uint64)
_MIXERS = np.array([secrets.randbits(64) | 1 for _ in range(2)], dtype=np.uint64)
_HALF = np.uint64(32)
_LOWER = np.uint64((1 << 32) - 1)
# What a string takes while it is worked on. Blocks are larger than the cache, because threads on small blocks
# spend their time waiting for the interpreter lock.
_ROW_BYTES = 32


@dataclass(frozen=True)
class Strings:
    """Strings that stand anywhere in a buffer."""

    words: Words
    """The 8 bytes from every position of the buffer on, as one number; they overlap."""
    start: Numbers
    """Where each string starts."""
    end: Numbers
    """Where each string ends."""

    def __len__(self) -> int:
        return len(self.start)

    def hashes(self, rows: slice | Numbers) -> tuple[Words, Words]:
        """Return two independent 64-bit hashes of some strings."""
        start, size = self._spans(rows)
        values = tuple(size.astype(np.uint64) * mixer for mixer in _MIXERS)
        for longer, word in self._pieces(start, size):
            for value, mixer, key in zip(values, _MIXERS, _KEYS, strict=True):
                # The product of its halves, or differences in the last bytes would reach the first bits only; and
                # the word itself, or a half that is 0 would hide the other.
                lower = word ^ key
                upper = lower >> _HALF
                lower &= _LOWER
                lower *= upper
                lower += word
                mixed = value if longer is None else value[longer]
                mixed *= mixer
                mixed += lower
                # Or it would be a polynomial, for which some strings are the same whatever the keys are.
                mixed ^= mixed >> _HALF
                mixed *= mixer
                if longer is not None:
                    value[longer] = mixed
        return values[0], values[1]

    def _spans(self, rows: slice | Numbers) -> tuple[Positions, Positions]:
        start = self.start[rows].astype(np.int64)
        return start, self.end[rows] - start

    def _pieces(self, start: Positions, size: Positions) -> Iterator[tuple[Positions | None, Words]]:
        """Yield the strings 8 bytes at a time: which are that long (None for all), and the bytes as numbers."""
        shortest, longest = (int(size.min()), int(size.max())) if len(size) else (0, 0)
        for at in range(0, longest, WORD):
            longer = None if shortest > at else np.flatnonzero(size > at)
            rows = slice(None) if longer is None else longer
            word = self.words[start[rows] + at]
            if shortest < at + WORD:
                word &= _KEPT.take(size[rows] - at, mode="clip")
            yield longer, word


@dataclass(frozen=True)
class Groups:
    """Numbers of strings, those with the same hash side by side and ascending."""

    members: Numbers
    is_first: NDArray[np.bool_]
    """Which members begin a group."""
    check: Words
    """Another hash of each string."""

    def agree(self) -> bool:
        """Tell whether the other hashes are the same within every group, too.

        If so, the strings are. That two given ones agree in both hashes by chance is as likely as one in 1e19 at
        most, and two children that do are taken for duplicates, which is looked into: a tree could only be wrong
        where a parent that is nobody's child agrees with one that is.
        """

        def agrees(block: slice) -> bool:
            pairs = slice(max(0, block.start - 1), block.stop)
            check = self.check[self.members[pairs]]
            return bool(np.all((check[1:] == check[:-1]) | self.is_first[pairs][1:]))

        return all(agrees(block) for block in row_blocks(len(self.members), _ROW_BYTES))


def group(strings: Strings, distinct: int) -> Groups:
    """Group strings by the upper bits of their hashes.

    The first few, `distinct` in number, are supposed to differ from each other: where two of them share the upper
    bits, the lower bits decide as well. Whether groups are what they seem is for `Groups.agree` to tell.
    """
    count = len(strings)
    bits = np.uint64(count.bit_length())
    packed, check = np.empty((2, count), dtype=np.uint64)

    def pack(block: slice) -> None:
        # Sorting one number that holds both is much quicker than a stable sort of positions by hash.
        upper, check[block] = strings.hashes(block)
        upper >>= bits
        upper <<= bits
        np.bitwise_or(upper, np.arange(block.start, block.stop, dtype=np.uint64), out=packed[block])

    map_row_blocks(pack, count, _ROW_BYTES)
    packed.sort()
    members = np.empty(count, dtype=np.int32)
    is_first = np.ones(count, dtype=bool)

    def unpack(block: slice) -> None:
        members[block] = packed[block] & _lowest(bits)
        pairs = packed[max(0, block.start - 1) : block.stop]
        is_first[max(1, block.start) : block.stop] = (pairs[1:] ^ pairs[:-1]) > _lowest(bits)

    map_row_blocks(unpack, count, _ROW_BYTES)
    twins = np.flatnonzero(~is_first & (members < distinct))
    if len(twins):
        upper = packed >> bits
        rows = np.flatnonzero(np.isin(upper, upper[twins]))
        hashed, _ = strings.hashes(members[rows])
        order = np.lexsort((members[rows], hashed))
        members[rows] = members[rows[order]]
        is_first[rows[1:]] = np.diff(hashed[order]) != 0
    return Groups(members, is_first, check)


def _lowest(bits: np.uint64) -> np.uint64:
    return (np.uint64(1) << bits) - np.uint64(1)
