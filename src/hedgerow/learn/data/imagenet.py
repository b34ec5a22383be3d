"""ImageNet: folders named by WordNet id, under a tree of WordNet ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import FileError, some
from hedgerow.learn.data.images import folder_examples, list_images
from hedgerow.learn.data.splits import DataSplits, hold_out
from hedgerow.tree import Hierarchy, read_titles

if TYPE_CHECKING:
    from os import PathLike

_WORDNET_ID = re.compile(r"n\d{8}")
_SOURCE = (
    "Download ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar (the ImageNet Large Scale Visual Recognition "
    "Challenge 2012, from the ImageNet web site, free for research after registration)"
)


def load_imagenet(
    *,
    path: str | PathLike[str],
    tree: str | PathLike[str],
    titles: str | PathLike[str] | None = None,
    image_size: int = 224,
    cache: str | PathLike[str] | None = None,
    val_share: float = 0.01,
    seed: int = 0,
) -> DataSplits:
    """Load ImageNet from `train/<WordNet id>/*.JPEG` and `val/<WordNet id>/*.JPEG`.

    Images are matched to nodes by WordNet id, never by an order of classes. The official validation images are the
    test split; a share of the training images is the validation split.

    Parameters
    ----------
    path
        The folder that holds `train` and `val`.
    tree
        A tree file whose leaves are the WordNet ids of the classes.
    titles
        JSON file of display names: ``{"n02084071": "dog", ...}``.
    image_size
        Height and width at which images are read.
    cache
        A folder where images are kept at about this size once they have been read: later epochs and runs do not
        decode them again. Random crops are then taken from images of 8/7 of the size.
    val_share
        Share of the training images to hold out, class by class; 0 uses the test split for validation too.
    seed
        Seed of what is held out.
    """
    folder = Path(path)
    _require_layout(folder)
    hierarchy = Hierarchy.read(tree)
    if titles is not None:
        hierarchy = hierarchy.with_titles(read_titles(titles))
    parts = {}
    for split in ("train", "val"):
        images = list_images(folder, split)
        present = {name.split("/")[1] for name in images}
        absent = [name for name in hierarchy.names[hierarchy.leaves].tolist() if name not in present]
        if absent:
            raise FileError(
                f"{folder / split} has no images of {len(absent):,} leaves of the tree: {some(absent)}. Unpack "
                f"them too, or give a tree of only the classes that have images (Hierarchy.subtree)."
            )
        parts[split] = folder_examples(hierarchy, folder, images, image_size, cache)
    train, test = parts["train"], parts["val"]
    train, val = (train, test) if val_share == 0 else hold_out(train, val_share, seed)
    return DataSplits("imagenet", hierarchy, train, val, test)


def _require_layout(folder: Path) -> None:
    """Raise an error that says what to download and where to put it."""
    for split in ("train", "val"):
        inside = folder / split
        if not inside.is_dir():
            raise FileError(
                f"There is no folder {inside}. {_SOURCE} and unpack them into {inside / '<WordNet id>'}, one "
                f"folder per class, such as {inside / 'n01440764'}."
            )
        if not any(_WORDNET_ID.fullmatch(entry.name) for entry in inside.iterdir()):
            raise FileError(
                f"{inside} has no folders named by WordNet id, such as {inside / 'n01440764'}. Sort the images "
                f"into such folders (for val: by the ground truth in the development kit ILSVRC2012_devkit_t12)."
            )
