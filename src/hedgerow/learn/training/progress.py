"""How a training run tells how far it is."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, final

from lightning.pytorch.callbacks import Callback
from rich.console import Console

from hedgerow.show import live_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightning.pytorch import LightningModule, Trainer


_listener: ContextVar[Callable[[float], None] | None] = ContextVar("_listener", default=None)


@contextmanager
def told_progress(listener: Callable[[float], None]) -> Iterator[None]:
    """Let the training inside the `with` block tell how far it is, a share from 0 to 1, after every step."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@final
class ShareReport(Callback):
    """Tells whoever listens, by `told_progress`, how far a training is; nobody may."""

    def __init__(self) -> None:
        self._tell = _listener.get() or (lambda _: None)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Tell the share of the steps that are done."""
        total = (trainer.max_epochs or 1) * int(trainer.num_training_batches)
        self._tell(trainer.global_step * trainer.accumulate_grad_batches / max(1, total))


@final
class EpochReport(Callback):
    """A line an epoch on the standard output; where somebody watches, also a bar with the time left in the run.

    Parameters
    ----------
    monitor
        The validation figure to show.
    """

    def __init__(self, monitor: str) -> None:
        self._monitor = monitor
        self._out = Console(highlight=False, markup=False, soft_wrap=True)
        # Lines go above the bar where both are in one terminal; `> log` leaves the bar in the terminal.
        self._bar = live_bar(self._out if self._out.is_terminal else Console(stderr=True))
        self._task = self._bar.add_task("", start=False)
        self._begun, self._loss, self._steps = 0.0, 0.0, 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Show the bar; a resumed run goes on where it stopped."""
        if trainer.is_global_zero:
            steps = int(trainer.num_training_batches)
            total = (trainer.max_epochs or 0) * steps
            self._bar.reset(self._task, total=total, completed=trainer.current_epoch * steps)
            self._bar.start()  # not before it knows what an earlier run has done

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Begin to count."""
        self._begun, self._loss, self._steps = time.monotonic(), 0.0, 0
        self._bar.update(self._task, description=self._name(trainer))

    def on_train_batch_end(
        self,
        trainer: Trainer,  # noqa: ARG002
        pl_module: LightningModule,  # noqa: ARG002
        outputs: Any,
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
    ) -> None:
        """Add up the loss, where it is: looking at it would make the host wait for the device."""
        self._loss = self._loss + outputs["loss"].detach()
        self._steps += 1
        self._bar.advance(self._task)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Say why the bar stands still."""
        self._bar.update(self._task, description=f"{self._name(trainer)}: validation")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Print the line; a resumed run first ends the epoch it was saved in, without having done anything."""
        if trainer.is_global_zero and self._steps:
            figure = float(trainer.callback_metrics[f"val_{self._monitor}"])
            self._out.print(
                f"{self._name(trainer)}: loss {float(self._loss) / max(1, self._steps):.4g}, "
                f"validation {self._monitor} {figure:.1%}, {time.monotonic() - self._begun:.1f} s"
            )

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:  # noqa: ARG002
        """Take the bar away."""
        self._bar.stop()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:  # noqa: ARG002
        """Take the bar away."""
        self._bar.stop()

    @staticmethod
    def _name(trainer: Trainer) -> str:
        return f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}"
