"""How the penalty is chosen: which values are tried, and which is taken."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.learn import penalty
from hedgerow.learn.penalty import Trial


def trial(right: int, examples: int = 100) -> Trial:
    """The first `right` of the examples are right, and AP is the share of these."""
    return Trial(right / examples, np.arange(examples) < right)


@pytest.mark.parametrize(
    ("right", "chosen"),
    [
        ({32: 50, 256: 90, 2048: 80}, 256),  # it ends with the first that is no better
        ({32: 50, 256: 70, 2048: 90, 16384: 90}, 2048),
        ({32: 90, 256: 90, 4: 80}, 32),  # the strongest of those that are as good
        ({32: 90, 256: 80, 4: 95, 0.5: 90}, 4),
        ({32: 90, 256: 90, 4: 90}, 32),  # but no stronger than is usual, unless it is better
        ({32 * 8.0**i: 10 + 10 * i for i in range(8)}, 32 * 8.0**7),  # it ends at some time
    ],
)
def test_the_path(right: dict[float, int], chosen: float) -> None:
    tried = []

    def attempt(C: float) -> Trial:
        tried.append(C)
        return trial(right[C])

    assert penalty.relax(attempt) == chosen
    assert tried == list(right)


@pytest.mark.parametrize(
    ("gained", "lost", "better"),
    [
        (2, 0, True),  # 1.4 standard errors
        (4, 2, False),  # 0.8
        (9, 6, False),
        (9, 4, True),
        (0, 0, False),
        (0, 1, False),
    ],
)
def test_only_examples_that_differ_make_a_standard_error(gained: int, lost: int, better: bool) -> None:
    before = np.arange(1000) < 500
    after = before.copy()
    after[:lost], after[500 : 500 + gained] = False, True
    assert Trial(float(after.mean()), after).beats(Trial(float(before.mean()), before)) == better


def test_ap_counts_as_much_as_leaves() -> None:
    right = np.arange(100) < 50
    assert Trial(0.53, right).beats(Trial(0.5, right))
    assert not Trial(0.519, right).beats(Trial(0.5, right))  # less than what one example makes
