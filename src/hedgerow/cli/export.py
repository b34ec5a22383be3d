"""`hedgerow export`: the decision at a point, for programs without hedgerow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from hedgerow.cli.options import ANSWER, RUNS, option, positional, verb
from hedgerow.cli.outputs import check_outputs
from hedgerow.cli.score_input import is_run
from hedgerow.errors import ParameterError, options
from hedgerow.files import require_file

if TYPE_CHECKING:
    from hedgerow.choose import OperatingPoint


@verb(
    "hedgerow export point.json -o app/",
    "hedgerow export point.json -o tail.onnx",
    "hedgerow export runs/quick --point point.json -o model.onnx",
    panel=ANSWER,
    first=("output", "point", "logits", "nodes"),
)
def export(
    source: Annotated[
        Path, positional("POINT|RUN", "A point that hedgerow select wrote, or the folder of a training run.")
    ],
    *,
    output: Annotated[
        Path,
        option("FILE.onnx|FOLDER/", "Where to write: an ONNX file; or a folder for browsers.", "-o", "--output"),
    ],
    point: Annotated[Path | None, option("FILE", "The operating point of a training run.")] = None,
    logits: Annotated[
        bool, option(None, "The input of the ONNX file is logits of the leaves, not probabilities.", "--logits")
    ] = False,
    nodes: Annotated[
        bool, option(None, "The input is likelihoods of all nodes, on the scale of the point.", "--nodes")
    ] = False,
    double: Annotated[bool, option(None, "The input is in double precision, not in single.", "--double")] = False,
    trust: Annotated[
        list[str] | None,
        option("PACKAGE.MODULE:NAME", "A model or method of your own that a training run may import.", panel=RUNS),
    ] = None,
) -> None:
    """Write what a program without hedgerow needs to answer at a point.

    An ONNX file turns scores, or the inputs of a model, into answers; a folder has hedgerow.js and a page.
    """
    from hedgerow.choose import OperatingPoint
    from hedgerow.export import save_onnx, write_app
    from hedgerow.show import print_text, promises

    to_onnx, of_run = output.suffix.lower() == ".onnx", is_run(source)
    if not of_run:
        require_file(source)
    if not to_onnx and (output.suffix or of_run):
        what = "A training run is written to an .onnx file" if of_run else "Write an .onnx file, or a folder: app/"
        raise ParameterError(f"{output}: {what}.")
    if of_run == (point is None):
        told = "give the point too: --point point.json" if of_run else "leave out --point, or give a training run"
        raise ParameterError(f"{source} is {'a' if of_run else 'no'} training run: {told}.")
    shapes = options(logits=logits or None, nodes=nodes or None, double=double or None)
    if shapes and (of_run or not to_onnx):
        raise ParameterError(f"{shapes[0]} is for points as ONNX files: leave it out.")
    if logits and nodes:
        raise ParameterError("Give either --logits or --nodes, not both.")
    if trust and not of_run:
        raise ParameterError(f"--trust is for training runs, and {source} is not one: leave out --trust.")
    check_outputs(output if to_onnx else None, folder=None if to_onnx else output, inputs=[source, point])
    chosen = OperatingPoint.load(point or source)
    if to_onnx:
        save_onnx(_model(source, chosen, trust) if of_run else _tail(chosen, logits, nodes, double), output)
        said = f"The model is in {output}."
    else:
        page = write_app(chosen, output)[-1]
        said = f"Open {page} in a browser to try the point; programs use the other files in {output}."
    for line in promises(chosen):
        print_text(Console(), line)
    typer.echo(said, err=True)


def _tail(point: OperatingPoint, logits: bool, nodes: bool, double: bool) -> Any:
    from hedgerow.export import onnx_model

    return onnx_model(point, "logits" if logits else "likelihoods" if nodes else None, double=double)


def _model(run: Path, point: OperatingPoint, trust: list[str] | None) -> Any:
    from hedgerow.learn.training.run_folder import RunFolder
    from hedgerow.learn.training.run_onnx import run_onnx

    return run_onnx(RunFolder(run, tuple(trust or ())), point)
