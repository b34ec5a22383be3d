"""Evaluations by path: of a folder that holds one, or of a score file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError, argument
from hedgerow.files import require_file, stem
from hedgerow.measure.evaluation import Evaluation
from hedgerow.measure.evaluation_builder import evaluate
from hedgerow.score_files import Progress, ScoreReading, open_scores, silent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hedgerow.tree import Hierarchy


def read_or_evaluate(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy | None,
    *,
    reading: ScoreReading | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Evaluation:
    """Read an evaluation folder, or evaluate a score file with a tree; either is named after its path.

    Parameters
    ----------
    path
        A folder written by `Evaluation.save`, or a score file.
    hierarchy
        The tree, which a score file needs; a folder brings its own, and must agree.
    reading
        How to read a score file: see `open_scores`.
    progress
        Called to report progress.
    options
        Options of `evaluate`, for score files; a folder must have been evaluated with the settings among them.
    """
    shown = os.fspath(path)
    if Path(path).is_dir():
        evaluation = Evaluation.load(path).measuring(options.get("metrics", ()))
        if hierarchy is not None and hierarchy.fingerprint != evaluation.hierarchy.fingerprint:
            raise ParameterError(f"{shown} was evaluated with another tree, not the given one. Evaluate it again.")
        _check_settings(evaluation, shown, options)
        return replace(evaluation, name=Path(os.path.realpath(path)).name)
    if hierarchy is None:
        require_file(path)
        raise ParameterError(f"{shown} is a score file, which needs a tree: give {argument('tree', 'TREE')}.")
    opened = open_scores(path, hierarchy, reading)
    return evaluate(hierarchy, opened, name=stem(path), progress=progress, **options)


def _check_settings(evaluation: Evaluation, shown: str, options: Mapping[str, Any]) -> None:
    """Raise an error if an evaluation was made with settings other than the requested ones."""
    was = evaluation.settings
    asked = was.updated(**{name: options[name] for name in vars(was) if name in options})
    measure = evaluation.hierarchy.information
    for name, old in was.to_dict().items():
        new = asked.to_dict()[name]
        same = np.array_equal(measure(was.information), measure(asked.information))
        if not (same if name == "information" else old == new):
            raise ParameterError(
                f"{shown} was evaluated with {argument(name, old)}, not with {argument(name, new)}. "
                f"Leave the option out, or evaluate the scores again."
            )
