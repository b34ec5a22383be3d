"""`hedgerow report`: one HTML page about one or more models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.options import (
    MEASURE,
    GivenSettings,
    ImagesOption,
    JsonOption,
    MetricsOption,
    option,
    positional,
    verb,
)
from hedgerow.cli.outputs import bar, check_outputs, check_page, command_line, named_metrics
from hedgerow.cli.score_input import FileReading, is_run
from hedgerow.errors import ParameterError
from hedgerow.files import is_pattern, write_json


@verb(
    "hedgerow report results/model-a results/model-b -o report.html",
    "hedgerow report scores.npz --tree tree.csv --images photos -o report.html",
    panel=MEASURE,
    first=("output", "tree", "format", "point"),
)
def report(
    given: FileReading,
    settings: GivenSettings,
    systems: Annotated[
        list[Path], positional("EVAL", "Evaluation folders, training runs, or score files with --tree.")
    ],
    output: Annotated[Path, option("FILE", "Write the page to FILE.", "-o", "--output")],
    json_file: JsonOption = None,
    point: Annotated[
        Path | None, option("FILE", "Mark an operating point from hedgerow select, and what it promises.")
    ] = None,
    title: Annotated[
        str | None, option("TEXT", "The heading of the page.", shown="the names of the models")
    ] = None,
    images: ImagesOption = None,
    metrics: MetricsOption = None,
) -> None:
    """Make one HTML page about one or more models, with a slider over all operating points.

    The page is a single file that needs no network.
    """
    from hedgerow.choose import OperatingPoint
    from hedgerow.show import write_report

    for system in systems:
        if is_pattern(str(system)) and not system.exists():
            raise ParameterError(
                f"A page shows single files, not the parts {system}. Evaluate them first, with -o FOLDER, then "
                f"give that folder: hedgerow report FOLDER."
            )
    check_outputs(output, json_file, inputs=(*systems, given.tree, point, *given.reading.files))
    check_page(output)
    from hedgerow.show.page import PageModel, PagePoint

    chosen = None if point is None else OperatingPoint.load(point)
    hierarchy, options = given.hierarchy(), settings.keywords | {"metrics": named_metrics(metrics)}
    models = [
        replace(PageModel.of(given.evaluation(path, hierarchy, options)), **_of_run(path, given))
        for path in systems
    ]
    evaluations = [model.evaluation for model in models if model.evaluation is not None]
    marked = None if chosen is None else PagePoint.of(chosen, evaluations)
    with bar("Making the page", None):
        write_report(output, models, title=title, point=marked, images=images, command=command_line())
    if json_file is not None:
        write_json(json_file, {"systems": [evaluation.to_dict() for evaluation in evaluations]})
    typer.echo(f"The page is in {output}: open it in a browser.", err=True)


def _of_run(path: Path, given: FileReading) -> dict[str, Any]:
    """Return the recipe of a training run, and its images, if any."""
    if not is_run(path):
        return {}
    from hedgerow.learn.training.run_folder import RunFolder

    run = RunFolder(path, tuple(given.trust or ()))
    return {"recipe": run.recipe().to_toml(), "picture": run.pictures()}
