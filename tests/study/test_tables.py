"""Tables: means, spreads, marks, and every format."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

from hedgerow.show.tables import Column, Entry, Row, Table
from hedgerow.study.main import sentences


def table(**rows: tuple[float, ...]) -> Table:
    return Table("Some figures", [Column("AP")], [Row(name, {"AP": Entry(v)}) for name, v in rows.items()])


def lines_of(text: str) -> list[str]:
    """The lines of a table without the padding of its cells."""
    return [re.sub(r" +", " ", line) for line in text.splitlines()]


def test_mean_and_two_standard_deviations() -> None:
    values = (0.61, 0.64, 0.7)
    entry = Entry(values)
    assert entry.mean == pytest.approx(np.mean(values))
    assert entry.spread == pytest.approx(2 * np.std(values, ddof=1))
    assert Entry((0.5,)).spread is None


def test_best_is_bold_and_second_italic() -> None:
    lines = lines_of(table(a=(0.5, 0.52), b=(0.7, 0.7), c=(0.6, 0.6)).markdown())
    assert lines[0] == "**Some figures**"
    assert lines[4:] == ["| a | 51.00 ±2.83 |", "| b | **70.00** ±0.00 |", "| c | *60.00* ±0.00 |"]
    latex = lines_of(table(a=(0.5, 0.52), b=(0.7, 0.7), c=(0.6, 0.6)).latex())
    assert r" b & \textbf{70.00} {\footnotesize $\pm$0.00} \\" in latex
    assert r" c & \textit{60.00} {\footnotesize $\pm$0.00} \\" in latex
    assert r" \% & AP \\" in latex
    assert [line for line in latex if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]


def test_rows_that_show_the_same_share_a_mark_and_one_row_has_none() -> None:
    equal = table(a=(0.70001, 0.7), b=(0.7, 0.7), c=(0.6, 0.6), d=(0.5, 0.5))
    assert equal.marks(Column("AP")) == {0: "best", 1: "best", 2: "second"}
    assert equal.marks(Column("AP", "lower")) == {3: "best", 2: "second"}
    assert equal.marks(Column("AP", "neither")) == {}
    assert table(a=(0.7, 0.7)).marks(Column("AP")) == {}


def test_one_seed_marks_nothing() -> None:
    single = table(a=(0.7,), b=(0.6,))
    assert single.marks(Column("AP")) == {}
    assert lines_of(single.markdown())[4:] == ["| a | 70.0 |", "| b | 60.0 |"]


def test_marks_are_sought_within_groups_and_gaps_stay_empty() -> None:
    rows = [
        Row("a", {"x": Entry((0.1, 0.1))}, "one"),
        Row("b", {"x": Entry((0.2, 0.2))}, "one"),
        Row("c", {"x": Entry((0.9, 0.9))}, "two"),
        Row("d", {}, "two"),
    ]
    grouped = Table("", [Column("x")], rows)
    assert grouped.marks(Column("x")) == {1: "best", 0: "second"}
    assert lines_of(grouped.markdown())[-1] == "| d | |"
    assert r" d & \\" in lines_of(grouped.latex())


def test_csv_holds_fractions() -> None:
    read = list(csv.DictReader(io.StringIO(table(a=(0.5, 0.52)).csv())))
    assert read == [{"group": "", "row": "a", "seeds": "2", "AP": "0.510000", "AP 2sd": "0.028284"}]


def test_figures_that_are_no_shares_are_shown_as_they_are() -> None:
    shown = Table("", [Column("T", "neither", percent=False)], [Row("a", {"T": Entry((1.234,))})])
    assert "| a | 1.23 |" in lines_of(shown.markdown())


def main_table(rows: dict[str, tuple[float, float]], seeds: int = 3) -> Table:
    listed = [
        Row(name, {"AP": Entry((ap,) * seeds), "R@95C": Entry((r,) * seeds)}) for name, (ap, r) in rows.items()
    ]
    return Table("", [Column("AP"), Column("R@95C")], listed)


def test_the_sentences_change_with_the_table() -> None:
    flat, top = "Flat softmax", "Cond softmax"
    first, second = sentences(main_table({flat: (0.7, 0.4), top: (0.6, 0.3), "New": (0.75, 0.2)}))
    assert "New has the best trade-off" in first
    assert "AP 75.0 %" in first
    assert f"{flat} has the highest recall when 95 % of the answers must be right" in first
    assert "New beats it" in second
    assert f"{top} falls behind" in second
    assert "10.0 points below" in second
    first, second = sentences(main_table({flat: (0.7, 0.4), top: (0.7, 0.5), "New": (0.6, 0.2)}))
    assert f"{flat} has the best" in first
    assert "no method beats it by more than two standard deviations" in second
    assert "New falls behind" in second
    assert sentences(main_table({flat: (0.7, 0.4)})) == ()
    assert len(sentences(main_table({"a": (0.7, 0.4), "b": (0.6, 0.4)}))) == 1


def test_one_seed_names_no_winner() -> None:
    flat, top = "Flat softmax", "Cond softmax"
    table = main_table({flat: (0.7, 0.4), top: (0.705, 0.5), "New": (0.6, 0.2)}, seeds=1)
    (said,) = sentences(table)
    assert said.startswith(
        "AP is between 60.0 % and 70.5 %; the flat softmax, which does not know the tree, has 70.0 %."
    )
    assert said.endswith("One seed does not tell which method is better: use seeds=3 or more.")
    assert top not in said
    assert "New" not in said
    (without,) = sentences(main_table({"a": (0.7, 0.4), "b": (0.6, 0.4)}, seeds=1))
    assert without.startswith("AP is between 60.0 % and 70.0 %. One seed")
