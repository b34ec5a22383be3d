"""`hedgerow evaluate`: measure one model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    BelowLabel,
    BelowLabelOption,
    ClassColumnsOption,
    ClassPrefixOption,
    DataOption,
    DelimiterOption,
    DisambiguateOption,
    FigureOption,
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
    RulesOption,
    ScoreReading,
    SeparatorOption,
    TreeFile,
    TreeFormatOption,
    TreeOption,
    bar,
    check_outputs,
    drawing,
    is_many,
    local,
    name_of,
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
    name_of_parts,
    parts_bar,
)

if TYPE_CHECKING:
    from hedgerow.measure import BinnedEvaluation, Evaluation, EvaluationBuilder


@app.command(
    epilog="Examples:\n\nhedgerow evaluate scores.npz --tree tree.csv\n\n"
    "hedgerow evaluate scores.csv --tree tree.csv --logits -o results/model-a --figure curves.pdf\n\n"
    "hedgerow evaluate scores.parquet --tree tree.csv --bootstrap 1000 --json figures.json\n\n"
    "hedgerow evaluate 'scores/*.parquet' --tree tree.csv --workers 8 -o results/all\n\n"
    "hedgerow evaluate runs/quick --data new.npz"
)
def evaluate(
    scores: PartsArgument,
    tree: TreeOption = None,
    data: DataOption = None,
    tree_format: TreeFormatOption = None,
    root: RootOption = "root",
    separator: SeparatorOption = None,
    disambiguate: DisambiguateOption = False,
    na: NaOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Save the evaluation in DIR.", show_default=False),
    ] = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    rules: RulesOption = None,
    logits: LogitsOption = False,
    renormalise: RenormaliseOption = False,
    label_column: LabelColumnOption = None,
    id_column: IdColumnOption = None,
    class_columns: ClassColumnsOption = None,
    class_prefix: ClassPrefixOption = None,
    delimiter: DelimiterOption = None,
    information: InformationOption = Information.leaves,
    below_label: BelowLabelOption = BelowLabel.label,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add intervals from N bootstrap replicates, such as 1000.")
    ] = 0,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Write what hedgerow merge needs of these examples; figures only if asked for.",
            show_default=False,
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Keep sums at N thresholds, not examples: bounded memory; every figure gets a bracket.",
            show_default=False,
        ),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Measure a model's scores at every trade-off between being right and being specific."""
    from hedgerow.measure import MEMBERS, measured, try_evaluation_folder
    from hedgerow.show import print_evaluation

    many = is_many(scores) or any(given is not None for given in (state, bins, workers, scheduler))
    check_outputs(json_file, figure, state, folder=output, members=MEMBERS, inputs=(*local(scores), tree, data))
    if output is not None:
        try_evaluation_folder(output)
    draw = drawing(figure, rules)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    reading = ScoreReading(logits, renormalise, label_column, id_column, class_columns, class_prefix, delimiter)
    settings: dict[str, Any] = {"information": information.value, "below_label": below_label.value}
    found: Evaluation | BinnedEvaluation
    if many:
        tree_file = check_parts(scores, tree_file, data)
        builder = _builder(scores, tree_file, reading, state, workers, scheduler, bins=bins, **settings)
        if state is not None and all(path is None for path in (output, json_file, figure)):
            return
        found = measured(builder, name=name_of_parts(scores), replicates=bootstrap, progress=bar)
    else:
        found = _evaluated(Path(scores[0]), tree_file, data, reading, replicates=bootstrap, **settings)
    again = [
        *([] if tree_file is None else tree_file.arguments),
        *reading.arguments,
        *([] if information is Information.leaves else ["--information", information.value]),
    ]
    print_evaluation(
        found,
        Output(),
        predict=shlex.join([*scores, *([] if data is None else ["--data", str(data)]), *again]),
        answers="'answers/*.csv'" if is_many(scores) else "answers.csv",
        compare=shlex.join([*scores[:1], "OTHER", *again] if output is None else [str(output), "OTHER"]),
    )
    if output is not None:
        with bar("Saving", None):
            found.save(output)
        typer.echo(f"The evaluation is in {output}.", err=True)
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw([found])


def _evaluated(
    scores: Path, tree: TreeFile | None, data: Path | None, reading: ScoreReading, **options: Any
) -> Evaluation:
    """Evaluate one file, or a training run."""
    from hedgerow import measure

    opened = open_any_scores(scores, tree, data, reading, labels=True)
    return measure.evaluate(opened.hierarchy, opened, name=name_of(scores), progress=bar, **options)


def _builder(
    scores: list[str],
    tree: TreeFile,
    reading: ScoreReading,
    state: Path | None,
    workers: int | None,
    scheduler: str | None,
    **settings: Any,
) -> EvaluationBuilder:
    """Return what all parts give, and write it if asked to; if parts fail, finish the others and end."""
    from hedgerow import cluster

    try:
        with connected(workers, scheduler) as client:
            builder = cluster.build(
                cluster.expand(scores),
                tree.read(),
                client,
                reading=keywords(reading),
                progress=parts_bar,
                **settings,
            )
    except cluster.PartsError as error:
        if state is None or error.finished is None:
            end_with_failures(error, "Nothing is written: the figures would not be those of all parts.")
        error.finished.save(state)
        end_with_failures(
            error,
            f"The state of the other parts is in {state}. Evaluate these again into another state, then: hedgerow "
            f"merge {state} OTHER",
        )
    if state is not None:
        builder.save(state)
        typer.echo(f"The state is in {state}. To put states together: hedgerow merge STATE... -o DIR", err=True)
    return builder
