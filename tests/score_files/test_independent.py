"""Probabilities that were estimated class by class: BirdNET, long and wide tables; columns that are no class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given

import hedgerow as hr
from hedgerow.errors import HedgerowError, ParameterError, ScoreError, UnknownNameError
from hedgerow.files import InputFile
from hedgerow.score_files import find_format
from tests.make_scores import LEAVES, H, probabilities, save_table
from tests.score_files.simulated import DATA
from tests.score_files.test_tool_formats import MAMMALS, listed, refused, written
from tests.tree_strategies import trees

if TYPE_CHECKING:
    from pathlib import Path


def by_definition(h: hr.Hierarchy, scores: dict[int, float]) -> list[float]:
    """The largest score at or below each node; 1 at the root."""
    below = [[score for node, score in scores.items() if h.is_ancestor(above, node)] for above in range(len(h))]
    return [1.0, *(max(found, default=0.0) for found in below[1:])]


@given(trees())
def test_an_ancestor_has_the_largest_probability_below_it(h: hr.Hierarchy) -> None:
    rng = np.random.default_rng(len(h))
    scores = [
        {
            int(node): float(rng.choice([0, 0.25, 0.5, rng.random()]))
            for node in np.flatnonzero(rng.random(len(h)) < 0.4)
        }
        for _ in range(5)
    ]
    entries = [(row, node, score) for row, found in enumerate(scores) for node, score in found.items()]
    row, node, score = (
        (np.array(column) for column in zip(*entries, strict=True)) if entries else (np.zeros(0),) * 3
    )
    q = hr.likelihood.from_independent(h, row.astype(int), node.astype(int), score, rows=5)
    assert q.dense().values.tolist() == [by_definition(h, found) for found in scores]


def test_birdnet() -> None:
    assert find_format(InputFile(DATA / "birdnet.csv")) == "birdnet"
    found = listed(DATA / "birdnet.csv", MAMMALS)
    assert list(found) == [
        "site1/a.wav 0.0-3.0",
        "site1/a.wav 3.0-6.0",
        "site1/a.wav 9.0-12.0",
        "site2/b.wav 0.0-3.0",
    ]
    window = found["site1/a.wav 0.0-3.0"]
    assert {name: window[name] for name in ("Mammalia", "Cervidae", "Alces alces", "Carnivora", "Lynx rufus")} == {
        "Mammalia": 0.9312,
        "Cervidae": 0.9312,
        "Alces alces": 0.6127,
        "Carnivora": 0.1033,
        "Lynx rufus": 0.1033,
    }
    how = hr.ScoreReading(cluster_column="File")
    blocks = list(hr.open_scores(DATA / "birdnet.csv", MAMMALS, how, labels=False))
    assert np.concatenate([block.clusters for block in blocks]).tolist() == ["site1/a.wav"] * 3 + ["site2/b.wav"]


def test_birdnet_with_common_names_and_without_files(tmp_path: Path) -> None:
    text = (
        "Start (s),End (s),Scientific name,Common name,Confidence\n0,3,x,robin,0.9\n0,3,y,cod,0.8\n3,6,z,blank,1\n"
    )
    path = written(tmp_path / "b.csv", text)
    assert listed(path, H, outside=["blank"]) == {
        "0-3": {"bird": 0.9, "robin": 0.9, "fish": 0.8, "cod": 0.8},
        "3-6": {},
    }
    refused(UnknownNameError, path, H, "'z'")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "0.6127",
            "1.2",
            "must lie between 0 and 1; 'site1/a.wav 0.0-3.0' in line 2 has 1.2 for 'Alces alces'",
        ),
        ("0.6127", "", "no number"),
        ("0.6127", "nan", "no number"),
        ("Confidence", "Score", "no column 'Confidence'"),
        ("9.0,12.0,Lynx rufus", "0.0,3.0,Lynx rufus", "duplicate id 'site1/a.wav 0.0-3.0'"),
        ("Lynx canadensis,Canada Lynx", "Lynx rufus,Bobcat", "lists 'Lynx rufus' twice"),
    ],
)
def test_flaws_of_birdnet(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = written(tmp_path / "b.csv", (DATA / "birdnet.csv").read_text().replace(old, new))
    refused(HedgerowError, path, MAMMALS, says, scores_format="birdnet")


def test_long_tables_of_independent_probabilities(tmp_path: Path) -> None:
    path = written(tmp_path / "l.csv", "id,class,score\na,robin,0.9\na,wren,0.8\na,bird,0.95\nb,cod,1\n")
    found = listed(path, H, independent=True)
    assert found == {"a": {"bird": 0.95, "robin": 0.9, "wren": 0.8}, "b": {"fish": 1, "cod": 1}}
    refused(ScoreError, path, H, "independent=True")
    refused(ParameterError, path, H, "leave out votes=True", independent=True, votes=True)
    refused(ParameterError, DATA / "sintax.txt", H, "leave out independent=True", independent=True)


def test_wide_tables_of_independent_probabilities(tmp_path: Path) -> None:
    p = np.random.default_rng(0).random((6, len(LEAVES)))
    path = save_table(tmp_path / "w.csv", p, id=list("abcdef"))
    found = listed(path, H, independent=True)
    for name, row in zip("abcdef", p, strict=True):
        expected = by_definition(H, dict(zip(H.indices(LEAVES).tolist(), row.tolist(), strict=True)))
        assert found[name] == dict(zip(H.names[1:].tolist(), expected[1:], strict=True))
    many = save_table(tmp_path / "many.csv", np.full((2, len(LEAVES)), 0.75))
    refused(ScoreError, many, H, "of its class alone, use independent=True")
    with pytest.raises(ParameterError, match="independent=True is for probabilities of single classes"):
        hr.open_scores(path, H, hr.ScoreReading(independent=True, logits=True), labels=False)
    bad = save_table(tmp_path / "x.csv", p + 0.9)
    refused(ScoreError, bad, H, "Probabilities must lie between 0 and 1", independent=True)


# Columns that are no class --------------------------------------------------------------------------------------


def opened_with(path: Path, **options: Any) -> tuple[list[str], np.ndarray[Any, Any], list[str]]:
    scores = hr.open_scores(path, H, hr.ScoreReading(**options), labels=False)
    (block,) = scores
    return ([] if block.ids is None else block.ids.tolist()), block.q, scores.warnings


@pytest.mark.parametrize("first", ["", "cell_id", "Unnamed: 0", "barcode", "file name"])
def test_a_dump_of_a_data_frame(first: str, tmp_path: Path) -> None:
    p = probabilities(2)
    rows = [f"c{i},{300 + i},{','.join(map(repr, row))},text" for i, row in enumerate(p.tolist())]
    path = written(tmp_path / "m.csv", "\n".join([f"{first},n_counts,{','.join(LEAVES)},batch", *rows]) + "\n")
    ids, q, warnings = opened_with(path)
    assert ids == ["c0", "c1"]
    np.testing.assert_array_equal(q, hr.likelihood.from_leaves(H, p, classes=LEAVES))
    where = f"the column {first!r}" if first else "the unnamed first column"
    assert warnings == [
        f"{path}: The ids are in {where}; 2 columns are no class and left out: 'n_counts' and 'batch'."
    ]


def test_other_first_columns_are_no_ids(tmp_path: Path) -> None:
    row = ",".join(map(repr, probabilities(1)[0].tolist()))
    path = written(tmp_path / "m.csv", f"batch,{','.join(LEAVES)}\na,{row}\n")
    ids, _, warnings = opened_with(path)
    assert ids == []
    assert warnings == [f"{path}: 1 column is no class and left out: 'batch'."]
    path = written(tmp_path / "n.csv", f",{','.join(LEAVES)},id\n7,{row},a\n")
    assert opened_with(path)[0] == ["a"]


def test_columns_of_all_nodes_and_others(tmp_path: Path) -> None:
    q = hr.likelihood.from_leaves(H, probabilities(2), classes=LEAVES)
    path = save_table(tmp_path / "m.csv", q, H.names.tolist(), extra=["x", "y"])
    np.testing.assert_allclose(opened_with(path)[1], q)


def test_extra_columns_are_an_error_if_a_leaf_has_none(tmp_path: Path) -> None:
    p = probabilities(1)
    for names in ([*LEAVES[:-1], "codd"], [*LEAVES, H.names[1]]):
        path = save_table(tmp_path / "m.csv", np.ones((1, len(names))) / len(names), names, extra=["x"])
        refused(UnknownNameError, path, H, "extra")
    path = save_table(tmp_path / "m.csv", p, LEAVES, extra=["x"])
    refused(UnknownNameError, path, H, "extra", class_columns=(*LEAVES, "extra"))
