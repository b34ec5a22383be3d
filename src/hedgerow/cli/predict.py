"""`hedgerow predict`: answer every example."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    DataOption,
    JsonOption,
    PartsArgument,
    TemperatureOption,
    TreeOption,
)
from hedgerow.cli.outputs import bar, check_outputs
from hedgerow.cli.parts import (
    SchedulerOption,
    WorkersOption,
    check_parts,
    connected,
    end_with_failures,
    is_many,
    keywords,
    local,
    parts_bar,
)
from hedgerow.cli.reading import ScoreReading, TreeFile, TreeReading, grouped_options
from hedgerow.cli.scores import name_of, named_file, open_any_scores, usual_single_child, with_temperature
from hedgerow.cli.settings import GivenSettings
from hedgerow.errors import ParameterError
from hedgerow.files import write_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.choose import OperatingPoint
    from hedgerow.score_files import Written


class As(StrEnum):
    """How answers are laid out in a file."""

    table = "table"
    qiime2 = "qiime2"
    camtrap_dp = "camtrap-dp"


@app.command(
    epilog="Examples:\n\nhedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv\n\n"
    "hedgerow predict new.npz --tree tree.csv --point point.json -o answers.csv\n\n"
    "hedgerow predict scores.csv --tree tree.csv --rule majority -o answers.parquet\n\n"
    "hedgerow predict 'scores/*.npz' --tree tree.csv --tau 0.8 -o 'answers/*.csv'\n\n"
    "hedgerow predict runs/quick --tau 0.8 -o answers.csv",
)
@grouped_options(without=("cluster_column", "below_label"))
def predict(
    reading: ScoreReading,
    tree_reading: TreeReading,
    settings: GivenSettings,
    scores: PartsArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write: .csv, .tsv, .parquet; for parts with * for their names, as in 'answers/*.csv'.",
            show_default=False,
        ),
    ],
    tau: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Answer with the most specific node that is more likely than X, from 0 to 1.",
            show_default=False,
        ),
    ] = None,
    tree: TreeOption = None,
    data: DataOption = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use a rule that needs no threshold: leaf, majority, plurality, expected_information.",
            show_default=False,
        ),
    ] = None,
    point: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Answer at the operating point that hedgerow select wrote.", show_default=False
        ),
    ] = None,
    temperature: TemperatureOption = None,
    layout: Annotated[
        As,
        typer.Option(
            "--as", help="What to write: a table, a taxonomy.tsv of QIIME 2, or observations of a Camtrap DP."
        ),
    ] = As.table,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe", help="In CSV, write ' before texts that begin with =, +, - or @, like formulas."
        ),
    ] = False,
    json_file: JsonOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Write an answer for every example: name, rank or depth, confidence, lineage."""
    from hedgerow.choose import OperatingPoint
    from hedgerow.infer import answering_rule
    from hedgerow.score_files import check_layout, write_predictions
    from hedgerow.show import print_written

    many = is_many(scores) or workers is not None or scheduler is not None
    files = local(scores)
    if not many:
        output = output.parent / output.name.replace("*", name_of(files[0]))  # as for parts
        check_outputs(
            output, json_file, inputs=(*files, tree, data, point, *reading.files, *named_file(temperature))
        )
    check_layout(output, layout.value, spreadsheet_safe)
    if (point, tau, rule) == (None, None, None):
        raise ParameterError(
            "Say how to answer: with --point FILE, a point that hedgerow select wrote; with a threshold, such as "
            "--tau 0.8; or by a rule, such as --rule majority."
        )
    if point is None:
        answering_rule(tau, rule)  # refuses what makes no sense, before anything is read
    if point is not None and (tau, rule) != (None, None):
        raise ParameterError("A point has its own threshold: give --point without --tau and --rule.")
    if point is None and reading.group_column is not None:
        raise ParameterError("--groups is for operating points that depend on them: give --point FILE too.")
    if point is not None and settings.arguments:
        raise ParameterError(f"A point has its own settings: leave out {settings.arguments[0]}.")
    if point is not None and temperature is not None:
        raise ParameterError("A point divides the scores by its own temperature: leave out --temperature.")
    chosen = None if point is None else OperatingPoint.load(point)
    tree_file = tree_reading.file(tree)
    written_as: dict[str, Any] = {"layout": layout.value, "spreadsheet_safe": spreadsheet_safe}
    answer: Any
    if many:
        if temperature is not None:
            raise ParameterError("--temperature is for one file, not for parts: leave it out.")
        tree_file = check_parts(scores, tree_file, data)
        used = chosen.settings if chosen else settings.over(single_child=usual_single_child(files, reading))
        answer = chosen or answering_rule(tau, rule, used)
        written = _many(
            scores, output, json_file, answer, tree_file, reading, workers, scheduler, written_as, point
        )
    else:
        file = open_any_scores(files[0], tree_file, data, reading, labels=False)
        used = chosen.settings if chosen else settings.over(single_child=file.single_child)
        if chosen is None:
            file, _ = with_temperature(file, temperature, tree_file, reading)
            answer = answering_rule(tau, rule, used)
            written = write_predictions(output, file, answer, progress=bar, **written_as)
        else:
            written = write_predictions(
                output, chosen.prepared(file), chosen.answer, progress=bar, **written_as
            )
    print_written(written, str(output), Console(), used)
    if json_file is not None:
        write_json(
            json_file,
            {
                "output": str(output),
                "tau": tau,
                "rule": rule and rule.replace("-", "_"),
                "point": None if chosen is None else chosen.promise,
                **written.to_dict(),
            },
        )


def _many(
    scores: list[str],
    output: Path,
    json_file: Path | None,
    answer: Callable[..., Any] | OperatingPoint,
    tree: TreeFile,
    reading: ScoreReading,
    workers: int | None,
    scheduler: str | None,
    written_as: dict[str, Any],
    point: Path | None,
) -> Written:
    """Write the answers to every part; if parts fail, finish the others and end."""
    from hedgerow import cluster

    parts = cluster.expand(scores)
    outputs = [Path(path) for path in cluster.output_names(parts, str(output)).values()]
    check_outputs(
        json_file, *outputs, folder=output.parent, inputs=(*local(scores), tree.path, point, *reading.files)
    )
    try:
        with connected(workers, scheduler) as client:
            return cluster.predict(
                parts,
                tree.read(),
                answer,
                output,
                client,
                reading=keywords(reading),
                progress=parts_bar,
                **written_as,
            )
    except cluster.PartsError as error:
        end_with_failures(error, f"The answers to the other parts are in {output}.")
