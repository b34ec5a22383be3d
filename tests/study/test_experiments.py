"""Every experiment against a naive computation of what it should train on and measure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from scipy import special

from hedgerow import Hierarchy, infer, likelihood, metrics, operating_curve
from hedgerow.errors import ParameterError
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.training.run import fit
from hedgerow.learn.training.scores import score_blocks
from hedgerow.study import EXPERIMENTS, levels, long_tail, mixed_granularity, out_of_scope, unseen
from hedgerow.study.cells import StudyPlan
from hedgerow.study.records import Records
from hedgerow.study.scoring import FROM_PS, LOGITS
from tests.study.small import recipe, run, splits

if TYPE_CHECKING:
    from pathlib import Path

CPU = torch.device("cpu")
UNEVEN = Hierarchy.from_json({"r": {"a": {"b": ["c", "d"], "e": ["f"]}, "g": ["h", "i", "j"], "k": {}}})


def theta_of(classifier: Any, examples: LabelledInputs) -> np.ndarray[Any, Any]:
    return np.concatenate([block.numpy() for block in score_blocks(classifier, examples, CPU)])


def result(record: dict[str, Any], **wanted: str) -> dict[str, Any]:
    found = [r for r in record["results"] if all(r[key] == value for key, value in wanted.items())]
    assert len(found) == 1
    chosen: dict[str, Any] = found[0]
    return chosen


def test_main_measures_what_the_library_measures_and_reads_ps_weights_twice(tmp_path: Path) -> None:
    plan = StudyPlan(recipe(), splits())
    (cell,) = plan.cells("main", "ps-softmax")
    run(tmp_path, chosen=["ps-softmax"])
    record = Records(tmp_path / "records").read(cell)
    assert record is not None
    h, test = splits().hierarchy, splits().test
    theta = theta_of(fit(cell.recipe, splits()), test)  # on a CPU the same weights
    for reading, link in (("ps-softmax", likelihood.ps_softmax), (FROM_PS, likelihood.deep_rtc)):
        found = result(record, reading=reading, way="plain", part="all")
        q = link(h, theta.astype(np.float64))
        curve = operating_curve(h, link(h, theta, scale="log"), test.labels, scale="log")
        for figure in ("AP", "AC", "AC_exact", "R@90C", "R@95C"):
            assert found["summary"][figure] == pytest.approx(curve.summary()[figure], abs=1e-6)
        leaf = infer.leaf(h, q)
        assert found["summary"]["leaf_F1"] == pytest.approx(metrics.f1(h, test.labels, leaf).mean(), abs=1e-6)
        majority = infer.majority(h, q)
        assert found["summary"]["majority_F1"] == pytest.approx(
            metrics.f1(h, test.labels, majority).mean(), abs=1e-6
        )
        crm = infer.risk_minimising(h, q, "edge distance", over="leaves")
        assert found["rules"]["crm"]["correct"] == pytest.approx(metrics.correct(h, test.labels, crm).mean())
        for i in range(0, len(LOGITS), 25):
            point = curve.at(special.log_expit(LOGITS[i]))
            assert found["curve"]["recall"][i] == pytest.approx(point["recall"], abs=1e-5)
        assert found["curve"]["correct"][0] == 1  # every answer the root
        assert found["curve"]["logit"][len(LOGITS) // 2] == 0
        assert np.all(np.diff(LOGITS) < 0)
    assert not any(r["reading"] == FROM_PS for r in _record(tmp_path, "flat-softmax")["results"])


def _record(tmp_path: Path, method: str) -> dict[str, Any]:
    run(tmp_path, chosen=[method])
    record = Records(tmp_path / "records").read(StudyPlan(recipe(), splits()).cells("main", method)[0])
    assert record is not None
    return record


def test_a_temperature_makes_held_out_labels_likelier(tmp_path: Path) -> None:
    for method in ("flat-softmax", "multilabel-focal"):
        record = _record(tmp_path, method)
        fitted = record["temperature"][method]
        assert fitted["after"] <= fitted["before"]
        assert result(record, way="tempered", reading=method)["summary"]["leaf_exact"] == pytest.approx(
            result(record, way="plain", reading=method)["summary"]["leaf_exact"]
        )


def classes_at(level: int) -> list[int]:
    """The nodes at that depth, and the leaves that end above it."""
    return [
        node
        for node, depth in enumerate(UNEVEN.depth)
        if depth == level or (depth < level and UNEVEN.is_leaf[node])
    ]


def test_classes_of_a_level() -> None:
    def names(level: int) -> set[str]:
        return set(UNEVEN.names[classes_at(level)])

    assert names(1) == {"a", "g", "k"}
    assert names(2) == {"b", "e", "h", "i", "j", "k"}
    assert names(3) == {"c", "d", "f", "h", "i", "j", "k"}


def uneven_splits() -> DataSplits:
    rng = np.random.default_rng(3)
    centre = rng.normal(size=(len(UNEVEN), 5))
    parts = []
    for number in (140, 40, 60):
        labels = rng.choice(np.append(UNEVEN.leaves, UNEVEN.index("b")), number)
        parts.append(LabelledInputs(centre[labels] + 0.7 * rng.normal(size=(number, 5)), labels))
    return DataSplits("uneven", UNEVEN, *parts)


def test_levels_against_a_naive_loop(tmp_path: Path) -> None:
    data = uneven_splits()
    plan = StudyPlan(recipe(), data)
    run(tmp_path, "levels", splits=data)
    for cell in levels.cells(plan):
        record = Records(tmp_path / "records").read(cell)
        assert record is not None
        cut = levels.at_level(data, cell.options["level"])
        theta = theta_of(fit(cell.recipe, cut), cut.test)
        leaf_probability = np.exp(theta) / np.exp(theta).sum(axis=1, keepdims=True)
        tree = cut.hierarchy
        for found in record["results"]:
            right = number = 0
            classes = classes_at(found["level"])
            for row, label in zip(leaf_probability, data.test.labels, strict=True):
                truth = [c for c in classes if UNEVEN.is_ancestor(c, label)]
                if not truth:
                    continue  # b, asked about its children
                mass = {
                    c: sum(
                        p
                        for p, leaf in zip(row, tree.leaves, strict=True)
                        if UNEVEN.is_ancestor(c, UNEVEN.index(tree.names[leaf]))
                    )
                    for c in classes
                }
                number += 1
                right += max(mass, key=lambda c: mass[c]) == truth[0]
            assert (found["examples"], found["accuracy"]) == (number, pytest.approx(right / number))
    depths = [len(json.loads(p.read_text())["results"]) for p in sorted((tmp_path / "records").iterdir())]
    assert sorted(depths) == [1, 2, 3]
    table = (tmp_path / "levels.md").read_text()
    assert "| i = 1 |" in table


def test_taking_nodes_out() -> None:
    data = uneven_splits()
    smaller, left = unseen.without(data, UNEVEN.indices(["f", "h", "b"]))
    assert smaller.hierarchy.names.tolist() == ["r", "g", "i", "j", "k"]  # a and e have nothing left below them
    assert set(UNEVEN.names[~left]) == {"a", "b", "c", "d", "e", "f", "h"}
    assert len(smaller.train) == sum(left[label] for label in data.train.labels)
    for old, new in zip(data.test.labels, smaller.test.labels, strict=True):
        expected = next(n for n in reversed(UNEVEN.names[UNEVEN.lineage(old)]) if n in smaller.hierarchy.names)
        assert smaller.hierarchy.names[new] == expected
    with pytest.raises(ParameterError, match="Nothing would be left"):
        unseen.without(data, np.array([0]))


def test_unseen_measures_seen_unseen_and_all(tmp_path: Path) -> None:
    report = run(tmp_path, "unseen", chosen=["flat-softmax"])
    (cell,) = unseen.cells(report.plan)
    record = Records(tmp_path / "records").read(cell)
    assert record is not None
    removed, kept = splits().hierarchy.split_leaves(0.5, seed=0)
    smaller, _ = unseen.without(splits(), removed)
    classifier = fit(cell.recipe, smaller)
    log_q = likelihood.flat_softmax(smaller.hierarchy, theta_of(classifier, smaller.test), scale="log")
    seen = np.isin(splits().test.labels, kept)
    for part, mask in (("all", seen | True), ("seen", seen), ("unseen", ~seen)):
        curve = operating_curve(smaller.hierarchy, log_q[mask], smaller.test.labels[mask], scale="log")
        found = result(record, part=part)
        assert found["examples"] == mask.sum()
        for figure in ("AP", "AC_exact"):
            assert found["summary"][figure] == pytest.approx(curve.summary()[figure], abs=1e-6)
    assert {"unseen_AP.md", "unseen_AC_exact.tex"} <= {path.name for path in tmp_path.iterdir()}


def test_a_long_tail_falls_as_one_over_rank() -> None:
    labels = np.repeat(np.arange(100), 50)
    chosen, ranked = long_tail.thinned(labels, 0.1, seed=1)
    number = np.bincount(labels[chosen], minlength=100)[ranked]
    assert np.all(number[:10] == 50)
    rank = np.arange(1, 101)
    assert np.all(np.abs(number - np.minimum(50, 500 / rank)) <= 1)
    assert number.min() >= 1
    assert sorted(ranked) == list(range(100))
    again, _ = long_tail.thinned(labels, 0.1, seed=1)
    assert np.array_equal(chosen, again)


def test_a_share_of_the_labels_becomes_ancestors() -> None:
    labels = np.repeat(UNEVEN.leaves, 400)
    coarse = mixed_granularity.coarsened(UNEVEN, labels, 0.5, seed=2)
    assert np.all(UNEVEN.is_ancestor(coarse, labels))
    assert np.all(coarse > 0)
    assert np.all(coarse[labels == UNEVEN.index("k")] == UNEVEN.index("k"))
    of_c = coarse[labels == UNEVEN.index("c")]
    shares = {name: float(np.mean(of_c == UNEVEN.index(name))) for name in ("a", "b", "c")}
    assert shares == {
        "a": pytest.approx(0.25, abs=0.08),
        "b": pytest.approx(0.25, abs=0.08),
        "c": pytest.approx(0.5, abs=0.08),
    }
    assert np.array_equal(mixed_granularity.coarsened(UNEVEN, labels, 0.0, seed=2), labels)


def test_out_of_scope_takes_groups_out_or_takes_labels_as_they_are(tmp_path: Path) -> None:
    report = run(tmp_path / "drawn", "out_of_scope", chosen=["flat-softmax"])
    (cell,) = out_of_scope.cells(report.plan)
    record = Records(tmp_path / "drawn" / "records").read(cell)
    assert record is not None
    h = splits().hierarchy
    (group,) = out_of_scope.groups(h, 0.2, seed=0)
    outside = h.is_ancestor(group, splits().test.labels)
    found = result(record, part="out of scope")
    assert found["examples"] == outside.sum()
    # Their label is the root, and an answer below it is wrong: right are those that stay there.
    smaller, _ = unseen.without(splits(), np.array([group]))
    q = likelihood.flat_softmax(smaller.hierarchy, theta_of(fit(cell.recipe, smaller), smaller.test))[outside]
    at_half = found["curve"]["correct"][len(LOGITS) // 2]
    assert at_half == pytest.approx(np.mean(infer.threshold(smaller.hierarchy, q, 0.5) == 0), abs=1e-5)

    below = max(tau for tau in special.expit(LOGITS) if tau <= 0.9)
    (table,) = report.findings["out_of_scope"].tables.values()
    assert f"nearest recorded threshold below τ: for τ = 0.9, {below:.5g}." in table.notes[-2]

    labels = splits().test.labels.copy()
    labels[:10] = 0
    given = DataSplits("given", h, splits().train, splits().val, splits().test.with_labels(labels))
    report = run(tmp_path / "given", "out_of_scope", chosen=["flat-softmax"], splits=given)
    record = Records(tmp_path / "given" / "records").read(out_of_scope.cells(report.plan)[0])
    assert record is not None
    assert result(record, part="out of scope")["examples"] == 10


def test_every_experiment_runs_and_writes_a_table(tmp_path: Path) -> None:
    report = run(tmp_path, "all", chosen=["softmax-margin"], draw=True)
    assert report.failures == []
    for name, found in report.findings.items():
        assert found.tables, name
        for table in found.tables.values():
            assert all(len(entry.values) == 1 for row in table.rows for entry in row.entries.values())
    assert list(report.findings) == [name for name in EXPERIMENTS if name != "tuning"]
