"""`hedgerow export`: the decision at a point, for programs without hedgerow."""

from __future__ import annotations

from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.choose import OperatingPoint
from hedgerow.cli.options import ANSWER, MORE, RUNS, option, positional, verb
from hedgerow.cli.outputs import check_outputs
from hedgerow.cli.score_input import is_run
from hedgerow.errors import ParameterError, option_name
from hedgerow.export import EXPORTERS, save_onnx
from hedgerow.files import require_file

_WRITES = "; ".join(f"{name}: {each.what}" for name, each in EXPORTERS.items())
_FLAGS = {name: text for each in EXPORTERS.values() for name, text in each.flags.items()}
Flags = make_dataclass(
    "Flags",
    [(name, bool, field(default=False, metadata={"help": text})) for name, text in _FLAGS.items()],
    namespace={"panel": MORE},
)
"""The options that only some exporters take."""


@verb(
    "hedgerow export point.json -o app/",
    "hedgerow export point.json -o tail.onnx",
    "hedgerow export runs/quick --point point.json -o model.onnx",
    panel=ANSWER,
    first=("output", "point"),
)
def export(
    source: Annotated[
        Path, positional("POINT|RUN", "A point that hedgerow select wrote, or the folder of a training run.")
    ],
    *,
    output: Annotated[
        Path,
        option("FILE|FOLDER/", f"Where to write ({_WRITES}).", "-o", "--output"),
    ],
    point: Annotated[Path | None, option("FILE", "The operating point of a training run.")] = None,
    flags: Flags,  # type: ignore[valid-type]
    trust: Annotated[
        list[str] | None,
        option("PACKAGE.MODULE:NAME", "A model or method of your own that a training run may import.", panel=RUNS),
    ] = None,
) -> None:
    """Write what a program without hedgerow needs to answer at a point."""
    from hedgerow.show.printed_point import promises
    from hedgerow.show.terminal import print_text

    exporter, of_run = EXPORTERS.find(output.suffix.lower() or "folder"), is_run(source)
    if not of_run:
        require_file(source)
    elif exporter is not EXPORTERS[".onnx"]:
        raise ParameterError(f"{output}: a training run is written to an .onnx file.")
    if of_run == (point is None):
        told = "give the point too: --point point.json" if of_run else "leave out --point, or give a training run"
        raise ParameterError(f"{source} is {'a' if of_run else 'no'} training run: {told}.")
    given = {name: True for name, value in vars(flags).items() if value}
    refused = [option_name(name) for name in given if of_run or name not in exporter.flags]
    if refused:
        raise ParameterError(f"{refused[0]} does not apply to {source if of_run else output}: leave it out.")
    if trust and not of_run:
        raise ParameterError(f"--trust is for training runs, and {source} is not one: leave out --trust.")
    file, folder = (output, None) if output.suffix else (None, output)
    check_outputs(file, folder=folder, inputs=[source, point])
    chosen = OperatingPoint.load(point or source)
    if of_run:
        from hedgerow.learn.training.run_folder import RunFolder
        from hedgerow.learn.training.run_onnx import run_onnx

        save_onnx(run_onnx(RunFolder(source, tuple(trust or ())), chosen), output)
    else:
        exporter.write(chosen, output, **given)
    for line in promises(chosen):
        print_text(Console(), line)
    typer.echo(f"{output} holds {exporter.what}.", err=True)
