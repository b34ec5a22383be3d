"""Scores that were cut before they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.doctor import examine
from tests.score_files.simulated import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

EXAMPLES, LEAVES = 40, [f"leaf{i}" for i in range(12)]
EDGES = [("root", f"clade{i}") for i in range(3)] + [(f"clade{i // 4}", leaf) for i, leaf in enumerate(LEAVES)]


def probabilities(seed: int = 0) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.random.default_rng(seed).dirichlet(np.full(len(LEAVES), 0.5), size=EXAMPLES)
    return found


def best(p: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.where(p >= np.sort(p, axis=1)[:, [-count]], p, 0)


def remarks(folder: Path, p: NDArray[np.float64], kind: str, **reading: Any) -> list[str]:
    """What the doctor says of scores in a wide or a long table."""
    pd.DataFrame(EDGES, columns=["parent", "child"]).to_csv(folder / "tree.csv", index=False)
    path = folder / f"{kind}.csv"
    wide = pd.DataFrame(p, columns=LEAVES).assign(id=[f"e{i}" for i in range(len(p))])
    if kind == "wide":
        wide.to_csv(path, index=False)
    else:
        long = wide.melt("id", var_name="class", value_name="score").sort_values("id", kind="stable")
        long[long["score"] > 0][["id", "class", "score"]].to_csv(path, index=False)
    found = examine(folder / "tree.csv", scores=path, reading=hr.ScoreReading(**reading))
    assert found.ok
    return [remark for remark in found.remarks if "cut off" in remark]


@pytest.mark.parametrize("kind", ["wide", "long"])
def test_scores_that_were_cut(kind: str, tmp_path: Path) -> None:
    p = probabilities()
    assert remarks(tmp_path, p, kind) == []
    (said,) = remarks(tmp_path, best(p, 5), kind)
    assert said.startswith("Every example has 5 classes of 12: the others were cut off")
    assert "curves" in said
    assert "promise" in said
    (said,) = remarks(tmp_path, np.where(p >= 0.1, p, 0), kind)
    assert said.startswith(f"No score is below {p[p >= 0.1].min():.3g}, and no example has all classes")


def test_no_alarm_without_need(tmp_path: Path) -> None:
    assert remarks(tmp_path, best(probabilities()[:10], 5), "long") == []  # too few to tell
    assert remarks(tmp_path, best(probabilities(), 1), "long") == []  # one class for each: an answer, not a list
    few = np.where(probabilities() > 0.3, 1.0, 0.0)
    assert remarks(tmp_path, few, "long", votes=True) == []


def test_lineages_are_no_lists_of_classes(tmp_path: Path) -> None:
    found = examine(DATA / "lineages.csv", hr.TreeReading("lineages"), scores=DATA / "sintax.txt")
    assert not [remark for remark in found.remarks if "cut off" in remark]
