from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Hierarchy, infer, likelihood
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError
from tests import oracle
from tests.backends import BACKENDS, make, values_of
from tests.strategies import QUICK, Floats, trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Parametrisation:
    fast: Callable[..., Any]
    slow: Callable[[oracle.Tree, Sequence[float]], list[float]]
    outputs: str
    laws: frozenset[str]
    logit: bool = False

    def width(self, h: Hierarchy) -> int:
        return {"leaves": len(h.leaves), "nodes but the root": len(h) - 1, "nodes": len(h)}[self.outputs]


ORDERED, ADDS_UP, LEAVES = "parent >= child", "parent >= sum of children", "leaves sum to 1"
BELOW = "nodes but the root"

# One entry a parametrisation: it gets every test below.
PARAMETRISATIONS = {
    "flat_softmax": Parametrisation(
        likelihood.flat_softmax, oracle.flat_softmax, "leaves", frozenset({ORDERED, ADDS_UP, LEAVES})
    ),
    "multilabel": Parametrisation(likelihood.multilabel, oracle.multilabel, BELOW, frozenset(), logit=True),
    "conditional_softmax": Parametrisation(
        likelihood.conditional_softmax, oracle.conditional_softmax, BELOW, frozenset({ORDERED, ADDS_UP, LEAVES})
    ),
    "conditional_sigmoid": Parametrisation(
        likelihood.conditional_sigmoid, oracle.conditional_sigmoid, BELOW, frozenset({ORDERED})
    ),
    "deep_rtc": Parametrisation(likelihood.deep_rtc, oracle.deep_rtc, BELOW, frozenset(), logit=True),
    "ps_softmax": Parametrisation(
        likelihood.ps_softmax, oracle.ps_softmax, BELOW, frozenset({ORDERED, ADDS_UP, LEAVES})
    ),
    "softmax_over_nodes": Parametrisation(
        likelihood.softmax_over_nodes, oracle.softmax_over_nodes, "nodes", frozenset({ORDERED, ADDS_UP})
    ),
}


def test_every_link_is_tested_and_exported() -> None:
    for name in likelihood.LINKS:
        assert name in PARAMETRISATIONS, f"PARAMETRISATIONS in tests/likelihood/test_links.py: add {name!r}"
        assert name in likelihood.__all__, f"src/hedgerow/likelihood/__init__.py: export {name!r}"


every_one = pytest.mark.parametrize("p", PARAMETRISATIONS.values(), ids=PARAMETRISATIONS)
SPREADS = st.sampled_from([0.0, 0.1, 1.0, 10.0])


def scores(h: Hierarchy, p: Parametrisation, spread: float, seed: int) -> Floats:
    theta = np.random.default_rng(seed).normal(scale=spread, size=(2, p.width(h)))
    return theta.astype(np.float32).astype(np.float64)  # the same numbers in either precision


@every_one
@QUICK
@given(h=trees(14), spread=SPREADS, seed=st.integers(0, 999))
def test_definition(p: Parametrisation, h: Hierarchy, spread: float, seed: int) -> None:
    t, theta = oracle.Tree(h.parent.tolist()), scores(h, p, spread, seed)
    expected = [p.slow(t, row) for row in theta.tolist()]
    for backend in BACKENDS:
        found = values_of(backend, p.fast(h, make(backend, theta)))
        assert found.dtype == backend[1]
        tolerance = 1e-5 if backend[1] == "float32" else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@every_one
@QUICK
@given(h=trees(14), spread=st.sampled_from([0.0, 1.0, 10.0, 100.0, 1e4]), seed=st.integers(0, 999))
def test_laws(p: Parametrisation, h: Hierarchy, spread: float, seed: int) -> None:
    theta = scores(h, p, spread, seed)
    for backend in BACKENDS:
        q = values_of(backend, p.fast(h, make(backend, theta)))
        log_q = values_of(backend, p.fast(h, make(backend, theta), scale="log"))
        hair = 1e-6 if backend[1] == "float32" else 1e-14
        assert np.all(q[:, 0] == 1)
        assert np.all(log_q[:, 0] == 0)
        assert np.all((q >= 0) & (q <= 1))
        assert np.all(log_q <= 0)
        if ORDERED in p.laws:
            assert np.all(q[:, h.parent[1:]] >= q[:, 1:])  # exactly
            assert np.all(log_q[:, h.parent[1:]] >= log_q[:, 1:])
        children = np.stack([q[:, h.children(v)].sum(axis=1) for v in range(len(h))], axis=1)
        if ADDS_UP in p.laws:
            assert np.all(q >= children - hair * len(h))
        if LEAVES in p.laws:
            np.testing.assert_allclose(q[:, h.leaves].sum(axis=1), 1, atol=hair * len(h))
            np.testing.assert_allclose(children[:, ~h.is_leaf], q[:, ~h.is_leaf], atol=hair * len(h))


@every_one
@QUICK
@given(h=trees(14), spread=SPREADS, seed=st.integers(0, 999))
def test_logarithms(p: Parametrisation, h: Hierarchy, spread: float, seed: int) -> None:
    t, theta = oracle.Tree(h.parent.tolist()), scores(h, p, spread, seed)
    expected = np.log([p.slow(t, row) for row in theta.tolist()])
    for backend in BACKENDS:
        found = values_of(backend, p.fast(h, make(backend, theta), scale="log"))
        assert found.dtype == backend[1]
        tolerance = 1e-5 if backend[1] == "float32" else 1e-11
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@every_one
@settings(QUICK, max_examples=15)
@given(h=trees(10), seed=st.integers(0, 999))
def test_logarithms_of_extreme_scores(p: Parametrisation, h: Hierarchy, seed: int) -> None:
    theta = np.random.default_rng(seed).choice([-1e4, -0.5, 0.0, 1.0, 1e4], size=(2, p.width(h)))
    expected = [exact_logarithms(p, h, row) for row in theta]
    for backend in BACKENDS:
        found = values_of(backend, p.fast(h, make(backend, theta), scale="log"))
        assert np.all(np.isfinite(found))
        tolerance = 1e-6 if backend[1] == "float32" else 1e-13
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 10)


def exact_logarithms(p: Parametrisation, h: Hierarchy, theta: Floats) -> list[float]:
    """Logarithms of the definitions, worked out as logarithms: nothing underflows."""
    t = oracle.Tree(h.parent.tolist())

    def log_sum(values: list[float]) -> float:
        largest = max(values)
        return largest + math.log(math.fsum(math.exp(value - largest) for value in values))

    def log_sigmoid(x: float) -> float:
        return -log_sum([0.0, -x])

    def softmax(score: dict[int, float]) -> list[float]:
        largest = max(score.values())
        less = {v: x - largest for v, x in score.items()}
        total = log_sum(list(less.values()))
        return [log_sum([x for u, x in less.items() if v in t.ancestors(u)]) - total for v in t.nodes]

    own = dict(
        zip({"leaves": t.leaves, BELOW: t.nodes[1:], "nodes": t.nodes}[p.outputs], theta.tolist(), strict=True)
    )
    path = {v: [u for u in t.path(v) if u != t.root] for v in t.nodes}
    if p.slow in (oracle.flat_softmax, oracle.softmax_over_nodes):
        return softmax(own)
    beta = {v: math.fsum(own[u] for u in path[v]) for v in t.nodes}
    if p.slow is oracle.ps_softmax:
        return softmax({v: beta[v] for v in t.leaves})
    if p.slow is oracle.deep_rtc:
        return [0.0, *(log_sigmoid(beta[v]) for v in t.nodes[1:])]
    if p.slow is oracle.multilabel:
        return [0.0, *(log_sigmoid(own[v]) for v in t.nodes[1:])]
    if p.slow is oracle.conditional_sigmoid:
        return [math.fsum(log_sigmoid(own[u]) for u in path[v]) for v in t.nodes]
    group = {v: t.children[u] for u in t.nodes for v in t.children[u]}
    given_parent = {v: -log_sum([own[u] - own[v] for u in group[v]]) for v in t.nodes[1:]}
    return [math.fsum(given_parent[u] for u in path[v]) for v in t.nodes]


@every_one
def test_the_logit_scale(p: Parametrisation) -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    theta = scores(h, p, 3.0, 0)
    for backend in BACKENDS:
        if not p.logit:
            with pytest.raises(ParameterError, match="scale"):
                p.fast(h, make(backend, theta), scale="logit")
            continue
        logit = values_of(backend, p.fast(h, make(backend, theta), scale="logit"))
        assert np.all(logit[:, 0] == np.inf)
        q = values_of(backend, p.fast(h, make(backend, theta)))
        np.testing.assert_allclose(1 / (1 + np.exp(-logit)), q, rtol=1e-5)


@every_one
def test_shapes(p: Parametrisation) -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    theta = np.random.default_rng(0).normal(size=(2, 3, p.width(h)))
    for backend in BACKENDS:
        whole = values_of(backend, p.fast(h, make(backend, theta)))
        assert whole.shape == (2, 3, len(h))
        np.testing.assert_allclose(
            values_of(backend, p.fast(h, make(backend, theta[1, 2]))), whole[1, 2], rtol=1e-6
        )
        assert values_of(backend, p.fast(h, make(backend, theta[:0]))).shape == (0, 3, len(h))
        with pytest.raises(ScoreError, match="one column per"):
            p.fast(h, make(backend, theta[..., 1:]))
    with pytest.raises(ParameterError, match="scale"):
        p.fast(h, theta, scale="odds")


@every_one
@pytest.mark.parametrize("scale", ["probability", "log"])
def test_gradients(p: Parametrisation, scale: str) -> None:
    h = Hierarchy.from_edges(
        [("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog"), ("wolf", "grey"), ("grey", "old")]
    )
    theta = torch.tensor(np.random.default_rng(0).normal(size=(2, p.width(h))), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: p.fast(h, x, scale=scale), (theta,))
    extreme = torch.tensor(np.linspace(-1e4, 1e4, p.width(h)), requires_grad=True)
    p.fast(h, extreme, scale=scale).sum().backward()
    assert extreme.grad is not None
    assert bool(torch.isfinite(extreme.grad).all())


# From leaf probabilities -----------------------------------------------------------------------------------

SMALL = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


@QUICK
@given(h=trees(), seed=st.integers(0, 999), shuffle=st.booleans())
def test_from_leaves(h: Hierarchy, seed: int, shuffle: bool) -> None:
    t, random = oracle.Tree(h.parent.tolist()), np.random.default_rng(seed)
    p = random.dirichlet(np.full(len(h.leaves), 0.3), size=3)
    expected = [
        [math.fsum(row[t.leaves.index(u)] for u in t.leaves_below(v)) for v in t.nodes] for row in p.tolist()
    ]
    order = random.permutation(len(h.leaves)) if shuffle else np.arange(len(h.leaves))
    classes = h.names[h.leaves][order] if shuffle else None
    for backend in BACKENDS:
        q = values_of(backend, likelihood.from_leaves(h, make(backend, p[:, order]), classes))
        assert q.dtype == backend[1]
        np.testing.assert_allclose(q, expected, atol=1e-6 if backend[1] == "float32" else 1e-14)
        assert np.all(q[:, 0] == 1)
        assert np.all(q[:, h.parent[1:]] >= q[:, 1:])
        assert np.all(q[:, h.is_trivial] == q[:, np.flatnonzero(h.is_trivial) + 1])


def test_rows_are_renormalised_within_a_tolerance() -> None:
    assert likelihood.from_leaves(SMALL, [[0.5, 0.25, 0.2492]]).sum(axis=1)[0] == pytest.approx(
        1 + 0.75 / 0.9992 + 1, rel=1e-9
    )
    half = np.array([[0.5, 0.25, 0.2355]], dtype=np.float16)
    assert likelihood.from_leaves(SMALL, half)[0, 0] == 1
    assert float(likelihood.from_leaves(SMALL, torch.tensor(half))[0, 0]) == 1
    assert float(likelihood.from_leaves(SMALL, torch.tensor(half).to(torch.bfloat16))[0, 0]) == 1
    for bad in ([[0.5, 0.25, 0.2485]], half.astype(np.float32), np.array([[0.5, 0.25, 0.21]], dtype=np.float16)):
        with pytest.raises(ScoreError, match="must sum to 1"):
            likelihood.from_leaves(SMALL, bad)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0.5, np.nan, 0.5], r"row 1 has no number \(NaN\) for 'dog'"),
        ([0.5, -0.25, 0.75], "row 1 has -0.25 for 'dog'"),
        ([0.5, 0.5, 0.5], "row 1 sums to 1.5"),
        ([0.0, 0.0, 0.0], "row 1 sums to 0"),
        ([0.5, np.inf, 0.5], "row 1 has inf for 'dog'"),
        ([2.0, -3.0, 7.0], "flat_softmax"),
    ],
)
def test_what_is_no_distribution(row: list[float], said: str) -> None:
    for backend in BACKENDS:
        with pytest.raises(ScoreError, match=said):
            likelihood.from_leaves(SMALL, make(backend, [[0.5, 0.25, 0.25], row]))


def test_no_rows_and_wrong_widths() -> None:
    for backend in BACKENDS:
        with pytest.raises(ScoreError, match="no rows"):
            likelihood.from_leaves(SMALL, make(backend, np.zeros((0, 3))))
        with pytest.raises(ScoreError, match="one column per leaf, 3 in all"):
            likelihood.from_leaves(SMALL, make(backend, np.full((2, 5), 0.2)))


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (["cat", "dog", "wolf", "wolf"], "1 repeated .'wolf'."),
        (["cat", "dog", "pet"], "1 missing .'wolf'.; 1 not leaves of the tree .'pet'."),
        (["cat", "dog", "wolff"], "'wolff'"),
        ([1, 2, 3], "3 missing"),
    ],
)
def test_names_of_the_columns(classes: list[Any], said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        likelihood.from_leaves(SMALL, [[0.5, 0.25, 0.25]], classes)


# The check that all users of likelihoods share --------------------------------------------------------------


def test_rounding_above_one_counts_as_one() -> None:
    for backend in BACKENDS:
        found = likelihood.Likelihoods.of(SMALL, make(backend, [[1.000001, 0.5, 0.25, 0.25, 0.5]])).values
        assert values_of(backend, found).max() == 1
        with pytest.raises(ScoreError, match=r"row 0 has 1\.0001"):
            _ = likelihood.Likelihoods.of(SMALL, make(backend, [[1, 1.0001, 0.25, 0.25, 0.5]])).values


SCALES: tuple[likelihood.Scale, ...] = ("log", "logit")


def test_other_scales_only_refuse_what_is_no_number() -> None:
    row = [np.inf, 3.0, -np.inf, -2.0, 0.0]
    for backend in BACKENDS:
        for scale in SCALES:
            found = likelihood.Likelihoods.of(SMALL, make(backend, [row]), scale).values
            assert values_of(backend, found).tolist() == [row]
            with pytest.raises(ScoreError, match=r"row 1 has no number \(NaN\) for 'pet'"):
                _ = likelihood.Likelihoods.of(SMALL, make(backend, [row, [0, np.nan, 0, 0, 0]]), scale).values
    with pytest.raises(ParameterError, match="scale"):
        _ = likelihood.Likelihoods.of(SMALL, [row], "odds").values  # type: ignore[call-overload]


@pytest.mark.parametrize("backend", BACKENDS, ids=repr)
@QUICK
@given(st.data())
def test_decimal_probabilities_come_out_as_they_went_in(backend: Any, data: st.DataObject) -> None:
    h = data.draw(trees())
    votes = data.draw(st.lists(st.sampled_from(range(len(h.leaves))), min_size=10, max_size=10))
    count = np.bincount(votes, minlength=len(h.leaves))
    # Tenths have no exact sum, yet they stay what they are, and no parent gets less than its child.
    p = make(backend, count[None] / 10)
    q = values_of(backend, likelihood.from_leaves(h, p))
    assert q[:, h.leaves].tolist() == values_of(backend, p).tolist()
    assert np.all(q[:, np.maximum(h.parent, 0)] >= q)
    # Sums of the same numbers are equal, in whatever order they come.
    q = values_of(backend, likelihood.flat_softmax(h, make(backend, count[None])))
    of: dict[tuple[int, ...], float] = {}
    for v in range(len(h)):
        below = tuple(sorted(count[h.leaves_before[v] : h.leaves_before[h.end[v]]].tolist()))
        assert of.setdefault(below, q[0, v]) == q[0, v]


def test_a_threshold_that_equals_a_probability_is_not_exceeded() -> None:
    h = Hierarchy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("a", "d"), ("b", "e"), ("b", "f")])
    q = likelihood.from_leaves(h, [[0.5, 0.1, 0.3, 0.1], [0.1, 0.5, 0.3, 0.1]])
    assert h.names[infer.threshold(h, q, 0.5)].tolist() == ["a", "a"]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # of torch's own jvp
@pytest.mark.parametrize("name", ["flat_softmax", "softmax_over_nodes"])
def test_gradients_are_those_of_plain_sums(name: str) -> None:
    h = Hierarchy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("a", "d"), ("b", "e"), ("b", "f")])
    function = PARAMETRISATIONS[name].fast
    width = PARAMETRISATIONS[name].width(h)
    theta = torch.linspace(-2, 3, 2 * width, dtype=torch.float64).reshape(2, width).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: function(h, t), theta)
    sure = torch.eye(width, dtype=torch.float64)[:1] * 60  # whose sum is 1 within rounding
    gradient = torch.autograd.grad(function(h, sure.requires_grad_())[0, h.leaves[0]], sure)[0]
    assert gradient.abs().max() < 1e-20
    for tangent, least, most in ((torch.ones_like(theta), 0.0, 1e-12), (theta.detach(), 0.01, 10.0)):
        found = torch.func.jvp(lambda t: function(h, t), (theta.detach(),), (tangent,))[1]
        assert least <= found.abs().max() <= most


@pytest.mark.parametrize("backend", BACKENDS, ids=repr)
def test_the_one_that_is_barely_too_large_is_named(backend: Any) -> None:
    h = Hierarchy.from_edges([("r", "a"), ("r", "b")])
    q = np.array([[1, 0.5, 0.5], [1, 1.00001, 0.5]], dtype=np.float32)
    q[1, 1] = np.nextafter(q[1, 1], np.float32(2))
    with pytest.raises(ScoreError, match=r"row 1 has 1\.00001 for 'a'"):
        _ = likelihood.Likelihoods.of(h, make(backend, q)).values
