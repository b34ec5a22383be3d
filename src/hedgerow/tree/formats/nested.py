"""Nested JSON."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow.errors import FileError, argument
from hedgerow.files import atomic_write, is_path, read_text
from hedgerow.tree.formats.rows import EXCHANGED
from hedgerow.tree.layout import depths
from hedgerow.tree.names import Aliases, check_root
from hedgerow.tree.validation import NodeTable, Origin, Problem, refuse, refuse_empty, validated

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from os import PathLike

_PARENTS = ("parent", "parent_id", "parentId", "supercategory")  # of tables, in which nodes are not nested
_NO_PARENT = (None, "", "null")
_DEEPEST = 300  # levels; Python reads no more than about 450
_NOTHING: dict[str, Any] = {}
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
        self.origin, self.text = origin, text
        self.names: list[str] = []
        self.problems: list[Problem] = []

    def table(self, data: Any, root: str) -> NodeTable:
        tops = self._nodes_in(data)
        if not any(node.below for node in tops):  # then other keys may define the tree
            for node in tops:
                self._check_keys(node)
        parents: list[int] = []
        ranks: list[Any] = []
        titles: list[Any] = []
        aliases: list[tuple[str, int]] = []
        # Depth first, so that siblings and problems come in the order of the file.
        stack = [(-1, node) for node in reversed(tops)]
        while stack:
            parent, node = stack.pop()
            if not isinstance(node.name, str):
                above = f" under {self.names[parent]!r}" if parent >= 0 else ""
                self._note(
                    "not a name",
                    f"has a node{above} whose name is {node.name!r}.",
                    "Every class needs a name, and a name is a string.",
                )
            here = len(self.names)
            stack += [(here, child) for child in reversed(self._nodes_in(node.below, node.name))]
            self.names.append(str(node.name))
            parents.append(parent)
            ranks.append(node.item.get("rank"))
            titles.append(node.item.get("title"))
            if isinstance(listed := node.item.get("aliases"), list):
                aliases += [(alias, here) for alias in listed if isinstance(alias, str)]
        parent_of = np.array(parents, dtype=np.int64)
        table = NodeTable(self.names, parent_of, _texts(ranks), _texts(titles), Aliases.of(aliases) or None)
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

    def _nodes_in(self, data: Any, above: str | None = None) -> list[_Node]:
        """Return the nodes in a list, an object or None, and report anything else."""
        nodes: list[_Node] = []
        stack = [data]  # lists may be nested, to any depth
        while stack:
            item = stack.pop()
            if isinstance(item, dict):
                if "name" in item and not isinstance(item["name"], dict | list):
                    nodes.append(_Node(item["name"], item.get("children"), item))
                else:
                    nodes += [_Node(name, below) for name, below in item.items()]
            elif isinstance(item, list | tuple):
                stack.extend(reversed(item))
            elif isinstance(item, str) and item is not data:
                nodes.append(_Node(item))
            elif item is not None:
                self._note(
                    "not a node",
                    f"contains {item!r} instead of a tree."
                    if above is None
                    else f"has {item!r} where the children of {above!r} should be.",
                    'Children are a list, such as ["robin", "wren"], an object, such as {"robin": {}}, or null.',
                )
        return nodes

    def _check_keys(self, node: _Node) -> None:
        """Report a node that names its parent, or has nodes under another key than 'children'."""
        for key, value in node.item.items():
            if key in _PARENTS and value not in _NO_PARENT:
                what = f"names its parent, {value!r}, under {key!r}"
            elif isinstance(value, list) and any(isinstance(below, dict) and "name" in below for below in value):
                what = f"has nodes under {key!r}"
            else:
                continue
            self._note(
                "another shape",
                f"is a tree of another shape: {node.name!r} {what}.",
                "Put the children of a node in its list 'children'; or write an edge list, parent,child.",
            )

    def _note(self, kind: str, message: str, remedy: str) -> None:
        self.problems.append(Problem(kind, f"{self.origin.subject} {message}", remedy))


class _Node(NamedTuple):
    """A node as it is written."""

    name: Any
    below: Any = None
    """Its children."""
    item: Mapping[str, Any] = _NOTHING
    """The object that describes it, if there is one."""


def _texts(values: list[Any]) -> list[str] | None:
    """Return ranks or titles as text; None if no node has one."""
    if values.count(None) == len(values):
        return None
    texts = [value if isinstance(value, str) else "" if value is None else repr(value) for value in values]
    return texts if any(texts) else None


def write_json(path: str | PathLike[str], table: NodeTable) -> None:
    """Write ``{"name": ..., "children": [...]}``, one node per line.

    Ranks, titles and aliases are stored next to the name, as "rank", "title" and a list "aliases".
    """
    depth = int(depths(table.parent).max())
    if depth > _DEEPEST:
        raise FileError(
            f"{os.fspath(path)}: the tree has {depth:,} levels, too many for nested JSON. Write another "
            f"format, such as {argument('to', 'edges', python='edges')}."
        )
    aliases: dict[int, list[str]] = {}
    for alias, node in (table.aliases or {}).items():
        aliases.setdefault(node, []).append(alias)

    def around(node: int, inner: bool) -> tuple[str, str]:
        fields: dict[str, Any] = {"name": table.names[node]}
        for key, values in (("rank", table.rank), ("title", table.title)):
            fields |= {key: values[node]} if values and values[node] else {}
        fields |= {"aliases": aliases[node]} if node in aliases else {}
        text = json.dumps(fields, ensure_ascii=False)
        return (f'{text[:-1]}, "children": [\n', "]}") if inner else (text, "")

    with atomic_write(path) as file:
        file.writelines(table.bracketed(around, ",\n"))
        file.write("\n")


def read_titles(path: str | PathLike[str]) -> dict[str, str]:
    """Read display names, ``{"n02084071": "dog", ...}``."""
    origin = Origin(os.fspath(path))
    data = parse_json(read_text(path), origin)
    if not isinstance(data, dict) or not all(isinstance(title, str) for title in data.values()):
        raise FileError(
            f'{origin.subject} must contain one JSON object of names and titles: {{"n02084071": "dog"}}.'
        )
    return data
