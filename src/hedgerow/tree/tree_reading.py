"""Shim."""

from __future__ import annotations

from dataclasses import dataclass, field

from hedgerow.errors import options


@dataclass(frozen=True)
class TreeReading:
    """Shim."""

    format: str | None = field(default=None, metadata={"metavar": "FORMAT", "help": "Format of the tree."})
    root: str = field(default="root", metadata={"metavar": "NAME", "help": "Name of the root."})
    separator: str | None = field(default=None, metadata={"metavar": "TEXT", "help": "What separates."})
    disambiguate: bool = field(default=False, metadata={"help": "In lineages."})
    na: tuple[str, ...] = field(default=(), metadata={"metavar": "TEXT", "help": "NA."})
    prefixes: str | None = field(default=None, metadata={"metavar": "A,B", "help": "Prefixes."})

    @property
    def arguments(self) -> list[str]:
        """Shim."""
        return options(**vars(self))
