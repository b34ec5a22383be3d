"""Classes that name their parents by id: large tables read by Arrow, names told apart, cycles explained."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, HedgerowError, counted, some
from hedgerow.files import open_binary
from hedgerow.tree.formats.edge_problems import cycles
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.problems import (
    Origin,
    Problem,
    control_character,
    no_edges,
    refuse,
    require_edges,
    root_taken,
)
from hedgerow.tree.layout import follow
from hedgerow.tree.names import Aliases, with_control

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hedgerow.tree.layout import Indices

_TOP = -1


def arrow() -> Any:
    """Return pyarrow, with its CSV reader and its functions."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
    except ImportError:
        raise ImportError("This tree format needs pyarrow, which is not installed: pip install pyarrow") from None
    return pyarrow


def read_columns(
    path: str,
    columns: dict[int, Any],
    delimiter: str,
    explain: Callable[[], str | None],
    *,
    quote: bool = False,
    skip: int = 0,
) -> list[Any]:
    """Read some columns of a table whole.

    Parameters
    ----------
    path
        The file.
    columns
        The Arrow type of each column that is wanted, by its number.
    delimiter, quote
        What separates columns, and whether they may be quoted.
    explain
        Called if Arrow cannot read the file; finds what is wrong, and where.
    skip
        The number of lines to skip.
    """
    pa = arrow()
    types = {f"f{number}": kind for number, kind in columns.items()}
    try:
        with open_binary(path) as file:
            table = pa.csv.read_csv(
                file,
                pa.csv.ReadOptions(autogenerate_column_names=True, skip_rows=skip),
                pa.csv.ParseOptions(
                    delimiter=delimiter, quote_char='"' if quote else False, newlines_in_values=quote
                ),
                pa.csv.ConvertOptions(column_types=types, include_columns=list(types)),
            )
    except HedgerowError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(explain() or f"{path} cannot be read as a table: {why[:200]!r}.") from None
    found = [column.combine_chunks() for column in table.columns]
    if any(column.null_count for column in found):
        raise FileError(explain() or f"{path} has an empty cell where a number should be.")
    return found


def texts(array: Any) -> list[str]:
    """Return an Arrow array of text as a list; through NumPy, which is faster than Arrow's own way."""
    listed: list[str] = array.to_numpy(zero_copy_only=False).tolist()
    return listed


def few_texts(array: Any) -> list[str]:
    """Return an Arrow array of text as a list in which equal texts are one object: for ranks."""
    coded = array.dictionary_encode()
    distinct = np.array(coded.dictionary.to_pylist() or [""], dtype=object)
    listed: list[str] = distinct[coded.indices.to_numpy(zero_copy_only=False)].tolist()
    return listed


def assemble(
    names: Any,
    ids: Sequence[Any] | NDArray[Any],
    parent: Indices,
    lines: Indices,
    origin: Origin,
    *,
    rank: list[str] | None = None,
    title: list[str] | None = None,
    aliases: tuple[list[str], Indices],
    root: str | None = None,
) -> NodeTable:
    """Make a tree of classes that have ids, or refuse it with its problems.

    Parameters
    ----------
    names
        [nodes] names, an Arrow array; those that several nodes share become "name [id]".
    ids
        [nodes] ids.
    parent
        [nodes] position of each parent, -1 for tops.
    lines
        [nodes] where each class stands in the file.
    origin
        The file.
    rank, title
        As in `NodeTable`.
    aliases
        Other names, and their nodes. Names that become "name [id]" are added.
    root
        Name of the root to add if there are several tops; None if several tops are an error.
    """
    if not len(parent):
        refuse([no_edges(origin)], origin)
    listed, twins = _told_apart(names, ids)
    known = aliases[0] + [name for name, _ in twins]
    nodes = np.concatenate([aliases[1], np.array([node for _, node in twins], dtype=np.int64)])
    taken = set(listed)
    problems = _name_problems(listed, len(taken), lines, origin)
    tops = np.flatnonzero(parent == _TOP)
    end = follow(np.where(parent == _TOP, np.arange(len(parent)), parent))
    lost = np.flatnonzero(parent[end] != _TOP)  # on a cycle, or below one
    if lost.size and not problems:
        above = parent[lost].tolist()
        edges = {
            listed[node]: [(int(lines[node]), listed[other])]
            for node, other in zip(lost.tolist(), above, strict=True)
        }
        problems += cycles(edges, origin)
    if root is None and len(tops) > 1:
        problems.append(
            Problem(
                "several roots",
                f"{origin.subject} has {len(tops):,} roots: {some(listed[top] for top in tops.tolist())}.",
                "A tree has one root: give the others a parent.",
            )
        )
    if root is not None and len(tops) > 1:
        if root in taken:
            where = origin.at(int(lines[listed.index(root)]))
            problems.append(root_taken(root, f"There are {len(tops):,} top nodes", where))
        listed, parent = [root, *listed], np.concatenate([[_TOP], parent + 1])
        rank = None if rank is None else ["", *rank]
        title = None if title is None else ["", *title]
        nodes += 1
    if problems:
        refuse(problems, origin)
    return require_edges(NodeTable(listed, parent, rank, title, Aliases(known, nodes) or None), origin)


def _told_apart(names: Any, ids: Sequence[Any] | NDArray[Any]) -> tuple[list[str], list[tuple[str, int]]]:
    """Return distinct names; and the names that several nodes share, with each of these nodes."""
    coded = names.dictionary_encode()
    code = coded.indices.to_numpy(zero_copy_only=False)
    listed = texts(names)
    twins = [(listed[node], node) for node in np.flatnonzero(np.bincount(code)[code] > 1).tolist()]
    for name, node in twins:
        listed[node] = f"{name} [{ids[node]}]"
    return listed, twins


def _name_problems(names: list[str], distinct: int, lines: Indices, origin: Origin) -> list[Problem]:
    problems = []
    blank = [node for node, name in enumerate(names) if not name or name.isspace()]
    if blank:
        places = origin.at(*lines[blank[:5]].tolist())
        problems.append(
            Problem(
                "empty name",
                f"{counted(len(blank), 'class has', 'classes have')} no name ({places}).",
                "Every class needs a name: fill it in, or delete the line.",
            )
        )
    flawed = set(with_control(names))
    if flawed:
        problems += [
            control_character(names[node], origin.at(int(lines[node])))
            for node in islice((node for node, name in enumerate(names) if name in flawed), 1_000)
        ]
    if not blank and distinct < len(names):
        seen: set[str] = set()
        again = [node for node, name in enumerate(names) if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        problems.append(
            Problem(
                "duplicate name",
                f"Several classes have the name {names[again[0]]!r} ({origin.at(int(lines[again[0]]))}).",
                "Names must be distinct: rename all but one.",
            )
        )
    return problems
