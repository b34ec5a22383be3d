"""What can be wrong with a tree, and how readers report it.

A reader collects a `Problem` for everything that is wrong, with its location given by an `Origin`, and passes them
to `refuse`. The error shows the first; `hedgerow doctor` lists them all.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from hedgerow.errors import TreeError, argument, options
from hedgerow.tree.names import with_control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.tree.formats.node_table import NodeTable


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a tree."""

    kind: str
    """A word or two to sort by, such as "cycle"."""
    message: str
    """The offenders and their location, as a sentence."""
    remedy: str
    """What to do about it, as a sentence."""

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"

    def to_dict(self) -> dict[str, str]:
        """Return the fields as a dict."""
        return asdict(self)


class FlawedTreeError(TreeError):
    """A `TreeError` that shows the first problem and carries all of them, for the doctor."""

    def __init__(self, problems: Sequence[Problem], doctor: str | None = None) -> None:
        self.problems = tuple(problems)
        self._doctor = doctor
        message = str(problems[0])
        if len(problems) > 1:
            more = len(problems) - 1
            message += f" There {'is 1 more problem' if more == 1 else f'are {more:,} more problems'}"
            message += f"; `{doctor}` lists them all." if doctor else "."
        super().__init__(message)

    def __reduce__(self) -> tuple[type[FlawedTreeError], tuple[Any, ...]]:
        return FlawedTreeError, (self.problems, self._doctor)  # the default would pass the message as `problems`


@dataclass(frozen=True)
class Origin:
    """Where the input comes from, for messages about places in it.

    >>> Origin("tree.csv").at(7, 9), Origin(None, "pair").at(7)
    ('tree.csv, lines 7 and 9', 'pair 7')
    """

    name: str | None
    """The file as the user wrote it; None for data in memory."""
    unit: str = "line"
    """What its parts are called: "line", "pair", "row"."""
    format: str | None = None
    """Its format, if the extension does not determine it."""
    folder: str | None = None
    """The folder that is the tree, if the file is only part of it."""

    def at(self, *places: int) -> str:
        """Describe the location of some parts, counted from 1."""
        several = len(places) > 1
        numbers = f"{', '.join(map(str, places[:-1]))} and {places[-1]}" if several else str(places[0])
        where = f"{self.unit}{'s' if several else ''} {numbers}"
        return where if self.name is None else f"{self.name}, {where}"

    @property
    def subject(self) -> str:
        """The whole input, as the subject of a sentence."""
        return "The tree" if self.name is None else self.name

    @property
    def doctor(self) -> str | None:
        """The command that explains the file."""
        return (
            None
            if self.name is None
            else shlex.join(["hedgerow", "doctor", self.folder or self.name, *options(format=self.format)])
        )


def require_edges(table: NodeTable, origin: Origin) -> NodeTable:
    """Raise an error for a tree with a single node."""
    if len(table.names) < 2:
        only = f" ({table.names[0]!r})" if table.names else ""
        refuse([no_edges(origin, only)], origin)
    return table


def control_character(name: str, where: str) -> Problem:
    """Describe a name that would later be truncated or misread."""
    return Problem(
        "control character",
        f"{where}: the name {name!r} contains a control character.",
        "Remove it, or replace it by a space.",
    )


def control_in(what: str, values: Sequence[str], names: Sequence[str], origin: Origin) -> list[Problem]:
    """Describe ranks or titles of nodes that could change what a terminal shows."""
    flawed = set(with_control(values))
    return [
        Problem(
            "control character",
            f"{origin.subject}: the {what} of {name!r} contains a control character: {value!r}.",
            "Remove it, or replace it by a space.",
        )
        for name, value in zip(names, values, strict=True)
        if value in flawed
    ]


def root_taken(root: str, why: str, where: str) -> Problem:
    """Describe an added root whose name a class already has."""
    return Problem(
        "root",
        f"{why}, so a root named {root!r} must be added, but a class already has that name ({where}).",
        f"Choose another name for the root: {argument('root', 'NAME')}.",
    )


def no_edges(origin: Origin, only: str = "") -> Problem:
    """Describe a tree without any class below its root."""
    what = f"has only one node{only}" if only else "is empty: it contains no classes"
    return Problem("empty", f"{origin.subject} {what}.", "A tree needs at least one class below its root.")


def refuse(problems: Sequence[Problem], origin: Origin) -> NoReturn:
    """Raise an error that shows the first problem and carries all of them."""
    raise FlawedTreeError(problems, origin.doctor)
