"""Nested JSON, and the flat JSON of `Hierarchy.save`."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, TreeError
from hedgerow.files import atomic_write, is_path, read_text
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.problems import (
    Origin,
    Problem,
    control_character,
    control_in,
    no_edges,
    refuse,
    require_edges,
    root_taken,
)
from hedgerow.tree.names import Aliases, check_root, with_control

if TYPE_CHECKING:
    from collections.abc import Collection
    from os import PathLike

_FORMAT = "hedgerow tree"
_VERSION = 1
_EXTRAS = ("rank", "title")
_PARENTS = ("parent", "parent_id", "parentId", "supercategory")  # of tables, in which nodes are not nested
_NO_PARENT = (None, "", "null")
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
    else:
        origin, data = Origin(None), source
    if is_saved(data):
        return _from_saved(data, origin)
    return require_edges(_Walk(origin, text, root).table(data), origin)


def parse_json(text: str, origin: Origin) -> Any:
    """Parse JSON; a repeated key is an error, and does not overwrite the first one."""
    if not text.strip():
        refuse([no_edges(origin)], origin)
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
        refuse([_duplicate(name, _places({name}, text).get(name, []), origin)], origin)


def _is_named(item: Any) -> bool:
    return isinstance(item, dict) and "name" in item


class _RepeatedKeyError(Exception):
    """A key occurs twice in one object."""


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


def _duplicate(name: str, lines: list[int], origin: Origin) -> Problem:
    where = f" ({origin.at(*lines[:5])})" if lines else ""
    return Problem(
        "duplicate name",
        f"Several nodes have the name {name!r}{where}.",
        "Names must be distinct: rename all but one, for instance by putting the parent's name in front.",
    )


def _places(names: Collection[str], text: str | None) -> dict[str, list[int]]:
    """Find the lines that contain names, escaped or not; in one pass, for there may be thousands."""
    spelt = {json.dumps(name, ensure_ascii=escaped): name for name in names for escaped in (True, False)}
    found: dict[str, list[int]] = {}
    line, counted_to = 1, 0
    for match in _STRING.finditer(text or ""):
        name = spelt.get(match.group())
        if name is not None:
            line += (text or "").count("\n", counted_to, match.start())
            counted_to = match.start()
            lines = found.setdefault(name, [])
            if not lines or lines[-1] != line:
                lines.append(line)
    return found


class _Walk:
    """A walk through nested data, without recursion."""

    def __init__(self, origin: Origin, text: str | None, root: str) -> None:
        self.origin = origin
        self.text = text
        self.root = root
        self.names: list[str] = []
        self.parent: list[int] = []
        self.extras: dict[str, list[str]] = {extra: [] for extra in _EXTRAS}
        self.aliases: list[tuple[str, int]] = []
        self.problems: list[Problem] = []

    def table(self, data: Any) -> NodeTable:
        tops = self._nodes_in(data)
        if not any(below for _, below, _ in tops):  # then other keys may say what is below what
            for _, _, item in tops:
                self._check_keys(item)
        above = -1
        if len(tops) > 1:
            self._add(self.root, above, {})
            above = 0
        # Depth first, so that siblings and problems come in the order of the file.
        stack = [(above, top) for top in reversed(tops)]
        while stack:
            parent, (name, below, extras) = stack.pop()
            self._add(name, parent, extras)
            children = self._nodes_in(below, name)
            here = len(self.names) - 1
            stack.extend((here, child) for child in reversed(children))
        if len(set(self.names)) < len(self.names):
            self._report_duplicates(len(tops))
        flawed = list(with_control(self.names))
        places = _places(flawed, self.text) if flawed else {}
        for name in flawed:
            where = self.origin.at(*places[name][:5]) if name in places else self.origin.subject
            self.problems.append(control_character(name, where))
        for extra, values in self.extras.items():
            self.problems += control_in(extra, values, self.names, self.origin)
        if self.problems:
            refuse(self.problems, self.origin)
        rank, title = (values if any(values) else None for values in self.extras.values())
        above_each = np.array(self.parent, dtype=np.int64)
        return NodeTable(self.names, above_each, rank, title, Aliases.of(self.aliases) or None)

    def _add(self, name: Any, parent: int, extras: dict[str, Any]) -> None:
        if not isinstance(name, str) or not name.strip():
            above = f" under {self.names[parent]!r}" if parent >= 0 else ""
            self.problems.append(
                Problem(
                    "empty name",
                    f"{self.origin.subject} has a node{above} whose name is {name!r}.",
                    "Every class needs a name, and a name is a string.",
                )
            )
            name = str(name)
        self.names.append(name)
        self.parent.append(parent)
        for extra, values in self.extras.items():
            value = extras.get(extra)
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
        """Note that a node names its parent, or has nodes under another key than 'children'."""
        for key, value in item.items():
            if key in _PARENTS and value not in _NO_PARENT:
                what = f"names its parent, {value!r}, under {key!r}"
            elif isinstance(value, list) and any(map(_is_named, value)):
                what = f"has nodes under {key!r}"
            else:
                continue
            self.problems.append(
                Problem(
                    "another shape",
                    f"{self.origin.subject} is a tree of another shape: {item['name']!r} {what}.",
                    "Put the children of a node in its list 'children'; or write an edge list, parent,child.",
                )
            )

    def _not_a_node(self, data: Any, above: str | None) -> None:
        self.problems.append(
            Problem(
                "not a node",
                f"{self.origin.subject} has {data!r} where the children of {above!r} should be."
                if above is not None
                else f"{self.origin.subject} contains {data!r} instead of a tree.",
                'Children must be a list, such as ["robin", "wren"], an object, such as {"robin": {}}, or null.',
            )
        )

    def _report_duplicates(self, tops: int) -> None:
        counts = Counter(self.names)
        repeated = [name for name, count in counts.items() if count > 1]
        places = _places(repeated, self.text)
        if tops > 1 and counts[self.root] == 2:  # the added root, and a node of the file
            lines = places.get(self.root)
            where = self.origin.at(lines[0]) if lines else self.origin.subject
            self.problems.append(root_taken(self.root, f"There are {tops:,} top nodes", where))
            repeated.remove(self.root)
        self.problems += [_duplicate(name, places.get(name, []), self.origin) for name in repeated]


def write_json(path: str | PathLike[str], table: NodeTable) -> None:
    """Write ``{"name": ..., "children": [...]}``, one node per line.

    Ranks, titles and aliases of a node stand beside its name: "rank", "title", and a list "aliases".
    """
    children = table.children()
    aliases: dict[int, list[str]] = {}
    for alias, node in (table.aliases or {}).items():
        aliases.setdefault(node, []).append(alias)
    extras = [(extra, values) for extra in _EXTRAS if (values := getattr(table, extra)) is not None]
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


def is_saved(data: Any) -> bool:
    """Return whether data is the flat JSON of `write_saved`; in nested JSON, no name has a string below it."""
    return isinstance(data, dict) and data.get("format") == _FORMAT


def read_saved(path: str | PathLike[str]) -> NodeTable:
    """Read a file written by `write_saved`."""
    origin = Origin(os.fspath(path))
    data = parse_json(read_text(path), origin)
    if not is_saved(data):
        raise FileError(
            f"{origin.subject} was not written by Hierarchy.save: it lacks the format mark {_FORMAT!r}. To read "
            f"nested JSON, use Hierarchy.from_json."
        )
    return _from_saved(data, origin)


def _from_saved(data: dict[str, Any], origin: Origin) -> NodeTable:
    if data.get("version") != _VERSION:
        raise FileError(
            f"{origin.subject} has version {data.get('version')!r} of the file format; this version of hedgerow "
            f"reads version {_VERSION}. Save the tree again, or update hedgerow."
        )
    names, parent = data.get("names") or [], data.get("parent") or []
    extras = {extra: data[extra] for extra in _EXTRAS if data.get(extra) is not None}
    columns = [names, parent, *extras.values()]
    whole = all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) == 1
    if (
        not whole
        or not names
        or {type(position) for position in parent} != {int}
        or not all(isinstance(value, str) for values in extras.values() for value in values)
    ):
        raise FileError(
            f"{origin.subject} is damaged: names, parent, rank and title must be lists of the same length; parent "
            f"must contain integers, the others text. Save the tree again."
        )
    if (
        not all(isinstance(name, str) and name.strip() for name in names)
        or len(set(names)) < len(names)
        or any(with_control(names))
    ):
        raise FileError(
            f"{origin.subject} is damaged: names must be distinct, non-empty strings without control characters. "
            f"Save the tree again."
        )
    problems = [flaw for extra, values in extras.items() for flaw in control_in(extra, values, names, origin)]
    if problems:
        refuse(problems, origin)
    aliases = data.get("aliases")
    try:
        checked = None if aliases is None else Aliases.of(dict(aliases)).moved(np.arange(len(names)))
        return NodeTable(names, np.array(parent, dtype=np.int64), extras.get("rank"), extras.get("title"), checked)
    except (TreeError, TypeError, ValueError) as error:
        raise FileError(f"{origin.subject} is damaged: its aliases are not names of nodes. {error}") from None
    except OverflowError:
        raise FileError(f"{origin.subject} is damaged: a parent is not a position. Save the tree again.") from None


def read_titles(path: str | PathLike[str]) -> dict[str, str]:
    """Read display names, ``{"n02084071": "dog", ...}``."""
    origin = Origin(os.fspath(path))
    data = parse_json(read_text(path), origin)
    if not isinstance(data, dict) or not all(isinstance(title, str) for title in data.values()):
        raise FileError(
            f'{origin.subject} must contain one JSON object of names and titles: {{"n02084071": "dog"}}.'
        )
    return data


def write_saved(path: str | PathLike[str], table: NodeTable) -> None:
    """Write a whole tree as flat JSON."""
    data = {"format": _FORMAT, "version": _VERSION, "names": list(table.names), "parent": table.parent.tolist()}
    data |= {extra: list(values) for extra in _EXTRAS if (values := getattr(table, extra)) is not None}
    data |= {"aliases": dict(table.aliases)} if table.aliases else {}
    with atomic_write(path) as file:
        file.write(json.dumps(data, ensure_ascii=False))
        file.write("\n")
