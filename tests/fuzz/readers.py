"""Every reader of files, and the files to try it with. A new reader is one more line of `READERS`."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import choose
from hedgerow.doctor import examine
from hedgerow.learn import data
from hedgerow.learn.data.features import read_features
from hedgerow.learn.training.module import Classifier
from hedgerow.learn.training.recipe import Recipe
from hedgerow.learn.training.run_folder import AtomicCheckpoints, RunFolder
from hedgerow.measure import Evaluation
from hedgerow.score_files import read_labels, read_prior, read_shares
from hedgerow.study.cells import StudyPlan
from hedgerow.study.records import Records
from hedgerow.tree import read_titles
from tests.fuzz import content
from tests.fuzz.content import changed_json, damaged, encoded
from tests.study.test_records import content as record_content

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    Files = dict[str, bytes]

H = hr.Hierarchy.from_edges([("root", "a"), ("root", "b"), ("a", "c"), ("a", "d")])
TREE = b"parent,child\nroot,a\nroot,b\na,c\na,d\n"


@dataclass(frozen=True)
class Reader:
    """A reader, and the files of a folder that it reads."""

    name: str
    files: SearchStrategy[Files]
    read: Callable[[Path], object]


def one(name: str, file: SearchStrategy[bytes], read: Callable[[Path], object], path: str) -> Reader:
    """A reader of one file."""
    return Reader(name, damaged(file).map(lambda found: {path: found}), lambda folder: read(folder / path))


def tree(name: str, text: SearchStrategy[Any], path: str, **options: Any) -> Reader:
    """A reader of one tree format, and what is done with every tree: the doctor, writing and reading."""

    def read(file: Path) -> None:
        examine(file, hr.TreeReading(options.get("format")))
        hierarchy = hr.Hierarchy.read(file, **options)
        hierarchy.write(file.with_name("saved.json"))
        hr.Hierarchy.read(file.with_name("saved.json"))

    file = text.map(lambda made: made if isinstance(made, bytes) else made.encode("utf-8", "replace"))
    return one(name, file, read, path)


# Score files -------------------------------------------------------------------------------------------------

SCORES: dict[str, Any] = {
    "classes": np.array(["b", "c", "d"]),
    "probabilities": np.array([[0.5, 0.25, 0.25], [0, 0.5, 0.5], [1, 0, 0]]),
    "labels": np.array(["b", "c", "a"]),
    "ids": np.array(["x", "y", "z"]),
}
LIKELIHOODS: dict[str, Any] = {
    "classes": np.array(["root", "a", "b", "c", "d"]),
    "likelihoods": np.array([[0.0, -1, -1, -2, -3]] * 2, dtype=np.float32),
    "labels": np.array(["b", "root"]),
    "scale": np.array("log"),
}
COLUMNS: dict[str, Any] = {
    "b": [0.5, 0.0],
    "c": [0.25, 0.5],
    "d": [0.25, 0.5],
    "label": ["b", "a"],
    "id": ["x", "y"],
}


def scores(path: Path) -> None:
    """Everything that is done with a score file; one that fails must not keep the next from being tried."""
    (path.parent / "tree.csv").write_bytes(TREE)
    examine(path.parent / "tree.csv", scores=path)
    examine(path.parent / "tree.csv", reading=hr.ScoreReading(labels_file=path))
    for logits, labels in ((False, False), (True, False), (False, True)):
        try:
            for _ in hr.open_scores(path, H, hr.ScoreReading(logits=logits), labels=labels):
                pass
        except hr.HedgerowError:
            continue
    hr.evaluate(H, hr.open_scores(path, H))


def score_npz() -> SearchStrategy[bytes]:
    others = ("logits", "groups", "clusters", "texts", "images", "scale")
    return content.npz(SCORES, others) | content.npz(LIKELIHOODS, others)


# What other tools write --------------------------------------------------------------------------------------

EXCERPTS = Path(__file__).parents[1] / "score_files" / "data"


def lines_of(text: str) -> SearchStrategy[str]:
    """Some of the lines of a text, in order or not, and others."""
    known = text.splitlines()
    some = st.lists(st.sampled_from(known) | content.names, max_size=6)
    return some.map(lambda more: "\n".join([*known[:4], *more]))


def of_tool(name: str, excerpt: str, tree: str, labels: str) -> Reader:
    """A reader of what a tool writes, with a tree and labels that belong to the excerpt."""
    formats = {".csv": "lineages", ".txt": "prefixed"}
    known = hr.Hierarchy.read(EXCERPTS / tree, formats.get(Path(tree).suffix))

    def read(path: Path) -> None:
        plain = hr.ScoreReading(scores_format=name)
        labelled = replace(plain, labels_file=EXCERPTS / labels, outside=["*"])
        for how in (plain, labelled):
            for _ in hr.open_scores(path, known, how, labels=how is labelled):
                pass

    text = (EXCERPTS / excerpt).read_text(encoding="utf-8")
    file = content.as_json(changed_json(json.loads(text))) if excerpt.endswith("json") else encoded(lines_of(text))
    return one(f"{name}: {excerpt}", file, read, f"s{Path(excerpt).suffix}")


LONG = "id,class,score\nx,c,0.5\nx,d,0.25\ny,a,1\ny,b,0\n"
LINEAGE_SCORES = "id,one,one_confidence,two,two_confidence\nx,a,0.9,c,0.5\ny,b,0.4,,\nz,a,1,d,1\n"
DARWIN_CORE = (
    "taxonID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\ttaxonRank\ttaxonomicStatus\n"
    "1\t\t\tLife\tkingdom\taccepted\n2\t1\t\tFelis\tgenus\taccepted\n3\t2\t\tFelis catus\tspecies\taccepted\n"
    "4\t\t3\tFelis domesticus\tspecies\tsynonym\n"
)
OBO = (
    "format-version: 1.2\n\n[Term]\nid: X:1\nname: cell\n\n[Term]\nid: X:2\nname: T cell\nalt_id: X:9\n"
    'synonym: "T lymphocyte" EXACT [a:b]\nis_a: X:1 ! cell\n\n[Term]\nid: X:3\nname: old\nis_obsolete: true\n'
    "\n[Typedef]\nid: part_of\n\n[Term]\nid: X:4\nname: B cell\nis_a: X:1\n"
)
OBOGRAPHS = {
    "graphs": [
        {
            "nodes": [
                {"id": "http://x/X_1", "lbl": "cell", "type": "CLASS"},
                {
                    "id": "http://x/X_2",
                    "lbl": "T cell",
                    "meta": {"synonyms": [{"pred": "hasExactSynonym", "val": "t"}]},
                },
                {"id": "http://x/X_3", "lbl": "old", "type": "CLASS", "meta": {"deprecated": True}},
                {"id": "http://x/part_of", "lbl": "part of", "type": "PROPERTY"},
            ],
            "edges": [{"sub": "X_2", "pred": "is_a", "obj": "http://x/X_1"}],
        }
    ]
}
SPECIESNET = "u1;mammalia;carnivora;felidae;felis;catus;cat\nu2;aves;;;;;bird\n"
NODES = "1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tgenus\t|\n3\t|\t2\t|\tspecies\t|\n"
NAMES = "".join(
    f"{number}\t|\t{name}\t|\t\t|\tscientific name\t|\n"
    for number, name in enumerate(("root", "Felis", "Felis catus"), 1)
)


def taxdumps() -> Reader:
    files = {"nodes.dmp": lines_of(NODES), "names.dmp": lines_of(NAMES), "merged.dmp": lines_of("4\t|\t3\t|\n")}
    made = st.fixed_dictionaries({name: damaged(encoded(text)) for name, text in files.items()})
    return Reader("taxdump", made, lambda folder: hr.Hierarchy.read(folder, "taxdump"))


# Points and builders -----------------------------------------------------------------------------------------


@functools.cache
def point() -> dict[str, Any]:
    """The content of a point's file."""
    q = [[1, 0.9, 0.1, 0.6, 0.3]] * 30
    return hr.select(H, q, ["c"] * 29 + ["d"], target=("correct", 0.9)).to_dict()


def monitor() -> dict[str, Any]:
    """The state of a monitor that has counted examples with labels and without."""
    watching = hr.Monitor(hr.OperatingPoint.load(_saved(point())))
    watching.update([[1, 0.9, 0.6, 0.3, 0.1]] * 3, ["c"] * 3, ["x", "y", "z"])
    watching.update([[1, 0.9, 0.6, 0.3, 0.1]] * 3, ids=["x", "y", "z"])
    with tempfile.TemporaryDirectory() as folder:
        watching.save(Path(folder, "s.json"))
        return dict(json.loads(Path(folder, "s.json").read_text(encoding="utf-8")))


def read_monitor(path: Path) -> None:
    """Read the state of a monitor, and go on with it."""
    watching = hr.Monitor.load(path)
    watching.update([[1, 0.9, 0.6, 0.3, 0.1]] * 3, ["c"] * 3, ["u", "v", "w"])
    watching.update([[1, 0.9, 0.6, 0.3, 0.1]] * 3, ids=["u", "v", "w"])
    watching.to_dict()


def read_answers(path: Path) -> None:
    """Read answers, without labels, and with those in the same file."""
    chosen = hr.Monitor.load(_saved(monitor())).point
    for labels in (None, path):
        with contextlib.suppress(hr.HedgerowError):
            hr.Monitor(chosen).watch(choose.read_answers(chosen, path, labels))


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _saved(content: dict[str, Any]) -> Path:
    """Write JSON to a file."""
    path = Path(_folder().name, f"{hashlib.sha256(json.dumps(content).encode()).hexdigest()}.json")
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@functools.cache
def model() -> dict[str, Any]:
    """The arrays of a model's file."""
    made = hr.export.Model(
        H, hr.likelihood.flat_softmax, "log", np.zeros(2), np.ones(2), [(np.ones((2, 3)), np.zeros(3))]
    )
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder, "m.npz"))
        with np.load(Path(folder, "m.npz")) as arrays:
            return dict(arrays)


@functools.cache
def curve_builder() -> dict[str, Any]:
    """The arrays of a builder's file."""
    builder = hr.CurveBuilder(H)
    builder.update([[1, 0.9, 0.1, 0.6, 0.3]] * 3, ["c", "d", "b"])
    with tempfile.TemporaryDirectory() as folder:
        builder.save(Path(folder, "s.npz"))
        with np.load(Path(folder, "s.npz")) as arrays:
            return dict(arrays)


# Evaluations -------------------------------------------------------------------------------------------------


@functools.cache
def evaluation() -> tuple[Files, dict[str, Any], dict[str, Any]]:
    """The files of an evaluation, the content of its JSON, and its arrays."""
    q = hr.likelihood.from_leaves(H, np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]))
    found = hr.evaluate(H, q, ["b", "c"], ids=["x", "y"], replicates=3)
    with tempfile.TemporaryDirectory() as folder:
        found.save(folder)
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        with np.load(Path(folder, "examples.npz")) as arrays:
            return files, json.loads(files["evaluation.json"]), dict(arrays)


@st.composite
def evaluations(draw: Any) -> Files:
    whole, about, arrays = evaluation()
    files = dict(whole)
    what = draw(st.sampled_from(["json", "about", "examples", "bytes"]))
    if what == "json":
        files["evaluation.json"] = json.dumps(draw(changed_json(about))).encode()
    elif what == "about":
        changed = json.dumps(draw(changed_json(json.loads(arrays["about"].tobytes())))).encode()
        archive = io.BytesIO()
        np.savez(archive, **(arrays | {"about": np.frombuffer(changed, np.uint8)}))
        files["examples.npz"] = archive.getvalue()
    elif what == "examples":
        files["examples.npz"] = draw(content.npz(arrays, ("prediction:x", "confidence:leaf", "groups", "texts")))
    name = draw(st.sampled_from(sorted(files)))
    files[name] = draw(damaged(st.just(files[name])))
    if what != "json" and draw(st.integers(0, 9)):  # with a digest that fits, so that readers look further
        found = {"examples.npz": hashlib.sha256(files["examples.npz"]).hexdigest()}
        files["evaluation.json"] = json.dumps(about | {"files": found}).encode()
    if not draw(st.integers(0, 9)):
        del files[draw(st.sampled_from(sorted(files)))]
    return files


def read_evaluation(folder: Path) -> None:
    found = Evaluation.load(folder)
    found.to_dict()
    found.builder.compute()
    hr.compare(found, found, replicates=2)


# Records -----------------------------------------------------------------------------------------------------


@functools.cache
def record() -> dict[str, Any]:
    """A record of a study."""
    from tests.study.small import recipe, splits

    cell = StudyPlan(recipe(), splits()).cells("main", "flat-softmax")[0]
    with tempfile.TemporaryDirectory() as folder:
        Records(folder).write(cell, record_content(0.5))
        found: dict[str, Any] = json.loads(Records(folder).path(cell).read_text(encoding="utf-8"))
    return found


@st.composite
def records(draw: Any) -> bytes:
    """A record, or several."""
    made = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        made.append(draw(changed_json(record())))
    return json.dumps(made[0] if len(made) == 1 else made).encode()


def read_records(path: Path) -> None:
    """Merge records, and see that nothing was written outside."""
    from hedgerow.study import EXPERIMENTS
    from tests.study.small import recipe, splits

    inside = Records(path.parent / "study" / "records")
    before = {place for place in path.parent.parent.iterdir() if place != path.parent}
    try:
        inside.merge(path)
    finally:
        assert {place for place in path.parent.parent.iterdir() if place != path.parent} == before
        assert {place.name for place in path.parent.iterdir()} <= {path.name, "study"}
    plan = StudyPlan(recipe(), splits()).covering(inside.all())
    for experiment in EXPERIMENTS.values():
        for table in experiment.findings(plan, inside).tables.values():
            table.markdown()


# Training runs -----------------------------------------------------------------------------------------------


@functools.cache
def run() -> Files:
    """The files of a training run that has not been trained."""
    recipe = Recipe.from_tables(
        {"data": {"name": "features"}, "model": {"name": "mlp", "hidden": [3]}, "method": {"name": "hxe"}}
    )
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name))
        folder.begin(recipe, H, resume=False)
        folder.save_weights(Classifier(recipe, H, (2,)))
        folder.save_metrics({"AP": 0.5}, {"AP": 0.5})
        return {path.name: path.read_bytes() for path in Path(name).iterdir() if path.is_file()}


@st.composite
def safetensors(draw: Any) -> bytes:
    """Weights; the header or the shape of the input may be changed."""
    whole = run()["model.safetensors"]
    length = int.from_bytes(whole[:8], "little")
    header = draw(changed_json(json.loads(whole[8 : 8 + length])))
    if draw(st.booleans()) and isinstance(header, dict):
        shapes = [
            "[2]",
            "[3]",
            "[0]",
            "[2,2,2]",
            "[100000,100000,100000]",
            '["touch","x"]',
            "{",
            "[1e9]",
            "null",
            "2",
        ]
        header["__metadata__"] = {"input_shape": draw(st.sampled_from(shapes))}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + whole[8 + length :]


@st.composite
def runs(draw: Any) -> Files:
    files = dict(run())
    name = draw(st.sampled_from(sorted(files)))
    if name == "model.safetensors":
        files[name] = draw(safetensors())
    elif name == "recipe.toml" and draw(st.booleans()):
        files[name] = draw(content.recipe_text()).encode()
    elif name.endswith(".json"):
        files[name] = json.dumps(draw(changed_json(json.loads(files[name])))).encode()
    files[name] = draw(damaged(st.just(files[name])))
    if not draw(st.integers(0, 9)):
        files["digests.json"] = draw(content.as_json(content.values))
    return files


def read_run(folder: Path) -> None:
    found = RunFolder(folder)
    found.classifier()
    found.metrics()


@functools.cache
def checkpoint() -> dict[str, Any]:
    """What a checkpoint holds, nearly."""
    state = {"dirpath": "/x", "best_model_path": "/x/best.ckpt", "best_k_models": {"/x/best.ckpt": 0.5}}
    weights = {"classifier.head": torch.zeros(2, 3)}
    return {
        "epoch": 1,
        "global_step": 2,
        "state_dict": weights,
        "callbacks": {"ModelCheckpoint": state},
        "loops": {},
    }


@st.composite
def checkpoints(draw: Any) -> bytes:
    made = checkpoint()
    plain = {key: value for key, value in made.items() if key != "state_dict"}
    changed = draw(changed_json(plain))
    if isinstance(changed, dict) and draw(st.integers(0, 9)):
        changed["state_dict"] = draw(st.sampled_from([made["state_dict"], [], {"x": 1}, {3: torch.zeros(1)}]))
    file = io.BytesIO()
    torch.save(
        changed if draw(st.integers(0, 9)) else np.float64,
        file,
        _use_new_zipfile_serialization=draw(st.booleans()),
    )
    return file.getvalue()


# All of them -------------------------------------------------------------------------------------------------

FEATURES: dict[str, Any] = {
    "features": np.ones((3, 3), np.float32),
    "labels": np.array(["b", "c", "d"]),
    "split": np.array(["train", "val", "test"]),
}
FEATURE_LISTS: dict[str, Any] = {
    "features": [[1.0, 2.0], [3.0, 4.0]],
    "label": ["b", "c"],
    "split": ["train", "val"],
}
FEATURE_COLUMNS: dict[str, Any] = {"x": [1.0, 2.0], "y": [3.0, 4.0], "label": ["b", "c"], "id": ["u", "v"]}


def features(path: Path) -> None:
    """Read features for prediction, then as a data set."""
    read_features(path)
    data.load("features", path=path)


def recipe(path: Path) -> None:
    """Read a recipe, change it, and write it out again."""
    found = Recipe.load(str(path), ["optimiser.lr=0.5", "model.name=linear"])
    Recipe.from_tables(found.tables())
    found.to_toml()


TIP = "tip_likelihood"
MIXED = content.words | content.numbers
EDGE_CELLS, LINEAGE = content.names, ("class", "order", "species")

READERS = [
    tree("edges", content.edge_list() | content.table(EDGE_CELLS, ("parent", "child")), "t.csv"),
    tree("edges, tabs", content.table(EDGE_CELLS), "t.tsv"),
    tree("lineages", content.table(EDGE_CELLS, LINEAGE, 3), "t.csv", format="lineages"),
    tree("paths", st.lists(st.lists(content.names, max_size=4).map("/".join), max_size=5).map("\n".join), "t.txt"),
    tree("nested JSON", content.as_json(content.tree_json), "t.json"),
    tree("Newick", content.newick(), "t.nwk"),
    one("titles", content.as_json(st.dictionaries(content.names, content.values)), read_titles, "t.json"),
    one("scores, CSV", encoded(content.score_table()), scores, "s.csv"),
    one("scores, npz", score_npz(), scores, "s.npz"),
    one("scores, Parquet", content.parquet(content.arrow_columns(COLUMNS)), scores, "s.parquet"),
    one("long", encoded(lines_of(LONG)), scores, "s.csv"),
    one("lineage", encoded(lines_of(LINEAGE_SCORES)), scores, "s.csv"),
    of_tool("sintax", "sintax.txt", "lineages.csv", "labels.csv"),
    of_tool("rdp", "rdp-allrank.txt", "genera.csv", "genus-labels.csv"),
    of_tool("rdp", "rdp-fixrank.txt", "genera.csv", "genus-labels.csv"),
    of_tool("qiime2", "taxonomy.tsv", "bacteria.txt", "labels.csv"),
    of_tool("speciesnet", "speciesnet.json", "mammals.csv", "labels.csv"),
    of_tool("pybioclip", "pybioclip.csv", "mammals.csv", "labels.csv"),
    of_tool("kraken2", "kraken2.txt", "taxdump", "kraken2-labels.csv"),
    of_tool("dada2", "dada2.tsv", "lineages.csv", "labels.csv"),
    of_tool("dada2", "dada2-single.tsv", "lineages.csv", "labels.csv"),
    of_tool("dada2", "dada2-boot.csv", "lineages.csv", "labels.csv"),
    of_tool("birdnet", "birdnet.csv", "mammals.csv", "labels.csv"),
    of_tool("jsonl", "answers.jsonl", "mammals.csv", "labels.csv"),
    of_tool("idtaxa", "idtaxa.txt", "lineages.csv", "labels.csv"),
    of_tool("blca", "blca.txt", "lineages.csv", "labels.csv"),
    taxdumps(),
    tree("OBO", lines_of(OBO), "o.obo"),
    tree("OBO, first parents", lines_of(OBO + "is_a: X:1\n"), "o.obo", parents="first"),
    tree("OBO Graphs", content.as_json(changed_json(OBOGRAPHS)), "o.json", format="obographs"),
    tree("Darwin Core", lines_of(DARWIN_CORE), "Taxon.tsv", format="darwin-core"),
    tree("prefixed", lines_of((EXCERPTS / "bacteria.txt").read_text()), "t.txt", format="prefixed"),
    tree("FASTA", lines_of(">a;tax=d:A,p:B,g:C;\nACGT\n>b;tax=d:A,p:D;\nAC\n"), "t.fa", format="fasta"),
    tree(
        "SpeciesNet labels",
        lines_of(SPECIESNET),
        "t.txt",
        format="speciesnet",
    ),
    tree("codes", lines_of("01\n0101\n010121\n0102\n"), "t.txt", format="codes", prefixes="2,4,6"),
    one("point", content.as_json(changed_json(point())), hr.OperatingPoint.load, "p.json"),
    one("monitor", changed_json(monitor()).map(lambda made: json.dumps(made).encode()), read_monitor, "s.json"),
    one("answers", encoded(content.table(content.numbers, ("id", "prediction", TIP), 3)), read_answers, "a.csv"),
    one(
        "prior", encoded(content.table(EDGE_CELLS, ("class", "group"))), lambda path: read_prior(path, H), "p.csv"
    ),
    one(
        "prior, numbers",
        encoded(content.table(MIXED, ("class", "prior"))),
        lambda path: read_prior(path, H),
        "p.csv",
    ),
    one("shares", encoded(content.table(MIXED, ("class", "share"))), read_shares, "p.csv"),
    one("model", content.npz(model(), ("mean", "labels")), hr.load_model, "m.npz"),
    one("curve builder", content.npz(curve_builder(), ("information",)), hr.CurveBuilder.load, "s.npz"),
    one("labels, text", encoded(st.lists(content.names).map("\n".join)), read_labels, "l.txt"),
    one("labels, CSV", encoded(content.table(EDGE_CELLS, ("id", "label"))), read_labels, "l.csv"),
    one("labels, npz", content.npz({"labels": np.array(["b", "c"])}, ("ids",)), read_labels, "l.npz"),
    one("features, npz", content.npz(FEATURES, ("ids", "ranks", "X")), features, "f.npz"),
    one("features, Parquet lists", content.parquet(content.arrow_columns(FEATURE_LISTS)), features, "f.parquet"),
    one("features, Parquet", content.parquet(content.arrow_columns(FEATURE_COLUMNS)), features, "f.parquet"),
    Reader("evaluation", evaluations(), read_evaluation),
    one("records, JSON", records(), read_records, "r.json"),
    one("records, zip", content.archive(records().map(lambda made: {"a.json": made})), read_records, "r.zip"),
    one("recipe", encoded(content.recipe_text()), recipe, "r.toml"),
    Reader("run", runs(), read_run),
    one("checkpoint", checkpoints(), AtomicCheckpoints().load_checkpoint, "last.ckpt"),
]
"""One line each: its name, a strategy of files, the function that reads them, and the name of the file."""
