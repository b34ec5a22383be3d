"""How the penalty is chosen: where the path stops, and which value is taken."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.learn import penalty


@pytest.mark.parametrize(
    ("aps", "chosen", "tried"),
    [
        ([0.1, 0.5, 0.9, 0.8, 0.7, 1.0], 2, 5),  # stops after two that are no better
        ([0.1, 0.5, 0.9, 0.8, 0.95, 0.9, 0.9, 1.0], 4, 7),
        ([0.9, 0.8, 0.7, 1.0], 0, 3),
        ([0.1, 0.9, 0.9, 0.9, 1.0], 1, 4),  # the strongest among equals
        (list(np.linspace(0.1, 0.9, 20)), 9, 10),  # ends at some time
    ],
)
def test_the_path(aps: list[float], chosen: int, tried: int) -> None:
    values = iter(aps)

    best, path = penalty.relax(lambda _: next(values), 10.0, examples=10_000)
    assert path["C"] == [10 * 4.0**i for i in range(tried)]
    assert path["AP"] == aps[:tried]
    assert best == 10 * 4.0**chosen


@pytest.mark.parametrize(
    ("examples", "chosen"),
    [
        (100, 0),  # the standard error at 0.9 is 3 points,
        (400, 1),  # 1.5 points,
        (10_000, 2),  # and 0.3 points
    ],
)
def test_the_strongest_penalty_within_a_standard_error(examples: int, chosen: int) -> None:
    values = iter([0.875, 0.89, 0.9, 0.89, 0.88])

    best, _ = penalty.relax(lambda _: next(values), 10.0, examples)
    assert best == 10 * 4.0**chosen


@pytest.mark.parametrize(
    ("examples", "chosen"),
    [
        (20, 2),  # the standard error is 7 points: 0.5, 2, 8 and 32 are equally good, and 8 is enough
        (300, 1),  # 1.7 points: 2 is better than 8
    ],
)
def test_a_very_strong_penalty_must_be_clearly_better(examples: int, chosen: int) -> None:
    values = iter([0.89, 0.9, 0.87, 0.86])

    best, path = penalty.relax(lambda _: next(values), 0.5, examples)
    assert len(path["C"]) == 4
    assert best == 0.5 * 4.0**chosen


def test_a_usual_penalty_is_always_tried() -> None:
    best, path = penalty.relax(lambda _: 0.9, 0.06, examples=10_000)
    assert path["C"][-1] >= penalty.LEAST > path["C"][-2]
    assert best == path["C"][-1]
