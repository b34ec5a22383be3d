"""`hedgerow evaluate`: measure one model."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    DataOption,
    FigureOption,
    ImagesOption,
    JsonOption,
    PartsArgument,
    RulesOption,
    TemperatureOption,
    TreeOption,
)
from hedgerow.cli.outputs import bar, check_outputs, check_page, command_line, drawing
from hedgerow.cli.parts import (
    SchedulerOption,
    WorkersOption,
    check_parts,
    connected,
    end_with_failures,
    is_many,
    keywords,
    local,
    name_of_parts,
    parts_bar,
)
from hedgerow.cli.reading import ScoreReading, TreeFile, TreeReading, grouped_options
from hedgerow.cli.scores import name_of, named_file, open_any_scores, with_temperature
from hedgerow.cli.settings import GivenSettings
from hedgerow.errors import ParameterError
from hedgerow.files import write_json

if TYPE_CHECKING:
    from hedgerow.measure import Evaluation


@app.command(
    epilog="Examples:\n\nhedgerow evaluate scores.npz --tree tree.csv\n\n"
    "hedgerow evaluate sintax.txt --tree tree.csv --labels labels.csv --json e.json\n\n"
    "hedgerow evaluate scores.csv --tree tree.csv --logits -o results/model-a\n\n"
    "hedgerow evaluate scores.parquet --tree tree.csv --bootstrap 1000\n\n"
    "hedgerow evaluate 'scores/*.npz' --tree tree.csv --workers 2 -o results/all\n\n"
    "hedgerow evaluate runs/quick"
)
@grouped_options()
def evaluate(
    reading: ScoreReading,
    tree_reading: TreeReading,
    settings: GivenSettings,
    scores: PartsArgument,
    tree: TreeOption = None,
    data: DataOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Save the evaluation in DIR.", show_default=False),
    ] = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page with a slider to FILE: see report.", show_default=False),
    ] = None,
    images: ImagesOption = None,
    rules: RulesOption = None,
    temperature: TemperatureOption = None,
    reliability: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw confidence against accuracy at each depth: .png, .pdf.", show_default=False
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add intervals from N bootstrap replicates, such as 1000.")
    ] = 0,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Measure a model's scores at every trade-off between being right and being specific."""
    from hedgerow.measure import MEMBERS, Reliability, evaluate, try_evaluation_folder, with_intervals
    from hedgerow.show import print_evaluation, print_reliability

    many = is_many(scores) or workers is not None or scheduler is not None
    inputs = (*local(scores), tree, data, *reading.files, *named_file(temperature))
    check_outputs(json_file, figure, html, reliability, folder=output, members=MEMBERS, inputs=inputs)
    if output is not None:
        try_evaluation_folder(output)
    if html is not None:
        check_page(html)
    elif images is not None:
        raise ParameterError("--images is for the page: give --html FILE too.")
    draw = drawing(figure, rules)
    tree_file = tree_reading.file(tree)
    calibration: dict[str, Reliability] = {}
    divided_by = 1.0
    if many:
        if temperature is not None or reliability is not None:
            raise ParameterError(
                "--temperature and --reliability are for one file, not for parts: leave them out."
            )
        tree_file = check_parts(scores, tree_file, data)
        found = _parts(scores, tree_file, reading, settings, output, workers, scheduler)
        found = with_intervals(found, bootstrap, progress=bar) if bootstrap else found
    else:
        path = Path(scores[0])
        as_given = open_any_scores(path, tree_file, data, reading, labels=True)
        opened, divided_by = with_temperature(as_given, temperature, tree_file, reading)
        found = evaluate(
            opened.hierarchy, opened, name=name_of(path), replicates=bootstrap, progress=bar, **settings.keywords
        )
        if temperature is not None or reliability is not None:
            calibration["as given"] = Reliability.of(as_given.hierarchy, as_given)
        if temperature is not None:
            calibration[f"divided by {divided_by:g}"] = Reliability.of(opened.hierarchy, opened)
    if calibration:
        print_reliability(calibration, Console())
    if reliability is not None:
        from hedgerow.show.figures import reliability_figure, save_figure

        save_figure(reliability_figure(calibration), reliability)
    tree_given = [] if tree_file is None else tree_file.arguments
    answering = replace(settings, below_label=None).arguments
    divided = [] if temperature is None else ["--temperature", f"{divided_by:g}"]
    examples = [*scores, *([] if data is None else ["--data", str(data)])]
    unlabelled = reading.unlabelled(local(scores))
    again = [*tree_given, *reading.arguments, *settings.arguments]
    print_evaluation(
        found,
        Console(),
        predict=shlex.join([*examples, *tree_given, *unlabelled.arguments, *answering, *divided]),
        select=shlex.join([*examples, *again, *divided]),
        answers="'answers/*.csv'" if is_many(scores) else "answers.csv",
        compare=shlex.join([*scores[:1], "OTHER", *again] if output is None else [str(output), "OTHER"]),
    )
    if output is not None:
        with bar("Saving", None):
            found.save(output)
        typer.echo(f"The evaluation is in {output}.", err=True)
    if json_file is not None:
        more = {name: each.to_dict() for name, each in calibration.items()}
        write_json(json_file, found.to_dict() | ({"calibration": more} if more else {}))
    draw([found])
    if html is not None:
        with bar("Making the page", None):
            found.to_html(html, images=images, command=command_line())
        typer.echo(f"The page is in {html}: open it in a browser.", err=True)


def _parts(
    scores: list[str],
    tree: TreeFile,
    reading: ScoreReading,
    settings: GivenSettings,
    output: Path | None,
    workers: int | None,
    scheduler: str | None,
) -> Evaluation:
    """Evaluate all parts; if some fail, finish the others, keep what they give, and end."""
    from hedgerow import cluster

    try:
        with connected(workers, scheduler) as client:
            return cluster.evaluate(
                cluster.expand(scores),
                tree.read(),
                client,
                name=name_of_parts(scores),
                reading=keywords(reading),
                progress=parts_bar,
                **settings.keywords,
            )
    except cluster.PartsError as error:
        if output is None or error.finished is None:
            end_with_failures(error, "Nothing is written: the figures would not be those of all parts.")
        error.finished.save(output)
        end_with_failures(
            error,
            f"The evaluation of the other parts is in {output}. Evaluate these into another folder, then put both "
            f"together: hedgerow merge {output} OTHER -o ALL",
        )
