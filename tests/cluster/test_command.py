"""The command with many parts and workers."""

from __future__ import annotations

import io
import json
from shutil import copytree
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hedgerow.cli import app
from hedgerow.cli.score_input import parts_bar
from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.measure import Evaluation
from hedgerow.show.terminal import live_bar
from tests.cluster.conftest import ROWS
from tests.cluster.test_evaluating import in_arrays
from tests.make_scores import H, save_npz

if TYPE_CHECKING:
    from pathlib import Path

command = CliRunner()


def invoke(*args: object) -> Any:
    return command.invoke(app, list(map(str, args)))


def done(*args: object) -> str:
    result = invoke(*args)
    assert result.exit_code == 0, (result.output, result.exception)
    return str(result.output)


def refused(*args: object) -> HedgerowError:
    error = invoke(*args).exception
    assert isinstance(error, HedgerowError), error
    return error


def same(one: Path, other: Path) -> None:
    first, second = Evaluation.load(one), Evaluation.load(other)
    assert first.to_dict() | {"name": ""} == second.to_dict() | {"name": ""}
    for found, wanted in zip(in_arrays(first), in_arrays(second), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for place, evaluation in ((one, first), (other, second)):
        said = json.loads((place / "evaluation.json").read_text())
        assert said["summary"] == evaluation.summary()


@pytest.fixture(scope="module")
def expected(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("expected") / "whole"
    done("evaluate", folder / "whole.npz", "--tree", folder / "tree.csv", "-o", place)
    return place


def test_a_pattern_is_one_data_set(folder: Path, expected: Path, tmp_path: Path) -> None:
    said = done(
        "evaluate", f"{folder}/part-*.npz", "--tree", folder / "tree.csv", "-o", tmp_path / "out",
        "--json", tmp_path / "out.json", "--bootstrap", 0,
    )  # fmt: skip
    assert f"{sum(ROWS)} examples" in said
    assert "-o 'answers/*.csv'" in said
    same(tmp_path / "out", expected)
    assert json.loads((tmp_path / "out.json").read_text())["examples"] == sum(ROWS)


def test_workers_and_intervals(folder: Path, tmp_path: Path) -> None:
    common = ("--tree", folder / "tree.csv", "--bootstrap", 5)
    said = done("evaluate", f"{folder}/part-*.npz", *common, "-o", tmp_path / "out", "--workers", 1)
    assert "Dashboard: http://" in said
    done("evaluate", folder / "whole.npz", *common, "-o", tmp_path / "one")
    same(tmp_path / "out", tmp_path / "one")


def test_a_scheduler_that_is_there(client: Any, folder: Path, expected: Path, tmp_path: Path) -> None:
    where = ("--scheduler", client.scheduler.address)
    done("evaluate", f"{folder}/part-*.npz", "--tree", folder / "tree.csv", *where, "-o", tmp_path / "out")
    same(tmp_path / "out", expected)


def test_evaluations_merge_to_the_same_folder(
    folder: Path, parts: list[Path], expected: Path, tmp_path: Path
) -> None:
    for path in parts:
        done("evaluate", path, "--tree", folder / "tree.csv", "-o", tmp_path / path.stem)
    said = done("merge", f"{tmp_path}/part-*", "-o", tmp_path / "out", "--json", tmp_path / "out.json")
    assert "AP" in said
    same(tmp_path / "out", expected)
    half = sorted(tmp_path.glob("part-?"))[:4]
    rest = sorted(set(tmp_path.glob("part-*")) - set(half))
    done("merge", *half, "-o", tmp_path / "half")
    done("merge", *rest, tmp_path / "half", "-o", tmp_path / "again", "--name", "x")
    same(tmp_path / "again", expected)
    assert json.loads((tmp_path / "again" / "evaluation.json").read_text())["name"] == "x"
    copytree(tmp_path / "part-1", tmp_path / "copy")
    with pytest.raises(ParameterError, match="'part-1' occurs twice with the same examples"):
        raise refused("merge", tmp_path / "part-1", tmp_path / "copy")
    with pytest.raises(ParameterError, match="is given twice"):
        raise refused("merge", tmp_path / "part-1", f"{tmp_path}/./part-1")
    done("evaluate", parts[0], "--tree", folder / "tree.csv", "--below-label", "wrong", "-o", tmp_path / "other")
    with pytest.raises(ParameterError, match=r"differ in below_label \('label' and 'wrong'\)"):
        raise refused("merge", tmp_path / "part-1", tmp_path / "other")


def test_failing_parts(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "foreign.npz", classes=["oak", "elm"], labels=["oak"], probabilities=[[0.5, 0.5]])
    (tmp_path / "cut.npz").write_bytes((folder / "part-8.npz").read_bytes()[:900])
    given = (folder / "part-1.npz", tmp_path / "foreign.npz", tmp_path / "cut.npz", tmp_path / "none.npz")
    before = sorted(tmp_path.iterdir())
    result = invoke("evaluate", *given, "--tree", folder / "tree.csv")
    assert result.exit_code == 1
    assert "3 of 4 parts failed" in result.output
    for path in given[1:]:
        assert f"{path}: " in result.output
    assert sorted(tmp_path.iterdir()) == before
    result = invoke("evaluate", *given, "--tree", folder / "tree.csv", "-o", tmp_path / "some")
    assert result.exit_code == 1
    assert "hedgerow merge" in result.output
    done("merge", tmp_path / "some")


def test_answers_one_file_a_part(client: Any, folder: Path, tmp_path: Path) -> None:
    common = ("--tree", folder / "tree.csv", "--tau", 0.6)
    where = ("--scheduler", client.scheduler.address)
    done("predict", folder / "whole.npz", *common, "-o", tmp_path / "whole.csv", "--json", tmp_path / "one.json")
    for more in ((), where):
        done(
            "predict", f"{folder}/part-*.npz", *common, *more, "-o", tmp_path / "out" / "*.parquet",
            "--json", tmp_path / "many.json",
        )  # fmt: skip
        names = [f"part-{i}.parquet" for i in range(len(ROWS))]
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
        answers = pd.concat([pd.read_parquet(tmp_path / "out" / name) for name in names])
        whole = pd.read_csv(tmp_path / "whole.csv")
        assert answers["id"].tolist() == whole["id"].tolist()
        assert answers["prediction"].tolist() == whole["prediction"].tolist()
        one, many = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "many"))
        assert many["by_depth"] == one["by_depth"]
        assert many["mean_confidence"] == pytest.approx(one["mean_confidence"], abs=1e-12)
    result = invoke(
        "predict", folder / "part-1.npz", tmp_path / "none.npz", *common, "-o", tmp_path / "some" / "*.csv"
    )
    assert result.exit_code == 1
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["part-1.csv"]


def test_names_of_answers(folder: Path, tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        save_npz(tmp_path / place / "x.npz", probabilities=[[0.1, 0.2, 0.3, 0.4]])
    common = ("--tree", folder / "tree.csv", "--tau", 0.6)
    done("predict", f"{tmp_path}/*/x.npz", *common, "-o", tmp_path / "out" / "*.csv")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a-x.csv", "b-x.csv"]
    for place in ("a", "b"):
        table = pd.DataFrame([[0.1, 0.2, 0.3, 0.4]], columns=["robin", "wren", "cod", "eel"])
        table.to_csv(tmp_path / place / f"{place}.csv.gz", index=False)
    done("predict", f"{tmp_path}/*/*.csv.gz", *common, "-o", tmp_path / "more" / "*.csv")
    assert sorted(path.name for path in (tmp_path / "more").iterdir()) == ["a.csv", "b.csv"]
    done("predict", tmp_path / "a" / "x.npz", *common, "-o", tmp_path / "more" / "one-*.csv")
    assert (tmp_path / "more" / "one-x.csv").exists()
    with pytest.raises(ParameterError, match=r"use \* for the name of the part"):
        raise refused("predict", f"{tmp_path}/*/x.npz", *common, "-o", tmp_path / "out.csv")


def test_patterns_are_compared(folder: Path, expected: Path) -> None:
    tree = ("--tree", folder / "tree.csv", "--bootstrap", 10)
    said = done("compare", f"{folder}/part-*.npz", expected, *tree)
    assert "≈" in said
    with pytest.raises(ParameterError, match="give --tree"):
        raise refused("compare", f"{folder}/part-*.npz", expected)


def test_what_parts_do_not_take(folder: Path, tmp_path: Path) -> None:
    pattern = f"{folder}/part-*.npz"
    with pytest.raises(ParameterError, match="give --tree TREE"):
        raise refused("evaluate", pattern)
    with pytest.raises(ParameterError, match="--data is for"):
        raise refused("evaluate", pattern, "--tree", folder / "tree.csv", "--data", folder)
    with pytest.raises(ParameterError, match=r"is a folder\. Give its files"):
        raise refused("evaluate", folder, folder / "part-1.npz", "--tree", folder / "tree.csv")
    with pytest.raises(ParameterError, match="--workers N or --scheduler ADDRESS, not both"):
        raise refused("evaluate", pattern, "--tree", folder / "tree.csv", "--workers", 1, "--scheduler", "x")
    with pytest.raises(FileError, match="is a file"):
        raise refused("evaluate", pattern, "--tree", folder / "tree.csv", "-o", folder / "part-1.npz")
    assert len(H) == 7


def test_the_bar_counts_parts_and_examples_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, legacy_windows=False)
    shown = live_bar(console, counted=True)
    clock = SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr("hedgerow.show.terminal.live_bar", lambda *_, **__: shown)
    monkeypatch.setattr("hedgerow.cli.score_input.time", clock)
    with parts_bar(3) as advance:
        assert (shown.tasks[0].description, shown.tasks[0].total) == ("Parts", 3)
        clock.monotonic = lambda: 2.0
        advance(5_000)
        clock.monotonic = lambda: 4.0
        advance(0)  # a part that failed
        with console.capture() as captured:
            console.print(shown.get_renderable())
    assert "Parts, 1,250 examples/s" in captured.get()
    assert "2/3" in captured.get()


def test_warnings_of_parts_are_shown(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("parent,child\nlife,A\nlife,B\nA,Aa\nA,Ab\n")
    for part in range(8):
        confidence = 0.9 if part == 0 else 0.5  # the latter is less than that of the class below
        (tmp_path / f"{part}.sintax").write_text(f"r\td:A({confidence}),p:Aa(0.7)\t+\t\n")
    common = ["--tree", tree, "--scores-format", "sintax", "--tau", 0.6, "-o", tmp_path / "out" / "*.csv"]
    said = done("predict", tmp_path / "0.sintax", tmp_path / "1.sintax", *common)
    assert said.count("Warning:") == 1
    assert "1.sintax:In1of1examples" in "".join(said.split("Warning:")[1].split())
    said = done("predict", f"{tmp_path}/*.sintax", *common)
    assert said.count("Warning:") == 6
    assert "Other parts gave 2 more warnings." in said
