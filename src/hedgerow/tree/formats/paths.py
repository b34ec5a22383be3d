"""Path strings: one path per line, such as `animal/bird/robin`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.errors import FileError, ParameterError, argument
from hedgerow.files import atomic_write
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.rows import open_lines
from hedgerow.tree.taxon_strings import looks_like_speciesnet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from hedgerow.tree.validation import NodeTable, Origin

ADDED_ROOT = "root"
"""The root that readers of paths and lineages add above several top nodes, and that writers leave out."""
_SEPARATORS = "/;"
_OTHER_SEPARATORS = (">", "|", "\t", "\\", ",", ":")
_BYTE_ORDER_MARK = "\ufeff"  # dropped at the start of a file


def read_paths(
    source: str | PathLike[str] | Iterable[str],
    root: str = "root",
    separator: str | None = None,
    disambiguate: bool = False,
) -> NodeTable:
    """Read one path per line, such as `animal/bird/robin` or `animal; bird; robin`.

    Spaces around names, and blank lines, are ignored. See `Hierarchy.from_lineages` for `root` and `disambiguate`.

    Parameters
    ----------
    source
        A text file, or strings.
    separator
        The separator; by default "/" or ";", whichever occurs first. It is required if every line has another
        likely separator, such as ">".
    """
    origin, lines = open_lines(source, "path")
    if separator is None:
        separator = _found_separator(lines, origin)
    elif not separator:
        raise ParameterError("The separator of paths must be at least one character, such as '/' or ';'.")
    forest = Forest(origin)
    for line, path in lines:
        names = [name.strip() for name in path.split(separator)]
        if all(names):
            forest.add(names, line)
        else:
            forest.add_problem(
                "empty name",
                f"{origin.at(line)} has an empty name: {path!r}.",
                f"If it is a label of SpeciesNet, name the format: {argument('format', 'speciesnet')}."
                if looks_like_speciesnet(path)
                else f"Remove the {separator!r} at the start or the end, or the doubled one.",
            )
    return forest.table(root, disambiguate)


def _found_separator(lines: list[tuple[int, str]], origin: Origin) -> str:
    for line, path in lines:
        found = [separator for separator in _SEPARATORS if separator in path]
        if len(found) > 1:
            raise FileError(
                f"{origin.at(line)} contains both '/' and ';': {path!r}. Name the separator, for example "
                f"{argument('separator', ';')}."
            )
        if found:
            return found[0]
    if sign := _other_separator(path for _, path in lines):
        raise FileError(
            f"{origin.subject} has neither '/' nor ';' on any line, but {sign!r}. If it separates names, give "
            f"{argument('separator', sign)}; if it is part of them, {argument('separator', '/')}."
        )
    return _SEPARATORS[0]


def _other_separator(paths: Iterable[str]) -> str:
    """Return a character that seems to separate names; '' if there is none."""
    listed = [path.strip() for path in paths]
    for sign in _OTHER_SEPARATORS:
        divided = [path for path in listed if sign in path]
        tops = {path.partition(sign)[0].strip() for path in divided}
        above = {path.rpartition(sign)[0].rstrip(f"{sign} ") for path in divided}
        if divided and (len(divided) == len(listed) > len(tops) or above <= set(listed)):
            return sign
    return ""


def write_paths(path: str | PathLike[str], table: NodeTable) -> None:
    """Write the path of every leaf, with names separated by "/"; a root that a reader would add is left out."""
    for name in table.names:
        if name != name.strip() or any(sign in name for sign in (*_SEPARATORS, "\n", "\r", _BYTE_ORDER_MARK)):
            raise FileError(
                f"The name {name!r} cannot be part of a path: it contains '/', ';', a line end or a byte-order "
                f"mark, or has spaces around it. Write another format, such as {argument('to', 'edges')}."
            )
    lines = ["/".join(table.names[node] for node in lineage) for lineage in leaf_lineages(table)]
    if not any("/" in line for line in lines) and (sign := _other_separator(lines)):
        raise FileError(
            f"{sign!r} in these names would look like the separator of paths. Write another format, such as "
            f"{argument('to', 'edges')}."
        )
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def leaf_lineages(table: NodeTable) -> Iterator[list[int]]:
    """Yield the lineage of every leaf, depth first; without the root, if readers would add it."""
    children = table.children()
    root = int(table.parent.argmin())
    skip = int(table.names[root] == ADDED_ROOT and len(children[root]) > 1)
    lineage: list[int] = []
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        del lineage[depth:]
        lineage.append(node)
        stack.extend((child, depth + 1) for child in reversed(children[node]))
        if not children[node]:
            yield lineage[skip:]
