"""The folder of a training run: everything needed to resume, to predict and to evaluate.

```
recipe.toml         the recipe, with every field written out
tree.json           the tree
model.safetensors   the best weights
metrics.json        summary figures on the validation and test data
scores.npz          likelihoods of the test data, on the scale of the method
checkpoints/        best.ckpt and last.ckpt, each complete or absent
logs/               TensorBoard and CSV
```
"""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from hedgerow.errors import FileError, argument
from hedgerow.files import atomic_write, make_folder
from hedgerow.learn.training.batches import EVALUATION_BATCH, Order, batches
from hedgerow.learn.training.module import Classifier
from hedgerow.learn.training.recipe import Recipe
from hedgerow.likelihood import Likelihoods
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from hedgerow.learn.data import Examples

_SPARE_BYTES = 64 << 20  # for logs and scores, in addition to the checkpoints


class AtomicCheckpoints(TorchCheckpointIO):
    """Checkpoints that are written completely or not at all, and read without unpickling code."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:  # noqa: ARG002
        """Write a checkpoint under a temporary name, then rename it."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            torch.save(checkpoint, file)

    def load_checkpoint(
        self,
        path: Any,
        map_location: Any = "cpu",
        weights_only: bool | None = None,  # noqa: ARG002  (always)
    ) -> dict[str, Any]:
        """Read a checkpoint."""
        checkpoint: dict[str, Any] = torch.load(path, map_location=map_location, weights_only=True)
        return checkpoint


@final
@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its files."""

    path: Path

    @property
    def last(self) -> Path:
        """The checkpoint of the last finished epoch."""
        return self.path / "checkpoints" / "last.ckpt"

    @property
    def best(self) -> Path:
        """The checkpoint of the best epoch so far."""
        return self.path / "checkpoints" / "best.ckpt"

    @property
    def is_finished(self) -> bool:
        """Whether the run is complete: metrics are written last."""
        return (self.path / "metrics.json").exists()

    def begin(self, recipe: Recipe, hierarchy: Hierarchy, *, resume: bool) -> None:
        """Create the folder, or check that the run in it can continue with this recipe and tree."""
        make_folder(self.path)
        if not resume and any(self.path.iterdir()):
            raise FileError(
                f"{self.path} is not empty. Continue the run in it with {argument('resume', True)}, or choose "
                f"another folder."
            )
        for leftover in self.path.glob("**/.*.tmp"):
            leftover.unlink()  # from a process that was killed while writing
        if (self.path / "recipe.toml").exists():  # written after the tree
            if self.recipe().tables() != recipe.tables() or self.hierarchy().fingerprint != hierarchy.fingerprint:
                raise FileError(
                    f"{self.path} holds a run with another recipe or tree. Resume with the same recipe and the "
                    f"same changes, or choose another folder."
                )
            return
        hierarchy.save(self.path / "tree.json")
        self.write_text("recipe.toml", recipe.to_toml())

    def check_space(self, classifier: Classifier) -> None:
        """Refuse to start if the checkpoints will not fit: two, and a third while it is being written."""
        weights = sum(p.numel() * p.element_size() for p in classifier.parameters())
        needed = 3 * 3 * weights + _SPARE_BYTES  # weights and up to two moments in each
        free = shutil.disk_usage(self.path).free
        if free < needed:
            raise FileError(
                f"{self.path} has {free >> 20:,} MB free, but the run needs about {needed >> 20:,} MB for its "
                f"checkpoints. Free some space, or choose another folder with -o."
            )

    def write_text(self, name: str, text: str) -> None:
        """Write a small file, completely or not at all."""
        with atomic_write(self.path / name) as file:
            file.write(text)

    def recipe(self) -> Recipe:
        """Read the recipe."""
        path = self.path / "recipe.toml"
        try:
            return Recipe.from_tables(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise FileError(
                f"{self.path} does not hold a training run: {path.name} cannot be read ({error})."
            ) from error

    def hierarchy(self) -> Hierarchy:
        """Read the tree."""
        return Hierarchy.load(self.path / "tree.json")

    def metrics(self) -> dict[str, Any]:
        """Read the summary figures of a finished run."""
        try:
            metrics: dict[str, Any] = json.loads((self.path / "metrics.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(
                f"The run in {self.path} is not finished: continue it with {argument('resume', True)}."
            ) from error
        return metrics

    def save_weights(self, classifier: Classifier) -> None:
        """Write the weights."""
        from safetensors.torch import save

        shape = json.dumps(classifier.input_shape)
        weights = {name: tensor.contiguous().cpu() for name, tensor in classifier.state_dict().items()}
        with atomic_write(self.path / "model.safetensors", "wb") as file:
            file.write(save(weights, metadata={"input_shape": shape}))

    def classifier(self) -> Classifier:
        """Return the trained classifier, ready to predict."""
        from safetensors import SafetensorError, safe_open

        path = self.path / "model.safetensors"
        recipe = self.recipe()
        try:
            with safe_open(path, framework="pt") as file:
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
                input_shape = tuple(json.loads(file.metadata()["input_shape"]))
        except (OSError, SafetensorError) as error:
            raise FileError(
                f"{self.path} has no weights yet: {error}. Continue the run with {argument('resume', True)}."
            ) from error
        classifier = Classifier(recipe, self.hierarchy(), input_shape)
        classifier.load_state_dict(weights)
        return classifier.eval()

    @property
    def scores(self) -> Path:
        """The score file of the test data."""
        return self.path / "scores.npz"

    def save_scores(self, classifier: Classifier, examples: Examples, device: torch.device) -> None:
        """Write the likelihoods, labels and ids of examples as a score file, on the scale of the method."""
        names = classifier.method.hierarchy.names
        blocks = [likelihoods.values for likelihoods in likelihood_blocks(classifier, examples, device)]
        with atomic_write(self.scores, "wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                classes=names.astype(np.str_),
                labels=names[examples.labels].astype(np.str_),
                ids=examples.ids,
                likelihoods=np.concatenate(blocks),
                scale=np.array(classifier.method.scale),
            )


@torch.inference_mode()
def score_blocks(classifier: Classifier, examples: Examples, device: torch.device) -> Iterator[Tensor]:
    """Yield the scores θ of examples, block by block, in order, in single precision."""
    classifier = classifier.to(device).eval()
    # Always the same blocks: the size of a block may change the last digits of a score.
    for inputs, _, _ in batches(examples, Order(len(examples), EVALUATION_BATCH), device):
        yield classifier(inputs.to(device)).float()


@torch.inference_mode()
def likelihood_blocks(classifier: Classifier, examples: Examples, device: torch.device) -> Iterator[Likelihoods]:
    """Yield the likelihoods of examples, block by block, in order, in main memory, on the scale of the method."""
    method = classifier.method
    for theta in score_blocks(classifier, examples, device):
        values = method.likelihood(theta, method.scale).cpu().numpy()
        yield Likelihoods.of(method.hierarchy, values, method.scale)
