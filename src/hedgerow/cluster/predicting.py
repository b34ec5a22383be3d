"""Answer the examples of many parts: a file for every part."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.choose import OperatingPoint
from hedgerow.cluster.data_parts import DataPart, as_parts
from hedgerow.cluster.engine import PartsProgress, no_progress, run
from hedgerow.errors import ParameterError, counted
from hedgerow.files import make_folder, stem
from hedgerow.score_files import Block, ScoreReading, Written, write_predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hedgerow.tree import Hierarchy

    Rule = Callable[[Block], Any] | OperatingPoint

_SHOWN = 5  # warnings


def _predicted(
    hierarchy: Hierarchy, part: DataPart, rule: Rule, outputs: Mapping[str, str], **layout: Any
) -> tuple[Written, int]:
    """Write the answers to a part; return what was written, and the number of examples."""
    with part.opened(hierarchy, labels=False) as scores:
        if isinstance(rule, OperatingPoint):
            layout = layout | {"more": rule.columns}
            scores, rule = rule.prepared(scores), rule.answer
        written = write_predictions(outputs[part.name], scores, rule, **layout)
    return written, written.examples


def predict(
    parts: Iterable[str | os.PathLike[str] | DataPart],
    hierarchy: Hierarchy,
    rule: Rule,
    output: str | os.PathLike[str],
    client: Any = None,
    *,
    reading: ScoreReading | None = None,
    layout: str = "table",
    spreadsheet_safe: bool = False,
    progress: PartsProgress = no_progress,
) -> Written:
    """Answer the examples of every part; each part gets its own file, written whole or not at all.

    Parameters
    ----------
    parts, hierarchy, client, reading, progress
        As for `evaluate`; labels are ignored.
    rule
        From a block of examples to node indices: see `infer.answering_rule`; or an operating point.
    output
        Where to write, with ``*`` for the name of the part: ``answers/*.csv`` gives ``answers/part-1.csv``.
    layout, spreadsheet_safe
        As for `score_files.write_predictions`.

    Returns
    -------
    Written
        What was written, in all files together.
    """
    data_parts = as_parts(parts, reading)
    outputs = output_names([part.name for part in data_parts], os.fspath(output))
    make_folder(Path(output).parent)
    work = partial(_predicted, rule=rule, outputs=outputs, layout=layout, spreadsheet_safe=spreadsheet_safe)
    written = run(work, hierarchy, data_parts, client, progress)
    return _sum_of({part.name: one for part, one in zip(data_parts, written, strict=True)})


def output_names(parts: Sequence[str], output: str) -> dict[str, str]:
    """Return where the answers to each part go; an error if two parts would share a file."""
    if PurePosixPath(output).name.count("*") != 1 or "*" in str(PurePosixPath(output).parent):
        raise ParameterError(
            f"Many parts need many files: use * for the name of the part, as in 'answers/*.csv', not {output!r}."
        )
    stems = {part: stem(part) for part in parts}
    if len(set(stems.values())) < len(parts):  # the same names in different folders
        common = os.path.commonpath(parts)
        stems = {
            part: "-".join((*PurePosixPath(os.path.relpath(part, common)).parts[:-1], stem(part)))
            for part in parts
        }
    taken: dict[str, str] = {}
    for part, name in stems.items():
        if name in taken:
            raise ParameterError(
                f"The answers to {taken[name]} and {part} would have the same name. Rename one of them."
            )
        taken[name] = part
    return {part: output.replace("*", name) for part, name in stems.items()}


def _sum_of(parts: Mapping[str, Written]) -> Written:
    written = list(parts.values())
    below = sum(one.below_root for one in written)
    ranks = written[0].by_rank
    warnings = [f"{name}: {warning}" for name, one in parts.items() for warning in one.warnings]
    if len(warnings) > _SHOWN:
        more = counted(len(warnings) - _SHOWN, "more warning", "more warnings")
        warnings[_SHOWN:] = [f"Other parts gave {more}."]
    return Written(
        sum(one.examples for one in written),
        tuple(np.sum([one.by_depth for one in written], axis=0).tolist()),
        None if ranks is None else {rank: sum((one.by_rank or {})[rank] for one in written) for rank in ranks},
        math.fsum((one.mean_confidence or 0) * one.below_root for one in written) / below if below else None,
        tuple(warnings),
    )
