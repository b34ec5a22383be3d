"""Names that are near a misspelt one."""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMPARED = 1_000  # a comparison takes some 20 microseconds
_MISSPELT = 5  # names that get a suggestion
_CUTOFF = 0.75


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` known names spelt like `name`, the nearest first; bounded in time.

    >>> nearest("robbin", ["robin", "wren", "Robinia"])
    ['robin', 'Robinia']
    """
    folded = _folded(name)
    reach = max(2, len(name) // 4)
    pool = [other for other in known if abs(len(other) - len(name)) <= reach]
    same = [other for other in pool if _folded(other) == folded] if len(pool) <= 100_000 else []
    if len(pool) > _COMPARED:
        # A name with a slip in one place keeps its beginning, or its end.
        pool = list(dict.fromkeys(_narrowed(pool, name, end=False) + _narrowed(pool, name, end=True)))
    spellings: dict[str, list[str]] = {}
    for other in pool:
        spellings.setdefault(_folded(other), []).append(other)
    near = [other for match in get_close_matches(folded, spellings, count, _CUTOFF) for other in spellings[match]]
    ranked = sorted(dict.fromkeys(same + near), key=lambda other: -SequenceMatcher(None, name, other).ratio())
    return ranked[:count]


def _narrowed(pool: list[str], name: str, *, end: bool) -> list[str]:
    """Return the names that share as much of a name's beginning, or end, as leaves any; not too many."""
    low, high = 0, len(name)  # some share `low` letters, and none more than `high`
    while low < high and len(pool) > _COMPARED:
        middle = (low + high + 1) // 2
        part = name[len(name) - middle :] if end else name[:middle]
        sharing = [other for other in pool if (other.endswith(part) if end else other.startswith(part))]
        if sharing:
            pool, low = sharing, middle
        else:
            high = middle - 1
    return pool[:_COMPARED]


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


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


def no_such(what: str, name: str, choices: Iterable[str]) -> str:
    """Say that something is none of a few choices, what these are, and which may be meant.

    >>> no_such("method", "softmax", ["hxe", "ps-softmax"])
    "There is no method 'softmax'. There are hxe, ps-softmax. Did you mean 'ps-softmax'?"
    """
    spellings = {_folded(choice): choice for choice in choices}
    near = [repr(spellings[match]) for match in get_close_matches(_folded(name), spellings)]
    return f"There is no {what} {name!r}. There are {', '.join(spellings.values())}.{_did_you_mean(near)}"


def _did_you_mean(suggestions: list[str], last: str = " or ") -> str:
    if not suggestions:
        return ""
    *before, final = suggestions
    return f" Did you mean {', '.join(before) + last if before else ''}{final}?"
