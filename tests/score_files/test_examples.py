"""The table of examples, against plain lists of records."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import ScoreError
from hedgerow.score_files import FACTS, Block, Examples, open_scores, write_predictions
from tests.make_scores import LEAVES, H, probabilities, save_table

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "labels": st.integers(0, 5),
    "ids": st.text(max_size=3),
    "clusters": st.sampled_from(["x", "y"]),
    "weights": st.floats(0, 9),
    "margin": st.floats(0, 1),
    "note": st.text(max_size=3),
}


@st.composite
def records(draw: st.DrawFn) -> tuple[list[str], list[Record]]:
    names = draw(st.lists(st.sampled_from(list(VALUES)), unique=True))
    return names, draw(st.lists(st.fixed_dictionaries({name: VALUES[name] for name in names}), max_size=6))


def table(names: list[str], rows: list[Record]) -> Examples:
    return Examples.of(len(rows), **{name: [row[name] for row in rows] for name in names} if rows else {})


def listed(examples: Examples) -> list[Record]:
    columns = {name: column.tolist() for name, column in examples.columns.items()}
    return [{name: column[i] for name, column in columns.items()} for i in range(len(examples))]


@given(records(), st.data())
def test_take_and_concatenate_are_those_of_lists(
    drawn: tuple[list[str], list[Record]], data: st.DataObject
) -> None:
    names, rows = drawn
    examples = table(names, rows)
    assert listed(examples) == rows
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)) if rows else []
    assert listed(examples.take(np.array(places, dtype=np.int64))) == [rows[place] for place in places]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    kept, others = examples.take(mask), examples.take(~mask)
    expected = [row for row, keep in zip(rows, mask, strict=True) if keep]
    expected += [row for row, keep in zip(rows, mask, strict=True) if not keep]
    assert listed(Examples.concatenate([kept, others])) == expected
    assert listed(copy.deepcopy(examples)) == rows


def test_columns_have_the_types_of_their_facts() -> None:
    margin = np.array([1, 2], dtype=np.float32)
    note: Any = np.array(["a", None])
    examples = Examples.of(2, labels=[3, 4], ids=[7, 8], weights=["0.5", "2"], margin=margin, note=note)
    kinds = {name: column.dtype.kind for name, column in examples.columns.items()}
    assert kinds == {"labels": "i", "ids": "O", "weights": "f", "margin": "f", "note": "O"}
    assert (examples.ids is not None and examples.ids.tolist()) == ["7", "8"]
    assert examples["note"].tolist() == ["a", ""]
    assert set(FACTS) >= {"labels", "ids", "groups", "clusters", "events", "weights", "texts", "images"}


def test_only_what_all_parts_know_is_known_of_the_whole() -> None:
    one, other = Examples.of(2, ids=["a", "b"], texts=["x", "y"]), Examples.of(1, ids=["c"])
    whole = Examples.concatenate([one, other, Examples.of(0)])
    assert listed(whole) == [{"ids": "a"}, {"ids": "b"}, {"ids": "c"}]
    assert whole.join(ids=None).columns == {}
    assert len(whole.join(ids=None)) == 3


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ids": ["a"]}, "ids needs one entry per example, 2; got 1"),
        ({"ids": "ab"}, "ids needs one entry per example, 2; got shape"),
        ({"clusters": ["a", " "]}, "clusters is blank for 1 of 2 examples, the first in row 1"),
        ({"groups": ["a", None]}, "groups is blank for 1 of 2 examples, the first in row 1"),
        ({"weights": [1, -1]}, "weights must be finite and 0 or more; that of example 1 is -1"),
        ({"weights": [1, np.nan]}, "weights must be finite and 0 or more; that of example 1 is nan"),
        ({"labels": [0.5, 1.5]}, "labels needs one number per example"),
        ({"weights": ["much", "little"]}, "weights needs one number per example, not"),
    ],
)
def test_bad_columns(columns: Record, said: str) -> None:
    with pytest.raises(ScoreError, match=said):
        Examples.of(2, **columns)


def test_a_block_shows_what_is_known_of_its_examples() -> None:
    block = Block.of(0, hr.likelihood.Likelihoods.of(H, np.ones((2, len(H)))), ids=np.array(["a", "b"], object))
    assert block.ids.tolist() == ["a", "b"]
    assert block.labels is None
    with pytest.raises(AttributeError, match="no attribute 'names'"):
        _ = block.names
    assert copy.deepcopy(block).ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_further_columns_of_answers_keep_their_types(name: str, tmp_path: Path) -> None:
    save_table(tmp_path / "scores.csv", probabilities(3))
    scores = open_scores(tmp_path / "scores.csv", H, labels=False)
    values = {
        "margin": np.array([0.1, 0.25, np.nan], dtype=np.float32),
        "votes": np.array([1, 2, 3]),
        "sure": np.array([True, False, True]),
        "note": np.array(["a", "b", ""], dtype=object),
    }
    more = {key: lambda _, column=column: column for key, column in values.items()}
    write_predictions(tmp_path / name, scores, lambda block: np.zeros(len(block), int), more=more)
    if name == "a.parquet":
        found = pq.read_table(tmp_path / name)
        types = {key: str(found.schema.field(key).type) for key in values}
        assert types == {"margin": "float", "votes": "int64", "sure": "bool", "note": "string"}
        assert found.column("votes").to_pylist() == [1, 2, 3]
    text = (tmp_path / name).read_bytes()
    if name == "a.csv":
        assert text.splitlines()[1].endswith(b",0.1,1,True,a")
        assert text.splitlines()[3].endswith(b",,3,True,")
    if name == "a.jsonl":
        assert b'"margin": 0.1, "votes": 1, "sure": true, "note": "a"' in text
        assert b'"margin": null' in text


def test_further_columns_may_be_called_like_anything(tmp_path: Path) -> None:
    save_table(tmp_path / "scores.csv", probabilities(3))
    scores = open_scores(tmp_path / "scores.csv", H, labels=False)
    columns: Record = {
        "count": [1, 2, 3],
        "ids": ["u", "v", "w"],
        "labels": np.array([0.5, 1.7, 2.0]),
        "groups": ["a", "", "b"],
        "weights": [-1.0, 0.5, 2.0],
        "given": (x for x in [None, 0.5, 3]),
    }
    more = {key: lambda _, column=column: column for key, column in columns.items()}
    write_predictions(tmp_path / "a.jsonl", scores, lambda block: np.zeros(len(block), int), more=more)
    first = json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()[0])
    wanted = {"count": 1, "ids": "u", "labels": 0.5, "groups": "a", "weights": -1.0, "given": None}
    assert {key: first[key] for key in columns} == wanted


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_confidences_in_parquet_are_exact(dtype: type[Any], tmp_path: Path) -> None:
    p = probabilities(5).astype(dtype)
    np.savez(tmp_path / "s.npz", probabilities=p, classes=np.array(LEAVES))
    scores = open_scores(tmp_path / "s.npz", H, labels=False)
    (block,) = scores
    nodes = np.asarray(hr.infer.leaf(H, block.likelihoods))
    write_predictions(tmp_path / "a.parquet", scores, lambda _: nodes)
    found = pq.read_table(tmp_path / "a.parquet").column("confidence").to_pylist()
    assert found == [float(each) for each in block.at(nodes)]


@pytest.mark.parametrize("ids", [{"a": 1, "b": 2}.keys(), iter("ab"), [("a", 1), ("b", 2)], np.array(["a", "b"])])
def test_ids_are_anything_that_can_be_gone_through(ids: Any) -> None:
    assert len(Examples.of(2, ids=ids)["ids"]) == 2
