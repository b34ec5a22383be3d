"""Answers to rows of scores: those of the test vectors, and of score files."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.export import answers
from tests.export.vectors import CASES
from tests.export.write_vectors import VECTORS, as_json


def test_the_vectors_are_what_the_script_writes() -> None:
    assert VECTORS.read_text(encoding="utf-8") == as_json(), "run python -m tests.export.write_vectors"


@pytest.mark.parametrize("name", CASES)
def test_vectors(name: str) -> None:
    case = CASES[name]
    groups = case.groups
    for i, (row, expected) in enumerate(zip(case.rows, case.answers, strict=True)):
        group = None if groups is None else groups[i : i + 1]
        if expected is None:
            with pytest.raises(hr.HedgerowError):
                answers(case.point(), [row], logits=case.logits, groups=group)
            continue
        point = case.point()
        (found,) = answers(point, [row], logits=case.logits, groups=group)
        assert (found.name, found.lineage[-1]) == (expected, expected), f"row {i}"
        assert found.lineage[0] == point.hierarchy.names[0]
    good = [i for i, expected in enumerate(case.answers) if expected is not None]
    if good:  # an answer does not depend on the other rows
        rows = [case.rows[i] for i in good]
        chosen = None if groups is None else [groups[i] for i in good]
        listed = answers(case.point(), rows, logits=case.logits, groups=chosen)
        assert [each.name for each in listed] == [case.answers[i] for i in good]


def test_columns_are_found_by_name() -> None:
    point = CASES["ties, and rows exactly at the threshold"].point()
    leaves = {"wolf": [0.0], "dog": [0.5], "cat": [0.5]}
    nodes = {"wolf": [0.0], "dog": [0.5], "cat": [0.5], "pet": [1.0], "root": [1.0]}
    for table in (leaves, nodes, pd.DataFrame(leaves), pd.DataFrame(nodes)):
        assert answers(point, table)[0].name == "pet"
    row = [[0.0, 0.5, 0.5]]
    assert answers(point, row, list(leaves))[0].name == "pet"
    for wrong in (["wolf", "dog", "dog"], ["wolf", "dog", "lion"], ["wolf", "dog"]):
        with pytest.raises(hr.HedgerowError):
            answers(point, row, wrong)


@pytest.mark.parametrize(
    "rows", [[["a", "b", "c"]], [[0.5, 0.5], [1.0]], None, [], [0.5, 0.5, 0.0], [[[0.5, 0.5, 0.0]]], [[1j, 0, 0]]]
)
def test_rows_that_are_no_table_of_numbers(rows: Any) -> None:
    with pytest.raises(hr.HedgerowError):
        answers(CASES["ties, and rows exactly at the threshold"].point(), rows)


def test_logits_are_those_of_the_leaves() -> None:
    point = CASES["ties, and rows exactly at the threshold"].point()
    with pytest.raises(hr.HedgerowError, match="one column per leaf, 3"):
        answers(point, [[0.0] * 5], logits=True)
