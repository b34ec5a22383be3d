"""iNaturalist 2021, mini and full, in the layout of its public release."""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import FileError, some
from hedgerow.files import reading
from hedgerow.learn.data.image_files import ImageFiles
from hedgerow.learn.data.splits import DataSplits, LabelledInputs, hold_out
from hedgerow.learn.targets import lineage_nodes
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from os import PathLike

RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
ROOT = "Life"


def load_inat21(
    *,
    path: str | PathLike[str],
    mini: bool = False,
    image_size: int = 224,
    cache: str | PathLike[str] | None = None,
    val_share: float = 0.04,
    seed: int = 0,
) -> DataSplits:
    """Load iNaturalist 2021: `train.json` or `train_mini.json`, `val.json`, and the image folders next to them.

    The tree of seven ranks is built from the categories in the annotations; the root above several kingdoms is
    "Life". Species have their binomial as name and their common name as title; images are matched to them by
    category id. The official validation images are the test split; a share of the training images is the
    validation split.

    Parameters
    ----------
    path
        The folder that holds the annotations and the images.
    mini
        Train on `train_mini` (50 images per species) rather than `train`.
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
    splits = ("train_mini" if mini else "train", "val")
    for split in splits:
        _require_files(folder, split)
    learnt, tested = (_annotations(folder / f"{split}.json") for split in splits)
    with reading(folder / f"{splits[0]}.json", "annotations", "Use the official annotation file."):
        hierarchy, node = category_tree(learnt.categories)
    train = _examples(folder, splits[0], learnt, node, image_size, cache)
    test = _examples(folder, "val", tested, node, image_size, cache)
    train, val = (train, test) if val_share == 0 else hold_out(train, val_share, seed)
    return DataSplits("inat21-mini" if mini else "inat21", hierarchy, train, val, test)


def category_tree(categories: list[dict[str, Any]]) -> tuple[Hierarchy, dict[int, int]]:
    """Build the tree of the categories; return it and the node of each category id.

    If several nodes share a name, such as a genus of plants and a genus of animals, each is called "parent/name".
    """
    rows = [
        (*(str(each.get(rank) or "").strip() for rank in RANKS[:-1]), str(each["name"])) for each in categories
    ]
    twice = [row[-1] for row, count in Counter(rows).items() if count > 1]
    if twice:
        raise FileError(
            f"Two categories have the name and lineage of {some(twice)}. Use the official annotation file."
        )
    hierarchy = Hierarchy.from_lineages(rows, ranks=RANKS, root=ROOT, disambiguate=True)
    nodes = lineage_nodes(hierarchy, rows)
    common = [str(each.get("common_name") or "") for each in categories]
    titled = hierarchy.with_titles(dict(zip(hierarchy.names[nodes].tolist(), common, strict=True)))
    return titled, {int(each["id"]): int(node) for each, node in zip(categories, nodes, strict=True)}


def _require_files(folder: Path, split: str) -> None:
    """Raise an error that says what to download and where to put it."""
    absent = [path for path in (folder / f"{split}.json", folder / split) if not path.exists()]
    if absent:
        raise FileError(
            f"There is no {absent[0]}. Download {split}.json.tar.gz and {split}.tar.gz of the iNaturalist 2021 "
            f"competition's public release (github.com/visipedia/inat_comp, folder 2021) and unpack both in "
            f"{folder}."
        )


class _Image(msgspec.Struct):
    id: int
    file_name: str


class _Label(msgspec.Struct):
    image_id: int
    category_id: int


class _Annotations(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Label]
    categories: list[dict[str, Any]]


def _annotations(path: Path) -> _Annotations:
    with reading(path, "annotations", "Use the official annotation file."):
        return msgspec.json.decode(path.read_bytes(), type=_Annotations)


def _is_inside(name: str) -> bool:
    """Return whether a relative file name stays inside its folder."""
    path = PurePath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _examples(
    folder: Path,
    split: str,
    annotations: _Annotations,
    node: dict[int, int],
    image_size: int,
    cache: str | PathLike[str] | None,
) -> LabelledInputs:
    path = folder / f"{split}.json"
    category = {each.image_id: each.category_id for each in annotations.annotations}
    names = [image.file_name for image in annotations.images]
    outside = [name for name in names if not _is_inside(name)]
    if outside:
        raise FileError(
            f"{path} lists images outside its folder: {some(outside)}. Use the official annotation file."
        )
    ids = [image.id for image in annotations.images]
    unlabelled = [str(image) for image in ids if image not in category]
    if unlabelled:
        raise FileError(f"{path} gives no category for {len(unlabelled):,} images: {some(unlabelled)}.")
    unknown = sorted({str(c) for c in category.values() if c not in node})
    if unknown:
        raise FileError(f"{path} uses categories that the training annotations do not have: {some(unknown)}.")
    for name in names[:1] + names[-1:]:
        if not (folder / name).is_file():
            raise FileError(f"{path} lists {name}, which is not in {folder}. Unpack {split}.tar.gz there.")
    labels = [node[category[image]] for image in ids]
    return LabelledInputs(ImageFiles.of(names, folder, image_size, cache=cache), labels, list(map(str, ids)))
