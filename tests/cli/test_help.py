"""What `--help` says: examples that fit on a line and run as they are printed."""

from __future__ import annotations

import functools
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow import cli
from tests.cli.test_evaluate import hedgerow
from tests.make_scores import save_npz, save_table
from tests.score_files.simulated import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDS = {
    "train": "time",
    "study": "time",
    "runs/": "a training run",
    "--workers": "processes",
    "--labels new.csv": "labels of the answers, in tests of its own",
    " < ": "a shell",
    "taxdump": "a taxdump, read in tests of its own",
}
"""What examples need that are not run here."""


def examples() -> list[str]:
    """Return the examples of all verbs."""
    texts = [str(cli.app.info.epilog), *(str(command.epilog) for command in cli.app.registered_commands)]
    return [line for text in texts for line in text.split("\n\n") if line.startswith("hedgerow ")]


def test_every_verb_has_examples_that_fit_on_a_line() -> None:
    verbs = {getattr(command.callback, "__name__", "") for command in cli.app.registered_commands}
    assert {line.split()[1] for line in examples()} == verbs
    assert [line for line in examples() if len(line) > 78] == []  # two more are a margin


@pytest.mark.parametrize("verb", [str(command.callback.__name__) for command in cli.app.registered_commands])  # type: ignore[union-attr]
def test_help_begins_with_the_four_options_that_people_need_and_names_no_types(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    said, _ = hedgerow(capsys, verb, "--help")
    assert not re.search(r"<\w+(\[\w+\])?>", said)
    titles, panels = re.findall(r"^╭─ (.*?) ─", said, re.MULTILINE), re.split(r"^╭─.*$", said, flags=re.MULTILINE)
    listed = {
        title: re.findall(r"^│[ *]*(--[a-z-]+)", panel, re.MULTILINE)
        for title, panel in zip(titles, panels[1:], strict=True)
    }
    assert titles[:2] == ["Arguments", "Options"]
    assert len(listed["Options"]) <= 5
    assert listed["Options"][-1] == "--help"
    required = re.findall(r"^│ \* +(--[a-z-]+)", said, re.MULTILINE)
    needed = {"doctor": "--scores", "compare": "--figure", "select": "--target", "monitor": "--labels"}
    assert {*required, needed.get(verb, "--output")} <= {*listed["Options"]}
    last = [title for title in titles if title in ("Training runs", "Scores in parts")]
    assert titles[len(titles) - len(last) :] == last


def test_the_command_lists_its_verbs_and_what_to_do_first(capsys: pytest.CaptureFixture[str]) -> None:
    said, _ = hedgerow(capsys, "--help")
    verbs = re.findall(r"^│ ([a-z]+)  ", said, re.MULTILINE)
    assert verbs == list(typer.main.get_command(cli.app).list_commands(None))  # type: ignore[attr-defined]
    assert len(verbs) == 12


def parameters() -> list[Any]:
    verbs: Any = typer.main.get_command(cli.app)
    found = [
        pytest.param(name, each.metavar, id=f"{name} {each.opts[-1]}")
        for name, verb in verbs.commands.items()
        for each in verb.params
        if each.metavar and each.param_type_name == "option"
    ]
    assert len(found) > 100
    return found


@pytest.fixture(scope="module")
def narrow_help() -> Callable[[str], str]:
    @functools.cache
    def said(verb: str) -> str:
        result = CliRunner().invoke(cli.app, [verb, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
        return result.output

    return said


@pytest.mark.parametrize(("verb", "metavar"), parameters())
def test_what_to_give_is_not_broken_in_a_narrow_terminal(
    verb: str, metavar: str, narrow_help: Callable[[str], str]
) -> None:
    assert re.search(rf"[│ ]{re.escape(metavar)}[│ ]", narrow_help(verb))


def test_examples_run_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("sintax.txt", "lineages.csv", "labels.csv"):
        shutil.copy(DATA / name, name)
    h = hr.Hierarchy.read("lineages.csv", "lineages")
    h.write("tree.csv")
    h.write("tree.json")
    random = np.random.default_rng(0)
    leaves = h.names[h.leaves].tolist()
    for folder in ("scores", "held", "photos"):
        Path(folder).mkdir()
    for place in ("a", "b", "c", "new", "held", "scores", "model", "part-1", "scores/1", "scores/2", "held/1"):
        p = random.dirichlet(np.full(len(leaves), 0.1), 40)
        labels = [leaves[place] for place in p.argmax(axis=1)]
        save_npz(Path(f"{place}.npz"), classes=leaves, probabilities=p, labels=labels)
        for suffix in ("csv", "parquet"):
            save_table(Path(f"{place}.{suffix}"), p, leaves, label=labels)
    Path("Taxon.tsv").write_text(
        "taxonID\tparentNameUsageID\tscientificName\ttaxonRank\n1\t\tMammalia\tclass\n2\t1\tFelidae\tfamily\n"
        "3\t2\tPuma concolor\tspecies\n4\t2\tLynx lynx\tspecies\n"
    )
    Path("hs.csv").write_text("code\n010121\n010129\n020110\n")
    hedgerow(capsys, "evaluate", "b.npz", "--tree", "tree.csv", "-o", "results/model-b")
    here = [line for line in examples() if not any(need in line for need in NEEDS)]
    order = ("doctor", "tree", "evaluate", "merge", "compare", "select", "predict", "monitor", "export", "report")
    # A point by rank comes first, so that another one replaces it: these have no ONNX model.
    for line in sorted(here, key=lambda line: (order.index(line.split()[1]), "--per-rank" not in line)):
        hedgerow(capsys, *shlex.split(line)[1:])
