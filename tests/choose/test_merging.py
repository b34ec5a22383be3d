"""Merging groups and clades that are too small for a promise."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.choose.merging import merged_clades, merged_groups
from hedgerow.choose.tips import clades_of
from hedgerow.errors import ParameterError
from hedgerow.infer import Candidates
from hedgerow.tree import Settings
from tests.choose.populations import population
from tests.choose.test_select import quiet
from tests.tree_strategies import parent_lists, plain_names

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = population(size=600)
H, LABELS = PEOPLE.hierarchy, PEOPLE.hierarchy.names[PEOPLE.labels]
GROUPS = np.array(["a", "b"] * 300, dtype=object)
GROUPS[:5], GROUPS[5:12] = "c", "d"


@given(parents=parent_lists(15), data=st.data(), needed=st.integers(1, 20))
def test_merged_groups_are_a_partition_and_large_enough_if_possible(parents: Any, data: Any, needed: int) -> None:
    h = hr.Hierarchy.from_parents(plain_names(len(parents)), parents)
    depth = data.draw(st.integers(1, max(1, int(h.depth.max()))))
    ends = h.names[(h.depth == depth) | (h.is_leaf & (h.depth < depth))].tolist()
    sizes = {name: data.draw(st.integers(0, 12)) for name in ends}
    for parts in (merged_clades(h, sizes, needed), merged_groups(sizes, needed)):
        assert sorted(name for part in parts for name in part) == sorted(sizes)
        totals = [sum(sizes[name] for name in part) for part in parts]
        assert min(totals) >= needed or len(parts) == 1


def test_merged_groups_are_calibrated_on_what_they_answer() -> None:
    options: dict[str, Any] = {"target": ("correct", 0.95), "groups": GROUPS}
    alone = quiet(H, PEOPLE.q, LABELS, **options)
    assert math.isinf(alone.thresholds["c"])
    assert math.isinf(alone.thresholds["d"])
    point = quiet(H, PEOPLE.q, LABELS, merge_small=True, **options)
    assert point.merged == (("a", "c", "d"),) or point.merged == (("b", "c", "d"),)
    (names,) = point.merged
    inside = np.isin(GROUPS, names)
    together = quiet(H, PEOPLE.q[inside], LABELS[inside], target=("correct", 0.95))
    assert {point.thresholds[name] for name in names} == {together.threshold}
    (rest,) = {"a", "b"} - set(names)
    assert point.thresholds[rest] == alone.thresholds[rest]
    assert any("approximate" in note for note in point.notes)


def test_sizes_from_elsewhere_are_exact(tmp_path: Path) -> None:
    sizes = {"a": 500, "b": 400, "c": 20, "d": 18, "e": 1}
    point = quiet(H, PEOPLE.q, LABELS, target=("correct", 0.9), groups=GROUPS, merge_small=sizes | {"e": 9})
    assert point.merged == ()
    sizes["d"] = 4
    point = quiet(H, PEOPLE.q, LABELS, target=("correct", 0.9), groups=GROUPS, merge_small=sizes)
    assert point.merged == (("c", "d", "e"),)
    assert not any("approximate" in note for note in point.notes)
    without = quiet(
        H, PEOPLE.q, LABELS, target=("correct", 0.9), groups=GROUPS, merge_small={"a": 500, "b": 400, "c": 20}
    )
    assert without.merged == (("c", "d"),)  # the examples say that there is a group d
    assert any("The given sizes lack 'd'" in note and "approximate" in note for note in without.notes)
    point.save(tmp_path / "p.json")
    assert hr.OperatingPoint.load(tmp_path / "p.json") == point
    answers = point.predict(PEOPLE.q, np.full(600, "e"))  # of which there was no example
    assert answers.tolist() == point.predict(PEOPLE.q, np.full(600, "c")).tolist()


def test_clades_are_merged_with_their_relatives() -> None:
    clades = clades_of(hr.likelihood.Likelihoods.of(H, PEOPLE.q), 2, Candidates.of(H, Settings()))
    few = np.flatnonzero((clades != clades[0]) | (np.cumsum(clades == clades[0]) <= 4))
    options: dict[str, Any] = {"target": ("correct", 0.95), "clades": 2}
    alone = quiet(H, PEOPLE.q[few], LABELS[few], **options)
    assert math.isinf(alone.thresholds[clades[0]])
    point = quiet(H, PEOPLE.q[few], LABELS[few], merge_small=True, **options)
    (names,) = (names for names in point.merged if clades[0] in names)
    (parent,) = {str(H.names[H.parent[H.index(name)]]) for name in names}
    assert parent == H.names[H.parent[H.index(clades[0])]]
    inside = few[np.isin(clades[few], names)]
    together = quiet(H, PEOPLE.q[inside], LABELS[inside], target=("correct", 0.95))
    assert point.thresholds[clades[0]] == together.threshold


def test_what_is_refused() -> None:
    with pytest.raises(hr.HedgerowError, match="needs groups or clades"):
        quiet(H, PEOPLE.q, LABELS, target=("correct", 0.9), merge_small=True)
    with pytest.raises(hr.HedgerowError, match="The size of 'a' must be 0 or more, not -1"):
        quiet(H, PEOPLE.q, LABELS, target=("correct", 0.9), groups=GROUPS, merge_small={"a": -1})


def test_merged_groups_keep_their_promise() -> None:
    """Groups of different difficulty; which are merged is fixed, how many examples each has is not."""
    random = np.random.default_rng(0)
    people = population(size=6_000)
    labels = people.hierarchy.names[people.labels]
    easy = people.q.max(axis=1, initial=0, where=np.arange(len(people.hierarchy)) > 0) > 0.9
    group = np.where(easy, "a", np.where(random.random(6_000) < 0.2, "b", "c"))
    right = []
    for _ in range(100):
        rows = random.choice(6_000, 60, replace=False)
        sizes = {"a": 40, "b": 4, "c": 15}
        options: dict[str, Any] = {"target": ("correct", 0.9), "groups": group[rows], "merge_small": sizes}
        point = quiet(people.hierarchy, people.q[rows], labels[rows], **options)
        if "a" not in point.thresholds:
            continue
        mine = np.isin(group, [*point.merged[0]]) if point.merged else group == "c"
        answers = point.predict(people.q[mine], group[mine])
        right.append(hr.metrics.correct(people.hierarchy, people.labels[mine], answers).mean())
    assert len(right) > 90
    assert np.mean(right) >= 0.9 - 4 * np.std(right) / 10


@pytest.mark.parametrize("guarantee", ["empirical", "conformal", "pac"])
def test_a_group_without_examples_is_answered_with_the_root(guarantee: str) -> None:
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    q = [[1, 0.9, 0.1]] * 40 + [[1, 0.4, 0.6]] * 40
    for metric in ("correct", "precision"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = hr.select(
                h,
                q,
                ["cat"] * 80,
                target=(metric, 0.5),
                guarantee=guarantee,
                groups=["a"] * 80,
                merge_small={"a": 80, "z": 1000},
            )
        assert point.thresholds["z"] == np.inf
        assert point.predict([[1, 0.49, 0.51]], groups=["z"]).tolist() == [0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"merge_small": {"a": "x"}}, "The size of 'a' must be a number, not 'x'"),
        (
            {"unit": "example", "largest_cluster": "ten"},
            "must be a whole number, 1 or more, not 'ten'",
        ),
        (
            {"unit": "example", "largest_cluster": 12.5},
            "must be a whole number, 1 or more, not 12.5",
        ),
        ({"unit": "photograph"}, "unit must be 'cluster' or 'example', not 'photograph'"),
    ],
)
def test_wrong_kinds_of_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    with pytest.raises(ParameterError, match=message):
        hr.select(h, [[1, 0.9, 0.1]], ["cat"], target=("correct", 0.9), groups=["a"], clusters=["b"], **wrong)
