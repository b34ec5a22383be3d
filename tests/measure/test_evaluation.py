"""Evaluations: the same figures as from whole arrays, saved and read back, compared."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

import hedgerow as hr
from hedgerow import infer, metrics
from hedgerow.errors import FileError, ParameterError, ScoreError
from hedgerow.files import Document
from hedgerow.infer.rules import RULES, answering_rule
from hedgerow.likelihood import Likelihoods
from hedgerow.measure import read_or_evaluate, saved
from hedgerow.measure.comparison import compare
from hedgerow.measure.evaluation import Evaluation
from hedgerow.measure.evaluation_builder import evaluate
from hedgerow.score_files import KEPT, Block, Examples, open_scores
from tests.kill_points import killed_at
from tests.make_evaluations import LABELS, model, sample
from tests.make_scores import LEAVES, H, probabilities, save_npz

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLINC = Path(__file__).parents[3] / "shared" / "data" / "clinc150"
FIGURES = ["AP", "AC", "AC_exact", "R@90C", "R@95C", "majority_F1", "leaf_F1", "leaf_exact"]


@pytest.mark.parametrize("below_label", ["label", "wrong"])
@pytest.mark.parametrize("information", ["leaves", "depth"])
def test_blocks_give_what_whole_arrays_give(information: Any, below_label: Any) -> None:
    q, labels = sample()
    options: dict[str, Any] = {"information": information, "below_label": below_label}
    blocks = [Block.of(i, Likelihoods.of(H, q[i : i + 7]), labels=labels[i : i + 7]) for i in range(0, len(q), 7)]
    streamed, whole = evaluate(H, blocks, **options), evaluate(H, q, labels, **options)
    assert streamed.to_dict() == whole.to_dict()
    curve = hr.operating_curve(H, q, labels, **options)
    assert curve.summary() == {name: whole.summary()[name] for name in curve.summary()}
    np.testing.assert_array_equal(whole.curve.threshold, curve.threshold)
    leaf, majority = infer.leaf(H, q), infer.majority(H, q, information=information)
    assert whole.summary()["leaf_exact"] == metrics.exact(H, labels, leaf, **options).mean()
    assert whole.summary()["leaf_F1"] == pytest.approx(metrics.f1(H, labels, leaf, **options).mean(), abs=1e-15)
    expected = metrics.f1(H, labels, majority, **options).mean()
    assert whole.summary()["majority_F1"] == pytest.approx(expected, abs=1e-15)
    assert whole.rules["majority"]["f1"] == pytest.approx(curve.at(0.5)["f1"], abs=1e-12)


def test_the_summary_has_what_the_contract_names() -> None:
    evaluation = evaluate(H, *sample())
    assert set(FIGURES) <= evaluation.summary().keys()
    assert all(0 <= value <= 1 for value in evaluation.summary().values())
    assert list(evaluation.rules) == list(RULES)
    found = evaluation.to_dict()
    assert found["examples"] == 60
    assert found["tree"]["fingerprint"] == H.fingerprint
    json.dumps(found, allow_nan=False)


def test_points_are_where_the_intercepts_are() -> None:
    evaluation = evaluate(H, *sample(200))
    for level in ("R@90C", "R@95C"):
        point = evaluation.points[level]
        assert point is not None
        assert point["recall"] == evaluation.summary()[level]
        assert evaluation.curve.at(point["threshold"])["correct"] == point["correct"] >= float(level[2:4]) / 100


@pytest.mark.parametrize("scale", ["log", "logit"])
def test_other_scales_give_the_same_figures(scale: Any) -> None:
    q, labels = sample()
    with np.errstate(divide="ignore"):
        mapped = np.log(q) if scale == "log" else np.log(q) - np.log1p(-q)
    other, plain = evaluate(H, mapped, labels, scale=scale), evaluate(H, q, labels)
    assert other.summary() == pytest.approx(plain.summary())
    for rule, values in plain.rules.items():
        assert other.rules[rule] == pytest.approx(values)


def test_tensors_are_evaluated_too() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    q, labels = sample()
    tensors = evaluate(H, torch.tensor(q), torch.tensor(labels))
    assert tensors.to_dict() == evaluate(H, q, labels).to_dict()


def test_one_example_and_one_class(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges([("root", "only")])
    evaluation = evaluate(h, [[1.0, 1.0]], ["only"], replicates=5)
    assert evaluation.summary()["AP"] == 1
    evaluation.save(tmp_path / "out")
    assert len(Evaluation.load(tmp_path / "out")) == 1


def test_what_cannot_be_evaluated() -> None:
    q, labels = sample()
    for unlabelled in (q, q.tolist(), [q], "scores.npz", 3):
        with pytest.raises(ParameterError, match=r"need labels.*open_scores"):
            evaluate(H, unlabelled)
    with pytest.raises(ScoreError, match=r"60 examples and 1 label\."):
        evaluate(H, q, "cod")
    with pytest.raises(ScoreError, match="one column per node"):
        evaluate(H, 0.5, "cod")
    with pytest.raises(ScoreError, match="60 examples and 59 labels"):
        evaluate(H, q, labels[1:])
    with pytest.raises(ScoreError, match="no examples"):
        evaluate(H, [])
    with pytest.raises(ScoreError, match="An evaluation needs labels"):
        evaluate(H, [Block.of(0, Likelihoods.of(H, q))])
    with pytest.raises(ParameterError, match="replicates"):
        evaluate(H, q, labels, replicates=-1)


def test_a_file_belongs_to_its_tree(tmp_path: Path) -> None:
    path = save_npz(tmp_path / "s.npz", probabilities=probabilities(3), labels=["cod"] * 3)
    other = hr.Hierarchy.from_edges([("root", name) for name in LEAVES])
    with pytest.raises(ParameterError, match="another tree"):
        evaluate(other, open_scores(path, H))


# Columns in the wrong order ----------------------------------------------------------------------------------


def confident(rows: int, classes: int, shuffled: bool) -> tuple[hr.Hierarchy, NDArray[Any], NDArray[np.int64]]:
    h = hr.Hierarchy.from_edges([("root", f"c{i}") for i in range(classes)])
    labels = np.random.default_rng(0).choice(h.leaves, size=rows)
    p = np.full((rows, classes), 0.1 / (classes - 1))
    p[np.arange(rows), labels - 1] = 0.9
    if shuffled:
        p = p[:, np.roll(np.arange(classes), 1)]
    return h, np.asarray(hr.likelihood.from_leaves(h, p)), labels


def test_confident_scores_at_chance_level_are_doubted() -> None:
    (warning,) = evaluate(*confident(500, 20, shuffled=True)).warnings
    assert "Are the columns in the order you think?" in warning
    assert "90.0 %" in warning
    assert evaluate(*confident(500, 20, shuffled=False)).warnings == ()


def test_what_is_no_reason_for_doubt() -> None:
    h, q, labels = confident(500, 20, shuffled=True)
    flat = np.asarray(hr.likelihood.from_leaves(h, np.full((500, 20), 0.05)))
    assert evaluate(h, flat, labels).warnings == ()  # unsure, and no better than chance: honest
    assert evaluate(h, q[:10], labels[:10]).warnings == ()  # too few to tell
    always = np.where(np.arange(500) < 450, 1, 2)  # one answer for all, right as often as its class is common
    constant = np.asarray(hr.likelihood.from_leaves(h, np.tile([0.95, *[0.05 / 19] * 19], (500, 1))))
    assert evaluate(h, constant, always).warnings == ()
    assert evaluate(h, q, np.zeros(500, dtype=int), below_label="wrong").warnings == ()  # nothing is a leaf


# Saving ------------------------------------------------------------------------------------------------------


def full_evaluation(seed: int = 0, **options: Any) -> Evaluation:
    q, labels = sample(30, seed)
    names = np.array([f"n{i}" for i in range(30)], dtype=object)
    texts = np.array([f"tëxt {'x' * i}" for i in range(30)], dtype=object)
    known = Examples.of(
        30, labels=H.nodes(labels), ids=names, groups=names[::-1], clusters=names, texts=texts, images=names
    )
    return evaluate(
        H,
        [Block(0, Likelihoods.of(H, q), known)],
        name="a model",
        **options,
    )


@pytest.mark.parametrize("information", ["leaves", "depth", [0, 1, 3, 3, 2, 4, 4]])
def test_a_folder_holds_everything(information: Any, tmp_path: Path) -> None:
    saved = full_evaluation(replicates=20, level=0.9, information=information, below_label="wrong")
    saved.save(tmp_path / "deep" / "out")
    found = sorted(path.name for path in (tmp_path / "deep" / "out").iterdir())
    assert found == ["evaluation.json", "examples.npz"]
    loaded = Evaluation.load(tmp_path / "deep" / "out")
    assert loaded.to_dict() == saved.to_dict()
    assert loaded.hierarchy == H
    np.testing.assert_array_equal(loaded.builder.compute().threshold, saved.curve.threshold)
    for key in KEPT:
        assert loaded.examples[key].tolist() == saved.examples[key].tolist()
    for rule in RULES:
        np.testing.assert_array_equal(loaded.predictions[rule], saved.predictions[rule])
        np.testing.assert_array_equal(loaded.confidence[rule], saved.confidence[rule])


def test_the_same_evaluation_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        full_evaluation(replicates=5).save(tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_examples_need_no_pickle(tmp_path: Path) -> None:
    evaluation = full_evaluation()
    evaluation.save(tmp_path)
    with np.load(tmp_path / "examples.npz", allow_pickle=False) as examples:
        assert json.loads(examples["ids"].tobytes()) == [f"n{i}" for i in range(30)]
        names = json.loads(examples["about"].tobytes())["tree"]["names"]
        assert [names[label] for label in examples["label"]] == H.names[evaluation.labels].tolist()
        assert examples["count"].sum() == len(examples["node"]) == len(examples["score"])


def test_saving_again_replaces(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    full_evaluation(0).save(tmp_path)
    full_evaluation(1).save(tmp_path)
    assert Evaluation.load(tmp_path).to_dict() == full_evaluation(1).to_dict()
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["examples.npz", "evaluation.json"])
def test_files_of_other_origin_are_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("[1]", encoding="utf-8")
    with pytest.raises(FileError, match=rf"{name} would be overwritten.* its own folder, or delete the file"):
        full_evaluation().save(tmp_path)
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [(name, "[1]")]


@pytest.mark.parametrize("name", ["evaluation.json", "examples.npz"])
def test_files_of_two_evaluations_are_not_mixed(name: str, tmp_path: Path) -> None:
    full_evaluation(0).save(tmp_path / "a")
    full_evaluation(1, information="depth").save(tmp_path / "b")
    (tmp_path / "b" / name).replace(tmp_path / "a" / name)
    with pytest.raises(FileError, match=r"examples\.npz and evaluation\.json do not belong together"):
        Evaluation.load(tmp_path / "a")


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "{}", '{"files": 3}', '{"files": {}}', "[" * 100_000])
def test_figures_that_are_none(content: str, tmp_path: Path) -> None:
    full_evaluation().save(tmp_path)
    (tmp_path / "evaluation.json").write_text(content)
    with pytest.raises(FileError, match=r"evaluation\.json"):
        Evaluation.load(tmp_path)


def test_the_examples_are_the_evaluation(tmp_path: Path) -> None:
    saved = full_evaluation(replicates=5)
    saved.save(tmp_path)
    (tmp_path / "evaluation.json").unlink()
    assert Evaluation.load(tmp_path).to_dict() == saved.to_dict()


def test_names_from_a_file_do_not_command_the_terminal(tmp_path: Path) -> None:
    changed = replace(full_evaluation(), name="a\x1b[2Jb", warnings=("c\rd",))
    changed.save(tmp_path)
    loaded = Evaluation.load(tmp_path)
    assert (loaded.name, loaded.warnings) == ("a?[2Jb", ("c?d",))


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_evaluation(0).save(tmp_path / "out")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted((path.name, path.read_bytes()) for path in (tmp_path / "out").iterdir())
    for failing in ("write_archive", "write"):
        with monkeypatch.context() as patched:
            patched.setattr(Document, failing, full)
            for place in ("out", "new"):
                with pytest.raises(FileError, match="No space left"):
                    full_evaluation(1).save(tmp_path / place)
    assert sorted((path.name, path.read_bytes()) for path in (tmp_path / "out").iterdir()) == before
    assert list((tmp_path / "new").iterdir()) == []
    with pytest.raises(FileError, match="cannot be encoded as UTF-8"):
        replace(full_evaluation(1), name="a\udcff").save(tmp_path / "out")
    assert sorted((path.name, path.read_bytes()) for path in (tmp_path / "out").iterdir()) == before


def test_folders_that_are_not_evaluations(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none does not exist.*hedgerow evaluate"):
        Evaluation.load(tmp_path / "none")
    with pytest.raises(FileError, match=r"contains no examples.npz"):
        Evaluation.load(tmp_path)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(FileError, match="is a file"):
        full_evaluation().save(file)
    full_evaluation().save(tmp_path)
    junk: list[bytes] = [b"PK", b"", b"junk", b"\x93NUMPY", pickle.dumps([1])]
    for content in junk:
        (tmp_path / "examples.npz").write_bytes(content)
        with pytest.raises(
            FileError,
            match=r"examples\.npz and evaluation\.json do not belong together: one of them was replaced",
        ):
            Evaluation.load(tmp_path)
    (tmp_path / "evaluation.json").unlink()
    for content in junk:
        (tmp_path / "examples.npz").write_bytes(content)
        with pytest.raises(FileError, match=r"examples\.npz cannot be read as \.npz") as caught:
            Evaluation.load(tmp_path)
        assert "pickle" not in str(caught.value)
    np.savez(tmp_path / "examples.npz", label=np.array([None]))
    with pytest.raises(FileError, match=r"examples\.npz: 'label' is an array of Python objects, which is never"):
        Evaluation.load(tmp_path)


# Comparing ---------------------------------------------------------------------------------------------------


def test_a_real_difference_is_told_from_none() -> None:
    found = compare(model(LABELS, 1), model(LABELS, 3), model(LABELS, 1, seed=5), replicates=200)
    assert found.reasons == (None, None, None)
    assert found.differences[0] == {}
    assert found.verdict(1, "AP") == "better"
    assert found.verdict(1, "AURC") == "better"
    assert found.verdict(2, "AP") == "unclear"
    assert found.verdict(0, "AP") is None
    gain = found.evaluations[1].summary()["AP"] - found.evaluations[0].summary()["AP"]
    assert found.differences[1]["AP"].value == pytest.approx(gain)
    assert set(FIGURES) <= found.differences[1].keys()
    backwards = compare(*found.evaluations, reference="best", replicates=50)
    assert backwards.reference == 1
    assert backwards.verdict(0, "AP") == "worse"
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_system_does_not_differ_from_itself() -> None:
    one = model(LABELS, 1)
    found = compare(one, one, replicates=20)
    assert {found.verdict(1, name) for name in one.summary()} == {"unclear"}


def test_examples_are_matched_by_their_ids() -> None:
    ids = [f"e{i}" for i in range(300)]
    order = np.random.default_rng(3).permutation(300)
    base, other = model(LABELS, 1, ids), model(LABELS, 2, ids, seed=1)
    shuffled = evaluate(H, *_rows(LABELS, 2, seed=1, order=order), ids=[ids[i] for i in order])
    straight, matched = (compare(base, e, replicates=30) for e in (other, shuffled))
    assert matched.reasons == (None, None)
    for name, difference in straight.differences[1].items():
        assert matched.differences[1][name].low == pytest.approx(difference.low, abs=1e-12)


def _rows(labels: NDArray[np.int64], strength: float, seed: int, order: NDArray[np.int64]) -> tuple[Any, Any]:
    theta = np.random.default_rng(seed).normal(size=(len(labels), 4))
    theta[np.arange(len(labels)), np.searchsorted(H.leaves, labels)] += strength
    return np.asarray(hr.likelihood.flat_softmax(H, theta))[order], labels[order]


def test_the_same_tree_in_another_order_of_nodes() -> None:
    turned = hr.Hierarchy.from_edges(
        [
            ("animal", "fish"),
            ("animal", "bird"),
            ("fish", "eel"),
            ("fish", "cod"),
            ("bird", "robin"),
            ("bird", "wren"),
        ]
    )
    q, labels = sample(50)
    here = evaluate(H, q, labels)
    there = evaluate(turned, q[:, H.indices(turned.names)], H.names[labels])
    found = compare(here, there, replicates=20)
    assert found.reasons == (None, None)
    assert found.differences[1]["AP"].value == pytest.approx(0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": LABELS[:200]}, "200 examples, not 300"),
        ({"labels": LABELS[::-1].copy()}, r"labels differ; for row \d+ .* give the examples ids"),
        ({"below_label": "wrong"}, r"other settings: below_label \('wrong' and 'label'\)"),
        ({"information": [0, 1, 3, 3, 1, 3, 3]}, "measure of information"),
    ],
)
def test_why_systems_cannot_be_compared(change: dict[str, Any], said: str) -> None:
    settings: dict[str, Any] = {"labels": LABELS, "strength": 2, **change}
    other = model(**settings)
    found = compare(model(LABELS, 1), other, replicates=20)
    assert found.differences[1] == {}
    reason = found.reasons[1]
    assert reason is not None
    with pytest.raises(ValueError, match=said):
        raise ValueError(reason)


def test_ids_and_trees_that_differ() -> None:
    ids = [f"e{i}" for i in range(300)]
    base = model(LABELS, 1, ids)
    other = model(LABELS, 1, ["x", *ids[1:]])
    reason = compare(base, other, replicates=0).reasons[1]
    assert reason is not None
    assert "'e0' is not among them" in reason
    flat = hr.Hierarchy.from_edges([("root", name) for name in LEAVES])
    elsewhere = evaluate(flat, np.full((300, 5), 0.5), H.names[LABELS])
    assert compare(base, elsewhere, replicates=0).reasons[1] == "it was evaluated with another tree."
    with pytest.raises(ParameterError, match="at least two evaluations"):
        compare(base)


def test_folders_and_score_files_are_read_alike(tmp_path: Path) -> None:
    path = save_npz(tmp_path / "s.npz", probabilities=probabilities(30), labels=["cod"] * 30)
    fresh = read_or_evaluate(path, H)
    assert fresh.name == "s"
    fresh.save(tmp_path / "out")
    assert read_or_evaluate(tmp_path / "out", None).to_dict() == fresh.to_dict() | {"name": "out"}
    same = compare(fresh, fresh, model(LABELS, 1), replicates=0)
    assert [e.name for e in same.evaluations] == ["s (1)", "s (2)", "strength 1"]
    with pytest.raises(ParameterError, match="give tree="):
        read_or_evaluate(path, None)
    flat = hr.Hierarchy.from_edges([("root", name) for name in LEAVES])
    with pytest.raises(ParameterError, match="another tree"):
        read_or_evaluate(tmp_path / "out", flat)
    with pytest.raises(ParameterError, match="evaluated with information='leaves', not with information='custom'"):
        read_or_evaluate(tmp_path / "out", None, information=2 * H.information())
    read_or_evaluate(tmp_path / "out", None, information=H.information(), below_label="label")
    with pytest.raises(FileError, match="gone"):
        read_or_evaluate(tmp_path / "gone", None)


def test_rules_by_threshold_or_name() -> None:
    q, _ = sample()
    block = Block.of(0, Likelihoods.of(H, q))
    np.testing.assert_array_equal(answering_rule(0.3, None)(block), infer.threshold(H, q, 0.3))
    np.testing.assert_array_equal(answering_rule(None, "leaf")(block), infer.leaf(H, q))
    for tau, rule, said in (
        (None, None, "either"),
        (0.5, "leaf", "either"),
        (1.5, None, "between"),
        (None, "x", "'x'"),
    ):
        with pytest.raises(ParameterError, match=said):
            answering_rule(tau, rule)


def test_representation() -> None:
    evaluation = replace(evaluate(H, *sample()), name="mine")
    assert repr(evaluation).startswith("Evaluation('mine', 60 examples, AP 0.")


# Real data ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not CLINC.is_dir(), reason="the CLINC150 features are not beside this checkout")
def test_nearest_centroids_on_real_intents(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges(CLINC / "hierarchy.csv")
    with np.load(CLINC / "clinc150_pca128.npz", allow_pickle=False) as data:
        x, intent, split = data["X"].astype(np.float32), data["intent"], data["split"]
        names = data["intent_names"].astype(str)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    centroids = np.stack([x[(split == 0) & (intent == k)].mean(axis=0) for k in range(len(names))])
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    test = split == 2
    np.savez_compressed(
        tmp_path / "s.npz", classes=names, logits=20 * x[test] @ centroids.T, labels=names[intent[test]]
    )
    file = open_scores(tmp_path / "s.npz", h, block_rows=700)
    evaluation = evaluate(h, file, replicates=50)
    assert evaluation.summary()["leaf_exact"] == pytest.approx(0.909, abs=0.001)  # as its README states
    assert evaluation.summary()["AP"] > evaluation.summary()["leaf_exact"]
    assert evaluation.intervals["AP"].low < evaluation.summary()["AP"] < evaluation.intervals["AP"].high
    assert evaluation.warnings == ()


@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_json_is_valid_on_every_scale(scale: Any) -> None:
    q, labels = sample()
    with np.errstate(divide="ignore"):
        scores = {"probability": q, "log": np.log(q), "logit": np.log(q) - np.log1p(-q)}[scale]
    right = infer.leaf(H, q)  # answers are right at every threshold, so that the best one is the lowest
    said = json.loads(json.dumps(evaluate(H, scores, right, scale=scale).to_dict(), allow_nan=False))
    assert said["points"]["R@95C"]["tau"] == 0
    assert said["points"]["R@95C"]["threshold"] == (0 if scale == "probability" else None)
    assert said["summary"]["leaf_exact"] == 1
    assert len(labels) == said["examples"]


def test_batches_on_different_scales_are_refused() -> None:
    q, labels = sample()
    builder = hr.EvaluationBuilder(H)
    builder.update(Likelihoods.of(H, q, "logit"), labels)
    with pytest.raises(ParameterError, match="scale"):
        builder.update(q, labels)
    assert len(builder.compute()) == len(labels)
    with pytest.raises(ParameterError, match="scale must be"):
        hr.EvaluationBuilder(H, scale="odds")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="needs the rule 'leaf'"):
        hr.EvaluationBuilder(H, rules={})


def test_what_is_known_of_examples_is_checked_and_survives_empty_batches() -> None:
    q, labels = sample()
    names = np.array([str(i) for i in range(len(q))], dtype=object)
    builder = hr.EvaluationBuilder(H)
    with pytest.raises(ScoreError, match="ids needs one entry per example"):
        builder.update(q, labels, ids=names[1:])
    builder.update(q, labels, ids=names)
    builder.update(q[:0], labels[:0])
    found = builder.compute()
    assert found.examples.ids is not None
    assert found.examples.ids.tolist() == names.tolist()


def test_parts_of_an_evaluation() -> None:
    q, labels = sample()
    whole, mask = evaluate(H, q, labels), np.arange(len(q)) % 3 == 0
    assert whole.subset(mask).summary() == evaluate(H, q[mask], labels[mask]).summary()
    for bad in (np.arange(len(q)), mask[1:], mask.astype(int)):
        with pytest.raises(ScoreError, match="one True or False per example"):
            whole.subset(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", ["log", "logit"])
def test_the_threshold_of_a_point_as_a_probability_gives_that_point(scale: Any) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        q = hr.likelihood.from_leaves(H, rng.dirichlet(np.ones(len(H.leaves)), 40))
        values = np.log(q) if scale == "log" else special.logit(q)
        found = evaluate(H, values, rng.choice(H.leaves, 40), scale=scale)
        for point in found.to_dict()["points"].values():
            if point is not None and point["tau"] is not None:
                assert found.at_probability(point["tau"])["correct"] == point["correct"]


def test_a_threshold_above_every_probability_has_none() -> None:
    logs = [[3.0, 2.5, 2.0, -1.0, 0.3]] * 3  # not normalised, as they need not be
    tree = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    found = evaluate(tree, logs, ["dog"] * 3, scale="log").to_dict()["points"]["R@95C"]
    assert (found["threshold"], found["tau"], found["correct"]) == (2.0, None, 1.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_kill_at_any_operation_leaves_one_of_two_evaluations(tmp_path: Path) -> None:
    old, new = full_evaluation(0), full_evaluation(1)
    old.save(tmp_path)
    step = 0
    while killed_at(step, lambda: new.save(tmp_path)):
        assert Evaluation.load(tmp_path).to_dict() in (old.to_dict(), new.to_dict())
        old.save(tmp_path)
        assert Evaluation.load(tmp_path).to_dict() == old.to_dict()
        step += 1
    assert step > 10
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(saved.MEMBERS)


def test_labels_at_the_root_are_pointed_out_unless_answers_below_them_are_wrong() -> None:
    q = np.tile([1.0, 0.6, 0.4], (3, 1))
    tree = hr.Hierarchy.from_edges([("root", "a"), ("root", "b")])
    found = hr.evaluate(tree, q, ["root", "a", "root"])
    (said,) = (warning for warning in found.warnings if "root as label" in warning)
    assert said == (
        "2 examples have the root as label, and any answer is right there. "
        "To count answers below it as wrong, use below_label='wrong'."
    )
    assert not any("root as label" in w for w in hr.evaluate(tree, q, ["a", "a", "b"]).warnings)
    wrong = hr.evaluate(tree, q, ["root", "a", "root"], below_label="wrong")
    assert not any("root as label" in w for w in wrong.warnings)
