"""Score files in, predictions out."""

from __future__ import annotations

import csv
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import special

import hedgerow as hr
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError
from hedgerow.infer import answering_rule
from hedgerow.score_files import open_scores, prediction_writer, write_predictions
from hedgerow.score_files.wide_files import NpzReader
from tests.make_scores import LEAVES, H, every_format, opened, probabilities, read, save, save_npz, save_table

if TYPE_CHECKING:
    from pathlib import Path

# What is read -------------------------------------------------------------------------------------------------


@every_format
def test_leaves_are_summed_up_the_tree(suffix: str, tmp_path: Path) -> None:
    p = probabilities(7)
    labels = ["robin", "bird", "animal", "cod", "eel", "fish", "wren"]
    q, found = read(save(tmp_path / f"s.{suffix}", p, labels))
    np.testing.assert_allclose(q, hr.likelihood.from_leaves(H, p, classes=LEAVES), rtol=1e-12)
    assert found == H.indices(labels).tolist()


@every_format
def test_names_bind_columns_whatever_their_order(suffix: str, tmp_path: Path) -> None:
    p, order = probabilities(5), [2, 0, 3, 1]
    straight, _ = read(save(tmp_path / f"a.{suffix}", p, ["cod"] * 5))
    shuffled, _ = read(save(tmp_path / f"b.{suffix}", p[:, order], ["cod"] * 5, [LEAVES[i] for i in order]))
    np.testing.assert_array_equal(straight, shuffled)


@every_format
@pytest.mark.parametrize("root", [True, False])
def test_all_nodes_are_likelihoods(suffix: str, root: bool, tmp_path: Path) -> None:
    q = np.asarray(hr.likelihood.from_leaves(H, probabilities(5)))
    order = np.random.default_rng(1).permutation(len(H) if root else len(H) - 1) + (0 if root else 1)
    path = save(tmp_path / f"s.{suffix}", q[:, order], ["cod"] * 5, H.names[order].tolist())
    np.testing.assert_allclose(read(path)[0], q, rtol=1e-15)


@every_format
@pytest.mark.parametrize("block_rows", [1, 2, 3, 7, 100])
def test_any_block_size_reads_the_same(suffix: str, block_rows: int, tmp_path: Path) -> None:
    p = probabilities(7)
    path = save(tmp_path / f"s.{suffix}", p, ["cod", "eel", "cod", "bird", "robin", "wren", "cod"])
    whole, labels = read(path)
    blocks = list(open_scores(path, H, block_rows=block_rows))
    assert [block.start for block in blocks] == list(range(0, 7, block_rows))
    np.testing.assert_array_equal(np.concatenate([block.q for block in blocks]), whole)
    assert np.concatenate([block.labels for block in blocks if block.labels is not None]).tolist() == labels


def test_what_is_said_about_each_example(tmp_path: Path) -> None:
    extra = {
        "ids": ["x", "y"],
        "groups": ["a", "b"],
        "clusters": ["1", "1"],
        "texts": ["hé", ""],
        "images": ["1.png", "2.png"],
    }
    expected = list(extra.values())
    p = probabilities(2)
    paths = [save_npz(tmp_path / "s.npz", probabilities=p, labels=["cod", "eel"], **extra)]
    columns = {key[:-1]: value for key, value in extra.items()}
    for suffix in ("csv", "parquet"):
        paths.append(save_table(tmp_path / f"s.{suffix}", p, label=["cod", "eel"], **columns))
    for path in paths:
        (block,) = open_scores(path, H)
        found = (block.ids, block.groups, block.clusters, block.texts, block.images)
        assert [None if names is None else names.tolist() for names in found] == expected


@pytest.mark.parametrize("labels", [[0, 1], [[0], [1]], ["cod"] * 3, np.array([{}, None], dtype=object)])
def test_labels_that_are_not_needed_may_be_anything(labels: Any, tmp_path: Path) -> None:
    p = probabilities(2)
    path = tmp_path / "s.npz"
    np.savez(path, classes=LEAVES, probabilities=p, labels=labels)
    (block,) = open_scores(path, H, labels=False)
    np.testing.assert_array_equal(block.q, hr.likelihood.from_leaves(H, p, classes=LEAVES))
    with pytest.raises(HedgerowError, match="'labels'"):
        open_scores(path, H)


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    for path in (
        save_npz(tmp_path / "s.npz", probabilities=probabilities(2), ids=[7, 8]),
        save_table(tmp_path / "s.parquet", probabilities(2), id=[7, 8]),
        save_table(tmp_path / "s.csv", probabilities(2), id=[7, 8]),
    ):
        (block,) = open_scores(path, H, labels=False)
        assert block.ids is not None
        assert block.ids.tolist() == ["7", "8"]


def test_logits_go_through_a_softmax(tmp_path: Path) -> None:
    theta = np.random.default_rng(0).normal(size=(6, 4)) * 5
    theta[0, 1] = -np.inf
    expected = hr.likelihood.flat_softmax(H, theta)
    by_member = save_npz(tmp_path / "s.npz", logits=theta, labels=["cod"] * 6)
    np.testing.assert_allclose(read(by_member)[0], expected)
    for suffix in ("csv", "parquet"):
        path = save_table(tmp_path / f"s.{suffix}", theta, label=["cod"] * 6)
        np.testing.assert_allclose(read(path, logits=True)[0], expected)


def test_names_are_quoted_and_kept_as_they_are(tmp_path: Path) -> None:
    names = ["a,b", 'say "x"', "NA", " null "]
    h = hr.Hierarchy.from_edges([("root", name) for name in names])
    path = save_table(tmp_path / "s.csv", probabilities(4), names, label=names, text=["two\nlines"] * 4)
    assert h.names[read(path, h)[1]].tolist() == names


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), label=["cod", "eel"])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read(path)[1] == H.indices(["cod", "eel"]).tolist()


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", ">f8"])
def test_number_types(dtype: str, tmp_path: Path) -> None:
    p = probabilities(5)
    q, _ = read(save_npz(tmp_path / "s.npz", probabilities=p.astype(dtype), labels=["cod"] * 5))
    assert q.dtype == (np.float64 if "8" in dtype else np.float32)
    np.testing.assert_allclose(q, hr.likelihood.from_leaves(H, p, classes=LEAVES), atol=2e-3)
    one_hot = np.eye(4, dtype=np.int8)
    q, _ = read(save_npz(tmp_path / "s.npz", probabilities=one_hot, labels=["cod"] * 4))
    assert q[0].tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_half_precision_has_its_own_tolerance(tmp_path: Path) -> None:
    p = np.array([[0.5, 0.25, 0.125, 0.14]])
    read(save_npz(tmp_path / "s.npz", probabilities=p.astype(np.float16), labels=["cod"]))
    frame = pd.DataFrame(p.astype(np.float16), columns=LEAVES).assign(label="cod")
    frame.to_parquet(tmp_path / "s.parquet")
    read(tmp_path / "s.parquet")
    with pytest.raises(ScoreError, match=r"sum to 1 within 0.001; row 0 \(counted from 0\) sums to 1.015"):
        read(save_npz(tmp_path / "s.npz", probabilities=p, labels=["cod"]))


def test_rows_are_renormalised(tmp_path: Path) -> None:
    q, _ = read(save_npz(tmp_path / "s.npz", probabilities=[[0.5, 0.25, 0.125, 0.1255]], labels=["cod"]))
    assert q[0, 0] == 1
    assert q[0, H.leaves].sum() == pytest.approx(1, abs=1e-15)


def test_one_class_and_one_example(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges([("root", "only")])
    q, labels = read(save_npz(tmp_path / "s.npz", classes=["only"], probabilities=[[1.0]], labels=["only"]), h)
    assert q.tolist() == [[1, 1]]
    assert labels == [1]


def test_fortran_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p = probabilities(9)
    path = save_npz(tmp_path / "s.npz", probabilities=np.asfortranarray(p), labels=["cod"] * 9)
    np.testing.assert_array_equal(read(path, block_rows=2)[0], hr.likelihood.from_leaves(H, p, classes=LEAVES))
    monkeypatch.setattr("hedgerow.files.archive._LARGEST_FORTRAN", 100)
    with pytest.raises(FileError, match=r"'probabilities' is in Fortran order, 288 bytes .* np.ascontiguousarray"):
        next(NpzReader(str(path), hr.ScoreReading()).read(2, frozenset()))


# Streaming ----------------------------------------------------------------------------------------------------


def test_a_deflated_file_is_never_held_whole(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_edges([("root", f"c{i}") for i in range(500)])
    p = np.full((10_000, 500), 1 / 500, dtype=np.float64)  # 40 MB
    path = tmp_path / "s.npz"
    np.savez_compressed(path, classes=h.names[1:].astype(str), probabilities=p, labels=np.full(len(p), "c7"))
    del p
    tracemalloc.start()
    rows = sum(len(block) for block in open_scores(path, h, block_rows=100))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 10_000
    assert peak < 8 << 20


def test_rows_of_many_megabytes(tmp_path: Path) -> None:
    # Arrow reads blocks of 16 MiB and refuses rows that do not fit into one; names may take more than that.
    names = [f"é{i:060000}" for i in range(300)]
    h = hr.Hierarchy.from_edges([("root", name) for name in names])
    p = probabilities(3, columns=300)
    path = save_table(tmp_path / "s.csv", p, names, label=names[:3])
    assert path.stat().st_size > 17 << 20
    q, labels = read(path, h)
    np.testing.assert_allclose(q[:, 1:], p)
    assert h.names[labels].tolist() == names[:3]
    path = save_table(tmp_path / "s.csv", probabilities(1), label="cod", text="x" * (40 << 20))
    with pytest.raises(FileError, match=r"a row of more than [\d,]+ bytes\. If a quotation mark is not closed"):
        read(path)


@pytest.mark.parametrize("group", [5_000, 1_000_000])
def test_a_parquet_file_is_never_held_whole(group: int, tmp_path: Path) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=1_000_000)  # 32 MB
    frame = pd.DataFrame(p, columns=LEAVES)
    frame.to_parquet(tmp_path / "s.parquet", index=False, row_group_size=group)
    del p, frame
    before = pa.total_allocated_bytes()
    file = open_scores(tmp_path / "s.parquet", H, labels=False, block_rows=5_000)
    assert max(pa.total_allocated_bytes() for _ in file) - before < 16 << 20
    assert [block.start for block in file] == list(range(0, 1_000_000, 5_000))


def test_a_file_can_be_read_twice(tmp_path: Path) -> None:
    file = open_scores(save_npz(tmp_path / "s.npz", probabilities=probabilities(3), labels=["cod"] * 3), H)
    assert file.rows == 3
    assert [len(block) for block in file] == [len(block) for block in file] == [3]


# Predictions out ----------------------------------------------------------------------------------------------


def test_predictions_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with prediction_writer(path, H, ids=True) as write:
        write([1], np.array([0.75]), ["a"])
        write([2, 0], np.array([0.5, 1.0], dtype=np.float32), ["b", "c"])
    assert path.read_text(encoding="utf-8").splitlines() == [
        "example,id,prediction,depth,confidence,lineage",
        "0,a,bird,1,0.75,animal > bird",
        "1,b,robin,2,0.5,animal > bird > robin",
        "2,c,animal,0,,animal",
    ]


def test_the_mean_confidence_is_that_of_answers_below_the_root(tmp_path: Path) -> None:
    unsure, rows = [0.25] * 4, {"robin": [0.75, 0.125, 0.125, 0], "cod": [0, 0, 0.875, 0.125]}
    path = save(tmp_path / "s.npz", np.array([unsure, *(rows.values()), unsure]), None)
    rule = answering_rule(0.6, None)
    written = write_predictions(tmp_path / "out.csv", open_scores(path, H, labels=False), rule)
    assert (written.examples, written.by_depth, written.mean_confidence) == (4, (2, 0, 2), (0.75 + 0.875) / 2)
    path = save(tmp_path / "s.npz", np.array([unsure, unsure]), None)
    written = write_predictions(tmp_path / "out.csv", open_scores(path, H, labels=False), rule)
    assert (written.examples, written.mean_confidence) == (2, None)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ids_may_be_lacking(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    with prediction_writer(path, H, ids=True) as write:
        write([1, 2], np.array([0.75, 0.5]))
    frame = pd.read_csv(path, keep_default_na=False) if suffix == "csv" else pd.read_parquet(path)
    assert frame["id"].tolist() == ["", ""]


def test_predictions_show_ranks_and_titles(tmp_path: Path) -> None:
    h = hr.Hierarchy.from_lineages([("birds", "robin"), ("birds", "wren")], ranks=["class", "species"])
    h = h.with_titles({"robin": "Erithacus rubecula"})
    with prediction_writer(tmp_path / "out.tsv", h) as write:
        write([1], np.array([0.75]))
        write([0], np.array([1.0]))
    with (tmp_path / "out.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows == [
        ["example", "prediction", "title", "rank", "confidence", "lineage"],
        ["0", "robin", "Erithacus rubecula", "species", "0.75", "birds > robin"],
        ["1", "birds", "", "class", "", "birds"],
    ]


def test_predictions_as_parquet(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    with prediction_writer(path, H) as write:
        write([1], np.array([0.75]))
        write([2, 0], np.array([0.5, 1.0]))
    frame = pd.read_parquet(path)
    assert frame["example"].tolist() == [0, 1, 2]
    assert frame["prediction"].tolist() == ["bird", "robin", "animal"]
    assert frame["confidence"].isna().tolist() == [False, False, True]
    assert frame["confidence"].tolist()[:2] == [0.75, 0.5]
    assert parquet.read_table(path)["confidence"].null_count == 1
    assert frame["depth"].tolist() == [1, 2, 0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_failure_leaves_no_partial_output(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    path.write_text("what was there", encoding="utf-8")

    def fail() -> None:
        with prediction_writer(path, H) as write:
            write([1], np.array([0.75]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text(encoding="utf-8") == "what was there"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_predictions_need_a_known_extension(tmp_path: Path) -> None:
    with (
        pytest.raises(ParameterError, match=r"to \.csv, \.tsv, \.parquet, \.json, \.jsonl files, not to '\.xlsx'"),
        prediction_writer(tmp_path / "out.xlsx", H),
    ):
        pass


# Likelihoods with a scale -------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("scale", [None, "probability", "log", "logit"])
def test_likelihoods_keep_their_scale(scale: Any, root: bool, tmp_path: Path) -> None:
    theta = np.random.default_rng(0).normal(size=(5, len(H) - 1))
    q = np.asarray(hr.likelihood.multilabel(H, theta, scale=scale or "probability"))
    order = np.random.default_rng(1).permutation(len(H))
    order = order if root else order[order > 0]
    path = save_npz(
        tmp_path / "s.npz",
        classes=H.names[order].astype(str),
        likelihoods=q[:, order],
        scale=scale,
        labels=["cod"] * 5,
    )
    (block,) = open_scores(path, H)
    assert block.scale == (scale or "probability")
    np.testing.assert_array_equal(block.q, q)
    assert hr.evaluate(H, open_scores(path, H)).summary() == hr.evaluate(H, q, ["cod"] * 5, scale=scale).summary()


def test_likelihoods_are_those_of_nodes(tmp_path: Path) -> None:
    path = save_npz(tmp_path / "s.npz", likelihoods=probabilities(2), labels=["cod"] * 2)
    with pytest.raises(HedgerowError, match=r"Taken as all nodes .*: 2 missing \('bird' and 'fish'\)"):
        open_scores(path, H)
    path = save_npz(tmp_path / "s.npz", classes=H.names.astype(str), likelihoods=np.ones((1, 7)), scale="odds")
    with pytest.raises(FileError, match="'scale' must be one of 'probability', 'log', 'logit'"):
        open_scores(path, H, labels=False)
    path = save_npz(
        tmp_path / "s.npz", classes=H.names.astype(str), likelihoods=np.full((1, 7), np.nan), scale="log"
    )
    with pytest.raises(ScoreError, match=r"must be numbers; row 0 .* has no number \(NaN\) for 'animal'"):
        read(path, labels=False)


@pytest.mark.parametrize("name", ["s.csv", "s.npz"])
def test_a_temperature_divides_logits_before_the_softmax(name: str, tmp_path: Path) -> None:
    """Their softmax rounds to 2**-62, so that it does not know the logit of the second class any more."""
    theta = np.array([[50.0, 0, 0, 0], [-200.0, 100, 0, 300], [1.0, 2, 3, 4]])
    labels = ["cod", "", "eel"]
    path, how = tmp_path / name, {"logits": name == "s.csv"}
    if name == "s.csv":
        save_table(path, theta, label=labels)
    else:
        save_npz(path, logits=theta, labels=labels)
    (block,) = opened(path, H, **how).tempered(20.0)
    expected = special.softmax(theta[[0, 2]] / 20, axis=1)
    np.testing.assert_allclose(block.q[:, H.indices(LEAVES)], expected, rtol=1e-12)
    (block,) = opened(path, H, only=["robin", "cod"], **how).tempered(20.0)
    two = special.softmax(theta[[0, 2]][:, [0, 2]] / 20, axis=1)
    np.testing.assert_allclose(block.q[:, H.indices(["robin", "cod"])], two, rtol=1e-12)
