"""A metric and a loss of one's own in a study: names, colours, tables, curves and pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hedgerow.errors import ParameterError
from hedgerow.study.cells import PAPER_METHODS
from hedgerow.study.experiment import by_method, curve_figure, names_of
from hedgerow.study.records import Records
from tests.study.small import result, run

if TYPE_CHECKING:
    from pathlib import Path

LOSS = "tests.own:TwiceTheLoss"


def test_they_are_in_tables_and_pages(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    measured = ["tests.own:leaf_answers", "tests.own:wasted"]
    report = run(tmp_path, "main", chosen=("flat-softmax", LOSS), measured=measured, draw=True)
    assert not report.failures
    table = report.findings["main"].tables["main"]
    assert [row.name for row in table.rows] == ["Flat softmax", "Twice the loss"]
    better = {column.name: (column.better, column.percent) for column in table.columns}
    assert better["Majority leaf_answers"] == ("higher", True)
    assert better["Majority wasted"] == ("lower", False)
    assert "Not in per cent: Majority wasted." in table.notes
    (ours,) = by_method(report.plan, Records(tmp_path / "records"), "main")["Twice the loss"]
    assert table.rows[1].entries["Majority wasted"].values == (ours["summary"]["majority_wasted"],)
    assert ours["summary"]["majority_wasted"] == ours["rules"]["majority"]["wasted"]
    page = (tmp_path / "main.html").read_text(encoding="utf-8")
    assert "Twice the loss" in page
    assert LOSS not in re.sub(r"<p class=.small made.*", "", page)
    assert ">leaf_answers</th>" in page
    again = run(tmp_path, "main", chosen=("flat-softmax", LOSS))
    assert "Majority wasted" not in {column.name for column in again.findings["main"].tables["main"].columns}


def test_an_unknown_metric_stops_a_study_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be imported"):
        run(tmp_path, measured=["tests.own:nothing"])
    assert list(tmp_path.iterdir()) == []


def test_beside_all_methods_of_the_paper_its_colour_is_its_own(tmp_path: Path) -> None:
    plan = run(tmp_path, chosen=(*PAPER_METHODS, LOSS), limit=0).plan
    named = names_of(plan)
    assert named[LOSS] == "Twice the loss"
    systems = {name: [result(2, seed)] for seed, name in enumerate(named.values())}
    (legend,) = curve_figure({"A": ("precision-recall", systems)}).legends
    lines = {text.get_text(): line for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)}
    colours = {str(lines[name].get_color()) for name in systems}
    assert len(colours) == len(systems) == len(PAPER_METHODS) + 2
