"""`hedgerow study`: the paper's experiments, over any recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.options import (
    TRAIN,
    ChangesOption,
    JsonOption,
    MetricsOption,
    RecipeArgument,
    option,
    positional,
    verb,
)
from hedgerow.cli.outputs import check_outputs, explaining_interrupts
from hedgerow.cli.score_input import connected
from hedgerow.errors import ParameterError
from hedgerow.files import write_json


@verb(
    "hedgerow study main glyphs-quick --no-tune -o studies/quick",
    "hedgerow study all glyphs --seeds 3 -o studies/glyphs",
    "hedgerow study main inat21mini-resnet18 --set data.path=inat21 -o studies/inat",
    panel=TRAIN,
    first=("output", "chosen", "seeds", "changes"),
)
def study(
    experiment: Annotated[
        str,
        positional(
            "EXPERIMENT",
            "main, tuning, unseen, levels, hyper_parameters, calibration, long_tail, mixed_granularity, "
            "out_of_scope; several with commas; or all.",
        ),
    ],
    recipe: RecipeArgument,
    output: Annotated[Path, option("DIR", "Folder for records and results.", "-o", "--output")],
    json_file: JsonOption = None,
    seeds: Annotated[int, option("N", "Number of seeds.", shown=True, min=1)] = 1,
    tune: Annotated[
        bool, typer.Option(help="Choose the learning rate of each method on the validation data.")
    ] = True,
    chosen: Annotated[str | None, option("A,B,...", "Methods.", "--methods", shown="all nine")] = None,
    changes: ChangesOption = None,
    metrics: MetricsOption = None,
    figures: Annotated[bool, typer.Option(help="Draw the figures too.")] = True,
    imports: Annotated[
        list[Path] | None, option("FILE", "Add records made elsewhere; may be repeated.", "--import")
    ] = None,
    pack: Annotated[Path | None, option("FILE", "Write all records to one .zip for --import.")] = None,
    limit: Annotated[float | None, option("SECONDS", "Start no cell after SECONDS.", min=0)] = None,
    jobs: Annotated[
        int | None,
        option("N", "Cells to run at a time.", shown="one per core, or 4 on a GPU, as memory allows", min=1),
    ] = None,
    scheduler: Annotated[
        str | None, option("ADDRESS", "Run cells on a Dask cluster, whose workers have one thread each.")
    ] = None,
) -> None:
    """Run the paper's experiments: tables, curves, sweeps, levels, unseen classes, and more.

    The same command continues where it stopped. The exit status is 1 if a cell failed.
    """
    from hedgerow.learn.training.recipe import Recipe
    from hedgerow.study.cells import PAPER_METHODS
    from hedgerow.study.printing import print_report, study_bar
    from hedgerow.study.records import Records
    from hedgerow.study.run import study

    check_outputs(json_file, pack, folder=output, inputs=(Path(recipe), *(imports or [])))
    if jobs is not None and scheduler is not None:
        raise ParameterError("Give --jobs for processes here, or --scheduler for a cluster, not both.")
    with (
        explaining_interrupts("Finished cells are kept: run the same command to continue."),
        connected(None, scheduler) as client,
    ):
        report = study(
            experiment.split(","),
            Recipe.load(recipe, changes or []),
            output,
            seeds=seeds,
            tune=tune,
            chosen=PAPER_METHODS if chosen is None else [name.strip() for name in chosen.split(",")],
            measured=[name.strip() for name in metrics.split(",")] if metrics else [],
            jobs=jobs,
            imports=imports or [],
            limit=limit,
            draw=figures,
            progress=study_bar,
            client=client,
        )
    print_report(report, Console())
    if json_file is not None:
        write_json(json_file, report.to_dict())
    if pack is not None:
        typer.echo(f"{Records(output / 'records').pack(pack)} records are in {pack}.")
    if report.failures:
        raise typer.Exit(1)
