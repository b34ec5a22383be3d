"""Run folders from elsewhere: nothing that they name is imported, nothing that they say is believed."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from hedgerow.cli import app
from hedgerow.errors import FileError, HedgerowError
from hedgerow.learn.training.new_data import run_scores
from hedgerow.learn.training.run import train
from hedgerow.learn.training.run_folder import AtomicCheckpoints, RunFolder
from tests.learn.training.test_command import run as command
from tests.learn.training.toy import TREE, recipe, splits

if TYPE_CHECKING:
    from pathlib import Path


class Own(nn.Module):
    """A model that is not part of the package."""

    def __init__(self, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.out_features = input_shape[0]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs


OWN = f"{__name__}:Own"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "run"
    changes = ("model.name=mlp", "model.hidden=[5]", "optimiser.epochs=1")
    train(recipe(*changes), folder, progress=False, splits=splits())
    np.savez(folder.parent / "new.npz", features=np.asarray(splits().test.inputs))
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy to be damaged, without digests unless a test writes them."""
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "digests.json").unlink()
    shutil.copy(trained.parent / "new.npz", tmp_path)
    return tmp_path / "run"


def rewrite_weights(run: Path, change: Any = lambda _: None, **metadata: str) -> None:
    path = run / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = file.metadata()
    change(weights)
    save_file(weights, path, about | metadata)


def rewrite_recipe(run: Path, **sections: str) -> None:
    text = (run / "recipe.toml").read_text(encoding="utf-8")
    for section, body in sections.items():
        text = re.sub(rf"\[{section}\]\n.*?\n\n", f"[{section}]\n{body}\n\n", text, flags=re.DOTALL)
    (run / "recipe.toml").write_text(text, encoding="utf-8")


def refused(run: Path, message: str = "run") -> None:
    with pytest.raises(HedgerowError, match=message) as caught:
        RunFolder(run).classifier()
    assert str(run) in str(caught.value)


def test_a_folder_cannot_run_commands(run: Path, tmp_path: Path) -> None:
    rewrite_recipe(run, model='name = "subprocess:run"')
    rewrite_weights(run, input_shape=json.dumps(["touch", str(tmp_path / "x")]))
    result = command.invoke(
        app,
        ["predict", str(run), "--data", str(tmp_path / "new.npz"), "--tau", "0.5", "-o", str(tmp_path / "a.csv")],
    )
    assert isinstance(result.exception, FileError)
    assert "--trust subprocess:run" in str(result.exception)
    assert not (tmp_path / "x").exists()
    refused(run, re.escape("trust=['subprocess:run']"))
    with pytest.raises(FileError, match=r"model\.safetensors cannot be read .*Expected `int`"):
        RunFolder(run, ["subprocess:run"]).classifier()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("section", ["model", "method"])
@pytest.mark.parametrize(
    "name", ["no_such_module_anywhere:x", "os:system", "hedgerow.methods.hxe:HXE", "a plugin:x"]
)
def test_nothing_that_is_named_is_imported(section: str, name: str, run: Path) -> None:
    rewrite_recipe(run, **{section: f'name = "{name}"'})
    refused(run, f"names the {section} '{name}', which is not part of hedgerow")


def test_methods_of_installed_packages_are_not_imported_either(run: Path) -> None:
    rewrite_recipe(run, method='name = "from-a-plugin"')
    refused(run, "names the method 'from-a-plugin'")


def test_what_the_user_names_is_trusted(tmp_path: Path) -> None:
    train(recipe(f"model.name={OWN}"), tmp_path / "run", progress=False, splits=splits())
    np.savez(tmp_path / "new.npz", features=np.asarray(splits().test.inputs))
    refused(tmp_path / "run", re.escape(f"trust=['{OWN}']"))
    for trust in (OWN, [OWN], ("x:y", OWN)):
        scores = run_scores(RunFolder(tmp_path / "run", trust), tmp_path / "new.npz", labels=False)
        assert len(scores.hierarchy) == len(TREE)
    options = [
        "--data",
        tmp_path / "new.npz",
        "--tau",
        0.5,
        "-o",
        tmp_path / "a.csv",
        "--trust",
        "x:y",
        "--trust",
        OWN,
    ]
    result = command.invoke(app, list(map(str, ["predict", tmp_path / "run", *options])))
    assert result.exit_code == 0, result.output
    result = command.invoke(app, list(map(str, ["evaluate", tmp_path / "run", "--trust", OWN])))
    assert result.exit_code == 0, "evaluating its own scores needs no model, and no trust"


@pytest.mark.parametrize(
    "shape",
    ["[]", "[0]", "[-1]", "[8.0]", '["8"]', "8", "[9]", "[1,2]", "[1,1,1,1]", "[134217728, 2, 2]", "{", "null"],
)
def test_shapes_of_inputs_are_checked(shape: str, run: Path) -> None:
    rewrite_weights(run, input_shape=shape)
    refused(run, "model.safetensors cannot be read as the weights|the weights are not those of its model")


@pytest.mark.parametrize(
    "model",
    [
        'name = "mlp"\nhidden = [1000000000]',
        'name = "mlp"\nhidden = [1000000000, 1000000000]',
        'name = "mlp"\nhidden = "wide"',
        'name = "mlp"\nhidden = [5.5]',
        'name = "mlp"\nhidden = [5]\ndropout = "none"',
        'name = "mlp"\nwidth = 5',
        f'name = "mlp"\nhidden = {[1] * 2000}',
        'name = "linear"',
        'name = "cnn"',
        'name = "cnn"\ngrid = 1000000000',
        "name = 5",
        "",
    ],
)
def test_a_model_that_its_weights_contradict_gets_no_memory(model: str, run: Path) -> None:
    rewrite_recipe(run, model=model)
    refused(run)


@pytest.mark.parametrize(
    "method",
    ['name = "hxe"\nalpha = "x"', 'name = "hxe"\nbeta = 1', 'name = "softmax-margin"\nmargin = 3', 'name = "hxe"'],
)
def test_methods_are_checked(method: str, run: Path) -> None:
    rewrite_recipe(run, method=method)
    if method == 'name = "hxe"':  # it has as many outputs as flat softmax
        RunFolder(run).classifier()
    else:
        refused(run)


def test_weights_are_checked(run: Path) -> None:
    weights = (run / "model.safetensors").read_bytes()

    def drop(found: dict[str, torch.Tensor]) -> None:
        found.pop("head.linear.weight")

    def reshape(found: dict[str, torch.Tensor]) -> None:
        found["head.linear.bias"] = torch.zeros(3)

    def poison(found: dict[str, torch.Tensor]) -> None:
        found["head.linear.bias"][1] = torch.nan

    for change, message in ((drop, "not those of its model"), (reshape, "size mismatch"), (poison, "not finite")):
        (run / "model.safetensors").write_bytes(weights)
        rewrite_weights(run, change)
        refused(run, message)
    for damaged in (weights[:-1], weights[:20], b"", b"\xff" * 100, weights[:8] + b"[" + weights[9:]):
        (run / "model.safetensors").write_bytes(damaged)
        refused(run, "model.safetensors cannot be read as the weights of a training run")
    (run / "model.safetensors").unlink()
    refused(run, "has no weights yet")


@pytest.mark.parametrize("name", ["recipe.toml", "tree.json", "model.safetensors", "scores.npz"])
def test_files_of_two_runs_are_not_mixed(name: str, run: Path, trained: Path) -> None:
    shutil.copy(trained / "digests.json", run)
    RunFolder(run).classifier()
    (run / name).write_bytes((run / name).read_bytes() + b"\n")
    refused(run, f"{name} is not the file that this run wrote")
    result = command.invoke(app, ["evaluate", str(run)])
    assert isinstance(result.exception, FileError)
    (run / name).unlink()
    with pytest.raises(HedgerowError, match=re.escape(name)):
        RunFolder(run).check_digests()
    for content in ("[]", "{}", '{"../x": 3}', "{"):
        (run / "digests.json").write_text(content, encoding="utf-8")
        refused(run, "digests.json cannot be read")


def test_a_file_can_be_changed_on_purpose(run: Path) -> None:
    RunFolder(run).classifier()  # without digests
    rewrite_recipe(run, model='name = "linear"')
    refused(run, "the weights are not those of its model")


@pytest.mark.parametrize("content", ["{", "[]", '{"val": 3}', '{"other": {}}', '{"val": {"AP": "x"}}', "\xff"])
def test_figures_are_checked(content: str, run: Path) -> None:
    (run / "metrics.json").write_text(content, encoding="latin-1")
    with pytest.raises(FileError, match=r"metrics\.json cannot be read .*resume"):
        RunFolder(run).metrics()


# Checkpoints -------------------------------------------------------------------------------------------------


class Malicious:
    def __reduce__(self) -> Any:
        return (print, ("run",))


def test_checkpoints_are_checked(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "checkpoints" / "last.ckpt"
    whole = path.read_bytes()
    good = AtomicCheckpoints().load_checkpoint(path)
    outside = {"M": {"dirpath": "/a", "kth_best_model_path": "/a/../b.ckpt"}}
    inside = {"M": {"dirpath": "/a", "kth_best_model_path": "/a/b.ckpt", "best_k_models": {"/a/b.ckpt": 1}}}
    bad: list[Any] = [
        Malicious(),
        [],
        {},
        good | {"epoch": "1"},
        good | {"state_dict": {"x": 3}},
        good | {"callbacks": []},
        good | {"callbacks": outside},
        good | {"callbacks": {"M": {"dirpath": "/a", "best_model_path": "/a/.."}}},
        good | {"callbacks": {"M": {"dirpath": "s3://a", "best_k_models": {"s3://b/c.ckpt": 1}}}},
    ]
    for content in bad:
        torch.save(content, path)
        with pytest.raises(FileError, match=r"last\.ckpt cannot be read as a checkpoint"):
            AtomicCheckpoints().load_checkpoint(path)
    for damaged in (b"", b"junk", whole[:100], whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"last\.ckpt cannot be read as a checkpoint"):
            AtomicCheckpoints().load_checkpoint(path)
    torch.save(good | {"callbacks": inside}, path)
    AtomicCheckpoints().load_checkpoint(path)
    assert not capsys.readouterr().out


def test_resuming_from_a_bad_checkpoint_names_it(run: Path) -> None:
    changes = ("model.name=mlp", "model.hidden=[5]", "optimiser.epochs=1")
    (run / "metrics.json").unlink()
    path = run / "checkpoints" / "last.ckpt"
    good = AtomicCheckpoints().load_checkpoint(path)
    wrong = {name: torch.zeros(1) for name in good["state_dict"]}
    bad: list[dict[str, Any]] = [
        good | {"state_dict": wrong},
        {key: value for key, value in good.items() if key != "loops"},
        good | {"loops": 3},
        good | {"optimizer_states": [3]},
    ]
    for content in bad:
        torch.save(content, path)
        with pytest.raises(FileError, match=r"last\.ckpt cannot be read as the checkpoint of this run"):
            train(recipe(*changes), run, resume=True, progress=False, splits=splits())
    path.write_bytes(b"junk")
    with pytest.raises(FileError, match=r"last\.ckpt cannot be read as a checkpoint"):
        train(recipe(*changes), run, resume=True, progress=False, splits=splits())


def test_data_without_rows(run: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz", features=np.zeros((0, 8)))
    with pytest.raises(FileError, match=r"none\.npz has no rows"):
        run_scores(RunFolder(run), tmp_path / "none.npz", labels=False)
