"""Score files in: blocks of likelihoods, never the whole file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, final

from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.files import extension
from hedgerow.likelihood import restrict
from hedgerow.score_files.formats import FORMATS, WIDE, find_format
from hedgerow.score_files.label_file import LabelFile
from hedgerow.score_files.listed_scores import ListedScores
from hedgerow.score_files.npz import NpzFile, NpzReader
from hedgerow.score_files.score_tables import ColumnNames, TableReader
from hedgerow.score_files.tables import TABLES, ParquetTable
from hedgerow.score_files.wide import WideScores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.likelihood import Scale
    from hedgerow.score_files.class_columns import ColumnKind
    from hedgerow.score_files.listed import ListReader
    from hedgerow.score_files.reader import Reader
    from hedgerow.score_files.source import Block, Source
    from hedgerow.tree import Hierarchy, Indices, SingleChild


class Scores(Protocol):
    """Likelihoods of examples, block by block, from wherever they come."""

    path: str
    hierarchy: Hierarchy
    warnings: list[str]
    single_child: SingleChild
    """Whether a node with one child is an "answer" of its own, or left out ("skip"), unless told otherwise."""

    @property
    def rows(self) -> int | None:
        """Number of examples, where it is known in advance."""

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""

    def __iter__(self) -> Iterator[Block]:
        """Yield the examples in order."""


@final
class ScoreFile:
    """A score file whose classes have been bound to the nodes of a tree; iterating yields a `Block` at a time.

    Use `open_scores`. A file can be iterated over several times; each time it is read anew.
    """

    def __init__(
        self,
        source: Source,
        *,
        format: str,  # noqa: A002
        labels: bool | LabelFile,
        only: Indices | None,
        single_child: SingleChild,
        block_rows: int | None,
    ) -> None:
        self._source = source
        self.path = source.path
        self.hierarchy = source.hierarchy
        self.format = format
        """The format of the file: "wide", or a name in `FORMATS`."""
        self.single_child: SingleChild = single_child
        """Whether a node with one child is an "answer" of its own, or left out ("skip")."""
        self._labels = labels
        self._only = only
        self._block_rows = source.block_rows if block_rows is None else block_rows
        self.warnings: list[str] = []
        """What is allowed but often a mistake; complete once the file has been read."""

    @property
    def rows(self) -> int | None:
        """Number of examples, where the file tells it in advance."""
        return self._source.rows

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""
        return "ids" in self._source.has

    @property
    def label_file(self) -> LabelFile | None:
        """The file of labels that is joined, if there is one."""
        return self._labels if isinstance(self._labels, LabelFile) else None

    @property
    def kind(self) -> ColumnKind | None:
        """What the columns of a wide file are: "leaves", "nodes" or "own"."""
        return self._source.kind if isinstance(self._source, WideScores) else None

    @property
    def scale(self) -> Scale:
        """What the likelihoods are: "probability", unless the file holds likelihoods on another scale."""
        return self._source.scale

    def __iter__(self) -> Iterator[Block]:
        source, remarks = self._source, list[str]()
        keys = source.has if self._labels is True else source.has - {"labels"}
        blocks = self._not_empty(source.blocks(self._block_rows, keys))
        if self.label_file is not None:
            blocks = self.label_file.joined(blocks, self.path, remarks)
        for block in blocks:
            if self._only is None:
                yield block
            else:
                yield replace(block, likelihoods=restrict(self.hierarchy, block.likelihoods, self._only))
        self.warnings[:] = [*source.warnings, *remarks]

    def _not_empty(self, blocks: Iterator[Block]) -> Iterator[Block]:
        rows = 0
        for block in blocks:
            rows += len(block)
            if len(block):
                yield block
        if not rows:
            raise ScoreError(f"{self.path} has no rows: there are no examples in it.")


def open_scores(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy,
    *,
    scores_format: str = "auto",
    logits: bool = False,
    renormalise: bool = False,
    votes: bool = False,
    columns: Literal["own"] | None = None,
    outside: Sequence[str] = (),
    only: str | Sequence[str] | None = None,
    single_child: SingleChild | None = None,
    labels: bool = True,
    labels_file: str | os.PathLike[str] | LabelFile | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    class_columns: Sequence[str] | None = None,
    class_prefix: str | None = None,
    delimiter: str | None = None,
    group_column: str | None = None,
    cluster_column: str | None = None,
    block_rows: int | None = None,
    row_groups: range | None = None,
    part: bool = False,
) -> ScoreFile:
    r"""Open a score file and bind its classes to the nodes of a tree, by name.

    In a wide file, columns that are exactly the leaves are summed up the tree (logits through a softmax first);
    columns that are all nodes (the root is optional) are taken as the likelihoods of the nodes; anything else is
    an error, unless `columns` is "own". Files in the other formats list a few classes for each example, and give
    sparse likelihoods.

    Parameters
    ----------
    path
        A wide `.npz`, `.csv`, `.tsv` or `.parquet` file, or what a tool wrote.
    hierarchy
        The tree.
    scores_format
        "wide", "long", "lineage", "sintax", "rdp", "qiime2", "speciesnet" or "pybioclip"; "auto" decides by the
        extension and by header lines that cannot be mistaken.
    logits
        Whether the scores of a table are logits; an `.npz` file says so by the name of its member.
    renormalise
        Whether rows of probabilities may have any positive sum, by which they are divided: for numbers that
        were rounded, or percentages. Otherwise leaf probabilities must sum to 1 within 1e-3.
    votes
        Whether scores are numbers of votes, which become shares of the votes for an example.
    columns
        "own" if the columns of a wide file are classes at any depth, each with the probability of the class
        itself. Classes without a column have probability 0; what is missing to a sum of 1 stays at the root.
    outside
        Names of classes that are not in the tree, such as "blank"; their probability stays at the root, or at the
        last ancestor that the tree has. In listed classes, "*" stands for whatever is not in the tree.
    only
        Names of the classes that are possible, leaves or clades; the likelihoods of others are dropped, and what
        remains is divided by its sum.
    single_child
        Whether a node with one child is an "answer" of its own, or is left out ("skip"). By default "answer" for
        the formats sintax, rdp, qiime2, speciesnet and pybioclip. `evaluate` takes it from here.
    labels
        Whether labels are needed. If not, they are not looked at.
    labels_file
        A table of labels, joined by id: columns `id` and `label` (or a lineage), perhaps `group` and `cluster`;
        or the `label_file` of another part.
    label_column, id_column
        The columns of a table, or members of an `.npz` file, that hold labels and ids, if they are not called
        `label` and `id` (`labels` and `ids`). With a file of labels, the ids may have this name in either file.
    class_columns
        The columns of a wide table that are classes; others are then ignored, unless they are about the examples.
    class_prefix
        What the names of the class columns begin with, in front of the class; others are then ignored as well.
    delimiter
        What separates the columns of a `.csv` file, if not a comma: one character, or "tab".
    group_column, cluster_column
        The columns, or members, that hold groups and clusters, if they are not called `group` and `cluster`
        (`groups` and `clusters`).
    block_rows
        Rows to read at a time; by default as many as take some 30 MB.
    row_groups
        Of a Parquet file, read only these row groups.
    part
        Whether the file is one part of several, all of whose labels are in the file of labels.

    Examples
    --------
    >>> import tempfile, pathlib, hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "scores.csv")
    ...     _ = file.write_text("wolf,cat,dog,label\n0.5,0.25,0.25,wolf\n0,0.5,0.5,pet\n")
    ...     for block in hr.open_scores(file, h):
    ...         print(block.q.tolist(), block.labels.tolist())
    [[1.0, 0.5, 0.25, 0.25, 0.5], [1.0, 1.0, 0.5, 0.5, 0.0]] [4, 1]
    """
    if block_rows is not None and block_rows < 1:
        raise ParameterError(f"block_rows must be 1 or more, not {block_rows}.")
    if not isinstance(labels, bool):
        raise ParameterError(
            f"labels says whether labels are needed, True or False, not {labels!r}. A file of labels is "
            f"labels_file=..., a column of the scores label_column=...."
        )
    if isinstance(outside, str):
        raise ParameterError(f"outside must be a list of names, not the text {outside!r}.")
    label_file: LabelFile | None = None
    if isinstance(labels_file, LabelFile):
        label_file = labels_file
    elif labels_file is not None and (labels or group_column is not None):
        label_file = LabelFile(
            labels_file,
            hierarchy,
            label_column=label_column,
            id_column=id_column,
            delimiter=delimiter,
            group_column=group_column,
            cluster_column=cluster_column,
            outside=outside,
            labels=labels,
            part=part,
        )
    names = ColumnNames(
        label_column if labels_file is None else None,
        id_column,
        class_columns,
        class_prefix,
        group_column,
        cluster_column,
        frozenset() if label_file is None else label_file.named,
    )
    found = find_format(os.fspath(path), scores_format, delimiter)
    source: Source
    if found == WIDE:
        wide = open_reader(
            path, names, delimiter=delimiter, labels=labels and labels_file is None, row_groups=row_groups
        )
        if labels and labels_file is None:
            _require_labels(wide)
        source = WideScores(
            hierarchy,
            wide,
            logits=logits,
            renormalise=renormalise or votes,
            own=columns == "own",
            outside=outside,
        )
    else:
        _refuse_wide(os.fspath(path), found, logits, renormalise, columns, names)
        listing = FORMATS[found].open(os.fspath(path), names, delimiter)
        if labels and labels_file is None:
            _require_labels(listing)
        source = ListedScores(hierarchy, listing, outside=outside, votes=votes)
    usual: SingleChild = "skip" if found == WIDE else FORMATS[found].single_child
    return ScoreFile(
        source,
        format=found,
        labels=labels if label_file is None else label_file,
        only=None if only is None else hierarchy.indices([only] if isinstance(only, str) else list(only)),
        single_child=single_child or usual,
        block_rows=block_rows,
    )


def _require_labels(reader: Reader | ListReader) -> None:
    if "labels" not in reader.has:
        raise ScoreError(f"{reader.path} needs labels for this. {reader.missing_labels}")


def _refuse_wide(
    path: str, found: str, logits: bool, renormalise: bool, columns: str | None, names: ColumnNames
) -> None:
    """Refuse arguments that have a meaning for wide files alone."""
    given = {
        argument("logits", True): logits,
        argument("renormalise", True): renormalise,
        argument("columns", "own"): columns is not None,
        "the class columns": names.names_classes,
    }
    for said, is_given in given.items():
        if is_given:
            raise ParameterError(f"{path} is in the format {found}, and {said} is for wide files: leave it out.")


def open_reader(
    path: str | os.PathLike[str],
    names: ColumnNames,
    *,
    delimiter: str | None = None,
    labels: bool = True,
    row_groups: range | None = None,
) -> Reader:
    """Open a score file, without a tree; the parameters are those of `open_scores`."""
    shown = os.fspath(path)
    suffix = extension(path)
    if row_groups is not None:
        return TableReader(ParquetTable(shown, row_groups), names)
    if suffix in TABLES:
        return TableReader(TABLES[suffix](shown, delimiter), names)
    if suffix != ".npz":
        what = repr(suffix) if suffix else "a name without extension"
        raise ParameterError(f"{shown}: scores are read from .npz, {', '.join(TABLES)} files, not from {what}.")
    if names.names_classes:
        raise ParameterError(
            f"{shown} names its classes itself, in its member 'classes': class columns are those of tables."
        )
    return NpzReader(NpzFile(shown), names, labels=labels)
