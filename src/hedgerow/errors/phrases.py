"""Numbers and lists of names, as messages write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def some(names: Iterable[str], limit: int = 5) -> str:
    """Quote the first few names: "'a', 'b' and 7 more"."""
    listed = list(names)
    shown = ", ".join(map(repr, listed[:limit]))
    if len(listed) > limit:
        return f"{shown} and {len(listed) - limit:,} more"
    head, _, last = shown.rpartition(", ") if len(listed) == 2 else ("", "", shown)
    return f"{head} and {last}" if head else last


def counted(count: int, one: str, many: str) -> str:
    """Put a number before the right form of a word."""
    return f"{count:,} {one if count == 1 else many}"
