"""Entries by name: built in, registered by a program, or offered by installed packages.

In come names and entries; out goes the entry of a name, or an error that lists the known names. Methods, rules,
metrics, guarantees, tree formats, score formats, exporters, data sets and experiments are each one `Registry`.
Entries of installed packages are loaded on demand, and so are those named by their path, "package.module:object".
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeVar, final

from hedgerow.errors import ParameterError, no_such

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


Entry = TypeVar("Entry")


@final
class Registry(dict[str, Entry]):
    """Entries by name.

    Parameters
    ----------
    kind
        What an entry is called in messages, such as "tree format".
    entries
        The built-in entries.
    group
        The group of entry points through which installed packages offer entries.
    check
        Called with a name and an entry from outside the package; returns the entry, or raises an error.
    importable
        Whether an entry can also be named by its path, "package.module:object".

    Examples
    --------
    >>> colours = Registry("colour", {"red": 1})
    >>> colours.register("blue", 2)
    >>> colours.find("blue"), colours.names()
    (2, ['red', 'blue'])
    >>> colours.find("bleu")
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: There is no colour 'bleu'. There are red, blue. Did you mean 'blue'?
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, Entry] | None = None,
        *,
        group: str | None = None,
        check: Callable[[str, Any], Entry] | None = None,
        importable: bool = False,
    ) -> None:
        super().__init__(entries or {})
        self.kind = kind
        self._group = group
        self._check = check
        self._importable = importable

    def register(self, name: str, entry: Entry) -> None:
        """Add an entry under a new name."""
        if name in self:
            raise ParameterError(f"A {self.kind} named {name!r} already exists. Choose another name.")
        self[name] = self._checked(name, entry)

    def _checked(self, name: str, entry: Any) -> Entry:
        checked: Entry = entry if self._check is None else self._check(name, entry)
        return checked

    def find(self, name: str) -> Entry:
        """Return the entry with this name."""
        if self._importable and ":" in name and name not in self:
            return self._checked(name, import_object(name, self.kind))
        if name not in self and self._group is not None:
            for point in entry_points(group=self._group, name=name):
                self.register(name, point.load())
                break
        if name not in self:
            raise ParameterError(no_such(self.kind, str(name), self.names()))
        return self[name]

    def names(self) -> list[str]:
        """Return all names, including those that installed packages offer."""
        offered = [] if self._group is None else [point.name for point in entry_points(group=self._group)]
        return list(dict.fromkeys([*self, *offered]))


def entry_points(**wanted: Any) -> Any:
    """Return what installed packages offer."""
    from importlib import metadata  # takes a while, and few need it

    return metadata.entry_points(**wanted)


def import_object(path: str, kind: str) -> Any:
    """Import the object named "package.module:object"; errors call it a `kind`."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"The {kind} {path!r} cannot be imported: {error}. Write 'package.module:object'. If the module is in "
            f"the current folder, call the command as `python -m hedgerow`, or set PYTHONPATH=. before it."
        ) from None
