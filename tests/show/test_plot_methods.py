"""The `plot` methods that curves and evaluations have."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.measure import evaluate
from tests.make_evaluations import sample
from tests.make_scores import H


def test_curves_and_evaluations_plot_themselves() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    from matplotlib import pyplot as plt

    evaluation = evaluate(H, *sample(40), name="mine")
    ax = plt.subplots()[1]
    try:
        display = evaluation.curve.plot("correct-recall", ax, name="curve", thresholds=())
        assert display.ax_ is ax
        x = np.concatenate([np.asarray(line.get_xdata()) for line in ax.lines])
        assert x.max() == evaluation.curve.recall.max()
        assert [system.name for system in display.systems] == ["curve"]
        shown = evaluation.plot("correct-exact", rules=["plurality"], legend=False)
        assert shown.ax_ is not ax
        (marker,) = (line for line in shown.ax_.lines if line.get_marker() == "o")
        assert marker.get_xdata()[0] == evaluation.rules["plurality"]["exact"]
        assert shown.ax_.get_legend() is None
    finally:
        plt.close("all")


def test_matplotlib_is_imported_when_it_is_needed_and_missed_with_advice() -> None:
    """In a process of its own, since this one has matplotlib."""
    code = """
import sys
import numpy as np
import hedgerow as hr
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
values = {name: np.array([0.0, 1.0]) for name in ("correct", "exact", "precision", "recall", "f1", "coverage")}
try:
    hr.OperatingCurve(np.array([1.0, 0.0]), values, 1).plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Figures need matplotlib, which is not installed: pip install 'hedgerow[plot]'\n"


def test_the_methods_have_names_and_explanations() -> None:
    assert "thresholds" in (hr.OperatingCurve.plot.__doc__ or "")
