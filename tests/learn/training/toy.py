"""A small problem that trains in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow import Hierarchy
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.training.recipe import Recipe

if TYPE_CHECKING:
    from pathlib import Path

GROUPS, CLASSES, WIDTH = 3, 4, 8
EDGES = [("life", f"g{i}") for i in range(GROUPS)] + [
    (f"g{i}", f"c{i}{j}") for i in range(GROUPS) for j in range(CLASSES)
]
TREE = Hierarchy.from_edges(EDGES)
SIZES = {"train": 300, "val": 101, "test": 60}


def examples(split: str) -> LabelledInputs:
    """Return clusters around their class's centre, near its group's centre; one label in ten is a group."""
    rng = np.random.default_rng([7, SIZES[split]])
    centre = np.random.default_rng(0).normal(size=(len(TREE), WIDTH))
    leaf = rng.choice(TREE.leaves, SIZES[split])
    inputs = centre[leaf] + 2 * centre[TREE.parent[leaf]] + rng.normal(size=(len(leaf), WIDTH))
    coarse = (rng.random(len(leaf)) < 0.1) & (split == "train")
    return LabelledInputs(
        inputs, np.where(coarse, TREE.parent[leaf], leaf), [f"{split}-{i}" for i in range(len(leaf))]
    )


def splits() -> DataSplits:
    return DataSplits("toy", TREE, examples("train"), examples("val"), examples("test"))


def recipe(*changes: str) -> Recipe:
    size = ("optimiser.epochs=3", "optimiser.batch_size=32", "optimiser.least_steps=1", "optimiser.C=20")
    return Recipe.load("features-linear", (*size, "run.accelerator=cpu", *changes))


def write_files(folder: Path, *, epochs: int, data: str = "features.npz") -> Path:
    """Write the problem as files: features, tree and recipe; return the recipe."""
    parts = {name: examples(name) for name in SIZES}
    np.savez(
        folder / data,
        features=np.concatenate([np.asarray(part.inputs) for part in parts.values()]),
        labels=np.concatenate([TREE.names[part.labels] for part in parts.values()]).astype(np.str_),
        split=np.repeat(list(parts), [len(part) for part in parts.values()]),
        ids=np.concatenate([part.ids for part in parts.values()]),
    )
    TREE.to_edges(folder / "tree.csv")
    path = folder / "toy.toml"
    path.write_text(
        f"""
[data]
name = "features"
path = "{folder / data}"
tree = "{folder / "tree.csv"}"
[model]
name = "mlp"
hidden = [16]
[method]
name = "deep-rtc"
[optimiser]
epochs = {epochs}
batch_size = 32
[run]
accelerator = "cpu"
"""
    )
    return path
