"""The nodes of a tree as a table, and everything that can be wrong with it.

Every reader ends with `validated`, to which it passes names, parents, the place of each node in the file, and the
problems that it found itself, such as a line with too many columns. The error shows the first problem; `hedgerow
doctor` lists them all.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NoReturn

import numpy as np

from hedgerow.errors import TreeError, argument, counted, options, some
from hedgerow.tree.layout import Indices, as_positions, rings
from hedgerow.tree.names import Aliases, as_names, plain_names, printable, with_control

Where = Callable[[Sequence[int]], str]
"""Describes the location of some nodes in the input."""
_Flaw = tuple[str, str]
"""The kind of a problem, and its message."""
_REMEDIES = {  # by kind of problem; readers may override them
    "empty name": "Every class needs a name: fill it in, or delete the line.",
    "control character": "Remove it, or replace it by a space.",
    "duplicate name": "Names must be distinct: rename all but one.",
    "several parents": "Names must be distinct: rename all but one, for instance to 'parent/name'.",
    "self-loop": "Delete the line; the root does not need a line of its own.",
    "cycle": "Delete or correct one of these lines.",
    "several roots": "A tree has one root: give the others a parent.",
}
_TOP = -1
_LISTED = 1_000  # problems of one kind
_SHOWN = 5  # places of one problem
_LINEAGE = 12  # names


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a tree in any order, except that siblings are in the order of the input.

    Parameters
    ----------
    names
        One name per node.
    parent
        Position of each node's parent in `names`; -1 for the root.
    rank, title
        Optional rank and display name of each node, "" if it has none.
    aliases
        Optional other names of nodes, with the position of the node of each.
    """

    names: Sequence[str]
    parent: Indices
    rank: Sequence[str] | None = None
    title: Sequence[str] | None = None
    aliases: Aliases | None = None

    def children(self) -> list[list[int]]:
        """Return the positions of each node's children."""
        children: list[list[int]] = [[] for _ in self.names]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children

    def bracketed(self, around: Callable[[int, bool], tuple[str, str]], between: str) -> Iterator[str]:
        """Yield the text of a format of nested nodes, without recursion.

        `around` returns what comes before and after the children of a node, given whether it has any.
        """
        children = self.children()
        stack: list[int | str] = [int(self.parent.argmin())]  # nodes, and text that comes after others
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                yield node
            elif below := children[node]:
                before, after = around(node, True)
                yield before
                stack.append(after)
                for child in reversed(below):
                    stack += (child, between)
                stack.pop()
            else:
                before, after = around(node, False)
                yield before + after


@dataclass(frozen=True)
class Problem:
    """A problem with a tree."""

    kind: str
    """A short category, such as "cycle"."""
    message: str
    """A sentence that names the offenders and their location."""
    remedy: str
    """A sentence that says what to do."""

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


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
    """The source of a tree, for messages about places in it.

    >>> Origin("tree.csv").at(7, 9), Origin(None, "pair").at(7)
    ('tree.csv, lines 7 and 9', 'pair 7')
    """

    name: str | None
    """The file as the user wrote it; None for data in memory."""
    unit: str = "line"
    """What to call a part of it: "line", "pair", "row"."""
    format: str | None = None
    """Its format, if the extension does not determine it."""
    folder: str | None = None
    """The folder of a tree that consists of several files."""

    def at(self, *places: int) -> str:
        """Describe the location of some parts."""
        distinct = list(dict.fromkeys(places))
        several = len(distinct) > 1
        numbers = f"{', '.join(map(str, distinct[:-1]))} and {distinct[-1]}" if several else str(distinct[0])
        where = f"{self.unit}{'s' if several else ''} {numbers}"
        return where if self.name is None else f"{self.name}, {where}"

    def places(self, lines: Sequence[int] | Indices) -> Where:
        """Return a function that describes the location of nodes, given the line of each node."""
        return lambda nodes: self.at(*(int(lines[node]) for node in nodes))

    @property
    def subject(self) -> str:
        """The source, as the subject of a sentence."""
        return "The tree" if self.name is None else self.name

    @property
    def doctor(self) -> str | None:
        """The command that lists all problems of the file."""
        if self.name is None:
            return None
        return shlex.join(["hedgerow", "doctor", self.folder or self.name, *options(format=self.format)])


def refuse(problems: Sequence[Problem], origin: Origin) -> NoReturn:
    """Raise an error that shows the first problem and carries all of them."""
    raise FlawedTreeError(problems, origin.doctor)


def refuse_empty(origin: Origin) -> NoReturn:
    """Raise an error for a file without any class."""
    refuse([_too_small(origin, "is empty: it contains no classes")], origin)


def validated(
    table: NodeTable,
    origin: Origin,
    where: Where,
    *,
    root: str | None = None,
    problems: Sequence[Problem] = (),
    remedies: Mapping[str, str] | None = None,
) -> NodeTable:
    """Return a checked tree with one root; raise an error that carries all problems.

    Parameters
    ----------
    table
        The nodes; parents are positions of nodes, or -1.
    origin
        Where they come from.
    where
        Describes the location of nodes in it.
    root
        Name of the root to add above several top nodes; None if several are an error.
    problems
        Problems that the reader found.
    remedies
        Remedies by kind of problem, instead of the default ones.
    """
    names, parent = table.names, table.parent
    if not len(names) and not problems:
        refuse_empty(origin)
    flaws = chain(
        _blank_names(table, where),
        _control_characters(table, where),
        _repeated_names(table, where) if len(set(names)) < len(names) else (),
        _cycles(table, where),
    )
    advice = _REMEDIES | dict(remedies or {})
    found = [*problems, *(Problem(kind, message, advice[kind]) for kind, message in flaws)]
    tops = [top for top in np.flatnonzero(parent == _TOP).tolist() if names[top].strip()]
    if len(tops) > 1 and root is not None:
        if root in set(names):
            found.append(root_taken(root, f"There are {len(tops):,} top nodes", where([list(names).index(root)])))
        table = _with_root(table, root)
    elif len(tops) > 1:
        listed = f"{some((names[top] for top in tops), 10)} ({where(tops[:_SHOWN])})"
        message = f"{origin.subject} has {len(tops):,} roots (classes without a parent): {listed}."
        found.append(Problem("several roots", message, advice["several roots"]))
    if len(table.names) < 2 and not found:
        found.append(_too_small(origin, f"has only one node ({names[0]!r})"))
    if found:
        refuse(found, origin)
    return table


def checked_table(table: NodeTable, origin: Origin) -> NodeTable:
    """Check a tree from outside the package; problems are located by position."""
    names = plain_names(table.names)
    parent = as_positions(table.parent, len(names))
    aliases = None if table.aliases is None else Aliases.of(table.aliases)
    rank, title = (
        None if texts is None else list(map(str, as_names(texts, what, len(names))))
        for what, texts in (("rank", table.rank), ("title", table.title))
    )
    table = NodeTable(names, parent, rank, title, aliases)
    return validated(table, origin, origin.places(range(len(names))))


def root_taken(root: str, why: str, where: str) -> Problem:
    """Describe an added root whose name a class already has."""
    return Problem(
        "root",
        f"{why}, so a root named {root!r} must be added, but a class already has that name ({where}).",
        f"Choose another name for the root: {argument('root', 'NAME')}.",
    )


def control_character(name: str, where: str) -> Problem:
    """Describe a name with a control character."""
    kind = "control character"
    return Problem(kind, f"{where}: the name {name!r} contains a control character.", _REMEDIES[kind])


def _too_small(origin: Origin, what: str) -> Problem:
    return Problem("empty", f"{origin.subject} {what}.", "A tree needs at least one class below its root.")


def _with_root(table: NodeTable, root: str) -> NodeTable:
    """Put a root above all top nodes."""
    count = len(table.names)
    return NodeTable(
        [root, *table.names],
        np.concatenate([[_TOP], table.parent + 1]),
        None if table.rank is None else ["", *table.rank],
        None if table.title is None else ["", *table.title],
        None if table.aliases is None else table.aliases.moved(np.arange(1, count + 1)),
    )


def _blank_names(table: NodeTable, where: Where) -> Iterator[_Flaw]:
    names = table.names
    if all(map(str.strip, names)):
        return
    blank = [node for node, name in enumerate(names) if not name.strip()]
    above, below = int(table.parent[blank[0]]), np.flatnonzero(table.parent == blank[0])
    beside = f"under {names[above]!r}" if above >= 0 else f"above {names[below[0]]!r}" if below.size else "alone"
    has = counted(len(blank), "class has", "classes have")
    yield "empty name", f"{has} no name ({where(blank[:_SHOWN])}); the first is {beside}."


def _control_characters(table: NodeTable, where: Where) -> Iterator[_Flaw]:
    for what, texts in (("name", table.names), ("rank", table.rank or ()), ("title", table.title or ())):
        flawed = set(with_control(texts))
        nodes = (node for node, text in enumerate(texts) if text in flawed) if flawed else iter(())
        for node in islice(nodes, _LISTED):
            owner = repr(texts[node]) if what == "name" else f"of {table.names[node]!r}, {texts[node]!r},"
            yield "control character", f"{where([node])}: the {what} {owner} contains a control character."


def _repeated_names(table: NodeTable, where: Where) -> Iterator[_Flaw]:
    nodes_of: dict[str, list[int]] = {}
    for node, name in enumerate(table.names):
        nodes_of.setdefault(name, []).append(node)
    for name, nodes in nodes_of.items():
        if len(nodes) < 2 or not name.strip():
            continue
        parents = {table.names[above] if above >= 0 else None for above in table.parent[nodes].tolist()}
        if len(parents) > 1:
            lineages = "; ".join(dict.fromkeys(_lineage(table, node) for node in nodes[:_SHOWN]))
            kind, what = "several parents", f"under {len(parents)} parents: {lineages}"
        else:
            (above,) = parents
            place = "at the top" if above is None else f"under {above!r}"
            kind, what = "duplicate name", f"{len(nodes)} times {place}"
        yield kind, f"{name!r} occurs {what} ({where(nodes[:_SHOWN])})."


def _lineage(table: NodeTable, node: int) -> str:
    """Return a lineage; of a very long one, only the end."""
    names: list[str] = []
    while node != _TOP and len(names) < _LINEAGE:
        names.append(table.names[node])
        node = int(table.parent[node])
    return printable(" > ".join(names[::-1] if node == _TOP else ["...", *names[5::-1]]))


def _cycles(table: NodeTable, where: Where) -> Iterator[_Flaw]:
    for ring in rings(table.parent):
        if len(ring) == 1:
            yield "self-loop", f"{where(ring)}: {table.names[ring[0]]!r} is its own parent."
        else:
            downwards = ring[1::-1] + ring[:1:-1]  # from parent to child
            path = around([table.names[node] for node in downwards])
            yield "cycle", f"These classes are each other's ancestors: {path} ({where(sorted(ring)[:8])})."


def around(names: Sequence[str]) -> str:
    """Write the names on a cycle; of a long one, the first and the last."""
    shown = names if len(names) <= 8 else [*names[:4], "...", *names[-3:]]
    return " -> ".join([*shown, shown[0]])
