"""`hedgerow predict`: answer every example."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    PartsArgument,
    RenormaliseOption,
    RootOption,
    ScoreReading,
    SeparatorOption,
    TreeFile,
    TreeFormatOption,
    TreeOption,
    bar,
    check_outputs,
    is_many,
    local,
    open_any_scores,
    write_json,
)
from hedgerow.cli.parts import (
    SchedulerOption,
    WorkersOption,
    check_parts,
    connected,
    end_with_failures,
    keywords,
    parts_bar,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.score_files import Written


@app.command(
    epilog="Examples:\n\nhedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv\n\n"
    "hedgerow predict scores.parquet --tree tree.csv --rule majority -o answers.parquet\n\n"
    "hedgerow predict 'scores/*.npz' --tree tree.csv --tau 0.8 -o 'answers/*.csv' --workers 4\n\n"
    "hedgerow predict runs/quick --data new.npz --tau 0.8 -o answers.csv",
)
def predict(
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
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Write an answer for every example: name, rank or depth, confidence, lineage."""
    from hedgerow.infer import answering_rule
    from hedgerow.score_files import write_predictions
    from hedgerow.show import print_written

    many = is_many(scores) or workers is not None or scheduler is not None
    inputs = local(scores)
    if not many:
        check_outputs(output, json_file, inputs=(*inputs, tree, data))
    answer = answering_rule(tau, rule, information.value)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    reading = ScoreReading(logits, renormalise, label_column, id_column, class_columns, class_prefix, delimiter)
    warnings: list[str] = []
    if many:
        tree_file = check_parts(scores, tree_file, data)
        written = _many(scores, output, json_file, answer, tree_file, reading, workers, scheduler)
    else:
        file = open_any_scores(inputs[0], tree_file, data, reading, labels=False)
        written = write_predictions(output, file, answer, progress=bar)
        warnings = file.warnings
    print_written(written, str(output), warnings, Output())
    if json_file is not None:
        write_json(
            json_file,
            {"output": str(output), "tau": tau, "rule": rule and rule.replace("-", "_"), **written.to_dict()},
        )


def _many(
    scores: list[str],
    output: Path,
    json_file: Path | None,
    answer: Callable[..., Any],
    tree: TreeFile,
    reading: ScoreReading,
    workers: int | None,
    scheduler: str | None,
) -> Written:
    """Write the answers to every part; if parts fail, finish the others and end."""
    from hedgerow import cluster

    parts = cluster.expand(scores)
    outputs = [Path(path) for path in cluster.output_names(parts, str(output)).values()]
    check_outputs(json_file, *outputs, folder=output.parent, inputs=(*local(scores), tree.path))
    try:
        with connected(workers, scheduler) as client:
            return cluster.predict(
                parts, tree.read(), answer, output, client, reading=keywords(reading), progress=parts_bar
            )
    except cluster.PartsError as error:
        end_with_failures(error, f"The answers to the other parts are in {output}.")
