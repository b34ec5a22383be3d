"""Tree formats by name, and `TreeReading`: how a tree file is read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from hedgerow.errors import FileError, ParameterError, argument, options
from hedgerow.files import extension, is_compressed, is_path, reading, refuse_spreadsheet, require_file
from hedgerow.registry import Registry
from hedgerow.tree.formats import (
    codes,
    darwin_core,
    edges,
    lineages,
    nested,
    newick,
    ontologies,
    paths,
    taxdump,
    taxon_lists,
)
from hedgerow.tree.names import check_root
from hedgerow.tree.validation import NodeTable, Origin, checked_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

_PYTHON_FORMAT = "format='edges'"  # the command has --tree-format for the tree that is read, --to for this one
_COMPRESSED = (".zip", ".bz2", ".xz", ".tar", ".tgz")


@dataclass(frozen=True)
class TreeFormat:
    """A tree format: how it is read and, for some, written."""

    name: str
    """Its name in `--tree-format` and `Hierarchy.read`."""
    read: Callable[..., NodeTable] = field(repr=False)
    """Called with a path and, as keywords, those fields of `TreeReading` that were given; see `takes`."""
    write: Callable[[str | PathLike[str], NodeTable], None] | None = field(default=None, repr=False)
    """Called with a path and the tree; None if the format is only read."""
    extensions: tuple[str, ...] = ()
    """Extensions of this format alone, in lower case."""
    folder_with: str | None = None
    """For a format that is a folder: the file that identifies it."""
    in_memory: bool = False
    """Whether the reader also takes data in memory."""
    tells_apart: bool = False
    """Whether the reader makes shared names distinct."""
    keeps: tuple[str, ...] = ()
    """What is written besides names and parents: some of "rank", "title", "aliases"."""

    @property
    def takes(self) -> list[str]:
        """The fields of `TreeReading` that apply: those that are parameters of `read`."""
        return [field.name for field in fields(TreeReading) if field.name in signature(self.read).parameters]


_EVERYTHING = ("rank", "title", "aliases")
_FORMATS = (
    TreeFormat("edges", edges.read_edges, edges.write_edges, (".csv", ".tsv", ".tab"), in_memory=True),
    TreeFormat("lineages", lineages.read_lineages, lineages.write_lineages, in_memory=True, keeps=("rank",)),
    TreeFormat("paths", paths.read_paths, paths.write_paths, (".txt",), in_memory=True),
    TreeFormat("json", nested.read_json, nested.write_json, (".json",), in_memory=True, keeps=_EVERYTHING),
    TreeFormat("newick", newick.read_newick_file, newick.write_newick, (".nwk", ".newick", ".tree", ".tre")),
    TreeFormat("taxdump", taxdump.read_taxdump, folder_with="nodes.dmp", tells_apart=True),
    TreeFormat("darwin-core", darwin_core.read_darwin_core, tells_apart=True),
    TreeFormat("prefixed", taxon_lists.read_prefixed, in_memory=True, tells_apart=True),
    TreeFormat("qiime2", taxon_lists.read_qiime2, tells_apart=True),
    TreeFormat("fasta", taxon_lists.read_fasta, None, (".fasta", ".fa", ".fas", ".fna"), tells_apart=True),
    TreeFormat("speciesnet", taxon_lists.read_speciesnet, tells_apart=True),
    TreeFormat("codes", codes.read_codes, in_memory=True),
    TreeFormat("obo", ontologies.read_obo, None, (".obo",), tells_apart=True),
    TreeFormat("obographs", ontologies.read_obographs, tells_apart=True),
)


def _checked(name: str, given: Any) -> TreeFormat:
    """Check a format from outside the package, and wrap its reader to check the trees."""
    if not isinstance(given, TreeFormat) or given.name != name:
        raise ParameterError(f"The entry point {name!r} must lead to a TreeFormat of this name.")
    for other in FORMATS.values():
        for taken in set(given.extensions) & set(other.extensions):
            raise ParameterError(f"The extension {taken} already belongs to the tree format {other.name}.")

    @wraps(given.read)
    def read(path: str | PathLike[str], **options: Any) -> NodeTable:
        unpack = "It is compressed: unpack it first."
        with reading(path, name, unpack if is_compressed(path) else "Correct it, or name another format."):
            table = given.read(path, **options)
        return checked_table(table, Origin(os.fspath(path), "position", format=name))

    return replace(given, read=read)


FORMATS: Registry[TreeFormat] = Registry(
    "tree format", {known.name: known for known in _FORMATS}, group="hedgerow.tree", check=_checked
)
"""All tree formats by name; `FORMATS.register(name, format)` and entry points of installed packages add more.

>>> from hedgerow.tree import FORMATS, NodeTable, TreeFormat
>>> def read_flat(path, root="root"):
...     names = [root, *open(path).read().split()]
...     return NodeTable(names, [-1] + [0] * (len(names) - 1))
>>> FORMATS.register("flat", TreeFormat("flat", read_flat, extensions=(".flat",)))
>>> del FORMATS["flat"]
"""


def format_of(path: str | PathLike[str], format: str | None = None) -> TreeFormat:  # noqa: A002
    """Return the format of a tree file: the given one, or that of its extension."""
    if format is not None:
        return FORMATS.find(format)
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
    if suffix in (".npz", ".parquet"):
        raise FileError(
            f"{shown} is a file of scores or features, not a tree. In the command, the tree comes after --tree, "
            f"and the scores come first."
        )
    if suffix in _COMPRESSED:
        raise FileError(f"{shown} is compressed. Unpack it first, and name the tree that was in it.")
    raise FileError(
        f"The extension of {shown} does not determine its tree format. Name the format, such as "
        f"{argument('format', 'edges')}. Known formats: {', '.join(FORMATS.names())}."
    )


def _in_memory(source: Any, format: str | None) -> TreeFormat:  # noqa: A002
    """Return the format of data in memory, which must be named."""
    names = ", ".join(known.name for known in FORMATS.values() if known.in_memory)
    if format is not None and FORMATS.find(format).in_memory:
        return FORMATS.find(format)
    problem = "the format must be named" if format is None else f"{format} is read from files only"
    raise ParameterError(
        f"{type(source).__name__} is not the name of a file, and {problem}. Formats for data in memory: {names}."
    )


def writable(path: str | PathLike[str], format: str | None = None) -> TreeFormat:  # noqa: A002
    """Return the format in which to write a tree: the given one, or that of the extension."""
    names = ", ".join(known.name for known in FORMATS.values() if known.write is not None)
    choices = f"Choose one of {names}: {argument('to', 'edges', python=_PYTHON_FORMAT)}."
    if format is None and not any(extension(path) in known.extensions for known in FORMATS.values()):
        raise ParameterError(
            f"The extension of {os.fspath(path)} does not determine the format to write. {choices}"
        )
    if is_compressed(path):
        raise ParameterError(f"{os.fspath(path)}: trees are not written compressed. Take .gz off the name.")
    found = format_of(path, format)
    if found.write is None:
        raise ParameterError(f"Trees are not written in the format {found.name}, only read. {choices}")
    return found


def require_source(path: str | PathLike[str], tree_format: TreeFormat) -> None:
    """Raise an error unless the file or folder of a tree exists."""
    if tree_format.folder_with is None:
        require_file(path)
    elif not Path(path).is_dir():
        what = "is a file" if Path(path).exists() else "does not exist"
        raise FileError(
            f"{os.fspath(path)} {what}; a tree in the format {tree_format.name} is a folder that contains "
            f"{tree_format.folder_with}. Give the name of that folder."
        )


def _option(default: Any, metavar: str | None, description: str) -> Any:
    """Return a field, with the text that describes it on the command line."""
    return field(default=default, metadata={"metavar": metavar, "help": description})


@final
@dataclass(frozen=True)
class TreeReading:
    """How a tree file is read. Each field is an option of every command that reads a tree.

    >>> TreeReading("lineages", na="NA")  # doctest: +NORMALIZE_WHITESPACE
    TreeReading(format='lineages', root='root', separator=None, disambiguate=False, na=('NA',), prefixes=None,
    parents=None)
    >>> TreeReading("lineages", na="NA").arguments
    ['--tree-format', 'lineages', '--na', 'NA']
    """

    panel: ClassVar[str] = "How the tree is read"

    format: str | None = _option(
        None,
        "FORMAT",
        f"Format of the tree: {', '.join(FORMATS)}. By default the extension decides (.csv, .tsv: edges).",
    )
    root: str = _option(
        "root", "NAME", "Name of the root that is added if several nodes have no parent; not for edge lists."
    )
    separator: str | None = _option(
        None, "TEXT", "What separates the names in a path; by default / or ;, whichever is found."
    )
    disambiguate: bool = _option(
        False, None, "In lineages or paths, call classes that share a name 'parent/name'."
    )
    na: str | Sequence[str] = _option(
        (), "TEXT", "Text that marks a blank cell in lineages, such as NA; may be repeated."
    )
    prefixes: str | Sequence[int] | None = _option(
        None, "A,B,...|dots", "Lengths of the prefixes of codes that are levels, such as 2,4,6; or dots."
    )
    parents: str | None = _option(
        None,
        "first|FILE",
        "In ontologies, which of several parents to keep; FILE has columns term and parent.",
    )

    def __post_init__(self) -> None:
        check_root(self.root)
        object.__setattr__(self, "na", (self.na,) if isinstance(self.na, str) else tuple(self.na))

    @property
    def arguments(self) -> list[str]:
        """The command-line options that read a tree this way."""
        return options(**vars(self))

    def table(self, source: Any) -> NodeTable:
        """Read a tree file, or data in memory."""
        found = format_of(source, self.format) if is_path(source) else _in_memory(source, self.format)
        given = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "format" and getattr(self, field.name) != field.default
        }
        for option, value in given.items():
            if option not in found.takes:
                takers = " and ".join(other.name for other in FORMATS.values() if option in other.takes)
                only = f"does not apply to {found.name}, which have their own root" if option == "root" else ""
                raise ParameterError(
                    f"{argument(option, value)} {only or f'only applies to {takers}'}; "
                    f"{os.fspath(source) if is_path(source) else 'the source'} contains {found.name}."
                )
        if is_path(source):
            require_source(source, found)
        return found.read(source, **given)
