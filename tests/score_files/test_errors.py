"""Everything that can be wrong with a score file."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError, UnknownNameError, as_options
from hedgerow.score_files import ScoreReading, open_scores
from tests.make_scores import LEAVES, H, every_format, opened, probabilities, read, save, save_npz, save_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# What is wrong with a file ------------------------------------------------------------------------------------


def refused(error: type[HedgerowError], *parts: str, path: Path, tree: hr.Hierarchy = H, **options: Any) -> None:
    with pytest.raises(error) as caught:
        read(path, tree, **options)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def row(number: int, suffix: str) -> str:
    """How messages name a row: in a text file by its line."""
    return f"line {number + 2}" if suffix in ("csv", "tsv") else f"row {number} (counted from 0)"


@every_format
@pytest.mark.parametrize(
    ("value", "said"), [(np.nan, "no number (NaN)"), (-0.25, "-0.25"), (7.5, "7.5"), (np.inf, "inf")]
)
def test_impossible_probabilities_name_row_and_class(suffix: str, value: float, said: str, tmp_path: Path) -> None:
    p = probabilities(9)
    p[5, 2] = value
    path = save(tmp_path / f"s.{suffix}", p, ["cod"] * 9)
    remedy = "logits=True" if np.isfinite(value) else "Remove the row"
    refused(ScoreError, f"{row(5, suffix)} has {said} for 'cod'", remedy, path=path, block_rows=2)


@every_format
def test_impossible_node_likelihoods(suffix: str, tmp_path: Path) -> None:
    q = np.asarray(hr.likelihood.from_leaves(H, probabilities(5)))
    q[3, 2] = 1.5
    path = save(tmp_path / f"s.{suffix}", q, ["cod"] * 5, H.names.tolist())
    refused(ScoreError, row(3, suffix), "1.5 for 'robin'", "logits=True is for leaves", path=path, block_rows=2)


@every_format
def test_rows_must_sum_to_one(suffix: str, tmp_path: Path) -> None:
    p = probabilities(9)
    p[6] *= 0.9
    path = save(tmp_path / f"s.{suffix}", p, ["cod"] * 9)
    refused(ScoreError, f"sum to 1 within 0.001; {row(6, suffix)} sums to 0.9", "renormalise=True", path=path)


def test_advice_on_rows_that_do_not_sum_to_one(tmp_path: Path) -> None:
    def advice(row: list[float]) -> str:
        path = save(tmp_path / "s.npz", np.array([row]), ["cod"])
        with pytest.raises(ScoreError) as caught:
            list(open_scores(path, H))
        return str(caught.value)

    divide = "use renormalise=True, which divides each row by its sum."
    assert advice([0.33, 0.33, 0.33, 0.0]).endswith(f"If these are probabilities that were rounded, {divide}")
    assert advice([90.0, 5.0, 5.0, 0.0]).endswith(f"If these are percentages, {divide}")
    assert advice([0.5, 0.5, 0.5, 0.5]).endswith(f"; if only the shares within a row matter, {divide}")
    assert advice([3.0, 2.0, 2.0, 0.0]).endswith(
        f"counts or weights, {divide} If these are logits, use logits=True, or save them in the .npz file "
        "as 'logits'."
    )
    assert "renormalise" not in advice([3.0, -2.0, 0.0, 0.0])
    for impossible in ([0.5, np.nan, 0.5, 0.0], [0.0] * 4, [np.inf, 0.0, 0.0, 0.0]):
        assert advice(impossible).endswith("Remove the row, or compute its scores again.")


@every_format
def test_missing_and_extra_classes(suffix: str, tmp_path: Path) -> None:
    columns = ["robbin", "wren", "cod"]
    path = save(tmp_path / f"s.{suffix}", probabilities(2, columns=3), ["cod"] * 2, columns)
    parts = ("2 missing ('robin' and 'eel')", "1 extra ('robbin')", "Did you mean 'robin'?")
    refused(UnknownNameError, "neither the 4 leaves nor all 7 nodes", *parts, path=path)
    groups = save(tmp_path / f"g.{suffix}", probabilities(2, columns=2), ["cod"] * 2, ["bird", "fish"])
    refused(
        UnknownNameError, "If each column is the probability of its class itself, use columns='own'", path=groups
    )


@pytest.mark.parametrize("score", ["votes", "count", "probability"])
def test_a_long_table_with_other_column_names(score: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"id,label,class,{score}\na,cod,cod,3\na,cod,eel,1\n")
    advice = "call its columns 'id', 'class' and 'score', and use scores_format='long'; for numbers of votes, also"
    refused(UnknownNameError, advice, path=path)
    path.write_text("id,class,score\na,cod,3\na,eel,1\n")
    (block,) = open_scores(path, H, ScoreReading(scores_format="long", votes=True), labels=False)
    assert block.at(H.indices(["cod"])).tolist() == [0.75]


def test_a_model_that_knows_fewer_leaves(tmp_path: Path) -> None:
    known, p = LEAVES[:3], probabilities(2, columns=3)
    path = save(tmp_path / "s.npz", p, ["cod"] * 2, known)
    scores = opened(path, H)
    (block,) = scores
    assert scores.warnings == [f"{path}: 1 leaf has no column, and so probability 0: 'eel'."]
    found, _ = read(path, columns="own")
    np.testing.assert_array_equal(block.q, found)
    theta = save_npz(tmp_path / "t.npz", logits=np.log(p), labels=["cod"] * 2, classes=known)
    np.testing.assert_allclose(read(theta)[0], found, rtol=1e-12)
    save(path, p * 0.9, ["cod"] * 2, known)
    missing = "sums to 0.9 (the first of at least 2). 1 leaf has no column, and so probability 0: 'eel'."
    refused(ScoreError, missing, "the probability of its class itself, use columns='own'", path=path)
    zeros = save(tmp_path / "zeros.npz", np.column_stack([p, np.zeros(2)]), ["cod"] * 2, LEAVES)
    np.testing.assert_array_equal(found, read(zeros)[0])


@every_format
def test_some_nodes_are_not_all_nodes(suffix: str, tmp_path: Path) -> None:
    path = save(tmp_path / f"s.{suffix}", probabilities(2, columns=5), ["cod"] * 2, [*LEAVES, "bird"])
    refused(UnknownNameError, "Taken as all nodes", "1 missing ('fish')", path=path)


def test_the_root_beside_the_leaves(tmp_path: Path) -> None:
    path = save(tmp_path / "s.npz", probabilities(2, columns=5), ["cod"] * 2, [*LEAVES, "animal"])
    refused(UnknownNameError, "2 missing ('bird' and 'fish')", path=path)


def test_repeated_classes(tmp_path: Path) -> None:
    columns = ["robin", "robin", "cod", "eel"]
    path = save(tmp_path / "s.npz", probabilities(2), ["cod"] * 2, columns)
    refused(UnknownNameError, "1 repeated ('robin')", "1 missing ('wren')", path=path)
    path = tmp_path / "s.csv"
    path.write_text("robin,robin,cod,eel,label\n0.25,0.25,0.25,0.25,cod\n", encoding="utf-8")
    refused(UnknownNameError, "1 repeated ('robin')", "1 missing ('wren')", path=path)


def test_an_index_column_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    pd.DataFrame(probabilities(2), columns=LEAVES).drop(columns="eel").assign(label="cod").to_csv(path)
    refused(UnknownNameError, "1 extra ('')", "index=False", path=path)
    refused(UnknownNameError, "not in the tree ('')", "id_column=''", path=path, columns="own")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["label", "id", "group", "text", "image"])
def test_a_class_named_like_a_column(suffix: str, name: str, tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges([("root", name), ("root", "other")])
    path = save_table(tmp_path / f"s.{suffix}", probabilities(2, columns=2), [name, "other"])
    refused(
        UnknownNameError,
        f"a column {name!r}, the name of a class",
        "class_columns",
        path=path,
        tree=h,
        labels=False,
    )
    inside = save_npz(
        tmp_path / "s.npz", classes=[name, "other"], probabilities=probabilities(2, columns=2), labels=[name] * 2
    )
    assert read(inside, h)[1] == [1, 1]


@every_format
def test_labels_outside_the_tree(suffix: str, tmp_path: Path) -> None:
    labels = ["cod", "eel", "cod", "robbin", "wrenn", "robbin", "xyzzy"]
    path = save(tmp_path / f"s.{suffix}", probabilities(7), labels)
    where = ", ".join(f"{name!r} in {row(i, suffix)}" for i, name in ((3, "robbin"), (4, "wrenn"), (6, "xyzzy")))
    parts = (
        "3 labels are not in the tree",
        where,
        "'robin' for",
        "is not known, leave it out: drop_label=('unknown',)",
    )
    refused(UnknownNameError, *parts, path=path)
    assert len(read(path, labels=False)[0]) == 7


@every_format
def test_labels_that_are_not_there(suffix: str, tmp_path: Path) -> None:
    path = save(tmp_path / f"s.{suffix}", probabilities(3), None)
    refused(ScoreError, "needs labels", "label", path=path)
    assert len(read(path, labels=False)[0]) == 3


BLANK = ("", " ", ";", " ; ", "g__", "d__; p__")


def example_and_remarks(path: Path, **options: Any) -> tuple[list[str], list[str]]:
    """The labels of the examples that are left, and what is said of the others."""
    scores = opened(path, H, **options)
    found = [name for block in scores for name in H.names[block.labels].tolist()]
    return found, scores.warnings


@every_format
@pytest.mark.parametrize("block_rows", [None, 2])
def test_rows_without_label_are_left_out(suffix: str, block_rows: int | None, tmp_path: Path) -> None:
    labels = ["cod", *BLANK, "animal", "?", "eel", "unknown", "?"]
    path = save(tmp_path / f"t.{suffix}", probabilities(len(labels)), labels)
    drop = ("unknown", "?", "never there")
    found, remarks = example_and_remarks(path, drop_label=drop, block_rows=block_rows)
    assert found == ["cod", "animal", "eel"]
    (remark,) = remarks
    assert remark == (
        f"{path}: 6 examples have no label and 1 example is labelled 'unknown' and 2 examples are labelled '?', "
        "and are left out. A label that means the root is written 'animal'."
    )
    refused(UnknownNameError, "'?'", "'unknown'", path=path)
    none = save(tmp_path / f"n.{suffix}", probabilities(2), ["", "?"])
    refused(
        ScoreError,
        "1 example has no label and 1 example is labelled '?', and are left out",
        path=none,
        drop_label=["?"],
    )


def test_missing_labels_in_parquet(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.parquet", probabilities(3), label=["cod", None, "eel"])
    found, (remark,) = example_and_remarks(path)
    assert found == ["cod", "eel"]
    assert "1 example has no label, and is left out" in remark


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    for path in (
        save_npz(tmp_path / "s.npz", probabilities=probabilities(2), labels=[0, 1]),
        save_table(tmp_path / "s.parquet", probabilities(2), label=[0, 1]),
    ):
        refused(ScoreError, "names of nodes, not int64", "write their names", "never guessed", path=path)


@every_format
def test_no_rows(suffix: str, tmp_path: Path) -> None:
    path = save(tmp_path / f"s.{suffix}", np.empty((0, 4)), [])
    if suffix == "parquet":
        frame = pd.DataFrame({name: np.empty(0) for name in LEAVES}).assign(label=np.empty(0, dtype=str))
        frame.to_parquet(path)
    if suffix == "npz":
        save_npz(path, probabilities=np.empty((0, 4)), labels=np.empty(0, dtype=str))
    refused(ScoreError, "no rows", path=path)


def test_logits_of_nodes_are_not_defined(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", np.zeros((2, 7)), H.names.tolist(), label=["cod"] * 2)
    refused(ScoreError, "holds logits", "hedgerow.likelihood", path=path, logits=True)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_impossible_logits(value: float, tmp_path: Path) -> None:
    theta = np.zeros((4, 4))
    theta[2, 3] = value
    refused(ScoreError, "row 2", "'eel'", path=save_npz(tmp_path / "s.npz", logits=theta, labels=["cod"] * 4))
    theta[2] = -np.inf
    refused(ScoreError, "row 2", path=save_npz(tmp_path / "s.npz", logits=theta, labels=["cod"] * 4))


def test_probabilities_called_logits_are_doubted(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(5), label=["cod"] * 5)
    file = open_scores(path, H, ScoreReading(logits=True))
    assert len(list(file)) == 1
    assert "looks like probabilities" in file.warnings[0]
    for factor, digits, said in ((1, 2, "looks like probabilities"), (100, 0, "and use renormalise=True")):
        rounded = np.round(factor * probabilities(5), digits)
        file = open_scores(
            save_table(tmp_path / "s.csv", rounded, label=["cod"] * 5), H, ScoreReading(logits=True)
        )
        assert len(list(file)) == 1
        assert said in file.warnings[0]
    right = open_scores(save_npz(tmp_path / "s.npz", logits=np.eye(4) * 3, labels=["cod"] * 4), H)
    assert len(list(right)) == 1
    assert right.warnings == []


def test_an_unknown_extension(tmp_path: Path) -> None:
    (tmp_path / "s.pkl").write_bytes(b"\x80\x04N.")
    with pytest.raises(
        ParameterError, match=r"cannot be told: .* not text .* wide, long, .* \.npz, \.csv, \.tsv, \.parquet"
    ):
        open_scores(tmp_path / "s.pkl", H)
    with pytest.raises(ParameterError, match=r"from \.npz, \.csv, \.tsv, \.parquet files, not from '\.pkl'"):
        open_scores(tmp_path / "s.pkl", H, ScoreReading(scores_format="wide"))
    with pytest.raises(ParameterError, match="block_rows must be 1 or more"):
        open_scores(tmp_path / "s.npz", H, block_rows=0)


def test_labels_are_needed_or_not(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"not 'l\.csv'\. A file of labels is ScoreReading\(labels_file="):
        open_scores(tmp_path / "s.npz", H, labels="l.csv")  # type: ignore[arg-type]


@every_format
def test_a_file_that_is_not_there(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=f"none.{suffix}"):
        open_scores(tmp_path / f"none.{suffix}", H)


# Damaged .npz files -------------------------------------------------------------------------------------------


def test_members_that_are_missing(tmp_path: Path) -> None:
    p = probabilities(2)
    path = tmp_path / "s.npz"
    np.savez(path, probabilities=p)
    refused(FileError, "no member 'classes'", "never guessed", path=path)
    np.savez(path, classes=LEAVES, scores=p)
    refused(
        FileError,
        "has no scores; it must hold exactly one of 'probabilities', 'logits', 'likelihoods'",
        "classes, scores",
        path=path,
    )
    np.savez(path, classes=LEAVES, probabilities=p, logits=p)
    refused(FileError, "has 'probabilities' and 'logits'", path=path)


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    refused(
        ScoreError, "(2, 3)", path=save_npz(path, probabilities=probabilities(2, columns=3), labels=["cod"] * 2)
    )
    refused(
        ScoreError, "'labels' must have one", path=save_npz(path, probabilities=probabilities(2), labels=["cod"])
    )
    refused(
        FileError, "'classes' must be a list", path=save_npz(path, classes=[0, 1, 2, 3], probabilities=[[1.0]])
    )
    refused(ScoreError, "must be numbers", path=save_npz(path, probabilities=[["1"] * 4], labels=["cod"]))


@pytest.mark.parametrize("member", ["classes", "labels", "ids", "probabilities"])
def test_objects_are_never_unpickled(member: str, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
            return (pytest.fail, ("unpickled",))

    members: dict[str, Any] = {
        "classes": LEAVES,
        "probabilities": probabilities(4),
        "labels": ["cod"] * 4,
        "ids": ["a"] * 4,
    }
    bombs = np.empty(4, dtype=object)
    bombs[:] = Bomb()
    path = tmp_path / "s.npz"
    np.savez(path, **(members | {member: bombs}))
    refused(FileError, f"'{member}' is an array of Python objects, which is never unpickled", path=path)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("keep", [0, 10, 400, -30])
def test_truncated_archives(compressed: bool, keep: int, tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    write = np.savez_compressed if compressed else np.savez
    write(path, classes=LEAVES, probabilities=probabilities(200), labels=["cod"] * 200)
    path.write_bytes(path.read_bytes()[:keep])
    refused(FileError, "cannot be read as .npz", path=path)


def rewritten(path: Path, member: str, change: Callable[[bytes], bytes], method: int = zipfile.ZIP_STORED) -> Path:
    """Change the bytes of one member, keeping the archive itself sound."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[f"{member}.npy"] = change(members[f"{member}.npy"])
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npy_header(shape: str) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (1, 1)})
    return buffer.getvalue().replace(b"(1, 1)" + b" " * (len(shape) - 6), shape.encode(), 1)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_header_is_checked_against_the_size_before_allocating(method: int, tmp_path: Path) -> None:
    path = save_npz(tmp_path / "s.npz", probabilities=probabilities(3), labels=["cod"] * 3)
    refused(FileError, "should hold", "truncated", path=rewritten(path, "probabilities", lambda b: b[:-8], method))
    huge = npy_header("(99999999999999, 4)")
    tracemalloc.start()
    refused(FileError, "should hold", path=rewritten(path, "probabilities", lambda b: huge + b[-96:], method))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    refused(
        FileError,
        "'probabilities' cannot be read as an array",
        path=rewritten(path, "probabilities", lambda _: b"x" * 99),
    )


def test_damaged_bytes_are_noticed(tmp_path: Path) -> None:
    path = save_npz(tmp_path / "s.npz", probabilities=probabilities(100), labels=["cod"] * 100)
    whole = path.read_bytes()
    place = whole.index(probabilities(100)[50].tobytes())
    path.write_bytes(
        whole[:place] + whole[place + 8 : place + 16] + whole[place : place + 8] + whole[place + 16 :]
    )
    refused(FileError, "CRC", path=path)  # the row still sums to 1


def test_compression_that_numpy_does_not_write(tmp_path: Path) -> None:
    path = save_npz(tmp_path / "s.npz", probabilities=probabilities(3), labels=["cod"] * 3)
    refused(FileError, "compressed in a way", path=rewritten(path, "classes", bytes, zipfile.ZIP_LZMA))


# Damaged tables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", FileError, "is empty"),
        ("sep=,\nrobin,wren,cod,eel,label\n1,0,0,0,cod\n", FileError, "line 1 is 'sep=,', which only Excel"),
        (
            "robin,wren,cod,eel,label\n1,0,0,0,cod\n1,0,zero,0,cod\n",
            ScoreError,
            "line 3 has 'zero'",
        ),
        ("robin,wren,cod,eel,label\n1,0,0,0,cod\n1,0,0,0\n", FileError, "line 3 has 4 columns, but line 1 has 5"),
        ("robin,wren,cod,eel,label\n1,0,,0,cod\n", ScoreError, "no number (NaN) for 'cod'"),
        ("robin,wren,cod,eel,label,label\n1,0,0,0,cod,cod\n", FileError, "two columns 'label'"),
        ("robin;wren;cod;eel;label\n1;0;0;0;cod\n", FileError, "separated by semicolons: use delimiter=';'"),
        ("robin\twren\tcod\teel\tlabel\n1\t0\t0\t0\tcod\n", FileError, "by tabs: use delimiter='tab'"),
        ("robin;wren;cod, eel;label\n1;0;0;cod\n", FileError, "separated by semicolons: use delimiter=';'"),
        ("robin;wren;cod, eel;label\n1,0;0,0;0;cod\n", FileError, "separated by semicolons: use delimiter=';'"),
    ],
)
def test_damaged_csv(text: str, error: type[HedgerowError], said: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text, encoding="utf-8")
    refused(error, said, path=path)


def test_a_delimiter_that_the_file_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("robin,wren,cod,eel,label\n1,0,0,0,cod\n", encoding="utf-8")
    refused(FileError, "separated by commas: use delimiter=','", path=path, delimiter=";")
    with as_options():
        refused(FileError, "separated by commas: use --delimiter ','.", path=path, delimiter=";")
    paths = "animal;bird;robin,animal;bird;wren,animal;fish;cod,animal;fish;eel,label\n1,0,0,0,cod\n"
    path.write_text(paths, encoding="utf-8")
    refused(UnknownNameError, "4 extra ('animal;bird;robin'", path=path)  # semicolons in names are allowed


def test_csv_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    text = "robin,wren,cod,eel,label\n1,0,0,0,caf\xe9\n"
    path.write_bytes(text.encode("cp1252"))
    refused(FileError, "line 2 is not UTF-8: byte 0xe9", "(in a spreadsheet program, 'CSV UTF-8')", path=path)
    path.write_bytes(("1,0,0,0,cod\n" * 100_000).join(text.splitlines(keepends=True)).encode("cp1252"))
    refused(FileError, "line 100002 is not UTF-8", path=path)
    path.write_bytes(text.encode("utf-16"))
    refused(FileError, "s.csv is UTF-16, not UTF-8. Save it again as UTF-8.", path=path)


def test_spreadsheets(tmp_path: Path) -> None:
    for name in ("s.xlsx", "s.csv"):
        path = tmp_path / name
        path.write_bytes(b"PK\x03\x04\xff\xfe")
        refused(FileError, "spreadsheet", "save the sheet as 'CSV UTF-8'", path=path)
        with pytest.raises(FileError, match="save the sheet as 'CSV UTF-8'"):
            hr.Hierarchy.read(path)


def test_damaged_parquet(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.parquet", probabilities(3), label=["cod"] * 3)
    path.write_bytes(path.read_bytes()[:-20])
    refused(FileError, "Parquet", path=path)
    frame = pd.DataFrame(probabilities(2), columns=LEAVES).assign(eel="x", label="cod")
    frame.to_parquet(path)
    refused(ScoreError, "column 'eel' holds", "numbers", path=path)
