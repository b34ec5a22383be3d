"""An evaluation checks the range of every likelihood once, and finds the most likely node of every tier once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.arrays import numpy_ops

if TYPE_CHECKING:
    from collections.abc import Callable

H = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


def count_rows(patch: pytest.MonkeyPatch, target: Any, name: str, place: int) -> list[int]:
    """Record how many rows every call of a function gets, as its argument number `place`."""
    rows: list[int] = []
    original: Callable[..., Any] = getattr(target, name)

    def counting(*given: Any) -> Any:
        rows.append(len(given[place]))
        return original(*given)

    patch.setattr(target, name, counting)
    return rows


@pytest.mark.parametrize("information", ["leaves", "depth", [0.0, 0.5, 2.0, 2.0, 1.0]])
@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_every_row_is_looked_at_once(information: Any, scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = np.random.default_rng(0).dirichlet(np.ones(3), 1000)
    q = hr.likelihood.from_leaves(H, leaves)
    with np.errstate(divide="ignore"):
        q = {"probability": q, "log": np.log(q), "logit": np.log(q) - np.log1p(-q)}[scale]
    checked = count_rows(monkeypatch, numpy_ops, "extremes", 0)
    searched = count_rows(monkeypatch, numpy_ops.Tiers, "_leaders", 1)
    labels = np.random.default_rng(1).choice(H.leaves, 1000)
    hr.evaluate(H, q, labels, information=information, scale=scale)
    assert sum(checked) == 1000
    assert sum(searched) == 1000
