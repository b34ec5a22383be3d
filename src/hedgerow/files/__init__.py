"""Files on disk: read whole, with clear errors, and written whole or not at all.

In come paths given by a user; out go text, bytes and files that are never half-written. Nothing here knows what
the files contain. The next room is `arrays`.
"""

from hedgerow.files.atomic import atomic_write, is_special, make_folder, try_file, try_folder
from hedgerow.files.text import (
    decode,
    delimiter_of,
    is_path,
    is_pattern,
    is_remote,
    line_of,
    read_bytes,
    read_header,
    read_text,
    require_file,
)

__all__ = [
    "atomic_write",
    "decode",
    "delimiter_of",
    "is_path",
    "is_pattern",
    "is_remote",
    "is_special",
    "line_of",
    "make_folder",
    "read_bytes",
    "read_header",
    "read_text",
    "require_file",
    "try_file",
    "try_folder",
]
