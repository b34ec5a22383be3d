"""Threshold events: what is kept of the scores."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import Hierarchy
from hedgerow.arrays import torch_ops
from hedgerow.errors import ScoreError
from hedgerow.infer.pareto import Candidates
from hedgerow.likelihood import BOTTOM, Likelihoods
from hedgerow.measure.events import Events
from hedgerow.tree import Settings
from tests import oracle, oracle_curve
from tests.backends import BACKENDS, Backend, make
from tests.curve_strategies import Problem, in_parts, problems
from tests.strategies import QUICK

if TYPE_CHECKING:
    from collections.abc import Iterator

PETS = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


def events_of(problem: Problem, q: Any, rows: Any = slice(None)) -> Events:
    candidates = Candidates.of(problem.h, Settings(problem.options["information"]))
    return Events.of(Likelihoods.of(problem.h, q[rows]), problem.labels[rows], candidates)


def moves(events: Events) -> Iterator[list[tuple[int, float]]]:
    """Each example's answers and the thresholds below which they are given."""
    end = np.cumsum(events.count)
    for a, b in zip(end - events.count, end, strict=True):
        yield list(zip(events.node[a:b].tolist(), events.score[a:b].tolist(), strict=True))


@given(problems(), st.sampled_from(BACKENDS))
@QUICK
def test_events_are_the_moves_of_the_answer(problem: Problem, backend: Backend) -> None:
    tree, info = oracle.Tree(problem.h.parent.tolist()), problem.h.information(problem.options["information"])
    found = events_of(problem, make(backend, problem.q))
    assert found.label.tolist() == problem.labels.tolist()
    for p, steps in zip(problem.q.tolist(), moves(found), strict=True):
        expected, before = [], 0
        for tau in [math.inf, *sorted({x for x in p if x > 0}, reverse=True), 0.0]:
            answer = oracle_curve.answer(tree, p, info.tolist(), tau, 0.0)
            if answer != before:
                expected.append((answer, p[answer]))
                before = answer
        assert steps == expected


@given(problems())
@QUICK
def test_types_do_not_depend_on_the_scores(problem: Problem) -> None:
    for backend in BACKENDS:
        found = events_of(problem, make(backend, problem.q))
        assert [a.dtype for a in (found.label, found.count, found.node)] == [np.int32] * 3
        assert found.score.dtype == np.float64
    assert [a.dtype for a in vars(Events.none()).values()] == [
        a.dtype for a in vars(events_of(problem, problem.q)).values()
    ]


@given(st.data())
@QUICK
def test_batches_laid_end_to_end(data: st.DataObject) -> None:
    problem = data.draw(problems(max_rows=8))
    parts = data.draw(in_parts(len(problem.q)))
    joined = Events.concatenate(events_of(problem, problem.q, rows) for rows in parts)
    whole = events_of(problem, problem.q, [row for rows in parts for row in rows])
    for name in ("label", "count", "node", "score"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))


@given(problems(max_rows=8), st.sampled_from([1, 1 << 14, 1 << 24]))
@QUICK
def test_what_events_know_of_one_another(problem: Problem, factor: int) -> None:
    found = events_of(problem, problem.q)
    # As in a large tree:
    events = Events.of_arrays(factor * found.label, found.count, factor * found.node, found.score)
    assert events.example.tolist() == [i for i, n in enumerate(events.count) for _ in range(n)]
    before = [node for steps in moves(events) for node, _ in [(0, math.inf), *steps][: len(steps)]]
    label = [int(events.label[i]) for i in events.example]
    assert events.moves.tolist() == [list(move) for move in zip(label, before, events.node.tolist(), strict=True)]
    backwards = np.arange(len(events.node))[::-1]
    assert np.array_equal(events.moves_of(backwards).T, events.moves[::-1])
    labels, number = found.distinct_labels
    assert dict(zip(labels.tolist(), number.tolist(), strict=True)) == Counter(problem.labels.tolist())


@given(problems(max_rows=8))
@QUICK
def test_events_from_the_highest_score_down(problem: Problem) -> None:
    events = events_of(problem, problem.q)
    order, last, thresholds = events.descending("probability")
    assert sorted(order.tolist()) == list(range(len(events.node)))
    keys = [(-score, *move) for score, move in zip(events.score.tolist(), events.moves.tolist(), strict=True)]
    assert [keys[i] for i in order] == sorted(keys)
    distinct = sorted(set(events.score.tolist()), reverse=True)
    assert events.score[order[last]].tolist() == distinct
    assert thresholds.tolist() == [*distinct, 0.0]


@pytest.mark.parametrize(("decimals", "factor"), [(None, 1), (2, 1), (2, 1 << 28)])
def test_many_events_from_the_highest_score_down(decimals: int | None, factor: int) -> None:
    random = np.random.default_rng(0)
    count = random.integers(0, 4, 700_000)  # some million events, which are sorted in several ranges
    score = random.beta(8, 1, count.sum())
    score = score if decimals is None else np.maximum(score.round(decimals), 0.01)
    label, node = random.choice([2, 3, 4], len(count)), random.integers(1, 5, count.sum())
    found = Events.of_arrays(factor * label, count, factor * node, score)
    order, last, thresholds = found.descending("probability")
    label, before, after = found.moves.T
    assert np.array_equal(found.score[order], np.sort(score)[::-1])
    best = np.lexsort((after, before, label, -score))
    assert np.array_equal(found.moves[order], found.moves[best])
    assert np.array_equal(thresholds, np.append(np.unique(score)[::-1], 0.0))
    assert np.array_equal(found.score[order][last], thresholds[:-1])


def pets_events(q: Any, labels: Any, scale: Any = None) -> Events:
    return Events.of(Likelihoods.of(PETS, q, scale), PETS.nodes(np.asarray(labels)), Candidates.of(PETS))


def test_half_precision() -> None:
    q = np.array([[1, 0.7, 0.5, 0.2, 0.3]])
    for scores in (q.astype(np.float16), torch.tensor(q, dtype=torch.bfloat16), torch.tensor(q).half()):
        found = pets_events(scores, ["cat"], "probability")
        assert found.node.tolist() == [1, 2]
        assert found.score.tolist() == [float(scores[0, 1]), 0.5]


def test_tensors_that_need_gradients() -> None:
    q = torch.tensor([[1, 0.7, 0.5, 0.2, 0.3]], requires_grad=True)
    assert pets_events(q, torch.tensor([2]), "probability").node.tolist() == [1, 2]


def test_index_tensors_made_in_inference_mode_serve_training_too() -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    with torch.inference_mode():
        hr.likelihood.flat_softmax(h, torch.zeros(1, 3))
    theta = torch.zeros(1, 3, requires_grad=True)
    hr.likelihood.flat_softmax(h, theta)[0, 1].backward()
    assert theta.grad is not None


@pytest.mark.parametrize(("scale", "bottom"), BOTTOM.items())
def test_nothing_below_the_bottom(scale: Any, bottom: float) -> None:
    found = pets_events(np.full((2, 5), bottom), ["cat"] * 2, scale)
    assert found.count.tolist() == [0, 0]


def test_one_label_an_example() -> None:
    with pytest.raises(ScoreError, match="2 examples and labels of shape"):
        pets_events(np.ones((2, 5)), ["cat"] * 3, "probability")


@pytest.mark.parametrize("backend", BACKENDS, ids=repr)
def test_rounding_above_one_counts_as_one(backend: Backend) -> None:
    q = make(backend, [[1 + 1e-6, 1 + 1e-6, 0.5, 0.2, 0.3], [1, 0.7, 0.5, 0.2, 0.3]])
    found = pets_events(q, [2, 2], "probability")
    assert found.count.tolist() == [2, 2]
    assert found.score[0] == 1.0


@pytest.mark.parametrize("backend", BACKENDS, ids=repr)
def test_the_row_of_a_bad_score_is_counted_from_the_first_of_all(backend: Backend) -> None:
    q = np.tile([1, 0.7, 0.5, 0.2, 0.3], (200_000, 1))  # several blocks
    q[123_456, 3] = np.nan
    with pytest.raises(ScoreError, match=r"row 123,456 has no number \(NaN\) for 'dog'"):
        pets_events(make(backend, q), np.zeros(len(q), dtype=np.int64), "probability")


@pytest.fixture
def tiers() -> torch_ops.Tiers:
    candidates = Candidates.of(PETS)
    return torch_ops.Tiers(candidates.nodes, candidates.start, len(PETS), torch.device("cpu"))


@dataclass
class Halving:
    """Halves scores above 0.9."""

    calls: int = 0
    usual = (0.0, 0.9)

    def __call__(self, q: torch.Tensor, first_row: int) -> torch.Tensor:
        assert first_row == 0
        self.calls += 1
        return q / 2


def fetched(tiers: torch_ops.Tiers, q: torch.Tensor, check: Halving) -> tuple[list[int], list[float]]:
    found = tiers.fetch_records(q, 0.0, check)
    assert found is not None
    return found[1].tolist(), found[2].tolist()


def test_scores_that_a_kernel_finds_unusual_are_checked_and_searched_again(tiers: torch_ops.Tiers) -> None:
    seen: list[torch.Tensor] = []

    def kernel(
        q: torch.Tensor, minimum: float | None, root: bool, usual: tuple[float, float] | None
    ) -> tuple[torch.Tensor, ...]:
        seen.append(q)
        node, score = tiers.leaders(q, lambda q, _: q)  # type: ignore[arg-type]
        assert minimum == 0.0
        assert not root
        kept = node != 0  # in this example all leaders are records
        count = kept.sum(1)
        if usual is not None:
            count = torch.where(((q < usual[0]) | (q > usual[1])).any(1), -1, count)
        return kept, count, torch.stack([node.int().view(torch.float32), score], -1)

    tiers._kernel = kernel
    check = Halving()
    q = torch.tensor([[0.8, 0.75, 0.5, 0.2, 0.3]])
    assert fetched(tiers, q, check)[0] == [1, 2]
    assert (len(seen), check.calls) == (1, 0)
    q[0, 0] = 1.0
    assert fetched(tiers, q, check) == ([1, 2], [0.375, 0.25])
    assert (len(seen), check.calls) == (3, 1)


def test_a_kernel_that_cannot_be_compiled_is_not_tried_again(tiers: torch_ops.Tiers) -> None:
    def kernel(*_: Any) -> tuple[torch.Tensor, ...]:
        raise RuntimeError("no C compiler")

    tiers._kernel = kernel
    q = torch.tensor([[1, 0.7, 0.5, 0.2, 0.3]])
    with pytest.warns(UserWarning, match="no C compiler"):
        assert tiers.records(q, None) is None
    assert tiers.records(q, None) is None  # without another warning
