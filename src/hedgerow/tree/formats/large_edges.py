"""Large edge lists: Arrow splits the lines and finds each parent among the children, faster than Python would."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from hedgerow.tree.layout import Indices


class Family(NamedTuple):
    """Children and their parents, by number."""

    children: list[str]
    parent: Indices
    """Position of each child's parent among the children, counted from 1; 0 if the parent is one of `tops`."""
    tops: list[str]
    """Parents that are not children themselves."""


def read_large(data: bytes, delimiter: str, *, header: bool) -> Family | None:
    """Read a file of pairs.

    Returns None if the csv module has to read it: because of quotes, lines that are not pairs, bytes that are not
    UTF-8 or a repeated child, or because Arrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv
    except ImportError:
        return None
    if b'"' in data:
        return None
    try:
        table = csv.read_csv(
            pa.py_buffer(data),
            csv.ReadOptions(column_names=["parent", "child"], skip_rows=int(header)),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(column_types={"parent": pa.string(), "child": pa.string()}),
        )
    except pa.ArrowInvalid:
        return None
    parents, children = table.columns
    if pc.count_distinct(children).as_py() < len(children):
        return None
    place = pc.index_in(parents, value_set=children)
    tops = parents.filter(place.is_null()).unique().to_pylist()
    # Through NumPy, because to_pylist first makes an Arrow object for every name.
    return Family(children.to_numpy().tolist(), place.fill_null(-1).to_numpy().astype(np.int64) + 1, tops)
