"""Labels: the nodes that they name, and those that mean that there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import (
    ParameterError,
    ScoreError,
    UnknownNameError,
    argument,
    closest,
    counted,
)
from hedgerow.files import (
    TABLES,
    InputFile,
    column_texts,
    extension,
    read_lines,
    reading,
    row_name,
)
from hedgerow.score_files.lineage_binding import parsed_lineage
from hedgerow.score_files.wide_files import npz_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.score_files.examples import Block
    from hedgerow.score_files.score_reading import ScoreReading
    from hedgerow.tree import Hierarchy, Indices

_SHOWN = 5
MISSING = -1
"""In place of the node of a label: there is none. Lower numbers mean the texts of `drop_label`."""


def read_labels(
    path: str | os.PathLike[str], *, label_column: str | None = None, delimiter: str | None = None
) -> list[str]:
    r"""Read a file of labels, which need not be in a tree.

    Parameters
    ----------
    path
        A `.txt` file with one label per line (blank lines are skipped); a `.csv`, `.tsv` or `.parquet` table with
        a column `label`; or an `.npz` file with a member `labels`.
    label_column
        The column, or the member, if it has another name.
    delimiter
        The delimiter of a `.csv` file, if not a comma.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "labels.csv")
    ...     _ = file.write_text("id,label\n1,cat\n2,wolf\n")
    ...     read_labels(file)
    ['cat', 'wolf']
    """
    shown = os.fspath(path)
    suffix = extension(path)
    if suffix == ".txt":
        return [line for line in read_lines(path) if line.strip()]
    if suffix == ".npz":
        return npz_labels(shown, label_column or "labels")
    if suffix not in TABLES:
        raise ParameterError(
            f"{shown}: labels are read from .txt, .npz, {', '.join(TABLES)} files, not from {suffix!r}."
        )
    table = InputFile(path, delimiter, any_delimiter=True).table
    place = table.column(label_column or "label", "the labels", "label_column")
    labels: list[str] = []
    for _, columns in table.batches(1 << 16, [place], []):
        with reading(shown, "a table"):
            labels += column_texts(columns[place])  # equal texts are one object: a file may repeat a long one
    return labels


def no_label(label: str, dropped: Sequence[str]) -> int | None:
    """Return `MISSING` for a blank label, a lower number for one that is to be dropped; None for any other."""
    text = label.strip()
    if text in dropped:
        return MISSING - 1 - dropped.index(text)
    return None if any(step.names[0] for step in parsed_lineage(text, ";")) else MISSING


def label_nodes(
    hierarchy: Hierarchy, path: str, labels: list[str], rows: Sequence[int], how: ScoreReading
) -> Indices:
    """Return the nodes of the labels in a score file; `MISSING` or less where there is none.

    An error lists unknown labels with their rows; if a file of labels counts instead, these are missing.
    """
    node: dict[str, int] = {}
    unknown: list[str] = []
    for label in dict.fromkeys(labels):
        if label in hierarchy and label.strip() not in how.drop_label:
            node[label] = hierarchy.index(label)
            continue
        missing = no_label(label, how.drop_label)
        node[label] = MISSING if missing is None else missing
        if missing is None:
            unknown.append(label)
    if unknown and how.labels_file is None:
        shown = ", ".join(f"{name!r} in {row_name(path, rows[labels.index(name)])}" for name in unknown[:_SHOWN])
        more = ", ..." if len(unknown) > _SHOWN else ""
        raise UnknownNameError(
            f"{path}: {counted(len(unknown), 'label is', 'labels are')} not in the tree: {shown}{more}."
            f"{closest(unknown[:_SHOWN], hierarchy)} {to_drop()}"
        )
    return np.fromiter(map(node.__getitem__, labels), np.int64, len(labels))


def to_drop() -> str:
    """Say what to do about a label that means that the class is not known."""
    return f"If a label means that the class is not known, leave it out: {argument('drop_label', ('unknown',))}."


def labelled(
    blocks: Iterator[Block], path: str, hierarchy: Hierarchy, how: ScoreReading, remarks: list[str], *, part: bool
) -> Iterator[Block]:
    """Yield blocks without the examples that have no label, which are reported in `remarks` at the end.

    Unless the file is one part of several, it is an error if there are no others.
    """
    dropped = np.zeros(1 + len(how.drop_label), dtype=np.int64)
    left = 0
    for block in blocks:
        if block.labels is None:
            yield block
            continue
        there = block.labels > MISSING
        dropped += np.bincount(MISSING - block.labels[~there], minlength=len(dropped))
        left += int(there.sum())
        if there.all() or part or there.any():
            yield block if there.all() else block.take(there)
    blank, *others = dropped.tolist()
    if not dropped.sum():
        return
    kinds = [f"{counted(blank, 'example has', 'examples have')} no label"] if blank else []
    kinds += [
        f"{counted(count, 'example is', 'examples are')} labelled {text!r}"
        for text, count in zip(how.drop_label, others, strict=True)
        if count
    ]
    are = "is" if dropped.sum() == 1 else "are"
    root = f" A label that means the root is written {str(hierarchy.names[0])!r}." if blank else ""
    remark = f"{path}: {' and '.join(kinds)}, and {are} left out.{root}"
    if not left and not part:
        raise ScoreError(f"{remark} No example is left.")
    remarks.append(remark)
