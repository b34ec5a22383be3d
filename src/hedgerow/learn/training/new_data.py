"""Scores of a trained model on new data, block by block, like those of a score file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from hedgerow.errors import FileError, ScoreError, argument, counted, some
from hedgerow.learn.data import ImageFiles, LabelledInputs
from hedgerow.learn.data.features import label_nodes, read_features
from hedgerow.learn.data.image_files import EXTENSIONS
from hedgerow.learn.training.scores import likelihood_blocks
from hedgerow.score_files import Block, Scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from hedgerow.learn.training.run_folder import RunFolder
    from hedgerow.tree import Hierarchy


_TRAINING = ("train", "training")
_SPLITS = (*_TRAINING, "val", "valid", "validation", "test", "testing")


def run_scores(run: RunFolder, path: str | PathLike[str], *, labels: bool = True) -> Scores:
    """Return the scores of a trained model on new data.

    Parameters
    ----------
    run
        The folder of the trained model.
    path
        A feature file (`.npz`, `.parquet`), or a folder of images; if labels are needed, the images are in folders
        named after their classes.
    labels
        Whether labels are needed. If not, they are ignored.
    """
    place, hierarchy = Path(path), run.hierarchy()
    if labels:
        _refuse_training_data(run, place)
    classifier = run.classifier()
    shape = classifier.input_shape
    examples = (_images if place.is_dir() else _features)(place, hierarchy, shape, labels)
    if examples.input_shape != shape:
        raise ScoreError(
            f"{place} holds inputs of shape {examples.input_shape}; the model in {run.path} was trained on "
            f"{shape}."
        )

    def read(_: list[str]) -> Iterator[Block]:
        ids, how = examples.ids.astype(object), run.recipe().run
        on_gpu = how.accelerator != "cpu" and torch.cuda.is_available()
        device = torch.device("cuda" if on_gpu else "cpu")
        for block in likelihood_blocks(classifier, examples, device, how.loaders):
            rows = slice(block.start, block.start + len(block.likelihoods))
            yield block.join(labels=block.labels if labels else None, ids=ids[rows])

    return Scores(str(place), hierarchy, read, rows=len(examples), has_ids=True)


def _refuse_training_data(run: RunFolder, path: Path) -> None:
    """Refuse the data that the model was trained on: metrics would be optimistic and guarantees invalid."""
    learnt_from = run.recipe().data.params.get("path")
    if not isinstance(learnt_from, str):
        return
    source, given = Path(learnt_from).resolve(), path.resolve()
    if given == source or any(given.is_relative_to(source / part) for part in _TRAINING):
        raise FileError(
            f"{path} holds data that the model in {run.path} was trained on: metrics would be optimistic and "
            f"guarantees invalid. Leave it out to use the test part of that data, or give data new to the model."
        )


def _features(path: Path, hierarchy: Hierarchy, _: tuple[int, ...], labelled: bool) -> LabelledInputs:
    file = read_features(path)
    learnt = 0 if file.split is None else int(np.isin(file.split, _TRAINING).sum())
    if labelled and learnt:
        raise FileError(
            f"{path} holds {counted(learnt, 'training example', 'training examples')}, according to its 'split': "
            f"metrics would be optimistic and guarantees invalid. Save the others in a file of their own."
        )
    labels = label_nodes(file, hierarchy) if labelled else np.zeros(len(file.features), dtype=np.int64)
    return LabelledInputs(file.features, labels, file.ids)


def _images(path: Path, hierarchy: Hierarchy, shape: tuple[int, ...], labelled: bool) -> LabelledInputs:
    if len(shape) != 3:
        raise ScoreError(
            f"{path} is a folder, which is read as images, but the model was trained on {shape[0]} features. "
            f"Give a feature file."
        )
    names = sorted(
        file.relative_to(path).as_posix() for file in path.rglob("*") if file.suffix.lower() in EXTENSIONS
    )
    if not names:
        raise FileError(f"{path} holds no images. Known extensions: {', '.join(sorted(EXTENSIONS))}.")
    labels = np.zeros(len(names), dtype=np.int64)
    if labelled:
        _check_class_folders(path, names, hierarchy)
        labels = hierarchy.indices([Path(path, name).parent.name for name in names])
    return LabelledInputs(ImageFiles.of(names, path, shape[-1], shape[0]), labels, names)


def _check_class_folders(path: Path, names: list[str], hierarchy: Hierarchy) -> None:
    """Refuse a folder that holds several splits, and images that are not in folders named after classes."""
    splits = [name for name in _SPLITS if (path / name).is_dir() and name not in hierarchy]
    if len(splits) > 1:
        offers = " or ".join(argument("data", str(path / name)) for name in splits)
        raise FileError(f"{path} holds the folders {some(splits)}, which must not be mixed. Give {offers}.")
    loose = [name for name in names if "/" not in name]
    if loose:
        raise FileError(
            f"{path} holds images outside any class folder ({some(loose, 3)}), so their labels are not known. Put "
            f"images in folders named after their classes, or use `hedgerow predict`, which needs no labels."
        )
