"""Feature files as data sets."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.learn.data import SPLITS, DataSplits, Examples
from hedgerow.learn.data.base import tree_settings
from hedgerow.learn.data.feature_files import FeatureFile, read_features
from hedgerow.learn.data.held_out import hold_out
from hedgerow.learn.lineages import lineage_nodes
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from hedgerow.tree import Indices


def load_features(
    *,
    path: str | PathLike[str],
    tree: str | PathLike[str] | None = None,
    tree_format: str | None = None,
    root: str = "root",
    label: str | Sequence[str] = "label",
    val_share: float = 0.1,
    test_share: float = 0.2,
    seed: int = 0,
) -> DataSplits:
    """Load embeddings with class names; labels may be nodes at any depth, mixed freely.

    Parameters
    ----------
    path
        The file: see `hedgerow.learn.data.feature_files.read_features`. If labels have several ranks, the most
        specific rank that is filled in is the label; a row without any is labelled with the root.
    tree, tree_format
        A tree file. By default the tree is built from the ranks, or is a root with all classes below it.
    root
        Name of the root of a tree that is built.
    label
        Label column of a Parquet file, or its rank columns, coarsest first.
    val_share, test_share
        Shares of the training examples to hold out, class by class, for splits that the file does not have.
    seed
        Seed of what is held out.
    """
    file = read_features(path, label)
    if file.labels is None:
        raise FileError(
            f"{file.path} holds no labels. Save names as 'labels' (.npz), or name the column that holds them: "
            f"label='...' (.parquet)."
        )
    with tree_settings():
        hierarchy = _tree(file, root) if tree is None else Hierarchy.read(tree, tree_format, root=root)
    examples = Examples(file.features, label_nodes(file, hierarchy), file.ids)
    return _split(PurePath(file.path).stem, hierarchy, examples, file, (val_share, test_share), seed)


def _tree(file: FeatureFile, root: str) -> Hierarchy:
    if file.labels is None:
        raise FileError(f"{file.path} holds no labels to build a tree from.")
    rows = list(dict.fromkeys(map(tuple, file.labels.tolist())))
    if len(file.ranks) == 1:
        return Hierarchy.from_edges([(root, name) for (name,) in rows if name])
    return Hierarchy.from_lineages(rows, ranks=file.ranks, root=root)


def label_nodes(file: FeatureFile, hierarchy: Hierarchy) -> Indices:
    """Return the node of each label; of a lineage, that of its most specific name."""
    if file.labels is None:
        raise FileError(f"{file.path} holds no labels, which are needed here. Save the names as 'labels'.")
    rows = list(map(tuple, file.labels.tolist()))
    if len(file.ranks) > 1:
        return lineage_nodes(hierarchy, rows, skip_unknown=True)  # the tree need not have every rank
    blank = next((i for i, (name,) in enumerate(rows) if not name.strip()), None)
    if blank is not None:
        raise FileError(
            f"{file.path}: row {blank} (counted from 0) has no label. Give it one; "
            f"{hierarchy.names[0]!r} stands for 'any class'."
        )
    return hierarchy.indices([name for (name,) in rows])


def _split(
    name: str,
    hierarchy: Hierarchy,
    examples: Examples,
    file: FeatureFile,
    shares: tuple[float, float],
    seed: int,
) -> DataSplits:
    given = np.full(len(examples), "train", dtype=object) if file.split is None else file.split
    other = [split for split in dict.fromkeys(given.tolist()) if split not in SPLITS]
    if other:
        raise FileError(f"{file.path}: there is no split {some(other)}. Write {', '.join(SPLITS)}.")
    parts = {split: examples.subset(given == split) for split in SPLITS}
    for split, share in zip(SPLITS[1:], shares, strict=True):
        if not len(parts[split]):
            # Shares refer to all the training examples of the file, including those already split off.
            share *= len(examples.subset(given == "train")) / max(1, len(parts["train"]))
            parts["train"], parts[split] = hold_out(parts["train"], share, seed)
    empty = [split for split in SPLITS if not len(parts[split])]
    if empty:
        raise FileError(f"{file.path} leaves no examples for {some(empty)}. Add rows, or change 'split'.")
    return DataSplits(name, hierarchy, parts["train"], parts["val"], parts["test"])
