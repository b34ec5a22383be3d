"""Readers and writers of trees."""

from __future__ import annotations

import csv
import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.tree_files.table import NodeTable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NodeTable", "closest", "read_edges"]


def closest(names: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence that suggests known names, or ''."""
    pool = list(known)
    near = [match for name in names for match in difflib.get_close_matches(str(name), pool[:20_000], 1)]
    return f" Did you mean {', '.join(map(repr, near))}?" if near else ""


def read_edges(source: Any) -> NodeTable:
    """Read pairs (parent, child)."""
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        with Path(source).open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
        if rows and [cell.lower() for cell in rows[0]] == ["parent", "child"]:
            del rows[0]
    else:
        rows = [list(pair) for pair in source]
    names = [child for _, child in rows]
    index = {name: i for i, name in enumerate(names)}
    names += list(dict.fromkeys(parent for parent, _ in rows if parent not in index))
    return NodeTable(names, np.array([index.get(p, len(rows)) for p, _ in rows] + [-1] * (len(names) - len(rows))))
