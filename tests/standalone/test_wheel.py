"""The installed wheel alone: run by `make wheel` in an environment without the training half."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import pkgutil
import subprocess
import sys
import sysconfig
from importlib.resources import files
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import metrics

EDGES = [("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")]


def hedgerow(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sysconfig.get_path("scripts")) / "hedgerow"
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["torch", "matplotlib", "sklearn", "lightning"])
def test_the_training_half_is_absent(module: str) -> None:
    assert importlib.util.find_spec(module) is None


def test_the_package_is_the_installed_one() -> None:
    assert Path(hr.__file__).is_relative_to(sysconfig.get_path("purelib"))
    assert importlib.metadata.version("hedgerow") == hr.__version__


def test_types_are_shipped() -> None:
    assert files("hedgerow").joinpath("py.typed").is_file()


def test_modules_miss_nothing_but_the_training_half() -> None:
    missing = set()
    for module in pkgutil.iter_modules(hr.__path__):
        try:
            importlib.import_module(f"hedgerow.{module.name}")
        except ModuleNotFoundError as error:
            missing.add(error.name)
    assert missing <= {"torch", "matplotlib", "sklearn", "lightning", "torchmetrics", "safetensors", "PIL"}


def test_hierarchy_and_metrics() -> None:
    h = hr.Hierarchy.from_edges(EDGES)
    assert h.names[h.lca(h.index("robin"), h.index("wren"))] == "bird"
    assert metrics.correct(h, "robin", ["bird", "wren"]).tolist() == [1.0, 0.0]


def test_operating_curve() -> None:
    h = hr.Hierarchy.from_edges(EDGES)
    q = hr.likelihood.from_leaves(h, [[0.5, 0.4, 0.1]], classes=["robin", "wren", "fish"])
    curve = hr.operating_curve(h, q, ["wren"])
    assert [curve.at(tau)["correct"] for tau in (1.0, 0.6, 0.0)] == [1.0, 1.0, 0.0]


def test_help() -> None:
    shown = hedgerow("--help")
    assert shown.returncode == 0
    assert "doctor" in shown.stdout


def test_module_is_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "hedgerow", "--help"], capture_output=True, check=False)
    assert shown.returncode == 0


def test_doctor_explains_a_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("\n".join(f"{parent},{child}" for parent, child in EDGES), encoding="utf-8")
    shown = hedgerow("doctor", str(tree))
    assert shown.returncode == 0, shown.stderr
    assert "5 nodes" in shown.stdout


def test_doctor_refuses_a_cycle_without_a_traceback(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("a,b\nb,a\n", encoding="utf-8")
    shown = hedgerow("doctor", str(tree))
    assert shown.returncode == 1
    assert "Traceback" not in shown.stderr


def test_training_says_what_to_install(tmp_path: Path) -> None:
    for verb in (["train"], ["study", "main"]):
        refused = hedgerow(*verb, "glyphs-quick", "-o", str(tmp_path / "out"))
        assert refused.returncode == 2
        assert "which is not installed: pip install 'hedgerow[train]'" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_report_says_what_to_install(tmp_path: Path) -> None:
    refused = hedgerow("report", str(tmp_path), "-o", str(tmp_path / "page.html"))
    assert refused.returncode == 2
    assert "which is not installed: pip install 'hedgerow[report]'" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_what_a_report_is_made_of_is_shipped() -> None:
    page = files("hedgerow").joinpath("show", "page")
    assert page.joinpath("template.html").is_file()
    assert page.joinpath("style.css").is_file()
    assert page.joinpath("js", "main.js").is_file()


def test_evaluate_and_predict_without_the_training_half(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("\n".join(f"{parent},{child}" for parent, child in EDGES), encoding="utf-8")
    scores = tmp_path / "scores.csv"
    scores.write_text("fish,robin,wren,label\n0.1,0.7,0.2,robin\n0.1,0.4,0.5,robin\n", encoding="utf-8")
    figures, answers = tmp_path / "figures.json", tmp_path / "answers.csv"
    shown = hedgerow(
        "evaluate",
        str(scores),
        "--tree",
        str(tree),
        "--json",
        str(figures),
        "--figure",
        str(tmp_path / "curves.png"),
    )
    assert shown.returncode == 0, shown.stderr
    assert "matplotlib" in shown.stderr
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["examples"] == 2
    assert found["summary"]["leaf_exact"] == 0.5
    shown = hedgerow("predict", str(scores), "--tree", str(tree), "--tau", "0.8", "-o", str(answers))
    assert shown.returncode == 0, shown.stderr
    assert [line.split(",")[1] for line in answers.read_text(encoding="utf-8").splitlines()[1:]] == ["bird"] * 2


def test_a_point_is_exported_for_browsers(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges(EDGES)
    q = hr.likelihood.from_leaves(h, [[0.75, 0.125, 0.125]] * 20)
    hr.select(h, q, ["robin"] * 19 + ["wren"], target=("correct", 0.9)).save(tmp_path / "point.json")
    done = hedgerow("export", str(tmp_path / "point.json"), "-o", str(tmp_path / "app"))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "app").iterdir()) == [
        "hedgerow.js",
        "index.html",
        "point.json",
    ]
    done = hedgerow("export", str(tmp_path / "point.json"), "-o", str(tmp_path / "tail.onnx"))
    assert "pip install 'hedgerow[onnx]'" in done.stderr
