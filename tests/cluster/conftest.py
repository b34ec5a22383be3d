"""Worker processes, shared by the tests of this package: starting them takes longer than most tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hedgerow.cluster import connect
from tests.make_scores import H, probabilities, save_npz

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = (7, 30, 1, 12, 25, 9, 18, 4, 40, 3, 11)


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two worker processes, one of which a test may kill."""
    with connect(workers=2) as two:
        yield two


@pytest.fixture
def mortals() -> Iterator[Any]:
    """Two worker processes of one test; a part may kill the process that works on it once, not twice."""
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), connect(workers=2) as two:
        yield two


def labels(rows: int, seed: int) -> list[str]:
    return [str(name) for name in np.random.default_rng(seed).choice(H.names[1:], rows)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven parts, so that part-10 comes after part-9, and one file with all examples."""
    place = tmp_path_factory.mktemp("parts")
    scores, names, ids = [], [], []
    for i, rows in enumerate(ROWS):
        scores.append(probabilities(rows, seed=i))
        names.append(labels(rows, seed=100 + i))
        ids.append([f"{i}-{row}" for row in range(rows)])
        save_npz(place / f"part-{i}.npz", probabilities=scores[-1], labels=names[-1], ids=ids[-1])
    save_npz(
        place / "whole.npz",
        probabilities=np.concatenate(scores),
        labels=[name for part in names for name in part],
        ids=[name for part in ids for name in part],
    )
    H.to_edges(place / "tree.csv")
    return place


@pytest.fixture
def parts(folder: Path) -> list[Path]:
    """The eleven parts, in no order."""
    return [folder / f"part-{i}.npz" for i in (3, 10, 0, 1, 9, 2, 8, 4, 7, 5, 6)]
