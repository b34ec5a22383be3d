"""Tables whose columns have names: pandas, Polars, Arrow, xarray, dictionaries, structured arrays.

Scores are matched to classes by name, never by the order of the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_array_api_obj

from hedgerow.errors import ParameterError, UnknownNameError, closest, itemised

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    if hasattr(table, "column_names") and hasattr(table, "column"):  # Arrow
        columns = (table.column(i) for i in range(len(table.column_names)))
        return _side_by_side(table.column_names, columns)
    if hasattr(table, "dims") and hasattr(table, "coords"):  # xarray
        if hasattr(table, "data_vars"):
            raise ParameterError("An xarray Dataset holds several arrays: pass the one with the scores.")
        last = table.dims[-1]
        return np.asarray(table), _names(table.coords[last].values) if last in table.coords else None
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):  # pandas, Polars
        return _numbers(table), _names(table.columns)
    if hasattr(table, "index") and hasattr(table, "to_numpy"):  # a row of a pandas table
        return table.to_numpy(), _names(table.index)
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        return split_names(pa.table(table))
    if hasattr(table, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return split_names(from_dataframe(table))
    return table, None


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


def places(hierarchy: Hierarchy, names: list[str], nodes: Indices, what: str) -> NDArray[np.int64]:
    """Return the column of each of some nodes; columns must be exactly these."""
    names = hierarchy.canonical(names)
    wanted = hierarchy.names[nodes].tolist()
    column = {name: i for i, name in enumerate(names)}
    if len(column) == len(names) and column.keys() == set(wanted):
        return np.fromiter(map(column.__getitem__, wanted), dtype=np.int64, count=len(wanted))
    known = set(wanted)
    unknown = [name for name in column if name not in known]
    said = itemised(
        ([name for name, count in Counter(names).items() if count > 1], "repeated"),
        ([name for name in wanted if name not in column], "missing"),
        (unknown, f"not {what} of the tree"),
    )
    raise UnknownNameError(
        f"Columns must be the {len(wanted):,} {what}, each once: {said}."
        f"{_advice(hierarchy, names, nodes) or closest(unknown[:3], wanted)}"
    )


def _advice(hierarchy: Hierarchy, names: list[str], nodes: Indices) -> str:
    """Say what to do with columns that are exactly the leaves, or all nodes, where others are wanted."""
    found = sorted(names)
    if len(nodes) >= len(hierarchy) - 1 and found == sorted(hierarchy.names[hierarchy.leaves]):
        return (
            " These are the leaves: likelihood.from_leaves(hierarchy, table) sums their probabilities up the tree."
        )
    if len(nodes) == len(hierarchy.leaves) and found in (sorted(hierarchy.names), sorted(hierarchy.names[1:])):
        return " These are all nodes: if they are likelihoods, they can be used as they are."
    return ""
