"""`hedgerow predict`: answer every example."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    ClassColumnsOption,
    ClassPrefixOption,
    DataOption,
    DelimiterOption,
    DisambiguateOption,
    IdColumnOption,
    Information,
    InformationOption,
    JsonOption,
    LabelColumnOption,
    LogitsOption,
    NaOption,
    Output,
    RenormaliseOption,
    RootOption,
    ScoreReading,
    ScoresArgument,
    SeparatorOption,
    TreeFile,
    TreeFormatOption,
    TreeOption,
    TrustOption,
    bar,
    check_outputs,
    open_any_scores,
    write_json,
)


@app.command(
    epilog="Examples:\n\nhedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv\n\n"
    "hedgerow predict scores.parquet --tree tree.csv --rule majority -o answers.parquet\n\n"
    "hedgerow predict runs/quick --data new.npz --tau 0.8 -o answers.csv",
)
def predict(
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
    trust: TrustOption = None,
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
    json_file: JsonOption = None,
    logits: LogitsOption = False,
    renormalise: RenormaliseOption = False,
    label_column: LabelColumnOption = None,
    id_column: IdColumnOption = None,
    class_columns: ClassColumnsOption = None,
    class_prefix: ClassPrefixOption = None,
    delimiter: DelimiterOption = None,
    information: InformationOption = Information.leaves,
) -> None:
    """Write an answer for every example: name, rank or depth, confidence, lineage."""
    from hedgerow.infer import answering_rule
    from hedgerow.score_files import write_predictions
    from hedgerow.show import print_written

    check_outputs(output, json_file, inputs=(scores, tree, data))
    answer = answering_rule(tau, rule, information.value)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    reading = ScoreReading(logits, renormalise, label_column, id_column, class_columns, class_prefix, delimiter)
    file = open_any_scores(scores, tree_file, data, reading, labels=False, trust=trust)
    written = write_predictions(output, file, answer, progress=bar)
    print_written(written, str(output), file.warnings, Output())
    if json_file is not None:
        write_json(
            json_file,
            {"output": str(output), "tau": tau, "rule": rule and rule.replace("-", "_"), **written.to_dict()},
        )
