"""Files that are either written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, overload

from hedgerow.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...


def atomic_write(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> AbstractContextManager[Any]:
    """Open a file that takes its place under `path` only once everything has been written.

    The data go to a temporary file in the same folder, which replaces `path` at the end of the `with` block.
    After an error the old file, if any, is as it was, and the temporary file is gone. Text is UTF-8, its line
    ends as written.

    Parameters
    ----------
    path
        The file to write. Devices and pipes, such as `/dev/stdout`, are written to directly.
    mode
        "w" for text, "wb" for bytes.

    Raises
    ------
    FileError
        If the folder is absent or not writable, the disk is full, or text has no UTF-8 form.
    """
    return _atomic_write(path, mode)


@contextmanager
def _atomic_write(path: str | os.PathLike[str], mode: str) -> Iterator[IO[Any]]:
    shown = os.fspath(path)
    target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
    if target.is_dir():
        raise FileError(f"{shown} is a folder; give the name of a file to write.")
    if not target.parent.is_dir():
        raise FileError(f"{shown} cannot be written: the folder {target.parent} does not exist. Create it first.")
    special = target.exists() and not target.is_file()
    written = target if special else target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        try:
            # "x" leaves the permissions to the user's umask, which a NamedTemporaryFile would not.
            with written.open(mode if special else mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
                yield file
            if not special:
                written.replace(target)
        except BaseException:
            if not special:
                written.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(
            f"{shown} cannot be written: {error.strerror or error}. Check the folder's permissions and the disk."
        ) from error
    except UnicodeEncodeError as error:
        raise FileError(
            f"{shown} cannot be written: {error.object[error.start : error.end]!r} has no UTF-8 form (half of a "
            f"character pair). Correct the name it stands in."
        ) from error
