"""Labels in a file of their own, joined by id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import hedgerow as hr
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError, UnknownNameError
from hedgerow.score_files import LabelFile, open_parts
from hedgerow.score_files import labels as label_files
from tests.make_scores import H, opened, probabilities, save_npz, save_table
from tests.score_files.test_tool_formats import BACTERIA, MAMMALS, written

if TYPE_CHECKING:
    from pathlib import Path

LONG = "id,class,score\na,cod,1\nb,eel,1\nc,wren,1\n"


def joined(
    scores: Path, labels: Path, tree: hr.Hierarchy = H, *, shared: LabelFile | None = None, **options: Any
) -> tuple[dict[str, str], list[str]]:
    """Return the label of each id, and the warnings."""
    file = opened(scores, tree, labels_file=labels, labels=shared or True, **options)
    found: dict[str, str] = {}
    for block in file:
        assert block.ids is not None
        assert block.labels is not None
        assert len(block.likelihoods) == len(block.ids)
        found |= dict(zip(block.ids.tolist(), tree.names[block.labels].tolist(), strict=True))
    return found, file.warnings


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_labels_are_joined_by_id(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["c", "a", "b"], "label": ["bird", "cod", "animal"]})
    path = tmp_path / f"labels.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    expected = {"a": "cod", "b": "animal", "c": "bird"}
    assert joined(written(tmp_path / "long.csv", LONG), path) == (expected, [])
    p = probabilities(3)
    wide = save_table(tmp_path / "wide.csv", p, id=["a", "b", "c"])
    assert joined(wide, path) == (expected, [])
    archive = save_npz(tmp_path / "wide.npz", probabilities=p, ids=["a", "b", "c"], labels=["eel"] * 3)
    found, (remark,) = joined(archive, path)
    assert found == expected  # the file of labels counts, not the labels of the scores
    assert remark == (
        f"{archive} and {path} give different labels to 3 examples, and those of the latter count: 'a' is 'eel' "
        f"in the former, 'cod' in the latter."
    )


def with_ids(path: Path, column: str) -> Path:
    """Write the examples a, b and c, in the format that the name begins with."""
    ids, p = ["a", "b", "c"], probabilities(3)
    if path.suffix == ".npz":
        return save_npz(path, probabilities=p, **{"ids" if column == "id" else column: ids})
    if path.stem == "wide":
        return save_table(path, p, **{column: ids})
    lineages = "id,species,species_confidence\na,cod,1\nb,eel,1\nc,wren,1\n"
    return written(path, (LONG if path.stem == "long" else lineages).replace("id", column, 1))


@pytest.mark.parametrize("name", ["wide.csv", "wide.npz", "long.csv", "lineage.csv"])
def test_a_named_id_column_may_be_in_either_file(name: str, tmp_path: Path) -> None:
    expected = {"a": "cod", "b": "animal", "c": "bird"}
    options: dict[str, Any] = {"id_column": "photo", "label_column": "taxon", "scores_format": name.split(".")[0]}
    labels = {
        column: written(tmp_path / f"{column}.csv", f"{column},taxon\nc,bird\na,cod\nb,animal\n")
        for column in ("id", "photo")
    }
    (tmp_path / "usual").mkdir()
    own, usual = with_ids(tmp_path / name, "photo"), with_ids(tmp_path / "usual" / name, "id")
    assert joined(own, labels["photo"], **options) == (expected, [])
    assert joined(own, labels["id"], **options) == (expected, [])
    assert joined(usual, labels["photo"], **options) == (expected, [])
    with pytest.raises(FileError, match=r"has no (column|member) 'photo'"):
        joined(usual, labels["id"], **options)


@pytest.mark.parametrize("block_rows", [None, 2])
def test_an_id_that_stands_twice_in_a_wide_table_is_refused(block_rows: int | None, tmp_path: Path) -> None:
    scores = save_table(tmp_path / "s.csv", probabilities(6), id=["x", "b", "a", "x", "c", "a"])
    labels = written(tmp_path / "labels.csv", "id,label\na,cod\nb,cod\nc,cod\n")
    with pytest.raises(ScoreError, match=r"duplicate id 'a', again in line 7\."):
        joined(scores, labels, block_rows=block_rows)
    about: dict[str, Any] = {"labels": False, "labels_file": labels, "group_column": "label"}
    assert sum(map(len, opened(scores, H, block_rows=block_rows, **about))) == 6  # nothing is counted


def test_a_file_of_labels_without_a_column_names_the_option(tmp_path: Path) -> None:
    scores = written(tmp_path / "long.csv", LONG)
    labels = written(tmp_path / "labels.csv", "photo,kind\na,cod\n")
    with pytest.raises(FileError, match=r"no column 'id'.* 'photo' and 'kind'.* use id_column='NAME'"):
        joined(scores, labels)
    with pytest.raises(FileError, match=r"no column 'label'.* use label_column='NAME'"):
        joined(scores, labels, id_column="photo")


@pytest.mark.parametrize("columns", [{}, {"group_column": "site", "cluster_column": "burst"}])
def test_groups_and_clusters_may_be_with_the_labels(columns: Any, tmp_path: Path) -> None:
    header = ",".join(["id", "label", *(columns.values() or ("group", "cluster"))])
    labels = written(tmp_path / "labels.csv", f"{header}\nc,cod,north,1\na,cod,south,2\nx,cod,south,3\n")
    known: dict[str, Any] = {}
    for block in opened(written(tmp_path / "long.csv", LONG), H, labels_file=labels, **columns):
        assert block.ids is not None
        assert block.groups is not None
        assert block.clusters is not None
        known |= {row[0]: row[1:] for row in zip(block.ids, block.groups, block.clusters, strict=True)}
    assert known == {"a": ("south", "2"), "c": ("north", "1")}


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@pytest.mark.parametrize("column", [None, "site"])
def test_groups_in_both_files_must_agree_if_wanted(suffix: str, column: str | None, tmp_path: Path) -> None:
    name, p = column or "group", probabilities(3)
    about = {name if column or suffix == "csv" else "groups": ["north", "south", "south"]}
    scores = (
        save_table(tmp_path / "s.csv", p, id=["a", "b", "c"], **about)
        if suffix == "csv"
        else save_npz(tmp_path / "s.npz", probabilities=p, ids=["a", "b", "c"], **about)
    )
    same = written(tmp_path / "same.csv", f"id,label,{name}\nc,cod,south\na,cod,north\n")
    (block,) = hr.open_scores(scores, H, hr.ScoreReading(labels_file=same, group_column=column))
    assert block.groups is not None
    assert block.groups.tolist() == ["north", "south"]
    other = written(tmp_path / "other.csv", f"id,label,{name}\nc,cod,north\na,cod,north\n")
    opened = hr.open_scores(scores, H, hr.ScoreReading(labels_file=other, group_column=column))
    if column is None:  # no one has asked for groups
        assert [block.groups for block in opened] == [None]
        assert any("disagree about the groups, which are therefore ignored" in said for said in opened.warnings)
        return
    with pytest.raises(ScoreError, match=r"disagree about the groups: for 'c', .* 'south', the latter 'north'"):
        list(opened)


def test_groups_alone_keep_every_example(tmp_path: Path) -> None:
    about = written(tmp_path / "sites.csv", "id,site\nc,north\na,south\nx,south\n")
    opened = hr.open_scores(
        written(tmp_path / "long.csv", LONG),
        H,
        hr.ScoreReading(labels_file=about, group_column="site"),
        labels=False,
    )
    groups: dict[str, str] = {}
    for block in opened:
        assert block.labels is None
        assert block.ids is not None
        assert block.groups is not None
        groups |= dict(zip(block.ids.tolist(), block.groups.tolist(), strict=True))
    assert groups == {"a": "south", "b": "", "c": "north"}
    assert opened.warnings == [f"1 example is not in {about}, and so has no group: 'b'."]


def test_a_part_without_any_group_is_kept(tmp_path: Path) -> None:
    about = written(tmp_path / "sites.csv", "id,group\nx,south\n")
    settings: dict[str, Any] = {"labels": False, "labels_file": about, "group_column": "group"}
    scores = written(tmp_path / "long.csv", LONG)
    reading = hr.ScoreReading(labels_file=about, group_column="group")
    for block in hr.open_scores(scores, H, reading, labels=LabelFile(about, H, reading, labels=False, part=True)):
        assert block.groups is not None
        assert set(block.groups) == {""}
    with pytest.raises(ScoreError, match=r"No id of .* is in"):
        list(opened(scores, H, **settings))


def test_labels_of_other_parts_are_no_remark(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\na,cod\nb,eel\nc,wren\nx,cod\n")
    scores = written(tmp_path / "long.csv", LONG)
    assert joined(scores, labels)[1] == [f"1 label in {labels} is for an id not in {scores}: 'x'."]
    shared = LabelFile(labels, H, hr.ScoreReading(), part=True)
    assert joined(scores, labels, shared=shared) == ({"a": "cod", "b": "eel", "c": "wren"}, [])


def test_what_is_left_over_is_counted_and_named(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\nb,eel\nx,cod\ny,cod\n")
    scores = written(tmp_path / "long.csv", LONG)
    found, warnings = joined(scores, labels)
    assert found == {"b": "eel"}
    assert warnings == [
        f"2 examples have no label in {labels} and are left out: 'a' and 'c'.",
        f"2 labels in {labels} are for ids not in {scores}: 'x' and 'y'.",
    ]
    p = probabilities(3)
    wide = save_table(tmp_path / "wide.csv", p, id=["a", "b", "c"])
    (block,) = hr.open_scores(wide, H, hr.ScoreReading(labels_file=labels))
    np.testing.assert_array_equal(
        block.q, hr.likelihood.from_leaves(H, p[1:2], classes=["robin", "wren", "cod", "eel"])
    )


def test_a_part_without_any_label_is_a_remark(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\nx,cod\n")
    scores = written(tmp_path / "long.csv", LONG)
    opened = hr.open_scores(scores, H, labels=LabelFile(labels, H, hr.ScoreReading(), part=True))
    assert sum(map(len, opened)) == 0
    assert opened.warnings == [
        f"long.csv is left out: none of its ids, 'a', 'b' and 1 more, is in {labels}, which has 'x'."
    ]


@pytest.mark.parametrize(("sign", "other"), [(",", ";"), (";", ","), (";", "\t"), ("\t", ";"), (",", ",")])
def test_labels_may_be_separated_in_another_way_than_scores(sign: str, other: str, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\na,cod\nb,eel\nc,wren\n".replace(",", sign))
    scores = written(tmp_path / "long.csv", LONG.replace("id,", "image,").replace(",", other))
    found, _ = joined(scores, labels, scores_format="long", delimiter=other, id_column="image")
    assert found == {"a": "cod", "b": "eel", "c": "wren"}


def test_parts_share_a_file_of_labels(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\na,cod\nc,wren\nx,cod\ny,eel\n")
    rows = LONG.splitlines()[1:]
    parts = [
        str(written(tmp_path / f"{number}.csv", f"id,class,score\n{row}\n")) for number, row in enumerate(rows)
    ]
    chain = open_parts(parts, H, hr.ScoreReading(labels_file=labels))
    for _ in range(2):
        assert [name for block in chain if block.ids is not None for name in block.ids] == ["a", "c"]
        assert chain.warnings == [
            f"1.csv is left out: none of its ids, 'b', is in {labels}, which has 'a', 'c' and 2 more.",
            f"2 labels in {labels} are for ids not in any part: 'x' and 'y'.",
        ]
    with pytest.raises(ScoreError, match=r"no examples in these parts. 1.csv is left out: none of its ids, 'b'"):
        list(open_parts(parts[1:2], H, hr.ScoreReading(labels_file=labels)))


@pytest.mark.parametrize("hashed", [hash, len, lambda _: 0], ids=["distinct", "some equal", "all equal"])
def test_ids_with_equal_hashes_are_told_apart(
    hashed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_files, "hash", hashed, raising=False)
    known = {"a": "cod", "bb": "eel", "cc": "wren", "dddd": "robin", "ä": "cod"}
    rows = "".join(f"{name},{label}\n" for name, label in known.items())
    labels = written(tmp_path / "labels.csv", f"id,label\n{rows}")
    names = ["dddd", "zz", "bb", "ä", "eeee", "cc", "a", "ccc"]
    scores = written(tmp_path / "s.csv", "id,class,score\n" + "".join(f"{name},cod,1\n" for name in names))
    assert joined(scores, labels)[0] == known
    twice = written(tmp_path / "twice.csv", f"id,label\n{rows}cc,cod\n")
    with pytest.raises(ScoreError, match=r"duplicate id 'cc'; first in line 4, again in line 7"):
        joined(scores, twice)


def test_no_id_in_common(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\nx,cod\n")
    with pytest.raises(ScoreError, match=r"No id of .*long.csv is in .*labels.csv.*'a', 'b' and 1 more.*'x'"):
        joined(written(tmp_path / "long.csv", LONG), labels)


@pytest.mark.parametrize(
    ("columns", "rows", "tree"),
    [
        (
            "id,lineage",
            ["a,d__Bacteria; p__Firmicutes; c__Bacilli", "b,d__Bacteria", 'c,"Bacteria,Firmicutes"'],
            BACTERIA,
        ),
        ("id,label", ["a,d:Bacteria;p:Firmicutes;c:Bacilli", "b,Bacteria", "c,Bacteria; Firmicutes"], BACTERIA),
        (
            "id,domain,phylum,class",
            ["a,Bacteria,Firmicutes,Bacilli", "b,Bacteria,,", "c,Bacteria,Firmicutes,"],
            BACTERIA,
        ),
    ],
)
def test_labels_may_be_lineages(columns: str, rows: list[str], tree: hr.Hierarchy, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "\n".join([columns, *rows]) + "\n")
    scores = written(tmp_path / "s.txt", "".join(f"{name}\td:Bacteria(1.00)\t+\n" for name in "abc"))
    assert joined(scores, labels, tree)[0] == {"a": "c__Bacilli", "b": "d__Bacteria", "c": "p__Firmicutes"}


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("fish;cod;eel", "'fish > cod > eel' (1 example): the tree's own lineage of 'eel' is animal >"),
        ("cod;eel", "'cod > eel' (1 example): the tree's own lineage of 'eel' is animal > fish > eel."),
    ],
)
def test_classes_of_the_tree_after_a_leaf_need_a_rank(label: str, said: str, tmp_path: Path) -> None:
    scores = written(tmp_path / "long.csv", LONG)
    with pytest.raises(UnknownNameError, match=re.escape(said)):
        joined(scores, written(tmp_path / "labels.csv", f"id,label\na,{label}\n"))
    for finer in ("fish;g:cod;s:minor", "fish;g:cod;s:eel", "fish;cod;minor", "cod;minor"):
        found, _ = joined(scores, written(tmp_path / "labels.csv", f"id,label\na,{finer}\n"))
        assert found == {"a": "cod"}


def test_labels_of_taxonomy_tables(tmp_path: Path) -> None:
    """A reference taxonomy of QIIME 2 can be the labels."""
    labels = written(tmp_path / "labels.tsv", "Feature ID\tTaxon\na\td__Archaea; p__Crenarchaeota\n")
    scores = written(tmp_path / "s.txt", "a\td:Bacteria(1.00)\t+\n")
    assert joined(scores, labels, BACTERIA)[0] == {"a": "p__Crenarchaeota"}


def test_labels_outside_the_tree(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\na,blank\nb,eel\n")
    scores = written(tmp_path / "long.csv", "id,class,score\na,blank,0.5\nb,eel,0.5\n")
    found, (*_, warning) = joined(scores, labels, outside=["blank"])
    assert found == {"a": "animal", "b": "eel"}
    assert warning == "1 label is outside the tree and counts as the root."
    with pytest.raises(UnknownNameError, match=r"1 label cannot be found in the tree: 'blank'.*outside=\[...\]"):
        joined(scores, labels, outside=["*"])  # whatever is outside among the scores; labels need their names
    ranks = written(tmp_path / "ranks.csv", "id,class,species\na,animal,\nb,fish,eel\n")
    found, remarks = joined(scores, ranks, outside=["blank"])
    assert found == {"a": "animal", "b": "eel"}
    assert not any("counts as the root" in remark for remark in remarks)  # it is named as the label


def test_blank_and_dropped_labels(tmp_path: Path) -> None:
    scores = written(tmp_path / "long.csv", LONG)
    whole = written(tmp_path / "l.csv", "id,label\na,;\nb,?\nc,fish;eel\n")
    ranks = written(tmp_path / "r.csv", "id,class,species\na,,\nb,fish,?\nc,fish,eel\n")
    for labels in (whole, ranks):
        found, (remark,) = joined(scores, labels, drop_label=["?"])
        assert found == {"c": "eel"}
        assert "1 example has no label and 1 example is labelled '?', and are left out." in remark
    typed = written(tmp_path / "t.tsv", "Feature ID\tTaxon\n#q2:types\tcategorical\na\tfish; cod\n")
    assert joined(scores, typed)[0] == {"a": "cod"}


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("id,label\na,cod\na,eel\n", ScoreError, "duplicate id 'a'; first in line 2, again in line 3"),
        ("id,label\n", FileError, "has a header and no rows"),
        ("id,label\na,\n", ScoreError, "1 example has no label, and is left out"),
        ("id,label\n,cod\n", ScoreError, "line 2 has no id"),
        (
            "id,label\na,codd\nb,codd\n",
            UnknownNameError,
            "'codd' (2 examples): the tree has no 'codd'. Did you mean 'cod'?",
        ),
        ("id,label\na,fish;cod;eel\n", UnknownNameError, "the tree's own lineage of 'eel' is animal > fish > eel"),
        ("id,name\na,cod\n", FileError, "no column 'label', which holds the labels"),
        ("name,label\na,cod\n", FileError, "no column 'id', which holds the ids"),
        ("id,label,label\na,cod,cod\n", FileError, "two columns 'label'"),
    ],
)
def test_bad_files_of_labels(text: str, error: type[HedgerowError], said: str, tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", text)
    with pytest.raises(error) as caught:
        joined(written(tmp_path / "long.csv", LONG), labels)
    assert said in str(caught.value)
    assert str(labels) in str(caught.value)


def test_parquet_that_is_not_as_usual(tmp_path: Path) -> None:
    """Ids may be numbers or a dictionary; nothing is no id, and bytes need not be UTF-8."""
    path = tmp_path / "labels.parquet"
    scores = written(tmp_path / "long.csv", "id,class,score\n1,cod,1\n2,eel,1\n")
    for ids in (
        pa.array([2, 1]),
        pa.array(["2", "1"]).dictionary_encode(),
        pa.array(["2", "1"], pa.large_string()),
    ):
        parquet.write_table(pa.table({"id": ids, "label": ["eel", "cod"]}), path)
        assert joined(scores, path)[0] == {"1": "cod", "2": "eel"}
    latin = pa.array([b"1", b"\xff"]).view(pa.string())
    for ids, said in ((pa.array(["1", None]), r"row 1 \(counted from 0\) has no id"), (latin, "(?i)utf-?8")):
        parquet.write_table(pa.table({"id": ids, "label": ["eel", "cod"]}), path)
        with pytest.raises(HedgerowError, match=said):
            joined(scores, path)


def test_labels_need_ids(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\na,cod\n")
    with pytest.raises(ScoreError, match="has no ids"):
        joined(save_table(tmp_path / "wide.csv", probabilities(2)), labels)
    with pytest.raises(ParameterError, match="joined by id"):
        joined(written(tmp_path / "long.csv", LONG), written(tmp_path / "labels.txt", "cod\n"))
    with pytest.raises(ScoreError, match=r"needs labels.*labels_file='FILE'"):
        hr.open_scores(written(tmp_path / "long.csv", LONG), H)


def test_another_name_of_the_columns(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "image,species\na,cod\nb,eel\nc,wren\n")
    scores = written(tmp_path / "long.csv", LONG.replace("id,", "image,", 1))
    found, _ = joined(scores, labels, scores_format="long", id_column="image", label_column="species")
    assert found == {"a": "cod", "b": "eel", "c": "wren"}


def test_names_as_a_tool_would_write_them(tmp_path: Path) -> None:
    labels = written(tmp_path / "labels.csv", "id,label\na,puma_concolor\n")
    scores = written(tmp_path / "long.csv", "id,class,score\na,Felidae,1\n")
    assert joined(scores, labels, MAMMALS)[0] == {"a": "Puma concolor"}


def test_a_long_text_that_many_rows_repeat(tmp_path: Path) -> None:
    rows = 3_000
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 1_000_000]))
    path = tmp_path / "labels.parquet"
    parquet.write_table(pa.table({"id": [str(i) for i in range(rows)], "label": long}), path)
    with pytest.raises(FileError, match="in column 'label', a few long texts are repeated so often"):
        hr.open_scores(written(tmp_path / "scores.csv", LONG), H, hr.ScoreReading(labels_file=path))


def test_a_control_character_does_not_move_names_to_another_rank(tmp_path: Path) -> None:
    scores = written(tmp_path / "scores.csv", LONG)
    labels = written(tmp_path / "labels.csv", "id,family,species\na,fish\x1fcod,\n")
    with pytest.raises(ScoreError, match="contains the control character"):
        hr.open_scores(scores, H, hr.ScoreReading(labels_file=labels))


def test_the_column_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    scores = written(tmp_path / "scores.csv", LONG)
    labels = written(tmp_path / "labels.csv", "id,label,label_final\na,cod,eel\n")
    with pytest.raises(FileError, match="has no column 'label_fin'"):
        hr.open_scores(scores, H, hr.ScoreReading(labels_file=labels, label_column="label_fin"))
