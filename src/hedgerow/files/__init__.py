"""Files on disk: read within bounds, with plain errors, written whole or not at all.

In come paths given by a user, and files that anyone may have written; out go text, arrays, values that were
checked, and files that are never half-written. Nothing here knows what the files mean. The next room is `arrays`.
"""

from hedgerow.files import schema
from hedgerow.files.archive import Archive, Member, Rows, read_arrays, write_arrays
from hedgerow.files.atomic import (
    atomic_write,
    clear_leftovers,
    is_special,
    make_folder,
    temporary,
    try_file,
    try_folder,
    write_json,
)
from hedgerow.files.parquet import column_texts, open_parquet
from hedgerow.files.reading import digest, printable, read_json, read_toml, reading
from hedgerow.files.text import (
    decode,
    delimiter_of,
    extension,
    is_compressed,
    is_path,
    is_pattern,
    is_remote,
    line_of,
    open_binary,
    open_text,
    read_bytes,
    read_header,
    read_lines,
    read_text,
    refuse_sep_line,
    refuse_spreadsheet,
    require_file,
    stem,
)

__all__ = [
    "Archive",
    "Member",
    "Rows",
    "atomic_write",
    "clear_leftovers",
    "column_texts",
    "decode",
    "delimiter_of",
    "digest",
    "extension",
    "is_compressed",
    "is_path",
    "is_pattern",
    "is_remote",
    "is_special",
    "line_of",
    "make_folder",
    "open_binary",
    "open_parquet",
    "open_text",
    "printable",
    "read_arrays",
    "read_bytes",
    "read_header",
    "read_json",
    "read_lines",
    "read_text",
    "read_toml",
    "reading",
    "refuse_sep_line",
    "refuse_spreadsheet",
    "require_file",
    "schema",
    "stem",
    "temporary",
    "try_file",
    "try_folder",
    "write_arrays",
    "write_json",
]
