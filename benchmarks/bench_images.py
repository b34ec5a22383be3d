"""How fast image files are loaded and learnt, beside a plain loop with the same number of workers.

Run with `python -m benchmarks.bench_images`: it writes photographs of noise, 500 x 375 unless told, and compares
the images per second of a plain torch loop (Pillow, random crops, floats from the workers) with `hedgerow train`,
without and with `data.cache`. On a GPU the network is ResNet-18 at 224 pixels.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.bench_scale import MadeImages, Stopwatch, Watched, made_splits, plain_loop
from benchmarks.bench_scale import Shape as Sizes
from hedgerow.learn import data
from hedgerow.learn.training import batches, run
from hedgerow.learn.training.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hedgerow.learn.data import DataSplits

CLASSES = 10
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Setting:
    """What is compared."""

    device: str
    model: str
    size: int
    batch: int
    workers: int


def write_photographs(folder: Path, number: int, width: int, height: int) -> None:
    """Write photographs of coarse shapes and fine noise, which compress like real ones."""
    random = np.random.default_rng(0)
    for i in range(number):
        coarse = Image.fromarray(random.integers(256, size=(12, 16, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), dtype=np.int16)
        pixels = np.clip(smooth + random.integers(-9, 10, size=smooth.shape), 0, 255).astype(np.uint8)
        for split in ("train", "test") if i < CLASSES else ("train",):
            place = folder / split / f"c{i % CLASSES}"
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(place / f"{i}.jpg", quality=90)


class PlainImages(Dataset[tuple[Tensor, int]]):
    """What most training scripts do: decode, crop at random, mirror, and normalise in the worker."""

    def __init__(self, splits: DataSplits, size: int) -> None:
        files = splits.train.inputs
        assert isinstance(files, data.ImageFiles)
        self.paths = [files.path(i) for i in range(len(files))]
        self.labels = (splits.train.labels - 1).tolist()
        self.size, self.mean = size, torch.tensor(MEAN)[:, None, None]
        self.deviation = torch.tensor(DEVIATION)[:, None, None]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        random = np.random.default_rng()
        with Image.open(self.paths[index]) as file:
            image = file.convert("RGB")
        area, ratio = image.width * image.height * random.uniform(0.08, 1), np.exp(random.uniform(-0.29, 0.29))
        width = min(image.width, round(np.sqrt(area * ratio)))
        height = min(image.height, round(np.sqrt(area / ratio)))
        left, top = random.integers(image.width - width + 1), random.integers(image.height - height + 1)
        part = image.crop((left, top, left + width, top + height))
        pixels = np.array(part.resize((self.size, self.size), Image.Resampling.BILINEAR))
        if random.random() < 0.5:
            pixels = pixels[:, ::-1].copy()
        scaled = torch.from_numpy(pixels).permute(2, 0, 1).contiguous().float() / 255
        return (scaled - self.mean) / self.deviation, self.labels[index]


def plain_batches(splits: DataSplits, how: Setting) -> DataLoader[Any]:
    return DataLoader(
        PlainImages(splits, how.size),
        how.batch,
        shuffle=True,
        drop_last=True,
        num_workers=how.workers,
        pin_memory=how.device == "cuda",
        persistent_workers=how.workers > 0,
    )


def our_batches(splits: DataSplits, how: Setting) -> Iterable[Any]:
    order = batches.BatchSampler(len(splits.train), how.batch, seed=0)
    return batches.batches(splits.train, order, torch.device(how.device), augment=True, workers=how.workers)


def loading_rate(given: Iterable[Any]) -> float:
    """Images per second after the first batch, when the workers have started."""
    done, since = 0, 0.0
    for batch in given:
        if not since:
            since = time.perf_counter()
        else:
            done += len(batch[0])
    return done / (time.perf_counter() - since)


def plain_training_rate(splits: DataSplits, how: Setting) -> float:
    given = ((images, labels) for images, labels in plain_batches(splits, how))
    return plain_loop(given, how.model, how.size, CLASSES, how.device, 2)


def our_training_rate(splits: DataSplits, how: Setting, folder: Path) -> float:
    recipe = Recipe.from_tables(
        {
            "model": {"name": how.model},
            "optimiser": {"epochs": 1, "batch_size": how.batch},
            "run": {
                "accelerator": "gpu" if how.device == "cuda" else "cpu",
                "workers": how.workers,
                "scores": "none",
            },
        }
    )
    watched, callbacks = Watched(Stopwatch(how.device), 2), run._callbacks
    with patch.object(run, "_callbacks", lambda *given: [*callbacks(*given), watched]):
        run.train(recipe, folder, progress=False, splits=splits)
    return watched.images / watched.seconds


def from_memory_rate(splits: DataSplits, how: Setting) -> float:
    """The speed of the network alone, on images that are made on the device."""
    h = splits.hierarchy
    MadeImages.prepare(h, how.device)
    images = made_splits(h, Sizes(how.batch * 40, CLASSES, CLASSES, how.size, how.model, how.batch)).train
    order = batches.BatchSampler(len(images), how.batch, seed=0)
    made = MadeImages(images, order, torch.device(how.device))
    given = ((pixels, labels - 1) for pixels, labels, _ in made)
    return plain_loop(given, how.model, how.size, CLASSES, how.device, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    best = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=["cpu", "cuda"], default=best)
    parser.add_argument("--number", type=int, help="photographs; 9,600 on a GPU, 480 on a CPU")
    parser.add_argument("--width", type=int, default=500)
    parser.add_argument("--height", type=int, default=375)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--model", help="resnet18 on a GPU, cnn on a CPU")
    parser.add_argument("--size", type=int, help="224 on a GPU, 64 on a CPU")
    parser.add_argument("--batch", type=int, help="256 on a GPU, 32 on a CPU")
    asked = parser.parse_args()
    gpu = asked.device == "cuda"
    how = Setting(
        asked.device,
        asked.model or ("resnet18" if gpu else "cnn"),
        asked.size or (224 if gpu else 64),
        asked.batch or (256 if gpu else 32),
        asked.workers,
    )
    number = asked.number or (9_600 if gpu else 480)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write_photographs(place, number, asked.width, asked.height)
        size = (place / "train" / "c0" / "0.jpg").stat().st_size
        print(f"{number:,} photographs of {asked.width} x {asked.height}, {size / 1000:.0f} kB; {how}\n")
        chosen = {"path": place, "image_size": how.size, "val_share": CLASSES / number}
        splits = data.load("images", **chosen)
        cached = data.load("images", **chosen, cache=str(place / "cache"))
        loading = loading_rate(plain_batches(splits, how)), loading_rate(our_batches(splits, how))
        filling, filled = loading_rate(our_batches(cached, how)), loading_rate(our_batches(cached, how))
        training = plain_training_rate(splits, how), our_training_rate(splits, how, place / "a")
        from_cache, alone = our_training_rate(cached, how, place / "b"), from_memory_rate(splits, how)
    rows = [
        ("loading, without a network", loading[0], loading[1], None),
        ("the same, filling the cache", loading[0], filling, None),
        ("the same, from the cache", loading[0], filled, None),
        ("training", training[0], training[1], 0.9),
        ("training from the cache, beside the network alone", alone, from_cache, 0.6),
    ]
    print("| | beside, images/s | hedgerow, images/s | ratio | goal |\n|---|---|---|---|---|")
    for name, other, ours, goal in rows:
        met = "" if goal is None or not gpu else f">= {goal} {'met' if ours / other >= goal else 'NOT MET'}"
        print(f"| {name} | {other:,.0f} | {ours:,.0f} | {ours / other:.2f} | {met} |")


if __name__ == "__main__":
    main()
