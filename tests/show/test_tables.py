"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import hedgerow as hr
from hedgerow.choose import explain
from hedgerow.show.printed_evaluation import print_evaluation
from hedgerow.show.printed_point import print_point
from hedgerow.show.tables import Column, Entry, Row, Table
from hedgerow.show.terminal import print_table, print_text, wrapped

HEAD = ["system (%)", "AP", "R@95C", "majority_F1", "In, 90 % out right"]
ROWS = [["convolutional-network", *(f"{100.0 - i} ▲" for i in range(4))], ["[red]", *["12.34 ±5.67"] * 4]]
MEANING = "the share of the answers' information that is right, averaged over recall"


def printed(width: int, *, terminal: bool, title: str = "", prose: bool = False) -> str:
    console = Console(width=width, file=io.StringIO(), force_terminal=terminal, color_system=None)
    head, rows = (HEAD, ROWS) if not prose else ([*HEAD, "what it means"], [[*row, MEANING] for row in ROWS])
    print_table(console, head, [list(map(Text, row)) for row in rows] if title else rows, title=title, prose=prose)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", range(1, 90))
def test_text_breaks_between_words_alone(width: int) -> None:
    said = "Of 30 answers, 95.0 % are right, and 5 %  are 知更鳥 知更鳥 wrong.\nEnd"
    text = wrapped(said, width, lead="1. ")
    assert text.startswith("1. Of")
    lines = [line.removeprefix("1. ").removeprefix("   ") for line in text.split("\n")]
    assert " ".join(lines) == said.replace("\n", " ")
    assert lines[-1] == "End"
    assert not any(line.startswith("%") for line in lines)
    assert all(cell_len(line) <= width - 3 or " " not in line.replace(" %", "%") for line in lines)


@pytest.mark.parametrize("terminal", [False, True])
def test_text_in_a_pipe_is_one_line(terminal: bool) -> None:
    said = "Warning: " + "100 examples have no label. " * 10
    console = Console(file=io.StringIO(), width=40, force_terminal=terminal, color_system=None)
    print_text(console, said, "yellow")
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert (lines == [said]) is not terminal
    assert "\n".join(lines) == (wrapped(said, 40) if terminal else said)


@pytest.mark.parametrize("title", ["", "Figures"])
@pytest.mark.parametrize("prose", [False, True])
@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_nothing_is_cut_on_a_terminal(width: int, prose: bool, title: str) -> None:
    text = printed(width, terminal=True, title=title, prose=prose)
    assert "…" not in text
    for row in ROWS:
        for number in row[1:]:
            assert text.count(number) == row.count(number)
    assert all(heading in text for heading in ("AP", "R@95C", "majority_F1"))
    first = re.findall(r"^[│ ]*([a-z-]+|\[red])(?= |$)", text, re.MULTILINE)  # folded names come in pieces
    assert "convolutional-network" in "".join(first)
    assert "[red]" in text
    assert not prose or all(word in text for word in MEANING.split())
    if width >= 40:
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [10, 80])
def test_where_nobody_watches_a_table_is_as_wide_as_it_needs_to_be(width: int) -> None:
    lines = printed(width, terminal=False, prose=True).splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert re.split(r"  +", lines[1].strip()) == [*ROWS[0], MEANING]


def test_tables_of_a_study_keep_their_headings_whole() -> None:
    columns = [Column(name) for name in ("AP", "AC", "R@95C", "Majority F1", "Leaf F1")]
    row = Row("Soft-max-margin", {column.name: Entry((0.5, 0.75)) for column in columns})
    console = Console(width=50, file=io.StringIO(), force_terminal=True, color_system=None)
    Table("Main", columns, [row]).print(console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "…" not in text
    assert all(column.name in text for column in columns)
    assert text.count("62.50 ±35.36") == len(columns)
    assert max(map(len, text.splitlines())) <= 50


def test_very_deep_trees_are_counted_at_once_and_shown_in_few_rows() -> None:
    """A spine of 20,000 nodes, each with a leaf beside the next one; labels and answers are near its end."""
    depth = 20_000
    parent = [-1, *range(depth), *range(depth - 1, -1, -1)]
    h = hr.Hierarchy.from_parents([f"n{i}" for i in range(len(parent))], parent)
    leaves = h.leaves[np.arange(30) % 15]  # at depth 20,000, 20,000, 19,999, ...
    answers = h.names[leaves]
    q = hr.likelihood.from_top(h, np.arange(30), answers, np.full(30, 0.9), rows=30)
    labels = h.parent[leaves]
    labels[:15] = leaves[:15]
    found = hr.evaluate(h, q, h.names[labels], below_label="wrong")
    at = [found.ranks["majority"][str(level)] for level in (1, depth - 13, depth)]
    assert [each["known"] for each in at] == [30, 29, 2]
    assert [each["correct"] for each in at] == [1, 1, 1]
    assert [each["unknown"] for each in at] == [0, 1, 15]
    point = hr.select(h, q, h.names[labels], target=("correct", 0.3))
    out = Console(file=io.StringIO(), width=200)
    print_evaluation(found, out)
    print_point(explain(h, point, q, h.names[labels]), out, then="", select="")
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert "These are 20 of 20,000 rows; --json FILE writes all of them." in said
    assert len(said.splitlines()) < 120


def test_a_row_for_each_of_many_classes() -> None:
    """Time is linear in the rows: with their square, this would take minutes."""
    rows = [Row(f"class {number}", {"AP": Entry((number / 20_000,))}) for number in range(20_000)]
    text = Table("By class", [Column("AP")], rows).markdown()
    assert len(text.splitlines()) == 20_000 + 4
    assert "| class 19999 | 100.0 |" in text
