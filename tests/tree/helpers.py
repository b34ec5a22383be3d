"""What the tests of readers share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hedgerow.errors import HedgerowError, TreeError
from hedgerow.tree import FlawedTreeError

if TYPE_CHECKING:
    from collections.abc import Callable

ANIMALS = ["animal", "bird", "robin", "wren", "fish"]


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def refused(
    read: Callable[[], Any], *parts: str, error: type[HedgerowError] = TreeError
) -> FlawedTreeError | None:
    """Check that something is refused in these words; return the error if it lists problems."""
    with pytest.raises(error) as caught:
        read()
    for part in parts:
        assert part in str(caught.value)
    return caught.value if isinstance(caught.value, FlawedTreeError) else None
