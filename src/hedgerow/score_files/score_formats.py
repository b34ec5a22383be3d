"""Score formats by name, how each is recognised, and which of them a file in none resembles most."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import HedgerowError, ParameterError, argument
from hedgerow.files import TABLES, InputFile, refuse_spreadsheet, require_file
from hedgerow.registry import Registry
from hedgerow.score_files import jsonl, kraken2, lineage_lines, listed_tables, qiime2, sintax, speciesnet
from hedgerow.score_files.examples import COLUMNS
from hedgerow.score_files.score_reading import ScoreReader, ScoreReading
from hedgerow.score_files.wide_files import open_wide
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.score_files.lines import LineReader

AUTO, WIDE = "auto", "wide"
_COMPARED = 20  # lines that are compared with those of known formats
_ALIKE = 0.6  # share of the fields of a line that resemble those of the nearest format, at least
_COLUMNS_ALIKE = 2  # columns of a table that the nearest format has too, at least


@final
@dataclass(frozen=True)
class ScoreFormat:
    """A format of score files, and what only its files have. To add your own, see `FORMATS`."""

    open: Callable[[InputFile, ScoreReading, frozenset[str]], ScoreReader]
    """Returns a reader, given the file, how to read it, and the keys of columns that a label file has."""
    settings: Settings = field(default_factory=lambda: Settings(single_child="answer"))
    """The default settings for scores in this format."""
    example: str = ""
    """A typical line, or the header of a table, with commas: what is in no known format is compared with it."""
    extensions: tuple[str, ...] = ()
    """The extensions of its files."""
    columns: tuple[tuple[str, ...], ...] = ()
    """Columns of its tables; those of one tuple are all there. `*` stands for the same text in all of a tuple."""
    others: frozenset[str] | None = None
    """The only other columns that its tables may have; None: any."""
    start: str = ""
    """A pattern of how its files begin."""
    lines: Callable[[Sequence[str]], bool] | None = None
    """Returns whether lines with tabs are certainly in this format."""

    def recognises(self, file: InputFile, columns: frozenset[str]) -> bool:
        """Return whether a file is certainly in this format, by all that is known of its files."""
        return (
            bool(self.extensions or self.columns or self.start or self.lines)
            and (not self.extensions or file.suffix in self.extensions)
            and (not self.columns or any(self._has(columns, wanted) for wanted in self.columns))
            and (not self.start or re.match(self.start, file.start) is not None)
            and (not self.lines or self.recognises_lines(file.lines))
        )

    def recognises_lines(self, lines: Sequence[str]) -> bool:
        """Return whether lines are certainly in this format."""
        return self.lines is not None and bool(lines) and "\t" in lines[-1] and self.lines(lines)

    def _has(self, columns: frozenset[str], wanted: Sequence[str]) -> bool:
        """Return whether a table has all columns of a tuple, and no others that it may not have."""
        before, star, after = wanted[-1].partition("*")
        found = (name for name in columns if name.startswith(before) and name.endswith(after))
        stems = {name[len(before) : len(name) - len(after)] for name in found} if star else {""}
        there = any(columns.issuperset(name.replace("*", stem) for name in wanted) for stem in stems)
        return there and (self.others is None or columns <= self.others.union(wanted))


def _in_lines(reader: type[LineReader], example: str) -> ScoreFormat:
    return ScoreFormat(reader, example=example, lines=reader.recognise)


def _checked(name: str, given: Any) -> ScoreFormat:
    if not isinstance(given, ScoreFormat):
        raise ParameterError(f"The score format {name!r} must be a score_files.ScoreFormat, not {given!r}.")
    return given


FORMATS: Registry[ScoreFormat] = Registry(
    "score format",
    {
        WIDE: ScoreFormat(
            lambda file, how, elsewhere: open_wide(file, how, elsewhere=elsewhere), settings=Settings()
        ),
        "long": ScoreFormat(
            listed_tables.LongReader,
            Settings(),
            example="id,class,score",
            columns=(("id", *listed_tables.LONG_COLUMNS),),
            others=frozenset(COLUMNS.values()),
        ),
        "lineage": ScoreFormat(
            listed_tables.LineageReader,
            Settings(),
            example="id,family,family_confidence,genus,genus_confidence",
            columns=(("id", "*", f"*{listed_tables.CONFIDENCE}"),),
        ),
        "sintax": _in_lines(sintax.SintaxReader, "q1\td:Bacteria(1.00),p:Firmicutes(0.98)\t+"),
        "rdp": _in_lines(lineage_lines.RdpReader, "q1\t\tRoot\trootrank\t1.0\tBacteria\tdomain\t1.0"),
        "qiime2": ScoreFormat(
            qiime2.Qiime2Reader, example="Feature ID,Taxon,Confidence", start="\t".join(qiime2.COLUMNS)
        ),
        "speciesnet": ScoreFormat(
            speciesnet.SpeciesnetReader,
            example='{"predictions": [{"filepath": "a.jpg", "classifications": {"classes": [], "scores": []}}]}',
            extensions=(".json",),
            start=r'\s*{\s*"predictions"\s*:',
        ),
        "pybioclip": ScoreFormat(
            listed_tables.PybioclipReader,
            example="file_name,kingdom,phylum,class,order,family,genus,species_epithet,species,common_name,score",
            columns=(("file_name", "score", "kingdom"), ("file_name", "score", listed_tables.CUSTOM)),
        ),
        "kraken2": _in_lines(kraken2.Kraken2Reader, "C\tq1\t562\t98|94\t562:13 0:1 |:| 562:3"),
        "dada2": ScoreFormat(
            listed_tables.Dada2Reader,
            example="ASV_ID,confidence,Kingdom,Phylum,Class,Order,Family,Genus,Species,sequence",
            columns=(("tax.*", "boot.*"), ("*", "boot.*"), ("ASV_ID", "confidence")),
        ),
        "birdnet": ScoreFormat(
            listed_tables.BirdnetReader,
            Settings(),
            example="Start (s),End (s),Scientific name,Common name,Confidence,File",
            columns=((*listed_tables.WINDOW[1:], *listed_tables.BIRDNET_NAMES),),
        ),
        "jsonl": ScoreFormat(
            jsonl.JsonlReader,
            Settings(),
            example='{"id": "a", "answer": "robin", "confidence": 0.9}',
            extensions=(".jsonl", ".ndjson"),
        ),
        "idtaxa": _in_lines(lineage_lines.IdtaxaReader, "q1\tRoot [95.3%]; Bacteria [95.3%]; Firmicutes [81%]"),
        "blca": _in_lines(lineage_lines.BlcaReader, "q1\tsuperkingdom:Bacteria;100.0;phylum:Firmicutes;98.2;"),
    },
    group="hedgerow.score_files",
    check=_checked,
)
"""All formats by name; `FORMATS.register(name, format)` adds one, and so do entry points of installed packages."""


def find_format(file: InputFile, how: ScoreReading | None = None) -> str:
    """Return the format of a score file: the one that `how` names, or the only one that recognises the file.

    Tables in no other format are wide. For any other file that is not recognised, the format must be named.
    """
    how = how or ScoreReading()
    if how.scores_format != AUTO:
        FORMATS.find(how.scores_format)
        return how.scores_format
    require_file(file.path)
    if file.suffix == ".npz":
        return WIDE
    columns = _columns(file, how)
    found = [name for name in FORMATS.names() if FORMATS.find(name).recognises(file, columns)]
    if len(found) == 1:
        return found[0]
    if not found and file.suffix in TABLES:
        return WIDE
    refuse_spreadsheet(file.path)
    what = f"may be {' or '.join(found)}" if found else "cannot be told from its name and first lines"
    if not (file.lines or columns):
        what = "cannot be told: it is empty, or not text in UTF-8"
    name, near = (None, "") if found else nearest(file, how)
    named = argument("scores_format", name or "sintax")
    raise ParameterError(
        f"{file.path}: the format {what}.{near} Name it, as in {named}; there are {', '.join(FORMATS.names())}. A "
        f"wide file is .npz, {', '.join(TABLES)}."
    )


def _columns(file: InputFile, how: ScoreReading) -> frozenset[str]:
    """Return the columns by which a table is recognised."""
    return frozenset(file.columns) - {how.event_column, how.weight_column}


def nearest(file: InputFile, how: ScoreReading) -> tuple[str | None, str]:
    """Return the format that a file in no known one resembles most, and a sentence on the first difference.

    The sentence is what the reader of that format says; "" if no format is near.
    """
    columns = _columns(file, how)
    like = {name: _likeness(known, file, columns) for name, known in FORMATS.items() if known.example}
    name = max(like, key=like.__getitem__)
    if not like[name]:
        return None, ""
    try:
        reader = FORMATS[name].open(file, how, frozenset())
        next(iter(reader.read(_COMPARED, reader.has)), None)
    except HedgerowError as error:
        return name, f" It is most like {name}, but {str(error).removeprefix(file.path).lstrip(' ,:')}"
    return name, f" It is most like {name}."


def _likeness(known: ScoreFormat, file: InputFile, columns: frozenset[str]) -> float:
    """Return how much a file resembles a format; 0 if not enough, 1 or more if some lines are certainly in it."""
    if not {"\t", "{"} & set(known.example):
        usual = known.example.split(",")
        alike = len(columns.intersection(usual))
        return alike / len(usual) if alike >= _COLUMNS_ALIKE else 0.0
    lines = file.lines[:_COMPARED]
    certain = sum(known.recognises_lines([line]) for line in lines)
    if certain or not lines or columns:
        return 1 + certain / len(lines) if certain else 0.0
    here, there = (re.split(r"\t|(?<=\")(?=:)", line) for line in (lines[0], known.example))
    pairs = list(zip(here, there, strict=False))
    like = sum(_shape(one) == _shape(other) for one, other in pairs) / len(there)
    return like if len(pairs) > 1 and like >= _ALIKE else 0.0


def _shape(text: str) -> str:
    """Return the distinct parts of a list, with words and numbers replaced."""
    parts = re.sub(r"\b[0-9.]+\b", "0", re.sub(r"[^\W\d]\w*", "a", text)).split(",")
    return ",".join(dict.fromkeys(parts))
