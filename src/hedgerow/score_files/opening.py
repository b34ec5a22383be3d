"""`open_scores`: from a score file in any format to blocks of likelihoods with labels, never the whole file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import restrict
from hedgerow.score_files.blocks import Block, Scores, chained
from hedgerow.score_files.formats import FORMATS, WIDE, find_format
from hedgerow.score_files.labels import LabelFile
from hedgerow.score_files.listed_binder import ListedBinder
from hedgerow.score_files.raw_blocks import ScoreReader, WideReader
from hedgerow.score_files.score_reading import ScoreReading
from hedgerow.score_files.wide_binder import WideBinder
from hedgerow.score_files.wide_files import open_wide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.tree import Hierarchy


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
        A wide `.npz`, `.csv`, `.tsv` or `.parquet` file, or what a tool wrote.
    hierarchy
        The tree.
    reading
        How to read the file, where its names and extension do not say it.
    labels
        Whether labels are needed: those in the file, or in the `labels_file` of the reading. If not, they are not
        looked at. Or a file of labels that is already open, which several parts may share.
    block_rows
        Rows to read at a time; by default as many as take some 30 MB.
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
    bound = binder(hierarchy, reader, how)
    only = None if how.only is None else hierarchy.indices(list(how.only))
    rows = block_rows or reader.rows_at_a_time(len(hierarchy))
    keys = reader.has if own_labels else reader.has - {"labels"}

    def read(warnings: list[str]) -> Iterator[Block]:
        blocks = _not_empty(bound.blocks(reader.read(rows, keys), warnings), shown)
        if label_file is not None:
            blocks = label_file.joined(blocks, shown, warnings)
        for block in blocks:
            if only is None:
                yield block
            else:
                yield replace(block, likelihoods=restrict(hierarchy, block.likelihoods, only))

    return Scores(
        shown,
        hierarchy,
        read,
        reader.rows,
        has_ids="ids" in reader.has,
        settings=FORMATS[found].settings,
        format=found,
    )


def open_parts(
    paths: Sequence[str | os.PathLike[str]], hierarchy: Hierarchy, reading: ScoreReading | None = None
) -> Scores:
    """Open several files as one; the labels of all of them are read once."""
    how = reading or ScoreReading()
    labels = LabelFile.of(hierarchy, how.resolved(), part=True)
    parts = [open_scores(path, hierarchy, how, labels=labels or True) for path in paths]
    return chained(parts, list if labels is None else lambda: labels.left_over("any part"))


def _not_empty(blocks: Iterator[Block], path: str) -> Iterator[Block]:
    rows = 0
    for block in blocks:
        rows += len(block)
        if len(block):
            yield block
    if not rows:
        raise ScoreError(f"{path} has no rows: there are no examples in it.")
