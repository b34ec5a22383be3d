"""What notebooks show."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from rich.console import Console

import hedgerow as hr
from hedgerow.doctor import examine
from hedgerow.measure import evaluate
from hedgerow.show.printed_evaluation import print_comparison
from hedgerow.show.terminal import live_bar
from tests.make_evaluations import sample
from tests.make_scores import H

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def parsed(shown: Any) -> ElementTree.Element:
    return ElementTree.fromstring(shown._repr_html_())  # noqa: S314  (our own text)


def rows(page: ElementTree.Element) -> list[list[str]]:
    return [[cell.text or "" for cell in row] for row in page.iter("tr")]


def test_a_curve_shows_its_figures() -> None:
    curve = hr.operating_curve(H, *sample(60))
    page = parsed(curve)
    assert page.find("strong").text == f"Operating curve: 60 examples, {len(curve)} points"  # type: ignore[union-attr]
    head, *body = rows(page)
    assert head == ["measure", "%", "what it means"]
    assert [row[:2] for row in body] == [[name, f"{100 * v:.1f}"] for name, v in curve.summary().items()]


def test_an_evaluation_shows_intervals_and_its_name_as_text() -> None:
    evaluation = evaluate(H, *sample(60), name="<b>bold</b> & <script>", replicates=20)
    html = evaluation._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    page = parsed(evaluation)
    assert page.find("strong").text == "<b>bold</b> & <script>: 60 examples, a tree of 7 nodes"  # type: ignore[union-attr]
    head, *body = rows(page)
    assert head == ["measure", "%", "95 % interval", "what it means"]
    found = evaluation.intervals["AP"]
    assert body[0][:3] == [
        "AP",
        f"{100 * evaluation.summary()['AP']:.1f}",
        f"{100 * found.low:.1f} – {100 * found.high:.1f}",
    ]
    assert len(body) == len(evaluation.summary())


def text_of(shown: Any) -> str:
    return "".join(parsed(shown).itertext())


def test_a_comparison_shows_what_the_command_prints() -> None:
    q, labels = sample(60)
    first, second = (evaluate(H, q, labels, name=name) for name in ("<mine>", "other"))
    compared = hr.compare(first, second, replicates=20)
    assert repr(compared) == "SystemComparison('<mine>', 'other', compared with '<mine>')"
    console = Console(file=io.StringIO(), width=100)
    print_comparison(compared, console)
    assert text_of(compared) == console.file.getvalue().rstrip()  # type: ignore[attr-defined]


def test_a_point_shows_its_promise() -> None:
    point = hr.select(H, *sample(60), target=("correct", 0.8))
    assert repr(point) in text_of(point)
    assert "Right at least 80 % of the time" in text_of(point)


def test_a_diagnosis_shows_what_the_command_prints(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("parent,child\nlife,<owl>\nlife,oak\n", encoding="utf-8")
    found = examine(path)
    assert repr(found) == f"Diagnosis({str(path)!r}, 0 problems)"
    console = Console(file=io.StringIO(), width=110)
    found.print(console)
    assert text_of(found) == console.file.getvalue().rstrip()  # type: ignore[attr-defined]


def test_notebooks_show_bars_if_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Console(file=io.StringIO(), force_jupyter=True)
    for installed in (True, False):
        monkeypatch.setattr("hedgerow.show.terminal.find_spec", lambda _, there=installed: there or None)
        assert live_bar(notebook).disable is not installed
