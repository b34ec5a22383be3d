"""Sparse likelihoods are measured like dense ones with the same values; answers at nodes with one child."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import Hierarchy, infer, likelihood, metrics
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.likelihood import Likelihoods
from hedgerow.measure import Evaluation, EvaluationBuilder, bootstrap, read_or_evaluate
from hedgerow.score_files import Block
from hedgerow.tree import Settings
from tests import oracle
from tests.make_scores import H, probabilities
from tests.sparse_strategies import sparse_likelihoods, sparse_of
from tests.strategies import QUICK, information_kinds, trees

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHOICES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"single_child": st.sampled_from(["skip", "answer"]), "below_label": st.sampled_from(["label", "wrong"])}
)
LONE = Hierarchy.from_edges(
    [
        ("life", "bird"),
        ("life", "fish"),
        ("bird", "wren"),
        ("bird", "owl"),
        ("fish", "cod"),
        ("wren", "jenny wren"),
    ]
)  # two nodes with one child: fish and wren


def same_curves(a: hr.OperatingCurve, b: hr.OperatingCurve) -> None:
    assert np.array_equal(a.threshold, b.threshold)
    for name, value in a.values.items():
        assert np.array_equal(value, b.values[name]), name


@settings(QUICK, max_examples=100)
@given(data=st.data())
def test_the_same_curve(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods(max_rows=6))
    how = data.draw(CHOICES) | {"information": data.draw(information_kinds(h))}
    labels = np.resize(data.draw(st.lists(st.integers(0, len(h) - 1), min_size=1)), len(q))
    whole = hr.operating_curve(h, q.dense(), labels, **how, classes=h.names)
    same_curves(hr.operating_curve(h, q, labels, **how, classes=h.names), whole)
    builder = hr.CurveBuilder(h, scale=q.scale, **how)
    builder.update(q[:2], labels[:2], h.names)
    builder.update(q[2:].dense(), labels[2:], h.names)  # dense and sparse batches may be mixed
    same_curves(builder.compute(), whole)


@settings(QUICK, max_examples=40)
@given(data=st.data())
def test_the_same_evaluation(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods(max_rows=6))
    how = data.draw(CHOICES) | {"information": data.draw(st.sampled_from(["leaves", "depth"]))}
    labels = np.resize(data.draw(st.lists(st.integers(0, len(h) - 1), min_size=1)), len(q))
    mine, theirs = (hr.evaluate(h, x, labels, classes=h.names, **how) for x in (q, q.dense()))
    assert mine.to_dict() == theirs.to_dict()
    for rule, nodes in theirs.predictions.items():
        assert mine.predictions[rule].tolist() == nodes.tolist()
        assert mine.confidence[rule].tolist() == theirs.confidence[rule].tolist()
    assert bootstrap.intervals(mine.builder, replicates=3) == bootstrap.intervals(theirs.builder, replicates=3)


@settings(QUICK, max_examples=60)
@given(data=st.data())
def test_all_leaves_listed_give_the_dense_curve_bit_for_bit(data: st.DataObject) -> None:
    h = data.draw(trees())
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    p = random.dirichlet(np.full(len(h.leaves), data.draw(st.sampled_from([0.05, 1.0]))), size=7)
    row, leaf = np.divmod(np.arange(p.size), len(h.leaves))
    q = likelihood.from_top(h, row, h.leaves[leaf], p.ravel(), rows=7)
    dense, labels = likelihood.from_leaves(h, p), random.integers(0, len(h), 7)
    same_curves(
        hr.operating_curve(h, q, labels, classes=h.names), hr.operating_curve(h, dense, labels, classes=h.names)
    )


@settings(QUICK, max_examples=60)
@given(data=st.data())
def test_every_point_is_the_threshold_rule(data: st.DataObject) -> None:
    """The curve of either setting, from the slow definitions of the rule and of the metrics."""
    h, q = data.draw(sparse_likelihoods(max_rows=4))
    q = sparse_of(h, np.asarray(q.dense().probabilities()))
    how = data.draw(CHOICES)
    kind = data.draw(information_kinds(h))
    labels = np.resize(data.draw(st.lists(st.integers(0, len(h) - 1), min_size=1)), len(q)).tolist()
    t, info = oracle.Tree(h.parent.tolist(), how["single_child"]), h.information(kind).tolist()
    curve = hr.operating_curve(h, q, labels, classes=h.names, information=kind, **how)
    p = np.asarray(q.dense().values).tolist()
    for point, tau in enumerate(curve.threshold.tolist()):
        answers = [oracle.threshold(t, row, info, tau) for row in p]
        every = [
            oracle.metrics(t, y, answer, info, how["below_label"])
            for y, answer in zip(labels, answers, strict=True)
        ]
        for name, value in curve.values.items():
            assert value[point] == pytest.approx(np.mean([m[name] for m in every]), abs=1e-12)


# Nodes with one child --------------------------------------------------------------------------------------


def test_an_answer_with_one_child() -> None:
    q = likelihood.from_lineages(LONE, [0] * 3, ["bird", "wren", "jenny wren"], [0.9, 0.8, 0.6], rows=1)
    for tau, skip, answer in ((0.85, "bird", "bird"), (0.7, "bird", "wren"), (0.5, "jenny wren", "jenny wren")):
        assert LONE.names[infer.threshold(LONE, q, tau)].item() == skip
        assert LONE.names[infer.threshold(LONE, q, tau, single_child="answer")].item() == answer
    curve = hr.operating_curve(LONE, q, ["jenny wren"], single_child="answer")
    there = curve.at(0.7)
    assert (there["correct"], there["exact"], there["recall"], there["precision"]) == (1, 0, 1, 1)
    assert curve.at(0.5)["exact"] == 1
    assert metrics.depth_recall(LONE, "jenny wren", "wren") == pytest.approx(2 / 3)


def test_ties_of_information_go_to_the_deeper_node() -> None:
    q = [[1, 0.5, 0.5, 0.5, 0, 0.5, 0.5]]
    assert LONE.names.tolist() == ["life", "bird", "wren", "jenny wren", "owl", "fish", "cod"]
    assert LONE.names[infer.threshold(LONE, q, 0.4, single_child="answer")].item() == "jenny wren"
    sets = hr.ordered_pareto_sets(LONE, [[1, 0.9, 0.8, 0.7, 0, 0.1, 0.05]], single_child="answer")
    assert LONE.names[sets.node].tolist() == ["life", "bird", "wren", "jenny wren"]
    sets = hr.ordered_pareto_sets(LONE, [[1, 0.9, 0.8, 0.7, 0, 0.1, 0.05]])
    assert LONE.names[sets.node].tolist() == ["life", "bird", "jenny wren"]


def answered(single_child: Any, rows: int = 40) -> Evaluation:
    random = np.random.default_rng(0)
    q = likelihood.from_leaves(LONE, random.dirichlet(np.ones(3), size=rows))
    return hr.evaluate(LONE, q, random.choice(LONE.leaves, rows), classes=LONE.names, single_child=single_child)


def test_the_setting_is_saved_and_compared(tmp_path: Path) -> None:
    skip, answer = answered("skip"), answered("answer")
    for evaluation in (skip, answer):
        evaluation.save(tmp_path / "e")
        again = Evaluation.load(tmp_path / "e")
        assert again.settings == evaluation.settings
        assert again.to_dict() == evaluation.to_dict()
        assert again.subset(np.arange(40) < 30).settings == evaluation.settings
    about = json.loads((tmp_path / "e" / "evaluation.json").read_text())
    assert about["settings"] == {"information": "leaves", "single_child": "answer", "below_label": "label"}
    assert "single_child ('answer' and 'skip')" in str(hr.compare(skip, answer, replicates=2).reasons[1])
    answer.save(tmp_path / "answer")
    with pytest.raises(ParameterError, match="was evaluated with single_child='answer'"):
        read_or_evaluate(tmp_path / "answer", LONE, single_child="skip")


def test_settings_that_do_not_mix() -> None:
    a, b = (hr.CurveBuilder(LONE, single_child=how) for how in ("skip", "answer"))
    with pytest.raises(ParameterError, match="single_child"):
        a.merge(b)
    with pytest.raises(ParameterError, match="single_child must be 'skip' or 'answer', not 'keep'"):
        hr.CurveBuilder(LONE, single_child="keep")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="single_child='skip', not with 'answer'"):
        infer.majority(LONE, [[1] * 7], information=infer.Candidates.of(LONE), single_child="answer")
    b.update([[1.0] * 7], ["cod"])
    with pytest.raises(ParameterError, match="only if all leaves, and no other nodes"):
        Evaluation.of_events(b)


def test_a_rule_by_name_knows_the_setting() -> None:
    q = Likelihoods.of(LONE, [[1, 0.9, 0.8, 0.4, 0.1, 0.1, 0.1]])
    for how, expected in (("skip", "bird"), ("answer", "wren")):
        single: Any = how
        for rule in (
            infer.answering_rule(0.5, None, Settings(single_child=single)),
            infer.answering_rule(None, "majority", Settings(single_child=single)),
        ):
            assert LONE.names[rule(Block.of(0, q))].item() == expected


# Builders and evaluations ----------------------------------------------------------------------------------


def test_builders_can_be_pickled() -> None:
    p = probabilities(20)
    q, labels = likelihood.from_leaves(H, p), np.random.default_rng(0).choice(H.leaves, 20)
    builder = EvaluationBuilder(H, single_child="answer")
    builder.update(q[:9], labels[:9], H.names)
    again = pickle.loads(pickle.dumps(builder))  # noqa: S301
    for each in (builder, again):
        each.update(q[9:], labels[9:], H.names)
    assert again.compute().to_dict() == builder.compute().to_dict()


def test_confidence_never_exceeds_1() -> None:
    evaluation = hr.evaluate(LONE, [[0.0, 1.0, 0.5, 0.2, -3, -3, -3]], ["owl"], scale="log")
    assert all(value.max() <= 1 for value in evaluation.confidence.values())


# What users get wrong --------------------------------------------------------------------------------------

ROW = [1, 0.9, 0.8, 0.4, 0.1, 0.1, 0.1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: infer.leaf(LONE, [ROW, ROW[:3]]), "Rows have different lengths"),
        (lambda: likelihood.from_leaves(LONE, [[1.0], [0.5, 0.5]]), "Rows have different lengths"),
        (
            lambda: infer.leaf(LONE, np.ma.masked_array([ROW], mask=[[False] * 6 + [True]])),
            "Some values are masked",
        ),
        (lambda: infer.leaf(LONE, [ROW], scale=["log"]), "scale must be"),  # type: ignore[arg-type]
        (lambda: infer.threshold(LONE, [ROW], "abc"), "tau must be one number, or one per example, not 'abc'"),
        (lambda: infer.information_threshold(LONE, [ROW], "abc"), "zeta must be a number"),  # type: ignore[arg-type]
        (lambda: infer.expected_information(LONE, [ROW], None), "lam must be a number"),  # type: ignore[arg-type]
        (lambda: infer.fit_lambda(LONE, [ROW], ["cod"], "x"), "accuracy must be a number"),  # type: ignore[arg-type]
        (lambda: hr.operating_curve(LONE, [ROW], ["cod"]).at(None), "tau must be a number, not None"),  # type: ignore[arg-type]
        (lambda: hr.evaluate(LONE, [ROW], [1], classes=["cod", "cod"]), "named once; 'cod' is repeated"),
        (lambda: hr.evaluate(LONE, [ROW, ROW], [["cod"], ["cod", "owl"]]), "Rows have different lengths"),
    ],
)
def test_mistakes_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(HedgerowError, match=message):
        call()


def test_a_masked_array_without_gaps_is_an_array() -> None:
    assert infer.majority(LONE, np.ma.masked_array([ROW], mask=False)).tolist() == [1]
