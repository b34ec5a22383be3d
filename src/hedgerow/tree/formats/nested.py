"""Nested JSON."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, argument
from hedgerow.files import atomic_write, is_path, read_text
from hedgerow.tree.formats.rows import EXCHANGED
from hedgerow.tree.names import Aliases, check_root
from hedgerow.tree.validation import NodeTable, Origin, Problem, refuse, refuse_empty, validated

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from os import PathLike

_PARENTS = ("parent", "parent_id", "parentId", "supercategory")  # of tables, in which nodes are not nested
_NO_PARENT = (None, "", "null")
_DEEPEST = 300  # levels; Python reads no more than about 450
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def read_json(source: str | PathLike[str] | dict[str, Any] | list[Any], root: str = "root") -> NodeTable:
    """Read nested JSON from a file, or from lists and dicts of the same structure.

    A node is ``{"name": "bird", "children": [...]}``, optionally with "rank" and "title" (other keys are ignored,
    unless they hold nodes, or the parent of a top node); or an entry of an object, ``{"bird": children}``; or a
    string, which is a leaf. Children are an object, a list, or null for none. Several top nodes are put under a
    root named `root`.
    """
    check_root(root)
    text = None
    if is_path(source):
        path = os.fspath(source)
        origin = Origin(path)
        text = read_text(path)
        data = parse_json(text, origin)
        graphs = data.get("graphs") if isinstance(data, dict) else None
        if isinstance(graphs, list) and graphs and isinstance(graphs[0], dict) and "nodes" in graphs[0]:
            raise FileError(f"{path} is an ontology. Name its format: {argument('format', 'obographs')}.")
        if isinstance(data, dict) and isinstance(data.get("predictions"), list):
            raise FileError(f"{path} holds predictions, not a tree. {EXCHANGED}")
    else:
        origin, data = Origin(None), source
    return _Nested(origin, text).table(data, root)


def parse_json(text: str, origin: Origin) -> Any:
    """Parse JSON; a repeated key is an error, and does not overwrite the first one."""
    if not text.strip():
        refuse_empty(origin)
    try:
        return json.loads(text, object_pairs_hook=_distinct_keys)
    except RecursionError:
        raise FileError(
            f"{origin.subject} is nested too deeply for Python's json module. Write the tree as an edge list or "
            f"in Newick, which have no such limit."
        ) from None
    except json.JSONDecodeError as error:
        raise FileError(
            f"{origin.at(error.lineno)}, column {error.colno} is not JSON: {error.msg}. Correct the file there."
        ) from None
    except ValueError as error:  # a number with thousands of digits
        raise FileError(f"{origin.subject} is not a tree in JSON: {error}.") from None
    except _RepeatedKeyError as error:
        name = error.args[0]
        lines = _lines_of([name], text).get(name)
        where = origin.at(*lines[:5]) if lines else origin.subject
        message = f"{name!r} occurs several times in one object ({where})."
        refuse([Problem("duplicate name", message, "Names must be distinct: rename all but one.")], origin)


class _RepeatedKeyError(Exception):
    """A key occurs twice in one object."""


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


def _lines_of(names: Collection[str], text: str) -> dict[str, list[int]]:
    """Find the lines that contain names, escaped or not, in one pass, since there may be thousands."""
    spelt = {json.dumps(name, ensure_ascii=escaped): name for name in names for escaped in (True, False)}
    found: dict[str, list[int]] = {}
    line, counted_to = 1, 0
    for match in _STRING.finditer(text):
        name = spelt.get(match.group())
        if name is not None:
            line += text.count("\n", counted_to, match.start())
            counted_to = match.start()
            found.setdefault(name, []).append(line)
    return found


class _Nested:
    """Nested data turned into a table, without recursion."""

    def __init__(self, origin: Origin, text: str | None) -> None:
        self.origin = origin
        self.text = text
        self.names: list[str] = []
        self.parent: list[int] = []
        self.rank: list[str] = []
        self.title: list[str] = []
        self.aliases: list[tuple[str, int]] = []
        self.problems: list[Problem] = []

    def table(self, data: Any, root: str) -> NodeTable:
        tops = self._nodes_in(data)
        if not any(below for _, below, _ in tops):  # then other keys may define the tree
            for _, _, item in tops:
                self._check_keys(item)
        # Depth first, so that siblings and problems come in the order of the file.
        stack = [(-1, top) for top in reversed(tops)]
        while stack:
            parent, (name, below, extras) = stack.pop()
            self._add(name, parent, extras)
            children = self._nodes_in(below, name)
            here = len(self.names) - 1
            stack.extend((here, child) for child in reversed(children))
        table = NodeTable(
            self.names,
            np.array(self.parent, dtype=np.int64),
            self.rank if any(self.rank) else None,
            self.title if any(self.title) else None,
            Aliases.of(self.aliases) or None,
        )
        return validated(table, self.origin, self._where, root=root, problems=self.problems)

    def _where(self, nodes: Sequence[int]) -> str:
        if self.text is None:
            return "data in memory"
        names = dict.fromkeys(self.names[node] for node in nodes)
        lines = [line for name in names for line in self._lines.get(name, ())]
        return self.origin.at(*lines[:5]) if lines else self.origin.subject

    @cached_property
    def _lines(self) -> dict[str, list[int]]:
        """The lines that contain each name; the parser does not report positions."""
        return _lines_of(set(self.names), self.text or "")

    def _add(self, name: Any, parent: int, extras: dict[str, Any]) -> None:
        if not isinstance(name, str):
            above = f" under {self.names[parent]!r}" if parent >= 0 else ""
            self._note(
                "not a name",
                f"{self.origin.subject} has a node{above} whose name is {name!r}.",
                "Every class needs a name, and a name is a string.",
            )
            name = str(name)
        self.names.append(name)
        self.parent.append(parent)
        for values, value in ((self.rank, extras.get("rank")), (self.title, extras.get("title"))):
            values.append(value if isinstance(value, str) else "" if value is None else repr(value))
        aliases = extras.get("aliases")
        if isinstance(aliases, list):
            here = len(self.names) - 1
            self.aliases += [(alias, here) for alias in aliases if isinstance(alias, str)]

    def _nodes_in(self, data: Any, above: str | None = None) -> list[tuple[Any, Any, dict[str, Any]]]:
        """Return the name, children and extras of every node in a list, an object or None."""
        nodes: list[tuple[Any, Any, dict[str, Any]]] = []
        stack = [data]  # lists may be nested, to any depth
        while stack:
            item = stack.pop()
            if isinstance(item, dict):
                if "name" in item and not isinstance(item["name"], dict | list):
                    nodes.append((item["name"], item.get("children"), item))
                else:
                    nodes += [(name, below, {}) for name, below in item.items()]
            elif isinstance(item, list | tuple):
                stack.extend(reversed(item))
            elif isinstance(item, str) and item is not data:
                nodes.append((item, None, {}))
            elif item is not None:
                self._not_a_node(item, above)
        return nodes

    def _check_keys(self, item: dict[str, Any]) -> None:
        """Report a node that names its parent, or has nodes under another key than 'children'."""
        for key, value in item.items():
            if key in _PARENTS and value not in _NO_PARENT:
                what = f"names its parent, {value!r}, under {key!r}"
            elif isinstance(value, list) and any(isinstance(node, dict) and "name" in node for node in value):
                what = f"has nodes under {key!r}"
            else:
                continue
            self._note(
                "another shape",
                f"{self.origin.subject} is a tree of another shape: {item['name']!r} {what}.",
                "Put the children of a node in its list 'children'; or write an edge list, parent,child.",
            )

    def _not_a_node(self, data: Any, above: str | None) -> None:
        self._note(
            "not a node",
            f"{self.origin.subject} has {data!r} where the children of {above!r} should be."
            if above is not None
            else f"{self.origin.subject} contains {data!r} instead of a tree.",
            'Children must be a list, such as ["robin", "wren"], an object, such as {"robin": {}}, or null.',
        )

    def _note(self, kind: str, message: str, remedy: str) -> None:
        self.problems.append(Problem(kind, message, remedy))


def write_json(path: str | PathLike[str], table: NodeTable) -> None:
    """Write ``{"name": ..., "children": [...]}``, one node per line.

    Ranks, titles and aliases are stored next to the name, as "rank", "title" and a list "aliases".
    """
    children = table.children()
    depth = _depth(children, int(table.parent.argmin()))
    if depth > _DEEPEST:
        raise FileError(
            f"{os.fspath(path)}: the tree has {depth:,} levels, too many for nested JSON. Write another "
            f"format, such as {argument('to', 'edges', python='edges')}."
        )
    aliases: dict[int, list[str]] = {}
    for alias, node in (table.aliases or {}).items():
        aliases.setdefault(node, []).append(alias)
    extras = [(key, values) for key, values in (("rank", table.rank), ("title", table.title)) if values]
    with atomic_write(path) as file:
        # Each entry is a node to open, or text to close one.
        stack: list[int | str] = [int(table.parent.argmin())]
        while stack:
            entry = stack.pop()
            if isinstance(entry, str):
                file.write(entry)
                continue
            node = entry
            fields: dict[str, Any] = {"name": table.names[node]}
            fields |= {extra: values[node] for extra, values in extras if values[node]}
            fields |= {"aliases": aliases[node]} if node in aliases else {}
            file.write(json.dumps(fields, ensure_ascii=False)[:-1])
            if children[node]:
                file.write(', "children": [\n')
                stack.append("]}")
                for i, child in enumerate(reversed(children[node])):
                    stack += [child] if i == 0 else [",\n", child]
            else:
                file.write("}")
        file.write("\n")


def _depth(children: list[list[int]], root: int) -> int:
    level, depth = [root], 0
    while level := [child for node in level for child in children[node]]:
        depth += 1
    return depth


def read_titles(path: str | PathLike[str]) -> dict[str, str]:
    """Read display names, ``{"n02084071": "dog", ...}``."""
    origin = Origin(os.fspath(path))
    data = parse_json(read_text(path), origin)
    if not isinstance(data, dict) or not all(isinstance(title, str) for title in data.values()):
        raise FileError(
            f'{origin.subject} must contain one JSON object of names and titles: {{"n02084071": "dog"}}.'
        )
    return data
