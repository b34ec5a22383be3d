"""Operating curves against a scan of every threshold."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import hedgerow as hr
from hedgerow import Hierarchy, metrics
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError
from hedgerow.measure.builder import STANDARD_METRICS
from tests import oracle, oracle_curve
from tests.backends import BACKENDS, Backend, make
from tests.curve_strategies import Problem, in_parts, merged, problems, raw
from tests.strategies import QUICK

# Random labels may look like class numbers.
pytestmark = pytest.mark.filterwarnings("ignore:The labels are integers:UserWarning")

PETS = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
PETS_Q = [[1, 0.75, 0.5, 0.25, 0.25], [1, 0.25, 0.25, 0.0, 0.75], [1, 0.5, 0.25, 0.25, 0.5]]


def agree(curve: hr.OperatingCurve, expected: oracle_curve.Curve) -> None:
    assert curve.threshold.tolist() == expected.threshold
    assert set(expected.values) <= set(curve.values)
    for name, values in expected.values.items():
        np.testing.assert_allclose(curve.values[name], values, rtol=0, atol=1e-12, err_msg=name)


def builder_of(problem: Problem, rows: list[int], **more: Any) -> hr.CurveBuilder:
    builder = hr.CurveBuilder(problem.h, **problem.options, **more)
    builder.update(problem.q[rows], problem.labels[rows], problem.h.names)
    return builder


# The definition -------------------------------------------------------------------------------------------


@given(problems(), st.sampled_from(BACKENDS))
@QUICK
def test_every_threshold(problem: Problem, backend: Backend) -> None:
    curve = hr.operating_curve(problem.h, make(backend, problem.q), problem.labels, **problem.options)
    agree(curve, problem.expected())
    assert curve.examples == len(problem.labels)


@given(problems(), st.sampled_from(BACKENDS[1:]))
@QUICK
def test_arrays_and_tensors_give_the_same_bytes(problem: Problem, backend: Backend) -> None:
    expected = hr.operating_curve(problem.h, problem.q, problem.labels, **problem.options)
    labels = torch.tensor(problem.labels, device="cpu" if backend[0] == "numpy" else backend[0])
    found = hr.operating_curve(problem.h, make(backend, problem.q), labels, **problem.options)
    assert raw(found) == raw(expected)


@given(problems())
@QUICK
def test_every_point_is_where_its_threshold_says(problem: Problem) -> None:
    curve = hr.operating_curve(problem.h, problem.q, problem.labels, **problem.options)
    tree, info = oracle.Tree(problem.h.parent.tolist()), problem.h.information(problem.options["information"])
    assert len({len(curve), *map(len, curve.values.values())}) == 1
    assert curve.threshold[-1] == 0
    assert np.all(np.diff(curve.threshold) < 0)
    assert oracle_curve.answers(tree, problem.q.tolist(), info.tolist(), curve.threshold[0]) == [0] * len(
        problem.q
    )
    for j, tau in enumerate(curve.threshold):
        assert curve.index(tau) == j
        assert curve.at(tau) == {name: values[j] for name, values in curve.values.items()}
        if j:  # just above the threshold it is the same point, from the one before on another
            assert curve.index(np.nextafter(curve.threshold[j - 1], -1)) == j
    assert curve.index(math.inf) == 0


@given(problems(), st.sampled_from(["log", "logit"]))
@QUICK
def test_any_increasing_scale_gives_the_same_curve(problem: Problem, scale: Any) -> None:
    with np.errstate(divide="ignore"):
        scores = np.log(problem.q) if scale == "log" else special.logit(problem.q)
    curve = hr.operating_curve(problem.h, problem.q, problem.labels, **problem.options)
    mapped = hr.operating_curve(problem.h, scores, problem.labels, scale=scale, **problem.options)
    assert {name: a.tobytes() for name, a in mapped.values.items()} == {
        name: a.tobytes() for name, a in curve.values.items()
    }
    assert mapped.threshold[-1] == -math.inf
    back = np.exp(mapped.threshold) if scale == "log" else special.expit(mapped.threshold)
    np.testing.assert_allclose(back, curve.threshold, rtol=1e-12, atol=0)


def test_scores_that_saturate_are_told_apart_on_another_scale() -> None:
    logits = np.array([[np.inf, 40.0, 39.0, -1.0, -40.0]])
    saturated = hr.operating_curve(PETS, special.expit(logits), ["cat"])
    ranked = hr.operating_curve(PETS, logits, ["cat"], scale="logit")
    assert saturated.threshold.tolist() == [1.0, 0.0]
    assert ranked.threshold.tolist() == [40.0, 39.0, -math.inf]


def test_equal_scores_are_one_step() -> None:
    curve = hr.operating_curve(PETS, [[1, 0.5, 0.25, 0.25, 0.5]] * 7, ["wolf"] * 7)
    assert curve.threshold.tolist() == [0.5, 0.0]
    assert curve.exact.tolist() == [0.0, 1.0]


def test_no_node_ever_passes() -> None:
    curve = hr.operating_curve(PETS, np.zeros((2, 5)), ["cat", "root"])
    assert curve.threshold.tolist() == [0.0]
    assert curve.correct.tolist() == [1.0]
    assert curve.exact.tolist() == [0.5]


def test_trivial_nodes_are_never_answers() -> None:
    h = Hierarchy.from_edges([("root", "a"), ("a", "b"), ("b", "c"), ("root", "d")])
    curve = hr.operating_curve(h, [[1, 0.9, 0.8, 0.7, 0.1]], ["c"])
    assert curve.threshold.tolist() == [0.7, 0.0]


def test_out_of_scope_examples_are_wrong_once_answered_if_asked() -> None:
    q = [[1, 0.9, 0.8, 0.1, 0.1]]
    assert hr.operating_curve(PETS, q, ["root"]).correct.tolist() == [1.0, 1.0, 1.0]
    assert hr.operating_curve(PETS, q, ["root"], below_label="wrong").correct.tolist() == [1.0, 0.0, 0.0]


def test_rounding_above_one_counts_as_one() -> None:
    q = np.array([[1, 1 + 1e-6, 1.0, 0, 0]], dtype=np.float32)
    assert hr.operating_curve(PETS, q, ["cat"]).threshold.tolist() == [1.0, 0.0]


def test_many_rows_in_blocks_equal_one_by_one() -> None:
    random = np.random.default_rng(0)
    parent = np.concatenate([[-1], [random.integers(max(0, i - 40), i) for i in range(1, 3000)]])
    h = Hierarchy.from_parents([f"n{i}" for i in range(len(parent))], parent)
    theta = (4 * random.standard_normal((700, len(h.leaves)))).astype(np.float32)
    labels = random.integers(len(h), size=len(theta))
    q = hr.likelihood.flat_softmax(h, theta)
    single = hr.CurveBuilder(h)
    for row, label in zip(q, labels, strict=True):
        single.update(row[None], [label])
    assert raw(single.compute()) == raw(hr.operating_curve(h, q, labels))


def test_many_events_in_any_order_are_those_of_a_plain_sweep() -> None:
    random = np.random.default_rng(0)
    q = np.sort(random.random((300_000, 5)), axis=1)[:, [4, 3, 2, 1, 0]]  # more events than are sorted at once
    labels = random.integers(5, size=len(q))
    whole = hr.operating_curve(PETS, q, labels)
    shuffled = random.permutation(len(q))
    assert raw(hr.operating_curve(PETS, q[shuffled], labels[shuffled])) == raw(whole)
    for tau in (0.9, 0.5, 0.123, 0.0):
        answers = hr.infer.threshold(PETS, q, tau)
        assert whole.at(tau)["correct"] == pytest.approx(metrics.correct(PETS, labels, answers).mean(), abs=1e-12)


# Metrics --------------------------------------------------------------------------------------------------


@given(problems())
@QUICK
def test_any_metric_of_the_package(problem: Problem) -> None:
    names = [name for name in metrics.METRICS if name not in oracle_curve.NAMES]
    chosen = [metrics.METRICS[name] for name in names]
    curve = hr.operating_curve(problem.h, problem.q, problem.labels, metrics=chosen, **problem.options)
    asked_of_the_answer = {"strictly_exact", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1"}
    agree(curve, problem.expected(names=[name for name in names if name not in asked_of_the_answer]))


def test_metrics_of_ones_own() -> None:
    def says_pet(h: Hierarchy, label: Any, prediction: Any) -> Any:
        return h.is_ancestor(h.index("pet"), prediction)

    curve = hr.operating_curve(PETS, PETS_Q, ["cat", "wolf", "dog"], metrics=[says_pet])
    assert list(curve.values) == [*(m.name for m in STANDARD_METRICS), "says_pet"]
    assert curve.values["says_pet"].tolist() == [0.0, 1 / 3, 1 / 3]


def test_a_metric_must_answer_for_every_pair() -> None:
    def total(h: Hierarchy, label: Any, prediction: Any) -> float:
        return 1.0

    with pytest.raises(ParameterError, match="'total' must return one value per pair"):
        hr.operating_curve(PETS, PETS_Q, ["cat"] * 3, metrics=[total])


def test_two_metrics_of_one_name_are_refused() -> None:
    def correct(h: Hierarchy, label: Any, prediction: Any) -> Any:
        return label == prediction

    with pytest.raises(ParameterError, match="Two metrics are called 'correct'"):
        hr.CurveBuilder(PETS, metrics=[correct])
    assert len(hr.CurveBuilder(PETS, metrics=[metrics.correct]).measures.metrics) == len(STANDARD_METRICS)


# Splitting and merging ------------------------------------------------------------------------------------


@given(st.data())
@QUICK
def test_any_split_gives_the_same_bytes(data: st.DataObject) -> None:
    problem = data.draw(problems(max_rows=12))
    whole = builder_of(problem, list(range(len(problem.q)))).compute()
    parts = [builder_of(problem, rows) for rows in data.draw(in_parts(len(problem.q)))]
    assert raw(merged(parts).compute()) == raw(whole)


def test_order_does_not_matter_at_size() -> None:
    random = np.random.default_rng(1)
    h = Hierarchy.from_parents(
        [f"n{i}" for i in range(40)], [-1, *(int(random.integers(i)) for i in range(1, 40))]
    )
    q = random.integers(0, 6, (4000, 40)) / 5 * random.choice([1, 0.37], (4000, 1))
    labels = random.integers(40, size=4000)
    whole = hr.operating_curve(h, q, labels)
    for _ in range(3):
        builders = []
        for rows in np.array_split(random.permutation(4000), 9):
            builders.append(hr.CurveBuilder(h))
            builders[-1].update(q[rows], labels[rows])
        random.shuffle(builders)
        left, right = merged(builders[:4]), merged(builders[4:])
        right.merge(left)
        assert raw(right.compute()) == raw(whole)


def test_zeros_of_either_sign_are_one_threshold() -> None:
    scores = np.array([[0.0, 0.0, -1, -2, -3], [0.0, -0.0, -1, -2, -3]])
    both = [hr.operating_curve(PETS, scores[order], ["cat"] * 2, scale="log") for order in ([0, 1], [1, 0])]
    assert raw(both[0]) == raw(both[1])


def test_computing_does_not_end_the_building() -> None:
    builder = hr.CurveBuilder(PETS)
    for row, label in zip(PETS_Q, ["cat", "wolf", "dog"], strict=True):
        builder.update([row], [label])
        builder.compute()
    assert raw(builder.compute()) == raw(hr.operating_curve(PETS, PETS_Q, ["cat", "wolf", "dog"]))


def test_builders_travel_between_processes() -> None:
    builder = hr.CurveBuilder(PETS, metrics=[metrics.edge_distance])
    builder.update(PETS_Q, ["cat", "wolf", "dog"])
    copy = pickle.loads(pickle.dumps(builder))  # noqa: S301
    assert raw(copy.compute()) == raw(builder.compute())
    builder.merge(copy)
    assert builder.compute().examples == 6


@pytest.mark.parametrize(
    "other",
    [
        {"scale": "log"},
        {"single_child": "answer"},
        {"below_label": "wrong"},
        {"information": "depth"},
        {"metrics": [metrics.edge_distance]},
    ],
)
def test_only_like_builders_merge(other: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="same tree, metrics, settings and scale"):
        hr.CurveBuilder(PETS).merge(hr.CurveBuilder(PETS, **other))


# Parts and files ------------------------------------------------------------------------------------------


@given(problems(), st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0, 2.0]))
@QUICK
def test_down_to(problem: Problem, tau: float) -> None:
    curve = hr.operating_curve(problem.h, problem.q, problem.labels, **problem.options)
    part = curve.down_to(tau)
    assert part.threshold[-1] == tau
    assert part.at(tau) == curve.at(tau)
    assert len(part) == np.sum(curve.threshold > tau) + 1
    for higher in (tau + 0.1, 0.9 + tau, math.inf):
        assert part.at(higher) == curve.at(higher)
    with pytest.raises(ParameterError, match="must be"):
        part.at(np.nextafter(tau, -1))


@pytest.mark.parametrize("tau", [-0.1, -math.inf, math.nan])
def test_thresholds_outside_the_scale(tau: float) -> None:
    with pytest.raises(ParameterError, match=r"must be at least 0 on this curve, whose scale is probability"):
        hr.operating_curve(PETS, PETS_Q, ["cat"] * 3).at(tau)


def test_what_a_curve_says_of_itself() -> None:
    curve = hr.operating_curve(PETS, PETS_Q, ["cat", "wolf", "dog"])
    assert repr(curve) == "OperatingCurve(3 points, 3 examples)"
    for name in oracle_curve.NAMES:
        assert getattr(curve, name) is curve.values[name]


# Bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, r"between 0 and 1; row 2 has no number \(NaN\) for 'dog'"),
        (-0.25, "between 0 and 1; row 2 has -0.25 for 'dog'"),
        (1.5, "between 0 and 1; row 2 has 1.5 for 'dog'.*scale='log'"),
        (math.inf, "row 2 has inf"),
    ],
)
def test_impossible_likelihoods(backend: Backend, value: float, message: str) -> None:
    q = np.array(PETS_Q)
    q[2, 3] = value
    with pytest.raises(ScoreError, match=message):
        hr.operating_curve(PETS, make(backend, q), ["cat"] * 3)


@pytest.mark.parametrize("scale", ["log", "logit"])
def test_nan_on_other_scales(scale: Any) -> None:
    with pytest.raises(ScoreError, match=r"row 0 has no number \(NaN\) for 'wolf'"):
        hr.operating_curve(PETS, [[0, -1, -2, -np.inf, np.nan]], ["cat"], scale=scale)


@pytest.mark.parametrize(
    ("q", "labels", "error", "message"),
    [
        (np.ones((1, 4)), ["cat"], ScoreError, "one column per node, 5 in all"),
        (np.ones(5), ["cat"], ScoreError, "one row per example"),
        (np.ones((1, 1, 5)), ["cat"], ScoreError, "one row per example"),
        (np.ones((2, 5)), ["cat"], ScoreError, "One label per example"),
        (np.ones((1, 5)), ["lion"], UnknownNameError, "'lion'"),
        (np.ones((1, 5)), [5], ScoreError, "5"),
        (np.ones((1, 5)), [-1], ScoreError, "-1"),
        (np.array([["a"] * 5]), ["cat"], ScoreError, "numbers"),
        (np.ones((0, 5)), [], ScoreError, "at least one example"),
    ],
)
def test_shapes_and_labels(q: Any, labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hr.operating_curve(PETS, q, labels)


def test_tree_and_likelihoods_exchanged() -> None:
    q: Any = np.ones((1, 5))
    with pytest.raises(ParameterError, match="The tree comes first"):
        hr.operating_curve(q, PETS, ["cat"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "odds"}, "scale must be"),
        ({"below_label": "right"}, "below_label must be"),
        ({"information": "weight"}, "information must be"),
    ],
)
def test_unknown_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        hr.CurveBuilder(PETS, **options)


def test_a_builder_without_examples() -> None:
    builder = hr.CurveBuilder(PETS)
    builder.update(np.zeros((0, 5)), np.zeros(0, dtype=np.int64))
    with pytest.raises(ScoreError, match="at least one example"):
        builder.compute()


def test_one_example_of_one_class() -> None:
    h = Hierarchy.from_edges([("root", "only")])
    curve = hr.operating_curve(h, [[1.0, 0.5]], ["only"])
    assert curve.threshold.tolist() == [0.0]
    assert curve.summary() == pytest.approx(
        {"AP": 1, "AC": 1, "AC_exact": 0, "AURC": 0, "R@90C": 1, "R@95C": 1, "E@90C": 0, "E@95C": 0}
    )


def test_rounding_takes_no_figure_above_1() -> None:
    random = np.random.default_rng(0)
    parent = [-1, *(int(random.integers(i)) for i in range(1, 300))]
    h = Hierarchy.from_parents([str(i) for i in range(300)], parent)
    labels = h.leaves[random.integers(len(h.leaves), size=5000)]
    theta = random.normal(size=(5000, len(h.leaves)))
    theta[np.arange(5000), np.searchsorted(h.leaves, labels)] += 40
    q = hr.likelihood.flat_softmax(h, theta)
    curve = hr.operating_curve(h, q, labels)
    for name in ("correct", "exact", "precision", "recall"):
        assert 0 <= getattr(curve, name).min() <= getattr(curve, name).max() <= 1
    assert curve.recall[-1] == pytest.approx(1, abs=1e-9)
    assert max(curve.summary().values()) <= 1
