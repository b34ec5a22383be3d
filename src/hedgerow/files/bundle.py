"""Files of one folder that belong together and are replaced together, whenever a process is killed.

New files are first written to a folder of their own inside the target. Renaming that folder to `.replacement` is
the moment at which they count: from then on a file is the one in `.replacement` if there is one of its name, and
else the one in the target. What remains, moving them to their places, may be interrupted at any point and is
finished by whoever writes next. Two that write at once take turns in this way; neither mixes its files with the
other's.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import FileError
from hedgerow.files.atomic import clear_leftovers, flush_folder, temporary

if TYPE_CHECKING:
    from collections.abc import Iterator

_READY = ".replacement"
_ATTEMPTS = 100  # to find the place free, if others write to the same folder


@contextmanager
def replacing(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Write files into the folder that this yields; they replace those in `folder` all at once.

    The folder is created if it does not exist. Other files in it stay. After an error it is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with replacing(place) as new:
    ...         _ = (new / "a.txt").write_text("1")
    ...     member(place, "a.txt").read_text(), sorted(os.listdir(place))
    ('1', ['a.txt'])
    """
    target = Path(os.path.realpath(folder))
    try:
        if target.is_dir():
            _install(target)
            clear_leftovers(target)
            aside = temporary(target / "replacement")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            clear_leftovers(target.parent)
            aside = temporary(target)
        aside.mkdir()
        try:
            yield aside
            flush_folder(aside)
            _commit(aside, target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        _install(target)
    except OSError as error:
        raise FileError(
            f"{os.fspath(folder)} cannot be written: {error.strerror or error}. Check the folder's permissions "
            f"and the disk."
        ) from error


def member(folder: str | os.PathLike[str], name: str) -> Path:
    """Return where a file of a folder is now."""
    ready = Path(folder, _READY, name)
    return ready if ready.exists() else Path(folder, name)


def _commit(aside: Path, target: Path) -> None:
    """Make the new files count, in one step."""
    if not target.exists():
        with suppress(OSError):  # someone else has just created it
            aside.rename(target)
            flush_folder(target.parent)
            return
    for attempt in range(_ATTEMPTS):
        try:
            aside.rename(target / _READY)  # fails if the files of another process are in there
            break
        except OSError:
            if attempt + 1 == _ATTEMPTS or not (target / _READY).exists():
                raise
            _install(target)
    flush_folder(target)


def _install(target: Path) -> None:
    """Move new files that count to their places; others may be doing the same."""
    ready = target / _READY
    if not ready.is_dir():
        return
    with suppress(FileNotFoundError):
        for path in sorted(ready.iterdir()):
            with suppress(FileNotFoundError):
                path.replace(target / path.name)
    flush_folder(target)
    with suppress(OSError):  # gone, or filled again by others
        ready.rmdir()
