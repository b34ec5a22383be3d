"""Operating points: files that travel, and refuse what they are not for."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.likelihood import Likelihoods
from tests.choose.populations import population
from tests.choose.test_select import quiet
from tests.sealed import sealed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PEOPLE = population(size=300)
TREE = PEOPLE.hierarchy
LABELS = TREE.names[PEOPLE.labels]
RANKED = hr.Hierarchy(TREE.names, TREE.parent, np.array([f"level{d}" for d in TREE.depth], dtype=object))

KINDS: dict[str, Callable[[], hr.OperatingPoint]] = {
    "correct": lambda: quiet(TREE, PEOPLE.q, LABELS, target=("correct", 0.9)),
    "root only": lambda: quiet(TREE, PEOPLE.q, LABELS, target=("correct", 0.999)),
    "pac, clusters": lambda: quiet(
        TREE, PEOPLE.q, LABELS, target=("correct", 0.9), guarantee="pac", clusters=np.arange(300) // 3
    ),
    "groups": lambda: quiet(TREE, PEOPLE.q, LABELS, target=("correct", 0.9), groups=["a", "ü"] * 150),
    "clades": lambda: quiet(TREE, PEOPLE.q, LABELS, target=("correct", 0.9), clades=1),
    "ranks": lambda: quiet(RANKED, PEOPLE.q, LABELS, per_rank={"level1": 0.9, "level3": 0.5}),
    "lambda": lambda: quiet(TREE, PEOPLE.q, LABELS, target=("correct", 0.9), rule="expected-information"),
    "climbing": lambda: quiet(TREE, PEOPLE.q, LABELS, target=("recall", 0.3), rule="climbing"),
    "logs": lambda: quiet(
        TREE, np.log(PEOPLE.q), LABELS, target=("correct", 0.1), guarantee="empirical", scale="log"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_point_survives_its_file(kind: str, tmp_path: Path) -> None:
    point = KINDS[kind]()
    point.save(tmp_path / "point.json")
    loaded = hr.OperatingPoint.load(tmp_path / "point.json")
    pickled = pickle.dumps(point, protocol=0)
    assert loaded == point == pickle.loads(pickled)  # noqa: S301
    assert dict(loaded.thresholds) == dict(point.thresholds)  # to the last digit, infinities too
    q = np.log(PEOPLE.q) if kind == "logs" else PEOPLE.q
    groups = ["a", "ü"] * 150 if kind == "groups" else None
    answers = loaded.predict(q, groups)
    assert answers.dtype == np.int64
    assert answers.tolist() == point.predict(q, groups).tolist()
    text = (tmp_path / "point.json").read_text(encoding="utf-8")
    assert "Infinity" not in text
    assert "NaN" not in text


def test_everything_is_in_the_file(tmp_path: Path) -> None:
    point = KINDS["pac, clusters"]()
    point.save(tmp_path / "point.json")
    content = json.loads((tmp_path / "point.json").read_text(encoding="utf-8"))
    assert content["tree"]["names"] == TREE.names.tolist()
    assert content["tree"]["parents"] == TREE.parent.tolist()
    assert content["tree"]["fingerprint"] == TREE.fingerprint
    assert (content["rule"], content["scale"], content["temperature"]) == ("threshold", "probability", 1.0)
    asked = content["request"]
    assert (asked["target"], asked["guarantee"], asked["delta"]) == (["correct", 0.9], "pac", 0.05)
    assert (content["examples"], content["clusters"]) == (300, 100)
    assert content["version"]
    assert content["created"].startswith("20")


def edited(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    path = tmp_path / "point.json"
    KINDS["ranks"]().save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["thresholds"].update(level1=0.1), "was changed after it was written"),
        (lambda c: c["request"]["per_rank"].update(level1=0.99), "was changed after it was written"),
        (lambda c: c["notes"].append("x"), "was changed after it was written"),
        (lambda c: c["tree"]["names"].__setitem__(1, "other"), "was changed after it was written"),
        (lambda c: c.update(digest="0"), "was changed after it was written"),
        (lambda c: c.update(schema=99), "another version of hedgerow wrote it: its schema is 99, not 4"),
        (lambda c: c.update(format="x"), "it is a 'x'"),
    ],
)
def test_a_file_edited_by_hand_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    path = edited(tmp_path, change)
    with pytest.raises(hr.HedgerowError, match=message) as refused:
        hr.OperatingPoint.load(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"format": NaN}', "[" * 100_000, "\x00", '{"a": Infinity}'])
def test_files_that_are_no_points(tmp_path: Path, text: str) -> None:
    path = tmp_path / "point.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(hr.HedgerowError, match="point"):
        hr.OperatingPoint.load(path)


def forged(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A file whose digest was computed again."""

    def seal(content: dict[str, Any]) -> None:
        change(content)
        content.update(sealed(content))

    return edited(tmp_path, seal)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("scale"), "missing required field `scale`"),
        (lambda c: c.update(more=1), "unknown field `more`"),
        (lambda c: c.update(scale="odds"), "Invalid enum value 'odds' - at `.*scale`"),
        (lambda c: c.update(thresholds=[]), "Expected `object`, got `array` - at `.*thresholds`"),
        (lambda c: c.update(thresholds={"level1": True}), "got `bool` - at `.*thresholds"),
        (lambda c: c.update(thresholds={"level1": "nan"}), "'nan' - at `.*thresholds"),
        (lambda c: c.update(thresholds={"level1": 10**400}), "out of range - at `.*thresholds"),
        (lambda c: c["request"]["per_rank"].update(level1="0.9"), "Expected `float`, got `str` - at `.*per_rank"),
        (lambda c: c["request"].pop("unit"), "missing required field `unit` - at `.*request`"),
        (lambda c: c["request"].update(more=1), "unknown field `more` - at `.*request`"),
        (lambda c: c["request"].update(rule=["threshold"]), "Expected `str`, got `array` - at `.*request.rule`"),
        (lambda c: c["request"].update(rule="majority"), "no rule 'majority'"),
        (lambda c: c["request"].update(clusters=True), "its clusters or weights are not those of its request"),
        (lambda c: c["request"].update(unit="example", clusters=True, largest_cluster=10**30), "a whole number"),
        (lambda c: c["request"].update(delta="1e9"), "Expected `float`, got `str` - at `.*delta`"),
        (lambda c: c["request"].update(delta=f"1/{'9' * 300}"), "Expected `float`, got `str` - at `.*delta`"),
        (lambda c: c.update(at_most=True), "it promises in the wrong direction"),
        (lambda c: c["request"].update(guarantee="certain"), "no guarantee 'certain'"),
        (lambda c: c["request"].update(delta=1), "must lie between 0 and 1, not 1"),
        (lambda c: c["request"].update(among="9"), "needs the metric correct or exact"),
        (lambda c: c["request"].update(merge_small={}), "needs groups or clades"),
        (lambda c: c["request"].update(merge_small={"a": -1}), "must be 0 or more"),
        (lambda c: c["request"]["per_rank"].update(genus=0.9), "no rank 'genus'"),
        (lambda c: c.update(rule="threshold"), "its rule is not that of its request"),
        (lambda c: c.update(temperature=-1), "Expected `float` > 0.0 - at `.*temperature`"),
        (lambda c: c.update(temperature=10**400), "out of range - at `.*temperature`"),
        (lambda c: c.update(examples=10**400), "`.*examples`"),
        (lambda c: c.update(examples=10**30), "`.*examples`"),
        (lambda c: c.update(examples=True), "Expected `int`, got `bool` - at `.*examples`"),
        (lambda c: c.update(examples=-1), "Expected `int` >= 0 - at `.*examples`"),
        (lambda c: c.update(clade_depth=0), "its rule is not that of its request"),
        (lambda c: c.update(notes="x"), "Expected `array`, got `str` - at `.*notes`"),
        (lambda c: c["request"]["settings"].update(information="custom"), "information must be 'leaves', 'depth'"),
        (lambda c: c["request"]["settings"].update(below_label=3), "Expected `str`, got `int` - at `.*settings"),
        (lambda c: c["request"]["settings"].update(below_label="right"), "'right' - at `.*below_label`"),
        (lambda c: c["request"]["settings"].update(more="1"), "unknown field `more` - at `.*settings`"),
        (lambda c: c["request"]["settings"].pop("single_child"), "missing required field `single_child`"),
        (lambda c: c.pop("tree"), "missing required field `tree`"),
        (lambda c: c.update(tree=3), "Expected `object`, got `int` - at `.*tree`"),
        (lambda c: c["tree"]["names"].__setitem__(1, "other"), "does not agree with its fingerprint"),
        (lambda c: c["tree"]["parents"].__setitem__(1, 10**30), "[Ii]ts tree is not a tree"),
        (lambda c: c["tree"]["parents"].__setitem__(1, -1), "[Ii]ts tree is not a tree"),
        (lambda c: c["tree"]["names"].append("x"), "Got 20 names, 19 parents"),
        (lambda c: c["tree"].update(ranks=["a"]), "rank needs one entry per node"),
        (lambda c: c.update(thresholds={"genus": 0.5}), "its thresholds do not match"),
        (lambda c: c.update(thresholds={}), "its thresholds do not match"),
        (lambda c: c.update(by="all"), "its rule is not that of its request"),
        (lambda c: c["request"].update(per_rank=None), "Give either a target"),
        (lambda c: c["request"].update(per_rank={"level1": 0.9, "level2": 0.8}), "its thresholds do not match"),
        (lambda c: c["request"].update(target=["correct", 0.9]), "Give either a target"),
        (lambda c: c["request"].update(target=["os:abort", 0.9], per_rank=None), "its rule is not"),
    ],
)
def test_a_forged_digest_does_not_help(tmp_path: Path, change: Any, message: str) -> None:
    path = forged(tmp_path, change)
    with pytest.raises(hr.HedgerowError, match=message) as refused:
        hr.OperatingPoint.load(path)
    assert str(path) in str(refused.value)


def test_a_point_that_does_not_say_what_it_was_chosen_with_cannot_be_watched(tmp_path: Path) -> None:
    point = hr.OperatingPoint.load(forged(tmp_path, lambda c: c.update(calibrated_on={})))
    with pytest.raises(hr.HedgerowError, match="does not say how many examples it was chosen with"):
        hr.Monitor(point)


def test_another_tree_is_refused_and_the_difference_is_shown() -> None:
    point = KINDS["correct"]()
    edges = [(str(TREE.names[TREE.parent[v]]), str(TREE.names[v])) for v in range(1, len(TREE))]
    renamed = [(a, "sparrow" if b == "leaf3" else b) for a, b in edges]
    moved = [("n1.3" if b == "leaf0" else a, b) for a, b in edges]
    for other, message in (
        (renamed, "it lacks 'leaf3'; it also has 'sparrow'"),
        (moved, "'leaf0' is below 'n1.3', not below 'n1.0'"),
        ([*edges, ("n1.0", "owl")], "it also has 'owl'"),
    ):
        h = hr.Hierarchy.from_edges(other)
        q = Likelihoods.of(h, np.ones((1, len(h))))
        with pytest.raises(hr.HedgerowError, match=message):
            point.predict(q)


def test_the_same_tree_in_another_order_is_the_same_tree() -> None:
    point = KINDS["ranks"]()
    edges = [(str(TREE.names[TREE.parent[v]]), str(TREE.names[v])) for v in range(1, len(TREE))]
    h = hr.Hierarchy.from_edges(edges[::-1])
    assert h.names.tolist() != TREE.names.tolist()
    q = Likelihoods.of(h, PEOPLE.q[:, TREE.indices(h.names)])
    assert h.names[point.predict(q)].tolist() == TREE.names[point.predict(PEOPLE.q)].tolist()


def test_other_scores_are_refused() -> None:
    point = KINDS["correct"]()
    logs = Likelihoods.of(TREE, np.log(PEOPLE.q), "log")
    with pytest.raises(hr.HedgerowError, match="on the scale 'probability', but these are on the scale 'log'"):
        point.predict(logs)
    with pytest.raises(hr.HedgerowError, match="does not depend on groups"):
        point.predict(PEOPLE.q, ["a"] * 300)
    with pytest.raises(hr.HedgerowError, match="one threshold per clade"):
        _ = KINDS["clades"]().threshold
    with pytest.raises(hr.HedgerowError, match="Nothing is promised for the group 'b'"):
        quiet(TREE, PEOPLE.q, LABELS, target=("recall", 0.2), groups=["a"] * 300).predict(PEOPLE.q[:1], ["b"])


def test_no_examples_have_no_answers() -> None:
    for kind, make in KINDS.items():
        groups: list[str] | None = [] if kind == "groups" else None
        assert make().predict(PEOPLE.q[:0], groups).tolist() == []


def test_points_work_without_torch(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    KINDS["correct"]().save(path)
    code = (
        "import sys; import hedgerow as hr, numpy as np; "
        f"point = hr.OperatingPoint.load({str(path)!r}); q = np.zeros((2, {len(TREE)})); q[:, 0] = 1; "
        "print(point.predict(q).tolist(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0, 0] False"


def test_what_a_point_says_of_itself() -> None:
    assert repr(KINDS["root only"]()).startswith(
        "OperatingPoint(correct >= 0.999, conformal: always the root, 300"
    )
    assert "300 examples in 100 clusters" in repr(KINDS["pac, clusters"]())
    assert "2 thresholds" in repr(KINDS["groups"]())
    assert KINDS["root only"]().threshold == math.inf
    logs = dataclasses.replace(KINDS["correct"](), scale="log")
    assert "on the scale 'log', 300 examples" in repr(logs)
    assert "scale" not in repr(KINDS["correct"]())
