"""`hedgerow doctor`: explain a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hedgerow.cli.options import TREES, JsonOption, option, positional, verb
from hedgerow.cli.outputs import check_outputs
from hedgerow.files import write_json
from hedgerow.score_files import ScoreReading
from hedgerow.tree import TreeReading


@verb(
    "hedgerow doctor tree.csv",
    "hedgerow doctor lineages.csv --tree-format lineages --labels labels.csv",
    "hedgerow doctor tree.csv --scores model.npz --json findings.json",
    panel=TREES,
    first=("scores", "labels_file", "format", "json_file"),
    without=(
        *("logits", "renormalise", "only", "group_column", "cluster_column"),
        *("event_column", "pool", "prior", "trained_prior", "weight_column"),
    ),
)
def doctor(
    reading: ScoreReading,
    tree_reading: TreeReading,
    tree: Annotated[Path, positional("TREE", "The tree.")],
    scores: Annotated[Path | None, option("FILE", "Scores whose classes should fit the tree.")] = None,
    json_file: JsonOption = None,
    titles: Annotated[
        Path | None, option("FILE", 'Display names to show: a JSON object {"n02084071": "dog"}.')
    ] = None,
) -> None:
    """Describe a tree in plain words, and explain everything that is wrong with it.

    The exit status is 0 if all is well, and 1 if there are problems.
    """
    from hedgerow.doctor import examine

    check_outputs(json_file, inputs=(tree, scores, titles, *reading.files))
    diagnosis = examine(tree, tree_reading, scores=scores, reading=reading, titles=titles)
    diagnosis.print(Console())
    if json_file is not None:
        write_json(json_file, diagnosis.to_dict())
    raise typer.Exit(0 if diagnosis.ok else 1)
