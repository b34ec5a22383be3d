from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError, TreeError, UnknownNameError, as_options
from hedgerow.learn import data
from hedgerow.learn.data.features import label_nodes, read_features

if TYPE_CHECKING:
    from pathlib import Path

EDGES = "animal,bird\nanimal,fish\nbird,robin\nbird,wren\n"
RANKS = ("class", "genus", "species")


def save(path: Path, **members: Any) -> Path:
    np.savez(path, **members)
    return path


def some_features(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(size=(count, 4)).astype(np.float16)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.csv"
    path.write_text(EDGES, encoding="utf-8")
    return path


def test_labels_may_be_any_node_of_the_tree(tmp_path: Path, tree: Path) -> None:
    labels = np.array(["robin", "bird", "animal", "wren"])
    split = np.array(["train", "train", "val", "test"])
    path = save(tmp_path / "f.npz", features=some_features(4), labels=labels, split=split, ids=np.arange(4))
    splits = data.load("features", path=path, tree=tree)
    assert splits.name == "f"
    assert splits.input_shape == (4,)
    named = [splits.hierarchy.names[splits.split(name).labels].tolist() for name in data.SPLITS]
    assert named == [["robin", "bird"], ["animal"], ["wren"]]
    assert splits.test.ids.tolist() == ["3"]


def test_without_a_tree_all_classes_stand_below_a_root(tmp_path: Path) -> None:
    labels = np.array(["a", "b"] * 20)
    splits = data.load("features", path=save(tmp_path / "f.npz", X=some_features(40), labels=labels), root="any")
    assert splits.hierarchy.names.tolist() == ["any", "a", "b"]
    assert [len(splits.split(name)) for name in data.SPLITS] == [28, 4, 8]
    ids = [i for name in data.SPLITS for i in splits.split(name).ids.tolist()]
    assert sorted(ids, key=int) == [str(i) for i in range(40)]


RANKED = [
    ("birds", "Turdus", "T. merula"),
    ("birds", "Turdus", ""),
    ("birds", "", ""),
    ("", "", ""),
    ("birds", "Troglodytes", "T. troglodytes"),
    ("fish", "", "S. trutta"),
]


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_ranks_with_blanks_give_tree_and_labels(tmp_path: Path, kind: str) -> None:
    split = ["train", "train", "train", "val", "test", "test"]
    if kind == "npz":
        path = save(
            tmp_path / "f.npz",
            features=some_features(6),
            labels=np.array(RANKED),
            ranks=np.array(RANKS),
            split=np.array(split),
        )
    else:
        table = pd.DataFrame([[name or None for name in row] for row in RANKED], columns=list(RANKS))
        features = pd.DataFrame(some_features(6).astype(float), columns=list("wxyz"))
        path = tmp_path / "f.parquet"
        table.assign(split=split, id=list("abcdef"), text="a robin").join(features).to_parquet(path)
    splits = data.load("features", path=path, label=RANKS, root="life")
    h = splits.hierarchy
    assert h.rank is not None
    assert h.rank[h.index("Turdus")] == "genus"
    named = [h.names[splits.split(name).labels].tolist() for name in data.SPLITS]
    assert named == [["T. merula", "Turdus", "birds"], ["life"], ["T. troglodytes", "S. trutta"]]
    np.testing.assert_array_equal(np.asarray(splits.test.inputs), some_features(6)[4:].astype(np.float32))


def test_parquet_may_hold_lists(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pd.DataFrame({"features": [[1.0, 2.0], [3.0, 4.0]], "label": ["a", "b"]}).to_parquet(path)
    file = read_features(path)
    assert file.features.tolist() == [[1, 2], [3, 4]]
    assert file.labels is not None
    assert file.labels.tolist() == [["a"], ["b"]]


def test_a_file_without_labels_can_be_read_for_prediction(tmp_path: Path) -> None:
    file = read_features(save(tmp_path / "f.npz", features=some_features(3)))
    assert file.labels is None
    assert file.features.dtype == np.float32


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"labels": np.array(["a"])}, "has no member 'features'"),
        ({"features": np.zeros((2, 2))}, "holds no labels"),
        ({"features": np.zeros((2, 2)), "labels": np.array(["a"])}, "2 rows of features, but 1 labels"),
        ({"features": np.zeros((2, 2)), "labels": np.array([0, 1])}, "'labels' must hold names, not int64"),
        ({"features": np.zeros((2, 2)), "labels": np.array(["a", "b"], object)}, "never unpickled"),
        ({"features": np.zeros(2), "labels": np.array(["a", "b"])}, "must be numbers [examples, features]"),
        ({"features": np.array([[0.0], [np.nan]]), "labels": np.array(["a", "b"])}, "features of row 1"),
        ({"features": np.zeros((2, 2)), "labels": np.array(["a", ""])}, "row 1 (counted from 0) has no label"),
        ({"features": np.zeros((1, 2)), "labels": np.array([["a", "b"]])}, "need 'ranks'"),
        (
            {"features": np.zeros((2, 2)), "labels": np.array(["a", "b"]), "split": np.array(["train", "dev"])},
            "no split 'dev'. Write train, val, test.",
        ),
        ({"features": np.zeros((2, 2)), "labels": np.array(["a", "b"])}, "leaves no examples for 'val'"),
    ],
)
def test_files_that_do_not_fit_are_explained(tmp_path: Path, members: dict[str, Any], message: str) -> None:
    with pytest.raises(FileError, match=re.escape(message)):
        data.load("features", path=save(tmp_path / "f.npz", **members))


def test_other_files_are_refused(tmp_path: Path, tree: Path) -> None:
    for name in ("f.npz", "f.parquet"):
        (tmp_path / name).write_bytes(b"neither")
        with pytest.raises(FileError, match="cannot be read"):
            read_features(tmp_path / name)
    with pytest.raises(FileError, match=r"\.npz or \.parquet"):
        read_features(tree)
    with pytest.raises(FileError, match="does not exist"):
        read_features(tmp_path / "absent.npz")


def test_what_is_no_archive_is_said_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / "features.npz"
    path.write_bytes(b"junk that looks like a pickle")
    with pytest.raises(FileError, match=r"cannot be read as \.npz: File is not a zip file\. It may be"):
        read_features(path)


def test_columns_that_are_no_features_are_named(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pd.DataFrame({"x": [1.0], "place": ["here"], "label": ["a"]}).to_parquet(path)
    with pytest.raises(FileError, match=r"'place' should be features"):
        read_features(path)
    with pytest.raises(FileError, match=r"no column 'genus'"):
        read_features(path, ["label", "genus"])


def test_labels_that_are_not_in_the_tree_are_named(tmp_path: Path, tree: Path) -> None:
    path = save(tmp_path / "f.npz", features=some_features(2), labels=np.array(["robbin", "wren"]))
    with pytest.raises(UnknownNameError, match="'robin'"):
        data.load("features", path=path, tree=tree)


def test_one_name_under_two_parents_is_refused(tmp_path: Path) -> None:
    labels = np.array([["birds", "Oenanthe"], ["plants", "Oenanthe"]])
    path = save(tmp_path / "f.npz", features=some_features(2), labels=labels, ranks=np.array(["a", "b"]))
    with pytest.raises(TreeError, match="Oenanthe"):
        data.load("features", path=path)


def test_ranks_find_classes_that_share_a_name(tmp_path: Path) -> None:
    rows = [["life", "birds", "Oenanthe"], ["life", "plants", "Oenanthe"], ["life", "plants", ""], ["", "", ""]]
    path = save(tmp_path / "f.npz", features=some_features(4), labels=np.array(rows), ranks=np.array(list("abc")))
    h = Hierarchy.from_lineages([row[1:] for row in rows], ranks=None, disambiguate=True)  # without "life"
    found = label_nodes(read_features(path), h)
    assert h.names[found].tolist() == ["birds/Oenanthe", "plants/Oenanthe", "plants", "root"]


def test_ranks_that_do_not_fit_the_tree_are_refused(tmp_path: Path, tree: Path) -> None:
    labels = np.array([["fish", "robin"], ["bird", "wren"]])
    path = save(tmp_path / "f.npz", features=some_features(2), labels=labels, ranks=np.array(["a", "b"]))
    with pytest.raises(TreeError, match="puts 'robin' below 'fish'"):
        data.load("features", path=path, tree=tree)
    labels[:, 1] = ["robn", "rwen"]
    path = save(tmp_path / "f.npz", features=some_features(2), labels=labels, ranks=np.array(["a", "b"]))
    with pytest.raises(UnknownNameError, match="2 names are not in the tree: 'robn' and 'rwen'"):
        data.load("features", path=path, tree=tree)


def test_a_flawed_tree_names_settings_of_a_recipe(tmp_path: Path) -> None:
    path = save(tmp_path / "f.npz", features=some_features(2), labels=np.array(["robin", "wren"]))
    tree = tmp_path / "lineages.csv"
    tree.write_text("class,genus,species\nbird,Turdus,robin\nbird,NA,wren\n")
    with pytest.raises(TreeError, match="tree_format='lineages'"):
        data.load("features", path=path, tree=tree)
    with as_options(), pytest.raises(TreeError, match=r"--set data\.tree_format=lineages"):
        data.load("features", path=path, tree=tree)
    with as_options(), pytest.raises(TreeError, match=r"--na NA \(of `hedgerow tree`, whose output"):
        data.load("features", path=path, tree=tree, tree_format="lineages")
    with as_options(), pytest.raises(FileError, match=r"--set data\.tree_format=edges"):
        data.load("features", path=path, tree=tree.with_suffix(".xyz"))
