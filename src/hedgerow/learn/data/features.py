"""Feature files: embeddings with class names, as NumPy's `.npz` or as Parquet."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, counted, some
from hedgerow.files import Archive, ParquetTable, column_texts, reading, require_file
from hedgerow.learn.data.splits import SPLITS, DataSplits, LabelledInputs, hold_out, tree_settings
from hedgerow.learn.targets import lineage_nodes
from hedgerow.tree import Hierarchy, Indices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    Texts = NDArray[np.object_]

_ABOUT_EXAMPLES = {"id", "split", "group", "text", "image"}


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
        The file: see `read_features`. If labels have several ranks, the most specific rank that is filled in is
        the label; a row without any is labelled with the root.
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
    with tree_settings():
        hierarchy = _tree(file, root) if tree is None else Hierarchy.read(tree, tree_format, root=root)
    return _split(file, hierarchy, {"val": val_share, "test": test_share}, seed)


def _tree(file: FeatureFile, root: str) -> Hierarchy:
    rows = list(dict.fromkeys(file.lineages))
    if len(file.ranks) == 1:
        return Hierarchy.from_edges([(root, name) for (name,) in rows if name])
    return Hierarchy.from_lineages(rows, ranks=file.ranks, root=root)


def label_nodes(file: FeatureFile, hierarchy: Hierarchy) -> Indices:
    """Return the node of each label; of a lineage, that of its most specific name."""
    rows = file.lineages
    if len(file.ranks) > 1:
        return lineage_nodes(hierarchy, rows, skip_unknown=True)  # the tree need not have every rank
    blank = next((i for i, (name,) in enumerate(rows) if not name.strip()), None)
    if blank is not None:
        raise FileError(
            f"{file.path}: row {blank} (counted from 0) has no label. Give it one; "
            f"{hierarchy.names[0]!r} stands for 'any class'."
        )
    return hierarchy.indices([name for (name,) in rows])


def _split(file: FeatureFile, hierarchy: Hierarchy, shares: dict[str, float], seed: int) -> DataSplits:
    """Return the splits of the file; for those it lacks, hold out a share of the training examples."""
    examples = LabelledInputs(file.features, label_nodes(file, hierarchy), file.ids)
    given = np.full(len(examples), "train", dtype=object) if file.split is None else file.split
    other = [split for split in dict.fromkeys(given.tolist()) if split not in SPLITS]
    if other:
        raise FileError(f"{file.path}: there is no split {some(other)}. Write {', '.join(SPLITS)}.")
    parts: dict[str, LabelledInputs] = {split: examples.subset(given == split) for split in SPLITS}
    for split, share in shares.items():
        if not len(parts[split]):
            # Shares refer to all the training examples of the file, including those already split off.
            share *= len(examples.subset(given == "train")) / max(1, len(parts["train"]))
            parts["train"], parts[split] = hold_out(parts["train"], share, seed)
    empty = [split for split in SPLITS if not len(parts[split])]
    if empty:
        raise FileError(f"{file.path} leaves no examples for {some(empty)}. Add rows, or change 'split'.")
    return DataSplits(PurePath(file.path).stem, hierarchy, parts["train"], parts["val"], parts["test"])


@final
@dataclass(frozen=True, eq=False)
class FeatureFile:
    """The content of a feature file."""

    path: str
    features: NDArray[np.float32]
    """[N, d]."""
    labels: Texts | None
    """[N, ranks], coarsest rank first, "" where a rank is blank; one column if there are no ranks."""
    ranks: tuple[str, ...]
    """Names of the label columns."""
    split: Texts | None
    ids: Texts | None

    @property
    def lineages(self) -> list[tuple[str, ...]]:
        """The labels of each example, coarsest rank first; an error if the file has none."""
        if self.labels is None:
            raise FileError(
                f"{self.path} holds no labels. Save names as 'labels' (.npz), or name the column that holds them: "
                f"label='...' (.parquet)."
            )
        return list(map(tuple, self.labels.tolist()))

    def __post_init__(self) -> None:
        rows = len(self.features)
        if not rows:
            raise FileError(f"{self.path} has no rows: there are no examples in it.")
        for what, array in (("labels", self.labels), ("split", self.split), ("ids", self.ids)):
            if array is not None and len(array) != rows:
                raise FileError(
                    f"{self.path} holds {rows:,} rows of features, but {len(array):,} {what}. Save one per row."
                )
        bad = np.flatnonzero(~np.isfinite(self.features).all(axis=1))
        if len(bad):
            raise FileError(
                f"{self.path}: the features of row {bad[0]} (counted from 0) are not finite numbers, in "
                f"{counted(len(bad), 'row', 'rows')} of {rows:,}. Remove them, or compute their features again."
            )


def read_features(path: str | PathLike[str], label: str | Sequence[str] = "label") -> FeatureFile:
    """Read a feature file; labels, split and ids are None if it has none.

    Parameters
    ----------
    path
        `.npz` with `features` (or `X`) [N, d] and optionally `labels` (names [N], or [N, ranks] with `ranks`
        naming the columns), `split` and `ids`; or `.parquet` with either a column `features` of lists or one
        numeric column per feature, and optionally label columns, `split` and `id`.
    label
        Name of the label column of a Parquet file, or names of its rank columns, coarsest first.
    """
    shown = os.fspath(path)
    require_file(shown)
    columns = [label] if isinstance(label, str) else list(label)
    match PurePath(shown).suffix.lower():
        case ".npz":
            return _from_npz(shown)
        case ".parquet":
            return _from_parquet(shown, columns)
        case other:
            raise FileError(f"{shown}: feature files are .npz or .parquet, not {other!r}.")


def _from_npz(path: str) -> FeatureFile:
    with Archive(path) as archive:
        wanted = {"features", "X", "labels", "ranks", "split", "ids"}.intersection(archive.arrays)
        arrays = {member: archive.array(member) for member in sorted(wanted)}
    features = arrays.get("features", arrays.get("X"))
    if features is None:
        raise FileError(
            f"{path} has no member 'features'. Save it with np.savez(..., features=array, labels=names)."
        )
    labels = arrays.get("labels")
    ranks = arrays.get("ranks")
    if labels is not None:
        labels = labels[:, None] if labels.ndim == 1 else labels
        if labels.ndim != 2 or labels.shape[1] != (1 if ranks is None else ranks.size):
            raise FileError(
                f"{path}: labels of shape {labels.shape} need 'ranks', the names of the columns, coarsest first. "
                f"It names {0 if ranks is None else ranks.size}."
            )
    return FeatureFile(
        path,
        _checked(features, path),
        None if labels is None else _texts(labels, "labels", path),
        ("label",) if ranks is None else tuple(_texts(ranks, "ranks", path).tolist()),
        _texts(arrays["split"], "split", path) if "split" in arrays else None,
        _texts(arrays["ids"], "ids", path) if "ids" in arrays else None,
    )


def _from_parquet(path: str, label: list[str]) -> FeatureFile:
    table = ParquetTable(path)
    with reading(path, "Parquet"):
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    types = dict(zip(table.columns, table.schema.types, strict=True))
    columns = [name for name in types if name not in index]
    if len(types) < len(table.columns):
        twice = next(name for name, count in Counter(table.columns).items() if count > 1)
        raise FileError(f"{path} has several columns {twice!r}. Remove all but one.")
    found = [column for column in label if column in types]
    if found and found != label:
        missing = [column for column in label if column not in found]
        raise FileError(f"{path} has no column {some(missing)}. Its columns: {some(columns)}.")
    inputs = _feature_columns(types, columns, {*label, *_ABOUT_EXAMPLES}, path)
    about = dict.fromkeys([*found, *(name for name in ("split", "id") if name in types)])
    rows = table.whole([*inputs, *about], texts=about)
    with reading(path, "Parquet"):
        texts = {name: np.array(column_texts(rows.column(name)), dtype=object) for name in about}
    return FeatureFile(
        path,
        _from_lists(rows.column("features"), path)
        if inputs == ["features"]
        else _from_columns(rows, inputs, path),
        np.stack([texts[name] for name in found], axis=1) if found else None,
        tuple(label),
        texts.get("split"),
        texts.get("id"),
    )


def _feature_columns(types: dict[str, Any], columns: list[str], others: set[str], path: str) -> list[str]:
    """Return the columns that hold features: `features`, of lists, or all columns without another meaning."""
    from pyarrow import types as kinds

    if "features" in columns:
        return ["features"]
    inputs = [name for name in columns if name not in others]
    numeric = (kinds.is_integer, kinds.is_floating, kinds.is_boolean)
    texts = [name for name in inputs if not any(test(types[name]) for test in numeric)]
    if texts:
        raise FileError(
            f"{path}: {some(texts)} should be features but are not numbers. Remove these columns, or name those "
            f"that hold labels: label=[...]."
        )
    return inputs


def _from_lists(column: Any, path: str) -> NDArray[np.float32]:
    from pyarrow import compute

    with reading(path, "lists of numbers, all of the same length"):
        lengths = compute.unique(compute.list_value_length(column)).to_pylist()
        if not lengths:
            return np.empty((0, 1), dtype=np.float32)
        if len(lengths) != 1 or lengths[0] is None:
            raise ValueError(f"the lengths in column 'features' are {lengths[:5]}")
        values = compute.list_flatten(column).to_numpy()
        return _checked(values.reshape(len(column), lengths[0]), path)


def _from_columns(table: Any, inputs: list[str], path: str) -> NDArray[np.float32]:
    features = np.empty((len(table), len(inputs)), dtype=np.float32)
    with reading(path, "Parquet"):
        for place, name in enumerate(inputs):
            features[:, place] = table.column(name).to_numpy()
    return _checked(features, path)


def _checked(features: NDArray[Any], path: str) -> NDArray[np.float32]:
    if features.ndim != 2 or features.shape[1] == 0 or features.dtype.kind not in "biuf":
        raise FileError(
            f"{path}: features must be numbers [examples, features], not {features.dtype} of shape "
            f"{features.shape}."
        )
    with np.errstate(over="ignore"):  # infinite numbers are refused later
        return features.astype(np.float32, copy=False)


def _texts(array: NDArray[Any], what: str, path: str) -> Texts:
    if array.dtype.kind not in "UTiu" or (array.dtype.kind in "iu" and what != "ids"):
        raise FileError(
            f"{path}: {what!r} must hold names, not {array.dtype}. The order is never guessed: save the names "
            f"themselves, np.array(names)[{what}]."
        )
    return array.astype(str).astype(object)
