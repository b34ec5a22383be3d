"""`hedgerow evaluate`: measure one model."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hedgerow.cli.options import (
    MEASURE,
    BootstrapOption,
    EvaluationOption,
    FigureOption,
    GivenSettings,
    ImagesOption,
    JsonOption,
    MetricsOption,
    RulesOption,
    TableOption,
    TemperatureOption,
    option,
    verb,
)
from hedgerow.cli.outputs import (
    bar,
    check_outputs,
    check_page,
    command_line,
    drawing,
    named_metrics,
    save_evaluation,
    save_tables,
)
from hedgerow.cli.score_input import ScoreInput, connected, end_with_failures, is_many
from hedgerow.errors import ParameterError
from hedgerow.files import write_json

if TYPE_CHECKING:
    from hedgerow.measure import Evaluation


@verb(
    "hedgerow evaluate scores.npz --tree tree.csv",
    "hedgerow evaluate sintax.txt --tree tree.csv --labels labels.csv --json e.json",
    "hedgerow evaluate scores.csv --tree tree.csv --logits -o results/model-a",
    "hedgerow evaluate scores.parquet --tree tree.csv --bootstrap 1000",
    "hedgerow evaluate 'scores/*.npz' --tree tree.csv --workers 2 -o results/all",
    "hedgerow evaluate runs/quick",
    panel=MEASURE,
    first=("tree", "format", "labels_file", "output"),
)
def evaluate(
    given: ScoreInput,
    settings: GivenSettings,
    output: EvaluationOption = None,
    json_file: JsonOption = None,
    table: TableOption = None,
    metrics: MetricsOption = None,
    figure: FigureOption = None,
    rules: RulesOption = None,
    html: Annotated[Path | None, option("FILE", "Write a page with a slider to FILE: see report.")] = None,
    images: ImagesOption = None,
    bootstrap: BootstrapOption = 0,
    temperature: TemperatureOption = None,
    reliability: Annotated[
        Path | None, option("FILE", "Draw confidence against accuracy at each depth: .png, .pdf or .svg.")
    ] = None,
) -> None:
    """Measure a model's scores at every trade-off between being right and being specific."""
    from hedgerow.measure import Reliability, evaluate, with_intervals
    from hedgerow.show import check_tables
    from hedgerow.show.printed_evaluation import print_evaluation, print_reliability

    check_outputs(json_file, table, figure, html, reliability, evaluation=output, inputs=given.inputs(temperature))
    if html is not None:
        check_page(html)
    elif images is not None:
        raise ParameterError("--images is for the page: give --html FILE too.")
    if table is not None:
        check_tables(table)
    draw, measured = drawing(figure, rules), named_metrics(metrics)
    calibration: dict[str, Reliability] = {}
    divided: list[str] = []
    if given.is_many:
        if temperature is not None or reliability is not None:
            raise ParameterError(
                "--temperature and --reliability are for one file, not for parts: leave them out."
            )
        found = _evaluate_parts(given, settings, output).measuring(measured)
        found = with_intervals(found, bootstrap, progress=bar) if bootstrap else found
    else:
        as_given = given.open(labels=True)
        opened, divided_by = given.tempered(as_given, temperature)
        found = evaluate(
            opened.hierarchy,
            opened,
            name=given.name,
            metrics=measured,
            replicates=bootstrap,
            progress=bar,
            **settings.keywords,
        )
        if temperature is not None or reliability is not None:
            calibration["as given"] = Reliability.of(as_given.hierarchy, as_given)
        if temperature is not None:
            calibration[f"divided by {divided_by:g}"] = Reliability.of(opened.hierarchy, opened)
            divided = ["--temperature", f"{divided_by:g}"]
    if calibration:
        print_reliability(calibration, Console())
    if reliability is not None:
        from hedgerow.show.figures import reliability_figure, save_figure

        save_figure(reliability_figure(calibration), reliability)
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
    save_evaluation(found, output)
    if json_file is not None:
        more = {name: each.to_dict() for name, each in calibration.items()}
        write_json(json_file, found.to_dict() | ({"calibration": more} if more else {}))
    save_tables(found, table)
    draw([found])
    if html is not None:
        with bar("Making the page", None):
            found.to_html(html, images=images, command=command_line())
        typer.echo(f"The page is in {html}: open it in a browser.", err=True)


def _evaluate_parts(given: ScoreInput, settings: GivenSettings, output: Path | None) -> Evaluation:
    """Evaluate all parts; if some fail, finish the others, keep their results, and end."""
    from hedgerow.cluster import PartsError

    try:
        with connected(given.workers, given.scheduler) as client:
            return given.evaluation_of_parts(given.scores, given.tree_of_parts(), client, settings.keywords)
    except PartsError as error:
        if output is None or error.finished is None:
            end_with_failures(error, "Nothing is written: the numbers would not be those of all parts.")
        error.finished.save(output)
        end_with_failures(
            error,
            f"The evaluation of the other parts is in {output}. Evaluate these into another folder, then merge "
            f"the two: hedgerow merge {output} OTHER -o ALL",
        )
