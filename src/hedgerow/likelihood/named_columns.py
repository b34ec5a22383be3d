"""Tables with column names: pandas, Polars, Arrow, xarray, or anything that supports the dataframe protocol.

Scores are matched to classes by name, never by the order of the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnknownNameError, closest, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def split_names(table: Any) -> tuple[Any, list[str] | None]:
    """Return the values of a table and its column names; without column names, the input itself and None.

    A DataFrame with pandas' default column numbers has no names.

    >>> import pandas as pd
    >>> split_names(pd.DataFrame({"cat": [0.25], "dog": [0.75]}))
    (array([[0.25, 0.75]]), ['cat', 'dog'])
    """
    if hasattr(table, "column_names") and hasattr(table, "column"):  # Arrow
        values = [np.asarray(table.column(i)) for i in range(len(table.column_names))]
        return np.stack(values, axis=1), list(map(str, table.column_names))
    if hasattr(table, "dims") and hasattr(table, "coords"):  # xarray
        last = table.dims[-1]
        return np.asarray(table), list(map(str, table.coords[last].values)) if last in table.coords else None
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):  # pandas, Polars
        numbered = type(table.columns).__name__ == "RangeIndex"
        return table.to_numpy(), None if numbered else list(map(str, table.columns))
    if hasattr(table, "__dataframe__"):
        import pandas as pd

        return split_names(pd.api.interchange.from_dataframe(table))
    return table, None


def places(names: Sequence[str], wanted: Sequence[str], what: str) -> NDArray[np.int64]:
    """Return the position of each wanted name among the names, which must be exactly the wanted ones."""
    column = {name: i for i, name in enumerate(names)}
    if len(column) == len(names) and column.keys() == set(wanted):
        return np.fromiter(map(column.__getitem__, wanted), dtype=np.int64, count=len(wanted))
    known = set(wanted)
    unknown = [name for name in column if name not in known]
    problems = (
        ([name for name in column if list(names).count(name) > 1] if len(column) < len(names) else [], "repeated"),
        ([name for name in wanted if name not in column], "missing"),
        (unknown, f"not {what} of the tree"),
    )
    said = "; ".join(f"{len(which):,} {trouble} ({some(which)})" for which, trouble in problems if which)
    raise UnknownNameError(
        f"Columns must be the {len(wanted):,} {what}, each once: {said}.{closest(unknown[:3], wanted)}"
    )
