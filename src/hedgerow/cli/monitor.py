"""`hedgerow monitor`: watch whether a promise is still kept."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.options import ANSWER, JsonOption, as_number, option, positional, verb
from hedgerow.cli.outputs import check_figure, check_outputs
from hedgerow.files import write_json
from hedgerow.score_files import ScoreReading

_OF_LABELS = ("label_column", "id_column", "drop_label", "outside", "delimiter")
ALARM = 3
"""Exit status if there is an alarm."""


@verb(
    "hedgerow monitor point.json answers.csv --state state.json",
    "hedgerow monitor point.json answers.csv --labels new.csv --state state.json",
    panel=ANSWER,
    first=("labels", "state", "figure", "json_file"),
    without=[each.name for each in fields(ScoreReading) if each.name not in _OF_LABELS],
)
def monitor(
    reading: ScoreReading,
    *,
    point: Annotated[Path, positional("POINT", "The point that hedgerow select wrote.")],
    answers: Annotated[Path, positional("ANSWERS", "A table that hedgerow predict --point wrote.")],
    json_file: JsonOption = None,
    labels: Annotated[
        Path | None,
        option("FILE", "Labels of some of the answers, a random sample: a table with columns id and label."),
    ] = None,
    state: Annotated[
        Path | None, option("FILE", "What was counted so far, .json; made if it does not exist.")
    ] = None,
    delta: Annotated[
        str | None,
        option("X", "The probability of a false alarm, however long one looks.", shown="0.01"),
    ] = None,
    figure: Annotated[Path | None, option("FILE", "Draw the evidence over time: .png, .pdf or .svg.")] = None,
) -> None:
    """Watch whether the promise of a point is still kept; the exit status is 3 on alarm.

    With labels, it tests the promise; without, whether the model is as sure as it was in calibration.
    """
    from hedgerow.choose import Monitor, OperatingPoint, read_answers
    from hedgerow.show.printed_monitor import print_monitor

    check_outputs(json_file, state, figure, inputs=(point, answers, labels))
    if figure is not None:
        from hedgerow.show.figures import monitor_figure, save_figure

        check_figure(figure)
    chosen = OperatingPoint.load(point)
    watching = Monitor.at(state, chosen, as_number("delta", delta))
    watching.watch(read_answers(chosen, answers, labels, reading))
    if state is not None:
        watching.save(state)
    print_monitor(watching, Console())
    if json_file is not None:
        write_json(json_file, watching.to_dict())
    if figure is not None:
        save_figure(monitor_figure(watching), figure)
        typer.echo(f"The figure is in {figure}.", err=True)
    if watching.alarm:
        raise typer.Exit(ALARM)
