"""The saved form of builders and evaluations: merged in any order, and files that nobody should trust."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import metrics
from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.files import digest, json_array
from hedgerow.measure import MEMBERS, Evaluation, EvaluationBuilder, evaluate, merge, natural
from tests.curve_strategies import in_parts, problems, raw
from tests.make_scores import H, probabilities
from tests.sealed import sealed, sealed_arrays
from tests.strategies import QUICK

if TYPE_CHECKING:
    from pathlib import Path


def sample(rows: int, seed: int = 0) -> tuple[Any, Any]:
    p = probabilities(rows, seed)
    labels = np.random.default_rng(seed + 1).choice(len(H), rows)
    return hr.likelihood.from_leaves(H, p), labels


def builder(q: Any, labels: Any, part: str = "", **options: Any) -> EvaluationBuilder:
    made = EvaluationBuilder(H, part=part, **options)
    ids = np.array([f"{part}/{i}" for i in range(len(q))], dtype=object)
    made.update(q, labels, H.names, ids=ids)
    return made


# Merging ---------------------------------------------------------------------------------------------------


@given(st.data())
@QUICK
def test_any_partition_and_order_gives_the_same_figures_bit_for_bit(data: st.DataObject) -> None:
    problem = data.draw(problems(max_rows=12))

    def built(rows: list[int], part: str) -> EvaluationBuilder:
        made = EvaluationBuilder(problem.h, part=part, **problem.options)
        made.update(problem.q[rows], problem.labels[rows], problem.h.names)
        return made

    whole = built(list(range(len(problem.q))), "").compute()
    parts = [built(rows, f"part {i}") for i, rows in enumerate(data.draw(in_parts(len(problem.q))))]
    builder = EvaluationBuilder(problem.h, **problem.options)
    for part in data.draw(st.permutations(parts)):
        builder.merge(part)
    computed = [part.compute() for part in data.draw(st.permutations(parts)) if sum(map(len, part.parts))]
    for many in (builder.compute(), merge(computed)):
        assert many.to_dict() == whole.to_dict()
        assert raw(many.curve) == raw(whole.curve)


@given(st.permutations(range(4)), st.integers(1, 3))
@QUICK
def test_the_folder_is_the_same_for_any_order_of_merging(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int
) -> None:
    place = tmp_path_factory.mktemp("merge")
    q, labels = sample(40)
    rows = [slice(0, 7), slice(7, 20), slice(20, 21), slice(21, 40)]
    names = ["part-1", "part-2", "part-9", "part-10"]
    for name, part in zip(names, rows, strict=True):
        builder(q[part], labels[part], name).compute().save(place / name)
    loaded = [Evaluation.load(place / names[i]) for i in order]
    merge(loaded[:cut]).save(place / "some")  # a tree of merges, with a folder in between
    merge([*loaded[cut:], Evaluation.load(place / "some")]).save(place / "many")
    merge([Evaluation.load(place / name) for name in names]).save(place / "one")
    for member in MEMBERS:
        assert (place / "many" / member).read_bytes() == (place / "one" / member).read_bytes(), member
    whole = builder(q, labels).compute()
    one = Evaluation.load(place / "one")
    assert one.to_dict() == whole.to_dict()
    assert raw(one.curve) == raw(whole.curve)
    assert one.sizes == (("part-1", 7), ("part-2", 13), ("part-9", 1), ("part-10", 19))
    np.testing.assert_array_equal(one.events.score, whole.events.score)


def test_doubts_about_parts_are_not_doubts_about_the_whole() -> None:
    """What the examples of a part look like is asked again of all of them."""
    h = hr.Hierarchy.from_edges([("root", f"c{i}") for i in range(20)])
    labels = np.random.default_rng(0).choice(h.leaves, size=600)
    p = np.full((600, 20), 0.1 / 19)
    p[np.arange(600), labels - 1] = 0.9
    p[:30] = np.roll(p[:30], 1, axis=1)
    q = np.asarray(hr.likelihood.from_leaves(h, p))
    ids = np.array(["a", "a", *map(str, range(598))], dtype=object)
    whole = evaluate(h, q, labels, ids=ids)
    parts = [
        evaluate(h, q[r], labels[r], ids=ids[r], name=n) for n, r in (("1", slice(30)), ("2", slice(30, 600)))
    ]
    assert any("Are the columns in the order" in warning for warning in parts[0].warnings)
    assert merge(parts).warnings == whole.warnings
    assert len(whole.warnings) == 1


def test_parts_of_one_name_are_told_apart_by_content_and_never_count_twice() -> None:
    (q, labels), found = sample(10), []
    for first, second in (((0, 4), (4, 10)), ((4, 10), (0, 4))):
        a, b = (builder(q[i:j], labels[i:j], "same") for i, j in (first, second))
        a.merge(b)
        found.append(a.compute().events.score.tolist())
    assert found[0] == found[1]
    twice = builder(q, labels, "same")
    twice.merge(builder(q, labels, "same"))
    with pytest.raises(ParameterError, match="'same' occurs twice"):
        twice.compute()
    with pytest.raises(ParameterError, match="'same' occurs twice"):
        merge([builder(q, labels, "same").compute()] * 2)


def test_names_sort_as_people_count() -> None:
    names = ["b", "a", "a1", "a01", "a2", "a10", "a2b3", "a2b10", "", "10", "9"]
    ordered = sorted(names, key=natural)
    assert ordered == ["", "9", "10", "a", "a01", "a1", "a2", "a2b3", "a2b10", "a10", "b"]
    assert sorted(["9" * 5000, "1" * 5001], key=natural)[0][0] == "9"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"information": "depth"}, r"information \('leaves' and 'depth'\)"),
        ({"below_label": "wrong"}, r"below_label \('label' and 'wrong'\)"),
        ({"single_child": "answer"}, r"single_child \('skip' and 'answer'\)"),
        ({"scale": "log"}, r"scale \('probability' and 'log'\)"),
        ({"rules": {name: hr.infer.RULES[name] for name in ("leaf", "majority")}}, "rules"),
    ],
)
def test_what_differs_is_named(change: dict[str, Any], said: str) -> None:
    q, labels = sample(5)
    other = EvaluationBuilder(H, **change)
    other.update(np.log(q) if "scale" in change else q, labels, H.names)
    with pytest.raises(ParameterError, match=f"differ in {said}"):
        builder(q, labels).merge(other)
    with pytest.raises(ParameterError, match=f"differ in {said}"):
        merge([builder(q, labels).compute(), other.compute()])
    with pytest.raises(ParameterError, match="no evaluations"):
        merge([])


def test_other_trees_are_named() -> None:
    smaller = hr.Hierarchy.from_edges([("animal", "bird"), ("animal", "fish")])
    turned = hr.Hierarchy.from_edges([("animal", "fish"), ("fish", "cod"), ("fish", "eel"), ("animal", "bird"),
                                      ("bird", "robin"), ("bird", "wren")])  # fmt: skip
    with pytest.raises(ParameterError, match=r"tree \(7 and 3 nodes, fingerprints"):
        EvaluationBuilder(H).merge(EvaluationBuilder(smaller))
    assert turned.fingerprint == H.fingerprint
    with pytest.raises(ParameterError, match="in another order"):
        hr.CurveBuilder(H).merge(hr.CurveBuilder(turned))


def test_aliases_of_a_tree_do_not_keep_builders_apart(tmp_path: Path) -> None:
    known = hr.Hierarchy(H.names, H.parent, aliases={"redbreast": H.index("robin")})
    q, labels = sample(20)
    first, second = hr.CurveBuilder(known), hr.CurveBuilder(known)
    first.update(q[:9], labels[:9], H.names)
    second.update(q[9:], labels[9:], H.names)
    first.save(tmp_path / "first.npz")
    second.merge(hr.CurveBuilder.load(tmp_path / "first.npz"))
    assert raw(second.compute()) == raw(hr.operating_curve(H, q, labels, classes=H.names))
    parts = [
        evaluate(known, q[rows], labels[rows], classes=H.names, name=str(rows))
        for rows in (slice(9), slice(9, 20))
    ]
    parts[0].save(tmp_path / "part")
    assert len(merge([Evaluation.load(tmp_path / "part"), parts[1]])) == 20


# On disk ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("information", ["leaves", "depth", [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 2.5]])
def test_a_curve_builder_comes_back(tmp_path: Path, information: Any) -> None:
    q, labels = sample(30)
    options: dict[str, Any] = {"information": information, "metrics": [metrics.edge_distance]}
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
    with pytest.raises(ParameterError, match=r"own\.npz was made with the metric 'minutes'.*metrics="):
        hr.CurveBuilder.load(tmp_path / "own.npz")
    back = hr.CurveBuilder.load(tmp_path / "own.npz", metrics=[minutes])
    assert raw(back.compute()) == raw(b.compute())


def test_ranks_titles_and_odd_names_come_back(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_parents(["r", "ä/1", "b\nc"], [-1, 0, 0], ["", "genus", "x"], ["", "🐦", ""])
    b = hr.CurveBuilder(h)
    b.update([[1, 0.5, 0.2]], ["ä/1"])
    b.save(tmp_path / "x.npz")
    assert hr.CurveBuilder.load(tmp_path / "x.npz").hierarchy == h


def members(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def described(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return sealed_arrays(arrays, **changes)


def texts(listed: Any) -> Any:
    return json_array(listed)


def replaced(folder: Path, arrays: dict[str, Any]) -> None:
    """Replace the examples of an evaluation, with a digest that fits."""
    with suppress(KeyError, ValueError, AttributeError, RecursionError):
        arrays = sealed_arrays(arrays)
    np.savez(folder / "examples.npz", **arrays)
    about = json.loads((folder / "evaluation.json").read_text())
    about["files"] = {"examples.npz": digest(folder / "examples.npz")}
    (folder / "evaluation.json").write_text(json.dumps(sealed(about)))


INTERVAL = {"value": 0.5, "low": 0.1, "high": 0.9}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: {k: v for k, v in a.items() if k != "about"}, "hedgerow did not write it"),
        (lambda a: a | {"about": np.array([123], np.uint8)}, "Input data was truncated"),
        (lambda a: {k: v for k, v in a.items() if k != "confidence:leaf"}, "'confidence:leaf' is missing"),
        (lambda a: a | {"about": np.frombuffer(b"[" * 100_000, np.uint8)}, "cannot be read as an evaluation"),
        (lambda a: described(a, format="x"), "it is a 'x'"),
        (lambda a: described(a, schema=99), "another version of hedgerow wrote it: its schema is 99, not 3"),
        (lambda a: described(a, format="hedgerow curve builder"), "it is a 'hedgerow curve builder'"),
        (lambda a: described(a, more=1), "unknown field `more`"),
        (lambda a: described(a, scale="percent"), "Invalid enum value 'percent' - at `.*scale`"),
        (lambda a: described(a, scale=["log"]), "`.*scale`"),
        (lambda a: described(a, sizes=[["a", -1]]), "Expected `int` >= 0 - at `.*sizes"),
        (lambda a: described(a, sizes=[["a", 4]]), "do not add up"),
        (lambda a: described(a, sizes=[["a", 10**400], ["b", 1]]), "`.*sizes"),
        (lambda a: described(a, sizes=[["a", 30], ["b", -10]]), "Expected `int` >= 0"),
        (lambda a: described(a, name=3), "Expected `str`, got `int` - at `.*name`"),
        (lambda a: described(a, level=float("nan")), "JSON is malformed"),
        (lambda a: described(a, level=2), "Expected `float` <= 1.0 - at `.*level`"),
        (lambda a: described(a, replicates=True), "Expected `int`, got `bool` - at `.*replicates`"),
        (lambda a: described(a, warnings=[1]), "Expected `str`, got `int`"),
        (lambda a: described(a, intervals={"AP": {"value": 1}}), "missing required field `low`"),
        (lambda a: described(a, intervals={"AP": INTERVAL | {"more": 1}}), "unknown field `more`"),
        (lambda a: described(a, intervals={"AP": INTERVAL | {"low": 1e308}}), "at `.*low`"),
        (
            lambda a: described(a, settings={"information": "leaves"}),
            "missing required field `single_child` - at `.*settings`",
        ),
        (lambda a: settings_of(a, information="custom"), "x"),
        (lambda a: settings_of(a, below_label="right"), "Invalid enum value 'right' - at `.*below_label`"),
        (lambda a: described(a, rules=["leaf"]), "answers of a rule are missing"),
        (lambda a: described(a, rules=["leaf", "majority"]), "does not belong there"),
        (lambda a: described(a, tree="0" * 64), "Expected `object`, got `str` - at `.*tree`"),
        (lambda a: tree_of(a, parents=[-1] * 7), "x"),
        (lambda a: tree_of(a, names=[""] * 7), "x"),
        (lambda a: a | {"label": a["label"] + 100}, "'label' has values outside 0 to 6"),
        (lambda a: a | {"label": a["label"] - 9}, "'label' has values outside 0 to 6"),
        (lambda a: a | {"label": a["label"][:, None]}, r"'label' is int32 of shape \(20, 1\)"),
        (lambda a: a | {"label": a["label"].astype(np.int64)}, "'label' is int64"),
        (lambda a: a | {"count": a["count"] + 10**6}, "'count' has values outside"),
        (lambda a: a | {"node": a["node"][:-1]}, "'node' is int32 of shape"),
        (lambda a: a | {"node": a["node"] * 0}, "'node' has values outside 1 to 6"),
        (lambda a: a | {"score": a["score"] * np.nan}, "'score' has values outside"),
        (lambda a: a | {"score": a["score"] * 0}, "do not fall"),
        (lambda a: a | {"score": a["score"][::-1].copy()}, "do not fall"),
        (lambda a: a | {"extra": np.zeros(1)}, "'extra', which does not belong there"),
        (lambda a: a | {"confidence:leaf": a["confidence:leaf"] + 1}, "'confidence:leaf' has values outside"),
        (lambda a: a | {"confidence:other": a["confidence:leaf"]}, "does not belong there"),
        (lambda a: a | {"prediction:leaf": a["prediction:leaf"] - 9}, "'prediction:leaf' has values outside"),
        (lambda a: a | {"prediction:leaf": a["prediction:leaf"][1:]}, "'prediction:leaf' is int32 of shape"),
        (lambda a: a | {"ids": texts(["a"])}, "'ids' does not have one text"),
        (lambda a: a | {"ids": texts([1] * 20)}, "Expected `str`, got `int`"),
        (lambda a: a | {"ids": a["ids"] | 0x80}, "examples.npz cannot be read"),
        (lambda a: a | {"ids": np.zeros((2, 2))}, "examples.npz cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    builder(*sample(20), "a").compute().save(tmp_path / "x")
    replaced(tmp_path / "x", change(members(tmp_path / "x" / "examples.npz")))
    with pytest.raises(HedgerowError, match=said) as caught:
        Evaluation.load(tmp_path / "x")
    assert "examples.npz" in str(caught.value)


def settings_of(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return described(arrays, settings=json.loads(arrays["about"].tobytes())["settings"] | changes)


def tree_of(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return described(arrays, tree=json.loads(arrays["about"].tobytes())["tree"] | changes)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_bytes_are_an_error_or_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damage") / "x.npz"
    q, labels = sample(20)
    made = hr.CurveBuilder(H)
    made.update(q, labels, H.names)
    made.save(path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        back = hr.CurveBuilder.load(path)
    except HedgerowError:
        return
    assert raw(back.compute()) == raw(made.compute())


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.npz does not exist"):
        hr.CurveBuilder.load(tmp_path / "none.npz")
    (tmp_path / "x.npz").write_text("no archive")
    with pytest.raises(FileError, match=r"x\.npz cannot be read"):
        hr.CurveBuilder.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", classes=["a"], probabilities=[[1.0]])
    with pytest.raises(FileError, match=r"y\.npz cannot be read as a curve builder: hedgerow did not write it"):
        hr.CurveBuilder.load(tmp_path / "y.npz")
    builder(*sample(5)).compute().save(tmp_path / "e")
    with pytest.raises(FileError, match=r"examples\.npz cannot be read.*it is a 'hedgerow evaluation'"):
        hr.CurveBuilder.load(tmp_path / "e" / "examples.npz")
