"""Temperature scaling against the definition."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special

from hedgerow import Hierarchy, likelihood
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood.temperature import Temperature, fit_temperature

Array = np.ndarray[Any, Any]
TREE = Hierarchy.from_json({"r": {"a": ["b", "c"], "d": ["e", "f", "g"]}})


def drawn(sharpness: float) -> tuple[Array, Array]:
    """Scores whose softmax tells the truth, made too sharp or too flat, and labels drawn from the truth."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(6000, 5))
    p = special.softmax(truth, axis=1)
    place = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    return sharpness * truth, TREE.leaves[place]


@pytest.mark.parametrize("sharpness", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("judge", ["label", "nodes"])
def test_it_finds_the_temperature_that_was_there(sharpness: float, judge: str) -> None:
    theta, labels = drawn(sharpness)

    def log_q(t: Array) -> Array:
        return likelihood.flat_softmax(TREE, t, scale="log")  # type: ignore[no-any-return]

    fitted = fit_temperature(TREE, theta, labels, log_q, judge=judge)  # type: ignore[arg-type]
    assert fitted.value == pytest.approx(sharpness, rel=0.06)
    assert fitted.after <= fitted.before
    if judge == "label":
        at = np.take_along_axis(log_q(theta / fitted.value), labels[:, None], axis=1)
        assert fitted.after == pytest.approx(-at.mean(), rel=1e-6)


def test_nodes_below_the_label_and_certain_mistakes() -> None:
    def log_q(t: Array) -> Array:
        return likelihood.multilabel(TREE, t, scale="log")  # type: ignore[no-any-return]

    theta = np.array([[3.0, 1.0, -2.0, 50.0, 0.0, 0.5, -1.0]])
    a = TREE.index("a")
    fitted = fit_temperature(TREE, theta, [a], log_q, judge="nodes")
    q = special.expit(theta[0])
    terms = [np.log(q[0]), *(np.log1p(-q[i]) for i in (4, 5, 6)), special.log_expit(-50.0)]  # b, c say nothing
    assert fitted.before == pytest.approx(-sum(terms) / 7, rel=1e-3)
    assert fitted.value > 1


@pytest.mark.parametrize("judge", ["label", "nodes"])
def test_blocks_and_tensors_give_the_same(judge: Any) -> None:
    theta, labels = drawn(3.0)

    def fitted(scores: Any, **options: Any) -> Temperature:
        link = partial(likelihood.flat_softmax, TREE, scale="log")
        return fit_temperature(TREE, scores, labels, link, judge=judge, **options)

    whole = fitted(theta)
    in_blocks = fitted(theta, block_values=1700 * len(TREE))  # the last block is shorter
    assert in_blocks.value == pytest.approx(whole.value, rel=1e-6)
    assert in_blocks.after == pytest.approx(whole.after, rel=1e-9)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = fitted(torch.tensor(theta, requires_grad=True))
    assert tensor.value == pytest.approx(whole.value, rel=1e-6)
    assert tensor.after == pytest.approx(whole.after, rel=1e-9)


def test_bad_input() -> None:
    with pytest.raises(ScoreError, match="one label per example"):
        fit_temperature(TREE, np.zeros((2, 5)), [3], lambda t: t)
    with pytest.raises(ParameterError, match="judge"):
        fit_temperature(TREE, np.zeros((1, 5)), [3], lambda t: t, judge="leaf")  # type: ignore[arg-type]
    with pytest.raises(ScoreError, match="not finite"):
        fit_temperature(TREE, np.zeros((1, 5)), [3], lambda _: np.full((1, len(TREE)), -np.inf))
