"""The Lightning module: a model, a head and a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from hedgerow import methods
from hedgerow.errors import HedgerowError, argument
from hedgerow.learn import models
from hedgerow.learn.data.splits import to_float
from hedgerow.learn.momentum import OutputMomentum
from hedgerow.learn.torch_metric import SummaryMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learn.data import LabelledInputs
    from hedgerow.learn.training.recipe import Optimiser, Recipe
    from hedgerow.tree import Hierarchy

_LOOK_EVERY = 50  # steps, on a GPU: reading the loss makes the host wait for the device


class TrainingError(HedgerowError):
    """Training went wrong; the message says where and what to try."""


@final
class Classifier(nn.Module):
    """A network that maps inputs to the scores θ of a method.

    Parameters
    ----------
    recipe
        Names the model and the method.
    hierarchy
        The tree.
    input_shape
        Shape of one example.
    counts
        Number of training examples labelled with each node, for methods with a parameter `counts`.
    """

    def __init__(
        self,
        recipe: Recipe,
        hierarchy: Hierarchy,
        input_shape: tuple[int, ...],
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__()
        self.input_shape = input_shape
        known = {"counts": counts} if "counts" in methods.parameters(recipe.method.name) else {}
        self.method = methods.create(recipe.method.name, hierarchy, **(known | dict(recipe.method.params)))
        self.model = models.build(recipe.model.name, input_shape, **recipe.model.params)
        even = recipe.optimiser.kind == "sgd" and recipe.optimiser.even_steps == "yes"
        width = int(self.model.out_features)  # type: ignore[arg-type]
        self.head = methods.HierarchicalHead(width, self.method, even_steps=even)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return θ [B, len(method.outputs)] of inputs as `LabelledInputs` holds them (images may be uint8)."""
        theta: Tensor = self.head(self.model(to_float(inputs)))
        return theta

    def loss(self, inputs: Tensor, labels: Tensor, **drawn: Tensor) -> Tensor:
        """Return the loss of every example; `drawn` holds the method's random draws, made outside any graph."""
        return self.method.loss(self(inputs), labels, **drawn)


@final
class TrainingModule(LightningModule):
    """Trains a `Classifier` by its recipe, and measures the operating curve of the validation data each epoch.

    Parameters
    ----------
    classifier
        What to train.
    recipe
        How to train it; its penalty C has been chosen.
    examples
        The training data, whose ids name the examples of a batch that goes wrong.
    compiled
        Whether to compile the model and the loss.
    """

    def __init__(
        self, classifier: Classifier, recipe: Recipe, examples: LabelledInputs, *, compiled: bool = False
    ) -> None:
        super().__init__()
        self.classifier = classifier
        self.summary = SummaryMetric(classifier.method.hierarchy, scale=classifier.method.scale)
        self._recipe = recipe
        self._examples = examples
        self._loss = torch.compile(classifier.loss) if compiled else classifier.loss
        self._first_bad = torch.tensor(-1)
        self.is_training = False
        """Whether training has begun, and so a checkpoint has been restored."""

    def on_train_start(self) -> None:
        """Compare the schedule with that of a checkpoint, if there was one, and note that training has begun."""
        steps = int(self.trainer.estimated_stepping_batches)
        for config in self.trainer.lr_scheduler_configs:
            planned: int = config.scheduler.T_max  # type: ignore[union-attr]
            if planned != steps:
                raise TrainingError(
                    f"The run began with {planned:,} steps and would now have {steps:,}: its training data has "
                    f"changed. Begin again, in a new folder."
                )
        self.is_training = True

    def on_train_epoch_start(self) -> None:
        """Seed the random draws of the epoch, so that a resumed run draws the same."""
        run = self._recipe.run
        torch.manual_seed(
            int(np.random.SeedSequence([run.seed, self.current_epoch, self.global_rank]).generate_state(1)[0])
        )
        self._first_bad = torch.tensor(-1, device=self.device)

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        """Return the mean loss of a batch."""
        inputs, labels, _ = batch
        drawn = self.classifier.method.draw(len(labels))
        loss: Tensor = self._loss(inputs, labels, **drawn).mean()
        self._watch(loss.detach(), batch_idx)
        self.log("loss", loss.detach(), prog_bar=True, batch_size=len(labels))
        return loss

    def _watch(self, loss: Tensor, step: int) -> None:
        """Stop if the loss is not finite; on a GPU check only sometimes, as that makes the host wait."""
        bad = ~torch.isfinite(loss) & (self._first_bad < 0)
        self._first_bad = torch.where(bad, step, self._first_bad)
        last = step + 1 == self.trainer.num_training_batches
        if loss.device.type == "cpu" or last or step % _LOOK_EVERY == _LOOK_EVERY - 1:
            first_bad = int(self._first_bad)
            if first_bad >= 0:
                raise TrainingError(self._describe_loss(first_bad))

    def _describe_loss(self, step: int) -> str:
        batch = list(self.trainer.train_dataloader.batch_sampler)[step]  # type: ignore[union-attr]
        ids = [str(self._examples.ids[number]) for number, _ in batch]
        shown = ", ".join(ids[:5]) + (f", ... ({len(ids)} in all)" if len(ids) > 5 else "")
        return (
            f"The loss is not finite at epoch {self.current_epoch}, step {step}. The batch holds the examples "
            f"{shown}. {self._remedies()}"
        )

    def _remedies(self) -> str:
        next_step = "Then begin again, in a new folder."
        if self.current_epoch > 0:
            next_step = (
                f"Other settings need a new folder. The last good checkpoint is kept: if the inputs were wrong, "
                f"{argument('resume', True)} continues from it."
            )
        return (
            f"Try a smaller learning rate "
            f"({_setting(f'optimiser.lr={self._recipe.optimiser.lr / 10:g}')}), a limit on the gradient "
            f"({_setting('optimiser.clip=1')}), or full precision ({_setting('run.precision=32')}), and look for "
            f"inputs that are not finite. {next_step}"
        )

    def validation_step(self, batch: tuple[Tensor, Tensor, Tensor]) -> None:
        """Add a batch to the validation metrics."""
        inputs, labels, _ = batch
        method, theta = self.classifier.method, self.classifier(inputs).float()
        if not theta.isfinite().all():
            raise TrainingError(f"The scores are not finite after epoch {self.current_epoch}. {self._remedies()}")
        self.summary.update(method.likelihood(theta, method.scale), labels)

    def on_validation_epoch_end(self) -> None:
        """Log the summary metrics of the validation data."""
        metrics = self.summary.compute()
        self.summary.reset()
        # Every process already has the metrics of all processes, so their mean is the same.
        self.log_dict({f"val/{name}": float(value) for name, value in metrics.items()}, sync_dist=True)
        monitored = self._recipe.run.monitor
        self.log(f"val_{monitored}", metrics[monitored], prog_bar=True, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """Return the optimiser and its schedule."""
        optimiser = build_optimiser(self.parameters(), self._recipe.optimiser, len(self._examples))
        if self._recipe.optimiser.schedule == "constant":
            return optimiser
        steps = int(self.trainer.estimated_stepping_batches)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": cosine, "interval": "step"}}


def _setting(change: str) -> str:
    return argument("set", change, python=change)


def build_optimiser(parameters: Any, optimiser: Optimiser, examples: int) -> torch.optim.Optimizer:
    """Return the optimiser of a recipe, given the number of training examples."""
    if optimiser.kind == "adamw":
        return torch.optim.AdamW(parameters, lr=optimiser.lr, weight_decay=optimiser.weight_decay)
    if optimiser.kind == "per-output":
        return OutputMomentum(parameters, optimiser.lr, weight_decay=1 / (optimiser.C * examples))
    return torch.optim.SGD(
        parameters, lr=optimiser.lr, momentum=optimiser.momentum, weight_decay=optimiser.weight_decay
    )
