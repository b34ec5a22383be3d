"""What a training run came to, in words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from lightning.pytorch.utilities import rank_zero_only

from hedgerow._tables import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow.training.run_folder import RunFolder

_SHOWN = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1")


@rank_zero_only
def print_run(run: RunFolder, console: Console) -> None:
    """Print the figures of a finished run, and what to do next."""
    recipe, figures = run.recipe(), run.metrics()
    rows = [[split, *(f"{100 * values[name]:.1f}" for name in _SHOWN)] for split, values in figures.items()]
    title = f"{recipe.method.name} on {recipe.data.name}, in %"
    print_table(console, ["split", *_SHOWN], rows, title=title)
    path = shlex.quote(str(run.path))
    steps = [f"look at every operating point of the test data:\n  hedgerow evaluate {path} --figure curves.png"]
    given = "FILE" if recipe.data.name == "features" else "FOLDER"
    steps.append(f"answer for new data:\n  hedgerow predict {path} --data {given} --tau 0.8 -o answers.csv")
    console.print("Next: " + "\nOr ".join(steps), markup=False, highlight=False, soft_wrap=True)
