"""Labels: files of their own, and the nodes that labels name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.errors import (
    FileError,
    ParameterError,
    ScoreError,
    UnknownNameError,
    argument,
    closest,
    counted,
    some,
)
from hedgerow.files import column_texts, extension, read_lines, reading
from hedgerow.score_files.npz import NpzFile
from hedgerow.score_files.reader import row_name
from hedgerow.score_files.tables import TABLES, own_delimiter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.tree import Hierarchy, Indices


def read_labels(
    path: str | os.PathLike[str], *, label_column: str | None = None, delimiter: str | None = None
) -> list[str]:
    r"""Read a file of labels, whether a tree knows them or not.

    Parameters
    ----------
    path
        A `.txt` file with one label a line, blank lines apart; a `.csv`, `.tsv` or `.parquet` table with a column
        `label`; or an `.npz` file with a member `labels`.
    label_column
        The column, or the member, where it is called otherwise.
    delimiter
        What separates the columns of a `.csv` file, where it is not a comma.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "labels.csv")
    ...     _ = file.write_text("id,label\n1,cat\n2,wolf\n")
    ...     read_labels(file)
    ['cat', 'wolf']
    """
    shown = os.fspath(path)
    suffix = extension(path)
    if suffix == ".txt":
        lines = read_lines(path)
        return [line for line in lines if line.strip()]
    if suffix == ".npz":
        archive = NpzFile(shown)
        member = label_column or "labels"
        if member not in archive.members:
            raise FileError(_absent(shown, "member", member, archive.members))
        return archive.labels(member)
    if suffix not in TABLES:
        raise ParameterError(
            f"{shown}: labels are read from .txt, .npz, {', '.join(TABLES)} files, not from {suffix!r}."
        )
    table = TABLES[suffix](shown, own_delimiter(shown, delimiter))
    column = label_column or "label"
    if column not in table.columns:
        raise FileError(_absent(shown, "column", column, table.columns))
    place = table.columns.index(column)
    labels: list[str] = []
    for _, columns in table.batches(1 << 16, [place], []):
        with reading(shown, "a table"):
            labels += column_texts(columns[place])  # equal texts are one object: a file may repeat a long one
    return labels


def _absent(shown: str, what: str, name: str, there: list[str]) -> str:
    return (
        f"{shown} has no {what} {name!r}, which would hold the labels. Its {what}s: {some(there)}. If one of them "
        f"holds the labels, say {argument('label_column', 'NAME')}."
    )


def label_nodes(hierarchy: Hierarchy, path: str, labels: list[str], rows: Sequence[int]) -> Indices:
    """Return the nodes that labels name, or list some that are not in the tree, with their rows."""
    try:
        return hierarchy.indices(labels)
    except UnknownNameError:
        known = {*hierarchy.names.tolist(), *hierarchy.aliases}
    first: dict[str, int] = {}
    for row, label in zip(rows, labels, strict=True):
        if label not in known:
            first.setdefault(label, row)
    if "" in first:
        raise ScoreError(f"{path}: {row_name(first[''])} has no label. Give it one, or remove the row.")
    shown = ", ".join(f"{name!r} (row {row:,})" for name, row in list(first.items())[:5])
    more = ", ..." if len(first) > 5 else ""
    raise UnknownNameError(
        f"{path}: {counted(len(first), 'label is', 'labels are')} not in the tree: {shown}{more}; rows are "
        f"counted from 0.{closest(list(first)[:5], known)}"
    )
