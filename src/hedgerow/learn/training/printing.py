"""Printed output of a training run."""

from __future__ import annotations

import inspect
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lightning.pytorch.utilities import rank_zero_only
from rich.console import Console

from hedgerow.learn import data, models
from hedgerow.show import print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hedgerow.learn.training.recipe import Recipe
    from hedgerow.learn.training.run_folder import RunFolder
    from hedgerow.tree import Hierarchy

_SHOWN = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1")
_PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}
_HARDLY_ANYTHING = 0.05  # majority_F1 below this gives a warning


@rank_zero_only
def print_tree(hierarchy: Hierarchy, recipe: Recipe) -> None:
    """Print one line about the tree, and how to give a real one if it was made from the labels."""
    depth = int(hierarchy.depth.max())
    none_given = "tree" in data.parameters(recipe.data.name) and "tree" not in recipe.data.params
    hint = ", made from the labels: give data.tree for a real one" if depth == 1 and none_given else ""
    text = f"tree: {len(hierarchy):,} nodes, {len(hierarchy.leaves):,} leaves, depth {depth}{hint}"
    Console().print(text, **_PLAIN)


@contextmanager
def choosing_penalty(shown: bool) -> Iterator[Callable[[float], None]]:
    """Say what takes so long, and then what was chosen."""
    if not shown or int(rank_zero_only.rank):  # type: ignore[attr-defined]
        yield lambda _: None
        return
    out = Console()
    with Console(stderr=True).status("choosing the penalty with held-out training examples"):
        yield lambda chosen: out.print(f"penalty: C = {chosen:.3g}; --set optimiser.C=X sets another", **_PLAIN)


@rank_zero_only
def print_run(run: RunFolder, console: Console) -> None:
    """Print the figures of a finished run, and what to do next."""
    recipe, figures = run.recipe(), run.metrics()
    rows = [[split, *(f"{100 * values[name]:.1f}" for name in _SHOWN)] for split, values in figures.items()]
    title = f"{recipe.method.name} on {recipe.data.name}, in %"
    print_table(console, ["split", *_SHOWN], rows, title=title)
    if figures["val"]["majority_F1"] < _HARDLY_ANYTHING:
        console.print(_learnt_little(recipe, figures["val"]["majority_F1"]), **_PLAIN)
    path = shlex.quote(str(run.path))
    steps = [f"see every operating point of the test data:\n  hedgerow evaluate {path} --figure curves.png"]
    given = "FILE" if recipe.data.name == "features" else "FOLDER"
    given += "".join(f" --trust {name}" for name in (recipe.model.name, recipe.method.name) if ":" in name)
    steps.append(f"get answers for new data:\n  hedgerow predict {path} --data {given} --tau 0.8 -o answers.csv")
    steps.append(
        f"be right at least 95 % of the time on new data, with a promise:\n"
        f"  hedgerow select {path} --target correct=0.95 -o point.json"
    )
    console.print("Next: " + "\nOr ".join(steps), **_PLAIN)


def _learnt_little(recipe: Recipe, figure: float) -> str:
    """Say what to do about a model that is sure of nothing but the root."""
    known = models.MODELS.get(recipe.model.name)
    can_scale = known is not None and "scale_inputs" in inspect.signature(known).parameters
    unscaled = recipe.data.name == "features" and can_scale and not recipe.model.params.get("scale_inputs")
    scale = " features on one scale (--set model.scale_inputs=true)," if unscaled else ""
    return (
        f"Warning: the model has learnt little. When answers must be more likely than not, it answers almost only "
        f"with the root (majority_F1 {100 * figure:.1f} %). Try{scale} larger steps "
        f"(--set optimiser.lr={10 * recipe.optimiser.lr:g}) or more of them "
        f"(--set optimiser.epochs={2 * recipe.optimiser.epochs})."
    )
