"""The page of a study: what it shows of several seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hedgerow.study import experiment
from tests.study.small import result

pytest.importorskip("jinja2", reason="jinja2 is not installed")

if TYPE_CHECKING:
    from hedgerow.show.page import PageModel


def test_of_several_seeds_the_page_shows_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[list[PageModel], str]] = []
    monkeypatch.setattr(experiment, "write_report", lambda _, models, title: written.append((models, title)))
    seeds = [result(noise, seed) for seed, noise in enumerate((1, 3, 2))]
    middle = sorted(seed["summary"]["AP"] for seed in seeds)[1]
    experiment.write_page({"One": seeds, "Other": seeds[:1]}, "Methods", Path("page.html"))
    ((one, other), title) = written[0]
    assert one.summary["AP"] == middle
    assert other.summary["AP"] == seeds[0]["summary"]["AP"]
    for shown in (one, other):
        assert shown.curve.recall[shown.curve.correct >= 0.95].max() == pytest.approx(shown.summary["R@95C"])
    assert title == "Methods (of 3 seeds, that of median AP)"
    experiment.write_page({"One": seeds[:1]}, "Methods", Path("page.html"))
    assert written[1][1] == "Methods"
