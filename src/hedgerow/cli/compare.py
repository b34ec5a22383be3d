"""`hedgerow compare`: compare models."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from hedgerow.cli.options import (
    MEASURE,
    FigureOption,
    GivenSettings,
    JsonOption,
    MetricsOption,
    RulesOption,
    SchedulerOption,
    TableOption,
    WorkersOption,
    option,
    positional,
    verb,
)
from hedgerow.cli.outputs import bar, check_outputs, drawing, named_metrics, save_tables
from hedgerow.cli.score_input import FileReading, connected, end_with_failures, is_many
from hedgerow.files import is_pattern, write_json


class Against(StrEnum):
    """What to compare with."""

    first = "first"
    best = "best"


@verb(
    "hedgerow compare results/model-a results/model-b --figure curves.pdf",
    "hedgerow compare a.npz b.npz c.npz --tree tree.csv --against best",
    panel=MEASURE,
    first=("tree", "format", "figure", "table"),
)
def compare(
    given: FileReading,
    settings: GivenSettings,
    systems: Annotated[
        list[str],
        positional(
            "SYSTEM",
            "Evaluation folders, training runs, or score files with --tree. A pattern in quotes such as "
            "'a/*.npz' is one model.",
        ),
    ],
    json_file: JsonOption = None,
    table: TableOption = None,
    metrics: MetricsOption = None,
    figure: FigureOption = None,
    rules: RulesOption = None,
    against: Annotated[
        Against, option("first|best", "Compare with the first model, or with the best one by AP.", shown=True)
    ] = Against.first,
    bootstrap: Annotated[
        int, option("N", "Number of paired bootstrap replicates; 0 for none.", shown=True, min=0)
    ] = 1000,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Compare several models, and say whether their differences are real."""
    from hedgerow import cluster
    from hedgerow.measure import Evaluation, compare
    from hedgerow.show import check_tables
    from hedgerow.show.printed_evaluation import print_comparison

    single = [Path(system) for system in systems if not is_many([system])]
    parts = [Path(part) for system in systems if is_pattern(system) for part in cluster.expand([system])]
    check_outputs(json_file, table, figure, inputs=(*single, *parts, given.tree, *given.reading.files))
    if table is not None:
        check_tables(table)
    draw, measured = drawing(figure, rules), named_metrics(metrics)
    hierarchy = given.hierarchy()

    def evaluation(system: str, client: Any) -> Evaluation:
        if not is_many([system]):
            return given.evaluation(Path(system), hierarchy, settings.keywords)
        return given.evaluation_of_parts(
            [system], hierarchy or given.required_tree(system), client, settings.keywords
        )

    try:
        with connected(workers, scheduler) as client:
            evaluations = [evaluation(system, client).measuring(measured) for system in systems]
    except cluster.PartsError as error:
        end_with_failures(error, "Nothing is compared: the numbers would not be those of all parts.")
    found = compare(
        *evaluations,
        reference="best" if against is Against.best else 0,
        replicates=bootstrap,
        progress=bar,
    )
    print_comparison(found, Console())
    if json_file is not None:
        write_json(json_file, found.to_dict())
    save_tables(found, table)
    draw(found.evaluations)
