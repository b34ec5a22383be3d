from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError, UnknownNameError
from hedgerow.learn import data
from hedgerow.learn.data.inat21 import RANKS, category_tree
from tests.learn.data.folders import categories, write_image, write_imagenet, write_inat21

TAXONOMY = Path(__file__).parents[4] / "shared" / "data" / "hierarchies" / "inat21.csv"


def labels_by_name(splits: data.DataSplits, split: str) -> dict[str, str]:
    examples = splits.split(split)
    return dict(zip(examples.ids.tolist(), splits.hierarchy.names[examples.labels].tolist(), strict=True))


# Image folders ------------------------------------------------------------------------------------------------


def write_folders(folder: Path) -> None:
    for name in ("train/bird/robin/1.jpg", "train/bird/wren/2.JPG", "train/bird/3.png", "train/fish/4.jpg"):
        write_image(folder / name)
    for name in ("val/fish/5.jpg", "test/wren/6.jpg", "test/wren/.notes.txt"):
        if name.endswith("txt"):
            (folder / name).write_text("not an image")
        else:
            write_image(folder / name)


def test_the_folder_that_holds_an_image_is_its_label(tmp_path: Path) -> None:
    write_folders(tmp_path / "birds")
    (tmp_path / "tree.csv").write_text("animal,bird\nanimal,fish\nbird,robin\nbird,wren\n")
    splits = data.load("images", path=tmp_path / "birds", tree=tmp_path / "tree.csv", image_size=16)
    assert labels_by_name(splits, "train") == {
        "train/bird/3.png": "bird",
        "train/bird/robin/1.jpg": "robin",
        "train/bird/wren/2.JPG": "wren",
        "train/fish/4.jpg": "fish",
    }
    assert labels_by_name(splits, "test") == {"test/wren/6.jpg": "wren"}
    assert splits.name == "birds"
    image, label, _ = splits.train.as_torch_dataset(augment=True)[0]
    assert image.shape == (16, 16, 3)
    assert splits.hierarchy.names[label] == "bird"


def test_nested_folders_are_the_tree(tmp_path: Path) -> None:
    for k in range(4):
        for name in ("bird/robin", "bird/wren", "fish"):
            write_image(tmp_path / "train" / name / f"{k}.jpg")
    write_image(tmp_path / "test/fish/0.jpg")
    splits = data.load("images", path=tmp_path, root="animal", image_size=8, val_share=0.25)
    assert splits.hierarchy.names.tolist() == ["animal", "bird", "robin", "wren", "fish"]
    assert [len(splits.split(name)) for name in data.SPLITS] == [9, 3, 1]


def test_folders_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"There is no folder .*train"):
        data.load("images", path=tmp_path)
    write_folders(tmp_path)
    (tmp_path / "tree.csv").write_text("animal,birds\nanimal,fish\nbirds,robin\nbirds,wren\n")
    with pytest.raises(UnknownNameError, match=r"do not match.*'bird'.*'birds'"):
        data.load("images", path=tmp_path, tree=tmp_path / "tree.csv")
    write_image(tmp_path / "train" / "loose.jpg")
    with pytest.raises(FileError, match=r"'train/loose.jpg' is not in a class folder"):
        data.load("images", path=tmp_path)


# iNaturalist 2021 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mini", [True, False])
def test_inat21_in_its_official_layout(tmp_path: Path, mini: bool) -> None:
    write_inat21(tmp_path, "train_mini" if mini else "train")
    splits = data.load("inat21", path=tmp_path, mini=mini, image_size=8, val_share=1 / 3)
    h = splits.hierarchy
    assert splits.name == ("inat21-mini" if mini else "inat21")
    assert (h.names[0], len(h.leaves), set(h.depth[h.leaves].tolist())) == ("Life", 4, {7})
    assert [len(splits.split(name)) for name in data.SPLITS] == [8, 4, 4]
    assert labels_by_name(splits, "test") == {
        "0": "Turdus merula",
        "100": "Turdus migratorius",
        "200": "Oenanthe oenanthe",
        "300": "Oenanthe crocata",
    }
    image, label, index = splits.test.as_torch_dataset()[0]
    assert splits.test.ids[index] == "300"
    assert h.display_name(label) == "Oenanthe crocata (Hemlock Water-dropwort)"
    assert image.shape == (8, 8, 3)


def test_a_genus_that_stands_twice_is_called_by_its_family() -> None:
    h, node = category_tree(categories()[::-1])
    assert h.names[h.lineage(node[2])].tolist()[-3:] == [
        "Muscicapidae",
        "Muscicapidae/Oenanthe",
        "Oenanthe oenanthe",
    ]
    assert h.names[h.lineage(node[3])].tolist()[-3:] == ["Apiaceae", "Apiaceae/Oenanthe", "Oenanthe crocata"]
    assert h.rank is not None
    assert h.rank[h.lineage(node[0])].tolist() == ["", *RANKS]


def test_the_official_split_may_serve_twice(tmp_path: Path) -> None:
    write_inat21(tmp_path)
    splits = data.load("inat21", path=tmp_path, mini=True, val_share=0)
    assert splits.val is splits.test
    assert len(splits.train) == 12


def test_the_real_taxonomy_is_built_from_categories() -> None:
    if not TAXONOMY.is_file():
        pytest.skip(f"{TAXONOMY.name} of the shared data is not here")
    h = Hierarchy.from_edges(TAXONOMY)
    listed: list[dict[str, Any]] = []
    for i, leaf in enumerate(h.leaves.tolist()):
        names = h.names[h.lineage(leaf)].tolist()
        listed.append({"id": i, "name": names[-1], **dict(zip(RANKS[:-1], names[1:-1], strict=True))})
    built, node = category_tree(listed)
    assert built.fingerprint == h.fingerprint
    assert built.names[[node[i] for i in range(3)]].tolist() == h.names[h.leaves[:3]].tolist()


def test_missing_parts_of_inat21_are_named_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(
        FileError, match=r"train_mini\.json\.tar\.gz and train_mini\.tar\.gz of the iNaturalist 2021"
    ):
        data.load("inat21", path=tmp_path, mini=True)
    write_inat21(tmp_path, "train")
    with pytest.raises(FileError, match="train_mini"):
        data.load("inat21", path=tmp_path, mini=True)
    next(tmp_path.glob("val/*/*.jpg")).unlink()
    last = sorted(tmp_path.glob("val/*/*.jpg"))[-1]
    last.unlink()
    with pytest.raises(FileError, match=r"val\.json lists .* Unpack val\.tar\.gz there"):
        data.load("inat21", path=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotations": []}, "gives no category for 4 images"),
        ({"annotations": [{"image_id": i * 100, "category_id": 9} for i in range(4)]}, "do not have: '9'"),
        ({"images": None}, "Use the official annotation file"),
    ],
)
def test_annotations_that_do_not_fit_are_explained(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_inat21(tmp_path, "train")
    path = tmp_path / "val.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FileError, match=re.escape(message)):
        data.load("inat21", path=tmp_path)
    path.write_text("{")
    with pytest.raises(FileError, match=r"val\.json cannot be read as annotations"):
        data.load("inat21", path=tmp_path)


# ImageNet -----------------------------------------------------------------------------------------------------


def test_imagenet_is_bound_by_wordnet_id(tmp_path: Path) -> None:
    tree = write_imagenet(tmp_path)
    titles = tmp_path / "names.json"
    titles.write_text('{"n01440764": "tench", "n02084071": "dog", "n99999999": "elsewhere"}')
    splits = data.load("imagenet", path=tmp_path, tree=tree, titles=titles, image_size=8, val_share=1 / 3)
    h = splits.hierarchy
    assert [len(splits.split(name)) for name in data.SPLITS] == [6, 3, 9]
    assert h.display_name(h.index("n01440764")) == "n01440764 (tench)"
    for name in data.SPLITS:
        assert all(i.split("/")[1] == label for i, label in labels_by_name(splits, name).items())
    inputs = splits.train.inputs
    assert isinstance(inputs, data.ImageFiles)
    assert inputs.path(0).is_file()
    np.testing.assert_array_equal(np.unique(splits.train.labels), h.leaves)


def test_missing_parts_of_imagenet_are_named_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"ILSVRC2012_img_train\.tar.*ImageNet web site.*<WordNet id>"):
        data.load("imagenet", path=tmp_path, tree=tmp_path / "absent.csv")
    tree = write_imagenet(tmp_path)
    tree.write_text(tree.read_text() + "n00001930,n01443537\n")
    with pytest.raises(FileError, match="no images of 1 leaves of the tree: 'n01443537'"):
        data.load("imagenet", path=tmp_path, tree=tree)


def test_a_flat_validation_folder_is_explained(tmp_path: Path) -> None:
    tree = write_imagenet(tmp_path)
    for folder in list((tmp_path / "val").iterdir()):
        for image in folder.iterdir():
            image.rename(tmp_path / "val" / f"{folder.name}{image.name}")
        folder.rmdir()
    with pytest.raises(FileError, match="no folders named by WordNet id"):
        data.load("imagenet", path=tmp_path, tree=tree)
