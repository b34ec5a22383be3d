"""Failures of the libraries that read files, in our words and with the name of the file."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import FileError, HedgerowError
from hedgerow.files.text import require_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST_TOML = 100_000
_LONGEST_REASON = 300  # characters of what a library says
_AGAIN = "It may be truncated or damaged, or of another kind; copy or write it again."


@contextmanager
def reading(path: str | os.PathLike[str], what: str, remedy: str = _AGAIN) -> Iterator[None]:
    """Turn whatever a library raises while it reads a file into an error that names the file.

    Libraries document few of their exceptions: a damaged file has been seen to raise KeyError, TypeError,
    MemoryError, SystemError, zlib.error, tokenize.TokenError and more. So all of them are taken for what they
    are, a file that cannot be read; keep such a block around nothing but the library.

    Parameters
    ----------
    path
        The file.
    what
        What it is read as: "Parquet".
    remedy
        What to do about it.

    Examples
    --------
    >>> with reading("model.bin", "weights"):
    ...     raise KeyError("shape")
    Traceback (most recent call last):
    hedgerow.errors.FileError: model.bin cannot be read as weights: KeyError: 'shape'. It may be truncated or ...
    """
    try:
        yield
    except (HedgerowError, ImportError):
        raise
    except Exception as error:
        raise FileError(f"{os.fspath(path)} cannot be read as {what}: {_reason(error)}. {remedy}") from error


def _reason(error: Exception) -> str:
    """Return what a library says in one printable line."""
    said = str(getattr(error, "strerror", None) or error)
    if not said or isinstance(error, KeyError | MemoryError | RecursionError | SystemError | OverflowError):
        said = f"{type(error).__name__}: {said}".removesuffix(": ")
    line = " ".join(said.split())
    return printable(line[:_LONGEST_REASON]).rstrip(".") + ("..." if len(line) > _LONGEST_REASON else "")


def printable(text: str) -> str:
    """Return text without control characters, which a terminal would obey."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def read_json(path: str | os.PathLike[str], what: str, remedy: str = _AGAIN) -> Any:
    """Read a JSON file; an error says what it should have been."""
    require_file(path)
    with reading(path, what, remedy):
        text = Path(path).read_text(encoding="utf-8")
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"it is not JSON: {error}") from None


def read_toml(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """Read a TOML file, which must be small; an error says what it should have been."""
    require_file(path)
    with reading(path, what, "Correct it, or copy it again."):
        if Path(path).stat().st_size > _LARGEST_TOML:  # tomllib takes quadratic time for some
            raise ValueError(f"it has more than {_LARGEST_TOML:,} bytes")
        text = Path(path).read_text(encoding="utf-8")
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"it is not valid TOML: {error}") from None


def digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
