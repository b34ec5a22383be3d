"""The formats of score files: what each is called, how it is recognised, and what reads it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import HedgerowError, ParameterError, argument
from hedgerow.files import TABLES, Archive, extension, open_text, refuse_spreadsheet, require_file
from hedgerow.registry import Registry
from hedgerow.score_files import lineage_tables, long_tables, pybioclip, qiime2, rdp, sintax, speciesnet
from hedgerow.score_files.score_reading import PER_EXAMPLE, ScoreReading
from hedgerow.score_files.wide_files import open_wide
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.score_files.raw_blocks import ScoreReader

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
    """A format of score files. To add your own, see `FORMATS`."""

    open: Callable[[str, ScoreReading, frozenset[str]], ScoreReader]
    """From a path, how to read it, and the keys of columns that a file of labels has, to a reader."""
    recognise: Callable[[Glance], bool] = lambda _: False
    """Whether a file is in this format, beyond doubt."""
    settings: Settings = field(default_factory=lambda: Settings(single_child="answer"))
    """What those who use the format expect, unless told otherwise."""


def _is_long(glance: Glance) -> bool:
    found = set(glance.columns)
    return {"id", *long_tables.COLUMNS} <= found <= {"id", *long_tables.COLUMNS, *PER_EXAMPLE.values()}


def _is_speciesnet(glance: Glance) -> bool:
    start = "".join(glance.lines)[:200].replace(" ", "")
    return glance.suffix == ".json" and start.startswith('{"predictions":')


def _checked(name: str, given: Any) -> ScoreFormat:
    if not isinstance(given, ScoreFormat):
        raise ParameterError(f"The score format {name!r} must be a score_files.ScoreFormat, not {given!r}.")
    return given


FORMATS: Registry[ScoreFormat] = Registry(
    "score format",
    {
        WIDE: ScoreFormat(
            lambda path, how, elsewhere: open_wide(path, how, elsewhere=elsewhere), settings=Settings()
        ),
        "long": ScoreFormat(long_tables.LongReader, _is_long, Settings()),
        "lineage": ScoreFormat(
            lineage_tables.LineageReader,
            lambda glance: "id" in glance.columns and bool(lineage_tables.rank_columns(glance.columns)),
            Settings(),
        ),
        "sintax": ScoreFormat(
            lambda path, *_: sintax.SintaxReader(path), lambda glance: sintax.looks_like_sintax(glance.lines)
        ),
        "rdp": ScoreFormat(lambda path, *_: rdp.RdpReader(path), lambda glance: rdp.looks_like_rdp(glance.lines)),
        "qiime2": ScoreFormat(
            lambda path, how, _: qiime2.Qiime2Reader(path, how.delimiter),
            lambda glance: bool(glance.lines) and glance.lines[0].startswith("\t".join(qiime2.COLUMNS)),
        ),
        "speciesnet": ScoreFormat(lambda path, *_: speciesnet.SpeciesnetReader(path), _is_speciesnet),
        "pybioclip": ScoreFormat(
            lambda path, how, _: pybioclip.PybioclipReader(path, how.delimiter),
            lambda glance: pybioclip.looks_like_pybioclip(glance.columns),
        ),
    },
    group="hedgerow.score_files",
    check=_checked,
)
"""All formats by name; `FORMATS.register(name, format)` adds one, and so do entry points of installed packages."""


def find_format(path: str, how: ScoreReading | None = None) -> str:
    """Return the format of a score file: the one that is named, or what the file is beyond doubt.

    Tables in no other format are wide. A file of another kind must be recognised, or its format be named.
    """
    how = how or ScoreReading()
    if how.scores_format != AUTO:
        FORMATS.find(how.scores_format)
        return how.scores_format
    require_file(path)
    if extension(path) == ".npz":
        return WIDE
    glance = _glance(path, how.delimiter)
    found = [name for name in FORMATS.names() if FORMATS.find(name).recognise(glance)]
    if len(found) == 1:
        return found[0]
    if not found and glance.suffix in TABLES:
        return WIDE
    refuse_spreadsheet(path)
    what = f"may be {' or '.join(found)}" if found else "cannot be told from its name and first lines"
    raise ParameterError(
        f"{path}: the format {what}. Name it, as in {argument('scores_format', 'sintax')}; there are "
        f"{', '.join(FORMATS.names())}. A wide file is .npz, {', '.join(TABLES)}."
    )


def column_names(path: str, delimiter: str | None = None) -> list[str]:
    """Return the names of a table's columns, or of an archive's members; none of any other file."""
    suffix = extension(path)
    with suppress(HedgerowError):  # reading the file raises a better error
        if suffix in TABLES:
            return TABLES[suffix](path, delimiter).columns
        if suffix == ".npz":
            with Archive(path) as archive:
                return archive.arrays
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
