"""Names that are near a misspelt one."""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMPARED = 2_000  # a comparison takes some 20 microseconds
_MISSPELT = 5  # names that get a suggestion
_CUTOFF = 0.7


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` known names spelt like `name`, the nearest first; quick among a million names.

    >>> nearest("robbin", ["robin", "wren", "Robinia"])
    ['robin', 'Robinia']
    """
    folded = _folded(name)
    reach = max(1, len(name) // 3)
    candidates: dict[str, None] = {}
    pool: list[str] = []
    for other in known:
        if abs(len(other) - len(name)) > reach:
            continue
        if _folded(other) == folded:
            candidates[other] = None
        pool.append(other)
    if len(pool) > _COMPARED:
        # Sharing many pairs of letters is a cheap sign of a similar spelling.
        pairs = _letter_pairs(folded)
        pool = nlargest(_COMPARED, pool, key=lambda other: len(pairs & _letter_pairs(_folded(other))))
    by_folded: dict[str, list[str]] = {}
    for other in pool:
        by_folded.setdefault(_folded(other), []).append(other)
    for match in get_close_matches(folded, by_folded, count, _CUTOFF):
        candidates.update(dict.fromkeys(by_folded[match]))
    ranked = sorted(candidates, key=lambda other: -SequenceMatcher(None, name, other).ratio())
    return ranked[:count]


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def _letter_pairs(name: str) -> set[str]:
    return {name[i : i + 2] for i in range(len(name) - 1)}


def closest(names: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence to append to an error about unknown names; '' where nothing is near.

    >>> closest(["robbin"], ["robin", "wren"])
    " Did you mean 'robin'?"
    >>> closest(["robbin", "wrn", "xyzzy"], ["robin", "wren"])
    " Did you mean 'robin' for 'robbin', 'wren' for 'wrn'?"
    """
    asked = [str(name) for name in names][:_MISSPELT]
    pool = list(known)
    if len(asked) == 1:
        return _did_you_mean(list(map(repr, nearest(asked[0], pool))))
    return _did_you_mean([f"{near[0]!r} for {name!r}" for name in asked if (near := nearest(name, pool, 1))], ", ")


def _did_you_mean(suggestions: list[str], last: str = " or ") -> str:
    if not suggestions:
        return ""
    *before, final = suggestions
    return f" Did you mean {', '.join(before) + last if before else ''}{final}?"
