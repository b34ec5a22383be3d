"""Tables for papers: what is in them, in three formats."""

from __future__ import annotations

import csv
import re
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from tests.show.page.cases import evaluation

if TYPE_CHECKING:
    from pathlib import Path


def test_a_csv_has_every_number_once(tmp_path: Path) -> None:
    found = evaluation(metrics=["edge_distance"], replicates=20)
    found.to_table(tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers = {(row["table"], row["row"], row["column"]): float(row["value"]) for row in rows}
    assert len(numbers) == len(rows)
    for name, value in found.summary().items():
        assert numbers["Summary", "model", name] == pytest.approx(value)
        assert numbers["Summary", "model, 95 % from", name] == pytest.approx(found.intervals[name].low)
    assert numbers["By rank, rule majority", "family", "correct"] == pytest.approx(
        found.ranks["majority"]["family"]["correct"]
    )
    robin = found.classes["majority"]["Robin"]
    assert numbers["By class, rule majority", "Robin", "examples"] == robin["examples"]
    assert numbers["By class, rule majority", "Robin", "edge_distance"] == pytest.approx(robin["edge_distance"])
    macro = {
        row["column"]: float(row["value"])
        for row in rows
        if "over classes" in row["table"] and row["row"] == "leaf"
    }
    assert macro == pytest.approx(found.macro["leaf"])


def test_models_are_side_by_side_with_their_differences(tmp_path: Path) -> None:
    found = hr.compare(evaluation(name="a & b"), evaluation(name="c|d", sharp=3), replicates=20)
    found.to_table(tmp_path / "t.md")
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "**Difference from a & b**" in text
    assert re.search(rf"\| c\\\|d +\|.* {100 * found.evaluations[1].summary()['AP']:.1f} ", text)
    widths = {len(re.sub(r"\\\|", "", line).split("|")) for line in text.split("\n\n")[1].splitlines()}
    assert len(widths) == 1
    found.to_table(tmp_path / "t.tex")
    text = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert text.count(r"\begin{tabular}") == text.count(r"\bottomrule") == 6
    assert r"a \& b: majority" in text
    assert "95 \\% from" in text
    assert "Not in per cent" not in text


@pytest.mark.parametrize("kind", ["md", "tex"])
def test_what_is_not_in_per_cent_is_named(kind: str, tmp_path: Path) -> None:
    evaluation(rows=20, metrics=["edge_distance", "non_root"]).to_table(tmp_path / f"t.{kind}")
    text = (tmp_path / f"t.{kind}").read_text(encoding="utf-8")
    assert text.count("Not in per cent: edge_distance.") == 3  # rules, averages over classes, classes
    assert "Not in per cent: majority_edge_distance, leaf_edge_distance." in text


def test_names_of_classes_are_no_markup(tmp_path: Path) -> None:
    name = r"\input{/etc/passwd} $x^2$ ~ a|b"
    h = hr.Hierarchy.from_edges([("root", name), ("root", "other")])
    found = hr.evaluate(h, np.array([[1, 0.6, 0.4]]), [name])
    found.to_table(tmp_path / "t.tex")
    text = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert r"\input" not in text
    assert r"\textbackslash{}input\{/etc/passwd\} \$x\textasciicircum{}2\$ \textasciitilde{} a|b" in text


def test_other_formats_and_a_missing_library_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = evaluation(rows=5)
    with pytest.raises(ParameterError, match=r"written as \.csv, \.md or \.tex"):
        found.to_table(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "tabulate", None)
    with pytest.raises(ParameterError, match=r"pip install 'hedgerow\[plot\]'"):
        found.to_table(tmp_path / "t.md")
    found.to_table(tmp_path / "t.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_without_leaf_scores_there_are_no_numbers_of_leaves(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges([("root", "a"), ("root", "b"), ("a", "a1"), ("b", "b1"), ("b", "b2")])
    q = np.zeros((2, len(h)))
    q[:, [0, h.index("a")]] = 1, 0.8
    found = hr.evaluate(h, q, ["a", "b1"])
    assert not found.has_leaf_scores
    found.to_table(tmp_path / "t.csv")
    assert "nan" not in (tmp_path / "t.csv").read_text()
    found.to_table(tmp_path / "t.md")
