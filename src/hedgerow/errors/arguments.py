"""How messages write arguments: as Python does, or as the command does.

The same check serves whoever calls the library and whoever runs the command, but the cure is spelled differently:
``disambiguate=True`` for one, ``--disambiguate`` for the other. So a message does not spell an argument itself, it
asks `argument`; and the command wraps its calls of the library in `as_options`, within which `argument` writes
options:

    raise ParameterError(f"... Choose another name: {argument('root', 'NAME')}.")

    with as_options():
        Hierarchy.read(path, ...)
"""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = str | bool | tuple[str, ...]
"""What an option can say: text, yes, or several texts (the option is repeated)."""

_in_command = ContextVar("_in_command", default=False)
_OPTIONS = {"format": "--tree-format"}  # options that are not called as the argument is
_DEFAULTS = (None, False, "root", ())


@contextmanager
def as_options() -> Iterator[None]:
    """Within this block, messages write arguments as options of the command; other threads are not concerned."""
    token = _in_command.set(True)
    try:
        yield
    finally:
        _in_command.reset(token)


def argument(name: str, value: Value, *, python: str | None = None) -> str:
    """Write an argument for whoever will read the message.

    Parameters
    ----------
    name, value
        The argument. An option has its name, with hyphens for underscores.
    python
        What to say in Python instead, where another function helps there.

    >>> argument("root", "NAME"), argument("disambiguate", True), argument("na", ("NA", "n/a"))
    ("root='NAME'", 'disambiguate=True', "na=('NA', 'n/a')")
    >>> with as_options():
    ...     argument("root", "NAME"), argument("disambiguate", True), argument("na", ("NA", "n/a"))
    ('--root NAME', '--disambiguate', '--na NA --na n/a')
    """
    if _in_command.get():
        return shlex.join(_option(name, value))
    return f"{name}={value!r}" if python is None else python


def _option(name: str, value: Value) -> list[str]:
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        return [option]
    return [word for text in ([value] if isinstance(value, str) else value) for word in (option, text)]


def options(**given: Value | None) -> list[str]:
    """Write arguments as the command takes them; those left at their defaults are left out.

    >>> options(format="lineages", root="root", separator=None, disambiguate=True, na=())
    ['--tree-format', 'lineages', '--disambiguate']
    """
    chosen = {name: value for name, value in given.items() if value is not None and value not in _DEFAULTS}
    return [word for name, value in chosen.items() for word in _option(name, value)]
