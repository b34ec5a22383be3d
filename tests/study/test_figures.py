"""Figures of a study: the same look as those of `hedgerow.show`, from records alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.study.small import result

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from hedgerow.study.experiment import curve_figure


def test_seeds_of_a_method_are_one_line_with_a_band() -> None:
    systems = {"One": [result(2, seed) for seed in range(3)], "Other": [result(2, 3)]}
    figure = curve_figure(
        {"A": ("precision-recall", systems), "B": ("correct-exact", systems)}, rules=["majority", "crm"]
    )
    assert [ax.get_title() for ax in figure.axes] == ["A", "B"]
    (legend,) = figure.legends
    shown = ["One", "Other", "majority", "CRM over leaves", "threshold < 0.5", "threshold"]
    assert [text.get_text() for text in legend.get_texts()] == shown
    for ax, metric in zip(figure.axes, ("recall", "exact"), strict=True):
        assert len(ax.patches) == 1
        x = [np.asarray(line.get_xdata())[0] for line in ax.lines if line.get_marker() == "*"]
        means = [np.mean([r["rules"]["crm"][metric] for r in results]) for results in systems.values()]
        assert x == pytest.approx(means)
