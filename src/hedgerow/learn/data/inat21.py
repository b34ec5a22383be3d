"""iNaturalist 2021, mini and full, in the layout of its public release."""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.files import read_json, reading
from hedgerow.learn.data.image_files import ImageFiles
from hedgerow.learn.data.splits import DataSplits, Examples, hold_out
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
ROOT = "Life"


def load_inat21(
    *, path: str | PathLike[str], mini: bool = False, image_size: int = 224, val_share: float = 0.04, seed: int = 0
) -> DataSplits:
    """Load iNaturalist 2021: `train.json` or `train_mini.json`, `val.json`, and the image folders next to them.

    The tree of seven ranks below "Life" is built from the categories in the annotations. Species have their
    binomial as name and their common name as title; images are matched to them by category id. The official
    validation images are the test split; a share of the training images is the validation split.

    Parameters
    ----------
    path
        The folder that holds the annotations and the images.
    mini
        Train on `train_mini` (50 images per species) rather than `train`.
    image_size
        Height and width at which images are read.
    val_share
        Share of the training images to hold out, class by class; 0 uses the test split for validation too.
    seed
        Seed of what is held out.
    """
    folder = Path(path)
    splits = ("train_mini" if mini else "train", "val")
    for split in splits:
        _require_files(folder, split)
    annotations = _annotations(folder / f"{splits[0]}.json")
    with reading(folder / f"{splits[0]}.json", "annotations", "Use the official annotation file."):
        hierarchy, node = category_tree(annotations["categories"])
    train = _examples(folder, splits[0], annotations, node, image_size)
    test = _examples(folder, "val", _annotations(folder / "val.json"), node, image_size)
    train, val = (train, test) if val_share == 0 else hold_out(train, val_share, seed)
    return DataSplits("inat21-mini" if mini else "inat21", hierarchy, train, val, test)


def category_tree(categories: list[dict[str, Any]]) -> tuple[Hierarchy, dict[int, int]]:
    """Build the tree of the categories; return it and the node of each category id.

    If several nodes share a name, such as a genus of plants and a genus of animals, each is called "parent/name".
    """
    lineages: dict[int, tuple[str, ...]] = {}
    for category in categories:
        names = [str(category.get(rank) or "").strip() for rank in RANKS[:-1]]
        lineages[int(category["id"])] = (ROOT, *filter(None, names), str(category["name"]))
    twice = [lineage[-1] for lineage, count in Counter(lineages.values()).items() if count > 1]
    if twice:
        raise FileError(
            f"Two categories have the name and lineage of {some(twice)}. Use the official annotation file."
        )
    paths = list(dict.fromkeys(lineage[:i] for lineage in lineages.values() for i in range(1, len(lineage) + 1)))
    uses = Counter(path[-1] for path in paths)
    name: dict[tuple[str, ...], str] = {}
    for path in paths:  # parents come first
        name[path] = path[-1] if uses[path[-1]] == 1 else f"{name[path[:-1]]}/{path[-1]}"
    position = {path: i for i, path in enumerate(paths)}
    parent = [-1 if len(path) == 1 else position[path[:-1]] for path in paths]
    rank, title = _ranks_and_titles(categories, lineages, position)
    hierarchy = Hierarchy.from_parents([name[path] for path in paths], parent, rank, title)
    return hierarchy, {category: hierarchy.index(name[lineage]) for category, lineage in lineages.items()}


def _ranks_and_titles(
    categories: list[dict[str, Any]], lineages: dict[int, tuple[str, ...]], position: dict[tuple[str, ...], int]
) -> tuple[list[str], list[str]]:
    rank, title = [""] * len(position), [""] * len(position)
    for category in categories:
        lineage = lineages[int(category["id"])]
        present = [each for each in RANKS[:-1] if str(category.get(each) or "").strip()]
        for depth, each in enumerate([*present, RANKS[-1]], 2):
            rank[position[lineage[:depth]]] = each
        title[position[lineage]] = str(category.get("common_name") or "")
    return rank, title


def _require_files(folder: Path, split: str) -> None:
    """Say what to download and where to put it, before any work starts."""
    absent = [path for path in (folder / f"{split}.json", folder / split) if not path.exists()]
    if absent:
        raise FileError(
            f"There is no {absent[0]}. Download {split}.json.tar.gz and {split}.tar.gz of the iNaturalist 2021 "
            f"competition's public release (github.com/visipedia/inat_comp, folder 2021) and unpack both in "
            f"{folder}."
        )


def _annotations(path: Path) -> dict[str, Any]:
    data = read_json(path, "annotations", "Unpack it again.")
    keys = ("images", "annotations", "categories")
    if not isinstance(data, dict) or not all(isinstance(data.get(key), list) for key in keys):
        raise FileError(f"{path} does not hold the lists {some(keys)}. Use the official annotation file.")
    return data


def _is_inside(name: str) -> bool:
    """Tell whether the name of a file leads nowhere but into the folder that it is relative to."""
    path = PurePath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _examples(
    folder: Path, split: str, annotations: dict[str, Any], node: dict[int, int], image_size: int
) -> Examples:
    path = folder / f"{split}.json"
    with reading(path, "annotations", "Use the official annotation file."):
        category: dict[int, int] = {each["image_id"]: each["category_id"] for each in annotations["annotations"]}
        images = [{"id": each["id"], "file_name": str(each["file_name"])} for each in annotations["images"]]
        outside = [each["file_name"] for each in images if not _is_inside(each["file_name"])]
    if outside:
        raise FileError(
            f"{path} lists images outside its folder: {some(outside)}. Use the official annotation file."
        )
    unlabelled = [str(image["id"]) for image in images if image["id"] not in category]
    if unlabelled:
        raise FileError(f"{path} gives no category for {len(unlabelled):,} images: {some(unlabelled)}.")
    unknown = sorted({str(c) for c in category.values() if c not in node})
    if unknown:
        raise FileError(f"{path} uses categories that the training annotations do not have: {some(unknown)}.")
    names = [image["file_name"] for image in images]
    for name in names[:1] + names[-1:]:
        if not (folder / name).is_file():
            raise FileError(f"{path} lists {name}, which is not in {folder}. Unpack {split}.tar.gz there.")
    labels: NDArray[np.int64] = np.array([node[category[image["id"]]] for image in images], dtype=np.int64)
    return Examples(ImageFiles.of(names, folder, image_size), labels, [str(image["id"]) for image in images])
