"""What tools write, as sparse likelihoods: each format, how it is recognised, and what is wrong with bad files."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError, UnknownNameError
from hedgerow.files import InputFile
from hedgerow.likelihood import SparseLikelihoods
from hedgerow.score_files import FORMATS, find_format, write_predictions
from hedgerow.score_files import lines as lines_module
from hedgerow.tree import Settings
from tests.make_scores import LEAVES, H, opened, probabilities, save_table
from tests.score_files.simulated import DATA

if TYPE_CHECKING:
    from pathlib import Path

SPECIES = hr.Hierarchy.from_lineages(DATA / "lineages.csv")
GENERA = hr.Hierarchy.from_lineages(DATA / "genera.csv")
BACTERIA = hr.Hierarchy.from_paths(DATA / "bacteria.txt")
MAMMALS = hr.Hierarchy.from_lineages(DATA / "mammals.csv")
PETS = hr.Hierarchy.from_lineages(
    [
        ["animal", "bird", "robin"],
        ["animal", "bird", "wren"],
        ["animal", "fish", "cod"],
        ["animal", "fish", "eel"],
    ],
    ranks=["kingdom", "class", "species"],
)


def listed(path: Path, tree: hr.Hierarchy, **options: Any) -> dict[str, dict[str, float]]:
    """Return the likelihood of each listed node, by id and name."""
    found: dict[str, dict[str, float]] = {}
    for block in opened(path, tree, labels=False, **options):
        q = block.likelihoods
        assert isinstance(q, SparseLikelihoods)
        assert block.ids is not None
        for i, name in enumerate(block.ids):
            entries = slice(q.start[i], q.start[i + 1])
            found[name] = dict(zip(tree.names[q.node[entries]].tolist(), q.value[entries].tolist(), strict=True))
    return found


def refused(error: type[HedgerowError], path: Path, tree: hr.Hierarchy, *parts: str, **options: Any) -> None:
    with pytest.raises(error) as caught:
        listed(path, tree, **options)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


# Every format -------------------------------------------------------------------------------------------------


def plain_sintax(line: str) -> dict[str, float]:
    """What a line says, by its own names."""
    return {m[1]: float(m[2]) for m in re.finditer(r"[a-z]:([^(,]+)\(([0-9.]+)\)", line.split("\t")[1])}


def test_sintax() -> None:
    found = listed(DATA / "sintax.txt", SPECIES)
    lines = (DATA / "sintax.txt").read_text().splitlines()
    assert found == {line.split()[0]: plain_sintax(line) for line in lines}
    assert found["short"] == {}


@pytest.mark.parametrize("kind", ["allrank", "fixrank"])
def test_rdp(kind: str) -> None:
    path = DATA / f"rdp-{kind}.txt"
    expected = {}
    for line in path.read_text().splitlines():
        name, _, *rest = line.split("\t")
        triples = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        expected[name] = {taxon: float(number) for taxon, rank, number in triples if rank != "rootrank"}
    assert listed(path, GENERA) == expected
    assert listed(path, SPECIES) == expected


def test_qiime2() -> None:
    found = listed(DATA / "taxonomy.tsv", BACTERIA)
    assert set(found["asv1"]) == set(BACTERIA.names[BACTERIA.lineage("s__Bacillus_subtilis")[1:]])
    assert set(found["asv1"].values()) == {0.91}
    assert found["asv2"]["o__Lactobacillales"] == 0.7
    assert found["asv3"] == {}
    assert list(found) == ["asv1", "asv2", "asv3", "asv4", "asv5"]


def test_speciesnet() -> None:
    found = listed(DATA / "speciesnet.json", MAMMALS, outside=["blank", "vehicle", "human"])
    assert found["cam1/0001.jpg"] == pytest.approx(
        {
            "Mammalia": 0.9,
            "Cetartiodactyla": 0.9,
            "Cervidae": 0.9,
            "Odocoileus": 0.8,
            "Odocoileus virginianus": 0.55,
            "Odocoileus hemionus": 0.25,
        }
    )
    assert found["cam1/0002.jpg"]["Mammalia"] == pytest.approx(
        0.025
    )  # a human is a mammal, outside the tree or not
    assert found["cam1/0002.jpg"]["Aves"] == pytest.approx(0.01)
    assert found["cam2/0003.jpg"] == {}
    assert found["cam2/0004.jpg"]["Felidae"] == pytest.approx(0.95)


def test_speciesnet_with_classes_beside_the_animals(tmp_path: Path) -> None:
    labels = {
        name
        for prediction in json.loads((DATA / "speciesnet.json").read_text())["predictions"]
        for name in prediction.get("classifications", {}).get("classes", ())
    }
    tree = hr.Hierarchy.read(written(tmp_path / "labels.txt", "\n".join(sorted(labels))), "speciesnet")
    for h in (tree, MAMMALS.beside(["blank", "vehicle", "human"])):
        found = listed(DATA / "speciesnet.json", h)
        empty = found["cam1/0002.jpg"]
        assert {name: empty[name] for name in ("blank", "vehicle", "human")} == pytest.approx(
            {"blank": 0.9, "vehicle": 0.04, "human": 0.02}
        )
        assert empty[str(h.names[h.index("Aves" if "Aves" in h else "aves")])] == pytest.approx(0.01)
        answers = tmp_path / "observations.csv"
        how = hr.infer.answering_rule(0.65, None, Settings(single_child="answer"))
        scores = hr.open_scores(DATA / "speciesnet.json", h, labels=False)
        write_predictions(answers, scores, how, layout="camtrap-dp")
        with answers.open(newline="") as file:
            rows = [(row["observationType"], row["scientificName"]) for row in csv.DictReader(file)]
        assert rows == [("animal", "Odocoileus"), ("blank", ""), ("unknown", ""), ("animal", "Felidae")]
    # Any animal is a node of its own, so that it is no answer about a blank image.
    assert listed(DATA / "speciesnet.json", tree)["cam1/0001.jpg"]["animal"] == pytest.approx(0.91)


def test_pybioclip() -> None:
    found = listed(DATA / "pybioclip.csv", MAMMALS)
    assert found["a.jpg"]["Ursus"] == pytest.approx(0.9356034994125366 + 0.05616999790072441)
    assert found["b.jpg"]["Felidae"] == 0.875
    assert found["b.jpg"]["Lynx"] == 0.75


def test_pybioclip_with_classes_of_the_user(tmp_path: Path) -> None:
    text = "file_name,classification,score\na.jpg,robin,0.5\na.jpg,wren,0.25\nb.jpg,cod,1\n"
    found = listed(written(tmp_path / "p.csv", text), H)
    assert found == {"a.jpg": {"bird": 0.75, "robin": 0.5, "wren": 0.25}, "b.jpg": {"fish": 1, "cod": 1}}


def test_pybioclip_at_a_higher_rank(tmp_path: Path) -> None:
    frame = pd.read_csv(DATA / "pybioclip.csv").drop(columns=["species_epithet", "species", "common_name"])
    sums = frame.groupby(list(frame.columns[:-1]), sort=False)["score"].sum()
    sums.reset_index().to_csv(tmp_path / "genus.csv", index=False)
    assert listed(tmp_path / "genus.csv", MAMMALS)["b.jpg"]["Lynx"] == 0.75


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("block_rows", [1, 2, 3, 100])
def test_long_tables(suffix: str, block_rows: int, tmp_path: Path) -> None:
    p = probabilities(5)
    rows = [
        {"id": f"e{i}", "class": name, "score": p[i, j], "label": "cod", "group": "g"}
        for i in range(5)
        for j, name in enumerate(LEAVES)
    ]
    path = tmp_path / f"long.{suffix}"
    frame = pd.DataFrame(rows)
    if suffix == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    blocks = list(hr.open_scores(path, H, block_rows=block_rows))
    q = np.concatenate([block.q for block in blocks])
    np.testing.assert_array_equal(q, hr.likelihood.from_leaves(H, p, classes=LEAVES))
    assert [name for block in blocks for name in block.ids] == [f"e{i}" for i in range(5)]
    assert {int(label) for block in blocks for label in block.labels} == {H.index("cod")}


def test_classes_of_long_tables_at_any_depth_and_the_rest_unknown(tmp_path: Path) -> None:
    text = "id,class,score\na,bird,0.5\na,robin,0.25\nb,animal,0.5\nb,blank,0.5\n"
    found = listed(written(tmp_path / "long.csv", text), H, outside=["blank"])
    assert found == {"a": {"bird": 0.75, "robin": 0.25}, "b": {}}


def test_votes_become_shares(tmp_path: Path) -> None:
    path = written(tmp_path / "long.csv", "id,class,score\na,robin,6\na,wren,1\na,blank,1\nb,cod,3\n")
    found = listed(path, H, votes=True, outside=["blank"])
    assert found == {"a": {"bird": 0.875, "robin": 0.75, "wren": 0.125}, "b": {"fish": 1, "cod": 1}}
    refused(ScoreError, path, H, "'a' in line 2 has 6 for 'robin'", outside=["blank"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_lineage_tables(suffix: str, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "id": ["a", "b", "c"],
        "class": ["bird", "fish", ""],
        "class_confidence": [0.9, 0.8, np.nan],
        "species": ["robin", "", ""],
        "species_confidence": [0.95, np.nan, np.nan],
        "label": ["robin", "cod", "animal"],
    }
    path = tmp_path / f"lineages.{suffix}"
    frame = pd.DataFrame(columns)
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    assert listed(path, PETS) == {"a": {"bird": 0.9, "robin": 0.95}, "b": {"fish": 0.8}, "c": {}}
    opened = hr.open_scores(path, PETS)
    assert [int(label) for block in opened for label in block.labels] == PETS.indices(columns["label"]).tolist()
    growing = "In 1 of 3 examples the confidence grows towards the leaves"
    assert [warning for warning in opened.warnings if growing in warning]
    assert [warning for warning in opened.warnings if "1 of 3 examples is unclassified" in warning]


def test_numbers_are_read_in_double_precision(tmp_path: Path) -> None:
    path = written(tmp_path / "s.txt", "r\td:Bacteria(0.80)\t+\n")
    assert listed(path, BACTERIA)["r"] == {"d__Bacteria": 0.8}


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_any_block_size_reads_the_same(block_rows: int) -> None:
    assert listed(DATA / "sintax.txt", SPECIES, block_rows=block_rows) == listed(DATA / "sintax.txt", SPECIES)
    assert listed(DATA / "rdp-allrank.txt", GENERA, block_rows=block_rows) == listed(
        DATA / "rdp-allrank.txt", GENERA
    )


@pytest.mark.parametrize(
    ("name", "tree"),
    [("sintax.txt", SPECIES), ("rdp-allrank.txt", GENERA), ("taxonomy.tsv", BACTERIA), ("pybioclip.csv", MAMMALS)],
)
@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
def test_lines_may_end_in_any_way(name: str, tree: hr.Hierarchy, end: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((DATA / name).read_bytes().replace(b"\n", end))
    assert listed(path, tree) == listed(DATA / name, tree)


def test_what_the_other_rows_of_an_example_add_to_one_node(tmp_path: Path) -> None:
    """Classes finer than the tree count for the node that is there."""
    text = "file_name,kingdom,genus,species,score\na,Animalia,Ursus,Ursus x,0.25\na,Animalia,Ursus,Ursus y,0.5\n"
    genera = hr.Hierarchy.from_edges([("root", "Ursus"), ("root", "Lynx")])
    assert listed(written(tmp_path / "p.csv", text), genera) == {"a": {"Ursus": 0.75}}


# Blocks of lines -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize(
    "text", ["", "a", "\n\na\tb\r\n\r\nLöwe und Bär\n\n\nc\n", "one\rtwo\n" * 50, "long " * 100]
)
def test_lines_in_blocks(text: str, rows: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "_BYTES", size)
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    blocks = list(lines_module.line_blocks(str(path), rows))
    assert all(len(place) == len(lines) <= rows for place, lines in blocks)
    found = [pair for place, lines in blocks for pair in zip(place.tolist(), lines.to_pylist(), strict=True)]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert found == [(number, line) for number, line in enumerate(lines, 1) if line]


@pytest.mark.parametrize("size", [1, 20, 1000])
def test_a_line_that_is_not_utf8_is_named(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "_BYTES", size)
    path = tmp_path / "latin.txt"
    path.write_bytes("a\td:Löwe(1.00)\n".encode() * 5 + b"b\td:L\xf6we(1.00)\n" + b"c\td:Lion(1.00)\n" * 5)
    with pytest.raises(
        FileError, match=r"latin.txt, line 6 is not UTF-8: it has the byte 0xf6. Save it as UTF-8."
    ):
        list(lines_module.line_blocks(str(path), 100))


# Which format it is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("sintax.txt", "sintax"),
        ("rdp-allrank.txt", "rdp"),
        ("rdp-fixrank.txt", "rdp"),
        ("taxonomy.tsv", "qiime2"),
        ("speciesnet.json", "speciesnet"),
        ("pybioclip.csv", "pybioclip"),
        ("dada2.tsv", "dada2"),
        ("dada2-single.tsv", "dada2"),
        ("dada2-boot.csv", "dada2"),
        ("idtaxa.txt", "idtaxa"),
        ("blca.txt", "blca"),
    ],
)
def test_formats_are_recognised(name: str, format: str, tmp_path: Path) -> None:  # noqa: A002
    assert find_format(InputFile(DATA / name)) == format
    assert FORMATS[format].settings.single_child == "answer"
    if format in ("sintax", "rdp", "idtaxa", "blca"):
        renamed = tmp_path / "results.tsv"
        renamed.write_bytes((DATA / name).read_bytes())
        assert find_format(InputFile(renamed)) == format


def test_wide_tables_stay_wide(tmp_path: Path) -> None:
    path = save_table(tmp_path / "s.csv", probabilities(2), label=["cod", "eel"], id=["a", "b"])
    assert find_format(InputFile(path)) == "wide"
    assert hr.open_scores(path, H).settings == Settings()
    assert hr.open_scores(path, H).format == "wide"


def test_a_format_that_is_not_clear_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "results.txt", "a b c\n")
    choices = ", ".join(FORMATS)
    refused(ParameterError, path, H, "cannot be told", choices, "scores_format='sintax'")
    refused(ParameterError, written(tmp_path / "x.json", "{}"), H, "cannot be told")
    with pytest.raises(ParameterError, match=r"no score format 'syntax'.*Did you mean 'sintax'"):
        hr.open_scores(path, H, hr.ScoreReading(scores_format="syntax"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "s.txt",
            "q1\tBacteria(1.00)\t+\n",
            "most like sintax, but line 1 is not what vsearch --sintax writes: 'Bacteria(1.00)'",
        ),
        (
            "k.txt",
            "C\ta\t5\t9\t5:9\nC\tb\tx\t9\t5:9\n",
            r"most like kraken2, but line 2 is not what kraken2 writes: 'C\tb\tx\t9\t5:9'",
        ),
        (
            "i.txt",
            "a\tRoot [90%]; B [80%]\nb\tRoot; B\n",
            "most like idtaxa, but line 2 is not what IDTAXA writes: 'Root; B'",
        ),
        ("d.csv", "ASV_ID,Kingdom,Phylum,Genus\na,b,c,d\n", "most like dada2, but has no bootstrap values"),
        (
            "b.csv",
            "Start (s),Scientific name,Confidence\n0,a,1\n",
            "most like birdnet, but has no column 'End (s)'",
        ),
        ("q.txt", "C\ta\t5\t98|94\t5:Q\n", "most like kraken2, but line 1 is not what kraken2 writes: '5:Q'"),
        ("q.txt", "C\ta\t5\t98|94\t5:Q\n", "Name it, as in scores_format='kraken2'"),
        ("k.tsv", "C\ta\t5\t9\t5:9\nX\tb\t5\t9\t5:9\n", "most like kraken2, but line 2 is not what"),
        ("r.txt", "a\t\tR\trootrank\t1.0\tB9\tdomain\t0.5\textra\n", "most like rdp, but line 1 is not what"),
        ("l.csv", "id,class,probability\na,b,1\n", "most like long, but has no column 'score'"),
    ],
)
def test_the_nearest_format_and_what_differs(name: str, text: str, says: str, tmp_path: Path) -> None:
    refused(HedgerowError, written(tmp_path / name, text), H, says)


@pytest.mark.parametrize(
    "line",
    [
        "C\ta\t5\t50\t1:" + "111:" * 4_000 + "x",
        "a\t" + " " * 16_000,
        "a\td:" + "(1.0)" * 3_000 + "x",
        "a\t" + "x;" * 8_000,
        "a\t\tRoot\trootrank" + "\t1" * 5_000,
    ],
)
def test_a_line_that_is_nearly_right_is_refused_soon(line: str, tmp_path: Path) -> None:
    """Patterns take linear time: with others, most of these lines take years."""
    path = written(tmp_path / "results.txt", f"{line}\n")
    refused(ParameterError, path, H, "cannot be told from")
    for name in ("sintax", "rdp", "kraken2", "idtaxa", "blca"):
        refused(FileError, path, H, "line 1 is not what", scores_format=name)


@pytest.mark.parametrize("data", [b"", b"\n\n", "a\tb\n".encode("utf-16"), b"\xff\xfe\x80"])
def test_nothing_to_recognise(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.txt").write_bytes(data)
    refused(ParameterError, tmp_path / "results.txt", H, "it is empty, or not text in UTF-8")


def test_a_separator_in_a_name_is_refused(tmp_path: Path) -> None:
    """Steps are joined by a control character."""
    for name, line in (("sintax", "a\td:A\x1fB(1.00)"), ("idtaxa", "a\tRoot [90%]; A\x1fB [80%]")):
        path = written(tmp_path / "s.txt", f"{line}\n")
        refused(FileError, path, H, "line 1 is not what", r"A\x1fB", scores_format=name)


def test_nothing_is_near(tmp_path: Path) -> None:
    for text in ("a b c\n", "", "a\tb\n", "1.0\t5\t5\tU\t0\tunclassified\n"):
        path = written(tmp_path / "results.txt", text)
        with pytest.raises(ParameterError) as caught:
            listed(path, H)
        assert "most like" not in str(caught.value)


def test_a_named_format_is_read_as_such(tmp_path: Path) -> None:
    path = written(tmp_path / "s.out", "only\t\t\n")
    assert listed(path, BACTERIA, scores_format="sintax") == {"only": {}}
    refused(FileError, path, BACTERIA, "line 1 is not what the RDP classifier writes: 'only", scores_format="rdp")
    refused(FileError, DATA / "pybioclip.csv", MAMMALS, "no column 'id'", scores_format="long")
    refused(FileError, DATA / "pybioclip.csv", MAMMALS, "no column 'Feature ID'", scores_format="qiime2")


@pytest.mark.parametrize(
    "option", [{"logits": True}, {"renormalise": True}, {"columns": "own"}, {"class_prefix": "p"}]
)
def test_options_of_wide_files(option: dict[str, Any]) -> None:
    refused(ParameterError, DATA / "sintax.txt", SPECIES, "lists classes", "wide files", **option)


def test_confidences_are_not_votes() -> None:
    refused(ParameterError, DATA / "sintax.txt", SPECIES, "leave out votes=True", votes=True)


# Restricting, and classes outside -------------------------------------------------------------------------------


def test_only_some_classes(tmp_path: Path) -> None:
    path = written(tmp_path / "long.csv", "id,class,score\na,robin,0.5\na,cod,0.25\na,eel,0.25\n")
    assert listed(path, H, only=["cod", "eel"])["a"] == {"fish": 1, "cod": 0.5, "eel": 0.5}
    assert listed(path, H, only="bird")["a"] == {"bird": 1, "robin": 1}
    wide = save_table(tmp_path / "s.csv", np.array([[0.5, 0, 0.25, 0.25]]))
    (block,) = hr.open_scores(wide, H, hr.ScoreReading(only="fish"), labels=False)
    assert block.q[0, H.indices(["fish", "robin", "cod"])].tolist() == [1, 0, 0.5]
    with pytest.raises(UnknownNameError, match="Did you mean 'bird'"):
        hr.open_scores(path, H, hr.ScoreReading(only="birt"), labels=False)


def test_wide_tables_of_classes_at_any_depth(tmp_path: Path) -> None:
    p = np.array([[0.5, 0.25, 0.125, 0.125], [0.25, 0.25, 0, 0]])
    path = save_table(tmp_path / "s.csv", p, ["bird", "robin", "cod", "blank"], label=["cod"] * 2)
    (block,) = hr.open_scores(path, H, hr.ScoreReading(columns="own", outside=["blank"]))
    expected = hr.likelihood.from_columns(H, p, ["bird", "robin", "cod", "blank"], outside=["blank"])
    np.testing.assert_array_equal(block.q, expected)
    with pytest.raises(UnknownNameError, match=r"1 not in the tree \('blank'\).*outside=\('blank',\)"):
        hr.open_scores(path, H, hr.ScoreReading(columns="own"))
    with pytest.raises(ParameterError, match="columns='own'"):
        hr.open_scores(path, H, hr.ScoreReading(outside=["blank"]))
    many = save_table(tmp_path / "m.csv", p * 1.5, ["bird", "robin", "cod", "eel"], label=["cod"] * 2)
    with pytest.raises(ScoreError, match=r"must sum to at most 1 within 0.001; line 2 sums to 1.5"):
        list(hr.open_scores(many, H, hr.ScoreReading(columns="own")))
    (block,) = hr.open_scores(many, H, hr.ScoreReading(columns="own", votes=True))
    np.testing.assert_allclose(
        block.q[0], hr.likelihood.from_columns(H, p[:1], ["bird", "robin", "cod", "eel"])[0]
    )


def test_logits_of_classes_at_any_depth(tmp_path: Path) -> None:
    theta = np.array([[1.0, 2.0, 0.5]])
    path = save_table(tmp_path / "s.csv", theta, ["bird", "robin", "cod"], label=["cod"])
    (block,) = hr.open_scores(path, H, hr.ScoreReading(columns="own", logits=True))
    p = np.exp(theta) / np.exp(theta).sum()
    np.testing.assert_allclose(block.q, hr.likelihood.from_columns(H, p, ["bird", "robin", "cod"]))


def test_columns_for_a_part_of_a_large_tree(tmp_path: Path) -> None:
    """A model that knows 2,000 of 10,000 species."""
    tree = hr.Hierarchy.from_edges(
        [("root", f"g{i}") for i in range(100)] + [(f"g{i % 100}", f"s{i}") for i in range(10_000)]
    )
    known = [f"s{i}" for i in range(2_000)]
    p = np.random.default_rng(0).dirichlet(np.ones(2_000), size=3)
    path = save_table(tmp_path / "s.parquet", p, known, label=known[:3])
    for columns in (None, "own"):
        scores = hr.open_scores(path, tree, hr.ScoreReading(columns=columns))
        (block,) = scores
        np.testing.assert_allclose(block.q[:, tree.indices(known)], p, rtol=1e-9)
        assert len(scores.warnings) == (columns is None)


# Bad input ------------------------------------------------------------------------------------------------------


def test_a_class_that_is_not_in_the_tree(tmp_path: Path) -> None:
    rows = "".join(f"{i},robin,0.5\n{i},robbin,0.5\n" for i in range(300))
    path = written(tmp_path / "long.csv", "id,class,score\n" + rows)
    refused(
        UnknownNameError,
        path,
        H,
        "1 class of its 300 examples",
        "'robbin' (300 examples): the tree has no 'robbin'. Did you mean 'robin'?",
        "outside=('robbin',)",
        block_rows=7,
    )


def test_a_lineage_that_contradicts_the_tree(tmp_path: Path) -> None:
    text = "r1\td:Domain0(1.00),p:Phylum2(0.90)\t+\nr2\td:Domain0(1.00),p:Phylum2(0.80)\t-\n"
    path = written(tmp_path / "s.txt", text)
    own = " > ".join(SPECIES.names[SPECIES.lineage("Phylum2")])
    refused(
        UnknownNameError,
        path,
        SPECIES,
        "'Domain0 > Phylum2' (2 examples)",
        f"the tree's own lineage of 'Phylum2' is {own}",
    )
    with pytest.raises(UnknownNameError) as caught:
        listed(path, SPECIES)
    assert str(caught.value).endswith("Correct the names or the tree.")  # it cannot be added, or declared outside
    assert listed(path, SPECIES, outside=["*"]) == {"r1": {"Domain0": 1.0}, "r2": {"Domain0": 1.0}}


def test_the_same_class_twice(tmp_path: Path) -> None:
    path = written(tmp_path / "long.csv", "id,class,score\na,robin,0.5\na,cod,0.1\na,robin,0.25\n")
    refused(ScoreError, path, H, "'a' in line 2 lists 'robin' twice")


def test_scores_that_sum_above_1(tmp_path: Path) -> None:
    path = written(tmp_path / "long.csv", "id,class,score\na,robin,0.5\nb,cod,0.75\nb,eel,0.5\n")
    refused(ScoreError, path, H, "at most 1 within 0.001; 'b' in line 3 sums to 1.25", "votes=True")
    rounded = written(tmp_path / "r.csv", "id,class,score\nb,cod,0.5005\nb,eel,0.5\n")
    assert listed(rounded, H)["b"]["fish"] == 1


@pytest.mark.parametrize(
    ("number", "said"), [("-0.5", "-0.5"), ("NaN", "no number (NaN)"), ("1.5", "1.5"), ("inf", "inf")]
)
def test_impossible_numbers(number: str, said: str, tmp_path: Path) -> None:
    long = written(tmp_path / "long.csv", f"id,class,score\na,robin,0.5\nb,cod,{number}\n")
    refused(ScoreError, long, H, f"'b' in line 3 has {said} for 'cod'")
    text = f"id,class,class_confidence\na,bird,0.5\nb,fish,{number}\n"
    refused(ScoreError, written(tmp_path / "l.csv", text), H, f"'b' in line 3 has {said} for 'fish'")
    sintax = written(tmp_path / "s.txt", f"a\td:Bacteria(1.00)\t+\nb\td:Bacteria({number})\t+\n")
    refused(ScoreError, sintax, BACTERIA, f"'b' in line 2 has {said} for 'Bacteria'", scores_format="sintax")


def test_text_in_place_of_numbers(tmp_path: Path) -> None:
    long = written(tmp_path / "long.csv", "id,class,score\na,robin,high\n")
    refused(ScoreError, long, H, "'high' for 'score'")
    sintax = written(tmp_path / "s.txt", "a\td:Bacteria(1.00)\t+\nb\td:Bacteria(high)\t+\n")
    refused(FileError, sintax, BACTERIA, "line 2 is not", "'d:Bacteria(high)'. Expected", scores_format="sintax")
    for cut in ("(0.9", "(0.50))", "()", "("):
        sintax = written(tmp_path / "c.txt", f"a\td:Bacteria(1.00)\t+\nb\td:Bacteria{cut}\t+\n")
        said = f"'d:Bacteria{cut}'. Expected"
        refused(FileError, sintax, BACTERIA, "line 2 is not", said, scores_format="sintax")
    refused(
        FileError,
        written(tmp_path / "t.txt", "a\td:Bacteria\t+\n"),
        BACTERIA,
        "line 1 is not what vsearch --sintax writes: 'd:Bacteria'. Expected",
        scores_format="sintax",
    )
    rdp = written(tmp_path / "r.txt", "a\t\tRoot\trootrank\t1.0\tBacteria\tdomain\tsure\n")
    refused(
        FileError,
        rdp,
        BACTERIA,
        r"line 1 is not what the RDP classifier writes: 'Bacteria\tdomain\tsure'",
        scores_format="rdp",
    )
    qiime = written(tmp_path / "q.tsv", "Feature ID\tTaxon\tConfidence\na\td__Bacteria\tsure\n")
    refused(FileError, qiime, BACTERIA, "sure")


def test_an_empty_lineage_is_the_root(tmp_path: Path) -> None:
    text = "Feature ID\tTaxon\tConfidence\na\t\t0.9\nb\tk__; p__\t0.5\nc\tUnassigned\t\n"
    assert listed(written(tmp_path / "q.tsv", text), BACTERIA) == {"a": {}, "b": {}, "c": {}}


@pytest.mark.parametrize("gap", [0, 2])
def test_ids_twice(gap: int, tmp_path: Path) -> None:
    names = ["a", *["x", "y"][:gap], "a"]
    sintax = written(tmp_path / "s.txt", "".join(f"{name}\td:Bacteria(1.00)\t+\n" for name in names))
    where = f"duplicate id 'a'; first in line 1, again in line {gap + 2}"
    for rows in (1, 100):
        refused(ScoreError, sintax, BACTERIA, where, block_rows=rows)
    if gap:
        long = written(tmp_path / "l.csv", "id,class,score\n" + "".join(f"{name},cod,1\n" for name in names))
        refused(ScoreError, long, H, f"again in line {gap + 3}")


def test_an_example_without_id(tmp_path: Path) -> None:
    refused(ScoreError, written(tmp_path / "l.csv", "id,class,score\n,cod,1\n"), H, "line 2 has no id")


def test_two_labels_for_one_example(tmp_path: Path) -> None:
    path = written(tmp_path / "l.csv", "id,class,score,label\na,cod,0.5,cod\na,eel,0.5,eel\n")
    refused(ScoreError, path, H, "line 3 has the label 'eel'", "'cod'")


def test_a_json_cut_off_in_the_middle(tmp_path: Path) -> None:
    text = (DATA / "speciesnet.json").read_text()
    for share in (0.3, 0.5, 0.9):
        path = written(tmp_path / "s.json", text[: int(len(text) * share)])
        refused(FileError, path, MAMMALS, "cannot be read as JSON", "cut off at its end")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"predictions": {}}, "not what SpeciesNet writes"),
        ({"predictions": [{"classifications": {}}]}, "predictions[0] has no 'filepath'"),
        ({"predictions": [{"filepath": "a", "detections": []}]}, "holds no classifications"),
        (
            {"predictions": [{"filepath": "a", "classifications": {"classes": ["x"], "scores": []}}]},
            "predictions[0]",
        ),
        (
            {"predictions": [{"filepath": "a", "classifications": {"classes": ["x"], "scores": ["1"]}}]},
            "predictions[0]",
        ),
        (
            {"predictions": [{"filepath": "a", "classifications": {"classes": ["x"], "scores": [1]}}]},
            "has 1 fields",
        ),
        (
            {"predictions": [{"filepath": "\ud800", "classifications": {"classes": [], "scores": []}}]},
            "surrogates not allowed",
        ),
    ],
)
def test_json_that_is_not_speciesnet(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", json.dumps(change))
    refused(FileError, path, MAMMALS, said, scores_format="speciesnet")


def test_classes_of_speciesnet_that_are_no_taxa() -> None:
    refused(
        UnknownNameError,
        DATA / "speciesnet.json",
        MAMMALS,
        "'blank' (2 examples): the tree has no 'blank'",
        "outside=('blank',)",
        "'vehicle' (1 example)",
    )


def test_a_table_without_its_columns(tmp_path: Path) -> None:
    refused(
        FileError, written(tmp_path / "l.csv", "id,class\na,cod\n"), H, "no column 'score'", scores_format="long"
    )
    text = "id,genus,genus_confidence,colour\na,x,1,red\n"
    refused(FileError, written(tmp_path / "m.csv", text), H, "'colour'")
    refused(
        FileError, written(tmp_path / "n.csv", "id,genus\na,x\n"), H, "genus_confidence", scores_format="lineage"
    )


def test_an_empty_file(tmp_path: Path) -> None:
    refused(ScoreError, written(tmp_path / "s.txt", ""), BACTERIA, "no rows", scores_format="sintax")


@pytest.mark.parametrize(
    "text", ['id,class,score\na,cod,1\nb,"cod,1\nc,cod,1\n', 'id,class,score\na,"cod,1\nb,"cod,1\n']
)
def test_an_unclosed_quote_swallows_nothing(text: str, tmp_path: Path) -> None:
    line = 1 + next(i for i, row in enumerate(text.split("\n")) if '"' in row)
    refused(FileError, written(tmp_path / "l.csv", text), H, f"a quotation mark opens in line {line}")
    wide = 'robin,wren,cod,eel,label\n1,0,0,0,cod\n1,0,0,0,"cod\n1,0,0,0,cod\n1,0,0,0,cod\n'
    refused(FileError, written(tmp_path / "w.csv", wide), H, "a quotation mark opens in line 3")


def test_quotes_that_are_sound(tmp_path: Path) -> None:
    text = 'id,class,score\n"a ""1""\nb",cod,1\n5" pipe,eel,1\n'
    assert list(listed(written(tmp_path / "l.csv", text), H)) == ['a "1"\nb', '5" pipe']


def test_names_with_brackets_and_numbers_written_otherwise(tmp_path: Path) -> None:
    tree = hr.Hierarchy.from_edges([("root", "Foo (bar)"), ("root", "Baz"), ("Foo (bar)", "x")])
    text = "a\td:Foo_(bar)(0.98),s:x(0.5)\t+\nb\td:Baz(1)\t+\nc\td:Baz(1e-1)\t+\n"
    found = listed(written(tmp_path / "s.txt", text), tree, scores_format="sintax")
    assert found == {"a": {"Foo (bar)": 0.98, "x": 0.5}, "b": {"Baz": 1}, "c": {"Baz": 0.1}}
    every = [f"{i / 100:.2f}" for i in range(101)]
    lines = "".join(f"r{number}\td:Baz({number})\t+\n" for number in every)
    found = listed(written(tmp_path / "t.txt", lines), tree)
    assert found == {f"r{number}": {"Baz": float(number)} if float(number) else {} for number in every}
