"""The formats of score files: what each is called, how it is recognised, and what reads it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from hedgerow.errors import HedgerowError, ParameterError, argument, no_such
from hedgerow.files import extension, open_text, refuse_spreadsheet, require_file
from hedgerow.score_files import lineage, long, pybioclip, qiime2, rdp, sintax, speciesnet
from hedgerow.score_files.npz import NpzFile
from hedgerow.score_files.reader import PER_EXAMPLE
from hedgerow.score_files.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.score_files.listed import ListReader
    from hedgerow.score_files.score_tables import ColumnNames
    from hedgerow.tree import SingleChild

AUTO, WIDE = "auto", "wide"
_CHARACTERS = 1 << 14  # to judge a file by


@final
@dataclass(frozen=True)
class Glance:
    """What a file shows at first sight."""

    suffix: str
    """The extension, in lower case."""
    lines: tuple[str, ...] = ()
    """The first lines, if it is text."""
    columns: tuple[str, ...] = ()
    """The names of the columns, if it is a table by its extension."""


@final
@dataclass(frozen=True)
class ScoreFormat:
    """A format of files that list a few classes for each example."""

    open: Callable[[str, ColumnNames, str | None], ListReader]
    """From a path, the names of columns and the delimiter to a reader."""
    recognise: Callable[[Glance], bool]
    """Whether a file is in this format, beyond doubt."""
    single_child: SingleChild = "answer"
    """What a node with one child is to those who use the format; see `open_scores`."""


def _is_long(glance: Glance) -> bool:
    found = set(glance.columns)
    return {"id", *long.COLUMNS} <= found <= {"id", *long.COLUMNS, *PER_EXAMPLE.values()}


def _is_speciesnet(glance: Glance) -> bool:
    start = "".join(glance.lines)[:200].replace(" ", "")
    return glance.suffix == ".json" and start.startswith('{"predictions":')


FORMATS: dict[str, ScoreFormat] = {
    "long": ScoreFormat(long.LongReader, _is_long, single_child="skip"),
    "lineage": ScoreFormat(
        lineage.LineageReader,
        lambda glance: "id" in glance.columns and bool(lineage.rank_columns(glance.columns)),
        single_child="skip",
    ),
    "sintax": ScoreFormat(
        lambda path, _names, _delimiter: sintax.SintaxReader(path),
        lambda glance: sintax.looks_like_sintax(glance.lines),
    ),
    "rdp": ScoreFormat(
        lambda path, _names, _delimiter: rdp.RdpReader(path), lambda glance: rdp.looks_like_rdp(glance.lines)
    ),
    "qiime2": ScoreFormat(
        lambda path, _names, delimiter: qiime2.Qiime2Reader(path, delimiter),
        lambda glance: bool(glance.lines) and glance.lines[0].startswith("\t".join(qiime2.COLUMNS)),
    ),
    "speciesnet": ScoreFormat(lambda path, _names, _delimiter: speciesnet.SpeciesnetReader(path), _is_speciesnet),
    "pybioclip": ScoreFormat(
        lambda path, _names, delimiter: pybioclip.PybioclipReader(path, delimiter),
        lambda glance: pybioclip.looks_like_pybioclip(glance.columns),
    ),
}
"""Formats of files that list a few classes for each example, by name. A wide table or archive is "wide"."""


def find_format(path: str, wanted: str = AUTO, delimiter: str | None = None) -> str:
    """Return the format of a score file: the wanted one, or what the file is beyond doubt.

    Tables in no other format are wide. A file of another kind must be recognised, or its format be named.
    """
    if wanted != AUTO:
        if wanted not in (WIDE, *FORMATS):
            raise ParameterError(no_such("score format", wanted, (AUTO, WIDE, *FORMATS)))
        return wanted
    require_file(path)
    if extension(path) == ".npz":
        return WIDE
    glance = _glance(path, delimiter)
    found = [name for name, known in FORMATS.items() if known.recognise(glance)]
    if len(found) == 1:
        return found[0]
    if not found and glance.suffix in TABLES:
        return WIDE
    refuse_spreadsheet(path)
    what = f"may be {' or '.join(found)}" if found else "cannot be told from its name and first lines"
    raise ParameterError(
        f"{path}: the format {what}. Say which it is, such as {argument('scores_format', 'sintax')}; there are "
        f"{', '.join((WIDE, *FORMATS))}. A wide file is .npz, {', '.join(TABLES)}."
    )


def column_names(path: str, delimiter: str | None = None) -> list[str]:
    """Return the names of a table's columns, or of an archive's members; none of any other file."""
    suffix = extension(path)
    with suppress(HedgerowError):  # whoever reads the file says what is wrong with it
        if suffix in TABLES:
            return TABLES[suffix](path, delimiter).columns
        if suffix == ".npz":
            return NpzFile(path).members
    return []


def _glance(path: str, delimiter: str | None) -> Glance:
    suffix = extension(path)
    columns = column_names(path, delimiter)
    if suffix == ".parquet":
        return Glance(suffix, columns=tuple(columns))
    try:
        with open_text(path) as file:
            start = file.read(_CHARACTERS)
    except UnicodeDecodeError:
        start = ""
    lines = start.split("\n")
    whole = lines[:-1] if len(start) == _CHARACTERS and len(lines) > 1 else lines
    return Glance(suffix, tuple(filter(None, whole)), tuple(columns))
