"""How messages write the arguments of readers: as Python does, or as the command does."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_command_reads = ContextVar("_command_reads", default=False)
_OPTIONS = {"format": "--tree-format"}  # where it is not called as the argument is
_DEFAULTS = (False, "root")


@contextmanager
def as_options() -> Iterator[None]:
    """Let messages name the options of the command, for a while."""
    token = _command_reads.set(True)
    try:
        yield
    finally:
        _command_reads.reset(token)


def argument(name: str, value: str | bool, *, python: str | None = None) -> str:
    """Write an argument of a reader for whoever called it.

    Parameters
    ----------
    name, value
        The argument.
    python
        What to say in Python, where it is another function that helps.

    >>> argument("root", "NAME"), argument("disambiguate", True)
    ("root='NAME'", 'disambiguate=True')
    >>> with as_options():
    ...     argument("root", "NAME"), argument("disambiguate", True)
    ('--root NAME', '--disambiguate')
    """
    if _command_reads.get():
        return shlex.join(_option(name, value))
    return f"{name}={value!r}" if python is None else python


def _option(name: str, value: str | bool) -> list[str]:
    flag = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    return [flag] if isinstance(value, bool) else [flag, value]


def options(**given: str | bool | None) -> list[str]:
    """Write arguments as the command takes them; those left at their defaults are left out.

    >>> options(format="lineages", root="root", separator=None, disambiguate=True)
    ['--tree-format', 'lineages', '--disambiguate']
    """
    chosen = {name: value for name, value in given.items() if value is not None and value not in _DEFAULTS}
    return [word for name, value in chosen.items() for word in _option(name, value)]
