from __future__ import annotations

import itertools
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hedgerow import Hierarchy, infer, metrics, ordered_pareto_sets
from hedgerow.errors import HedgerowError, ParameterError, ScoreError
from hedgerow.infer import decisions as risk
from hedgerow.likelihood.likelihoods import Likelihoods
from tests import oracle
from tests.backends import BACKENDS, Backend, make, values_of
from tests.strategies import (
    QUICK,
    Floats,
    information_kinds,
    likelihoods,
    trees,
    trees_and_likelihoods,
)

if TYPE_CHECKING:
    from collections.abc import Callable

THRESHOLDS = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.999, 1.0]) | st.floats(0, 1)


SINGLE_CHILD: st.SearchStrategy[Any] = st.sampled_from(["skip", "answer"])

on_every_backend = pytest.mark.parametrize("backend", BACKENDS, ids="-".join)


def check(backend: Backend, result: Any, expected: list[int]) -> None:
    found = values_of(backend, result)
    assert found.dtype == np.int64
    assert found.tolist() == expected


def check_all(q: Floats, rule: Callable[[Any], Any], expected: list[int]) -> None:
    for backend in BACKENDS:
        check(backend, rule(make(backend, q)), expected)


@QUICK
@given(drawn=trees_and_likelihoods())
def test_leaf(drawn: tuple[Hierarchy, Floats]) -> None:
    h, q = drawn
    t = oracle.Tree(h.parent.tolist())
    check_all(q, lambda q: infer.leaf(h, q), [oracle.leaf(t, p) for p in q.tolist()])


@QUICK
@given(data=st.data())
def test_threshold_and_majority(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind, tau = data.draw(information_kinds(h)), data.draw(THRESHOLDS)
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    expected = [oracle.threshold(t, p, info, tau) for p in q.tolist()]
    check_all(q, lambda q: infer.threshold(h, q, tau, information=kind, single_child=single), expected)
    expected = [oracle.threshold(t, p, info, 0.5) for p in q.tolist()]
    check_all(q, lambda q: infer.majority(h, q, information=kind, single_child=single), expected)
    each = [data.draw(THRESHOLDS) for _ in q]
    expected = [oracle.threshold(t, p, info, own) for p, own in zip(q.tolist(), each, strict=True)]
    check_all(q, lambda q: infer.threshold(h, q, each, information=kind, single_child=single), expected)
    for backend in BACKENDS:
        own = make((backend[0], "float64"), each)
        check(backend, infer.threshold(h, make(backend, q), own, information=kind, single_child=single), expected)


@QUICK
@given(data=st.data())
def test_plurality(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind = data.draw(information_kinds(h))
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    expected = [oracle.plurality(t, p, info) for p in q.tolist()]
    check_all(q, lambda q: infer.plurality(h, q, information=kind, single_child=single), expected)


@QUICK
@given(data=st.data())
def test_information_threshold(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind = data.draw(information_kinds(h))
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    zeta = data.draw(st.sampled_from(info) | st.floats(-1, max(info)))
    expected = [oracle.information_threshold(t, p, info, zeta) for p in q.tolist()]
    check_all(
        q, lambda q: infer.information_threshold(h, q, zeta, information=kind, single_child=single), expected
    )
    with pytest.raises(ParameterError, match="zeta"):
        infer.information_threshold(h, q, max(info) + 1e-9, information=kind, single_child=single)


@QUICK
@given(data=st.data())
def test_expected_information(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind, lam = data.draw(information_kinds(h)), data.draw(st.sampled_from([0, 0.5, 1, 3, 1e20]))
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    expected = [oracle.expected_information(t, p, info, lam) for p in q.tolist()]
    check_all(q, lambda q: infer.expected_information(h, q, lam, information=kind, single_child=single), expected)


@QUICK
@given(data=st.data())
def test_climbing_and_top_down(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind, tau = data.draw(information_kinds(h)), data.draw(THRESHOLDS)
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    check_all(
        q,
        lambda q: infer.climbing(h, q, tau, single_child=single),
        [oracle.climbing(t, p, tau) for p in q.tolist()],
    )
    expected = [oracle.top_down(t, p, info, tau) for p in q.tolist()]
    check_all(q, lambda q: infer.top_down(h, q, tau, information=kind, single_child=single), expected)


@QUICK
@given(data=st.data())
def test_most_likely_exclusive(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind = data.draw(information_kinds(h))
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    expected = [oracle.most_likely_exclusive(t, p, info) for p in q.tolist()]
    check_all(q, lambda q: infer.most_likely_exclusive(h, q, information=kind, single_child=single), expected)


def costs(t: oracle.Tree, info: list[float]) -> dict[str, Any]:
    return {
        "edge_distance": lambda y, v: len(t.ancestors(y) ^ t.ancestors(v)),
        "Depth distance": lambda y, v: len(t.ancestors(y) ^ t.ancestors(v)),
        "information_distance": lambda y, v: info[y] + info[v] - 2 * info[t.lca(y, v)],
        "1 - Correct": lambda y, v: v not in t.ancestors(y),
        "-Correct x I": lambda y, v: -(v in t.ancestors(y)) * info[v],
        "-correct × information": lambda y, v: -(v in t.ancestors(y)) * info[v],
    }


@pytest.mark.parametrize("over", ["all", "leaves"])
@QUICK
@given(data=st.data())
def test_risk_minimising_with_costs_that_are_exact(over: Any, data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    # With information in halves and likelihoods in 2**-20 nothing is rounded, so that ties are ties.
    kind = data.draw(information_kinds(h, exact=True))
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind).tolist()
    name, cost = data.draw(st.sampled_from(list(costs(t, info).items())))
    expected = [
        oracle.risk_minimising(t, p, info, cost, over, likely_first=name.startswith("-")) for p in q.tolist()
    ]
    check_all(
        q, lambda q: infer.risk_minimising(h, q, name, over, information=kind, single_child=single), expected
    )
    expected = [oracle.risk_minimising(t, p, info, cost, over) for p in q.tolist()]

    def function(_: Hierarchy, label: Any, prediction: Any) -> Any:
        return np.vectorize(cost, otypes=[float])(label, prediction)

    check_all(
        q, lambda q: infer.risk_minimising(h, q, function, over, information=kind, single_child=single), expected
    )
    matrix = function(h, np.arange(len(h))[:, None], np.arange(len(h)))
    check_all(
        q, lambda q: infer.risk_minimising(h, q, matrix, over, information=kind, single_child=single), expected
    )


@pytest.mark.parametrize("over", ["all", "leaves"])
@QUICK
@given(data=st.data())
def test_risk_minimising_with_bits(over: Any, data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    single = data.draw(SINGLE_CHILD)
    t, info = oracle.Tree(h.parent.tolist(), single), h.information().tolist()
    name, cost = data.draw(st.sampled_from(list(costs(t, info).items())))
    risks = [oracle.risks(t, p, cost, over) for p in q.tolist()]
    for backend in BACKENDS:
        found = values_of(backend, infer.risk_minimising(h, make(backend, q), name, over, single_child=single))
        for costs_of, answer in zip(risks, found.tolist(), strict=True):
            assert (answer in costs_of) if costs_of else answer == 0
            assert not costs_of or float(costs_of[answer] - min(costs_of.values())) < 1e-12


# What the paper says about the rules -----------------------------------------------------------------------


@QUICK
@given(data=st.data())
def test_least_risk_is_most_expected_information(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods(lawful=True, leaves_only=True))
    kind = data.draw(information_kinds(h))
    expected = infer.expected_information(h, q, information=kind).tolist()
    check_all(q, lambda q: infer.risk_minimising(h, q, "-Correct x I", "all", information=kind), expected)


def pareto_sets(h: Hierarchy, q: Floats, kind: Any) -> list[list[int]]:
    sets = ordered_pareto_sets(h, q, information=kind)
    return [part.tolist() for part in np.split(sets.node, np.cumsum(sets.count)[:-1])]


@QUICK
@given(data=st.data())
def test_the_lambda_family_and_majority_lie_within_the_pareto_set(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods(lawful=True))
    kind, lam = data.draw(information_kinds(h)), data.draw(st.sampled_from([0, 0.1, 1, 7, 1e18]))
    found = infer.expected_information(h, q, lam, information=kind)
    majority = infer.majority(h, q, information=kind)
    for i, allowed in enumerate(pareto_sets(h, q, kind)):
        assert found[i] in allowed
        assert majority[i] in allowed


@QUICK
@given(drawn=trees_and_likelihoods(lawful=True, leaves_only=True))
def test_leaf_inference_is_a_point_of_the_curve(drawn: tuple[Hierarchy, Floats]) -> None:
    h, q = drawn
    assume(len(h.leaves) > 1)  # an only leaf says no more than the root
    for answer, allowed in zip(infer.leaf(h, q).tolist(), pareto_sets(h, q, "leaves"), strict=True):
        assert answer == allowed[-1]


@QUICK
@given(data=st.data())
def test_what_passes_one_half_is_one_path(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods(lawful=True))
    t, tau = oracle.Tree(h.parent.tolist()), data.draw(st.sampled_from([0.5, 0.625, 0.75, 0.9]))
    # Depth grows along every edge. Leaf counts do not where the root has one child.
    found = infer.threshold(h, q, tau, information="depth").tolist()
    for p, answer in zip(q.tolist(), found, strict=True):
        passing = {v for v in t.candidates if p[v] > tau}
        assert passing == t.ancestors(answer) & set(t.candidates)


@QUICK
@given(data=st.data())
def test_thresholds_walk_through_the_pareto_set(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    kind = data.draw(information_kinds(h))
    sets = ordered_pareto_sets(h, q, information=kind, minimum=0.0)
    stop = np.cumsum(sets.count)
    for i, (low, high) in enumerate(zip(stop - sets.count, stop, strict=True)):
        for k in range(low, high):
            below = sets.score[k + 1] if k + 1 < high else 0.0
            assert infer.threshold(h, q[i : i + 1], below, information=kind).tolist() == [sets.node[k]]


# Scales ----------------------------------------------------------------------------------------------------


@settings(QUICK, max_examples=20)
@given(data=st.data())
def test_rules_that_compare_take_any_increasing_scale(data: st.DataObject) -> None:
    h = data.draw(trees(12))
    q = data.draw(likelihoods(h)).clip(0, 1)
    q[:] = np.round(q * 64) / 64  # so that logarithms and logits keep the order in single precision
    tau = data.draw(st.sampled_from([0, 0.26, 0.3, 0.51, 0.76]))  # none of them a likelihood but 0
    with np.errstate(divide="ignore"):
        scaled = {"log": np.log(q), "logit": np.log(q) - np.log1p(-q)}
    rules: list[Any] = [
        lambda h, q, _, scale: infer.leaf(h, q, scale=scale),
        lambda h, q, tau, scale: infer.threshold(h, q, tau, scale=scale),
        lambda h, q, _, scale: infer.majority(h, q, scale=scale),
        lambda h, q, _, scale: infer.plurality(h, q, scale=scale),
        lambda h, q, _, scale: infer.information_threshold(h, q, h.information().max() / 2, scale=scale),
        lambda h, q, tau, scale: infer.climbing(h, q, tau, scale=scale),
        lambda h, q, tau, scale: infer.top_down(h, q, tau, scale=scale),
    ]
    for scale, scores in scaled.items():
        for backend, rule in itertools.product(BACKENDS, rules):
            expected = rule(h, q, tau, "probability").tolist()
            check(backend, rule(h, make(backend, scores), tau, scale), expected)
            check(backend, rule(h, Likelihoods.of(h, make(backend, scores), scale), tau, None), expected)  # type: ignore[call-overload]


@on_every_backend
def test_single_precision_is_compared_exactly(backend: Backend) -> None:
    h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    for tau in (0.1, 0.3, 0.7, 1 / 3):
        q = make(backend, [[1, tau, 0.0]])
        exceeds = float(q[0, 1]) > tau
        for rule in (infer.threshold, infer.climbing, infer.top_down):
            check(backend, rule(h, q, tau), [1 if exceeds else 0])


# Bisection -------------------------------------------------------------------------------------------------


@QUICK
@given(data=st.data())
def test_the_fitted_lambda_achieves_what_it_says(data: st.DataObject) -> None:
    h = data.draw(trees(12))
    q = data.draw(likelihoods(h, max_rows=6))
    kind = data.draw(information_kinds(h))
    labels = np.array([data.draw(st.integers(0, len(h) - 1)) for _ in q])
    below: Any = data.draw(st.sampled_from(["label", "wrong"]))
    wanted = data.draw(st.sampled_from([0, 0.5, 0.9, 1]))

    def accuracy(lam: float) -> float:
        answers = infer.expected_information(h, q, lam, information=kind)
        return float(metrics.correct(h, labels, answers, below_label=below).mean())

    def fit(q: Any, labels: Any) -> infer.FittedLambda:
        return infer.fit_lambda(h, q, labels, wanted, information=kind, below_label=below)

    try:
        fitted = fit(q, labels)
    except ScoreError:
        assert accuracy(2.0**64) < wanted
        return
    assert fitted.accuracy == pytest.approx(accuracy(fitted.lam))
    assert fitted.accuracy >= wanted
    assert fitted.lam == 0 or accuracy(fitted.lam * (1 - 2e-9)) < wanted
    for backend in BACKENDS:
        given_labels = labels if backend[0] == "numpy" else torch.tensor(labels, device=backend[0])
        assert fit(make(backend, q), given_labels) == fitted


# Bad input, odd input --------------------------------------------------------------------------------------

RULES: dict[str, Any] = {
    "leaf": infer.leaf,
    "threshold": lambda h, q: infer.threshold(h, q, 0.3),
    "majority": infer.majority,
    "plurality": infer.plurality,
    "information_threshold": lambda h, q: infer.information_threshold(h, q, 0.5),
    "expected_information": infer.expected_information,
    "climbing": lambda h, q: infer.climbing(h, q, 0.3),
    "top_down": lambda h, q: infer.top_down(h, q, 0.3),
    "most_likely_exclusive": infer.most_likely_exclusive,
    "risk_minimising": lambda h, q: infer.risk_minimising(h, q, "depth distance"),
    "risk_minimising over leaves": lambda h, q: infer.risk_minimising(h, q, "1 - correct", "leaves"),
    "risk_minimising by table": lambda h, q: infer.risk_minimising(h, q, metrics.edge_distance),
}
SMALL = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


@on_every_backend
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([1, 0.5, np.nan, 0, 0.5], r"row 1 has no number \(NaN\) for 'cat'"),
        ([1, 0.5, -0.25, 0, 0.5], "row 1 has -0.25 for 'cat'"),
        ([1, 0.5, 0, 0, 1.5], "row 1 has 1.5 for 'wolf'"),
        ([1, 0.5, 0, 0, np.inf], "row 1 has inf for 'wolf'"),
    ],
)
def test_every_rule_refuses_what_is_no_probability(backend: Backend, rule: Any, row: Any, said: str) -> None:
    with pytest.raises(ScoreError, match=said):
        rule(SMALL, make(backend, [[1, 0.5, 0.5, 0, 0.5], row]))


@on_every_backend
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_checks_the_shape(backend: Backend, rule: Any) -> None:
    with pytest.raises(ScoreError, match="one column per node, 5 in all"):
        rule(SMALL, make(backend, [[1, 0.5, 0.5, 0]]))
    with pytest.raises(ScoreError, match="one row per example"):
        rule(SMALL, make(backend, [1, 0.5, 0.5, 0, 0.5]))
    check(backend, rule(SMALL, make(backend, np.zeros((0, 5)))), [])


@on_every_backend
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_where_all_likelihoods_are_zero_the_answer_is_the_root(backend: Backend, rule: Any) -> None:
    check(backend, rule(SMALL, make(backend, np.zeros((2, 5)))), [0, 0])


@on_every_backend
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_many_rows_are_answered_like_few(backend: Backend, rule: Any) -> None:
    random = np.random.default_rng(0)
    q = np.concatenate([np.ones((9000, 1)), random.random((9000, 4))], axis=1)
    found = values_of(backend, rule(SMALL, make(backend, q)))
    some = random.choice(9000, 50, replace=False)
    check(backend, rule(SMALL, make(backend, q[some])), found[some].tolist())


@on_every_backend
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_gradients_and_half_precision_are_no_hindrance(backend: Backend, rule: Any) -> None:
    q = [[1, 0.75, 0.5, 0.25, 0.25], [1, 0.25, 0.25, 0, 0.75]]
    expected = values_of(backend, rule(SMALL, make(backend, q))).tolist()
    if backend[0] == "numpy":
        check(backend, rule(SMALL, np.array(q, dtype=np.float16)), expected)
        return
    check(backend, rule(SMALL, make(backend, q).requires_grad_()), expected)
    check(backend, rule(SMALL, make(backend, q).to(torch.bfloat16)), expected)


@on_every_backend
def test_trivial_nodes_are_never_answers_and_do_not_compete(backend: Backend) -> None:
    h = Hierarchy.from_edges([("root", "chain"), ("chain", "leaf"), ("root", "other")])
    q = make(backend, [[1, 1, 0.5, 0.25]])
    for rule in RULES.values():
        assert values_of(backend, rule(h, q))[0] != 1
    check(backend, infer.plurality(h, q), [2])
    check(backend, infer.most_likely_exclusive(h, q), [2])


def test_a_threshold_in_per_cent_is_refused() -> None:
    with pytest.raises(HedgerowError, match=r"between 0 and 1, not 80\. For 80 %, write 0\.8\."):
        infer.threshold(SMALL, np.array([[1, 0.5, 0.5, 0, 0.5]]), 80)


@pytest.mark.parametrize(
    "call",
    [
        lambda q: infer.threshold(SMALL, q, np.nan),
        lambda q: infer.threshold(SMALL, q, 80),
        lambda q: infer.threshold(SMALL, q, -0.1, scale="log"),
        lambda q: infer.climbing(SMALL, q, [0.5, 1.01], inclusive=True),
        lambda q: infer.top_down(SMALL, q, np.inf),
        lambda q: infer.threshold(SMALL, q, [0.5, 0.5, 0.5]),
        lambda q: infer.climbing(SMALL, q, [[0.5]]),
        lambda q: infer.information_threshold(SMALL, q, np.nan),
        lambda q: infer.expected_information(SMALL, q, -1),
        lambda q: infer.expected_information(SMALL, q, np.nan),
        lambda q: infer.expected_information(SMALL, q, np.inf),
        lambda q: infer.threshold(SMALL, q, 0.5, information="bits"),
        lambda q: infer.threshold(SMALL, q, 0.5, information=[0, 1]),
        lambda q: infer.threshold(SMALL, q, 0.5, scale="odds"),  # type: ignore[arg-type]
        lambda q: infer.majority(SMALL, q, scale="odds"),  # type: ignore[arg-type]
        lambda q: infer.fit_lambda(SMALL, q, ["cat"], 0.5),
        lambda q: infer.fit_lambda(SMALL, q, ["cat", "cow"], 0.5),
        lambda q: infer.fit_lambda(SMALL, q, ["cat", "dog"], 1.5),
        lambda q: infer.fit_lambda(SMALL, q[:0], [], 0.5),
        lambda q: infer.risk_minimising(SMALL, q, "hamming"),
        lambda q: infer.risk_minimising(SMALL, q, "1 - correct", "nodes"),  # type: ignore[arg-type]
        lambda q: infer.risk_minimising(SMALL, q, np.zeros((3, 3))),
        lambda q: infer.risk_minimising(SMALL, q, metrics.correct),
        lambda q: infer.risk_minimising(SMALL, q, lambda _, y, v: np.where(y == v, np.nan, 1.0)),
        lambda q: infer.risk_minimising(SMALL, q, lambda *_: np.zeros(7)),
    ],
)
def test_bad_arguments(call: Callable[[Any], Any]) -> None:
    with pytest.raises(HedgerowError):
        call(np.array([[1, 0.5, 0.5, 0, 0.5]] * 2))


@on_every_backend
def test_a_table_of_costs_has_its_limit(backend: Backend) -> None:
    h = Hierarchy.from_parents([f"n{i}" for i in range(risk.TABLE_LIMIT + 1)], [-1] + [0] * risk.TABLE_LIMIT)
    q = np.zeros((1, len(h)))
    q[0, [0, 3]] = 1
    with pytest.raises(ParameterError, match="table of all pairs"):
        infer.risk_minimising(h, make(backend, q), metrics.edge_distance)
    check(backend, infer.risk_minimising(h, make(backend, q), "edge_distance"), [3])


def test_arrays_are_answered_without_torch() -> None:
    script = """
import sys
import numpy as np
import hedgerow as hr

h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
q = hr.likelihood.from_leaves(h, np.array([[0.2, 0.3, 0.5]]))
for rule in (hr.infer.leaf, hr.infer.majority, hr.infer.plurality, hr.infer.expected_information):
    rule(h, q)
hr.infer.threshold(h, q, 0.3), hr.infer.climbing(h, q, 0.3), hr.infer.top_down(h, q, 0.3)
hr.infer.risk_minimising(h, q, "depth distance"), hr.infer.most_likely_exclusive(h, q)
hr.infer.fit_lambda(h, q, ["cat"], 0.5), hr.infer.information_threshold(h, q, 0.5)
hr.operating_curve(h, q, ["cat"])
loaded = {"torch", "matplotlib", "lightning", "sklearn"} & set(sys.modules)
sys.exit(f"loaded: {loaded}" if loaded else 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_of_equal_distances_the_more_specific_answer_is_given() -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    q = np.array([[1, 1, 0.5, 0.5, 0]])  # three nodes as far from the label as each other
    assert h.names[infer.risk_minimising(h, q, "depth distance")].tolist() == ["cat"]
    reward = infer.risk_minimising(h, q, "-correct x I", information="depth")  # 1 x 1 for pet, 2 x 0.5 for cat
    assert h.names[reward].tolist() == ["pet"]
