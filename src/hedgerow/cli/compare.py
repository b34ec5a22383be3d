"""`hedgerow compare`: compare models."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.app import app
from hedgerow.cli.options import (
    BelowLabelOfFilesOption,
    DisambiguateOption,
    FigureOption,
    InformationOfFilesOption,
    JsonOption,
    NaOption,
    Output,
    RootOption,
    RulesOption,
    ScoreReading,
    SeparatorOption,
    TreeFile,
    TreeFormatOption,
    any_evaluation,
    bar,
    check_outputs,
    drawing,
    reads_scores,
    write_json,
)


class Against(StrEnum):
    """What to compare with."""

    first = "first"
    best = "best"


@app.command(
    epilog="Examples:\n\nhedgerow compare results/model-a results/model-b --figure curves.pdf\n\n"
    "hedgerow compare a.npz b.npz c.npz --tree tree.csv --against best --json comparison.json"
)
@reads_scores()
def compare(
    reading: ScoreReading,
    systems: Annotated[
        list[Path],
        typer.Argument(
            metavar="A B [C ...]",
            help="Evaluation folders, training runs, or score files with --tree.",
            show_default=False,
        ),
    ],
    tree: Annotated[
        Path | None, typer.Option("--tree", metavar="TREE", help="The tree, for score files.", show_default=False)
    ] = None,
    tree_format: TreeFormatOption = None,
    root: RootOption = "root",
    separator: SeparatorOption = None,
    disambiguate: DisambiguateOption = False,
    na: NaOption = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    rules: RulesOption = None,
    information: InformationOfFilesOption = None,
    below_label: BelowLabelOfFilesOption = None,
    against: Annotated[
        Against, typer.Option(help="Compare with the first model, or with the best one by AP.")
    ] = Against.first,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of paired bootstrap replicates; 0 for none.")
    ] = 1000,
) -> None:
    """Compare several models, and say whether their differences are real."""
    from hedgerow.measure import MEMBERS, compare
    from hedgerow.show import print_comparison

    inside = [system / name for system in systems for name in MEMBERS]
    check_outputs(json_file, figure, inputs=(*systems, *inside, tree))
    draw = drawing(figure, rules)
    tree_file = TreeFile.given(tree, tree_format, root, separator, disambiguate, na)
    hierarchy = None if tree_file is None else tree_file.read()
    # Pass on only what was given: a folder must agree with it, and a score file has defaults for the rest.
    given = {"information": information, "below_label": below_label, "single_child": reading.single_child}
    options: dict[str, Any] = {name: option.value for name, option in given.items() if option is not None}

    found = compare(
        [any_evaluation(path, hierarchy, reading, options) for path in systems],
        reference="best" if against is Against.best else 0,
        replicates=bootstrap,
        progress=bar,
    )
    print_comparison(found, Output())
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw(found.evaluations)
