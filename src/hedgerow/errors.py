"""What can go wrong, named by cause.

Every error that a user can cause is a `HedgerowError`. Its message names the offender, where it stands, and
what to do about it; the command prints it without a traceback.
"""


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
