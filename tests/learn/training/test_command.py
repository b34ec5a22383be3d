"""The command: train, then evaluate and predict with what was trained."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.errors import FileError, ParameterError
from hedgerow.learn import data
from hedgerow.learn.training.module import TrainingModule
from tests.learn.training.toy import SIZES, TREE, examples, write_files

if TYPE_CHECKING:
    from collections.abc import Callable

run = CliRunner()


def invoke(*args: object) -> str:
    result = run.invoke(app, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_train_evaluate_predict(tmp_path: Path) -> None:
    recipe, folder = write_files(tmp_path, epochs=2), tmp_path / "run"
    said = invoke("train", recipe, "-o", folder, "--set", "method.name=ps-softmax", "--json", tmp_path / "m.json")
    assert "ps-softmax on features" in said
    assert said.startswith("tree: 16 nodes, 12 leaves, depth 2\n")
    lines = [line for line in said.splitlines() if line.startswith("epoch ")]
    assert [line.split(":")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all(re.fullmatch(r".*: loss [\d.]+, validation AP [\d.]+ %, \d+\.\d s", line) for line in lines)
    assert "hedgerow evaluate" in said
    trained = json.loads((tmp_path / "m.json").read_text())["test"]

    invoke("evaluate", folder, "--json", tmp_path / "e.json")
    evaluated = json.loads((tmp_path / "e.json").read_text())
    assert evaluated["examples"] == SIZES["test"]
    assert evaluated["summary"]["AP"] == pytest.approx(trained["AP"], abs=1e-6)

    with pytest.raises(ParameterError, match="its own tree"):
        invoke("evaluate", folder, "--tree", tmp_path / "tree.csv")
    assert "0.0" in invoke("compare", folder, folder, "--bootstrap", 10)

    part = examples("test")
    np.savez(
        tmp_path / "new.npz", features=np.asarray(part.inputs), labels=TREE.names[part.labels].astype(np.str_)
    )
    invoke("evaluate", folder, "--data", tmp_path / "new.npz", "--json", tmp_path / "new.json")
    again = json.loads((tmp_path / "new.json").read_text())
    assert again["summary"]["AP"] == pytest.approx(evaluated["summary"]["AP"])

    invoke("predict", folder, "--data", tmp_path / "features.npz", "--tau", 0.5, "-o", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        answers = list(csv.DictReader(file))
    assert answers[0]["id"] == "train-0"
    assert {answer["prediction"] for answer in answers} <= set(TREE.names)


def test_training_data_are_not_measured_as_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, epochs=1)
    invoke("train", "toy.toml", "--set", "data.path=features.npz", "-o", "run")
    shutil.copy("features.npz", "copy.npz")
    monkeypatch.chdir(Path("/"))
    point = ("--target", "correct=0.9", "-o", tmp_path / "point.json")
    for verb, more in (("evaluate", ()), ("select", point)):
        with pytest.raises(FileError, match="was trained on"):
            invoke(verb, tmp_path / "run", "--data", tmp_path / "features.npz", *more)
        with pytest.raises(FileError, match=f"holds {SIZES['train']} training examples"):
            invoke(verb, tmp_path / "run", "--data", tmp_path / "copy.npz", *more)
    other = tmp_path / "other"
    other.mkdir()
    part = examples("test")
    names, site = TREE.names[part.labels].astype(np.str_), np.repeat(["a", "b"], len(part) // 2)
    np.savez(other / "features.npz", features=np.asarray(part.inputs), labels=names, split=site)
    monkeypatch.chdir(other)  # where a file of the same name holds other examples
    invoke("evaluate", "../run", "--data", "features.npz")


def test_a_model_that_answers_with_the_root_only_is_told(tmp_path: Path) -> None:
    recipe = write_files(tmp_path, epochs=1)
    flat = ("--set", "method.name=flat-softmax")
    said = invoke("train", recipe, "-o", tmp_path / "slow", *flat, "--set", "optimiser.lr=1e-6")
    assert "majority_F1 0.0 %" in said
    assert "--set optimiser.lr=1e-05" in said
    assert "--set model.scale_inputs=true" in said
    learnt = ("--set", "optimiser.lr=0.1", "--set", "optimiser.epochs=5")
    assert "scale_inputs" not in invoke("train", recipe, "-o", tmp_path / "fast", *flat, *learnt)


def test_a_tree_that_was_made_from_the_labels_is_told(tmp_path: Path) -> None:
    write_files(tmp_path, epochs=1)
    given = ("--set", f"data.path={tmp_path / 'features.npz'}", "--set", "optimiser.epochs=1")
    said = invoke("train", "features-linear", *given, "-o", tmp_path / "run")
    first, *_ = said.splitlines()
    assert first == "tree: 16 nodes, 15 leaves, depth 1, made from the labels: give data.tree for a real one"


def test_resuming_by_the_command(tmp_path: Path) -> None:
    recipe, short, whole = write_files(tmp_path, epochs=3), tmp_path / "short", tmp_path / "whole"
    invoke("train", recipe, "-o", whole)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "hedgerow.learn.training.module.TrainingModule.on_validation_epoch_end", _after(2, interrupt)
        )
        result = run.invoke(app, ["train", str(recipe), "-o", str(short)])
    assert result.exit_code == 130
    kept = "Finished epochs are kept: run the same command with --resume to continue."
    assert f"Interrupted. {kept}" in result.output
    said = invoke("train", recipe, "-o", short, "--resume")
    assert [line.split(":")[0] for line in said.splitlines() if line.startswith("epoch ")] == [
        "epoch 2/3",
        "epoch 3/3",
    ]
    assert (short / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def _after(calls: int, act: Callable[..., None]) -> Callable[..., None]:
    """The end of an epoch as it is, but something else the last time."""
    as_it_is, done = TrainingModule.on_validation_epoch_end, []

    def end(self: TrainingModule) -> None:
        done.append(1)
        as_it_is(self) if len(done) < calls else act()

    return end


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "method.name=softmax",
            r"no method 'softmax'. There are flat-softmax, .*Did you mean 'ps-softmax', 'flat-softmax' or ",
        ),
        ("method.name=hex", r"Did you mean 'hxe'\?"),
        ("model.name=cn", r"no model 'cn'.*linear, mlp, cnn.*Did you mean 'cnn'"),
        ("data.name=glyph", r"no data set 'glyph'. There are glyphs, .*Did you mean 'glyphs'\?"),
    ],
)
def test_an_unknown_name_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, said: str
) -> None:
    monkeypatch.setitem(data.LOADERS, "glyphs", lambda: pytest.fail("the data was made first"))
    with pytest.raises(ParameterError, match=said):
        invoke("train", "glyphs-quick", "--set", change, "-o", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_show_prints_the_recipe_and_trains_nothing(tmp_path: Path) -> None:
    said = invoke("train", "glyphs", "--set", "optimiser.lr=0.5", "--show")
    assert "lr = 0.5" in said
    assert "# Initial learning rate." in said


def test_outputs_never_replace_inputs(tmp_path: Path) -> None:
    write_files(tmp_path, epochs=1)
    scores, tree = tmp_path / "scores.csv", tmp_path / "tree.csv"
    leaves = TREE.names[TREE.leaves].tolist()
    scores.write_text(
        ",".join([*leaves, "label"]) + "\n" + ",".join(["1"] + ["0"] * (len(leaves) - 1) + ["c00"]) + "\n"
    )
    before = scores.read_bytes(), tree.read_bytes()
    for args in (
        ("predict", scores, "--tree", tree, "--tau", 0.5, "-o", scores),
        ("predict", scores, "--tree", tree, "--tau", 0.5, "-o", tree),
        ("evaluate", scores, "--tree", tree, "--json", scores),
        ("doctor", tree, "--json", tree),
        ("compare", scores, scores, "--tree", tree, "--json", scores),
    ):
        with pytest.raises(FileError, match="would overwrite"):
            invoke(*args)
    assert (scores.read_bytes(), tree.read_bytes()) == before


def test_a_parameter_of_the_wrong_type_leaves_no_folder(tmp_path: Path) -> None:
    recipe, folder = write_files(tmp_path, epochs=1), tmp_path / "run"
    with pytest.raises(ParameterError, match="The method 'hxe': alpha must be a number, not 'x'"):
        invoke("train", recipe, "-o", folder, "--set", "method.name=hxe", "--set", "method.alpha=x")
    assert not folder.exists()


def test_mistakes(tmp_path: Path) -> None:
    write_files(tmp_path, epochs=1)
    with pytest.raises(ParameterError, match="--data is for training runs"):
        invoke("evaluate", tmp_path / "features.npz", "--data", tmp_path / "features.npz")
    with pytest.raises(ParameterError, match="--tree TREE"):
        invoke("evaluate", tmp_path / "features.npz")
    with pytest.raises(FileError, match="does not exist"):
        invoke("evaluate", tmp_path / "nope")
    unfinished = tmp_path / "run"
    unfinished.mkdir()
    (unfinished / "recipe.toml").write_text("")
    with pytest.raises(FileError, match="not finished: continue it with --resume"):
        invoke("evaluate", unfinished)
