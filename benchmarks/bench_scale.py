"""The whole of a training run at the paper's size, without its data: how long each part takes, in how much memory.

Run with `python -m benchmarks.bench_scale`: on a GPU, an epoch of 500,000 images and a test of 100,000 for every
method, on the tree of iNat21 (`--tree`) or one like it; with `--shape imagenet`, ResNet-50 on 200,000 images. On a
CPU, everything is tiny. Images are made on the device: a pattern for each class, similar in similar classes, and
noise. So the figures are those of a run whose images load as fast as the network takes them: see `bench_images`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self
from unittest.mock import patch

import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.bench_methods import INAT21_LEVELS, random_tree
from hedgerow import Hierarchy, methods
from hedgerow.learn import models
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.data.splits import to_float
from hedgerow.learn.training import batches, run, scores
from hedgerow.learn.training.recipe import Recipe
from hedgerow.measure import evaluate
from hedgerow.study import PAPER_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hedgerow.learn.training.batches import BatchSampler

WARM_UP = 20
"""Steps before the speed is measured: the first ones compile."""
COLUMNS = (
    "method",
    "training, s",
    "images/s",
    "of plain loop",
    "validation, s",
    "scoring, s",
    "measuring, s",
    "writing, s",
    "scores, bytes an example",
    "peak host, GiB",
    "peak device, GiB",
    "test AP",
)
LEVELS = {"inat21": INAT21_LEVELS, "imagenet": (1, 9, 40, 100, 222, 1_000)}
"""Nodes at each depth of the tree, if none is given."""
PATTERN = 8
"""Height and width of the pattern of a class, which is scaled to the size of the image."""


@dataclass(frozen=True)
class Shape:
    """What is run: each field is an option."""

    train: int
    val: int
    test: int
    size: int
    """Height and width of the images."""
    model: str
    batch: int


SHAPES = {
    ("inat21", "cuda"): Shape(500_000, 20_000, 100_000, 224, "resnet18", 256),
    ("imagenet", "cuda"): Shape(200_000, 12_800, 50_000, 224, "resnet50", 256),
    ("inat21", "cpu"): Shape(640, 128, 600, 16, "cnn", 64),
    ("imagenet", "cpu"): Shape(640, 128, 600, 16, "cnn", 64),
}


class MadeImages:
    """Batches of images that are made when they are needed, as `batches.MemoryBatches` gives them."""

    patterns: Tensor | None = None
    """[nodes, 3, PATTERN, PATTERN], on the device."""

    def __init__(self, examples: LabelledInputs, order: BatchSampler, device: torch.device) -> None:
        self.labels, self.batch_sampler, self.device = torch.tensor(examples.labels, device=device), order, device
        self.size = examples.input_shape[-1]

    @classmethod
    def prepare(cls, hierarchy: Hierarchy, device: str) -> None:
        random = np.random.default_rng(0)
        own = random.normal(size=(len(hierarchy), 3 * PATTERN**2)).astype(np.float32)
        for level in hierarchy.levels[1:]:
            own[level] += own[hierarchy.parent[level]]
        cls.patterns = torch.tensor(own, device=device).reshape(-1, 3, PATTERN, PATTERN)

    @classmethod
    def batches(
        cls, examples: LabelledInputs, order: BatchSampler, device: torch.device, **_: Any
    ) -> Self:  # in place of `batches.batches`
        return cls(examples, order, device)

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        assert self.patterns is not None
        numbers = torch.from_numpy(self.batch_sampler.numbers()).to(self.device)
        for chosen in numbers.tensor_split(len(self)):
            labels = self.labels[chosen]
            small = self.patterns[labels] + 0.5 * torch.randn_like(self.patterns[labels])
            images = functional.interpolate(128 + 24 * small, size=self.size).clamp(0, 255).byte()
            yield images.permute(0, 2, 3, 1).contiguous(), labels, chosen


class Stopwatch:
    """Adds up the time of each part; within another part, it counts for the inner one alone."""

    def __init__(self, device: str) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._device, self._parts, self._since = device, [""], 0.0

    def enter(self, part: str) -> None:
        self._switch()
        self._parts.append(part)

    def leave(self) -> None:
        self._switch()
        self._parts.pop()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self.enter(name)
        try:
            yield
        finally:
            self.leave()

    def now(self) -> float:
        """The time when the device has finished what it was given."""
        if self._device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def _switch(self) -> None:
        now = self.now()
        self.spent[self._parts[-1]] += now - self._since
        self._since = now

    def around(self, name: str, function: Any) -> Any:
        """Return a function whose time counts for a part."""

        def timed(*given: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*given, **options)

        return timed

    def around_each(self, name: str, function: Any) -> Any:
        """Return a generator function: the time to make its items counts for a part."""

        def timed(*given: Any, **options: Any) -> Iterator[Any]:
            made = iter(function(*given, **options))
            while True:
                with self.part(name):
                    item = next(made, None)
                if item is None:
                    return
                yield item

        return timed


class Watched(Callback):
    """Times training and validation, and the steps after the first."""

    def __init__(self, watch: Stopwatch, first: int = WARM_UP) -> None:
        self.watch, self.first, self.since, self.images, self.seconds = watch, first, 0.0, 0, 0.0

    def on_train_epoch_start(self, *_: Any) -> None:
        self.watch.enter("training")

    def on_train_batch_start(self, trainer: Any, _module: Any, _batch: Any, batch_idx: int) -> None:
        if batch_idx == min(self.first, trainer.num_training_batches // 2):
            self.since, self.images = self.watch.now(), 0

    def on_train_batch_end(self, trainer: Any, _module: Any, _outputs: Any, batch: Any, batch_idx: int) -> None:
        self.images += len(batch[1])
        if batch_idx == trainer.num_training_batches - 1:
            self.seconds = self.watch.now() - self.since

    def on_validation_start(self, *_: Any) -> None:
        self.watch.enter("validation")

    def on_validation_end(self, *_: Any) -> None:
        self.watch.leave()

    def on_train_epoch_end(self, *_: Any) -> None:
        self.watch.leave()


def made_splits(hierarchy: Hierarchy, shape: Shape) -> DataSplits:
    random = np.random.default_rng(1)

    def part(count: int) -> LabelledInputs:
        nothing = np.broadcast_to(np.zeros(1, np.uint8), (count, shape.size, shape.size, 3))  # one byte
        return LabelledInputs(nothing, random.choice(hierarchy.leaves, count))

    return DataSplits("made", hierarchy, part(shape.train), part(shape.val), part(shape.test))


def recipe_of(shape: Shape, method: str, device: str, kept: str) -> Recipe:
    return Recipe.from_tables(
        {
            "model": {"name": shape.model},
            "method": {"name": method},
            "optimiser": {"epochs": 1, "batch_size": shape.batch, "lr": 0.01},
            "run": {"accelerator": "gpu" if device == "cuda" else "cpu", "scores": kept},
        }
    )


def read_tree(path: str) -> Hierarchy:
    return random_tree(LEVELS[path]) if path in LEVELS else Hierarchy.from_edges(path)


def measured(tree: str, shape: Shape, method: str, device: str, kept: str) -> dict[str, Any]:
    """Train and test one method; return the seconds of each part, sizes and figures."""
    h = read_tree(tree)
    MadeImages.prepare(h, device)
    watch = Stopwatch(device)
    watched = Watched(watch)
    callbacks = run._callbacks
    with (
        TemporaryDirectory() as folder,
        patch.object(batches, "batches", MadeImages.batches),
        patch.object(scores, "batches", MadeImages.batches),
        patch.object(run, "_callbacks", lambda *given: [*callbacks(*given), watched]),
        patch.object(run, "likelihood_blocks", watch.around_each("scoring", scores.likelihood_blocks)),
        patch.object(run, "write_test_scores", watch.around("writing", scores.write_test_scores)),
        patch.object(run, "evaluate", watch.around("measuring", evaluate)),
    ):
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        found = run.train(
            recipe_of(shape, method, device, kept),
            Path(folder, "run"),
            progress=False,
            splits=made_splits(h, shape),
        )
        size = found.scores.stat().st_size if found.scores.exists() else 0
        figures = found.metrics()["test"]
    return {
        **{part: watch.spent[part] for part in ("training", "validation", "scoring", "measuring", "writing")},
        "images/s": watched.images / watched.seconds,
        "bytes": size / shape.test,
        "host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "device": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        "AP": figures["AP"],
    }


def plain_images_per_second(tree: str, shape: Shape, device: str, steps: int = 200) -> float:
    """The speed of a plain loop on the same images, over some steps."""
    h = read_tree(tree)
    MadeImages.prepare(h, device)
    count = min(steps + WARM_UP, shape.train // shape.batch)
    place = torch.full((len(h),), -1, device=device)
    place[torch.tensor(h.leaves, device=device)] = torch.arange(len(h.leaves), device=device)
    order = batches.BatchSampler(count * shape.batch, shape.batch, seed=0)
    made = MadeImages(made_splits(h, shape).train, order, torch.device(device))
    given = ((images, place[labels]) for images, labels, _ in made)
    return plain_loop(given, shape.model, shape.size, len(h.leaves), device, min(WARM_UP, count // 2))


def plain_loop(
    given: Iterable[tuple[Tensor, Tensor]], model: str, size: int, classes: int, device: str, warm_up: int
) -> float:
    """Train a network with a linear layer by the cross entropy; return the images per second after the warm-up."""
    torch.manual_seed(0)
    network = models.build(model, (3, size, size))
    network = nn.Sequential(network, nn.Linear(int(network.out_features), classes))  # type: ignore[arg-type]
    network = network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]

    def loss_of(images: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(network(to_float(images)), labels)

    compiled = torch.compile(loss_of) if device == "cuda" else loss_of
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=3e-4)
    done, since = 0, time.perf_counter()
    for step, (images, labels) in enumerate(given):
        if step == warm_up:
            if device == "cuda":
                torch.cuda.synchronize()
            done, since = 0, time.perf_counter()
        on_device = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = compiled(*on_device)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        done += len(labels)
    if device == "cuda":
        torch.cuda.synchronize()
    return done / (time.perf_counter() - since)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--shape", choices=["inat21", "imagenet"], default="inat21")
    parser.add_argument("--tree", help="a CSV of parent,child; a tree like that of the shape unless given")
    parser.add_argument("--methods", nargs="+", choices=methods.available(), help="all of the paper unless given")
    parser.add_argument("--scores", choices=["auto", "all", "compact", "none"], default="auto")
    for each in fields(Shape):
        parser.add_argument(f"--{each.name}", type=str if each.name == "model" else int)
    asked = vars(parser.parse_args())
    tree = asked["tree"] or asked["shape"]
    device, usual = asked["device"], SHAPES[asked["shape"], asked["device"]]
    shape = Shape(**{each.name: asked[each.name] or getattr(usual, each.name) for each in fields(Shape)})
    chosen = asked["methods"] or (PAPER_METHODS if device == "cuda" else ["flat-softmax", "softmax-margin"])
    where = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"{read_tree(tree)!r}; {shape}; {where}, torch {torch.__version__}\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:  # a process each, for the peaks of memory
        plain = pool.submit(plain_images_per_second, tree, shape, device).result()
        for method in chosen:
            found = pool.submit(measured, tree, shape, method, device, asked["scores"]).result()
            times = [f"{found[part]:.1f}" for part in ("validation", "scoring", "measuring", "writing")]
            memory = [f"{found[part] / (1 << 30):.2f}" for part in ("host", "device")]
            speed = [f"{found['images/s']:,.0f}", f"{found['images/s'] / plain:.2f}"]
            cells = [method, f"{found['training']:.1f}", *speed, *times, f"{found['bytes']:,.0f}", *memory]
            print("| " + " | ".join([*cells, f"{100 * found['AP']:.1f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
