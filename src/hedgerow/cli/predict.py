"""`hedgerow predict`: answer every example."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

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
    TreeFile,
    TreeFormatOption,
    TreeOption,
    bar,
    check_outputs,
    open_any_scores,
    reads_scores,
    write_json,
)


class As(StrEnum):
    """How answers are laid out in a file."""

    table = "table"
    qiime2 = "qiime2"
    camtrap_dp = "camtrap-dp"


@app.command(
    epilog="Examples:\n\nhedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv\n\n"
    "hedgerow predict scores.parquet --tree tree.csv --rule majority -o answers.parquet\n\n"
    "hedgerow predict runs/quick --data new.npz --tau 0.8 -o answers.csv",
)
@reads_scores()
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
    from hedgerow.infer import answering_rule
    from hedgerow.score_files import check_layout, write_predictions
    from hedgerow.show import print_written

    check_outputs(output, json_file, inputs=(scores, tree, data, reading.labels_file))
    check_layout(output, layout.value, spreadsheet_safe)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    file = open_any_scores(scores, tree_file, data, reading, labels=False)
    answer = answering_rule(tau, rule, information.value, file.single_child)
    written = write_predictions(
        output, file, answer, layout=layout.value, spreadsheet_safe=spreadsheet_safe, progress=bar
    )
    print_written(written, str(output), file.warnings, Output(), single_child=file.single_child)
    if json_file is not None:
        write_json(
            json_file,
            {"output": str(output), "tau": tau, "rule": rule and rule.replace("-", "_"), **written.to_dict()},
        )
