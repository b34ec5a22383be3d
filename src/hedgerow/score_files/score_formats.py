"""Score formats by name, how each is recognised, and which of them a file in none resembles most."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import HedgerowError, ParameterError, argument
from hedgerow.files import TABLES, Archive, extension, open_text, refuse_spreadsheet, require_file
from hedgerow.registry import Registry
from hedgerow.score_files import jsonl, kraken2, lineage_lines, listed_tables, qiime2, sintax, speciesnet
from hedgerow.score_files.examples import COLUMNS
from hedgerow.score_files.score_reading import ScoreReader, ScoreReading
from hedgerow.score_files.wide_files import open_wide
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.score_files.lines import LineReader

AUTO, WIDE = "auto", "wide"
_CHARACTERS = 1 << 14  # read to recognise a format
_COMPARED = 20  # lines that are compared with those of known formats
_ALIKE = 0.6  # share of the fields of a line that resemble those of the nearest format, at least
_COLUMNS_ALIKE = 2  # columns of a table that the nearest format has too, at least


@final
@dataclass(frozen=True)
class Glance:
    """What is known of a file from its name and first lines."""

    suffix: str
    """The extension, in lower case."""
    lines: tuple[str, ...] = ()
    """The first lines, if it is text."""
    columns: tuple[str, ...] = ()
    """The column names, if the extension is that of a table."""


@final
@dataclass(frozen=True)
class ScoreFormat:
    """A format of score files. To add your own, see `FORMATS`."""

    open: Callable[[str, ScoreReading, frozenset[str]], ScoreReader]
    """Returns a reader, given a path, how to read it, and the keys of columns that a label file has."""
    recognise: Callable[[Glance], bool] = lambda _: False
    """Returns whether a file is certainly in this format."""
    settings: Settings = field(default_factory=lambda: Settings(single_child="answer"))
    """The default settings for scores in this format."""
    example: str = ""
    """A typical line, or the header of a table, with commas: what is in no known format is compared with it."""


def _is_long(glance: Glance) -> bool:
    needed = {"id", *listed_tables.LONG_COLUMNS}
    return needed <= set(glance.columns) <= {*needed, *COLUMNS.values()}


def _is_speciesnet(glance: Glance) -> bool:
    start = "".join(glance.lines)[:200].replace(" ", "")
    return glance.suffix == ".json" and start.startswith('{"predictions":')


def _in_lines(reader: type[LineReader], example: str) -> ScoreFormat:
    return ScoreFormat(reader, lambda glance: reader.recognise(glance.lines), example=example)


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
        "long": ScoreFormat(listed_tables.LongReader, _is_long, Settings(), example="id,class,score"),
        "lineage": ScoreFormat(
            listed_tables.LineageReader,
            lambda glance: "id" in glance.columns and bool(listed_tables.rank_columns(glance.columns)),
            Settings(),
            example="id,family,family_confidence,genus,genus_confidence",
        ),
        "sintax": _in_lines(sintax.SintaxReader, "q1\td:Bacteria(1.00),p:Firmicutes(0.98)\t+"),
        "rdp": _in_lines(lineage_lines.RdpReader, "q1\t\tRoot\trootrank\t1.0\tBacteria\tdomain\t1.0"),
        "qiime2": ScoreFormat(
            qiime2.Qiime2Reader,
            lambda glance: bool(glance.lines) and glance.lines[0].startswith("\t".join(qiime2.COLUMNS)),
            example="Feature ID,Taxon,Confidence",
        ),
        "speciesnet": ScoreFormat(
            speciesnet.SpeciesnetReader,
            _is_speciesnet,
            example='{"predictions": [{"filepath": "a.jpg", "classifications": {"classes": [], "scores": []}}]}',
        ),
        "pybioclip": ScoreFormat(
            listed_tables.PybioclipReader,
            lambda glance: listed_tables.looks_like_pybioclip(glance.columns),
            example="file_name,kingdom,phylum,class,order,family,genus,species_epithet,species,common_name,score",
        ),
        "kraken2": _in_lines(kraken2.Kraken2Reader, "C\tq1\t562\t98|94\t562:13 0:1 |:| 562:3"),
        "dada2": ScoreFormat(
            listed_tables.Dada2Reader,
            lambda glance: listed_tables.looks_like_dada2(glance.columns),
            example="ASV_ID,confidence,Kingdom,Phylum,Class,Order,Family,Genus,Species,sequence",
        ),
        "birdnet": ScoreFormat(
            listed_tables.BirdnetReader,
            lambda glance: {*listed_tables.WINDOW[1:], *listed_tables.BIRDNET_NAMES} <= set(glance.columns),
            Settings(),
            example="Start (s),End (s),Scientific name,Common name,Confidence,File",
        ),
        "jsonl": ScoreFormat(
            jsonl.JsonlReader,
            lambda glance: glance.suffix in (".jsonl", ".ndjson"),
            Settings(),
            example='{"id": "a", "answer": "robin", "confidence": 0.9}',
        ),
        "idtaxa": _in_lines(lineage_lines.IdtaxaReader, "q1\tRoot [95.3%]; Bacteria [95.3%]; Firmicutes [81%]"),
        "blca": _in_lines(lineage_lines.BlcaReader, "q1\tsuperkingdom:Bacteria;100.0;phylum:Firmicutes;98.2;"),
    },
    group="hedgerow.score_files",
    check=_checked,
)
"""All formats by name; `FORMATS.register(name, format)` adds one, and so do entry points of installed packages."""


def find_format(path: str, how: ScoreReading | None = None) -> str:
    """Return the format of a score file: the one that `how` names, or the only one that recognises the file.

    Tables in no other format are wide. For any other file that is not recognised, the format must be named.
    """
    how = how or ScoreReading()
    if how.scores_format != AUTO:
        FORMATS.find(how.scores_format)
        return how.scores_format
    require_file(path)
    if extension(path) == ".npz":
        return WIDE
    glance = _glance(path, how)
    found = [name for name in FORMATS.names() if FORMATS.find(name).recognise(glance)]
    if len(found) == 1:
        return found[0]
    if not found and glance.suffix in TABLES:
        return WIDE
    refuse_spreadsheet(path)
    what = f"may be {' or '.join(found)}" if found else "cannot be told from its name and first lines"
    if not (glance.lines or glance.columns):
        what = "cannot be told: it is empty, or not text in UTF-8"
    name, near = (None, "") if found else nearest(path, how, glance)
    named = argument("scores_format", name or "sintax")
    raise ParameterError(
        f"{path}: the format {what}.{near} Name it, as in {named}; there are {', '.join(FORMATS.names())}. A wide "
        f"file is .npz, {', '.join(TABLES)}."
    )


def nearest(path: str, how: ScoreReading, glance: Glance | None = None) -> tuple[str | None, str]:
    """Return the format that a file in no known one resembles most, and a sentence on the first difference.

    The sentence is what the reader of that format says; "" if no format is near.
    """
    seen = glance or _glance(path, how)
    like = {name: _likeness(known, seen) for name, known in FORMATS.items() if known.example}
    name = max(like, key=like.__getitem__)
    if not like[name]:
        return None, ""
    try:
        reader = FORMATS[name].open(path, how, frozenset())
        next(iter(reader.read(_COMPARED, reader.has)), None)
    except HedgerowError as error:
        return name, f" It is most like {name}, but {str(error).removeprefix(path).lstrip(' ,:')}"
    return name, f" It is most like {name}."


def _likeness(known: ScoreFormat, glance: Glance) -> float:
    """Return how much a file resembles a format; 0 if not enough, 1 or more if some lines are certainly in it."""
    if not {"\t", "{"} & set(known.example):
        columns = known.example.split(",")
        alike = len({*columns} & {*glance.columns})
        return alike / len(columns) if alike >= _COLUMNS_ALIKE else 0.0
    lines = glance.lines[:_COMPARED]
    certain = sum(known.recognise(Glance("", (line,))) for line in lines)
    if certain or not lines or glance.columns:
        return 1 + certain / len(lines) if certain else 0.0
    here, there = (re.split(r"\t|(?<=\")(?=:)", line) for line in (lines[0], known.example))
    pairs = list(zip(here, there, strict=False))
    like = sum(_shape(one) == _shape(other) for one, other in pairs) / len(there)
    return like if len(pairs) > 1 and like >= _ALIKE else 0.0


def _shape(text: str) -> str:
    """Return the distinct parts of a list, with words and numbers replaced."""
    parts = re.sub(r"\b[0-9.]+\b", "0", re.sub(r"[^\W\d]\w*", "a", text)).split(",")
    return ",".join(dict.fromkeys(parts))


def column_names(path: str, delimiter: str | None = None) -> list[str]:
    """Return the names of a table's columns or an archive's members; [] for any other file."""
    suffix = extension(path)
    with suppress(HedgerowError):  # reading the file raises a better error
        if suffix in TABLES:
            return TABLES[suffix](path, delimiter).columns
        if suffix == ".npz":
            with Archive(path) as archive:
                return archive.arrays
    return []


def _glance(path: str, how: ScoreReading) -> Glance:
    suffix = extension(path)
    named = {how.event_column, how.weight_column}
    columns = [name for name in column_names(path, how.delimiter) if name not in named]
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
