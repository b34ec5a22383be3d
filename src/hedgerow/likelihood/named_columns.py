"""Tables whose columns have names: pandas, Polars, Arrow, xarray, dictionaries, structured arrays; and their fit.

Scores are matched to classes by name, never by the order of the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from array_api_compat import is_array_api_obj

from hedgerow.errors import ParameterError, UnknownNameError, closest, itemised, some

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree import Hierarchy, Indices


def split_names(table: Any) -> tuple[Any, list[str] | None]:
    """Return the values of a table and its column names; without column names, the input itself and None.

    A DataFrame with pandas' default numbers for columns has no names; numbers in any other order are names.

    >>> import pandas as pd
    >>> split_names(pd.DataFrame({"cat": [0.25], "dog": [0.75]}))
    (array([[0.25, 0.75]]), ['cat', 'dog'])
    """
    if isinstance(table, np.ndarray) and table.dtype.names is not None:
        return _side_by_side(table.dtype.names, (table[name] for name in table.dtype.names))
    if is_array_api_obj(table):
        return table, None
    if isinstance(table, Mapping):
        return _side_by_side(table, table.values())
    if hasattr(table, "dims") and hasattr(table, "coords"):  # xarray
        if hasattr(table, "data_vars"):
            raise ParameterError("An xarray Dataset holds several arrays: pass the one with the scores.")
        last = table.dims[-1]
        return np.asarray(table), _names(table.coords[last].values) if last in table.coords else None
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):  # pandas, Polars
        return _numbers(table), _names(table.columns)
    if hasattr(table, "index") and hasattr(table, "to_numpy"):  # a row of a pandas table
        return table.to_numpy(), _names(table.index)
    if hasattr(table, "__arrow_c_stream__"):  # Arrow, and libraries that support its protocol
        import pyarrow as pa

        arrow = pa.table(table)
        return _side_by_side(arrow.column_names, arrow.columns)
    return table, None


def column_names(table: Any, classes: ArrayLike | None = None) -> tuple[Any, list[str] | None]:
    """Return values and their column names, from the table or as given; the two must agree."""
    values, names = split_names(table)
    if classes is None:
        return values, names
    given = [str(name) for name in np.asarray(classes, dtype=object).ravel().tolist()]
    if names is not None and names != given:
        raise ParameterError(
            "The column names of the table differ from classes: leave out classes, or pass a plain array."
        )
    return values, given


def _side_by_side(names: Iterable[Any], columns: Iterable[Any]) -> tuple[NDArray[Any], list[str] | None]:
    listed = [np.asarray(column) for column in columns]
    return np.stack(listed, axis=-1) if listed else np.empty((0, 0)), _names(names)


def _numbers(table: Any) -> NDArray[Any]:
    """Return the values of a pandas or Polars table; those of pandas' nullable types as floats."""
    values: NDArray[Any] = table.to_numpy()
    if values.dtype == object and all(getattr(dtype, "kind", "O") in "fiub" for dtype in table.dtypes):
        values = table.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _names(columns: Any) -> list[str] | None:
    """Return the names of columns as text; None for pandas' default numbers."""
    if type(columns).__name__ == "RangeIndex" and (columns.start, columns.step) == (0, 1):
        return None
    listed = list(columns)
    if any(isinstance(name, tuple) for name in listed):
        raise UnknownNameError(
            f"Columns need one name each; these have several, such as {listed[0]!r}. Keep the level with the "
            f"names of nodes: table.columns = table.columns.get_level_values(-1)."
        )
    return [str(name) for name in listed]


# Columns bound to nodes -----------------------------------------------------------------------------------------

ColumnKind = Literal["leaves", "nodes", "own"]
"""What columns are: the leaves, all nodes (their likelihoods), or classes at any depth (the mass of each)."""


@final
@dataclass(frozen=True, eq=False)
class ColumnFit:
    """How columns fit the nodes of a tree, by name alone. Use `ColumnFit.of` or `ColumnFit.own`."""

    columns: int
    """Number of columns."""
    kind: ColumnKind | None
    """What the columns are; None if they fit neither the leaves nor all nodes."""
    place: Indices
    """The column of each leaf, or of each node; without a column for the root, of each node below it.

    For classes at any depth, the column of each node. The number of columns stands for a node that has none.
    """
    taken_as: ColumnKind
    """What they are, or what they seem to be."""
    repeated: list[str]
    missing: list[str]
    extra: list[str]
    inside: list[str] = field(default_factory=list)
    """Names that were declared to be outside the tree, and are in it."""
    ignored: str = ""
    """What was done with columns that are no class, if there were any."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, names: Sequence[str], *, leaves: bool = True) -> ColumnFit:
        """Compare columns with the leaves, if they can be leaves, and with all nodes; the root is optional.

        Some of the leaves are enough; they are all that is possible, so that rows must sum to 1.
        """
        names = _known(hierarchy, names)
        nodes, tips = hierarchy.names.tolist(), hierarchy.names[hierarchy.leaves].tolist()
        column = {name: i for i, name in enumerate(names)}
        kinds: list[tuple[ColumnKind, list[str]]] = [("leaves", tips)] if leaves else []
        for kind, wanted in (*kinds, ("nodes", nodes), ("nodes", nodes[1:])):
            if (place := _positions(names, column, wanted)) is not None:
                return cls(len(names), kind, place, kind, [], [], [])
        # Columns that name an inner node are meant to be all nodes; otherwise leaves are expected.
        as_nodes = not leaves or bool(column.keys() & (set(nodes) - set(tips)))
        wanted = nodes[1:] if as_nodes else tips
        known = {*wanted, nodes[0]} if as_nodes else set(wanted)
        repeated, extra = _repeated(names), [name for name in column if name not in known]
        some_leaves = bool(names) and not (as_nodes or repeated or extra)
        return cls(
            columns=len(names),
            kind="leaves" if some_leaves else None,
            place=np.array([column.get(name, len(names)) for name in wanted if some_leaves], dtype=np.int64),
            taken_as="nodes" if as_nodes else "leaves",
            repeated=repeated,
            missing=[name for name in wanted if name not in column],
            extra=extra,
        )

    @classmethod
    def own(cls, hierarchy: Hierarchy, names: Sequence[str], outside: Collection[str] = ()) -> ColumnFit:
        """Compare columns with classes at any depth; those outside the tree must be declared."""
        names, elsewhere = _known(hierarchy, names), {outside} if isinstance(outside, str) else set(outside)
        repeated = _repeated(names)
        extra = [name for name in dict.fromkeys(names) if name not in hierarchy and name not in elsewhere]
        inside = [name for name in sorted(elsewhere) if name in hierarchy]
        place = np.full(len(hierarchy), len(names))
        bound = [column for column, name in enumerate(names) if name in hierarchy]
        place[hierarchy.indices([names[column] for column in bound])] = bound
        kind: ColumnKind | None = None if repeated or extra or inside else "own"
        return cls(len(names), kind, place, "own", repeated, [], extra, inside)

    @property
    def notice(self) -> str:
        """What is assumed of leaves without a column, or of columns that are no class; '' without such."""
        if self.kind != "leaves" or not self.missing:
            return self.ignored
        have = "leaf has no column, and so" if len(self.missing) == 1 else "leaves have no column, and so"
        return f"{len(self.missing):,} {have} probability 0: {some(self.missing)}."

    @property
    def problems(self) -> str:
        """What does not fit, with some of the names."""
        return itemised(
            (self.repeated, "repeated"),
            (self.missing, "missing"),
            (self.extra, "not in the tree" if self.taken_as == "own" else "extra"),
            (self.inside, "declared outside, but in the tree"),
        )


def _known(hierarchy: Hierarchy, names: Sequence[str]) -> list[str]:
    """Return the names of the nodes that columns mean: aliases, and blanks around names, do not matter."""
    return hierarchy.canonical(name if name in hierarchy else name.strip() for name in names)


def places(hierarchy: Hierarchy, names: list[str], nodes: Indices, what: str) -> Indices:
    """Return the column of each of some nodes; columns must be exactly these."""
    names = _known(hierarchy, names)
    wanted = hierarchy.names[nodes].tolist()
    column = {name: i for i, name in enumerate(names)}
    if (place := _positions(names, column, wanted)) is not None:
        return place
    known = set(wanted)
    unknown = [name for name in column if name not in known]
    said = itemised(
        (_repeated(names), "repeated"),
        ([name for name in wanted if name not in column], "missing"),
        (unknown, f"not {what} of the tree"),
    )
    raise UnknownNameError(
        f"Columns must be the {len(wanted):,} {what}, each once: {said}."
        f"{_advice(hierarchy, names, nodes) or closest(unknown[:3], wanted)}"
    )


def _positions(names: Sequence[str], column: Mapping[str, int], wanted: list[str]) -> Indices | None:
    """Return the column of each wanted name; None if the columns are not exactly these."""
    if len(names) != len(wanted) or column.keys() != set(wanted):
        return None
    return np.fromiter(map(column.__getitem__, wanted), dtype=np.int64, count=len(wanted))


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _advice(hierarchy: Hierarchy, names: list[str], nodes: Indices) -> str:
    """Return advice on columns that are nodes, but not those that are expected."""
    found = sorted(names)
    if len(nodes) >= len(hierarchy) - 1 and found == sorted(hierarchy.names[hierarchy.leaves]):
        return (
            " These are the leaves: likelihood.from_leaves(hierarchy, table) sums their probabilities up the tree."
        )
    if len(nodes) == len(hierarchy.leaves) and found in (sorted(hierarchy.names), sorted(hierarchy.names[1:])):
        return " These are all nodes: if they are likelihoods, use them directly."
    if names and not _repeated(names) and all(name in hierarchy for name in names):
        return " If each column is the probability of its class itself, use likelihood.from_columns."
    return ""
