"""`hedgerow predict`: answer every example."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    DataOption,
    DisambiguateOption,
    Information,
    InformationOption,
    JsonOption,
    NaOption,
    Output,
    RootOption,
    ScoreReading,
    ScoresArgument,
    SeparatorOption,
    TemperatureOption,
    TreeFile,
    TreeFormatOption,
    TreeOption,
    bar,
    check_outputs,
    open_any_scores,
    reads_scores,
    with_temperature,
    write_json,
)
from hedgerow.errors import ParameterError


class As(StrEnum):
    """How answers are laid out in a file."""

    table = "table"
    qiime2 = "qiime2"
    camtrap_dp = "camtrap-dp"


@app.command(
    epilog="Examples:\n\nhedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv\n\n"
    "hedgerow predict scores.parquet --tree tree.csv --rule majority -o answers.parquet\n\n"
    "hedgerow predict new.npz --tree tree.csv --point point.json -o answers.csv\n\n"
    "hedgerow predict runs/quick --data new.npz --tau 0.8 -o answers.csv",
)
@reads_scores(without=("cluster_column",))
def predict(
    reading: ScoreReading,
    scores: ScoresArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write: .csv, .tsv, .parquet.", show_default=False
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
    tree_format: TreeFormatOption = None,
    root: RootOption = "root",
    separator: SeparatorOption = None,
    disambiguate: DisambiguateOption = False,
    na: NaOption = None,
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
    information: InformationOption = Information.leaves,
) -> None:
    """Write an answer for every example: name, rank or depth, confidence, lineage."""
    from hedgerow.choose import OperatingPoint, PointAnswers
    from hedgerow.infer import answering_rule
    from hedgerow.score_files import check_layout, write_predictions
    from hedgerow.show import print_written

    check_outputs(output, json_file, inputs=(scores, tree, data, reading.labels_file, point))
    check_layout(output, layout.value, spreadsheet_safe)
    if point is None:
        answering_rule(tau, rule, information.value)  # refuses what makes no sense, before anything is read
    if point is not None and (tau, rule) != (None, None):
        raise ParameterError("A point has its own threshold: give --point without --tau and --rule.")
    if point is None and reading.group_column is not None:
        raise ParameterError("--groups is for operating points that depend on them: give --point FILE too.")
    if point is not None and temperature is not None:
        raise ParameterError("A point divides the scores by its own temperature: leave out --temperature.")
    chosen = None if point is None else OperatingPoint.load(point)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    file = open_any_scores(scores, tree_file, data, reading, labels=False)
    written_as: dict[str, Any] = {"layout": layout.value, "spreadsheet_safe": spreadsheet_safe, "progress": bar}
    if chosen is None:
        file, _ = with_temperature(file, temperature, tree_file, reading)
        answer = answering_rule(tau, rule, information.value, file.single_child)
        written = write_predictions(output, file, answer, **written_as)
    else:
        answers = PointAnswers(chosen, file)
        written = write_predictions(output, answers, answers.rule, **written_as)
    print_written(written, str(output), file.warnings, Output(), single_child=file.single_child)
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
