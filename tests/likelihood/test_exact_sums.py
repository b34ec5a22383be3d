"""Sums of leaf probabilities that every program can repeat."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hedgerow import Hierarchy, likelihood


def test_rows_that_do_not_sum_to_1_are_divided_by_their_exact_sum() -> None:
    random = np.random.default_rng(0)
    count = 50
    forward = Hierarchy.from_edges([("root", f"leaf {i}") for i in range(count)])
    backward = Hierarchy.from_edges([("root", f"leaf {i}") for i in reversed(range(count))])
    off = random.choice([0, 1e-15, -1e-12, 1e-9, 5e-4], size=(2000, 1))
    p = random.dirichlet(np.ones(count), size=2000) * (1 + off)
    one_way = likelihood.from_leaves(forward, p)[:, 1:]
    assert np.array_equal(one_way, likelihood.from_leaves(backward, p[:, ::-1])[:, :0:-1])
    for row, found in zip(p[::97].tolist(), one_way[::97].tolist(), strict=True):
        units = sum(int(Fraction(x) * 2**62) for x in row)
        divisor = units / 2**62 if abs(units - 2**62) > 512 * (count + 1) else 1.0
        assert found == [int(Fraction(x / divisor) * 2**62) / 2**62 for x in row]
