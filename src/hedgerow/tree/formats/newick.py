"""Newick, the bracket notation of phylogenetic trees: `((robin,wren)bird,fish)animal;`."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import atomic_write, read_text
from hedgerow.tree.names import check_root
from hedgerow.tree.validation import NodeTable, Origin, refuse, refuse_empty, root_taken, validated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

_TOKEN = re.compile(
    r"""(?P<blank>\s+|\[[^\]]*\])       # comments are skipped like spaces
      | (?P<mark>[(),;])
      | '(?P<quoted>(?:[^']|'')*)'
      | (?P<length>:\s*[^\s(),;:'\[\]]*)
      | (?P<plain>[^\s(),;:'\[\]]+)
      | (?P<wrong>.)                    # without it, a search would go on from every later character""",
    re.VERBOSE | re.DOTALL,
)
_RENAME = "Names must be distinct: rename all but one. (Numbers are often branch support values.)"
_MUST_QUOTE = re.compile(r"[\s(),;:'\[\]_]")


def read_newick(source: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read a Newick file, or a Newick string, which ends with a semicolon.

    Names are taken as they are: underscores are not turned into spaces. Branch lengths and comments are ignored.
    A root without a name is called `root`; every other node needs a name of its own.
    """
    check_root(root)
    if isinstance(source, str) and source.rstrip().endswith(";"):
        origin, text = Origin(None), source
    else:
        origin, text = Origin(os.fspath(source)), read_text(source)
    if not text.strip():
        refuse_empty(origin)
    return _Parser(origin, text, root).table()


def read_newick_file(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read a Newick file, whatever its name: a name that ends with a semicolon is not taken for Newick itself."""
    return read_newick(PurePath(path), root)


class _Parser:
    """One pass over the text; a node is created when it opens, and named when its name appears."""

    def __init__(self, origin: Origin, text: str, root: str) -> None:
        self.origin = origin
        self.text = text
        self.root = root
        self.names: list[str | None] = [None]
        self.position = [0]
        self.parent = [-1]
        self.path = [0]  # the nodes whose brackets are open, then the node being read

    def table(self) -> NodeTable:
        self._read()
        names = self.names
        if names[0] is None:
            names[0] = self.root
            if self.root in names[1:]:
                where = self._place(self.position[names.index(self.root, 1)])
                refuse([root_taken(self.root, "The root has no name", where)], self.origin)
        return validated(
            NodeTable([name or "" for name in names], np.array(self.parent, dtype=np.int64)),
            self.origin,
            lambda nodes: "; ".join(self._place(self.position[node]) for node in nodes),
            remedies={
                "empty name": "Every class needs a name: write it after the closing bracket, as in "
                "(robin,wren)bird.",
                "duplicate name": _RENAME,
                "several parents": _RENAME,
            },
        )

    def _read(self) -> None:
        path, finished, previous = self.path, False, "start"
        for kind, value, here in self._tokens():
            if finished:
                self._fail(
                    here, f"more text after the tree: {value[:20]!r}", "Keep one tree, ending with a semicolon"
                )
            if kind == "name":
                known = self.names[path[-1]]
                if known is not None or previous == "length":
                    self._fail(
                        here,
                        f"a second name, {value!r}, follows {known!r}",
                        "Separate nodes by commas, and put names with spaces or brackets in single quotes",
                    )
                self.names[path[-1]], self.position[path[-1]] = value, here
            elif value == "(":
                if previous not in ("start", "(", ","):
                    self._fail(
                        here, "a '(' follows a name", "Write the children before the name: (robin,wren)bird"
                    )
                self._open(here)
            elif value in (",", ")"):
                if len(path) == 1 and value == ",":
                    self._fail(here, "a ',' outside all brackets", "Put a pair of brackets around the whole tree")
                if len(path) == 1:
                    self._fail(here, "a ')' without a matching '('", "Remove it, or add the '('")
                path.pop()
                if value == ",":
                    self._open(here)
                else:
                    self.position[path[-1]] = here
            elif value == ";":
                if len(path) > 1:
                    self._fail(here, f"the tree ends with {len(path) - 1} '(' still open", "Add the missing ')'")
                finished = True
            previous = kind if kind in ("name", "length") else value
        if not finished:
            end = len(self.text.rstrip())
            self._fail(end, "the final semicolon is missing", "Add it, or restore the missing text")

    def _open(self, here: int) -> None:
        self.parent.append(self.path[-1])
        self.path.append(len(self.names))
        self.names.append(None)
        self.position.append(here)

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup
            if kind == "quoted":
                yield "name", match.group(kind).replace("''", "'"), match.start()
            elif kind == "plain":
                yield "name", match.group(), match.start()
            elif kind == "wrong":
                sign = match.group()
                if opened := {"'": "a quote", "[": "a comment"}.get(sign):
                    self._fail(match.start(), f"{opened} is never closed", "Close it")
                remedy = "Put names with such characters in single quotes"
                self._fail(match.start(), f"{sign!r} is out of place", remedy)
            elif kind != "blank":
                yield str(kind), match.group(), match.start()

    def _place(self, position: int) -> str:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return f"{self.origin.at(line)}, column {column}"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def _fail(self, position: int, what: str, remedy: str) -> NoReturn:
        raise FileError(f"{self._place(position)}: not Newick: {what}. {remedy}.")


def write_newick(path: str | PathLike[str], table: NodeTable) -> None:
    """Write a Newick file, with names quoted where a reader could misread them."""
    labels = ["'" + name.replace("'", "''") + "'" if _MUST_QUOTE.search(name) else name for name in table.names]

    def around(node: int, inner: bool) -> tuple[str, str]:
        return ("(", ")" + labels[node]) if inner else ("", labels[node])

    with atomic_write(path) as file:
        file.writelines(table.bracketed(around, ","))
        file.write(";\n")
