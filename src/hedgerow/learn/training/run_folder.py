"""The folder of a training run: everything needed to resume, to predict and to evaluate.

```
recipe.toml         the recipe, with every field written out
tree.json           the tree
model.safetensors   the best weights
scores.npz          likelihoods of the test data, on the scale of the method, unless run.scores is "none"
digests.json        SHA-256 of the files above, which belong together
penalty.json        the optimiser.C that was chosen, if the recipe left it open
metrics.json        summary metrics of the validation and test data
checkpoints/        best.ckpt and last.ckpt, each complete or absent
logs/               TensorBoard and CSV
```

A folder may come from anyone. Its content is checked before use, and what it names is imported only if it is built
in, or if the user trusts it by name.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, final, get_args

import msgspec
import numpy as np
import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor

from hedgerow import methods
from hedgerow.errors import FileError, argument, some
from hedgerow.files import (
    Document,
    atomic_write,
    clear_leftovers,
    digest,
    make_folder,
    naming,
    read_toml,
    reading,
    require_file,
)
from hedgerow.learn import data, models
from hedgerow.learn.training.module import Classifier
from hedgerow.learn.training.recipe import Choice, Recipe
from hedgerow.learn.training.scores import open_test_scores
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from hedgerow.score_files import Scores

_SPARE_BYTES = 64 << 20  # for logs and compact scores
_LARGEST_INPUT = 1 << 27  # numbers in one example
_OTHER_CHECKPOINT = "Delete it and train again, or copy the run again."

_Together = Literal["recipe.toml", "tree.json", "model.safetensors", "scores.npz"]
_Width = Annotated[int, msgspec.Meta(ge=1, le=_LARGEST_INPUT)]


class _Digests(msgspec.Struct, forbid_unknown_fields=True):
    """The SHA-256 of the files that belong together."""

    files: dict[_Together, str]


class _Penalty(msgspec.Struct, forbid_unknown_fields=True):
    """The penalty that was chosen for a run."""

    C: Annotated[float, msgspec.Meta(ge=1e-6, le=1e12)]


class _Metrics(msgspec.Struct, forbid_unknown_fields=True):
    """Summary metrics of the validation and test data."""

    val: dict[str, float]
    test: dict[str, float]


_DIGESTS = Document(
    "hedgerow digests", 1, _Digests, "the digests of a training run", "Copy the run again, or train again."
)
_PENALTY = Document(
    "hedgerow penalty", 1, _Penalty, "the penalty of a training run", "Delete it: it is then chosen again."
)
_METRICS = Document(
    "hedgerow metrics",
    1,
    _Metrics,
    "the metrics of a training run",
    "Delete it and resume, or train again.",
)


class _Checkpoint(msgspec.Struct):
    """The part of Lightning's checkpoints that is used."""

    state_dict: dict[str, Tensor]
    epoch: Annotated[int, msgspec.Meta(ge=0)]
    global_step: Annotated[int, msgspec.Meta(ge=0)]
    callbacks: dict[str, dict[Any, Any]] = {}


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
        """Read a checkpoint that `save_checkpoint` wrote."""
        require_file(path)
        with reading(path, "a checkpoint", _OTHER_CHECKPOINT):
            checkpoint: dict[str, Any] = torch.load(path, map_location=map_location, weights_only=True)
            _check_checkpoint(checkpoint)
        return checkpoint


def _check_checkpoint(content: Any) -> None:
    """Refuse what is not a checkpoint, or names files outside its folder, some of which Lightning would delete."""
    for state in msgspec.convert(content, _Checkpoint).callbacks.values():
        paths = [value for key, value in state.items() if str(key).endswith("_path")]
        for path in [*paths, *(state.get("best_k_models") or {})]:
            beside = isinstance(path, str) and PurePath(path).parent == PurePath(str(state.get("dirpath")))
            if path and not (beside and path.endswith(".ckpt")):
                raise ValueError(f"it names a file outside its folder, {path!r}")


@final
@dataclass(frozen=True)
class RunFolder:
    """The files of a run.

    Parameters
    ----------
    path
        The folder.
    trust
        Models and methods outside hedgerow, as "package.module:object", that may be imported if the folder names
        them. Importing runs their code.
    """

    path: Path
    trust: Collection[str] = ()

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
        for place in (self.path, self.last.parent):
            clear_leftovers(place)
        if (self.path / "recipe.toml").exists():  # written after the tree
            if self.recipe().tables() != recipe.tables() or self.hierarchy().fingerprint != hierarchy.fingerprint:
                raise FileError(
                    f"{self.path} holds a run with another recipe or tree. Resume with the same recipe and the "
                    f"same changes, or choose another folder."
                )
            return
        hierarchy.write(self.path / "tree.json")
        self.write_text("recipe.toml", recipe.to_toml())

    def check_space(self, classifier: Classifier, score_bytes: int) -> None:
        """Refuse to start if scores and checkpoints will not fit: two, and a third while it is being written."""
        weights = sum(p.numel() * p.element_size() for p in classifier.parameters())
        needed = 3 * 3 * weights + score_bytes + _SPARE_BYTES  # weights and up to two moments in each
        free = shutil.disk_usage(self.path).free
        if free < needed:
            raise FileError(
                f"{self.path} has {free >> 20:,} MB free, but the run needs about {needed >> 20:,} MB for its "
                f"checkpoints and scores. Free some space, or choose another folder with -o."
            )

    def write_text(self, name: str, text: str) -> None:
        """Write a small file, completely or not at all."""
        with atomic_write(self.path / name) as file:
            file.write(text)

    def recipe(self) -> Recipe:
        """Read the recipe."""
        path = self.path / "recipe.toml"
        if not path.is_file():
            raise FileError(f"{self.path} does not hold a training run: there is no {path.name} in it.")
        tables = read_toml(path, "the recipe of a training run")
        with naming(path, "the recipe of a training run"):
            return Recipe.from_tables(tables, str(path))

    def penalty(self) -> float | None:
        """Read the optimiser.C that was chosen for this run; None if none was."""
        path = self.path / "penalty.json"
        if not path.exists():
            return None
        with _PENALTY.reading(path) as chosen:
            return chosen.C

    def save_penalty(self, strength: float) -> None:
        """Write the optimiser.C that was chosen for this run."""
        _PENALTY.write(self.path / "penalty.json", _Penalty(strength))

    def hierarchy(self) -> Hierarchy:
        """Read the tree."""
        return Hierarchy.read(self.path / "tree.json")

    def pictures(self) -> Callable[[int], NDArray[np.uint8]] | None:
        """Return a function from the number of a test example to its image, uint8 [H, W], or None.

        Only for glyphs, which hedgerow draws itself: a recipe may come from anyone, so the files that it names are
        not read merely because it names them.
        """
        recipe = self.recipe()
        if recipe.data.name != "glyphs":
            return None
        images = data.load(recipe.data.name, **recipe.data.params).test.inputs
        return lambda row: np.asarray(images[row])  # type: ignore[index]

    def metrics(self) -> dict[str, Any]:
        """Read the summary metrics of a finished run."""
        path = self.path / "metrics.json"
        if not path.exists():
            raise FileError(
                f"The run in {self.path} is not finished: continue it with {argument('resume', True)}."
            )
        with _METRICS.reading(path) as found:
            return msgspec.structs.asdict(found)

    def save_metrics(self, val: dict[str, float], test: dict[str, float]) -> None:
        """Write the summary metrics, which mark the run as finished."""
        _METRICS.write(self.path / "metrics.json", _Metrics(val, test))

    def save_digests(self) -> None:
        """Record which files belong together."""
        paths = {name: self.path / name for name in get_args(_Together)}
        there = {name: digest(path) for name, path in paths.items() if path.exists()}
        _DIGESTS.write(self.path / "digests.json", _Digests(there))

    def check_digests(self) -> None:
        """Refuse files that do not belong together; without digests, nothing is checked."""
        path = self.path / "digests.json"
        if not path.exists():
            return
        with _DIGESTS.reading(path) as written:
            files = written.files
            if missing := {"recipe.toml", "tree.json", "model.safetensors"} - files.keys():
                raise ValueError(f"it lacks {some(sorted(missing))}")
        for name, expected in files.items():
            require_file(self.path / name)
            if digest(self.path / name) != expected:
                raise FileError(
                    f"{self.path / name} is not the file that this run wrote: it was changed, is damaged, or "
                    f"comes from another run. Copy the run again; if you changed the file yourself, delete {path}."
                )

    def save_weights(self, classifier: Classifier) -> None:
        """Write the weights."""
        from safetensors.torch import save

        shape = json.dumps(classifier.input_shape)
        weights = {name: tensor.contiguous().cpu() for name, tensor in classifier.state_dict().items()}
        with atomic_write(self.path / "model.safetensors", "wb") as file:
            file.write(save(weights, metadata={"input_shape": shape}))

    def classifier(self) -> Classifier:
        """Return the trained classifier, ready to predict."""
        self.check_digests()
        path = self.path / "model.safetensors"
        if not path.exists():
            raise FileError(f"{self.path} has no weights yet. Continue the run with {argument('resume', True)}.")
        recipe, hierarchy = self.recipe(), self.hierarchy()
        self._check_trust(recipe)
        weights, input_shape = _read_weights(path)
        with naming(self.path, "a training run", "Copy the run again."):
            recipe = _without_download(recipe)
            if ":" not in recipe.model.name:
                _check_shapes(recipe, input_shape, weights)
            classifier = Classifier(recipe, hierarchy, input_shape)
            classifier.load_state_dict(weights)
        return classifier.eval()

    def _check_trust(self, recipe: Recipe) -> None:
        """Refuse to import what the folder names, unless it is built in or the user names it too."""
        trusted = {self.trust} if isinstance(self.trust, str) else set(self.trust)
        own = {"model": ":" not in recipe.model.name, "method": recipe.method.name in methods.METHODS}
        for what, is_own in own.items():
            name = getattr(recipe, what).name
            if not is_own and name not in trusted:
                raise FileError(
                    f"{self.path} names the {what} {name!r}, which is not part of hedgerow; loading it would run "
                    f"code that the folder chooses. If you trust it, add "
                    f"{argument('trust', name, python=f'trust=[{name!r}]')}."
                )

    @property
    def scores(self) -> Path:
        """The score file of the test data."""
        return self.path / "scores.npz"

    def open_scores(self, *, labels: bool = True) -> Scores:
        """Open the scores of the test data."""
        if not self.scores.exists():
            raise FileError(
                f"{self.path} holds no scores of the test data: it was trained with run.scores=none. Score data "
                f"with {argument('data', 'PATH', python='run_scores(run, PATH)')}."
            )
        return open_test_scores(self.scores, self.hierarchy(), labels=labels)


def _read_weights(path: Path) -> tuple[dict[str, Tensor], tuple[int, ...]]:
    """Return the weights, all finite, and the shape of one example."""
    from safetensors import safe_open

    with reading(path, "the weights of a training run"), safe_open(path, framework="pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
        shape = tuple(msgspec.json.decode(file.metadata()["input_shape"], type=list[_Width]))
        if len(shape) not in (1, 3) or math.prod(shape) > _LARGEST_INPUT:
            raise ValueError(f"{shape} is not the shape of features or of an image")
        bad = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
        if bad:
            raise ValueError(f"{bad[0]!r} holds numbers that are not finite")
    return weights, shape


def _without_download(recipe: Recipe) -> Recipe:
    """Return the recipe without pretrained weights, which would be downloaded only to be replaced."""
    params = {key: value for key, value in recipe.model.params.items() if key != "pretrained"}
    own = ":" in recipe.model.name
    return recipe if own else replace(recipe, model=Choice(recipe.model.name, params))


def _check_shapes(recipe: Recipe, input_shape: tuple[int, ...], weights: dict[str, Tensor]) -> None:
    """Compare the model that a recipe describes with its weights before memory is allocated for it."""
    with torch.device("meta"):
        model = models.build(recipe.model.name, input_shape, **recipe.model.params)
    expected = {f"model.{name}": tensor.shape for name, tensor in model.state_dict().items()}
    found = {name: tensor.shape for name, tensor in weights.items()}
    wrong = [name for name, shape in expected.items() if found.get(name) != shape]
    head = found.get("head.linear.weight", ())
    if wrong or len(head) != 2 or head[1] != model.out_features:
        raise ValueError(
            f"the weights are not those of its model: {(wrong or ['head.linear.weight'])[0]!r} differs"
        )
