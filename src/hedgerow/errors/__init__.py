"""What can go wrong, named by cause, and how messages are put together.

In come an offender, where it stands and what to do about it; out goes a `HedgerowError`, which the command prints
without a traceback. Every other room raises these. The next room is `files`.
"""

from hedgerow.errors.arguments import argument, as_options, options
from hedgerow.errors.phrases import counted, some
from hedgerow.errors.suggestions import closest, nearest, no_such

__all__ = [
    "FileError",
    "HedgerowError",
    "ParameterError",
    "ScoreError",
    "TreeError",
    "UnknownNameError",
    "argument",
    "as_options",
    "closest",
    "counted",
    "nearest",
    "no_such",
    "options",
    "some",
]


class HedgerowError(ValueError):
    """Something about the input is wrong; the message says what, where and what to do."""


class TreeError(HedgerowError):
    """The tree is not a tree: several roots or parents, a cycle, an empty or repeated name."""


class UnknownNameError(HedgerowError):
    """A name is not in the tree, or a name that is needed is missing."""


class ScoreError(HedgerowError):
    """Scores, labels or weights have the wrong shape or impossible values."""


class FileError(HedgerowError):
    """A file cannot be read or written: absent, truncated, not UTF-8, of another format."""


class ParameterError(HedgerowError):
    """An argument is outside what is allowed."""
