"""Atomic writing, and early checks that a path can be written.

A file that is being written has a temporary name with the id of its process. If that process is killed, the next
one that writes to the folder removes the leftovers.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import time
import zlib
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, overload

from hedgerow.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_TEMPORARY = re.compile(r"\..*\.hedgerow-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{8}\.tmp", re.DOTALL)
_ELSEWHERE = 24 * 3600.0  # seconds after which temporary files of another machine are removed
_LONGEST_NAME = 100  # bytes of the target's name in a temporary name


@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...


def atomic_write(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> AbstractContextManager[Any]:
    """Open a file that appears at `path` only once everything has been written.

    The data goes to a temporary file in the same folder, which is flushed to disk and replaces `path` at the end
    of the `with` block. After an error, the old file, if any, is unchanged, and the temporary file is gone. Text
    is UTF-8; line ends are not translated.

    Parameters
    ----------
    path
        The file to write. Devices and pipes, such as `/dev/stdout`, are written to directly.
    mode
        "w" for text, "wb" for bytes.

    Raises
    ------
    FileError
        If the folder does not exist or is not writable, the disk is full, or text cannot be encoded as UTF-8.
    """
    return _atomic_write(path, mode)


def write_json(path: str | os.PathLike[str], data: Any, *, indent: int | None = 2) -> None:
    """Write a JSON file with `atomic_write`; names stay readable, whatever their script."""
    with atomic_write(path) as file:
        file.write(json.dumps(data, ensure_ascii=False, indent=indent))
        file.write("\n")


@contextmanager
def _atomic_write(path: str | os.PathLike[str], mode: str) -> Iterator[IO[Any]]:
    shown = os.fspath(path)
    target = _target(path)
    special = is_special(target)
    written = target if special else temporary(target)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        try:
            # Mode "x" respects the user's umask, which a NamedTemporaryFile would not.
            with written.open(mode if special else mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
                yield file
                if not special:
                    file.flush()
                    os.fsync(file.fileno())
            if not special:
                written.replace(target)
                flush_folder(target.parent)
        except BaseException:
            if not special:
                written.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(shown, error) from error
    except UnicodeEncodeError as error:
        raise FileError(
            f"{shown} cannot be written: {error.object[error.start : error.end]!r} cannot be encoded as UTF-8 (it "
            f"is half of a surrogate pair). Correct the name that contains it."
        ) from error


def _target(path: str | os.PathLike[str]) -> Path:
    """Return where a file will be written; a link stays a link, and the file it points to is replaced."""
    if is_special(Path(path)):
        return Path(path)  # the real path of a pipe leads nowhere
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{os.fspath(path)} is a folder; give the name of a file to write.")
    if not target.parent.is_dir():
        raise FileError(
            f"{os.fspath(path)} cannot be written: the folder {target.parent} does not exist. Create it first."
        )
    return target


def temporary(target: Path) -> Path:
    """Return a temporary path beside `target`; see `clear_leftovers`.

    >>> temporary(Path("scores.npz")).name
    '.scores.npz.hedgerow-...tmp'
    """
    _clear_once(target.parent)
    name = target.name.encode("utf-8", "surrogateescape")[:_LONGEST_NAME].decode("utf-8", "ignore")
    return target.with_name(f".{name}.hedgerow-{_machine()}-{os.getpid()}-{os.urandom(4).hex()}.tmp")


def clear_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of processes that were killed while they wrote to a folder.

    Only names made by `temporary` are touched, and only if their process is gone. Those of other machines, on a
    shared disk, are removed after a day.
    """
    with suppress(OSError):
        for entry in os.scandir(folder):
            found = _TEMPORARY.fullmatch(entry.name)
            if found is None or not _is_stale(entry, *found.groups()):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)


@cache
def _clear_once(folder: Path) -> None:
    clear_leftovers(folder)


def _is_stale(entry: os.DirEntry[str], machine: str, process: str) -> bool:
    if machine != _machine():
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _ELSEWHERE
    if os.name != "posix":
        return int(process) != os.getpid()  # Windows does not remove files that are open
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # another user's
        return False
    return False


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def flush_folder(folder: Path) -> None:
    """Make a rename survive a power failure, where the system allows it."""
    if os.name != "posix":
        return
    with suppress(OSError):  # some network file systems refuse
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unwritable(shown: str, error: OSError) -> FileError:
    return FileError(
        f"{shown} cannot be written: {error.strerror or error}. Check the folder's permissions and the disk."
    )


def is_special(path: Path) -> bool:
    """Return whether a path is a device or a pipe, such as `/dev/stdout`, rather than a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def try_file(path: str | os.PathLike[str]) -> None:
    """Raise an error if `atomic_write` could not write a file there; leaves nothing behind."""
    target = _target(path)
    if not is_special(target):
        _try_to_write(target.parent, os.fspath(path))


def try_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error if a path is not a writable folder and cannot become one; leaves nothing behind."""
    target = Path(os.path.realpath(path))
    there = next(place for place in (target, *target.parents) if place.exists())
    if not there.is_dir():
        raise FileError(f"{os.fspath(path)} cannot be a folder: {there} is a file. Give the name of a folder.")
    _try_to_write(there, os.fspath(path))


def _try_to_write(folder: Path, shown: str) -> None:
    # Checking permissions is not enough: some folders, such as those in /proc, accept no files from anyone.
    try:
        from tempfile import TemporaryFile

        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _unwritable(shown, error) from error


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder, and its parents, if it does not exist."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"The folder {os.fspath(path)} cannot be created: {error.strerror}.") from error
