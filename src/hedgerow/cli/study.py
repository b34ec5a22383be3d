"""`hedgerow study`: the paper's experiments, over any recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import JsonOption
from hedgerow.cli.outputs import check_outputs, explaining_interrupts
from hedgerow.cli.score_input import connected
from hedgerow.errors import ParameterError
from hedgerow.files import write_json

ImportOption = Annotated[
    list[Path] | None,
    typer.Option("--import", metavar="FILE", help="Merge records made elsewhere.", show_default=False),
]
PackOption = Annotated[
    Path | None,
    typer.Option("--pack", metavar="FILE", help="Write all records to one .zip for --import.", show_default=False),
]
LimitOption = Annotated[
    float | None,
    typer.Option("--limit", min=0, metavar="SECONDS", help="Start no cell after SECONDS.", show_default=False),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run cells on a Dask cluster, whose workers have one thread each.",
        show_default=False,
    ),
]


@app.command(
    epilog="Examples:\n\nhedgerow study main glyphs-quick -o studies/quick\n\n"
    "hedgerow study all glyphs --seeds 3 -o studies/glyphs\n\n"
    "hedgerow study main inat21mini-resnet18 --set data.path=inat21 -o studies/inat"
)
def study(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="main, unseen, levels, hyper_parameters, calibration, long_tail, mixed_granularity, "
            "out_of_scope; several with commas; or all.",
            show_default=False,
        ),
    ],
    recipe: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="A built-in recipe, or a .toml file.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder for records and results.", show_default=False),
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 1,
    chosen: Annotated[
        str | None,
        typer.Option("--methods", metavar="A,B,...", help="Methods; by default all nine.", show_default=False),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change the recipe, as in optimiser.lr=0.05.", show_default=False
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Cells to run at the same time; by default one per core, or 4 on a GPU, as memory allows.",
            show_default=False,
        ),
    ] = None,
    imports: ImportOption = None,
    pack: PackOption = None,
    limit: LimitOption = None,
    scheduler: SchedulerOption = None,
    figures: Annotated[bool, typer.Option(help="Draw the figures too.")] = True,
    json_file: JsonOption = None,
) -> None:
    """Run the paper's experiments: tables, curves, sweeps, levels, unseen classes, and more.

    Finished work is kept: the same command continues where it stopped. The exit status is 1 if a cell failed.
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
            chosen=PAPER_METHODS if chosen is None else [name.strip() for name in chosen.split(",")],
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
