"""What a training run prints: the tree, a line per epoch, and the final metrics."""

from __future__ import annotations

import inspect
import shlex
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, final

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from rich.console import Console

from hedgerow.learn import data, models
from hedgerow.show.terminal import live_bar, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lightning.pytorch import LightningModule, Trainer

    from hedgerow.learn.training.recipe import Recipe
    from hedgerow.learn.training.run_folder import RunFolder
    from hedgerow.tree import Hierarchy

_SHOWN = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1")
_PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}
_LEARNT_LITTLE = 0.05  # majority_F1 below this gives a warning
_FAST = 0.2  # the share by which a loss may fall over the last quarter of the epochs

_listener: ContextVar[Callable[[float], None] | None] = ContextVar("_listener", default=None)


@contextmanager
def reporting_progress(listener: Callable[[float], None]) -> Iterator[None]:
    """Call `listener` after every training step in the `with` block, with the share that is done, from 0 to 1."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@final
class ShareReport(Callback):
    """Reports the progress of training to the listener of `reporting_progress`, if there is one."""

    def __init__(self) -> None:
        self._report = _listener.get() or (lambda _: None)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Report the share of the steps that are done."""
        total = (trainer.max_epochs or 1) * int(trainer.num_training_batches)
        self._report(trainer.global_step * trainer.accumulate_grad_batches / max(1, total))


def still_falling(losses: Sequence[float]) -> float | None:
    """Return by what share the loss fell over the last quarter of the epochs, or None if that was not much.

    >>> still_falling([4.0, 2.0, 1.9, 1.85]), still_falling([4.0, 3.5, 3.0, 2.5, 2.0, 1.6, 1.2, 0.9])
    (None, 0.4375)
    """
    quarter = max(1, len(losses) // 4)
    if len(losses) <= quarter or not losses[-1 - quarter] > 0:
        return None
    fall = 1 - losses[-1] / losses[-1 - quarter]
    return fall if fall > _FAST else None


@final
class EpochReport(Callback):
    """Prints one line per epoch on the standard output; in a terminal, also shows a bar with the time left.

    Parameters
    ----------
    monitor
        The validation metric to show.
    """

    def __init__(self, monitor: str) -> None:
        self._monitor = monitor
        self._out = Console(highlight=False, markup=False, soft_wrap=True)
        # Lines go above the bar if both are in one terminal; with `> log` the bar stays in the terminal.
        self._bar = live_bar(self._out if self._out.is_terminal else Console(stderr=True))
        self._task = self._bar.add_task("", start=False)
        self._begun, self._loss, self._steps = 0.0, 0.0, 0
        self._losses: list[float] = []

    def on_train_start(self, trainer: Trainer, *_: Any) -> None:
        """Show the bar; a resumed run continues where it stopped."""
        if trainer.is_global_zero:
            steps = int(trainer.num_training_batches)
            total = (trainer.max_epochs or 0) * steps
            self._bar.reset(self._task, total=total, completed=trainer.current_epoch * steps)
            self._bar.start()  # only once it knows what an earlier run has done

    def on_train_epoch_start(self, trainer: Trainer, *_: Any) -> None:
        """Start counting."""
        self._begun, self._loss, self._steps = time.monotonic(), 0.0, 0
        self._bar.update(self._task, description=self._name(trainer))

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:  # noqa: ARG002
        """Sum the loss on its device: reading it would make the host wait."""
        self._loss = self._loss + outputs["loss"].detach()
        self._steps += 1
        self._bar.advance(self._task)

    def on_validation_start(self, trainer: Trainer, *_: Any) -> None:
        """Show why the bar does not move."""
        self._bar.update(self._task, description=f"{self._name(trainer)}: validation")

    def on_train_epoch_end(self, trainer: Trainer, *_: Any) -> None:
        """Print the line, but not for an epoch without steps: a resumed run ends the saved epoch once more."""
        if trainer.is_global_zero and self._steps:
            figure = float(trainer.callback_metrics[f"val_{self._monitor}"])
            self._losses.append(float(self._loss) / self._steps)
            self._out.print(
                f"{self._name(trainer)}: loss {self._losses[-1]:.4g}, "
                f"validation {self._monitor} {100 * figure:.1f} %, {time.monotonic() - self._begun:.1f} s"
            )

    def on_train_end(self, trainer: Trainer, *_: Any) -> None:
        """Remove the bar; print a hint if the loss was still falling fast."""
        self._bar.stop()
        fall = still_falling(self._losses)
        if trainer.is_global_zero and fall is not None:
            self._out.print(
                f"The training loss was still falling fast at the end, by {100 * fall:.0f} % over the last "
                f"quarter. More epochs or a larger learning rate may do better: --set optimiser.epochs="
                f"{2 * (trainer.max_epochs or 1)}, or --set optimiser.lr=X."
            )

    def on_exception(self, *_: Any) -> None:
        """Remove the bar."""
        self._bar.stop()

    @staticmethod
    def _name(trainer: Trainer) -> str:
        return f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}"


@rank_zero_only
def print_tree(hierarchy: Hierarchy, recipe: Recipe) -> None:
    """Print one line about the tree and, if it was made from the labels, how to give a real one."""
    depth = int(hierarchy.depth.max())
    none_given = "tree" in data.parameters(recipe.data.name) and "tree" not in recipe.data.params
    hint = ", made from the labels: give data.tree for a real one" if depth == 1 and none_given else ""
    text = f"tree: {len(hierarchy):,} nodes, {len(hierarchy.leaves):,} leaves, depth {depth}{hint}"
    Console().print(text, **_PLAIN)


@contextmanager
def choosing_penalty(shown: bool) -> Iterator[Callable[[float], None]]:
    """Show what takes so long; yield a function that prints the choice."""
    if not shown or int(rank_zero_only.rank):  # type: ignore[attr-defined]
        yield lambda _: None
        return
    out = Console()
    with Console(stderr=True).status("choosing the penalty with held-out training examples"):
        yield lambda chosen: out.print(f"penalty: C = {chosen:.3g}; --set optimiser.C=X sets another", **_PLAIN)


@rank_zero_only
def print_run(run: RunFolder, console: Console) -> None:
    """Print the metrics of a finished run, and what to do next."""
    recipe, metrics = run.recipe(), run.metrics()
    rows = [[split, *(f"{100 * values[name]:.1f}" for name in _SHOWN)] for split, values in metrics.items()]
    title = f"{recipe.method.name} on {recipe.data.name}, in %"
    print_table(console, ["split", *_SHOWN], rows, title=title)
    if metrics["val"]["majority_F1"] < _LEARNT_LITTLE:
        console.print(_learnt_little(recipe, metrics["val"]["majority_F1"]), **_PLAIN)
    path = shlex.quote(str(run.path))
    given = "FILE" if recipe.data.name == "features" else "FOLDER"
    given += "".join(f" --trust {name}" for name in (recipe.model.name, recipe.method.name) if ":" in name)
    held = path if run.scores.exists() else f"{path} --data {given}"
    steps = [f"see every operating point of the test data:\n  hedgerow evaluate {held} --figure curves.png"]
    steps.append(f"get answers for new data:\n  hedgerow predict {path} --data {given} --tau 0.8 -o answers.csv")
    steps.append(
        f"be right at least 95 % of the time on new data, with a promise:\n"
        f"  hedgerow select {held} --target correct=0.95 -o point.json"
    )
    console.print("Next: " + "\nOr ".join(steps), **_PLAIN)


def _learnt_little(recipe: Recipe, figure: float) -> str:
    """Return advice for a model that answers little but the root."""
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
