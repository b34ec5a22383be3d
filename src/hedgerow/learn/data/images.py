"""Folders of images: the folder that holds an image names its class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import FileError, UnknownNameError
from hedgerow.learn.data.image_files import EXTENSIONS, ImageFiles
from hedgerow.learn.data.splits import DataSplits, LabelledInputs, hold_out, tree_settings
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from os import PathLike


def load_images(
    *,
    path: str | PathLike[str],
    tree: str | PathLike[str] | None = None,
    tree_format: str | None = None,
    root: str = "root",
    image_size: int = 224,
    cache: str | PathLike[str] | None = None,
    val_share: float = 0.1,
    seed: int = 0,
) -> DataSplits:
    """Load image folders: `train/<class>/*.jpg`, `test/<class>/*.jpg` and, optionally, `val/<class>/*.jpg`.

    The folder that holds an image is named after its class, which may be any node of the tree; folders may be
    nested.

    Parameters
    ----------
    path
        The folder that holds the splits.
    tree, tree_format
        A tree file. By default the folders are the tree: `train/bird/robin` puts robin below bird.
    root
        Name of the root that is added if several nodes have no parent.
    image_size
        Height and width at which images are read.
    cache
        A folder where images are kept at about this size once they have been read: later epochs and runs do not
        decode them again. Random crops are then taken from images of 8/7 of the size.
    val_share
        Share of the training images to hold out, class by class, if there is no folder `val`.
    seed
        Seed of what is held out.
    """
    folder = Path(path)
    for split in ("train", "test"):
        if not (folder / split).is_dir():
            raise FileError(
                f"There is no folder {folder / split}. Put images in {folder / split / '<class>'}, one "
                f"folder per class."
            )
    found = {split: list_images(folder, split) for split in ("train", "val", "test") if (folder / split).is_dir()}
    with tree_settings():
        hierarchy = _folder_tree(found, root) if tree is None else Hierarchy.read(tree, tree_format, root=root)
    parts = {split: folder_examples(hierarchy, folder, names, image_size, cache) for split, names in found.items()}
    if "val" not in parts:
        parts["train"], parts["val"] = hold_out(parts["train"], val_share, seed)
    return DataSplits(folder.resolve().name, hierarchy, parts["train"], parts["val"], parts["test"])


def list_images(folder: Path, split: str) -> list[str]:
    """Return the images below a split's folder, sorted, as paths relative to `folder` with forward slashes."""
    names: list[str] = []
    for at, _, files in os.walk(folder / split, followlinks=True):
        above = Path(at).relative_to(folder).as_posix()
        names += [f"{above}/{file}" for file in files if os.path.splitext(file)[1].lower() in EXTENSIONS]  # noqa: PTH122
    loose = [name for name in names if name.count("/") == 1]
    if not names or loose:
        what = f"{loose[0]!r} is not in a class folder" if loose else "it holds no images"
        raise FileError(
            f"{folder / split}: {what}. Put images in folders named after their classes; known extensions: "
            f"{', '.join(sorted(EXTENSIONS))}."
        )
    return sorted(names)


def folder_examples(
    hierarchy: Hierarchy, folder: Path, names: list[str], image_size: int, cache: str | PathLike[str] | None
) -> LabelledInputs:
    """Label images with the folders that hold them."""
    try:
        labels = hierarchy.indices([name.split("/")[-2] for name in names])
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{folder} and the tree do not match: {error} Rename the folders, or the nodes."
        ) from None
    return LabelledInputs(ImageFiles.of(names, folder, image_size, cache=cache), labels, names)


def _folder_tree(found: dict[str, list[str]], root: str) -> Hierarchy:
    paths = dict.fromkeys("/".join(name.split("/")[1:-1]) for names in found.values() for name in names)
    return Hierarchy.from_paths(sorted(paths), root=root, separator="/")
