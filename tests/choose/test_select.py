"""`select`: thresholds against slow definitions, groups, clades, and what is refused."""

from __future__ import annotations

import dataclasses
import inspect
import math
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.choose import Request, choose, describe, explain, gather
from hedgerow.choose.guarantees import Bound
from hedgerow.choose.tips import clades_of
from hedgerow.infer import Candidates
from hedgerow.likelihood import from_probability
from hedgerow.show.printed_point import promises
from hedgerow.tree import Settings
from tests.choose.populations import population
from tests.make_scores import LEAVES, H, probabilities, save_npz, save_table
from tests.oracle import Tree
from tests.sparse_strategies import sparse_likelihoods
from tests.tree_strategies import parent_lists, plain_names

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def quiet(*given: Any, **options: Any) -> hr.OperatingPoint:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hr.select(*given, **options)


@st.composite
def cases(draw: st.DrawFn) -> tuple[hr.Hierarchy, NDArray[np.float64], NDArray[np.int64]]:
    parent = draw(parent_lists(10))
    h = hr.Hierarchy.from_parents(plain_names(len(parent)), parent)
    n = draw(st.integers(1, 25))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = random.random((n, len(h)))
    q = np.round(q, 1) if draw(st.booleans()) else q
    q[:, 0] = 1
    return h, q, random.integers(len(h), size=n)


def wrong_from(h: hr.Hierarchy, q: NDArray[np.float64], label: int) -> float:
    """r by its definition: the largest likelihood at which the threshold rule is wrong."""
    levels = sorted({0.0, *q.tolist()})
    wrong = [
        value
        for value in levels[1:]
        # Just below this likelihood, and down to the next one, the answer is the same.
        if not hr.metrics.correct(h, label, hr.infer.threshold(h, [q], levels[levels.index(value) - 1])[0])
    ]
    return max(wrong, default=0.0)


@settings(max_examples=60, deadline=None)
@given(case=cases(), level=st.sampled_from(["0.5", "0.55", "0.7", "0.9"]))
def test_the_conformal_threshold_is_the_rank_of_the_definition(case: Any, level: str) -> None:
    h, q, labels = case
    point = quiet(h, q, h.names[labels], target=("correct", level))
    r = sorted(wrong_from(h, row, label) for row, label in zip(q, labels, strict=True))
    rank = math.ceil((len(r) + 1) * Fraction(level))
    assert point.threshold == (math.inf if rank > len(r) else r[rank - 1])


@settings(max_examples=60, deadline=None)
@given(case=cases(), seed=st.integers(0, 99), level=st.sampled_from(["0.5", "0.8", "0.9"]))
def test_the_weighted_rank_of_clusters(case: Any, seed: int, level: str) -> None:
    h, q, labels = case
    clusters = np.random.default_rng(seed).integers(max(2, len(q) // 2), size=len(q))
    if len(set(clusters.tolist())) < 2:
        return
    point = quiet(h, q, h.names[labels], target=("correct", level), clusters=clusters)
    r = np.array([wrong_from(h, row, label) for row, label in zip(q, labels, strict=True)])
    names = sorted(set(clusters.tolist()))

    def weight(tau: float) -> Fraction:
        shares = [Fraction(int((r[clusters == k] <= tau).sum()), int((clusters == k).sum())) for k in names]
        return sum(shares, Fraction(0)) / (len(names) + 1)

    kept = [tau for tau in sorted({0.0, *r.tolist()}) if weight(tau) >= Fraction(level)]
    assert point.threshold == (kept[0] if kept else math.inf)


def test_labels_at_the_root_are_pointed_out() -> None:
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    q, labels = [[1, 0.9, 0.1]] * 40, ["root"] * 30 + ["cat"] * 10
    for asked in ({"target": ("correct", 0.9)}, {"per_rank": {"1": 0.9}}):
        (note,) = quiet(h, q, labels, **asked).notes
        assert note.startswith("30 examples have the root as label, and any answer is right there.")
        assert not quiet(h, q, labels, **asked, below_label="wrong").notes


def test_the_keywords_are_the_fields_of_the_request() -> None:
    known = set(inspect.signature(hr.select).parameters)
    about_the_data = {"hierarchy", "scores", "labels", "classes", "scale", "progress"}
    assert known - about_the_data == {each.name for each in dataclasses.fields(Request)}


def test_a_request_can_be_written_as_options() -> None:
    asked = {"target": "correct=0.9", "bounds": "0,1", "delta": "0.1", "largest_cluster": "3", "unit": "example"}
    written = Request.of(**asked)
    assert written == Request.of(
        target=("correct", 0.9), bounds=(0, 1), delta=0.1, largest_cluster=3, unit="example"
    )
    assert written.delta == Fraction(1, 10)
    assert Request.of(per_rank="family=0.99, species = 0.9").per_rank == {
        "family": Fraction(99, 100),
        "species": Fraction(9, 10),
    }
    shares = {"robin": 0.25, "wren": 3}
    for name in ("per_rank", "overclassification", "expect", "merge_small"):
        assert Request.of(**{name: pd.Series(shares)}) == Request.of(**{name: shares})
    assert Request.of(among=2) == Request.of(among="2", guarantee=None)


def test_no_guarantee_is_conformal_and_names_must_be_known() -> None:
    asked: dict[str, Any] = {"target": ("correct", 0.5)}
    assert hr.select(H, Q, NAMES, guarantee=None, **asked).request.guarantee == "conformal"
    for wrong in ({"guarantee": "sure"}, {"guarantee": 1}, {"rule": 1}):
        with pytest.raises(hr.HedgerowError, match=r"There is no (guarantee|rule)"):
            hr.select(H, Q, NAMES, **asked, **wrong)


def test_nine_clusters_keep_nine_tenths() -> None:
    """In floating-point numbers the weights of nine clusters of three add up to less than 9/10."""
    q = np.tile([1, 0.9, 0.8, 0.1, 0.1, 0.05, 0.05], (27, 1))
    point = quiet(H, q, ["robin"] * 27, target=("correct", 0.9), clusters=np.repeat(np.arange(9), 3))
    assert point.threshold == 0


@settings(max_examples=60, deadline=None)
@given(case=cases(), metric=st.sampled_from(["precision", "recall", "f1", "exact"]))
def test_conformal_risk_control_by_its_definition(case: Any, metric: str) -> None:
    """The boldest threshold whose worst losses up to there, and one more loss of 1, stay below α on average."""
    h, q, labels = case
    level = Fraction(1, 2)
    n = len(q)
    thresholds = sorted({0.0, *q.ravel().tolist()})
    measure = hr.metrics.METRICS[metric]
    losses = np.array([1 - measure(h, labels, hr.infer.threshold(h, q, t)) for t in thresholds])
    down = metric == "precision"
    worst = np.maximum.accumulate(losses[::-1], axis=0)[::-1] if down else np.maximum.accumulate(losses, axis=0)
    fine = [i for i, row in enumerate(worst) if row.sum() + 1 <= float(1 - level) * (n + 1) + 1e-12]
    if not fine:
        if down:
            assert quiet(h, q, h.names[labels], target=(metric, level)).threshold == math.inf
        else:
            with pytest.raises(hr.HedgerowError, match="cannot be promised"):
                quiet(h, q, h.names[labels], target=(metric, level))
        return
    point = quiet(h, q, h.names[labels], target=(metric, level))
    expected = hr.infer.threshold(h, q, thresholds[min(fine) if down else max(fine)])
    assert point.predict(q).tolist() == expected.tolist()


def test_empirical_is_the_curve() -> None:
    people = population(size=500)
    curve = hr.operating_curve(people.hierarchy, people.q, people.hierarchy.names[people.labels])
    for metric in ("correct", "precision"):
        point = quiet(
            people.hierarchy,
            people.q,
            people.hierarchy.names[people.labels],
            target=(metric, 0.9),
            guarantee="empirical",
        )
        value = curve.values[metric]
        assert point.threshold == curve.threshold[np.flatnonzero(value >= 0.9 - 1e-12)[-1]]


@pytest.mark.parametrize("scale", ["log", "logit"])
def test_other_scales_give_the_same_answers(scale: Any) -> None:
    people = population(size=300)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    plain = quiet(h, people.q, labels, target=("correct", 0.9))
    q = from_probability(people.q, scale)
    other = quiet(h, q, labels, target=("correct", 0.9), scale=scale)
    assert other.scale == scale
    assert other.predict(q).tolist() == plain.predict(people.q).tolist()


def test_groups_have_their_own_thresholds() -> None:
    people = population(size=400)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    groups = np.array(["north", "south"])[np.arange(400) % 2]
    point = quiet(h, people.q, labels, target=("correct", 0.9), groups=groups)
    for name in ("north", "south"):
        alone = quiet(h, people.q[groups == name], labels[groups == name], target=("correct", 0.9))
        assert point.thresholds[name] == alone.threshold
    answers = point.predict(people.q, groups)
    assert answers[groups == "south"].tolist() == point.predict(people.q[1::2], groups[1::2]).tolist()
    # Nothing is known of another group: the root keeps the promise.
    assert point.predict(people.q[:2], ["east", "east"]).tolist() == [0, 0]
    with pytest.raises(hr.HedgerowError, match=r"a threshold for each group \('north' and 'south'\)"):
        point.predict(people.q)


def test_small_groups_are_named() -> None:
    people = population(size=100)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    groups = ["big"] * 97 + ["tiny"] * 3
    with pytest.warns(UserWarning, match=r"1 group is too small .* the root: 'tiny'. .* at least 9 examples"):
        point = hr.select(h, people.q, labels, target=("correct", 0.9), groups=groups)
    assert point.thresholds["tiny"] == math.inf
    with pytest.raises(
        hr.HedgerowError, match=r"recall >= 0.6 cannot be promised with 1 example in the group 'tiny'"
    ):
        quiet(h, people.q, labels, target=("recall", 0.6), groups=["big"] * 99 + ["tiny"])


def test_clades_are_those_of_the_most_likely_leaf() -> None:
    people = population(size=600)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    point = quiet(h, people.q, labels, target=("correct", 0.8), clades=1)
    leaf = hr.infer.leaf(h, people.q)
    clade = np.array([h.names[h.lineage(node)[1]] for node in leaf])
    for name, tau in point.thresholds.items():
        alone = quiet(h, people.q[clade == name], labels[clade == name], target=("correct", 0.8))
        assert tau == alone.threshold
        expected = alone.predict(people.q[clade == name])
        assert point.predict(people.q)[clade == name].tolist() == expected.tolist()


def slow_clade(tree: Tree, likely: dict[int, float], depth: int) -> int:
    """The node above the most likely tip at a depth, or the tip; of equally likely tips, the first."""
    likely = {node: p for node, p in likely.items() if node in tree.candidates}
    tips = [node for node in likely if not any(node in tree.ancestors(other) - {other} for other in likely)]
    tip = max(sorted(tips), key=likely.__getitem__, default=tree.root)
    path = tree.path(tip)[::-1]
    return path[min(depth, len(path) - 1)]


@settings(max_examples=150, deadline=None)
@given(case=sparse_likelihoods(), single_child=st.sampled_from(["skip", "answer"]), depth=st.integers(1, 3))
def test_clades_follow_the_most_likely_tip(case: Any, single_child: Any, depth: int) -> None:
    h, q = case
    candidates = Candidates.of(h, Settings(single_child=single_child))
    tree = Tree(h.parent.tolist(), single_child)
    rows = [slice(*q.start[i : i + 2]) for i in range(len(q))]
    listed = [dict(zip(q.node[row].tolist(), q.value[row].tolist(), strict=True)) for row in rows]
    expected = [str(h.names[slow_clade(tree, likely, depth)]) for likely in listed]
    assert clades_of(q, depth, candidates).tolist() == expected
    assert clades_of(q.dense(), depth, candidates).tolist() == expected


def test_examples_without_a_leaf_do_not_get_the_answers_of_the_first_clade() -> None:
    lineages = [("bird", "robin"), ("bird", "wren"), ("fish", "cod"), ("fish", "eel")]
    h = hr.Hierarchy.from_lineages(lineages, ranks=None, root="animal")
    # 100 birds that are surely robins, and 20 fish, named no deeper and with some doubt that they are birds.
    lists = [[("bird", 0.9), ("robin", 0.8)]] * 100 + [[("bird", 0.45), ("fish", 0.55)]] * 20
    row, nodes, p = zip(*((i, node, p) for i, each in enumerate(lists) for node, p in each), strict=True)
    q = hr.likelihood.from_lineages(h, row, nodes, p, rows=120)
    labels = ["robin"] * 100 + ["fish"] * 20
    for given_q in (q, q.dense()):
        point = quiet(h, given_q, labels, target=("correct", 0.75), clades=1)
        assert set(point.thresholds) == {"bird", "fish"}
        assert h.names[point.predict(given_q)].tolist() == labels


# Losses that are not 0 or 1 -----------------------------------------------------------------------------------


def test_a_budget_that_is_spent_exactly_is_enough() -> None:
    """Fifty losses of 3/10 add up to 15, the budget of 79 examples at a mean loss of 1/5: 80 / 5 - 1."""
    h = hr.Hierarchy.from_edges([("root", "a"), ("root", "b")])

    def mostly(_: Any, label: Any, prediction: Any) -> Any:
        return np.where((prediction == 0) | (label == prediction), 1.0, 0.7)

    q = [[1, 0.8, 0.2]] * 79
    point = quiet(h, q, ["b"] * 50 + ["a"] * 29, target=(mostly, 0.8))
    assert point.threshold == 0
    assert quiet(h, q, ["b"] * 51 + ["a"] * 28, target=(mostly, 0.8)).threshold == 0.8


@settings(max_examples=150, deadline=None)
@given(
    case=cases(),
    seed=st.integers(0, 2**32 - 1),
    parts=st.sampled_from([(3, 3), (10, 10), (7, 30), (10**13, 999_983)]),
    clustered=st.booleans(),
    guarantee=st.sampled_from(["conformal", "empirical", "pac"]),
    place=st.floats(0, 1),
)
def test_sums_of_losses_are_exact(
    case: Any, seed: int, parts: tuple[int, int], clustered: bool, guarantee: Any, place: float
) -> None:
    """Losses are fractions, which are added up as such; the root has none. The level is often met exactly."""
    h, q, labels = case
    random = np.random.default_rng(seed)
    part = np.array(parts)[np.arange(len(h)) % 2]  # by the answer
    loss = random.integers(np.minimum(part, 1000) + 1, size=(len(h), len(h)))
    loss[:, 0] = 0
    clusters = random.integers(3, size=len(q)) if clustered else np.arange(len(q))
    names = sorted(set(clusters.tolist()))
    if len(names) < 2:
        return

    def metric(_: Any, label: Any, prediction: Any) -> Any:
        return (part[prediction] - loss[label, prediction]) / part[prediction]

    taus = [math.inf, *sorted({0.0, *q[:, 1:].ravel().tolist()}, reverse=True)]
    answers = [np.zeros(len(q), dtype=int) if tau > 1 else hr.infer.threshold(h, q, tau) for tau in taus]
    found = [
        [Fraction(int(loss[y, a]), int(part[a])) for y, a in zip(labels, each, strict=True)] for each in answers
    ]
    if guarantee == "conformal":
        found = [[max(row[i] for row in found[: k + 1]) for i in range(len(q))] for k in range(len(found))]
    size = {name: int((clusters == name).sum()) for name in names}
    total = [sum(each / size[c] for each, c in zip(row, clusters.tolist(), strict=True)) for row in found]
    spent, promised = total[round(place * (len(total) - 1))], int(guarantee == "conformal")
    alpha = Fraction(spent + promised) / (len(names) + promised) if guarantee != "pac" else Fraction(1, 2)
    if not 0 < alpha < 1:
        return
    budget = Bound(guarantee, alpha, Fraction(1, 20), binary=False).budget(len(names))
    within = [k for k, each in enumerate(total) if each <= budget]
    if guarantee == "pac":
        within = [k for k in within if all(each <= budget for each in total[: k + 1])]
    options: dict[str, Any] = {"target": (metric, 1 - alpha), "guarantee": guarantee, "below_label": "wrong"}
    point = quiet(h, q, h.names[labels], clusters=clusters if clustered else None, **options)
    if budget < 0:
        assert point.threshold == math.inf
    else:
        assert point.predict(q).tolist() == answers[max(within)].tolist()


# What is refused, or doubted ---------------------------------------------------------------------------------

Q = np.tile([1, 0.9, 0.8, 0.1, 0.1, 0.05, 0.05], (40, 1))
NAMES = ["robin", "wren"] * 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": ("correct", 1.5)}, "The level of correct must lie between 0 and 1, not at 1.5"),
        ({"target": ("correct", 1)}, "No number of examples can promise certainty"),
        ({"target": ("correct", 95)}, "not at 95. For 95 %, write 0.95."),
        ({"per_rank": {"1": 99.9}}, "not at 99.9. For 99.9 %, write 0.999."),
        ({"target": ("correct", 0)}, "must lie between 0 and 1, not at 0"),
        ({"target": ("correct", "many")}, "The level of the target must be a number, not 'many'"),
        ({"target": ("corect", 0.9)}, "There is no metric 'corect'.* Did you mean 'correct'"),
        (
            {"target": "correct"},
            r"A target is a metric and its level, such as target=\('correct', 0.95\), not 'correct'",
        ),
        ({}, "Give either a target"),
        ({"target": ("correct", 0.9), "per_rank": {"1": 0.9}}, "Give either a target"),
        ({"target": ("correct", 0.9), "guarantee": "sure"}, "There is no guarantee 'sure'"),
        ({"target": ("correct", 0.9), "guarantee": "pac", "delta": 1.5}, "between 0 and 1, not 1.5"),
        ({"target": ("correct", 0.9), "rule": "leaf"}, "There is no rule 'leaf'"),
        ({"target": ("correct", 0.9), "clusters": [1] * 40}, "All 40 examples are in one cluster, '1'"),
        ({"target": ("correct", 0.9), "clusters": [1, 2]}, "clusters needs one entry per example, 40"),
        ({"target": ("correct", 0.9), "clusters": [1, None] * 20}, "clusters is blank for 20 of 40 examples"),
        ({"target": ("correct", 0.9), "clusters": True}, "These scores have no clusters"),
        ({"target": ("correct", 0.9), "groups": True}, "These scores have no groups"),
        ({"target": ("correct", 0.9), "clades": 5}, "The depth of clades must be 1 to 2, not 5"),
        ({"target": ("edge_distance", 1)}, "The values of 'edge_distance' are not fractions"),
        ({"target": ("edge_distance", 1), "bounds": (0, 0.5)}, "must lie between 0 and 0.5, not at 1"),
        ({"target": ("edge_distance", 0.4), "bounds": (0, 0.5)}, "outside its bounds 0 to 0.5"),
        ({"target": ("edge_distance", 0.4), "bounds": (1, 0)}, "bounds must be two finite numbers"),
        (
            {"target": ("correct", 0.5), "bounds": (0, 10)},
            "The values of 'correct' lie between 0 and 1: leave out",
        ),
        ({"per_rank": {"1": 0.9}, "bounds": (0, 10)}, "bounds needs a target"),
        ({"target": ("correct", 0.9), "weights": "w"}, r"weights needs one entry per example, 40; got shape"),
        (
            {"target": ("correct", 0.9), "information": np.arange(7)},
            "stored with the name of its measure of specificity",
        ),
        ({"per_rank": {"genus": 0.9}}, "There is no depth 'genus'. There are 1, 2"),
        ({"per_rank": {"1": 1.2}}, "per_rank: the level of '1' must lie between 0 and 1, not at 1.2"),
        ({"per_rank": {"1": 0.9}, "groups": NAMES}, "cannot be combined with groups or clades"),
        ({"per_rank": {"1": 0.9}, "rule": "climbing"}, "Levels per rank need the rule 'threshold'"),
        (
            {"target": ("recall", 0.99)},
            "recall >= 0.99 cannot be promised with 40 examples: at least 99",
        ),
        ({"target": ("exact", 0.9)}, "the most specific answers reach 0.5 on these examples"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hr.HedgerowError, match=message):
        quiet(H, Q, NAMES, **options)


def test_no_examples() -> None:
    with pytest.raises(hr.HedgerowError, match="There are no examples to choose a point with"):
        quiet(H, Q[:0], [], target=("correct", 0.9))


def test_one_class_is_doubted() -> None:
    with pytest.warns(UserWarning, match="All labels are 'robin': nothing is known"):
        hr.select(H, Q, ["robin"] * 40, target=("correct", 0.9))


def test_too_few_examples_for_correctness_give_the_root_and_say_how_many_are_needed() -> None:
    with pytest.warns(UserWarning, match="with 10 examples: at least 19 examples are needed.* always the root"):
        point = hr.select(H, Q[:10], NAMES[:10], target=("correct", 0.95))
    assert point.threshold == math.inf
    assert point.predict(Q).tolist() == [0] * 40
    assert "always the root" in repr(point)
    with pytest.warns(UserWarning, match="at least 59 examples are needed"):
        hr.select(H, Q, NAMES, target=("precision", 0.95), guarantee="pac", delta=0.05)


def test_metrics_of_ones_own() -> None:
    def too_deep(hierarchy: hr.Hierarchy, label: Any, prediction: Any) -> Any:
        return np.where(prediction == label, 1.0, np.where(prediction == 0, 1.0, 0.5))

    point = quiet(H, Q, NAMES, target=(too_deep, 0.8))
    assert point.promise == "too_deep >= 0.8"
    assert point.root_is_safe
    distance = quiet(H, Q, NAMES, target=("edge_distance", 1.5), bounds=(0, 4))
    found = explain(H, distance, Q, NAMES)
    assert found.looser is not None
    assert found.looser.level == 1.7  # a twentieth of the bounds, which the point holds
    assert not distance.root_is_safe
    assert quiet(H, Q, NAMES, target=("excess", 0.5), bounds=(0, 2)).root_is_safe


def test_a_cost_of_ones_own_promises_at_most_its_level(tmp_path: Path) -> None:
    steps = hr.metrics.Metric("steps", False, lambda c: 2.0 * (c.label != c.prediction))  # not registered
    point = quiet(H, Q, NAMES, target=(steps, 1.8), bounds=(0, 2))
    point.save(tmp_path / "p.json")
    for each in (point, hr.OperatingPoint.load(tmp_path / "p.json")):
        assert each.promise == "steps <= 1.8"
        assert promises(each) == ["A mean steps of at most 1.8."]


def test_clusters_of_a_file_are_used_or_missed(tmp_path: Path) -> None:
    p = probabilities(40)
    file = save_table(tmp_path / "s.csv", p, label=LEAVES * 10, cluster=[f"b{i // 4}" for i in range(40)])
    with pytest.warns(UserWarning, match="The clusters of the examples are ignored"):
        hr.select(H, hr.open_scores(file, H), target=("correct", 0.8))
    point = quiet(H, hr.open_scores(file, H), target=("correct", 0.8), clusters=True)
    assert point.clusters == 10
    other = save_npz(tmp_path / "s.npz", probabilities=p, labels=LEAVES * 10, burst=np.arange(40) // 4)
    same = quiet(
        H,
        hr.open_scores(other, H, hr.ScoreReading(cluster_column="burst")),
        target=("correct", 0.8),
        clusters=True,
    )
    assert same.threshold == point.threshold
    for path in (file, other):
        with pytest.raises(hr.HedgerowError, match=r"has no (column|member) 'site'"):
            hr.open_scores(path, H, hr.ScoreReading(cluster_column="site"))


# Explanations ------------------------------------------------------------------------------------------------


def test_an_explanation_counts_answers() -> None:
    people = population(size=500)
    h, labels = people.hierarchy, people.hierarchy.names[people.labels]
    point = quiet(h, people.q, labels, target=("correct", 0.9))
    found = explain(h, point, people.q, labels)
    with pytest.raises(hr.HedgerowError, match="on the scale 'probability', but these are on the scale 'log'"):
        explain(h, point, np.log(people.q), labels, scale="log")
    answers = point.predict(people.q)
    right = hr.metrics.correct(h, people.labels, answers)
    assert found.metrics["correct"] == right.mean()
    for level in found.levels:
        there = h.depth[answers] == int(level.name or 0)
        assert level.share == there.mean()
        assert level.correct == (right[there].mean() if there.any() else None)
    first = found.shortened[0]
    mine = labels == first.name
    higher = [a != y and h.is_ancestor(a, y) for a, y in zip(answers[mine], people.labels[mine], strict=True)]
    assert (first.higher, first.examples) == (sum(higher), mine.sum())
    assert len(found.shortened) <= 10
    assert found.stricter is not None
    assert found.looser is not None
    assert (found.stricter.level, found.looser.level) == (0.95, 0.8)
    assert found.stricter.metrics is not None
    assert found.looser.metrics is not None
    assert found.stricter.metrics["recall"] < found.metrics["recall"] < found.looser.metrics["recall"]
    again = quiet(h, people.q, labels, target=("correct", 0.95))
    assert found.stricter.root == (again.predict(people.q) == 0).mean()
    assert set(found.to_dict()) >= {"examples", "metrics", "levels", "shortened", "stricter", "looser"}


def test_for_a_metric_of_which_less_is_better_the_stricter_level_is_the_lower_one() -> None:
    people = population(size=300)
    request = Request.of(target=("edge_distance", 3), bounds=(0, 6), guarantee="empirical")
    examples = gather(request, people.hierarchy, people.q, people.hierarchy.names[people.labels])
    point = choose(request, examples)
    found = describe(point, examples)
    assert found.stricter is not None
    assert found.looser is not None
    assert found.stricter.level < 3 < found.looser.level
    assert point.promise == "edge_distance <= 3"
