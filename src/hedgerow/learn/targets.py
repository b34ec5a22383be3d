"""Turn labels (names at any depth, or lineages) into nodes of a tree."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from hedgerow.errors import TreeError, UnknownNameError
from hedgerow.score_files import bare_name
from hedgerow.tree import FlawedTreeError, Hierarchy, Indices

if TYPE_CHECKING:
    from collections.abc import Sequence


Labels = NDArray[Any]
Lineage = tuple[str, ...]
"""Names, coarsest first; blank where there is none."""


def is_lineages(y: Any) -> bool:
    """Return whether labels are lineages (one rank per column, or a sequence each) rather than single names."""
    if hasattr(y, "shape") and len(y.shape) != 1:
        return len(y.shape) == 2 and y.shape[1] > 1
    if hasattr(y, "dtype") and y.dtype != object:
        return False
    if not hasattr(y, "__iter__"):
        return False
    return isinstance(next((label for label in y if not _is_blank(label)), None), list | tuple)


def names_of(y: Any) -> Labels:
    """Return checked one-dimensional labels; a column is flattened, with scikit-learn's warning."""
    labels: Labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    return labels


def flat_tree(labels: Labels) -> tuple[Hierarchy, Labels]:
    """Return the tree root > classes of one-dimensional labels, and the distinct labels in its order."""
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
    """Build the tree of lineages; the columns of a DataFrame are its ranks."""
    rows = lineage_rows(y)
    width = max(map(len, rows), default=0)
    header = tuple(map(str, y.columns)) if hasattr(y, "columns") else tuple(f"level {i + 1}" for i in range(width))
    try:
        return Hierarchy.from_lineages(list(dict.fromkeys(rows)), ranks=header)
    except FlawedTreeError as error:
        raise TreeError(
            f"The labels do not form a tree: {error} Build the tree first, with Hierarchy.from_lineages, which "
            f"takes such arguments, and give it to the classifier."
        ) from None


def lineage_rows(y: Any) -> list[Lineage]:
    """Return lineages of equal length, coarsest name first, "" where there is none."""
    if hasattr(y, "itertuples"):
        listed = y.itertuples(index=False, name=None)
    else:
        listed = y.tolist() if isinstance(y, np.ndarray) else y
    rows = [tuple(map(_cell, row if isinstance(row, list | tuple) else (row,))) for row in listed]
    return list(zip(*zip_longest(*rows, fillvalue=""), strict=True))


def _cell(value: Any) -> str:
    return "" if _is_blank(value) or not str(value).strip() else str(value)


def _is_blank(value: Any) -> bool:
    # NaN of any kind differs from itself; pandas' NA and arrays cannot be compared like that.
    if value is None or type(value).__name__ == "NAType":
        return True
    return not hasattr(value, "__len__") and bool(value != value)


def nodes_of(hierarchy: Hierarchy, y: Any) -> Indices:
    """Return the node of each name, or of the last name in each lineage (the root if all are blank)."""
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


def lineage_nodes(hierarchy: Hierarchy, rows: Sequence[Lineage], *, skip_unknown: bool = False) -> Indices:
    """Return the node that each lineage leads to, the root if all its names are blank.

    A lineage may begin with the root. A name that the tree made distinct, as in "birds/Morus" and "plants/Morus",
    is plain "Morus" there.

    Parameters
    ----------
    hierarchy
        The tree.
    rows
        The lineages.
    skip_unknown
        Skip names that are not in the tree, except the last one of a lineage.

    >>> from hedgerow import Hierarchy
    >>> rows = [("birds", "Morus"), ("plants", "Morus"), ("", "")]
    >>> h = Hierarchy.from_lineages(rows, ranks=None, disambiguate=True)
    >>> h.names[lineage_nodes(h, rows)].tolist()
    ['birds/Morus', 'plants/Morus', 'root']
    """
    shared = _shared_names(hierarchy)
    paths = {row: [name for name in row if name.strip()] for row in dict.fromkeys(rows)}
    if skip_unknown:
        paths = {
            row: [name for name in path[:-1] if name in hierarchy or name in shared] + path[-1:]
            for row, path in paths.items()
        }
    unknown = [name for path in paths.values() for name in path if name not in hierarchy and name not in shared]
    hierarchy.indices(unknown)  # raises an error that names them
    node = {row: _last_node(hierarchy, path, shared) for row, path in paths.items()}
    return np.fromiter((node[row] for row in rows), dtype=np.int64, count=len(rows))


def _shared_names(hierarchy: Hierarchy) -> dict[str, list[int]]:
    """Return the nodes, ascending, of each name that was made distinct: 'parent/name' or 'name [id]'."""
    shared: dict[str, list[int]] = {}
    for node, name in enumerate(hierarchy.names.tolist()):
        if (name[-1] == "]" or "/" in name) and (bare := bare_name(hierarchy, node)) != name:
            shared.setdefault(bare, []).append(node)
    return shared


def _last_node(hierarchy: Hierarchy, path: list[str], shared: dict[str, list[int]]) -> int:
    here = 0
    for name in path[1:] if path[:1] == [hierarchy.names[0]] else path:
        here = _next_node(hierarchy, here, name, shared)
    return here


def _next_node(hierarchy: Hierarchy, here: int, name: str, shared: dict[str, list[int]]) -> int:
    """Return the node that a lineage names next; of several that share the name, the one below `here`.

    If there are several of these too, it is the child of `here`.
    """
    end = hierarchy.end
    if name in hierarchy and here < hierarchy.index(name) < end[here]:
        return hierarchy.index(name)
    below = [node for node in shared.get(name, ()) if here < node < end[here]]
    if below and below[-1] < end[below[0]]:  # one node, or a node and others within it
        return below[0]
    children = [node for node in below if hierarchy.parent[node] == here]
    if len(children) == 1:
        return children[0]
    node = int(hierarchy.indices([name])[0])
    if not hierarchy.is_ancestor(here, node):
        lineage = " > ".join(hierarchy.names[hierarchy.lineage(node)])
        raise TreeError(
            f"A label puts {hierarchy.names[node]!r} below {hierarchy.names[here]!r}, but in the tree it is at "
            f"{lineage}."
        )
    return node
