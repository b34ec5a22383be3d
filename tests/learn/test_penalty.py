"""How the penalty is chosen: which values are tried, and which is taken."""

from __future__ import annotations

import pytest

from hedgerow.learn import penalty

MANY = 10_000
"""Held-out examples, with which half a standard error at 0.9 is 0.15 points."""


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ({16: 0.5, 64: 0.9, 256: 0.8}, 64),  # it ends with the first that is no better
        ({16: 0.5, 64: 0.7, 256: 0.9, 1024: 0.9}, 256),
        ({16: 0.9, 64: 0.901}, 16),  # the strongest of those that are as good
        ({16: 0.9, 64: 0.8, 4: 0.95, 1: 0.9}, 4),
        ({16: 0.9, 64: 0.9, 4: 0.9}, 16),  # but no stronger than is usual, unless it is better
        ({16 * 4.0**i: 0.1 + 0.1 * i for i in range(8)}, 16 * 4.0**7),  # it ends at some time
    ],
)
def test_the_path(scores: dict[float, float], chosen: float) -> None:
    tried = []

    def score(C: float) -> float:
        tried.append(C)
        return scores[C]

    assert penalty.relax(score, MANY) == chosen
    assert tried == list(scores)


@pytest.mark.parametrize(
    ("examples", "chosen"),
    [
        (100, 16),  # half a standard error at 0.9 is 1.5 points,
        (400, 64),  # 0.75 points,
        (10_000, 256),  # and 0.15 points
    ],
)
def test_the_strongest_penalty_within_half_a_standard_error(examples: int, chosen: float) -> None:
    scores = {16: 0.88, 64: 0.895, 256: 0.9, 1024: 0.9, 4: 0.8}
    assert penalty.relax(lambda C: scores[int(C)], examples) == chosen
