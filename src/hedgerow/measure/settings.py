"""What two builders must have in common before their examples may be added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Mapping


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Name the settings that differ, with both values where they are short; '' if there are none.

    >>> differences({"scale": "log", "bins": None}, {"scale": "probability", "bins": None})
    "scale ('log' and 'probability')"
    """
    return ", ".join(
        f"{name}{_values(value, theirs[name])}" for name, value in ours.items() if not _same(value, theirs[name])
    )


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray) or isinstance(theirs, np.ndarray):
        return np.array_equal(ours, theirs)
    return bool(ours == theirs)


def _values(ours: Any, theirs: Any) -> str:
    if isinstance(ours, Hierarchy) and isinstance(theirs, Hierarchy):
        if ours.fingerprint != theirs.fingerprint:
            return f" ({len(ours):,} and {len(theirs):,} nodes, fingerprints {_start(ours)} and {_start(theirs)})"
        return " (the same nodes, but in another order or with other ranks or titles)"
    if isinstance(ours, np.ndarray) or isinstance(theirs, np.ndarray):
        return ""
    return f" ({ours!r} and {theirs!r})"


def _start(hierarchy: Hierarchy) -> str:
    return f"{hierarchy.fingerprint[:12]}..."
