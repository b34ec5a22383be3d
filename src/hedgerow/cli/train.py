"""`hedgerow train`: from labelled data to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.options import TRAIN, ChangesOption, JsonOption, RecipeArgument, option, verb
from hedgerow.cli.outputs import check_outputs, explaining_interrupts
from hedgerow.files import write_json


@verb(
    "hedgerow train glyphs-quick -o runs/quick",
    "hedgerow train features-linear --set data.path=f.npz --set data.tree=tree.csv",
    "hedgerow train features-linear --show",
    panel=TRAIN,
    first=("output", "changes", "resume", "show"),
)
def train(
    recipe: RecipeArgument,
    output: Annotated[
        Path | None,
        option("DIR", "Folder for the run: new, or empty.", "-o", "--output", shown="runs/RECIPE"),
    ] = None,
    json_file: JsonOption = None,
    changes: ChangesOption = None,
    devices: Annotated[int | None, option("N", "Number of devices: sets run.devices.", min=1)] = None,
    resume: Annotated[bool, option(None, "Continue the run in DIR.", "--resume")] = False,
    show: Annotated[
        bool, option(None, "Print the recipe, with its fields explained, and exit.", "--show")
    ] = False,
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
