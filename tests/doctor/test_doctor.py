from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from hedgerow import ScoreReading, TreeReading, doctor
from hedgerow.errors import FileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.doctor import Diagnosis

REAL_TREES = Path(__file__).parents[3] / "shared" / "data" / "hierarchies"
TREE = "animal,bird\nanimal,fish\nanimal,worm\nbird,robin\nbird,wren\nfish,cod\n"
LEAVES = ["robin", "wren", "cod", "worm"]
NODES = ["animal", "bird", "fish", *LEAVES]


def examine(
    path: str | Path,
    format: str | None = None,  # noqa: A002
    *,
    scores: str | None = None,
    labels: str | None = None,
    titles: str | None = None,
    **fields: Any,
) -> Diagnosis:
    reading = ScoreReading(labels_file=labels, **fields)
    return doctor.examine(path, TreeReading(format=format), scores=scores, reading=reading, titles=titles)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text(TREE)
    return "tree.csv"


def words(diagnosis: Diagnosis, width: int = 100) -> str:
    """What is printed, line breaks taken for blanks."""
    out = io.StringIO()
    diagnosis.print(Console(file=out, width=width, color_system=None))
    assert all(line == line.rstrip() for line in out.getvalue().splitlines())
    return " ".join(out.getvalue().split())


def test_a_sound_tree(tree: str) -> None:
    diagnosis = examine(tree)
    assert diagnosis.ok
    facts = diagnosis.tree
    assert facts is not None
    assert (facts.root, facts.nodes, facts.leaves, facts.leaf_depth) == ("animal", 7, 4, (1, 2))
    assert [(level.depth, level.nodes, level.leaves) for level in facts.levels] == [
        (0, 1, 0),
        (1, 3, 1),
        (2, 3, 3),
    ]
    assert facts.levels[1].examples == ["bird", "fish", "worm"]
    assert (facts.widest, facts.widest_children) == ("animal", 3)
    assert (facts.trivial, facts.longest_chain) == (1, ["fish", "cod"])
    assert (facts.information_values, facts.information_max) == (3, 2.0)
    text = words(diagnosis)
    for part in (
        "tree.csv is a sound tree",
        "7 nodes: 4 leaves",
        "the root, 'animal'",
        "depth 1 to 2",
        "2 3 3 robin, wren, cod",
        "'animal' with 3 children",
        "1 group has a single child, whose name says more: they are not answers themselves, except with",
        "'fish' means 'cod'",
        "3 distinct values",
        "Next: see whether your labels fit the tree: hedgerow doctor tree.csv --labels FILE",
    ):
        assert part in text


def test_chains(tree: str) -> None:
    Path("chain.csv").write_text("".join(f"n{i},n{i + 1}\n" for i in range(30)))
    diagnosis = examine("chain.csv")
    assert diagnosis.tree is not None
    assert diagnosis.tree.trivial == 29
    assert len(diagnosis.tree.longest_chain) == 30
    text = words(diagnosis)
    assert "15 more levels" in text
    assert "29 long: n1 > n2 > n3 > n4 > ... > n27 > n28 > n29, all meaning 'n30'" in text


def test_ranks_titles_and_odd_widths(tree: str) -> None:
    Path("table.csv").write_text("class,species\nbirds,robin\nbirds,駒鳥\nfish,\n", encoding="utf-8")
    Path("titles.json").write_text('{"robin": "Rotkehlchen", "dodo": "Dronte"}')
    diagnosis = examine("table.csv", "lineages", titles="titles.json")
    assert diagnosis.tree is not None
    assert diagnosis.tree.levels[1].ranks == ["class"]
    for width in (30, 60, 200):
        text = words(diagnosis, width)
        assert "species robin (Rotk" in text
        assert "--tree-format lineages --labels" in text
    Path("titles.json").write_text('{"robin": 3}')
    with pytest.raises(FileError, match="names and titles"):
        examine("table.csv", "lineages", titles="titles.json")


def test_names_that_look_alike(tree: str) -> None:
    Path("tree.csv").write_text("r,Robin\nr,robin\nr,wren \nr,cod\n")
    diagnosis = examine(tree)
    assert diagnosis.ok
    assert "'Robin' and 'robin'" in diagnosis.remarks[0]
    assert "'wren '" in diagnosis.remarks[1]
    assert "Worth a look: Some names differ only by case" in words(diagnosis)


def test_a_table_without_the_names_of_its_ranks(tree: str) -> None:
    Path(tree).write_text("Aves,Turdidae,Turdus merula\nAves,Turdidae,Turdus pilaris\nAves,Paridae,Parus major\n")
    diagnosis = examine(tree, format="lineages")
    assert diagnosis.ok
    assert diagnosis.tree is not None
    assert diagnosis.tree.named_like_rank == ["Aves", "Turdidae"]
    assert "have the name of their rank: 'Aves' and 'Turdidae'" in words(diagnosis)


def test_merged_cells_of_a_spreadsheet(tree: str) -> None:
    filled, merged = (
        "class,species\nbirds,robin\nbirds,\nbirds,wren\nfish,cod\n",
        "class,species\nbirds,robin\n,wren\n",
    )
    Path(tree).write_text(filled)
    assert not examine(tree, format="lineages").remarks
    Path(tree).write_text(merged)
    (remark,) = examine(tree, format="lineages").remarks
    assert "several ranks are directly below the root: 'class' and 'species'" in remark
    assert "merged cells" in remark


def test_tables_separated_by_semicolons(tree: str) -> None:
    Path("table.csv").write_text("robin;wren;cod;worm;label\n1;0;0;0;wren\n")
    (problem,) = examine(tree, scores="table.csv").problems
    assert "separated by semicolons: use delimiter=';'" in problem.message
    readable: list[dict[str, Any]] = [{"scores": "table.csv", "delimiter": ";"}, {"labels": "table.csv"}]
    for given in readable:
        found = examine(tree, **given)
        assert found.ok
        assert found.labels is not None
        assert found.labels.distinct == 1
    assert "hedgerow evaluate table.csv --delimiter ';' --tree" in words(
        examine(tree, scores="table.csv", delimiter=";")
    )


def test_every_problem_is_listed(tree: str) -> None:
    Path("tree.csv").write_text("r,a\nr,a\ns,b\nx,y\ny,x\nq,q\n,z\na,b,c\na,b\n")
    diagnosis = examine(tree)
    assert not diagnosis.ok
    assert diagnosis.tree is None
    assert len(diagnosis.problems) == 7
    text = words(diagnosis)
    for part in (
        "7 problems",
        "line 6: 'q' is its own parent",
        "x -> y -> x",
        "2 roots",
        "Next: correct tree.csv",
    ):
        assert part in text


def test_many_problems_are_cut_short_on_screen_only(tree: str) -> None:
    Path("tree.csv").write_text("".join(f"x{i},x{i}\n" for i in range(100)))
    diagnosis = examine(tree)
    assert len(diagnosis.problems) == 100
    text = words(diagnosis)
    assert "... and more: self-loop (75)" in text
    assert text.count("Delete the line") == 1  # the same remedy, said once
    assert "For 1 to 25: Delete the line" in text
    assert len(diagnosis.to_dict()["problems"]) == 100


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("bad.csv", b"a,caf\xe9\n", "not UTF-8"),
        ("bad.json", b'{"a": ', "not JSON"),
        ("bad.nwk", b"(a,b", "semicolon"),
        ("bad.csv", b"", "is empty"),
    ],
)
def test_unreadable_content_is_a_problem(tree: str, name: str, content: bytes, part: str) -> None:
    Path(name).write_bytes(content)
    diagnosis = examine(name)
    assert not diagnosis.ok
    assert part in words(diagnosis)


def test_absent_files_are_errors(tree: str) -> None:
    given: list[dict[str, Any]]
    given = [{"path": "x.csv"}, {"path": tree, "labels": "x.txt"}, {"path": tree, "scores": "x.npz"}]
    for options in given:
        with pytest.raises(FileError, match=r"x\.\w+ does not exist"):
            examine(**options)
    with pytest.raises(FileError, match=r"x\.parquet does not exist"):
        examine(tree, scores="x.parquet")
    with pytest.raises(FileError, match=r"x\.csv does not exist"):
        examine(tree, labels="x.csv")


# Labels ------------------------------------------------------------------------------------------------------


def save_labels(name: str, labels: list[str]) -> str:
    if name.endswith(".txt"):
        Path(name).write_text("\n".join(labels) + "\n")
    elif name.endswith(".npz"):
        np.savez(name, labels=np.array(labels))
    else:
        table = pd.DataFrame({"id": range(len(labels)), "label": labels})
        if name.endswith(".parquet"):
            table.to_parquet(name)
        else:
            table.to_csv(name, index=False, sep="\t" if name.endswith(".tsv") else ",")
    return name


@pytest.mark.parametrize("name", ["labels.txt", "labels.csv", "labels.tsv", "labels.parquet", "labels.npz"])
def test_labels(tree: str, name: str) -> None:
    diagnosis = examine(tree, labels=save_labels(name, ["robin", "robin", "bird", "cod", "worm"]))
    assert diagnosis.ok
    facts = diagnosis.labels
    assert facts is not None
    assert (facts.examples, facts.distinct, facts.internal) == (5, 4, 1)
    assert facts.without_data == ["wren"]
    text = words(diagnosis)
    assert f"Labels: 5 examples in {name} with 4 distinct labels; 1 is labelled with a group" in text
    assert "1 leaf has no data: 'wren'" in text
    assert "--scores FILE" in text


def test_labels_that_are_separated_otherwise_than_the_scores(tree: str) -> None:
    Path("labels.csv").write_text("id;label\n1;robin\n2;wren\n", encoding="utf-8")
    diagnosis = examine(tree, scores=save_scores("scores.csv", LEAVES), labels="labels.csv")
    assert diagnosis.ok
    assert diagnosis.labels is not None
    assert (diagnosis.labels.examples, diagnosis.labels.distinct) == (2, 2)


def test_unknown_labels(tree: str) -> None:
    labels = ["robbin", "robbin", "cod", "NA", "unicorn", *(f"no such class {i}" for i in range(20))]
    diagnosis = examine(tree, labels=save_labels("labels.csv", labels))
    assert not diagnosis.ok
    text = words(diagnosis)
    for part in (
        "23 labels in labels.csv are not in the tree",
        "'robbin' (2 examples, near 'robin')",
        "'unicorn' (1 example, nothing near it)",
        "and 13 more",
        "make the names in the data agree",
    ):
        assert part in text


def test_bad_label_files(tree: str) -> None:
    Path("labels.csv").write_text("name\nrobin\n")
    (problem,) = examine(tree, labels="labels.csv").problems
    assert problem.kind == "unreadable labels"
    assert "has no column 'label'" in problem.message
    assert "Its columns: 'name'" in problem.message
    assert "label_column='NAME'" in problem.message
    assert examine(tree, labels="labels.csv", label_column="name").ok
    Path("labels.doc").write_text("robin\n")
    with pytest.raises(
        ParameterError, match=r"from \.txt, \.npz, \.csv, \.tsv, \.parquet files, not from '\.doc'"
    ):
        examine(tree, labels="labels.doc")
    Path("empty.txt").write_text("\n")
    assert "no labels" in words(examine(tree, labels="empty.txt"))


# Scores ------------------------------------------------------------------------------------------------------


def save_scores(name: str, classes: list[str], **more: Any) -> str:
    scores = np.full((2, len(classes)), 1 / len(classes))
    if name.endswith(".npz"):
        np.savez(name, classes=np.array(classes), probabilities=scores, **more)
    else:
        table = pd.DataFrame(scores, columns=classes).assign(**more)
        table.to_parquet(name) if name.endswith(".parquet") else table.to_csv(name, index=False)
    return name


@pytest.mark.parametrize("name", ["scores.npz", "scores.csv", "scores.parquet"])
def test_score_columns(tree: str, name: str) -> None:
    for classes, kind in ((LEAVES, "leaves"), (NODES[::-1], "nodes"), (NODES[1:], "nodes")):
        diagnosis = examine(tree, scores=save_scores(name, classes))
        assert diagnosis.ok
        assert diagnosis.scores is not None
        assert diagnosis.scores.kind == kind
        assert f"the {len(classes)} class columns of {name} are exactly" in words(diagnosis)


@pytest.mark.parametrize("name", ["scores.npz", "scores.csv", "scores.parquet"])
def test_labels_within_scores(tree: str, name: str) -> None:
    labels = {"labels" if name.endswith(".npz") else "label": ["robin", "dodo"]}
    diagnosis = examine(tree, scores=save_scores(name, LEAVES, **labels))
    assert diagnosis.labels is not None
    assert diagnosis.labels.unknown == {"dodo": 1}
    labels = {"labels" if name.endswith(".npz") else "label": ["robin", "wren"]}
    text = words(examine(tree, scores=save_scores(name, LEAVES, **labels)))
    assert f"hedgerow evaluate {name} --tree tree.csv" in text


def test_score_columns_that_do_not_fit(tree: str) -> None:
    diagnosis = examine(tree, scores=save_scores("scores.csv", ["robbin", "wren", "cod"]))
    assert not diagnosis.ok
    assert diagnosis.scores is not None
    assert diagnosis.scores.missing == ["robin", "worm"]
    assert diagnosis.scores.extra == ["robbin"]
    text = words(diagnosis)
    assert "2 missing ('robin' and 'worm'); 1 extra ('robbin'). Did you mean 'robin'?" in text
    assert "until they are exactly the leaves" in text
    diagnosis = examine(tree, scores=save_scores("scores.npz", [*LEAVES, "bird"]))
    assert diagnosis.scores is not None
    assert diagnosis.scores.missing == ["fish"]
    diagnosis = examine(tree, scores=save_scores("scores.npz", [*LEAVES, "cod"]))
    assert diagnosis.scores is not None
    assert (diagnosis.scores.repeated, diagnosis.scores.extra) == (["cod"], [])


def test_bad_score_files(tree: str) -> None:
    Path("junk.npz").write_bytes(b"junk")
    Path("junk.parquet").write_bytes(b"junk")
    Path("junk.csv.gz").write_bytes(b"junk")
    np.savez("objects.npz", classes=np.array(["a", None], dtype=object), probabilities=np.ones((1, 2)))
    np.savez("numbers.npz", classes=np.arange(3), probabilities=np.ones((1, 3)))
    np.savez("nameless.npz", probabilities=np.ones((1, 1)))
    for name, part in (
        ("junk.npz", "cannot be read as .npz"),
        ("junk.parquet", "cannot be read as Parquet"),
        ("objects.npz", "never unpickled"),
        ("numbers.npz", "list of names"),
        ("nameless.npz", "no member 'classes'"),
        ("junk.csv.gz", "cannot be read as gzip"),
    ):
        (problem,) = examine(tree, scores=name).problems
        assert problem.kind == "unreadable scores"
        assert part in problem.message
    Path("scores.dat").write_bytes(b"junk")
    with pytest.raises(ParameterError, match=r"cannot be told"):
        examine(tree, scores="scores.dat")
    Path("tree.csv").write_text("r,label\nr,b\n")
    (problem,) = examine(tree, scores=save_scores("scores.csv", ["label", "b"])).problems
    assert "'label', the name of a class and of a column" in problem.message
    assert examine(tree, scores="scores.csv", class_columns=["label", "b"]).ok


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "junk": lambda _: b"junk",
    "cut": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:40] + bytes([data[40] ^ 255]) + data[41:],
    "zeros": lambda data: bytes(len(data)),
    "pickle": lambda _: b"cos\nsystem\n(S'touch x'\ntR.",
    "not UTF-8": lambda data: data.replace(b"robin", b"r\xffbin"),
    "NUL": lambda data: data.replace(b"robin", b"r\0bin"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["s.npz", "s.csv", "s.parquet"])
def test_every_bad_file_gets_advice(tree: str, name: str, damage: str) -> None:
    frame = pd.DataFrame({leaf: [0.25] for leaf in LEAVES} | {"label": ["robin"]})
    if name == "s.npz":
        np.savez(name, probabilities=np.full((1, 4), 0.25), classes=np.array(LEAVES), labels=np.array(["robin"]))
    elif name == "s.csv":
        frame.to_csv(name, index=False)
    else:
        frame.to_parquet(name)
    whole = Path(name).read_bytes()
    Path(name).write_bytes(DAMAGE[damage](whole))
    for given in ({"scores": name}, {"labels": name}):
        diagnosis = examine(tree, **given)
        if Path(name).read_bytes() != whole:
            assert not diagnosis.ok or name == "s.csv" or damage == "flipped"
        assert all(problem.message.endswith((".", "?")) for problem in diagnosis.problems)
        words(diagnosis)
    assert not Path("x").exists()


def test_labels_do_not_keep_columns_from_being_looked_at(tree: str) -> None:
    classes = ["robbin", "wren", "cod", "worm"]
    diagnosis = examine(tree, scores=save_scores("scores.npz", classes, labels=np.array([0, 1])))
    assert [problem.kind for problem in diagnosis.problems] == ["score columns", "unreadable labels"]
    assert "must be a list of names of nodes, not int64" in diagnosis.problems[1].message
    assert "'labels'" not in words(examine(tree, scores="scores.npz", labels=save_labels("labels.txt", ["robin"])))


def test_bad_scores_do_not_keep_labels_from_being_looked_at(tree: str) -> None:
    Path("junk.npz").write_bytes(b"junk")
    diagnosis = examine(tree, scores="junk.npz", labels=save_labels("labels.txt", ["robin", "dodo"]))
    assert [problem.kind for problem in diagnosis.problems] == ["unreadable scores", "unknown labels"]


def test_columns_with_names_of_their_own(tree: str) -> None:
    pd.DataFrame([[0.25] * 4], columns=[f"p_{name}" for name in LEAVES]).assign(ID=7, species="robin").to_csv(
        "scores.csv", index=False
    )
    assert "use class_prefix='p_'" in examine(tree, scores="scores.csv").problems[0].message
    options: dict[str, Any] = {"class_prefix": "p_", "label_column": "species", "id_column": "ID"}
    diagnosis = examine(tree, scores="scores.csv", **options)
    assert diagnosis.ok
    assert diagnosis.labels is not None
    assert diagnosis.labels.distinct == 1
    assert (
        "hedgerow evaluate scores.csv --label-column species --id-column ID --class-prefix p_ --tree tree.csv"
        in words(diagnosis)
    )
    (problem,) = examine(tree, scores="scores.csv", class_prefix="p_", label_column="kind").problems
    assert "It has no column 'kind'" in problem.message


def test_findings_are_json(tree: str) -> None:
    save_scores("scores.npz", LEAVES, labels=np.array(["robin", "bird"]))
    found = json.loads(json.dumps(examine(tree, scores="scores.npz").to_dict()))
    assert found["ok"] is True
    assert found["tree"]["nodes"] == 7
    assert found["labels"]["internal"] == 1
    assert found["scores"]["kind"] == "leaves"
    Path("tree.csv").write_text("a,a\n")
    found = examine(tree).to_dict()
    assert found["ok"] is False
    assert found["problems"][0]["kind"] == "self-loop"


@pytest.mark.parametrize("path", sorted(REAL_TREES.glob("*.csv")), ids=lambda path: path.stem)
def test_real_trees_are_sound(path: Path) -> None:
    assert examine(path).ok


def test_names_that_only_look_the_same(tree: str) -> None:
    Path("tree.csv").write_text("root,caf\u00e9\nroot,cafe\u0301\nroot,robin\u200b\nroot,na\u00efve\n", "utf-8")
    Path("labels.txt").write_text("robin\nnai\u0308ve\ncaf\u00e9\n", "utf-8")
    diagnosis = examine(tree, labels="labels.txt")
    assert diagnosis.tree is not None
    assert diagnosis.tree.twins == [["caf\u00e9", "cafe\u0301"]]
    assert diagnosis.tree.invisible == ["robin\u200b"]
    said = words(diagnosis, 1_000)
    assert r"different characters: 'caf\xe9' and 'cafe\u0301'. They are different classes here." in said
    assert r"invisible characters, or accents as separate characters: 'robin\u200b'." in said
    assert r"only looks like a name of the tree: 'robin' here, 'robin\u200b' there" in said
    assert r"'nai\u0308ve' here, 'na\xefve' there" in said
    assert said.count('unicodedata.normalize("NFC", name), and remove zero-width characters') == 3


def test_ranks_that_stand_in_the_names(tree: str) -> None:
    Path("tree.txt").write_text("k__Fungi/p__Ascomycota\nk__Fungi/p__Basidiomycota\n")
    assert "they would have ranks: format='prefixed'" in words(examine("tree.txt"), 1_000)


def test_labels_may_be_aliases(tree: str) -> None:
    Path("tree.json").write_text('{"name": "cat", "children": [{"name": "puma", "aliases": ["cougar"]}, "lion"]}')
    Path("labels.txt").write_text("cougar\nlion\npuma\n")
    diagnosis = examine("tree.json", labels="labels.txt")
    assert diagnosis.ok
    assert diagnosis.labels is not None
    assert (diagnosis.labels.distinct, diagnosis.labels.without_data) == (2, [])
