"""Parquet files that anyone may have written, opened within bounds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import FileError
from hedgerow.files.reading import reading
from hedgerow.files.text import most_rows, require_file, require_unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHOLE = (1 << 24, 12)  # values read as a whole: so many, and so many for each byte of the file


def open_parquet(
    path: str | os.PathLike[str], *, texts: Sequence[str] = (), whole: bool = False, **options: Any
) -> Any:
    """Open a Parquet file with Arrow.

    A few bytes can stand for any number of equal rows, so the number of rows is compared with the size of the file
    before anything is read.

    Parameters
    ----------
    path
        The file.
    texts
        Columns of text, if they are there, whose equal entries are kept only once; see `column_texts`.
    whole
        Whether it will be read as a whole; the number of its values is then compared with its size as well.
    options
        Options of `pyarrow.parquet.ParquetFile`.
    """
    require_file(path)
    require_unpacked(path)
    size = Path(path).stat().st_size
    with reading(path, "Parquet"):
        from pyarrow import parquet

        about = parquet.read_metadata(path)
        rows = about.num_rows
        values = sum(
            about.row_group(group).column(column).num_values
            for group in range(about.num_row_groups)
            for column in range(about.num_columns)
        )
        there = {about.schema.column(column).path for column in range(about.num_columns)}
    if rows < 0 or rows > most_rows(size) or (whole and values > _WHOLE[0] + _WHOLE[1] * size):
        raise FileError(
            f"{os.fspath(path)} has {rows:,} rows and {values:,} values, too many for a file of {size:,} bytes. "
            f"If it is what you want, write it in parts."
        )
    with reading(path, "Parquet"):
        return parquet.ParquetFile(path, read_dictionary=[name for name in texts if name in there], **options)


def column_texts(values: Any) -> list[str]:
    """Return an Arrow array, or a column in chunks, as text; nothing becomes ''. Equal entries are one object."""
    chunks = values.chunks if hasattr(values, "chunks") else [values]
    texts: list[str] = []
    for chunk in chunks:
        if hasattr(chunk, "dictionary"):
            known = _plain(chunk.dictionary)
            texts += ["" if place is None else known[place] for place in chunk.indices.to_pylist()]
        else:
            texts += _plain(chunk)
    return texts


def _plain(values: Any) -> list[str]:
    import pyarrow as pa

    if pa.types.is_string(values.type):
        return list(values.fill_null("").to_pylist())
    return ["" if value is None else str(value) for value in values.to_pylist()]
