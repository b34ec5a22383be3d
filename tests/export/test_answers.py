"""Answers to rows of scores: those of the test vectors, and of score files."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import hedgerow as hr
from hedgerow.export import answers
from hedgerow.export.runtime import check_portable
from tests.export.vectors import CASES
from tests.export.write_vectors import VECTORS, as_json

if TYPE_CHECKING:
    from pathlib import Path


def test_the_vectors_are_what_the_script_writes() -> None:
    assert VECTORS.read_text(encoding="utf-8") == as_json(), "run python -m tests.export.write_vectors"


@pytest.mark.parametrize("name", CASES)
def test_vectors(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    point, groups = case.point(tmp_path), case.groups
    for i, (row, expected) in enumerate(zip(case.rows, case.answers, strict=True)):
        group = None if groups is None else groups[i : i + 1]
        if expected is None:
            with pytest.raises(hr.HedgerowError):
                answers(point, [row], logits=case.logits, groups=group)
            continue
        (found,) = answers(point, [row], logits=case.logits, groups=group)
        assert (found.name, found.lineage[-1]) == (expected, expected), f"row {i}"
        assert found.lineage[0] == point.hierarchy.names[0]
    good = [i for i, expected in enumerate(case.answers) if expected is not None]
    if good:  # an answer does not depend on the other rows
        rows = [case.rows[i] for i in good]
        chosen = None if groups is None else [groups[i] for i in good]
        listed = answers(point, rows, logits=case.logits, groups=chosen)
        assert [each.name for each in listed] == [case.answers[i] for i in good]


@pytest.mark.parametrize("field", ["prior", "weights"])
def test_points_whose_answers_need_more_than_scores_are_not_exported(field: str) -> None:
    with pytest.raises(hr.HedgerowError, match=f"The point has '{field}', which only the Python library applies"):
        check_portable(SimpleNamespace(**{field: "digest"}))  # type: ignore[arg-type]
