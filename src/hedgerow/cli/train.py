"""`hedgerow train`: from labelled data to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import JsonOption
from hedgerow.cli.outputs import check_outputs, explaining_interrupts
from hedgerow.files import write_json


@app.command(
    epilog="Examples:\n\nhedgerow train glyphs-quick -o runs/quick\n\n"
    "hedgerow train features-linear --set data.path=f.npz --set data.tree=tree.csv\n\n"
    "hedgerow train features-linear --show"
)
def train(
    recipe: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="A built-in recipe, or a .toml file.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder for the run: new, or empty.", show_default="runs/RECIPE"
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change the recipe, as in optimiser.lr=0.05.", show_default=False
        ),
    ] = None,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Number of devices: sets run.devices.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in DIR.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print the recipe with every field explained, and exit.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Train a model that can answer with any node of the tree.

    Built-in recipes: glyphs-quick, glyphs, features-linear, images, inat21mini-resnet18, imagenet-resnet50.
    """
    from hedgerow.learn.training.recipe import Recipe

    chosen = Recipe.load(recipe, [*(changes or []), *([] if devices is None else [f"run.devices={devices}"])])
    if show:
        typer.echo(chosen.to_toml(explained=True))
        return
    from hedgerow.learn.training.console import print_run
    from hedgerow.learn.training.run import train

    folder = Path("runs", Path(recipe).stem) if output is None else output
    check_outputs(json_file, folder=folder, inputs=(Path(recipe),))
    with explaining_interrupts("Finished epochs are kept: run the same command with --resume to continue."):
        run = train(chosen, folder, resume=resume)
    print_run(run, Console())
    if json_file is not None:
        write_json(json_file, run.metrics())
