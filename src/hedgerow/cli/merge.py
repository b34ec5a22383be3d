"""`hedgerow merge`: one evaluation from those of its parts."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Annotated

from rich.console import Console

from hedgerow.cli.options import (
    MEASURE,
    BootstrapOption,
    EvaluationOption,
    FigureOption,
    JsonOption,
    RulesOption,
    option,
    positional,
    verb,
)
from hedgerow.cli.outputs import bar, check_outputs, drawing, save_evaluation
from hedgerow.errors import FileError, ParameterError
from hedgerow.files import is_pattern, write_json


@verb(
    "hedgerow evaluate part-1.npz --tree tree.csv -o results/part-1",
    "hedgerow merge 'results/part-*' -o results/all",
    panel=MEASURE,
    first=("output", "bootstrap", "figure", "json_file"),
)
def merge(
    evaluations: Annotated[
        list[str],
        positional("DIR", "Folders written by hedgerow evaluate -o, or patterns in quotes, such as 'results/*'."),
    ],
    output: EvaluationOption = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    rules: RulesOption = None,
    bootstrap: BootstrapOption = 0,
    name: Annotated[str | None, option("NAME", "The name of the model.", shown="that of the new folder")] = None,
) -> None:
    """Merge the evaluations of parts: the same, bit for bit, as one of all parts in one pass.

    Those of another tree, or with other settings, are refused.
    """
    from hedgerow.measure import Evaluation, merge, with_intervals
    from hedgerow.show.printed_evaluation import print_evaluation

    folders = expand_folders(evaluations)
    check_outputs(json_file, figure, evaluation=output, inputs=folders)
    draw = drawing(figure, rules)
    read = []
    with bar("Reading evaluations", len(folders)) as advance:
        for folder in folders:
            read.append(Evaluation.load(folder))
            advance(1)
    found = merge(read, name=name or (output.resolve().name if output is not None else "merged"))
    found = with_intervals(found, bootstrap, progress=bar) if bootstrap else found
    print_evaluation(found, Console(), compare="THIS OTHER" if output is None else f"{output} OTHER")
    save_evaluation(found, output)
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw([found])


def expand_folders(patterns: list[str]) -> list[Path]:
    """Return the folders that paths and patterns name; one that several of them name comes once."""
    found: dict[Path, Path] = {}
    for pattern in patterns:
        matches = glob.glob(pattern) if is_pattern(pattern) else [pattern]  # noqa: PTH207  (a pattern need not start with a folder)
        folders = [Path(match) for match in matches if Path(match).is_dir() or not is_pattern(pattern)]
        if not folders:
            raise FileError(f"No folder matches {pattern}. Check the pattern.")
        for folder in folders:
            if folder.resolve() in found and not is_pattern(pattern):
                raise ParameterError(f"{folder} is given twice, and would count twice. Give it once.")
            found.setdefault(folder.resolve(), folder)
    return list(found.values())
