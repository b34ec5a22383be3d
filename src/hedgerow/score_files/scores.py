"""Scores as blocks of likelihoods: from a file, by a reader, a binder and labels; or from any other source."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, argument, check_number, counted
from hedgerow.files import is_number, row_name
from hedgerow.likelihood import Prior, Treatment, restrict, tempered, with_prior
from hedgerow.score_files.class_tables import read_prior
from hedgerow.score_files.event_pooling import EventPooling
from hedgerow.score_files.examples import as_column
from hedgerow.score_files.label_file import LabelFile
from hedgerow.score_files.labels import labelled
from hedgerow.score_files.listed_binder import ListedBinder
from hedgerow.score_files.score_formats import AUTO, FORMATS, WIDE, find_format, nearest
from hedgerow.score_files.score_reading import ScoreReader, ScoreReading
from hedgerow.score_files.wide_binder import WideBinder
from hedgerow.score_files.wide_files import WideReader, open_wide
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hedgerow.score_files.examples import Block
    from hedgerow.tree import Hierarchy, Indices


_SHOWN = 5  # warnings in an error

Advance = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Opens a progress bar, given a description and the number of steps (None if unknown); yields a callback that
takes the number of steps since the last call."""


def silent(_what: str, _total: int | None, /) -> AbstractContextManager[Advance]:
    """Report no progress."""
    return nullcontext(lambda _steps: None)


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Likelihoods of examples: iterating yields one `Block` at a time, and reads the file anew."""

    path: str
    hierarchy: Hierarchy
    read: Callable[[list[str]], Iterable[Block]]
    """Yields the blocks, and appends warnings to a list."""
    rows: int | None = None
    """Number of examples, if it is known in advance."""
    has_ids: bool = False
    """Whether the examples have ids."""
    settings: Settings = field(default_factory=Settings)
    """The defaults for the format of the file, used by `evaluate`, `select` and rules."""
    format: str = ""
    """The format of the file: a name in `FORMATS`."""
    temperature: float = 1.0
    """The number that the scores are divided by."""
    prior: Prior | None = None
    """The prior that the likelihoods get then."""
    pooling: EventPooling | None = None
    """How the examples of events are pooled at last."""
    warnings: list[str] = field(default_factory=list)
    """Likely mistakes; complete once everything has been read."""

    def __iter__(self) -> Iterator[Block]:
        found: list[str] = []
        blocks = self._prepared(iter(self.read(found)), found)
        if self.pooling is not None:
            blocks = self.pooling.blocks(lambda: iter(self.read([])), blocks, found)
        yield from blocks
        self.warnings[:] = found

    def _prepared(self, blocks: Iterator[Block], remarks: list[str]) -> Iterator[Block]:
        """Yield blocks with the temperature and the prior."""
        impossible = 0
        for block in blocks:
            q: Any = block.likelihoods
            if self.temperature != 1:
                q = tempered(self.hierarchy, q, self.temperature)
            if self.prior is not None:
                before = q.below_root()
                q = with_prior(self.hierarchy, q, self.prior, block.groups)
                impossible += int((before & ~q.below_root()).sum())
            yield block if q is block.likelihoods else replace(block, likelihoods=q)
        if impossible:
            remarks.append(
                f"{counted(impossible, 'example has', 'examples have')} no class that the prior allows: the "
                f"answer there is the root."
            )

    @property
    def treatment(self) -> Treatment:
        """What is done to the likelihoods."""
        digest = None if self.prior is None else self.prior.digest
        return Treatment(self.temperature, digest, None if self.pooling is None else self.pooling.how)

    def tempered(self, temperature: float) -> Scores:
        """Return the scores divided by a temperature, before anything else is done: see `likelihood.tempered`."""
        return replace(self, temperature=temperature, warnings=[])


# Files -------------------------------------------------------------------------------------------------------


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
    if block_rows is not None:
        check_number("block_rows", block_rows, 1)
    if not isinstance(labels, bool | LabelFile):
        raise ParameterError(
            f"labels says whether labels are needed, True or False, not {labels!r}. A file of labels is "
            f"ScoreReading(labels_file=...), a column of the scores ScoreReading(label_column=...)."
        )
    label_file = labels if isinstance(labels, LabelFile) else open_label_file(hierarchy, how, labels=labels)
    own_labels = labels is True and how.labels_file is None
    part = isinstance(labels, LabelFile)
    elsewhere = frozenset() if label_file is None else label_file.named
    own = how if how.labels_file is None else replace(how, label_column=None)
    file = how.file(shown, row_groups)
    found = find_format(file, how)
    reader: ScoreReader
    if found == WIDE:
        reader = open_wide(file, own, labels=own_labels, elsewhere=elsewhere)
    else:
        reader = FORMATS[found].open(file, own, elsewhere)
    if own_labels:
        reader.require_labels()
    binder: Any = WideBinder if isinstance(reader, WideReader) else ListedBinder
    try:
        bound = binder(hierarchy, reader, how)
    except UnknownNameError as error:
        if how.scores_format != AUTO or how.names_classes:
            raise
        raise UnknownNameError(f"{error}{nearest(file, how)[1]}") from None
    only = None if how.only is None else _only(hierarchy, how.only)
    prior = None if how.prior is None else read_prior(how.prior, hierarchy, how.trained_prior)
    rows = block_rows or reader.rows_at_a_time(len(hierarchy))
    keys = reader.has if labels else reader.has - {"labels"}

    def read(warnings: list[str]) -> Iterator[Block]:
        blocks = _not_empty(bound.blocks(reader.read(rows, keys), warnings), shown)
        if label_file is not None:
            blocks = label_file.joined(blocks, shown, warnings)
        blocks = (_weighed(block, shown) for block in blocks)
        for block in finish(blocks, warnings) if labels and how.event_column is None else blocks:
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
    texts = block.weights
    with suppress(ScoreError):
        return block.join(weights=as_column("weights", texts, len(block)))
    row = next(i for i, text in enumerate(texts.tolist()) if not _is_weight(text))
    raise ScoreError(
        f"{path}: {row_name(path, block.start + row)} has the weight {str(texts[row])!r}. A weight is a number "
        f"from 0 on: how likely the example is among new data, relative to the calibration data."
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


def open_label_file(
    hierarchy: Hierarchy, how: ScoreReading, *, labels: bool = True, part: bool = False
) -> LabelFile | None:
    """Open the label file of a reading; None if there is none, or nothing in it is needed."""
    facts = (how.group_column, how.event_column, how.weight_column)
    if how.labels_file is None or not (labels or any(facts)):
        return None
    return LabelFile(how.labels_file, hierarchy, how, labels=labels, part=part)


def open_parts(
    paths: Sequence[str | os.PathLike[str]], hierarchy: Hierarchy, reading: ScoreReading | None = None
) -> Scores:
    """Open several files as one, in the given order; their labels are read once."""
    how = reading or ScoreReading()
    labels = open_label_file(hierarchy, how.resolved(), part=True)
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
