"""`hedgerow evaluate`: measure one model."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.option_groups import GivenSettings, grouped_options
from hedgerow.cli.options import FigureOption, ImagesOption, JsonOption, RulesOption, TemperatureOption
from hedgerow.cli.outputs import bar, check_outputs, check_page, command_line, drawing
from hedgerow.cli.score_input import ScoreInput, connected, end_with_failures, is_many, parts_bar
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
    given: ScoreInput,
    settings: GivenSettings,
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
) -> None:
    """Measure a model's scores at every trade-off between being right and being specific."""
    from hedgerow.measure import MEMBERS, Reliability, evaluate, try_evaluation_folder, with_intervals
    from hedgerow.show import print_evaluation, print_reliability

    inputs = given.inputs(temperature)
    check_outputs(json_file, figure, html, reliability, folder=output, members=MEMBERS, inputs=inputs)
    if output is not None:
        try_evaluation_folder(output)
    if html is not None:
        check_page(html)
    elif images is not None:
        raise ParameterError("--images is for the page: give --html FILE too.")
    draw = drawing(figure, rules)
    calibration: dict[str, Reliability] = {}
    divided_by = 1.0
    if given.is_many:
        if temperature is not None or reliability is not None:
            raise ParameterError(
                "--temperature and --reliability are for one file, not for parts: leave them out."
            )
        found = _parts(given, settings, output)
        found = with_intervals(found, bootstrap, progress=bar) if bootstrap else found
    else:
        as_given = given.open(labels=True)
        opened, divided_by = given.tempered(as_given, temperature)
        found = evaluate(
            opened.hierarchy, opened, name=given.name, replicates=bootstrap, progress=bar, **settings.keywords
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
    divided = [] if temperature is None else ["--temperature", f"{divided_by:g}"]
    answering = [*given.unlabelled().arguments, *replace(settings, below_label=None).arguments]
    again = [*given.tree_arguments, *given.reading.arguments, *settings.arguments]
    print_evaluation(
        found,
        Console(),
        predict=shlex.join([*given.arguments, *given.tree_arguments, *answering, *divided]),
        select=shlex.join([*given.arguments, *again, *divided]),
        answers="'answers/*.csv'" if is_many(given.scores) else "answers.csv",
        compare=shlex.join([*given.scores[:1], "OTHER", *again] if output is None else [str(output), "OTHER"]),
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


def _parts(given: ScoreInput, settings: GivenSettings, output: Path | None) -> Evaluation:
    """Evaluate all parts; if some fail, finish the others, keep what they give, and end."""
    from hedgerow import cluster

    try:
        with connected(given.workers, given.scheduler) as client:
            return cluster.evaluate(
                cluster.expand(given.scores),
                given.tree_of_parts(),
                client,
                name=given.name,
                reading=given.reading,
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
