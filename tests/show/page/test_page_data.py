"""What the page is told: every figure is what the library computes at that point."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.likelihood import BOTTOM, Likelihoods, from_probability
from hedgerow.measure import Comparison, Evaluation, metrics
from hedgerow.show.page.clades import SHOWN, chosen_examples
from hedgerow.show.page.event_counts import Changes, KeptNodes, Levels, Track, child_towards
from hedgerow.show.page.page_data import PageData, PageModel, PagePoint, aligned
from hedgerow.show.page.slider import Positions, slider_steps
from tests.show.page.cases import GARDEN, evaluation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MIXED = np.random.default_rng(3).choice(len(GARDEN), 120)
"""Labels at any node, the root among them."""


def in_logs() -> Evaluation:
    found = evaluation(rows=50)
    events = found.events
    q = np.full((50, len(GARDEN)), -np.inf)
    q[events.example, events.node] = np.log(events.score)
    q[:, 0] = 0
    return hr.evaluate(GARDEN, q, GARDEN.names[found.labels], scale="log")


CASES: dict[str, Callable[[], Evaluation]] = {
    "leaf labels": lambda: evaluation(rows=120),
    "labels at any node": lambda: evaluation(labels=MIXED),
    "below the label is wrong": lambda: evaluation(labels=MIXED, below_label="wrong"),
    "logs": in_logs,
    "depth": lambda: evaluation(rows=60, information="depth"),
    "one example": lambda: evaluation(rows=1),
    "never wrong": lambda: evaluation(rows=40, noise=0),
}


@cache
def case(name: str) -> tuple[PageData, dict[str, Any]]:
    page = PageData([PageModel.of(CASES[name]())])
    return page, page.to_dict()


def answers_at(found: Evaluation, threshold: float) -> NDArray[np.int64]:
    """Return the answer to every example: the last event above the threshold, found by a loop."""
    answers, first = [], 0
    for count in found.events.count:
        events = range(first, first + count)
        passed = [found.events.node[i] for i in events if found.events.score[i] > threshold]
        answers.append(passed[-1] if passed else 0)
        first += count
    return np.array(answers)


def summed(start: int, changes: list[int], position: int) -> int:
    """Read a list of changes as the page does."""
    where, value = 0, start
    for step, by in zip(changes[::2], changes[1::2], strict=True):
        where += step
        value += by if where <= position else 0
    return value


every_case = pytest.mark.parametrize("name", CASES)


# Positions -----------------------------------------------------------------------------------------------


@every_case
def test_every_threshold_step_shows_what_python_computes(name: str) -> None:
    page, content = case(name)
    found, model = page.tracks[0].evaluation, content["models"][0]
    for step, position in zip(content["steps"]["threshold"], model["at"]["threshold"], strict=True):
        wanted: dict[str, Any] = dict(found.at_probability(step))
        answers = found.events.answers_above(float(from_probability(step, found.scale)))
        below = answers > 0
        wanted["answered"] = pytest.approx(below.mean())
        comparison = Comparison.of(found.hierarchy, found.labels[below], answers[below], found.settings)
        right = metrics.correct.of(comparison).mean() if below.any() else None
        wanted["right_of_answered"] = pytest.approx(right)
        assert {figure: model["figures"][figure][position] for figure in model["figures"]} == {
            figure: wanted[figure] for figure in model["figures"]
        }


@every_case
def test_every_target_step_is_the_best_point_that_reaches_it(name: str) -> None:
    page, content = case(name)
    curve, model = page.models[0].curve, content["models"][0]
    for mode, other in (("correct", "recall"), ("recall", "correct")):
        for target, position in zip(content["steps"][mode], model["at"][mode], strict=True):
            reached = curve.values[mode] >= target
            if reached.any():
                assert model["figures"][mode][position] >= target
                assert model["figures"][other][position] == curve.values[other][reached].max()
            else:
                assert model["figures"][mode][position] == curve.values[mode].max()


@every_case
def test_the_threshold_beside_the_figures_gives_these_figures(name: str) -> None:
    page, content = case(name)
    model = content["models"][0]
    for position, tau in enumerate(model["tau"]):
        there = page.tracks[0].evaluation.at_probability(tau)
        assert there["recall"] == model["figures"]["recall"][position]


def test_the_intercept_of_the_summary_is_a_step_of_the_slider() -> None:
    page, content = case("leaf labels")
    found, model = page.tracks[0].evaluation, content["models"][0]
    position = model["at"]["correct"][content["steps"]["correct"].index(0.95)]
    assert model["figures"]["recall"][position] == found.summary()["R@95C"]
    assert content["start"] == {"mode": "correct", "step": content["steps"]["correct"].index(0.95), "focus": 0}


def test_a_chosen_point_is_a_step_of_the_slider() -> None:
    found = evaluation(rows=60)
    content = PageData([PageModel.of(found)], PagePoint("a promise", 0.7312345)).to_dict()
    step = content["point"]["step"]
    assert content["steps"]["threshold"][step] == 0.7312345
    assert content["start"] == {"mode": "threshold", "step": step, "focus": 0}
    position = content["models"][0]["at"]["threshold"][step]
    assert content["models"][0]["figures"]["correct"][position] == found.at_probability(0.7312345)["correct"]


def test_a_threshold_that_no_probability_can_express_is_kept() -> None:
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    q = [[np.inf, 50.0 + i, -50.0 - i] for i in range(10)]
    found = hr.evaluate(h, q, ["cat"] * 10, scale="logit")
    content = PageData([PageModel.of(found)], PagePoint("a promise", 54.5, "logit")).to_dict()
    model = content["models"][0]
    position = model["at"]["threshold"][content["point"]["step"]]
    assert model["figures"]["exact"][position] == found.curve.at(54.5)["exact"] == 0.5


@pytest.mark.parametrize("scale", ["probability", "log"])
def test_a_selected_point_is_marked_where_it_answers(scale: Any) -> None:
    found = in_logs() if scale == "log" else evaluation(rows=50)
    q = np.zeros((50, len(GARDEN))) if scale == "probability" else np.full((50, len(GARDEN)), -np.inf)
    q[found.events.example, found.events.node] = found.events.score
    q[:, 0] = scale == "probability"
    names = GARDEN.names[found.labels]
    point = hr.select(GARDEN, Likelihoods.of(GARDEN, q, scale), names, target=("correct", 0.8))
    marked = PagePoint.of(point, [found])
    assert marked.promise.startswith("Right at least 80 % of the time. This holds for a new example like these")
    content = PageData([PageModel.of(found)], marked).to_dict()
    model = content["models"][0]
    position = model["at"]["threshold"][content["point"]["step"]]
    assert model["figures"]["correct"][position] == found.curve.at(point.threshold)["correct"]


def test_a_point_that_always_answers_with_the_root_is_marked_there() -> None:
    content = PageData([PageModel.of(evaluation(rows=30))], PagePoint("a promise", np.inf)).to_dict()
    assert content["steps"]["threshold"][content["point"]["step"]] == 1.0
    assert content["models"][0]["at"]["threshold"][content["point"]["step"]] == 0


def test_a_point_with_several_thresholds_is_not_on_the_curve() -> None:
    found = evaluation(rows=200)
    groups = ["a", "b"] * 100
    q = np.zeros((200, len(GARDEN)))
    q[found.events.example, found.events.node] = found.events.score
    q[:, 0] = 1
    names = GARDEN.names[found.labels]
    point = hr.select(GARDEN, q, names, target=("correct", 0.8), groups=groups)
    marked = PagePoint.of(point, [found])
    assert marked.tau is None
    assert "in every group" in marked.promise
    assert PageData([PageModel.of(found)], marked).to_dict()["point"] is None


def test_a_point_for_other_settings_is_refused() -> None:
    found = evaluation(rows=60)
    q = np.zeros((60, len(GARDEN)))
    q[found.events.example, found.events.node] = found.events.score
    q[:, 0] = 1
    point = hr.select(GARDEN, q, GARDEN.names[found.labels], target=("correct", 0.8))
    with pytest.raises(ParameterError, match=r"different settings: information \('leaves' and 'depth'\)"):
        PagePoint.of(point, [evaluation(rows=60, information="depth")])
    other = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    with pytest.raises(ParameterError, match="another tree"):
        PagePoint.of(point, [evaluation(other)])


def test_every_drawn_point_is_a_point_of_the_curve() -> None:
    page, content = case("leaf labels")
    curve = page.models[0].curve
    for kind, (along, up) in content["kinds"].items():
        line = content["models"][0]["line"][kind]
        there = set(zip(curve.values[along].round(6), curve.values[up].round(6), strict=True))
        assert set(zip(line["x"], line["y"], strict=True)) <= there


# Counts --------------------------------------------------------------------------------------------------


@every_case
def test_levels_count_the_answers_that_stop_there(name: str) -> None:
    page, _ = case(name)
    track = page.tracks[0]
    found, hierarchy = track.evaluation, track.evaluation.hierarchy
    levels = Levels.of(hierarchy)
    counts = track.per_level(levels)
    for position, threshold in list(enumerate(track.positions.threshold))[::7]:
        answers = answers_at(found, threshold)
        right = metrics.correct(hierarchy, found.labels, answers, below_label=found.settings.below_label) == 1
        for level, rank in enumerate(levels.names):
            there = np.array([("root" if v == 0 else hierarchy.rank[v]) == rank for v in answers])  # type: ignore[index]
            assert counts[position, level].tolist() == [int((there & ~right).sum()), int((there & right).sum())]


@every_case
def test_nodes_count_right_answers_and_stops(name: str) -> None:
    page, content = case(name)
    found, model = page.tracks[0].evaluation, content["models"][0]
    hierarchy = found.hierarchy
    nodes = content["tree"]["nodes"]
    index = hierarchy.indices(nodes["name"])
    label = found.labels.astype(np.int64)
    for position, threshold in list(enumerate(page.positions[0].threshold))[::23]:
        answers = answers_at(found, threshold)
        right = metrics.correct(hierarchy, label, answers, below_label=found.settings.below_label) == 1
        counted = answers.copy()
        if found.settings.below_label == "label":
            counted = np.where(hierarchy.is_ancestor(label, answers), label, answers)
        for local, node in enumerate(index):
            inside = hierarchy.is_ancestor(int(node), label)
            total = content["tree"]["sets"][0]["count"][local]
            assert total == inside.sum()
            assert summed(total, model["right"][local], position) == (inside & right).sum()
            start = total if node == 0 else 0
            assert summed(start, model["stops"][local], position) == (inside & (counted == node)).sum()


@every_case
def test_pairs_count_confusions(name: str) -> None:
    page, content = case(name)
    found, model = page.tracks[0].evaluation, content["models"][0]
    hierarchy, names = found.hierarchy, content["tree"]["nodes"]["name"]
    pairs = model["pairs"]
    for position, threshold in list(enumerate(page.positions[0].threshold))[::23]:
        wanted: dict[tuple[str, str], int] = {}
        for label, answer in zip(found.labels.tolist(), answers_at(found, threshold).tolist(), strict=True):
            if metrics.correct(hierarchy, label, answer, below_label=found.settings.below_label) == 1:
                continue
            mine, other = hierarchy.lineage(label).tolist(), hierarchy.lineage(answer).tolist()
            depth = next((d for d, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), len(mine))
            key = str(hierarchy.names[mine[min(depth, len(mine) - 1)]]), str(hierarchy.names[other[depth]])
            wanted[key] = wanted.get(key, 0) + 1
        shown = {
            (names[truth], names[answer]): number
            for truth, answer, changes in zip(pairs["truth"], pairs["answer"], pairs["count"], strict=True)
            if (number := summed(0, changes, position))
        }
        assert shown.items() <= wanted.items()
        for leaves in (True, False):
            kind = {
                key: number
                for key, number in wanted.items()
                if all(hierarchy.is_leaf[hierarchy.indices(list(key))]) == leaves
            }
            top = sorted(kind.values(), reverse=True)[:10]
            mine_top = sorted((number for key, number in shown.items() if key in kind), reverse=True)[:10]
            assert mine_top == top


def test_a_child_towards_a_node_contains_it() -> None:
    h = GARDEN
    for node in range(len(h)):
        for below in range(node, h.end[node]):
            child = int(child_towards(h, np.array([node]), np.array([below]))[0])
            path = h.lineage(below).tolist()
            assert child == (node if node == below else path[path.index(node) + 1])


def test_the_nearest_kept_ancestor() -> None:
    kept = np.unique(np.concatenate([GARDEN.lineage("Robin"), GARDEN.lineage("Dandelion")]))
    found = KeptNodes.of(GARDEN, kept)
    assert np.append(-1, kept)[found.parent + 1].tolist() == GARDEN.parent[kept].tolist()
    for node, ancestor in enumerate(kept[found.place].tolist()):
        assert ancestor == max(v for v in GARDEN.lineage(node).tolist() if v in set(kept.tolist()))


def test_changes_are_summed_and_listed() -> None:
    changes = Changes.of(np.array([1, 0, 1, 1, 1]), np.array([4, 2, 1, 4, 3]), np.array([1, 5, 2, 1, 0]), 6)
    assert changes.lists(3) == [[2, 5], [1, 2, 3, 2], []]
    assert changes.peaks(3).tolist() == [5, 4, 0]
    assert changes.dense(np.array([1])).tolist() == [[0, 2, 2, 2, 4, 4]]


# Examples ------------------------------------------------------------------------------------------------


@every_case
def test_events_of_examples_give_their_answers(name: str) -> None:
    page, content = case(name)
    found, model = page.tracks[0].evaluation, content["models"][0]
    rows = chosen_examples(page.tracks[0], int(page.positions[0].at["correct"][page.start]))
    names = content["tree"]["nodes"]["name"]
    for position, threshold in list(enumerate(page.positions[0].threshold))[::11]:
        answers = answers_at(found, threshold)
        for row, events in zip(rows.tolist(), model["events"], strict=True):
            passed = [node for node, when, _ in events if when <= position]
            assert names[passed[-1] if passed else 0] == found.hierarchy.names[answers[row]]


def test_examples_of_every_kind_and_clade_are_chosen() -> None:
    found = evaluation(rows=3000, sharp=2.0)
    track = Track(found, Positions.of(found.curve, slider_steps([found.curve])))
    position = len(track.positions) // 2
    chosen = chosen_examples(track, position)
    assert len(set(chosen.tolist())) == SHOWN
    answers = track.answers_at(position)
    kind = answers.right * 1 + (answers.counted == found.labels)
    assert set(kind[chosen]) == set(kind)
    classes = {GARDEN.lineage(int(label))[2] for label in found.labels}
    assert {GARDEN.lineage(int(label))[2] for label in found.labels[chosen]} == classes


def test_texts_are_shortened() -> None:
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    builder = hr.measure.EvaluationBuilder(h)
    builder.update([[1, 0.7, 0.3]], ["cat"], texts=np.array(["x" * 9_000], dtype=object))
    content = PageData([PageModel.of(builder.compute())]).to_dict()
    (shown,) = content["tree"]["sets"][0]["shown"]
    assert len(shown["text"]) == 500
    assert shown["id"] == "Example 0"


# Several models ------------------------------------------------------------------------------------------


def test_models_with_the_same_examples_share_them() -> None:
    a, b = evaluation(name="a", ids=range(300)), evaluation(name="b", ids=range(300), sharp=3)
    other = evaluation(name="c", rows=50)
    models, notes = aligned([PageModel.of(each) for each in (a, b, other)])
    page = PageData(models)
    assert page.set_of == [0, 0, 1]
    assert len(notes) == 1
    assert "c cannot be compared example by example with a" in notes[0]


def test_shuffled_examples_are_put_in_order() -> None:
    labels = np.random.default_rng(0).choice(GARDEN.leaves, 80)
    a = evaluation(labels=labels, ids=range(80), name="a")
    b = evaluation(labels=labels[::-1], ids=range(80)[::-1], name="b")
    models, notes = aligned([PageModel.of(a), PageModel.of(b)])
    assert notes == []
    assert PageData(models).set_of == [0, 0]
    assert models[1].curve.recall.tolist() == b.curve.recall.tolist()


def test_models_of_different_trees_are_refused() -> None:
    other = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    with pytest.raises(ParameterError, match="b was evaluated with another tree than a"):
        aligned([PageModel.of(evaluation(name="a")), PageModel.of(evaluation(other, name="b"))])


def test_curves_alone_make_a_page_without_a_tree() -> None:
    found = evaluation()
    content = PageData([PageModel("curve", found.curve, found.summary())]).to_dict()
    assert "tree" not in content
    assert found.curve.threshold[-1] == BOTTOM["probability"]


# Size ----------------------------------------------------------------------------------------------------


def test_the_tree_is_cut_to_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.show.page.clades._NODES", (50, 5))
    monkeypatch.setattr("hedgerow.show.page.clades._CHANGES", 0)
    monkeypatch.setattr("hedgerow.show.page.clades.chosen_examples", lambda *_: np.arange(1))
    found = evaluation(rows=2000, sharp=50)
    content = PageData([PageModel.of(found)]).to_dict()
    names = content["tree"]["nodes"]["name"]
    assert len(names) < len(GARDEN) - 10
    others = content["tree"]["others"]
    assert set(names) | set(others["name"]) == set(GARDEN.names)
    for name, inside in zip(others["name"], others["inside"], strict=True):
        assert names[inside] in GARDEN.names[GARDEN.lineage(name)]
