"""The scores that a run keeps: all, compact ones, or none."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow import likelihood, methods
from hedgerow.cli import app
from hedgerow.errors import HedgerowError, ScoreError
from hedgerow.files import read_arrays, write_arrays
from hedgerow.learn.data import LabelledInputs
from hedgerow.learn.training.run import train
from hedgerow.learn.training.scores import open_test_scores, resolved, write_test_scores
from hedgerow.likelihood import Likelihoods
from hedgerow.score_files import Block
from tests.learn.training.toy import TREE, examples, recipe, splits
from tests.strategies import QUICK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hedgerow.learn.training.run_folder import RunFolder


def trained(folder: Path, kept: str, *changes: str) -> RunFolder:
    chosen = recipe("optimiser.epochs=2", f"run.scores={kept}", *changes)
    return train(chosen, folder / kept, progress=False, splits=splits())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    folder = tmp_path_factory.mktemp("runs")
    np.savez(folder / "new.npz", features=np.asarray(examples("test").inputs))
    return {kept: trained(folder, kept) for kept in ("all", "compact", "none")}


def hedgerow(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def evaluated(run: RunFolder, *arguments: str) -> dict[str, Any]:
    file = run.path.parent / "figures.json"
    hedgerow("evaluate", str(run.path), *arguments, "--json", str(file))
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_figures_are_the_same_to_the_last_digit(runs: dict[str, RunFolder]) -> None:
    assert runs["compact"].metrics() == runs["none"].metrics() == runs["all"].metrics()
    whole, compact = (evaluated(runs[kept], "--bootstrap", "20") for kept in ("all", "compact"))
    assert compact["summary"] == whole["summary"] == runs["all"].metrics()["test"]
    assert compact["intervals"] == whole["intervals"]
    assert compact["points"] == whole["points"]
    for what in ("rules", "answered", "macro", "ranks"):
        assert compact[what] == {name: figures for name, figures in whole[what].items() if name != "plurality"}
    assert "plurality" not in compact["rules"]
    assert "run.scores=all" in compact["warnings"][0]


@pytest.mark.parametrize("method", ["multilabel-focal", "deep-rtc"])  # independent sigmoids; logits
def test_so_are_those_of_other_methods(method: str, tmp_path: Path) -> None:
    run = trained(tmp_path, "compact", f"method.name={method}")
    assert evaluated(run)["summary"] == run.metrics()["test"]
    assert trained(tmp_path, "all", f"method.name={method}").metrics() == run.metrics()


def test_points_and_answers_are_the_same(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for kept in ("all", "compact"):
        point, answers, climbed = (tmp_path / f"{kept}{end}" for end in (".json", ".csv", "-climbed.csv"))
        hedgerow("select", str(runs[kept].path), "--target", "correct=0.8", "-o", str(point))
        hedgerow("predict", str(runs[kept].path), "--point", str(point), "-o", str(answers))
        climb = ["--tau", "0.6", "--rule", "climbing"]
        hedgerow("predict", str(runs[kept].path), *climb, "-o", str(climbed))
        found[kept] = [
            pd.read_csv(answers),
            pd.read_csv(climbed),
            replace(hr.OperatingPoint.load(point), created=""),
        ]
    assert found["all"][2].to_dict() == found["compact"][2].to_dict()
    for whole, compact in zip(found["all"][:2], found["compact"][:2], strict=True):
        pd.testing.assert_frame_equal(whole, compact, rtol=1e-6)  # confidence is written in single precision


def test_reports_and_comparisons_read_them(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    both = [str(runs[kept].path) for kept in ("compact", "all")]
    hedgerow("report", *both, "-o", str(tmp_path / "page.html"))
    hedgerow("compare", *both)


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "--temperature", "2"),
        ("evaluate", "--information", "depth"),
        ("evaluate", "--single-child", "answer"),
        ("evaluate", "--reliability", "r.png"),
        ("predict", "--rule", "plurality", "-o", "answers.csv"),
        ("select", "--per-rank", "1=0.8", "-o", "point.json"),
    ],
    ids=" ".join,
)
def test_what_they_cannot_answer_is_said(
    arguments: tuple[str, ...], runs: dict[str, RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verb, *rest = arguments
    with pytest.raises(ScoreError, match=r"compact.*--data PATH.*--set run.scores=all"):
        hedgerow(verb, str(runs["compact"].path), *rest)
    assert not list(tmp_path.iterdir())


def test_the_file_alone_is_answered_with_the_folder(runs: dict[str, RunFolder]) -> None:
    with pytest.raises(HedgerowError, match="give the folder of the run"):
        hr.open_scores(runs["compact"].scores, TREE)


def test_without_scores_data_is_needed(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    run = runs["none"]
    assert not run.scores.exists()
    with pytest.raises(HedgerowError, match=r"run.scores=none. Score data with --data PATH"):
        hedgerow("evaluate", str(run.path))
    answers = tmp_path / "answers.csv"
    hedgerow(
        "predict", str(run.path), "--data", str(run.path.parent / "new.npz"), "--tau", "0.5", "-o", str(answers)
    )
    assert len(answers.read_text().splitlines()) == 1 + len(examples("test"))


def test_large_scores_are_compact_unless_said_otherwise() -> None:
    assert resolved("auto", 100 << 20) == resolved("all", 1 << 40) == "all"
    assert resolved("auto", (100 << 20) + 1) == resolved("compact", 1) == "compact"
    assert resolved("none", 1) == "none"


def test_whole_scores_need_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.learn.training.run._score_bytes", lambda _: 1 << 60)
    with pytest.raises(HedgerowError, match="for its checkpoints and scores"):
        trained(tmp_path, "all")
    assert trained(tmp_path, "auto").scores.stat().st_size < 100_000


def test_neither_memory_nor_disk_grow_with_the_tree(tmp_path: Path) -> None:
    tree = hr.Hierarchy.from_edges(
        [("life", f"g{i}") for i in range(100)] + [(f"g{i}", f"s{i}-{j}") for i in range(100) for j in range(30)]
    )
    method, rng, rows, number = methods.create("flat-softmax", tree), np.random.default_rng(0), 128, 16

    def blocks() -> Iterator[Block]:
        for i in range(number):
            p = rng.dirichlet(np.full(3000, 0.01), size=rows)
            q = likelihood.from_leaves(tree, p).astype(np.float32)
            with np.errstate(divide="ignore"):
                yield Block.of(i * rows, Likelihoods.of(tree, np.log(q), "log"))

    given_labels = LabelledInputs(np.zeros((rows * number, 1)), rng.choice(tree.leaves, rows * number))
    tracemalloc.start()
    write_test_scores(tmp_path / "scores.npz", method, given_labels, blocks(), compact=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    dense = 4 * rows * number * len(tree)
    assert peak < dense  # the blocks together; one takes a few copies
    assert (tmp_path / "scores.npz").stat().st_size < dense / 50
    read = list(open_test_scores(tmp_path / "scores.npz", tree))
    assert sum(map(len, read)) == rows * number


@QUICK
@given(data=st.data())
def test_damaged_files_are_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "scores.npz"
    part = examples("test").subset(np.arange(5))
    q = Likelihoods.of(TREE, likelihood.from_leaves(TREE, np.full((5, len(TREE.leaves)), 1 / len(TREE.leaves))))
    write_test_scores(path, methods.create("flat-softmax", TREE), part, [Block.of(0, q)], compact=True)
    arrays = read_arrays(path)
    assert len(next(iter(open_test_scores(path, TREE)))) == 5
    name = data.draw(st.sampled_from(sorted(arrays)))
    worse = [np.array(-1), np.array(["?"]), np.zeros((5, 1), np.int32), np.full(7, 1 << 40), np.array([np.nan])]
    write_arrays(path, arrays | {name: data.draw(st.sampled_from(worse))})
    with pytest.raises(HedgerowError, match=r"scores\.npz"):
        list(open_test_scores(path, TREE))
