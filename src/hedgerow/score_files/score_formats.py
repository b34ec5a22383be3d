"""Score formats by name, how each is recognised, and `open_scores`: from a file to blocks of likelihoods."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import HedgerowError, ParameterError, ScoreError, UnknownNameError, argument
from hedgerow.files import (
    TABLES,
    Archive,
    extension,
    is_number,
    open_text,
    refuse_spreadsheet,
    require_file,
    row_name,
)
from hedgerow.likelihood import restrict
from hedgerow.registry import Registry
from hedgerow.score_files import jsonl, kraken2, lineage_lines, listed_tables, qiime2, rdp, sintax, speciesnet
from hedgerow.score_files.blocks import Block, Scores
from hedgerow.score_files.class_tables import read_prior
from hedgerow.score_files.event_pooling import EventPooling
from hedgerow.score_files.labels import LabelFile, labelled
from hedgerow.score_files.listed_binder import ListedBinder
from hedgerow.score_files.nearest import nearest_lines, nearest_table
from hedgerow.score_files.score_reading import PER_EXAMPLE, ScoreReader, ScoreReading
from hedgerow.score_files.wide_binder import WideBinder
from hedgerow.score_files.wide_files import WideReader, open_wide
from hedgerow.tree import Hierarchy, Indices, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


AUTO, WIDE = "auto", "wide"
_CHARACTERS = 1 << 14  # read to recognise a format
_SHOWN = 5  # warnings in an error
_COMPARED = 50  # lines


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
    """A line that is typical of it, or the header of a table, with commas: see `nearest`."""


def _is_long(glance: Glance) -> bool:
    needed = {"id", *listed_tables.LONG_COLUMNS}
    return needed <= set(glance.columns) <= {*needed, *PER_EXAMPLE.values()}


def _is_speciesnet(glance: Glance) -> bool:
    start = "".join(glance.lines)[:200].replace(" ", "")
    return glance.suffix == ".json" and start.startswith('{"predictions":')


def _lineage_lines(notation: lineage_lines.Notation) -> ScoreFormat:
    return ScoreFormat(
        lambda path, *_: lineage_lines.LineageLineReader(path, notation),
        lambda glance: notation.recognise(glance.lines),
        example=f"q1\t{notation.example}",
    )


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
        "sintax": ScoreFormat(
            lambda path, *_: sintax.SintaxReader(path),
            lambda glance: sintax.looks_like_sintax(glance.lines),
            example="q1\td:Bacteria(1.00),p:Firmicutes(0.98)\t+\td:Bacteria",
        ),
        "rdp": ScoreFormat(
            lambda path, *_: rdp.RdpReader(path),
            lambda glance: rdp.looks_like_rdp(glance.lines),
            example="q1\t\tRoot\trootrank\t1.0\tBacteria\tdomain\t1.0",
        ),
        "qiime2": ScoreFormat(
            lambda path, how, _: qiime2.Qiime2Reader(path, how.delimiter),
            lambda glance: bool(glance.lines) and glance.lines[0].startswith("\t".join(qiime2.COLUMNS)),
            example="Feature ID,Taxon,Confidence",
        ),
        "speciesnet": ScoreFormat(
            lambda path, *_: speciesnet.SpeciesnetReader(path),
            _is_speciesnet,
            example='{"predictions": [{"filepath": "a.jpg", "classifications": {"classes": [], "scores": []}}]}',
        ),
        "pybioclip": ScoreFormat(
            lambda path, how, _: listed_tables.PybioclipReader(path, how.delimiter),
            lambda glance: listed_tables.looks_like_pybioclip(glance.columns),
            example="file_name,kingdom,phylum,class,order,family,genus,species_epithet,species,common_name,score",
        ),
        "kraken2": ScoreFormat(
            lambda path, *_: kraken2.Kraken2Reader(path),
            lambda glance: kraken2.looks_like_kraken2(glance.lines),
            example="C\tq1\t562\t98|94\t562:13 0:1 |:| 562:3",
        ),
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
            lambda path, how, _: jsonl.JsonlReader(path, how.id_column),
            lambda glance: glance.suffix in (".jsonl", ".ndjson"),
            Settings(),
            example='{"id": "a", "answer": "robin", "confidence": 0.9}',
        ),
        "idtaxa": _lineage_lines(lineage_lines.IDTAXA),
        "blca": _lineage_lines(lineage_lines.BLCA),
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
    near = "" if found else _nearest(glance, tables=False)
    raise ParameterError(
        f"{path}: the format {what}.{near} Name it, as in {argument('scores_format', 'sintax')}; there are "
        f"{', '.join(FORMATS.names())}. A wide file is .npz, {', '.join(TABLES)}."
    )


def _nearest(glance: Glance, *, tables: bool) -> str:
    """Say which format, of tables or of others, a file in none of them resembles most; '' if there is none."""
    examples = {
        name: known.example
        for name, known in FORMATS.items()
        if known.example and (not {"\t", "{"} & set(known.example)) == tables
    }
    if tables:
        return nearest_table(glance.columns, examples)
    lines = glance.lines[:_COMPARED]
    return (
        nearest_lines(lines, examples, lambda name, line: FORMATS[name].recognise(replace(glance, lines=(line,))))
        if lines
        else ""
    )


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


# Opening ------------------------------------------------------------------------------------------------


def open_scores(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy,
    reading: ScoreReading | None = None,
    *,
    labels: bool | LabelFile = True,
    block_rows: int | None = None,
    row_groups: range | None = None,
) -> Scores:
    r"""Open a score file and bind its classes to the nodes of a tree, by name.

    In a wide file, columns that are exactly the leaves are summed up the tree (logits through a softmax first);
    columns that are all nodes (the root is optional) are taken as the likelihoods of the nodes; anything else is
    an error, unless the reading says ``columns="own"``. Files in the other formats list a few classes for each
    example, and give sparse likelihoods.

    Parameters
    ----------
    path
        A wide `.npz`, `.csv`, `.tsv` or `.parquet` file, or the output of a tool.
    hierarchy
        The tree.
    reading
        How to read the file.
    labels
        Whether to read labels, from the file or from the `labels_file` of the reading; or an open label file,
        which several parts may share.
    block_rows
        Rows to read at a time; by default about 30 MB.
    row_groups
        Of a Parquet file, read only these row groups.

    Examples
    --------
    >>> import tempfile, pathlib, hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "scores.csv")
    ...     _ = file.write_text("wolf;cat;dog;kind\n0.5;0.25;0.25;wolf\n0;0.5;0.5;pet\n")
    ...     for block in hr.open_scores(file, h, hr.ScoreReading(delimiter=";", label_column="kind")):
    ...         print(block.q.tolist(), block.labels.tolist())
    [[1.0, 0.5, 0.25, 0.25, 0.5], [1.0, 1.0, 0.5, 0.5, 0.0]] [4, 1]
    """
    if reading is not None and not isinstance(reading, ScoreReading):
        raise ParameterError(
            f"reading must be a ScoreReading, such as ScoreReading(logits=True), not {reading!r}."
        )
    shown, how = os.fspath(path), (reading or ScoreReading()).resolved()
    if block_rows is not None and block_rows < 1:
        raise ParameterError(f"block_rows must be 1 or more, not {block_rows}.")
    if not isinstance(labels, bool | LabelFile):
        raise ParameterError(
            f"labels says whether labels are needed, True or False, not {labels!r}. A file of labels is "
            f"ScoreReading(labels_file=...), a column of the scores ScoreReading(label_column=...)."
        )
    label_file = labels if isinstance(labels, LabelFile) else LabelFile.of(hierarchy, how, labels=labels)
    own_labels = labels is True and how.labels_file is None
    part = isinstance(labels, LabelFile)
    elsewhere = frozenset() if label_file is None else label_file.named
    own = how if how.labels_file is None else replace(how, label_column=None)
    found = find_format(shown, how)
    reader: ScoreReader
    if found == WIDE:
        reader = open_wide(shown, own, labels=own_labels, elsewhere=elsewhere, row_groups=row_groups)
    else:
        reader = FORMATS[found].open(shown, own, elsewhere)
    if own_labels:
        reader.require_labels()
    binder: Any = WideBinder if isinstance(reader, WideReader) else ListedBinder
    try:
        bound = binder(hierarchy, reader, how)
    except UnknownNameError as error:
        if how.scores_format != AUTO or how.names_classes:
            raise
        raise UnknownNameError(f"{error}{_nearest(_glance(shown, how), tables=True)}") from None
    only = None if how.only is None else _only(hierarchy, how.only)
    prior = None if how.prior is None else read_prior(how.prior, hierarchy, how.trained_prior)
    rows = block_rows or reader.rows_at_a_time(len(hierarchy))
    keys = reader.has if labels else reader.has - {"labels"}

    def read(warnings: list[str]) -> Iterator[Block]:
        blocks = _not_empty(bound.blocks(reader.read(rows, keys), warnings), shown)
        if label_file is not None:
            blocks = label_file.joined(blocks, shown, warnings)
        blocks = (_weighed(block, shown) for block in blocks)
        for block in blocks if how.event_column is not None else finish(blocks, warnings):
            if only is None:
                yield block
            else:
                yield replace(block, likelihoods=restrict(hierarchy, block.likelihoods, only))

    def finish(blocks: Iterator[Block], warnings: list[str]) -> Iterator[Block]:
        source = shown if label_file is None else label_file.path
        return labelled(blocks, source, hierarchy, how, warnings, part=part)

    pooling = None if how.pooling is None else EventPooling(how.pooling, shown, finish)
    return Scores(
        shown,
        hierarchy,
        read,
        None if pooling else reader.rows,
        has_ids="ids" in reader.has or pooling is not None,
        settings=FORMATS[found].settings,
        format=found,
        prior=prior,
        pooling=pooling,
    )


def _weighed(block: Block, path: str) -> Block:
    """Return a block with its weights as numbers."""
    if block.weights is None:
        return block
    texts = np.asarray(block.weights, dtype=object)
    with suppress(ValueError):
        weights = texts.astype(np.float64)
        if np.all((weights >= 0) & (weights < np.inf)):
            return replace(block, weights=weights)
    row = next(i for i, text in enumerate(texts.tolist()) if not _is_weight(text))
    raise ScoreError(
        f"{path}: {row_name(path, block.start + row)} has the weight {str(texts[row])!r}. A weight is a number "
        f"from 0 "
        f"on: how likely the example is among new data, relative to the calibration data."
    )


def _is_weight(text: str) -> bool:
    """Return whether a text is a finite number from 0 on."""
    return is_number(text) and 0 <= float(text) < np.inf


def _only(hierarchy: Hierarchy, names: Sequence[str]) -> Indices:
    try:
        return hierarchy.indices(list(names))
    except UnknownNameError as error:
        option = argument("only", "NAME")
        raise UnknownNameError(
            f"{option} takes classes of the tree, or a file that exists, with one on each line: {error}"
        ) from None


def open_parts(
    paths: Sequence[str | os.PathLike[str]], hierarchy: Hierarchy, reading: ScoreReading | None = None
) -> Scores:
    """Open several files as one, in the given order; their labels are read once."""
    how = reading or ScoreReading()
    labels = LabelFile.of(hierarchy, how.resolved(), part=True)
    parts = [open_scores(path, hierarchy, how, labels=labels or True) for path in paths]

    def read(warnings: list[str]) -> Iterator[Block]:
        start, found = 0, list[str]()
        for part in parts:
            for block in filter(len, part.read(found)):
                yield replace(block, start=start)
                start += len(block)
        warnings += dict.fromkeys(found)
        if not start:
            raise ScoreError(" ".join(["There are no examples in these parts.", *warnings[:_SHOWN]]))
        if labels is not None:
            warnings += labels.left_over("any part")

    rows = [part.rows for part in parts if part.rows is not None]
    return replace(
        parts[0],
        path=f"{parts[0].path} and {len(parts) - 1} more" if len(parts) > 1 else parts[0].path,
        read=read,
        rows=sum(rows) if len(rows) == len(parts) else None,
        has_ids=all(part.has_ids for part in parts),
        warnings=[],
    )


def _not_empty(blocks: Iterator[Block], path: str) -> Iterator[Block]:
    rows = 0
    for block in blocks:
        rows += len(block)
        if len(block):
            yield block
    if not rows:
        raise ScoreError(f"{path} has no rows: there are no examples in it.")
