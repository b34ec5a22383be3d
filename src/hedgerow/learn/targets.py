"""Labels as people have them (names at any depth, or lineages) as nodes of a tree."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from hedgerow.errors import TreeError, UnknownNameError
from hedgerow.learn.lineages import lineage_nodes
from hedgerow.tree import FlawedTreeError, Hierarchy

if TYPE_CHECKING:
    from hedgerow.learn.lineages import Row
    from hedgerow.tree import Indices

Labels = NDArray[Any]


def is_lineages(y: Any) -> bool:
    """Tell whether labels are lineages, one rank a column or a sequence each, rather than one name an example."""
    if hasattr(y, "shape") and len(y.shape) != 1:
        return len(y.shape) == 2 and y.shape[1] > 1
    if hasattr(y, "dtype") and y.dtype != object:
        return False
    if not hasattr(y, "__iter__"):
        return False
    return isinstance(next((label for label in y if not _is_blank(label)), None), list | tuple)


def names_of(y: Any) -> Labels:
    """Return one-dimensional labels as an array, checked; a column becomes a row with scikit-learn's warning."""
    labels: Labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    return labels


def flat_tree(labels: Labels) -> tuple[Hierarchy, Labels]:
    """Return the tree root > classes of one-dimensional labels, and the distinct labels, in its order."""
    check_classification_targets(labels)
    classes = np.unique(labels)
    names = [str(label) for label in classes]
    root = "root"
    while root in names:
        root += "_"
    return Hierarchy.from_parents([root, *names], [-1] + [0] * len(names)), classes


def flat_nodes(classes: Labels, labels: Labels) -> Indices | None:
    """Return the nodes of labels in the tree that `flat_tree` made, or None if some are not classes."""
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return place.astype(np.int64) + 1 if np.array_equal(classes[place], labels) else None


def lineage_tree(y: Any) -> Hierarchy:
    """Build the tree that lineages span; the columns of a DataFrame are its ranks."""
    rows = lineage_rows(y)
    width = max(map(len, rows), default=0)
    header = tuple(map(str, y.columns)) if hasattr(y, "columns") else tuple(f"level {i + 1}" for i in range(width))
    try:
        return Hierarchy.from_lineages(list(dict.fromkeys(rows)), ranks=header)
    except FlawedTreeError as error:
        raise TreeError(
            f"The labels do not span a tree: {error} Such arguments belong to the tree: build it first, with "
            f"Hierarchy.from_lineages, and give it to the classifier."
        ) from None


def lineage_rows(y: Any) -> list[Row]:
    """Return lineages as rows of equal length, coarsest name first, "" where there is none."""
    if hasattr(y, "itertuples"):
        listed = y.itertuples(index=False, name=None)
    else:
        listed = y.tolist() if isinstance(y, np.ndarray) else y
    rows = [tuple(map(_cell, row if isinstance(row, list | tuple) else (row,))) for row in listed]
    return list(zip(*zip_longest(*rows, fillvalue=""), strict=True))


def _cell(value: Any) -> str:
    return "" if _is_blank(value) or not str(value).strip() else str(value)


def _is_blank(value: Any) -> bool:
    # NaN of any kind differs from itself; pandas' NA and arrays refuse to say so.
    if value is None or type(value).__name__ == "NAType":
        return True
    return not hasattr(value, "__len__") and bool(value != value)


def nodes_of(hierarchy: Hierarchy, y: Any) -> Indices:
    """Return the node of each label: of its name, or of the last name of its lineage (the root if it has none)."""
    if is_lineages(y):
        return lineage_nodes(hierarchy, lineage_rows(y))
    labels = names_of(y)
    try:
        return hierarchy.indices([str(name) for name in labels.tolist()])
    except UnknownNameError as error:
        if labels.dtype.kind not in "iu":
            raise
        raise UnknownNameError(
            f"{error} These labels are numbers: give names of classes. scikit-learn's cross_val_predict with "
            f"predict_proba, VotingClassifier and StackingClassifier replace names by numbers before they fit: "
            f"fit in a loop over the folds instead."
        ) from None
