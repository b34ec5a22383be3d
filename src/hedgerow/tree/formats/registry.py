"""The registry of tree formats, and the functions that read and write a tree of any of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import FileError, ParameterError, argument, no_such
from hedgerow.files import extension, is_compressed, reading, refuse_spreadsheet, require_file
from hedgerow.tree.layout import as_positions
from hedgerow.tree.names import as_names, check_names, check_root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from hedgerow.tree.formats.node_table import NodeTable

ENTRY_POINTS = "hedgerow.tree"
"""The group of entry points through which packages offer tree formats."""
OPTIONS = ("root", "separator", "disambiguate", "na", "prefixes")
"""Options of reading that a format may take."""
_UNPACK = "It is compressed: unpack it first."
_CORRECT = "Correct it, or name another format."
_COMPRESSED = (".zip", ".bz2", ".xz", ".tar", ".tgz")


@dataclass(frozen=True)
class TreeFormat:
    """A tree format: how it is read and, for some, written."""

    name: str
    """What `--tree-format` and `Hierarchy.read` call it."""
    read: Callable[..., NodeTable] = field(repr=False)
    """Called with a path, and with those options of `takes` that the user gave, as keywords."""
    write: Callable[[str | PathLike[str], NodeTable], None] | None = field(default=None, repr=False)
    """Called with a path and the tree; None if the format is only read."""
    extensions: tuple[str, ...] = ()
    """Extensions, in lower case, that no other format has."""
    takes: tuple[str, ...] = ()
    """The options of reading that apply: some of "root", "separator", "disambiguate", "na", "prefixes"."""
    folder_with: str | None = None
    """For a format that is a folder: the file by which such a folder is known."""
    tells_apart: bool = False
    """Whether the reader adds something to names that several nodes share."""
    keeps: tuple[str, ...] = ()
    """What is written besides names and parents: some of "rank", "title", "aliases"."""


FORMATS: dict[str, TreeFormat] = {}
"""All tree formats, by name."""


def register(tree_format: TreeFormat) -> None:
    """Add your own tree format: `Hierarchy.read`, the doctor and every `--tree-format` then know it.

    A package can do this without being imported first, through an entry point in the group
    "hedgerow.tree" that leads to a `TreeFormat`.

    >>> from hedgerow import Hierarchy
    >>> from hedgerow.tree import FORMATS, NodeTable, TreeFormat, register
    >>> def read_flat(path, root="root"):
    ...     names = [root, *open(path).read().split()]
    ...     return NodeTable(names, [-1] + [0] * (len(names) - 1))
    >>> register(TreeFormat("flat", read_flat, extensions=(".flat",), takes=("root",)))
    >>> del FORMATS["flat"]
    """
    unknown = [option for option in tree_format.takes if option not in OPTIONS]
    if unknown:
        raise ParameterError(no_such("option of reading", unknown[0], OPTIONS))
    if tree_format.name in FORMATS:
        raise ParameterError(f"A tree format named {tree_format.name!r} already exists. Choose another name.")
    for other in FORMATS.values():
        for taken in set(tree_format.extensions) & set(other.extensions):
            raise ParameterError(f"The extension {taken} already stands for the tree format {other.name}.")
    FORMATS[tree_format.name] = replace(tree_format, read=_checked(tree_format.name, tree_format.read))


def _checked(name: str, read: Callable[..., NodeTable]) -> Callable[..., NodeTable]:
    """Check what a reader from outside returns; the readers of this room check more, and give locations."""

    @wraps(read)
    def checked(path: str | PathLike[str], **options: Any) -> NodeTable:
        with reading(path, name, _UNPACK if is_compressed(path) else _CORRECT):
            table = read(path, **options)
        names = as_names(table.names, "names", len(table.names))
        check_names(names)
        return replace(table, names=names.tolist(), parent=as_positions(table.parent))

    return checked


def find(name: str) -> TreeFormat:
    """Return the tree format with this name."""
    if name not in FORMATS:
        for point in entry_points(group=ENTRY_POINTS, name=name):
            found = point.load()
            if not isinstance(found, TreeFormat) or found.name != name:
                raise ParameterError(f"The entry point {name!r} must lead to a TreeFormat of this name.")
            register(found)
    if name not in FORMATS:
        raise ParameterError(no_such("tree format", name, FORMATS))
    return FORMATS[name]


def format_of(path: str | PathLike[str], format: str | None = None) -> TreeFormat:  # noqa: A002
    """Return the format of a tree: the given one, or else the one that its extension stands for."""
    if format is not None:
        return find(format)
    shown, suffix = os.fspath(path), extension(path)
    is_folder = Path(path).is_dir()
    for known in FORMATS.values():
        if is_folder and known.folder_with is not None and Path(path, known.folder_with).exists():
            return known
        if not is_folder and suffix in known.extensions:
            return known
    if is_folder:
        require_file(path)  # raises an error: a folder is not a file
    refuse_spreadsheet(path)
    if suffix in _COMPRESSED:
        raise FileError(f"{shown} is compressed. Unpack it first, and name the tree that was in it.")
    raise FileError(
        f"The extension of {shown} does not determine its tree format. Name the format, such as "
        f"{argument('format', 'edges')}. Known formats: {', '.join(FORMATS)}."
    )


def writable(path: str | PathLike[str], format: str | None = None) -> TreeFormat:  # noqa: A002
    """Return the format in which a tree is to be written: the given one, or by extension."""
    formats = ", ".join(known.name for known in FORMATS.values() if known.write is not None)
    if format is None and not any(extension(path) in known.extensions for known in FORMATS.values()):
        raise ParameterError(
            f"The extension of {os.fspath(path)} does not determine the format to write. Choose one of {formats}: "
            f"{argument('to', 'edges')}."
        )
    found = format_of(path, format)
    if is_compressed(path):
        raise ParameterError(f"{os.fspath(path)}: trees are not written compressed. Take .gz off the name.")
    if found.write is None:
        raise ParameterError(
            f"Trees are not written in the format {found.name}, only read. Choose one of {formats}: "
            f"{argument('to', 'edges')}."
        )
    return found


def require_source(path: str | PathLike[str], tree_format: TreeFormat) -> None:
    """Raise an error unless the file, or the folder, of a tree exists."""
    if tree_format.folder_with is None:
        require_file(path)
    elif not Path(path).is_dir():
        what = "is a file" if Path(path).exists() else "does not exist"
        raise FileError(
            f"{os.fspath(path)} {what}; a tree in the format {tree_format.name} is a folder that contains "
            f"{tree_format.folder_with}. Give the name of that folder."
        )


def check_options(path: str | PathLike[str], tree_format: TreeFormat, given: dict[str, Any]) -> None:
    """Refuse an option that does not apply to a format."""
    for option, value in given.items():
        if option in tree_format.takes:
            continue
        written = argument(option, value)
        shown = os.fspath(path)
        if option == "root":
            raise ParameterError(
                f"{written} does not apply to {tree_format.name}, which have their own root; {shown} contains "
                f"{tree_format.name}."
            )
        takers = [other.name for other in FORMATS.values() if option in other.takes]
        raise ParameterError(
            f"{written} only applies to {' and '.join(takers)}; {shown} contains {tree_format.name}."
        )


def read_tree(
    path: str | PathLike[str],
    format: str | None = None,  # noqa: A002
    root: str = "root",
    separator: str | None = None,
    disambiguate: bool = False,
    na: str | Sequence[str] = (),
    prefixes: str | Sequence[int] | None = None,
) -> NodeTable:
    """Read a tree of any format; for the parameters, see `Hierarchy.read`."""
    found = format_of(path, format)
    check_root(root)
    listed = (na,) if isinstance(na, str) else tuple(na)
    given: dict[str, Any] = {
        "root": None if root == "root" else root,
        "separator": separator,
        "disambiguate": disambiguate or None,
        "na": listed or None,
        "prefixes": prefixes,
    }
    given = {option: value for option, value in given.items() if value is not None}
    check_options(path, found, given)
    require_source(path, found)
    return found.read(path, **given)


def write_tree(path: str | PathLike[str], table: NodeTable, format: str | None = None) -> str:  # noqa: A002
    """Write a tree; by default, the extension decides the format. Return the name of the format."""
    found = writable(path, format)
    if found.write is not None:
        found.write(path, table)
    return found.name
