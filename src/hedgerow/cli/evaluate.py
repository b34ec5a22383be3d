"""`hedgerow evaluate`: measure one model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    BelowLabel,
    BelowLabelOption,
    DataOption,
    FigureOption,
    Information,
    InformationOption,
    JsonOption,
    LogitsOption,
    ScoresArgument,
    TreeFormatOption,
    TreeOption,
    bar,
    check_outputs,
    drawing,
    open_any_scores,
    write_json,
)


@app.command(
    epilog="Examples:\n\nhedgerow evaluate scores.npz --tree tree.csv\n\n"
    "hedgerow evaluate scores.csv --tree tree.csv --logits -o results/model-a --figure curves.pdf\n\n"
    "hedgerow evaluate scores.parquet --tree tree.csv --bootstrap 1000 --json figures.json\n\n"
    "hedgerow evaluate runs/quick --data new.npz"
)
def evaluate(
    scores: ScoresArgument,
    tree: TreeOption = None,
    data: DataOption = None,
    tree_format: TreeFormatOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Save the evaluation in DIR.", show_default=False),
    ] = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    logits: LogitsOption = False,
    information: InformationOption = Information.leaves,
    below_label: BelowLabelOption = BelowLabel.label,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add intervals from N bootstrap replicates, such as 1000.")
    ] = 0,
) -> None:
    """Measure a model's scores at every balance between being right and being specific."""
    from hedgerow import evaluation
    from hedgerow.evaluation.words import print_evaluation

    check_outputs(json_file, figure, inputs=(scores, tree, data))
    draw = drawing(figure)
    opened = open_any_scores(scores, tree, tree_format, data, logits=logits, labels=True)
    found = evaluation.evaluate(
        opened.hierarchy,
        opened,
        name=scores.stem,
        information=information.value,
        below_label=below_label.value,
        replicates=bootstrap,
        progress=bar,
    )
    print_evaluation(found, Console())
    if output is not None:
        found.save(output)
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw([found])
