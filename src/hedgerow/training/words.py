"""What a training run came to, in words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from lightning.pytorch.utilities import rank_zero_only
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow.training.run_folder import RunFolder

_SHOWN = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1")


@rank_zero_only
def print_run(run: RunFolder, console: Console) -> None:
    """Print the figures of a finished run, and what to do next."""
    recipe, figures = run.recipe(), run.metrics()
    table = Table(title=f"{recipe.method.name} on {recipe.data.name}, in %", title_justify="left")
    table.add_column("split")
    for name in _SHOWN:
        table.add_column(name, justify="right", overflow="fold")
    for split, values in figures.items():
        table.add_row(split, *(f"{100 * values[name]:.1f}" for name in _SHOWN))
    console.print(table)
    path = shlex.quote(str(run.path))
    steps = [f"look at every operating point of the test data:\n  hedgerow evaluate {path} --figure curves.png"]
    given = "FILE" if recipe.data.name == "features" else "FOLDER"
    steps.append(f"answer for new data:\n  hedgerow predict {path} --data {given} --tau 0.8 -o answers.csv")
    console.print("Next: " + "\nOr ".join(steps), markup=False, highlight=False, soft_wrap=True)
