"""Arrays that are cheaper to read than to compute again, kept in the user's cache folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import Archive, atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]


def cache_folder() -> Path:
    """Return the folder for files that can be recreated: $HEDGEROW_CACHE, or the system's cache folder."""
    chosen = os.environ.get("HEDGEROW_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "hedgerow" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hedgerow"
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "hedgerow"


def cached(name: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays kept under a file name; make and keep them if they are absent or damaged.

    If the folder cannot be written, that is not an error: the arrays are made again each time.
    """
    path = cache_folder() / name
    try:
        return _read(path)
    except Exception:  # whatever is wrong with the file, the remedy is the same
        arrays = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except (OSError, FileError):
        pass
    return arrays


def _read(path: Path) -> Arrays:
    with Archive(path) as archive:
        return archive.all_arrays()
