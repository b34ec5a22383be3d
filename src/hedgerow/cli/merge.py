"""`hedgerow merge`: one evaluation from the states of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import FigureOption, JsonOption, RulesOption
from hedgerow.cli.outputs import bar, check_outputs, drawing
from hedgerow.files import write_json


@app.command(
    epilog="Examples:\n\nhedgerow evaluate part-1.npz --tree tree.csv --state part-1.state\n\n"
    "hedgerow merge 'part-*.state' -o results/all"
)
def merge(
    states: Annotated[
        list[str],
        typer.Argument(
            metavar="STATE...",
            help="States written by hedgerow evaluate --state, or patterns in quotes, such as 'states/*'.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Save the evaluation in DIR.", show_default=False),
    ] = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    rules: RulesOption = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="FILE", help="Write all examples as one state.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the model.", show_default="that of DIR")
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add intervals from N bootstrap replicates, such as 1000.")
    ] = 0,
) -> None:
    """Merge the states of parts: the evaluation is the same, bit for bit, as that of all parts in one pass.

    States may come from anywhere and in any order. Those of another tree or with other settings are refused.
    """
    from hedgerow import cluster
    from hedgerow.measure import MEMBERS, measured, try_evaluation_folder
    from hedgerow.show import print_evaluation

    paths = cluster.expand(states)
    check_outputs(json_file, figure, state, folder=output, members=MEMBERS, inputs=[Path(path) for path in paths])
    if output is not None:
        try_evaluation_folder(output)
    draw = drawing(figure, rules)
    with bar("Reading states", len(paths)) as advance:
        builder = cluster.merge(paths, done=lambda: advance(1))
    title = name or (output.resolve().name if output is not None else "merged")
    found = measured(builder, name=title, replicates=bootstrap, progress=bar)
    print_evaluation(found, Console(), compare="THIS OTHER" if output is None else f"{output} OTHER")
    if state is not None:
        builder.save(state)
        typer.echo(f"The state of all parts is in {state}.", err=True)
    if output is not None:
        found.save(output)
        typer.echo(f"The evaluation is in {output}.", err=True)
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw([found])
