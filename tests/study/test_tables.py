"""Tables: means, spreads, marks, and every format."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hedgerow.show.tables import Column, Entry, Row, Table
from hedgerow.study.main import difference, sentences

if TYPE_CHECKING:
    from hedgerow.study.experiment import Results


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


def systems(rows: dict[str, tuple[float, float]], seeds: int = 3, noise: float = 1e-4) -> dict[str, Results]:
    """Systems with these AP and R@95C, which vary a little from seed to seed and from replicate to replicate."""
    random = np.random.default_rng(0)

    def result(seed: int, ap: float, recall: float) -> dict[str, Any]:
        values = {"AP": ap + noise * random.normal(), "R@95C": recall + noise * random.normal()}
        drawn = {name: (value + noise * random.normal(size=50)).tolist() for name, value in values.items()}
        return {"seed": seed, "summary": values, "replicates": drawn}

    return {name: [result(seed, *pair) for seed in range(seeds)] for name, pair in rows.items()}


def test_the_sentences_change_with_the_table() -> None:
    flat, top = "Flat softmax", "Cond softmax"
    first, careful, second, how = sentences(systems({flat: (0.7, 0.4), top: (0.6, 0.3), "New": (0.75, 0.2)}))
    assert first == "New has the best trade-off between being right and being specific (AP 75.0 %)."
    assert f"{flat} has the highest recall when 95 % of the answers must be right (R@95C 40.0 %)" in careful
    assert "New beats it" in second
    assert f"{top} falls behind" in second
    assert "10.0 points below" in second
    assert "seeds and other test examples" in how
    first, _, second, _ = sentences(systems({flat: (0.7, 0.4), top: (0.7, 0.5), "New": (0.6, 0.2)}))
    assert "has the best" in first
    assert "may be chance" in first
    assert f"no method beats it, New falls behind, and the difference for {top} may be chance" in second
    assert sentences(systems({flat: (0.7, 0.4)})) == ()
    assert len(sentences(systems({"a": (0.7, 0.4), "b": (0.6, 0.4)}))) == 3


def test_a_difference_in_all_seeds_may_still_be_one_of_these_test_examples() -> None:
    """Seeds agree on three points, but replicates of the examples vary by more."""
    found = systems({"Flat softmax": (0.7, 0.4), "New": (0.73, 0.4)})
    assert "New beats it" in sentences(found)[2]
    for result in found["New"]:
        drawn = np.random.default_rng(1).normal(scale=0.02, size=50)  # the same examples for all seeds
        result["replicates"]["AP"] = (result["summary"]["AP"] + drawn).tolist()
    said = sentences(found)[2]
    assert "no method beats it, no method falls behind, and the difference for New may be chance" in said


def test_one_seed_names_no_winner() -> None:
    flat, top = "Flat softmax", "Cond softmax"
    one = systems({flat: (0.7, 0.4), top: (0.705, 0.5), "New": (0.6, 0.2)}, seeds=1, noise=0)
    (said,) = sentences(one)
    assert said.startswith(
        "AP is between 60.0 % and 70.5 %; the flat softmax, which does not know the tree, has 70.0 %."
    )
    assert said.endswith("One seed does not tell which method is better: use seeds=3 or more.")
    assert top not in said
    assert "New" not in said
    (without,) = sentences(systems({"a": (0.7, 0.4), "b": (0.6, 0.4)}, seeds=1, noise=0))
    assert without.startswith("AP is between 60.0 % and 70.0 %. One seed")


def test_seeds_that_only_one_method_has_and_records_without_replicates_are_not_compared() -> None:
    found = systems({"a": (0.7, 0.4), "b": (0.6, 0.4)}, seeds=4)
    full = difference(found["a"], found["b"], "AP")
    assert full is not None
    assert full.low < full.value < full.high
    fewer = difference(found["a"][:3], found["b"][1:], "AP")
    assert fewer is not None
    a, b = ([result["summary"]["AP"] for result in found[name][1:3]] for name in "ab")
    assert fewer.value == pytest.approx(np.mean(a) - np.mean(b))
    assert difference(found["a"][:2], found["b"][1:], "AP") is None
    for result in found["b"][1:]:
        del result["replicates"]
    assert difference(found["a"], found["b"], "AP") is None
