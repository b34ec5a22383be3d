"""`hedgerow evaluate`: measure one model."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    BelowLabel,
    BelowLabelOption,
    DataOption,
    DisambiguateOption,
    FigureOption,
    ImagesOption,
    Information,
    InformationOption,
    JsonOption,
    NaOption,
    Output,
    RootOption,
    RulesOption,
    ScoreReading,
    ScoresArgument,
    SeparatorOption,
    TemperatureOption,
    TreeFile,
    TreeFormatOption,
    TreeOption,
    bar,
    check_outputs,
    check_page,
    command_line,
    drawing,
    name_of,
    open_any_scores,
    reads_scores,
    with_temperature,
    write_json,
)
from hedgerow.errors import ParameterError


@app.command(
    epilog="Examples:\n\nhedgerow evaluate scores.npz --tree tree.csv\n\n"
    "hedgerow evaluate scores.csv --tree tree.csv --logits -o results/model-a --figure curves.pdf\n\n"
    "hedgerow evaluate scores.parquet --tree tree.csv --bootstrap 1000 --json figures.json\n\n"
    "hedgerow evaluate runs/quick --data new.npz"
)
@reads_scores()
def evaluate(
    reading: ScoreReading,
    scores: ScoresArgument,
    tree: TreeOption = None,
    data: DataOption = None,
    tree_format: TreeFormatOption = None,
    root: RootOption = "root",
    separator: SeparatorOption = None,
    disambiguate: DisambiguateOption = False,
    na: NaOption = None,
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
    information: InformationOption = Information.leaves,
    below_label: BelowLabelOption = BelowLabel.label,
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
    from hedgerow import measure
    from hedgerow.measure import MEMBERS, try_evaluation_folder
    from hedgerow.show import print_evaluation, print_reliability

    inputs = (scores, tree, data, reading.labels_file)
    check_outputs(json_file, figure, html, reliability, folder=output, members=MEMBERS, inputs=inputs)
    if output is not None:
        try_evaluation_folder(output)
    if html is not None:
        check_page(html)
    elif images is not None:
        raise ParameterError("--images is for the page: give --html FILE too.")
    draw = drawing(figure, rules)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    as_given = open_any_scores(scores, tree_file, data, reading, labels=True)
    opened, divided_by = with_temperature(as_given, temperature, tree_file, reading)
    found = measure.evaluate(
        opened.hierarchy,
        opened,
        name=name_of(scores),
        information=information.value,
        below_label=below_label.value,
        replicates=bootstrap,
        progress=bar,
    )
    tree_arguments = [] if tree_file is None else tree_file.arguments
    measured = [
        *([] if information is Information.leaves else ["--information", information.value]),
        *([] if temperature is None else ["--temperature", f"{divided_by:g}"]),
    ]
    again = [*tree_arguments, *reading.arguments, *measured]
    examples = [str(scores), *([] if data is None else ["--data", str(data)])]
    unlabelled = [*tree_arguments, *replace(reading, labels_file=None).arguments, *measured]
    calibration = {}
    if temperature is not None or reliability is not None:
        calibration["as given"] = measure.Reliability.of(as_given.hierarchy, as_given)
        if temperature is not None:
            calibration[f"divided by {divided_by:g}"] = measure.Reliability.of(opened.hierarchy, opened)
        print_reliability(calibration, Output())
    if reliability is not None:
        from hedgerow.show.figures import reliability_figure, save_figure

        save_figure(reliability_figure(calibration), reliability)
    print_evaluation(
        found,
        Output(),
        predict=shlex.join([*examples, *unlabelled]),
        select=shlex.join([*examples, *again]),
        compare=shlex.join([str(scores), "OTHER", *again] if output is None else [str(output), "OTHER"]),
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
