"""Score files as other tools write them: other names of columns, other sums, other separators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError, UnknownNameError
from hedgerow.score_files import ScoreReading, open_scores, read_labels
from tests.make_scores import LEAVES, H, every_format, probabilities, read, save, save_npz, save_table

if TYPE_CHECKING:
    from pathlib import Path

every_table = pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])


def refusal(path: Path, tree: hr.Hierarchy = H, **options: Any) -> str:
    with pytest.raises(HedgerowError) as caught:
        read(path, tree, **options)
    assert str(path) in str(caught.value) or isinstance(caught.value, ParameterError)
    return str(caught.value)


# Sums ---------------------------------------------------------------------------------------------------------


@every_format
@pytest.mark.parametrize(("factor", "digits"), [(1, 2), (100, 0), (1e-3, 12), (7, 3), (1e6, 0)])
def test_rows_are_divided_by_their_sum(suffix: str, factor: float, digits: int, tmp_path: Path) -> None:
    p = np.round(factor * probabilities(50), digits)
    path = save(tmp_path / f"s.{suffix}", p, ["cod"] * 50)
    assert "logits" not in refusal(path) or factor in (7, 1e6)
    q, _ = read(path, renormalise=True)
    for row, scores in zip(q, p.tolist(), strict=True):
        shares = [score / sum(scores) for score in scores]
        expected = [1, shares[0] + shares[1], shares[0], shares[1], shares[2] + shares[3], shares[2], shares[3]]
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-15)


def test_what_the_message_proposes_works_in_the_command(tmp_path: Path) -> None:
    from hedgerow.errors import as_options

    path = save(tmp_path / "s.csv", np.round(probabilities(50), 2), ["cod"] * 50)
    with as_options():
        said = refusal(path)
    assert said.endswith(
        "If these are probabilities that were rounded, use --renormalise, which divides each row by its sum."
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0, 0, 0, 0], "must have a positive sum; row 1 (counted from 0) sums to 0"),
        ([-1, 1, 1, 0], "Scores must be finite, and 0 or more; row 1 (counted from 0) has -1 for 'robin'"),
        ([np.nan, 1, 0, 0], "row 1 (counted from 0) has no number (NaN) for 'robin'"),
        ([0, np.inf, 0, 0], "row 1 (counted from 0) has inf for 'wren'"),
    ],
)
def test_rows_that_cannot_be_divided(row: list[float], said: str, tmp_path: Path) -> None:
    path = save(tmp_path / "s.npz", np.array([[1, 2, 3, 4], row]), ["cod"] * 2)
    assert said in refusal(path, renormalise=True)
    assert "renormalise" not in refusal(path, renormalise=True)


def test_only_leaf_probabilities_are_renormalised(tmp_path: Path) -> None:
    theta = save_npz(tmp_path / "s.npz", logits=np.eye(4), labels=["cod"] * 4)
    assert "holds logits, and renormalise=True is for probabilities" in refusal(theta, renormalise=True)
    table = save_table(tmp_path / "s.csv", np.eye(4), label=["cod"] * 4)
    assert "holds logits" in refusal(table, logits=True, renormalise=True)
    nodes = save(tmp_path / "t.npz", np.ones((2, 7)), ["cod"] * 2, H.names.tolist())
    assert "holds likelihoods of all nodes" in refusal(nodes, renormalise=True)


def test_a_half_precision_file_is_divided_in_single_precision(tmp_path: Path) -> None:
    counts = np.array([[1, 2, 3, 4]], dtype=np.float16)
    q, _ = read(save_npz(tmp_path / "s.npz", probabilities=counts, labels=["cod"]), renormalise=True)
    assert q.dtype == np.float32
    np.testing.assert_allclose(q[0, H.leaves], [0.1, 0.2, 0.3, 0.4], rtol=1e-6)


# Columns about the examples -----------------------------------------------------------------------------------


@every_table
def test_labels_and_ids_by_other_names(suffix: str, tmp_path: Path) -> None:
    p = probabilities(2)
    path = save_table(tmp_path / f"s.{suffix}", p, image_id=["x", "y"], species=["cod", "bird"])
    (block,) = open_scores(path, H, ScoreReading(label_column="species", id_column="image_id"))
    assert block.labels is not None
    assert block.ids is not None
    assert H.names[block.labels].tolist() == ["cod", "bird"]
    assert block.ids.tolist() == ["x", "y"]
    np.testing.assert_allclose(block.q[:, H.indices(LEAVES)], p, rtol=1e-12)
    (block,) = open_scores(path, H, ScoreReading(label_column="species", id_column="image_id"), labels=False)
    assert block.labels is None
    (block,) = open_scores(
        path, H, ScoreReading(label_column="species", id_column="species", class_columns=LEAVES)
    )
    assert block.ids is not None
    assert block.ids.tolist() == ["cod", "bird"]


def test_members_by_other_names(tmp_path: Path) -> None:
    path = save_npz(
        tmp_path / "s.npz",
        probabilities=probabilities(2),
        labels=["cod", "cod"],
        coarse=["fish", "bird"],
        name=[7, 8],
    )
    (block,) = open_scores(path, H, ScoreReading(label_column="coarse", id_column="name"))
    assert block.labels is not None
    assert block.ids is not None
    assert H.names[block.labels].tolist() == ["fish", "bird"]
    assert block.ids.tolist() == ["7", "8"]
    assert "no member 'x': save it" in refusal(path, label_column="x")
    assert "no member 'x' for the ids. Its members: 'classes', 'labels', 'probabilities', 'coarse'" in refusal(
        path, id_column="x"
    )
    assert "names its classes itself" in refusal(path, class_prefix="p_")


@every_table
def test_columns_that_are_not_declared(suffix: str, tmp_path: Path) -> None:
    path = save_table(tmp_path / f"s.{suffix}", probabilities(2), ID=["x", "y"], Label=["cod", "eel"])
    assert "use label_column='Label'" in refusal(path)
    scores = open_scores(path, H, ScoreReading(label_column="Label"))
    assert len(list(scores)) == 1
    assert scores.warnings == [f"{path}: 1 column is no class and left out: 'ID'."]
    read(path, label_column="Label", id_column="ID")
    assert "no column 'id_' for the ids" in refusal(path, label_column="Label", id_column="id_")
    read(path, label_column="Label", class_columns=LEAVES)


@every_table
def test_a_usual_name_that_is_not_used_is_not_reserved(suffix: str, tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges([("root", "label"), ("root", "id")])
    p = probabilities(2, columns=2)
    path = save_table(tmp_path / f"s.{suffix}", p, ["label", "id"], truth=["id", "label"], key=["a", "b"])
    q, labels = read(path, h, label_column="truth", id_column="key")
    np.testing.assert_allclose(q[:, 1:], p, rtol=1e-12)
    assert labels == [2, 1]


# Class columns ------------------------------------------------------------------------------------------------


@every_table
def test_classes_named_like_columns_about_the_examples(suffix: str, tmp_path: Path) -> None:
    names = ["text", "image", "call"]
    h = hr.Hierarchy.from_edges([("root", name) for name in names])
    p = probabilities(2, columns=3)
    path = save_table(tmp_path / f"s.{suffix}", p, names, label=["text", "call"])
    said = refusal(path, h)
    assert "'image', the name of a class and of a column about the examples" in said
    assert "class_columns=NAMES or class_prefix='PREFIX'" in said
    q, labels = read(path, h, class_columns=names[::-1])
    np.testing.assert_allclose(q[:, 1:], p, rtol=1e-12)
    assert labels == [1, 3]
    (block,) = open_scores(path, h, ScoreReading(class_columns=names))
    assert block.texts is None


@every_table
def test_a_prefix_tells_the_classes(suffix: str, tmp_path: Path) -> None:
    p = probabilities(2)
    columns = [f"p_{name}" for name in LEAVES]
    path = save_table(tmp_path / f"s.{suffix}", p, columns, label=["cod", "eel"], split="test", width=[7, 8])
    assert "use class_prefix='p_'" in refusal(path)
    q, labels = read(path, class_prefix="p_")
    np.testing.assert_allclose(q[:, H.indices(LEAVES)], p, rtol=1e-12)
    assert labels == H.indices(["cod", "eel"]).tolist()
    assert "no column that begins with 'q_'" in refusal(path, class_prefix="q_")


def test_a_prefix_that_labels_share(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), [f"p_{n}" for n in LEAVES], p_label=["cod", "eel"])
    assert read(path, class_prefix="p_", label_column="p_label")[1] == H.indices(["cod", "eel"]).tolist()


@every_table
def test_class_columns_leave_others_alone(suffix: str, tmp_path: Path) -> None:
    path = save_table(tmp_path / f"s.{suffix}", probabilities(2), label=["cod", "eel"], width=[7, 8], note="x")
    scores = open_scores(path, H)
    assert len(list(scores)) == 1
    assert scores.warnings == [f"{path}: 2 columns are no class and left out: 'width' and 'note'."]
    assert len(read(path, class_columns=LEAVES)[0]) == 2
    said = refusal(path, class_columns=["robbin", *LEAVES[1:]])
    assert "no column 'robbin', which class_columns=NAMES lists" in said
    assert "Did you mean 'robin'?" in said
    assert "no column, and so probability 0: 'eel'" in refusal(path, class_columns=LEAVES[:3])


def test_contradictions(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), label=["cod", "eel"])
    assert "not both" in refusal(path, class_columns=LEAVES, class_prefix="p_")
    assert "'cod' cannot be a class and hold labels" in refusal(path, class_columns=LEAVES, label_column="cod")
    assert "must be a list of names, not the text 'cod'" in refusal(path, outside="cod")
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    for reading in (ScoreReading(only=str(empty)), ScoreReading(class_columns=str(empty))):
        with pytest.raises(FileError, match=r"empty\.txt holds no names"):
            open_scores(path, H, reading)
    with pytest.raises(ParameterError, match="reading must be a ScoreReading"):
        open_scores(path, H, "wide")  # type: ignore[arg-type]


def test_an_index_that_holds_ids(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    pd.DataFrame(probabilities(2), columns=LEAVES, index=["a", "b"]).assign(label="cod").to_csv(path)
    (block,) = open_scores(path, H)
    assert block.ids is not None
    assert block.ids.tolist() == ["a", "b"]
    wrong = tmp_path / "w.csv"
    pd.DataFrame(probabilities(2), columns=[*LEAVES[:3], "eal"], index=["a", "b"]).assign(label="cod").to_csv(
        wrong
    )
    assert "usually an index. If it holds the ids, use id_column=''; if not, write" in refusal(wrong)
    (block,) = open_scores(path, H, ScoreReading(id_column=""))
    assert block.ids is not None
    assert block.ids.tolist() == ["a", "b"]


# Separators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sign", "given"), [(";", ";"), ("\t", "tab"), ("\t", "\t"), ("|", "|")])
def test_other_separators(sign: str, given: str, tmp_path: Path) -> None:
    p = probabilities(3)
    path = tmp_path / "s.csv"
    pd.DataFrame(p, columns=LEAVES).assign(label="cod", text="a,b;c\td|e").to_csv(path, index=False, sep=sign)
    q, labels = read(path, delimiter=given)
    np.testing.assert_allclose(q[:, H.indices(LEAVES)], p, rtol=1e-12)
    assert labels == [H.index("cod")] * 3


def test_separators_that_cannot_be(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), label=["cod", "eel"])
    for wrong in ("", ";;", "\n", '"', "é"):
        with pytest.raises(ParameterError, match="delimiter must be one character"):
            open_scores(path, H, ScoreReading(delimiter=wrong))


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("robin;wren;cod;eel;label\n0,5;0,5;0;0;cod\n", encoding="utf-8")
    remedy = "which is not a number. If that is its decimal point, use decimal=','."
    assert f"has '0,5' for 'robin', {remedy}" in refusal(path, delimiter=";")
    assert read(path, delimiter=";", decimal=",")[0][0, H.indices(LEAVES)].tolist() == [0.5, 0.5, 0, 0]
    path.write_text('robin,wren,cod,eel,label\n"1,000.5",0,0,0,cod\n', encoding="utf-8")
    said = "has '1,000.5' for 'robin', which is not a number. Write thousands without separators."
    assert said in refusal(path)


def test_signs_of_per_cent(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("robin,wren,cod,eel,label\n50%,50 %,0,0,cod\n", encoding="utf-8")
    assert "has '50%' for 'robin', which is not a number. Remove the % and use renormalise" in refusal(path)


# Files of labels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["txt", "csv", "tsv", "parquet", "npz"])
def test_files_of_labels(suffix: str, tmp_path: Path) -> None:
    labels = ["cod", "a dodo", "NA", "007"]
    path = tmp_path / f"labels.{suffix}"
    if suffix == "txt":
        path.write_bytes(b"\xef\xbb\xbf" + "\r".join([*labels, "", ""]).encode())
        assert read_labels(path) == labels
        path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*labels, "", ""]).encode())
    elif suffix == "npz":
        np.savez(path, labels=labels, kind=labels[::-1])
    else:
        save_table(path, np.arange(4)[:, None], ["id"], label=labels, kind=labels[::-1])
    assert read_labels(path) == labels
    if suffix != "txt":
        assert read_labels(path, label_column="kind") == labels[::-1]
        with pytest.raises(FileError, match=r"has no \w+ 'x', which holds the labels"):
            read_labels(path, label_column="x")


def test_labels_that_are_not_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "labels.npz", labels=[[1, 2]])
    with pytest.raises(
        ScoreError, match=r"'labels' must be a list of names of nodes, not int64 of shape \(1, 2\)"
    ):
        read_labels(tmp_path / "labels.npz")


def test_unknown_names_are_unknown_names(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), label=["cod", "dodo"])
    with pytest.raises(UnknownNameError, match="'dodo'"):
        read(path)


def test_a_misspelt_column_is_told_apart_from_the_classes(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), label=["cod", "eel"], photo=["a", "b"])
    said = refusal(path, id_column="phto")
    assert "no column 'phto' for the ids. Its columns: 'robin', " in said
    assert said.endswith("Did you mean 'photo'?")
