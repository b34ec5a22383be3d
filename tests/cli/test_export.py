"""`hedgerow export`: what it writes and refuses, and a further exporter that the command has not heard of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hedgerow as hr
from hedgerow.export import EXPORTERS
from hedgerow.export.exporters import Exporter
from tests.choose.test_point import KINDS
from tests.cli.test_evaluate import hedgerow

if TYPE_CHECKING:
    from os import PathLike


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS["correct"]().save("point.json")
    KINDS["clades"]().save("clades.json")
    Path("run").mkdir()
    Path("run/recipe.toml").touch()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("point.json -o model.txt", "There is no export format '.txt'. There are .onnx, folder."),
        ("point.json -o app --logits", "--logits does not apply to app: leave it out."),
        ("point.json -o app --double", "--double does not apply to app: leave it out."),
        ("point.json -o a.onnx --logits --nodes", "leave out --logits."),
        ("point.json -o a.onnx --point point.json", "point.json is no training run: leave out --point"),
        ("point.json -o a.onnx --trust a:b", "leave out --trust"),
        ("run -o a.onnx", "run is a training run: give the point too"),
        ("run --point point.json -o app", "app: a training run is written to an .onnx file."),
        ("run --point point.json -o a.onnx --nodes", "--nodes does not apply to run: leave it out."),
        ("clades.json -o a.onnx", "use hedgerow.js (hedgerow export POINT -o app/) or Python."),
        ("none.json -o a.onnx", "none.json"),
    ],
)
def test_what_is_refused(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    _, refused = hedgerow(capsys, "export", *arguments.split(), status=2)
    assert said in refused
    assert not Path("app").exists()
    assert not Path("a.onnx").exists()


@pytest.mark.parametrize(
    ("flags", "name", "kind"),
    [
        ("", "probabilities", "tensor(float)"),
        ("--double", "probabilities", "tensor(double)"),
        ("--logits", "logits", "tensor(float)"),
        ("--nodes", "likelihoods", "tensor(float)"),
    ],
)
def test_the_options_of_onnx(flags: str, name: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    said, done = hedgerow(capsys, "export", "point.json", "-o", "tail.ONNX", *flags.split())
    assert "Right at least 90 % of the time" in said
    assert "tail.ONNX holds a model" in done
    (given,) = onnxruntime.InferenceSession("tail.ONNX").get_inputs()
    assert (given.name, given.type) == (name, kind)


@pytest.mark.parametrize("point", ["point.json", "clades.json"])
def test_a_folder(point: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = hedgerow(capsys, "export", point, "-o", "app/")
    assert "app holds hedgerow.js" in said
    assert sorted(path.name for path in Path("app").iterdir()) == ["hedgerow.js", "index.html", "point.json"]


def test_a_further_exporter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def write(point: hr.OperatingPoint, path: PathLike[str]) -> None:
        Path(path).write_text(f"{point.threshold}\n")

    monkeypatch.setitem(EXPORTERS, ".txt", Exporter("the threshold", write))
    _, said = hedgerow(capsys, "export", "point.json", "-o", "tau.txt")
    assert said == "tau.txt holds the threshold.\n"
    assert float(Path("tau.txt").read_text()) == hr.OperatingPoint.load("point.json").threshold
