"""Promises for other data: weights and expected shares against slow definitions in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.shift import Strata
from hedgerow.errors import HedgerowError
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods
from tests.choose.populations import population
from tests.choose.test_select import quiet

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = population(size=3000, seed=3)
TREE = PEOPLE.hierarchy
NAMES = TREE.names[PEOPLE.labels]
CORRECT = ("correct", 0.9)


def largest_wrong(rows: slice) -> list[float]:
    """r_i: the largest likelihood at which the answer is wrong; the bottom of the scale if it never is."""
    q = Likelihoods.of(TREE, PEOPLE.q[rows])
    labels = PEOPLE.labels[rows]
    events = FAMILIES["threshold"].events(q, labels, Candidates.of(TREE, hr.tree.Settings()))
    result, place = [], 0
    for label, count in zip(labels.tolist(), events.count.tolist(), strict=True):
        mine = range(place, place + count)
        wrong = [events.score[i] for i in mine if not TREE.is_ancestor(int(events.node[i]), label)]
        result.append(max(wrong, default=0.0))
        place += count
    return result


def slow_weighted(r: list[float], weights: list[float], new: float, alpha: Fraction) -> float:
    """The smallest τ with Σ_i w_i [r_i <= τ] >= (1-α)(Σ_i w_i + w); the root if there is none."""
    exact = [Fraction(weight) for weight in weights]
    needed = (1 - alpha) * (sum(exact) + Fraction(new))
    for tau in [0.0, *sorted(r)]:
        if sum(weight for weight, score in zip(exact, r, strict=True) if score <= tau) >= needed:
            return tau
    return np.inf


@pytest.mark.parametrize("seed", range(8))
def test_weighted_conformal_is_its_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = slice(60 * seed, 60 * seed + int(random.integers(15, 60)))
    r = largest_wrong(rows)
    weights = random.choice([0.0, 0.5, 1.0, 3.0], len(r)) if seed % 2 else random.gamma(0.7, size=len(r))
    alpha = Fraction(str(random.choice(["0.05", "0.1", "0.3"])))
    target = ("correct", str(1 - alpha))
    point = quiet(TREE, PEOPLE.q[rows], NAMES[rows], target=("correct", float(1 - alpha)), weights=weights)
    assert target[0] == point.request.metric_name
    new = [*random.gamma(1.0, 5.0, size=30), 0.0, 1.0, *weights[:5]]
    found = point.thresholds_of_weights(new, len(new)).tolist()
    assert found == [slow_weighted(r, weights.tolist(), w, alpha) for w in new]


def test_the_largest_weight_of_a_threshold_is_exact() -> None:
    rows = slice(0, 50)
    r, weights = largest_wrong(rows), [1.0] * 50
    point = quiet(TREE, PEOPLE.q[rows], NAMES[rows], target=CORRECT, weights=weights)
    for most, tau in point.weight_steps:
        above = float(np.nextafter(most, np.inf))
        assert slow_weighted(r, weights, most, Fraction(1, 10)) <= tau
        assert slow_weighted(r, weights, above, Fraction(1, 10)) > tau


@pytest.mark.parametrize("weight", [1.0, 0.1, 7e-9])
@pytest.mark.parametrize("target", [CORRECT, ("precision", 0.8), ("correct", 0.99)])
def test_equal_weights_give_the_point_without_weights(
    weight: float, target: tuple[str, float], tmp_path: Path
) -> None:
    n = 400
    plain = quiet(TREE, PEOPLE.q[:n], NAMES[:n], target=target)
    point = quiet(TREE, PEOPLE.q[:n], NAMES[:n], target=target, weights=np.full(n, weight))
    assert point.threshold == plain.threshold
    new = PEOPLE.q[n : n + 500]
    assert np.array_equal(point.predict(new, weights=np.full(500, weight)), plain.predict(new))
    point.save(tmp_path / "p.json")
    again = hr.OperatingPoint.load(tmp_path / "p.json")
    assert again == point
    assert again.weight_steps == point.weight_steps


def slow_shares(r: list[float], labels: list[str], shares: dict[str, Fraction], alpha: Fraction) -> float:
    """The smallest τ with Σ_c π_c #{i in c: r_i <= τ} / (n_c + 1) >= 1-α; the root if there is none."""
    total = sum(shares.values())
    member = [
        next((c for c in shares if TREE.is_ancestor(TREE.index(c), TREE.index(name))), None) for name in labels
    ]
    for tau in [0.0, *sorted(r)]:
        sums = [
            share
            / total
            * Fraction(
                sum(m == c and score <= tau for m, score in zip(member, r, strict=True)), member.count(c) + 1
            )
            for c, share in shares.items()
        ]
        if sum(sums) >= 1 - alpha:
            return tau
    return np.inf


@pytest.mark.parametrize("seed", range(6))
def test_expected_shares_are_their_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = slice(300 * seed, 300 * seed + int(random.integers(100, 300)))
    classes = TREE.names[TREE.leaves] if seed % 2 else TREE.names[TREE.depth == 1]
    shares = {name: Fraction(int(random.integers(0, 9))) for name in classes.tolist()} | {
        str(classes[0]): Fraction(3)
    }
    alpha = Fraction(3, 10)
    given = {name: int(share) for name, share in shares.items()}
    point = quiet(TREE, PEOPLE.q[rows], NAMES[rows], target=("correct", 0.7), expect=given)
    assert point.threshold == slow_shares(largest_wrong(rows), NAMES[rows].tolist(), shares, alpha)
    assert point.request.expect == shares
    percent = quiet(
        TREE, PEOPLE.q[rows], NAMES[rows], target=("correct", 0.7), expect={n: 10 * s for n, s in given.items()}
    )
    assert percent == point or percent.threshold == point.threshold


def test_classes_without_examples_count_as_wrong() -> None:
    mine = np.flatnonzero(PEOPLE.labels != TREE.leaves[0])[:400]
    shares = dict.fromkeys(TREE.names[TREE.leaves].tolist(), 1)
    with pytest.warns(UserWarning, match=r"There are no examples of 'leaf11', 8\.33 % of what is expected"):
        point = hr.select(TREE, PEOPLE.q[mine], NAMES[mine], target=("correct", 0.8), expect=shares)
    assert point.threshold < 1
    point = quiet(TREE, PEOPLE.q[mine], NAMES[mine], target=("correct", 0.92), expect=shares)
    assert "cannot be promised with 400 examples for data with the expected shares" in point.notes[-1]
    assert point.threshold == np.inf


def test_labels_of_strata() -> None:
    tree = hr.Hierarchy.from_json({"r": {"a": ["b", "c"], "d": {"g": ["e", "f"]}}})
    strata = Strata.of(tree, {"g": Fraction(1), "a": Fraction(3)})
    expected = {"r": -1, "a": 0, "b": 0, "c": 0, "d": 1, "g": 1, "e": 1, "f": 1}
    found = dict(zip(tree.names.tolist(), strata.member(np.arange(8)).tolist(), strict=True))
    assert found == expected
    assert strata.shares == (3, 1)
    single = Strata.of(tree, {"b": Fraction(1)})
    assert single.member(np.arange(8)).tolist() == [-1, -1, 0, -1, -1, -1, -1, -1]


def shifted(share: np.ndarray[Any, Any], size: int, seed: int) -> np.ndarray[Any, Any]:
    """Draw rows of the population such that the leaves have other shares."""
    random = np.random.default_rng(seed)
    leaf = np.searchsorted(TREE.leaves, PEOPLE.labels)
    weight = (share / np.bincount(leaf, minlength=len(share)))[leaf]
    return random.choice(len(leaf), size, p=weight / weight.sum())


def test_promises_are_kept_where_classes_have_other_shares() -> None:
    """On average over calibration sets; without expected shares, it is broken."""
    easy = np.arange(12) < 6
    random = np.random.default_rng(0)
    q = PEOPLE.q.copy()
    leaf = np.searchsorted(TREE.leaves, PEOPLE.labels)
    # The classes of one half are never recognised.
    q[~easy[leaf]] = q[random.permutation(np.flatnonzero(~easy[leaf]))]
    share = np.where(easy, 1.0, 5.0)
    share /= share.sum()
    expect = dict(zip(TREE.names[TREE.leaves].tolist(), share.round(6).tolist(), strict=True))
    kept: list[float] = []
    broken: list[float] = []
    for seed in range(60):
        rows = np.random.default_rng(seed).choice(3000, 300, replace=False)
        new = shifted(share, 400, seed)
        for given, into in ((expect, kept), (None, broken)):
            point = quiet(TREE, q[rows], NAMES[rows], target=("correct", 0.7), expect=given)
            into.append(TREE.is_ancestor(point.predict(q[new]), PEOPLE.labels[new]).mean())
    assert np.mean(kept) >= 0.7 - 0.01
    assert np.mean(broken) < 0.66


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"weights": np.zeros(50)}, "All weights are 0"),
        ({"weights": np.full(50, -1.0)}, "that of example 0 is -1"),
        ({"weights": np.full(50, np.nan)}, "that of example 0 is nan"),
        ({"weights": np.ones(49)}, "one entry per example, 50"),
        ({"weights": True}, "These scores have no weights: name their column"),
        ({"weights": np.ones(50), "guarantee": "pac"}, "needs a conformal promise about all examples"),
        ({"weights": np.ones(50), "groups": ["g"] * 50}, "needs a conformal promise about all examples"),
        ({"weights": np.ones(50), "clusters": np.arange(50) // 2}, "without ranks, groups, clades or clusters"),
        ({"weights": np.ones(50), "expect": {"leaf0": 1}}, "are two ways to describe new data"),
        ({"expect": {"leaf0": 1}, "clades": 1}, "needs a conformal promise about all examples"),
        ({"expect": {"leaf99": 1}}, "'leaf99' is not in the tree"),
        ({"expect": {"leaf0": -1}}, "share of 'leaf0' must be 0 or more, not -1"),
        ({"expect": {"leaf0": float("nan")}}, "must be a number, not nan."),
        ({"expect": {"leaf0": 0}}, "All expected shares are 0"),
        ({"expect": {"leaf0": 1, str(TREE.names[0]): 1}}, "lies below"),
    ],
)
def test_bad_input(given: dict[str, Any], said: str) -> None:
    with pytest.raises(HedgerowError, match=said):
        hr.select(TREE, PEOPLE.q[:50], NAMES[:50], target=CORRECT, **given)


def test_predict_needs_weights_if_and_only_if_the_point_does() -> None:
    point = quiet(TREE, PEOPLE.q[:50], NAMES[:50], target=CORRECT, weights=np.ones(50))
    with pytest.raises(HedgerowError, match="needs the weight of each example"):
        point.predict(PEOPLE.q[:5])
    plain = quiet(TREE, PEOPLE.q[:50], NAMES[:50], target=CORRECT)
    with pytest.raises(HedgerowError, match="does not depend on weights"):
        plain.predict(PEOPLE.q[:5], weights=np.ones(5))
