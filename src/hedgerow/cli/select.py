"""`hedgerow select`: choose an operating point that keeps a promise."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.choose import Request
from hedgerow.cli.options import ANSWER, GivenSettings, JsonOption, TemperatureOption, call_without, option, verb
from hedgerow.cli.outputs import bar, check_outputs
from hedgerow.cli.score_input import ScoreInput, is_run
from hedgerow.errors import ParameterError
from hedgerow.files import is_remote, stem, write_json

_TARGETS = ("target", "per_rank", "overclassification", "among", "guarantee", "delta", "output", "json_file")
"""The options that suggested commands replace."""


@verb(
    "hedgerow select held.npz --tree tree.csv --target correct=0.95 -o point.json",
    "hedgerow select held.csv --tree tree.json --per-rank family=0.9 -o point.json",
    "hedgerow select 'held/*.csv' --tree tree.csv --target recall=0.6 -o p.json",
    "hedgerow select a.npz --tree tree.csv --target correct=0.9 --among 1 -o p.json",
    "hedgerow select runs/quick --target correct=0.95 --guarantee pac -o point.json",
    panel=ANSWER,
    first=("tree", "labels_file", "target", "output"),
    without=("workers", "scheduler"),
)
def select(
    given: ScoreInput,
    settings: GivenSettings,
    request: Request,
    *,
    output: Annotated[Path, option("FILE", "Where to write the point: .json.", "-o", "--output")],
    json_file: JsonOption = None,
    temperature: TemperatureOption = None,
) -> None:
    """Choose how cautious to be, so that a promise holds for new examples.

    Use examples that the model was not trained on.
    """
    from hedgerow import choose
    from hedgerow.show.printed_point import print_point
    from hedgerow.show.terminal import print_text

    for remote in filter(is_remote, given.scores):
        raise ParameterError(f"{remote} is not on this machine: copy it here first.")
    check_outputs(output, json_file, inputs=given.inputs(*call_without("output", "json_file")))
    opened, _ = given.tempered(given.open_parts(), temperature)
    prior_by_group = opened.prior is not None and opened.prior.groups is not None
    reading = given.reading
    asked = replace(
        request,
        groups=reading.group_column is not None and not prior_by_group,
        clusters=reading.cluster_column is not None,
        weights=reading.weight_column is not None,
        settings=settings.over(opened.settings),
    )
    examples = choose.gather(
        asked,
        opened.hierarchy,
        opened,
        groups=asked.groups,
        clusters=asked.clusters or None,
        weights=asked.weights,
        progress=bar,
    )
    point = choose.choose(asked, examples)
    explanation = choose.describe(point, examples)
    point.save(output)
    for warning in opened.warnings:
        print_text(Console(stderr=True), f"Warning: {warning}\n", "yellow")
    print_point(
        explanation,
        Console(),
        then=shlex.join(["hedgerow", "predict", *_predict_arguments(given, output)]),
        select=shlex.join(call_without(*_TARGETS)),
    )
    typer.echo(f"The point is in {output}.", err=True)
    if json_file is not None:
        content = {key: value for key, value in point.to_dict().items() if key != "tree"}
        write_json(json_file, {"point": content, **explanation.to_dict()})


def _predict_arguments(given: ScoreInput, point: Path) -> list[str]:
    """Return the arguments of `predict` that answer new files like these with a point."""
    first, many = given.files[0], given.is_many
    reading = replace(given.unlabelled(), group_column=given.reading.group_column)
    columns = (reading.group_column, reading.event_column, reading.weight_column)
    if any(columns) and given.reading.labels_file is not None:
        file = f"NEW-FACTS{_endings(Path(given.reading.labels_file))}"
        reading = replace(reading, labels_file=file, id_column=given.reading.id_column)
    new, answers = ("NEW/*", "answers/*.csv") if many else ("NEW", "answers.csv")
    scores = [given.scores[0], "--data", new] if is_run(first) else [f"{new}{_endings(first)}"]
    return [*scores, *reading.arguments, "--point", str(point), "-o", answers]


def _endings(path: Path) -> str:
    """Return all endings of a file name, such as `.csv.gz`."""
    return path.name[len(stem(path)) :]
