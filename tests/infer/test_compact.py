"""Compact likelihoods answer as all likelihoods do, or refuse."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import infer, likelihood
from hedgerow.choose import Request, choose, gather
from hedgerow.infer import Candidates, compacted, map_dense_rows, most_likely_tip
from hedgerow.likelihood import AnyLikelihoods, CompactError, Likelihoods, Prior, SparseLikelihoods
from hedgerow.measure import Reliability
from hedgerow.score_files import Block
from tests import oracle
from tests.curve_strategies import raw
from tests.strategies import QUICK, Floats, trees_and_likelihoods

if TYPE_CHECKING:
    from collections.abc import Callable

H = hr.Hierarchy.from_edges(
    (parent, child)
    for parent, children in {
        "life": "bird fish plant",
        "bird": "robin wren",
        "fish": "cod eel",
        "plant": "moss",
        "moss": "fern ivy",
    }.items()
    for child in children.split()
)
P = np.random.default_rng(0).dirichlet(np.full(len(H.leaves), 0.5), size=40)
DENSE: Likelihoods = Likelihoods.of(H, np.asarray(likelihood.from_leaves(H, P)))
COMPACT = compacted(DENSE)
LABELS = H.leaves[[np.random.default_rng(row).choice(len(H.leaves), p=p) for row, p in enumerate(P)]]


@QUICK
@given(drawn=trees_and_likelihoods(), tau=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]) | st.floats(0, 1))
def test_rules_answer_as_defined(drawn: tuple[hr.Hierarchy, Floats], tau: float) -> None:
    h, p = drawn
    p[:, 0] = 1
    t, info = oracle.Tree(h.parent.tolist()), h.information().tolist()
    q: SparseLikelihoods = compacted(Likelihoods.of(h, p))
    rows = p.tolist()
    assert infer.leaf(h, q).tolist() == [oracle.leaf(t, row) for row in rows]
    assert infer.threshold(h, q, tau).tolist() == [oracle.threshold(t, row, info, tau) for row in rows]
    assert infer.expected_information(h, q, tau).tolist() == [
        oracle.expected_information(t, row, info, tau) for row in rows
    ]
    assert infer.information_threshold(h, q, tau * max(info)).tolist() == [
        oracle.information_threshold(t, row, info, tau * max(info)) for row in rows
    ]


@QUICK
@given(data=st.data(), drawn=trees_and_likelihoods())
def test_curves_are_the_same_to_the_last_bit(data: st.DataObject, drawn: tuple[hr.Hierarchy, Floats]) -> None:
    h, p = drawn
    p[:, 0] = 1
    labels = np.array(data.draw(st.lists(st.integers(0, len(h) - 1), min_size=len(p), max_size=len(p))))
    with np.errstate(divide="ignore"):
        q = Likelihoods.of(h, np.log(p), "log")
    curves = [hr.operating_curve(h, each, labels, classes=h.names) for each in (q, compacted(q))]
    assert raw(curves[0]) == raw(curves[1])


def test_climbing_and_the_most_likely_tip_begin_at_the_best_leaf() -> None:
    # The bird is the most likely node without listed descendants, but no leaf.
    row = {"life": 1, "bird": 0.55, "robin": 0.2, "wren": 0.35, "fish": 0.45, "cod": 0.44, "eel": 0.01}
    q = Likelihoods.of(H, [[row.get(name, 0.0) for name in H.names.tolist()]])
    for given_q in (q, compacted(q)):
        assert H.names[most_likely_tip(given_q, Candidates.of(H))].tolist() == ["cod"]
        assert H.names[infer.climbing(H, given_q, 0.445)].tolist() == ["fish"]
        assert H.names[infer.climbing(H, given_q, 0.5)].tolist() == ["life"]


@pytest.mark.parametrize("options", [{}, {"among": "answered"}, {"clades": "1"}, {"rule": "climbing"}], ids=str)
def test_points_are_the_same(options: dict[str, Any]) -> None:
    request = Request.of(target=("correct", "0.6"), **options)
    points = [choose(request, gather(request, H, [Block.of(0, q, labels=LABELS)])) for q in (DENSE, COMPACT)]
    whole, compact = (replace(point, created="").to_dict() for point in points)
    assert compact == whole
    np.testing.assert_array_equal(points[0].predict(DENSE), points[0].predict(COMPACT))


def test_the_five_best_leaves_are_listed() -> None:
    for row in range(len(P)):
        listed = set(COMPACT[row : row + 1].node.tolist())
        assert set(H.leaves[np.argsort(-P[row])[:5]].tolist()) <= listed


def test_an_evaluation_leaves_out_the_rules_that_need_more() -> None:
    whole, compact = (hr.evaluate(H, q, LABELS, classes=H.names) for q in (DENSE, COMPACT))
    assert compact.summary() == whole.summary()
    assert compact.rules == {name: figures for name, figures in whole.rules.items() if name != "plurality"}
    (warning,) = set(compact.warnings) - set(whole.warnings)
    assert warning.startswith("The rule 'plurality' is left out: ")
    assert "run.scores=all" in warning


def test_joined_and_called_ones_stay_compact() -> None:
    listed = SparseLikelihoods(H, [0, 1], [1], [0.5])
    assert SparseLikelihoods.concatenate([listed, COMPACT]).compact
    assert not SparseLikelihoods.concatenate([listed, listed]).compact
    assert COMPACT.called(np.zeros(len(COMPACT), dtype=np.int64)).compact


PRIOR = Prior.of(H, ["bird", "plant"], [0.9, 0.1])


@pytest.mark.parametrize(
    "ask",
    [
        lambda q: infer.plurality(H, q),
        lambda q: infer.top_down(H, q, 0.5),
        lambda q: infer.most_likely_exclusive(H, q),
        lambda q: infer.risk_minimising(H, q, "edge distance"),
        lambda q: infer.risk_minimising(H, q, np.ones((len(H), len(H)))),
        lambda q: infer.leaf(H, q, information="depth"),
        lambda q: infer.threshold(H, q, 0.5, information="depth"),
        lambda q: infer.majority(H, q, single_child="answer"),
        lambda q: infer.climbing(H, q, 0.5, single_child="answer"),
        lambda q: hr.operating_curve(H, q, LABELS[: len(q)], classes=H.names, information="depth"),
        lambda q: hr.evaluate(H, q, LABELS[: len(q)], classes=H.names, information="depth"),
        lambda q: likelihood.tempered(H, q, 2.0),
        lambda q: likelihood.fit_to_likelihoods(H, q, LABELS[: len(q)]),
        lambda q: likelihood.restrict(H, q, ["bird"]),
        lambda q: likelihood.with_prior(H, q, PRIOR),
        lambda q: likelihood.pool(H, q, ["a"] * len(q)),
        lambda q: likelihood.pool(H, q, ["a"] * len(q), "max"),
        lambda q: Reliability.of(H, q, LABELS[: len(q)], classes=H.names),
        lambda q: hr.select(H, q, LABELS[: len(q)], classes=H.names, per_rank={"1": "0.6"}),
        lambda q: map_dense_rows(lambda *_: None, q),
        lambda q: Block.of(0, q).q,
    ],
)
def test_whatever_needs_other_nodes_is_refused(ask: Callable[[AnyLikelihoods], Any]) -> None:
    ask(DENSE)
    for q in (
        COMPACT,
        COMPACT[3:20],
        SparseLikelihoods.concatenate([COMPACT, COMPACT])[:40],
        pickle.loads(pickle.dumps(COMPACT)),  # noqa: S301
    ):
        with pytest.raises(CompactError, match=r"likelihoods of all nodes.*run\.scores=all") as raised:
            ask(q)
        assert str(raised.value).count(". ") <= 2
