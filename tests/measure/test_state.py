"""States of builders: on disk, merged in any order, binned with brackets; files that nobody should trust."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import hedgerow as hr
from hedgerow import metrics
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError
from hedgerow.measure import EvaluationBuilder, evaluate, natural
from tests.curve_strategies import Problem, in_parts, problems, raw
from tests.make_scores import H, probabilities
from tests.strategies import QUICK

if TYPE_CHECKING:
    from pathlib import Path

SCALES = ["probability", "log", "logit"]


def on_scale(q: Any, scale: str) -> Any:
    with np.errstate(divide="ignore"):
        return {"probability": q, "log": np.log(q), "logit": special.logit(q)}[scale]


def sample(rows: int, seed: int = 0) -> tuple[Any, Any]:
    p = probabilities(rows, seed)
    labels = np.random.default_rng(seed + 1).choice(len(H), rows)
    return hr.likelihood.from_leaves(H, p), labels


def builder(q: Any, labels: Any, part: str = "", **options: Any) -> EvaluationBuilder:
    made = EvaluationBuilder(H, part=part, **options)
    ids = np.array([f"{part}/{i}" for i in range(len(q))], dtype=object)
    made.update(q, labels, H.names, ids=ids)
    return made


# Brackets --------------------------------------------------------------------------------------------------


@given(problems(max_rows=12), st.integers(2, 40), st.sampled_from(SCALES))
@settings(max_examples=150, deadline=None)
def test_brackets_hold_the_exact_figures(problem: Problem, bins: int, scale: Any) -> None:
    q = on_scale(problem.q, scale)
    exact = evaluate(problem.h, q, problem.labels, scale=scale, classes=problem.h.names, **problem.options)
    sums = EvaluationBuilder(problem.h, scale=scale, bins=bins, **problem.options)
    for i in range(len(q)):
        sums.update(q[i : i + 1], problem.labels[i : i + 1], problem.h.names)
    binned = sums.compute_binned()
    assert list(binned.brackets) == list(exact.summary)
    for name, (low, high) in binned.brackets.items():
        assert low <= exact.summary[name] <= high, name
        assert low <= binned.summary[name] <= high, name
    for rule, means in exact.rules.items():
        assert binned.rules[rule] == pytest.approx(means, abs=2**-32)


def test_brackets_close_as_bins_grow() -> None:
    q, labels = sample(2_000)
    exact = evaluate(H, q, labels, classes=H.names)
    widths = []
    for bins in (4, 64, 1024, 65_536):
        binned = builder(q, labels, bins=bins).compute_binned()
        assert all(low <= exact.summary[name] <= high for name, (low, high) in binned.brackets.items())
        widths.append(max(high - low for low, high in binned.brackets.values()))
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0.1
    assert widths[-1] < 0.002


def test_a_bracket_without_bins_is_the_figure() -> None:
    b = hr.CurveBuilder(H)
    b.update(*sample(50))
    assert b.brackets() == {name: (value, value) for name, value in b.compute().summary().items()}


def test_a_binned_state_is_at_most_ten_megabytes(tmp_path: Path) -> None:
    q, labels = sample(5_000)
    full = builder(q, labels, bins=65_536)
    full.save(tmp_path / "state.npz")
    assert full.curve is not None
    assert full.curve.bins is not None
    assert (
        sum(sums.nbytes for sums in full.curve.bins.sums.values()) < 10_000_000
    )  # if nothing could be compressed
    assert (tmp_path / "state.npz").stat().st_size < 10_000_000
    with pytest.raises(ParameterError, match="65,536 or fewer"):
        EvaluationBuilder(H, bins=65_537)


# Merging ---------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from([None, 16]))
@QUICK
def test_any_partition_and_order_gives_the_same_figures_bit_for_bit(data: st.DataObject, bins: int | None) -> None:
    problem = data.draw(problems(max_rows=12))

    def built(rows: list[int], part: str) -> EvaluationBuilder:
        made = EvaluationBuilder(problem.h, bins=bins, part=part, **problem.options)
        made.update(problem.q[rows], problem.labels[rows], problem.h.names)
        return made

    whole = built(list(range(len(problem.q))), "")
    parts = [built(rows, f"part {i}") for i, rows in enumerate(data.draw(in_parts(len(problem.q))))]
    merged = EvaluationBuilder(problem.h, bins=bins, **problem.options)
    for part in data.draw(st.permutations(parts)):
        merged.merge(part)
    one, many = (b.compute_binned() if bins else b.compute() for b in (whole, merged))
    assert many.to_dict() == one.to_dict()
    assert raw(many.curve) == raw(one.curve)


@given(st.permutations(range(4)), st.integers(0, 3))
@QUICK
def test_the_folder_is_the_same_for_any_order_of_merging(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int
) -> None:
    place = tmp_path_factory.mktemp("merge")
    q, labels = sample(40)
    rows = [slice(0, 7), slice(7, 20), slice(20, 21), slice(21, 40)]
    names = ["part-1", "part-2", "part-9", "part-10"]
    for name, part in zip(names, rows, strict=True):
        builder(q[part], labels[part], name).save(place / f"{name}.npz")
    one = EvaluationBuilder(H)
    for name, part in zip(names, rows, strict=True):
        one.update(
            q[part], labels[part], H.names, ids=np.array([f"{name}/{i}" for i in range(len(q[part]))], object)
        )
    one.compute().save(place / "one")
    loaded = [EvaluationBuilder.load(place / f"{names[i]}.npz") for i in order]
    left, right = EvaluationBuilder(H), EvaluationBuilder(H)  # a tree of merges, with a state on disk in between
    for i, state in enumerate(loaded):
        (left if i < cut else right).merge(state)
    if cut:
        left.save(place / "left.npz")
        right.merge(EvaluationBuilder.load(place / "left.npz"))
    right.compute().save(place / "many")
    for name in ("evaluation.json", "curve.npz", "examples.npz", "tree.json"):
        assert (place / "many" / name).read_bytes() == (place / "one" / name).read_bytes(), name


def test_parts_of_one_name_are_told_apart_by_content_and_never_count_twice() -> None:
    (q, labels), found = sample(10), []
    for first, second in (((0, 4), (4, 10)), ((4, 10), (0, 4))):
        a, b = (builder(q[i:j], labels[i:j], "same") for i, j in (first, second))
        a.merge(b)
        found.append(a.compute().events.score.tolist())
    assert found[0] == found[1]
    twice = builder(q, labels, "same")
    twice.merge(builder(q, labels, "same"))
    with pytest.raises(ParameterError, match="'same' is there twice"):
        twice.compute()


def test_names_sort_as_people_count() -> None:
    names = ["b", "a", "a1", "a01", "a2", "a10", "a2b3", "a2b10", "", "10", "9"]
    ordered = sorted(names, key=natural)
    assert ordered == ["", "9", "10", "a", "a01", "a1", "a2", "a2b3", "a2b10", "a10", "b"]
    assert sorted(["9" * 5000, "1" * 5001], key=natural)[0][0] == "9"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"information": "depth"}, "information"),
        ({"below_label": "wrong"}, r"below_label \('label' and 'wrong'\)"),
        ({"bins": 8}, r"bins \(None and 8\)"),
        ({"scale": "log"}, r"scale \('probability' and 'log'\)"),
    ],
)
def test_what_differs_is_named(change: dict[str, Any], said: str) -> None:
    q, labels = sample(5)
    other = EvaluationBuilder(H, **change)
    other.update(on_scale(q, change.get("scale", "probability")), labels, H.names)
    with pytest.raises(ParameterError, match=f"differ in {said}"):
        builder(q, labels).merge(other)


def test_other_trees_are_named() -> None:
    smaller = hr.Hierarchy.from_edges([("animal", "bird"), ("animal", "fish")])
    turned = hr.Hierarchy.from_edges([("animal", "fish"), ("fish", "cod"), ("fish", "eel"), ("animal", "bird"),
                                      ("bird", "robin"), ("bird", "wren")])  # fmt: skip
    with pytest.raises(ParameterError, match=r"tree \(7 and 3 nodes, fingerprints"):
        EvaluationBuilder(H).merge(EvaluationBuilder(smaller))
    assert turned.fingerprint == H.fingerprint
    with pytest.raises(ParameterError, match="in another order"):
        hr.CurveBuilder(H).merge(hr.CurveBuilder(turned))


# On disk ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", [None, 12])
@pytest.mark.parametrize("information", ["leaves", "depth", [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 2.5]])
def test_a_curve_builder_comes_back(tmp_path: Path, bins: int | None, information: Any) -> None:
    q, labels = sample(30)
    options: dict[str, Any] = {"information": information, "metrics": [metrics.edge_distance], "bins": bins}
    whole, first = hr.CurveBuilder(H, **options), hr.CurveBuilder(H, **options)
    whole.update(q, labels, H.names)
    first.update(q[:11], labels[:11], H.names)
    first.save(tmp_path / "first.npz")
    back = hr.CurveBuilder.load(tmp_path / "first.npz")
    back.update(q[11:], labels[11:], H.names)
    assert raw(back.compute()) == raw(whole.compute())
    hr.CurveBuilder(H).save(tmp_path / "empty.npz")
    assert len(hr.CurveBuilder.load(tmp_path / "empty.npz").events.label) == 0


def test_metrics_of_your_own_are_asked_for(tmp_path: Path) -> None:
    def minutes(h: Any, label: Any, prediction: Any) -> Any:
        return (label != prediction) * 2.0

    b = hr.CurveBuilder(H, metrics=[minutes])
    b.update(*sample(5))
    b.save(tmp_path / "own.npz")
    with pytest.raises(ParameterError, match=r"own\.npz: .*'minutes'.*metrics="):
        hr.CurveBuilder.load(tmp_path / "own.npz")
    back = hr.CurveBuilder.load(tmp_path / "own.npz", metrics=[minutes])
    assert raw(back.compute()) == raw(b.compute())


def test_ranks_titles_and_odd_names_come_back(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_parents(["r", "ä/1", "b\nc"], [-1, 0, 0], ["", "genus", "x"], ["", "🐦", ""])
    b = hr.CurveBuilder(h)
    b.update([[1, 0.5, 0.2]], ["ä/1"])
    b.save(tmp_path / "x.npz")
    assert hr.CurveBuilder.load(tmp_path / "x.npz").hierarchy == h


def test_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="no examples"):
        EvaluationBuilder(H).save(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


def test_other_rules_are_refused(tmp_path: Path) -> None:
    builder(*sample(5)).save(tmp_path / "x.npz")
    rules = {name: hr.infer.RULES[name] for name in ("leaf", "majority")}
    with pytest.raises(ParameterError, match="made with the rules"):
        EvaluationBuilder.load(tmp_path / "x.npz", rules=rules)


def members(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def described(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    about = json.loads(arrays["about"].tobytes()) | changes
    return arrays | {"about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: {k: v for k, v in a.items() if k != "about"}, "hedgerow did not write it"),
        (lambda a: a | {"about": np.array([123], np.uint8)}, "hedgerow did not write it"),
        (lambda a: described(a, version=2), "version 2, and this hedgerow reads version 1"),
        (lambda a: described(a, kind="curve"), "it holds 'curve', not 'evaluation'"),
        (lambda a: described(a, more=1), "it must not have 'more'"),
        (lambda a: described(a, scale="percent"), "it.scale must be one of .*, not 'percent'"),
        (lambda a: described(a, scale=["log"]), "it.scale must be one of"),
        (lambda a: described(a, bins=10**12), "it.bins must be a whole number from 2 to 16777216"),
        (lambda a: described(a, bins=True), "it.bins must be"),
        (lambda a: described(a, bins=5), "'examples' is missing"),
        (lambda a: described(a, parts=[["a", -1]]), "it.parts.0. must be a whole number"),
        (lambda a: described(a, parts=[["a", 4]]), "do not add up"),
        (lambda a: described(a, rules={"leaf": [1, 2]}), "it.rules.leaf must be a sum for each of 6"),
        (lambda a: described(a, tree="0" * 64), "its tree is not the one"),
        (lambda a: a | {"label": a["label"] + 100}, "'label' has values outside 0 to 6"),
        (lambda a: a | {"label": a["label"].astype(np.int64)}, "'label' is int64"),
        (lambda a: a | {"node": a["node"][:-1]}, "'node' is int32 of shape"),
        (lambda a: a | {"score": a["score"] * np.nan}, "'score' has values outside"),
        (lambda a: a | {"score": a["score"][::-1].copy()}, "do not fall"),
        (lambda a: a | {"extra": np.zeros(1)}, "'extra', which no state has"),
        (lambda a: a | {"confidence:leaf": a["confidence:leaf"] + 1}, "'confidence:leaf' has values outside"),
        (lambda a: a | {"prediction:leaf": a["prediction:leaf"] - 9}, "'prediction:leaf' has values outside"),
        (lambda a: a | {"ids_end": a["ids_end"][:-1]}, "'ids' does not have one text"),
        (lambda a: a | {"ids_end": a["ids_end"] + 1}, "'ids' does not have one text"),
        (lambda a: a | {"ids_utf8": a["ids_utf8"] | 0x80}, "'ids' is not text"),
        (lambda a: a | {"tree_parent": a["tree_parent"] * 0}, "cannot be read|depth-first"),
        (lambda a: a | {"tree_names_utf8": np.zeros_like(a["tree_names_utf8"])}, "x.npz"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    builder(*sample(20), "a").save(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", **change(members(tmp_path / "x.npz")))
    with pytest.raises(HedgerowError, match=said) as caught:
        EvaluationBuilder.load(tmp_path / "x.npz")
    assert "x.npz" in str(caught.value)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_bytes_are_an_error_or_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damage") / "x.npz"
    made = builder(*sample(20), "a")
    made.save(path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        back = EvaluationBuilder.load(path)
    except HedgerowError:
        return
    assert back.compute().to_dict() == made.compute().to_dict()


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.npz does not exist"):
        EvaluationBuilder.load(tmp_path / "none.npz")
    (tmp_path / "x.npz").write_text("no archive")
    with pytest.raises(FileError, match=r"x\.npz cannot be read"):
        EvaluationBuilder.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", classes=["a"], probabilities=[[1.0]])
    with pytest.raises(FileError, match=r"y\.npz cannot be read as a state: hedgerow did not write it"):
        EvaluationBuilder.load(tmp_path / "y.npz")
