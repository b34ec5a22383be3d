"""Small score files of every format, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from hedgerow.score_files import Scores

EDGES = [
    ("animal", "bird"),
    ("animal", "fish"),
    ("bird", "robin"),
    ("bird", "wren"),
    ("fish", "cod"),
    ("fish", "eel"),
]
LEAVES = ["robin", "wren", "cod", "eel"]
H = hr.Hierarchy.from_edges(EDGES)


def probabilities(rows: int, seed: int = 0, columns: int = 4) -> NDArray[np.float64]:
    p: NDArray[np.float64] = np.random.default_rng(seed).dirichlet(np.ones(columns), size=rows)
    return p


def save_npz(path: Path, **members: Any) -> Path:
    given: dict[str, Any] = {"classes": LEAVES, "labels": None, **members}
    given = {key: np.asarray(value) for key, value in given.items() if value is not None}
    np.savez(path, **given)
    return path


def save_table(path: Path, p: NDArray[Any], columns: list[str] | None = None, **extra: Any) -> Path:
    frame = pd.DataFrame(p, columns=LEAVES if columns is None else columns).assign(**extra)
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def opened(
    path: Path | str, tree: hr.Hierarchy = H, *, labels: Any = True, block_rows: int | None = None, **fields: Any
) -> Scores:
    """Open a score file with the fields of a `ScoreReading`."""
    return hr.open_scores(path, tree, hr.ScoreReading(**fields), labels=labels, block_rows=block_rows)


def read(path: Path, tree: hr.Hierarchy = H, **options: Any) -> tuple[NDArray[Any], list[int]]:
    blocks = list(opened(path, tree, **options))
    labels = [int(label) for block in blocks if block.labels is not None for label in block.labels]
    return np.concatenate([block.q for block in blocks]), labels


def save(path: Path, p: NDArray[Any], labels: list[str] | None, columns: list[str] | None = None) -> Path:
    """Write a score file of any format."""
    if path.suffix == ".npz":
        return save_npz(path, classes=columns or LEAVES, probabilities=p, labels=labels)
    return save_table(path, p, columns, **({} if labels is None else {"label": labels}))


FORMATS = ["npz", "csv", "tsv", "parquet"]
every_format = pytest.mark.parametrize("suffix", FORMATS)
