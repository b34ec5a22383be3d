"""Files on disk: read within bounds, with plain errors, written whole or not at all."""

from hedgerow.files.archive import Archive, Member, Rows, read_arrays, write_arrays, write_blocks
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
from hedgerow.files.documents import (
    Arrays,
    Count,
    Document,
    content_digest,
    described,
    descriptions,
    json_array,
    struct_of,
)
from hedgerow.files.table_files import (
    TABLES,
    CsvTable,
    InputFile,
    ParquetTable,
    Table,
    column_texts,
    is_number,
    row_name,
)
from hedgerow.files.text import (
    csv_rows,
    decode,
    delimiter_of,
    digest,
    extension,
    find_delimiter,
    is_compressed,
    is_path,
    is_pattern,
    is_remote,
    line_of,
    naming,
    open_binary,
    open_text,
    printable,
    read_bytes,
    read_json,
    read_lines,
    read_text,
    read_toml,
    reading,
    refuse_spreadsheet,
    require_file,
    stem,
)
