"""`hedgerow export`: the decision of a point, for programs without hedgerow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import option, positional
from hedgerow.cli.outputs import check_outputs
from hedgerow.errors import ParameterError


@app.command(epilog="Examples:\n\nhedgerow export point.json -o app/\n\n")
def export(
    source: Annotated[Path, positional("POINT", "A point that hedgerow select wrote.")],
    output: Annotated[
        Path,
        option("FOLDER/", "What to write: a folder for browsers.", "-o", "--output"),
    ],
) -> None:
    """Write what a program without hedgerow needs to answer at a point."""
    from hedgerow.choose import OperatingPoint
    from hedgerow.export import write_app
    from hedgerow.show import print_text, promises

    if output.suffix:
        raise ParameterError(f"{output}: a point is written to a folder, such as app/.")
    check_outputs(folder=output, inputs=[source])
    point = OperatingPoint.load(source)
    written = write_app(point, output)
    for line in promises(point):
        print_text(Console(), line)
    names = " and ".join(path.name for path in written[:-1])
    typer.echo(f"Open {written[-1]} in a browser to try it; programs use {names}.", err=True)
