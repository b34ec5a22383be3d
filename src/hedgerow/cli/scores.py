"""Whatever holds scores, opened as the options say: score files, training runs, evaluation folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from hedgerow.cli.outputs import bar
from hedgerow.cli.reading import ScoreReading, TreeFile
from hedgerow.errors import FileError, ParameterError
from hedgerow.files import stem
from hedgerow.score_files import FORMATS, WIDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hedgerow.measure import Evaluation
    from hedgerow.score_files import Block, Scores
    from hedgerow.tree import Hierarchy, SingleChild

_ENOUGH = 50_000  # examples for one number


def open_any_scores(
    path: Path,
    tree: TreeFile | None,
    data: Path | None,
    reading: ScoreReading,
    *,
    labels: bool,
) -> Scores:
    """Open a score file with its tree; or the model of a training run with new data, or its test data."""
    from hedgerow.score_files import open_scores

    if is_run(path):
        from hedgerow.learn.training.new_data import RunScores
        from hedgerow.learn.training.run_folder import RunFolder

        if tree is not None:
            raise ParameterError(f"{path} is a training run, which has its own tree: leave out --tree.")
        refused = replace(reading, trust=None).arguments
        if refused:
            raise ParameterError(f"{path} is a training run, not a table: leave out {refused[0]}.")
        run = RunFolder(path, tuple(reading.trust or ()))
        if data is not None:
            return RunScores(run, data, labels=labels)
        run.metrics()  # an error if the run is not finished
        run.check_digests()
        return open_scores(run.scores, run.hierarchy(), labels=labels)
    if not path.exists():
        raise FileError(f"{path} does not exist. Give a score file, or the folder of a training run.")
    if reading.trust:
        raise ParameterError(f"--trust is for training runs, and {path} is not one: leave it out.")
    if data is not None:
        raise ParameterError(
            f"--data needs the folder of a training run, and {path} is not one. Give such a folder, or leave out "
            f"--data."
        )
    if tree is None:
        raise ParameterError(f"{path} is a score file, which needs a tree: give --tree TREE.")
    return open_scores(path, tree.read(), labels=labels, **reading.keywords)


def any_evaluation(
    path: Path, hierarchy: Hierarchy | None, reading: ScoreReading, options: Mapping[str, Any]
) -> Evaluation:
    """Read an evaluation folder; or evaluate a score file with a tree, or the test data of a training run.

    Parameters
    ----------
    path
        The folder or file.
    hierarchy, reading
        For score files: the tree, and how to read them.
    options
        Keywords of `evaluate`; a folder must have been evaluated with the same.
    """
    from hedgerow.measure import evaluate, read_or_evaluate

    if not is_run(path):
        return read_or_evaluate(path, hierarchy, reading=reading.keywords, progress=bar, **options)
    opened = open_any_scores(path, None, None, ScoreReading(trust=reading.trust), labels=True)
    return evaluate(opened.hierarchy, opened, name=name_of(path), progress=bar, **options)


def named_file(given: str | None) -> list[Path]:
    """Return the file that an option names, if it names one."""
    return [Path(given)] if given is not None and Path(given).is_file() else []


def with_temperature(
    scores: Scores, given: str | None, tree: TreeFile | None, reading: ScoreReading
) -> tuple[Scores, float]:
    """Return scores divided by the temperature that --temperature gives, or that fits other scores, and it."""
    from hedgerow.likelihood import Likelihoods, fit_to_likelihoods
    from hedgerow.score_files import TemperedScores

    if given is None:
        return scores, 1.0
    try:
        temperature = float(given)
    except ValueError:
        held_out = open_any_scores(Path(given), tree, None, reading, labels=True)
        parts = [(block.likelihoods, block.labels) for block in _first_blocks(held_out)]
        if not isinstance(parts[0][0], Likelihoods):
            raise ParameterError(
                f"A temperature needs the scores of all classes, and {given} lists only a few."
            ) from None
        values = np.concatenate([np.asarray(q) for q, _ in parts])
        labels = np.concatenate([labels for _, labels in parts if labels is not None])
        fitted = fit_to_likelihoods(Likelihoods.of(held_out.hierarchy, values, parts[0][0].scale), labels)
        # In a few digits, so that it can be given again.
        temperature = float(f"{fitted.value:.4g}")
        losses = f"its mean loss falls from {fitted.before:.4g} to {fitted.after:.4g}"
        typer.echo(f"The temperature {temperature:g} explains {given} best: {losses}.", err=True)
    return TemperedScores(scores, temperature), temperature


def _first_blocks(scores: Scores) -> Iterator[Block]:
    """Yield blocks of scores until there are enough for a temperature."""
    rows = 0
    for block in scores:
        yield block
        rows += len(block)
        if rows >= _ENOUGH:
            return


def usual_single_child(files: Sequence[Path], reading: ScoreReading) -> SingleChild:
    """Return what a node with one child is to those who use the format of the first file."""
    from hedgerow.score_files import find_format

    found = reading.scores_format
    if found == "auto":  # files elsewhere are in a format that need not be named
        found = find_format(str(files[0]), found, reading.delimiter) if files else WIDE
    return "skip" if found == WIDE else FORMATS[found].single_child


def name_of(path: Path) -> str:
    """Return the name of a model: of a file its stem, of a folder its name."""
    return path.resolve().name if path.is_dir() else stem(path)


def is_run(path: Path) -> bool:
    """Tell whether a path is the folder of a training run."""
    return (path / "recipe.toml").exists()
