"""Feature files: embeddings with class names, as NumPy's `.npz` or as Parquet."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, final
from zipfile import BadZipFile

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.files import require_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    Texts = NDArray[np.object_]

_ABOUT_EXAMPLES = {"id", "split", "group", "text", "image"}


@final
@dataclass(frozen=True, eq=False)
class FeatureFile:
    """What a feature file holds."""

    path: str
    features: NDArray[np.float32]
    """[N, d]."""
    labels: Texts | None
    """[N, ranks], coarsest rank first, "" where a rank is blank; one column if there are no ranks."""
    ranks: tuple[str, ...]
    """Names of the label columns."""
    split: Texts | None
    ids: Texts | None

    def __post_init__(self) -> None:
        rows = len(self.features)
        for what, array in (("labels", self.labels), ("split", self.split), ("ids", self.ids)):
            if array is not None and len(array) != rows:
                raise FileError(
                    f"{self.path} holds {rows:,} rows of features, but {len(array):,} {what}. Save one per row."
                )
        bad = np.flatnonzero(~np.isfinite(self.features).all(axis=1))
        if len(bad):
            raise FileError(
                f"{self.path}: the features of row {bad[0]} (counted from 0; {len(bad):,} rows in all) are not "
                f"finite numbers. Remove those rows, or compute their features again."
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
    try:
        with np.load(path, allow_pickle=False) as archive:
            wanted = {"features", "X", "labels", "ranks", "split", "ids"}.intersection(archive.files)
            arrays = {member: archive[member] for member in wanted}
    except (OSError, EOFError, BadZipFile, ValueError) as error:
        if "Object arrays" in str(error):
            raise FileError(
                f"{path} holds an array of Python objects, which is never unpickled. Save names as text: "
                f"np.array(names, dtype=str)."
            ) from None
        why = "it is not an archive that np.savez wrote" if "allow_pickle" in str(error) else error
        raise FileError(f"{path} cannot be read as .npz: {why}.") from None
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
    import pandas as pd
    from pyarrow import ArrowException

    try:
        table = pd.read_parquet(path)
    except (ArrowException, OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read as Parquet: {error}.") from None
    found = [column for column in label if column in table.columns]
    if found and found != label:
        missing = [column for column in label if column not in found]
        raise FileError(f"{path} has no column {some(missing)}. Its columns: {some(map(str, table.columns))}.")
    return FeatureFile(
        path,
        _feature_columns(table, {*label, *_ABOUT_EXAMPLES}, path),
        table[found].fillna("").astype(str).to_numpy(dtype=object) if found else None,
        tuple(label),
        table["split"].fillna("").astype(str).to_numpy(dtype=object) if "split" in table else None,
        table["id"].astype(str).to_numpy(dtype=object) if "id" in table else None,
    )


def _feature_columns(table: pd.DataFrame, others: set[str], path: str) -> NDArray[np.float32]:
    if "features" in table:
        try:
            return _checked(np.stack(table["features"].tolist()) if len(table) else np.empty((0, 0)), path)
        except (ValueError, TypeError):
            raise FileError(
                f"{path}: the lists in column 'features' must hold numbers and have the same length."
            ) from None
    numbers = table.drop(columns=[column for column in table.columns if column in others])
    texts = [str(column) for column, kind in numbers.dtypes.items() if kind.kind not in "biuf"]
    if texts:
        raise FileError(
            f"{path}: {some(texts)} should be features but are not numbers. Remove these columns, or name those "
            f"that hold labels: label=[...]."
        )
    return _checked(numbers.to_numpy(), path)


def _checked(features: NDArray[Any], path: str) -> NDArray[np.float32]:
    if features.ndim != 2 or features.shape[1] == 0 or features.dtype.kind not in "biuf":
        raise FileError(
            f"{path}: features must be numbers [examples, features], not {features.dtype} of shape "
            f"{features.shape}."
        )
    return features.astype(np.float32)


def _texts(array: NDArray[Any], what: str, path: str) -> Texts:
    if array.dtype.kind not in "UTiu" or (array.dtype.kind in "iu" and what != "ids"):
        raise FileError(
            f"{path}: {what!r} must hold names, not {array.dtype}. The order is never guessed: save the names "
            f"themselves, np.array(names)[{what}]."
        )
    return array.astype(str).astype(object)
