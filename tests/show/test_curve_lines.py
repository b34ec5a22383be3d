"""What is drawn of curves, without drawing it."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.show.curve_lines import System, height_ticks, hidden_levels
from tests.make_evaluations import sample
from tests.make_scores import H

STEP = 0.01  # heights are interpolated within the steps of a curve


def test_the_path_of_steps_goes_down_before_it_goes_on() -> None:
    values = {name: np.array([0.0, 0.5, 1.0]) for name in ("recall", "correct")}
    values["correct"] = np.array([1.0, 0.8, 0.4])
    curve = hr.OperatingCurve(np.array([0.9, 0.5, 0.0]), values, 10)
    line = System("", (curve,)).line("recall", "correct")
    assert line.half == 1
    assert line.path().tolist() == [0 + 1j, 0 + 0.8j, 0.5 + 0.8j, 0.5 + 0.4j, 1 + 0.4j]


@pytest.mark.parametrize("grid", [8, 64, 4096])
def test_a_thinned_line_stays_in_the_cells_of_the_curve(grid: int) -> None:
    curve = hr.operating_curve(H, *sample(2_000))
    line = System("", (curve,)).line("recall", "precision", grid=grid)
    exact = list(zip(curve.recall, curve.precision, strict=True))
    assert (line.x[line.half], line.y[line.half]) == exact[curve.index(0.5)]
    assert set(zip(line.x, line.y, strict=True)) <= set(exact)
    cells = {(int(x * grid), int(y * grid)) for x, y in exact}
    assert cells == {(int(x * grid), int(y * grid)) for x, y in zip(line.x, line.y, strict=True)}


def test_the_mean_of_seeds_that_differ_only_in_how_sure_they_are_is_their_curve() -> None:
    sure, unsure = (hr.operating_curve(H, q**power, labels) for power in (0.2, 5) for q, labels in [sample(400)])
    assert sure.at(0.5)["recall"] > unsure.at(0.5)["recall"] + 0.1
    line = System("", (sure, unsure)).line("recall", "correct")
    heights = [sure.correct[sure.recall >= x][0] for x in line.x[:-1]]
    assert line.y[:-1] == pytest.approx(heights, abs=STEP)
    outline = System("", (sure, unsure)).band("recall", "correct")
    assert outline is not None
    assert outline[1] == pytest.approx(np.concatenate([line.y, line.y[::-1]]))


def test_the_mean_of_seeds_is_that_of_their_heights() -> None:
    seeds = tuple(hr.operating_curve(H, *sample(400, seed)) for seed in range(3))
    line = System("", seeds).line("recall", "precision")
    assert (np.diff(line.x) >= 0).all()
    for x, y in zip(line.x[:-1], line.y[:-1], strict=True):
        assert y == pytest.approx(np.mean([seed.precision[seed.recall >= x][0] for seed in seeds]), abs=STEP)
    assert (line.x[-1], line.y[-1]) == pytest.approx(
        (np.mean([seed.recall[-1] for seed in seeds]), np.mean([seed.precision[-1] for seed in seeds]))
    )
    half = np.mean([seed.at(0.5)["recall"] for seed in seeds])
    assert line.x[line.half] == pytest.approx(min(half, *(seed.recall.max() for seed in seeds)))


@pytest.mark.parametrize("lowest", np.linspace(-0.02, 0.98, 41).tolist())
def test_ticks_are_few_and_reach_below(lowest: float) -> None:
    ticks = height_ticks(lowest)
    assert ticks[0] <= max(lowest, 0) + 1e-12
    assert ticks[-1] == pytest.approx(1)
    assert 2 <= len(ticks) <= 9
    assert np.diff(ticks) == pytest.approx(ticks[1] - ticks[0])


def test_which_lines_are_hidden() -> None:
    x = np.linspace(0, 1, 200)
    arc, close, apart = (x + 1j * height for height in (1 - x**2, 1 - x**2 + 0.001, 1 - x**4))
    assert hidden_levels([arc]) == [0]
    assert hidden_levels([arc, close]) == [1, 0]
    assert hidden_levels([arc, apart]) == [0, 0]
    assert hidden_levels([arc, apart, close, arc]) == [2, 0, 1, 0]
    longer = np.append(arc, 1 - 0.05j)  # its end sticks out, so that it shows
    assert hidden_levels([longer, arc]) == [0, 0]
    assert hidden_levels([arc, longer]) == [1, 0]
    assert hidden_levels([arc[::150], arc]) == [0, 0]


def test_the_mean_of_seeds_that_turn_back() -> None:
    seeds = tuple(hr.operating_curve(H, *sample(400, seed), below_label="wrong") for seed in range(3))
    system = System("", seeds)
    line = system.line("exact", "correct")
    assert (np.diff(line.x) > 0).all()
    assert 0 < line.half < len(line.x)
    outline = system.band("exact", "correct")
    assert outline is not None
    assert len(outline[0]) == 2 * len(line.x)
