"""Every kind of document: what is unknown, missing, changed, or of another kind or version is refused."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.choose import monitor, point
from hedgerow.errors import FileError
from hedgerow.export import model
from hedgerow.files import Document, json_array
from hedgerow.learn import data
from hedgerow.learn.data import LabelledInputs, glyphs
from hedgerow.learn.training import run_folder, scores
from hedgerow.learn.training.run_folder import RunFolder
from hedgerow.likelihood import Likelihoods
from hedgerow.measure import builder, evaluation, saved
from hedgerow.methods import create
from hedgerow.score_files import Block
from hedgerow.study import records
from hedgerow.study.cells import StudyPlan
from tests.sealed import sealed, sealed_arrays
from tests.study.small import recipe, splits
from tests.study.test_records import content as record_content

if TYPE_CHECKING:
    from collections.abc import Callable

H = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
Q = [[1, 0.9, 0.1]] * 40
LABELS = ["cat"] * 39 + ["dog"]


def _point() -> hr.OperatingPoint:
    return hr.select(H, Q, LABELS, target=("correct", 0.9))


def _evaluation(folder: Path) -> None:
    hr.evaluate(H, Q, LABELS).save(folder)


def _examples(folder: Path) -> None:
    _evaluation(folder)
    (folder / "evaluation.json").unlink()


def _builder(folder: Path) -> None:
    made = hr.CurveBuilder(H)
    made.update(Q, LABELS)
    made.save(folder / "builder.npz")


def _model(folder: Path) -> None:
    layers = [(np.ones((2, 2)), np.zeros(2))]
    hr.export.Model(H, hr.likelihood.flat_softmax, "log", None, np.ones(2), layers).save(folder / "model.npz")


def _digests(folder: Path) -> None:
    for name in ("recipe.toml", "tree.json", "model.safetensors"):
        (folder / name).write_text("{}")
    RunFolder(folder).save_digests()


def _scores(folder: Path) -> None:
    q = Likelihoods.of(H, np.array(Q))
    examples = LabelledInputs(np.zeros((len(Q), 1)), H.indices(LABELS))
    scores.write_test_scores(
        folder / "scores.npz", create("flat-softmax", H), examples, [Block.of(0, q)], compact=True
    )


def _record(folder: Path) -> None:
    cell = StudyPlan(recipe(), splits()).cells("main", "flat-softmax")[0]
    records.Records(folder).write(cell, record_content(0.5))


def _glyphs(folder: Path) -> None:
    """Read glyphs from a cache, where they are drawn if it does not have them; refuse to draw them again."""
    refusal = FileError("glyphs-: it would be drawn again")
    cached = list(folder.glob("*.npz"))
    with patch.dict("os.environ", HEDGEROW_CACHE=str(folder)):
        if not cached:
            data.load_glyphs(size="quick", draws=1, pixels=8)
        else:
            with patch.object(glyphs, "draw", side_effect=refusal):
                data.load_glyphs(size="quick", draws=1, pixels=8)


@dataclass(frozen=True)
class Kind:
    """A kind of document, and who writes and reads it."""

    document: Document[Any]
    file: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    """Both are given the folder."""


def _in_run(method: str) -> Callable[[Path], object]:
    return lambda folder: getattr(RunFolder(folder), method)()


KINDS = [
    Kind(
        point.POINT,
        "p.json",
        lambda folder: _point().save(folder / "p.json"),
        lambda folder: hr.OperatingPoint.load(folder / "p.json"),
    ),
    Kind(
        monitor._MONITOR,
        "m.json",
        lambda folder: hr.Monitor(_point()).save(folder / "m.json"),
        lambda folder: hr.Monitor.load(folder / "m.json"),
    ),
    Kind(saved._FIGURES, "evaluation.json", _evaluation, hr.Evaluation.load),
    Kind(
        evaluation._EVALUATION,
        "examples.npz",
        _examples,
        hr.Evaluation.load,
    ),
    Kind(builder._BUILDER, "builder.npz", _builder, lambda folder: hr.CurveBuilder.load(folder / "builder.npz")),
    Kind(model._MODEL, "model.npz", _model, lambda folder: hr.load_model(folder / "model.npz")),
    Kind(run_folder._DIGESTS, "digests.json", _digests, _in_run("check_digests")),
    Kind(
        run_folder._PENALTY, "penalty.json", lambda folder: RunFolder(folder).save_penalty(2.0), _in_run("penalty")
    ),
    Kind(
        run_folder._METRICS,
        "metrics.json",
        lambda folder: RunFolder(folder).save_metrics({"AP": 0.5}, {"AP": 0.4}),
        _in_run("metrics"),
    ),
    Kind(
        scores._COMPACT,
        "scores.npz",
        _scores,
        lambda folder: list(scores.open_test_scores(folder / "scores.npz", H)),
    ),
    Kind(
        records.RECORD,
        "main-*.json",
        _record,
        lambda folder: records.Records(folder / "other").merge(next(folder.glob("main-*.json"))),
    ),
    Kind(glyphs._CACHE, "glyphs-*.npz", _glyphs, _glyphs),
]


def test_every_kind_is_in_the_table() -> None:
    source = Path(hr.__file__).parent
    files = [path for path in source.rglob("*.py") if " = Document(" in path.read_text(encoding="utf-8")]
    names = [".".join(("hedgerow", *path.relative_to(source).with_suffix("").parts)) for path in files]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    assert {kind.document for kind in KINDS} == {value for value in values if isinstance(value, Document)}


@dataclass
class File:
    """A document that can be changed."""

    kind: Kind
    path: Path
    fields: dict[str, Any]
    arrays: dict[str, Any] | None

    def refused(self, message: str, fields: dict[str, Any] | None = None, *, changed: bool = False) -> None:
        """Write it with other fields, with a digest that fits unless it was just changed; it must be refused."""
        content = {name: value for name, value in (self.fields | (fields or {})).items() if value is not ...}
        if self.arrays is not None:
            whole = self.arrays | {"about": json_array(content)}
            np.savez(self.path, **(whole if changed else sealed_arrays(whole)))
        else:
            self.path.write_text(json.dumps(content if changed else sealed(content)), encoding="utf-8")
        with pytest.raises(FileError) as refusal:
            self.kind.read(self.path.parent)
        said = str(refusal.value)
        assert self.path.name[:7] in said
        if self.kind.document is not glyphs._CACHE:  # they are drawn again instead
            assert message in said
            assert self.kind.document.remedy in said

    def refused_arrays(self, message: str, arrays: dict[str, Any], *, changed: bool = False) -> None:
        """Do the same with other arrays."""
        whole = (self.arrays or {}) | arrays
        others = {name: array for name, array in whole.items() if array is not ...}
        replace(self, arrays=others).refused(message, changed=changed)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.document.format + " " + kind.file)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> File:
    kind: Kind = request.param
    kind.write(tmp_path)
    kind.read(tmp_path)
    path = next(tmp_path.glob(kind.file))
    if path.suffix == ".json":
        return File(kind, path, json.loads(path.read_text(encoding="utf-8")), None)
    with np.load(path) as found:
        arrays = dict(found)
    return File(kind, path, json.loads(arrays.pop("about").tobytes()), arrays)


def test_another_format_or_version(file: File) -> None:
    file.refused("it is a 'hedgerow other'", {"format": "hedgerow other"})
    file.refused("hedgerow did not write it", {"format": ...})
    file.refused("another version of hedgerow wrote it: its schema is 99", {"schema": 99})
    file.refused("another version of hedgerow wrote it", {"schema": ...})
    file.refused("another version of hedgerow wrote it: its schema is True", {"schema": True})


def test_unknown_and_missing_fields(file: File) -> None:
    if file.kind.document is not saved._FIGURES:  # whose other fields are for people
        file.refused("unknown field `more`", {"more": 1})
    for field in msgspec.structs.fields(file.kind.document.form):
        if field.required:
            file.refused(f"missing required field `{field.encode_name}`", {field.encode_name: ...})


OTHERS = {
    "notes": ["x"],
    "delta": 0.5,
    "name": "x",
    "C": 3.0,
    "val": {},
    "hedgerow": "x",
    "metrics": [],
    "features": ["x"],
    "scale": "logit",
    "files": {},
    "characters": "x",
}
"""Values that their fields may have, in the kinds of document that have these."""


def test_changes(file: File) -> None:
    changed = "was changed after it was written"
    file.refused(changed, {"digest": "0" * 64}, changed=True)
    file.refused(changed, {"digest": ...}, changed=True)
    for name in OTHERS.keys() & file.fields.keys():
        file.refused(changed, {name: OTHERS[name]}, changed=True)
    assert OTHERS.keys() & file.fields.keys()
    for name, array in (file.arrays or {}).items():
        worse = array.copy()
        worse.ravel()[:1] = "?" if array.dtype.kind == "U" else worse.ravel()[:1] == 0
        file.refused_arrays(changed, {name: worse}, changed=True)


def test_unknown_and_missing_arrays(file: File) -> None:
    if file.arrays is None:
        return
    file.refused_arrays("it contains 'more', which does not belong there", {"more": np.zeros(1)})
    for name, array in file.arrays.items():
        file.refused_arrays(f"{name!r} is missing", {name: ...})
        file.refused_arrays(f"{name!r} is", {name: array[None]})


def test_digests_name_the_files_that_every_run_has(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text("{}")
    RunFolder(tmp_path).save_digests()
    with pytest.raises(FileError, match=r"digests\.json .*it lacks 'model\.safetensors' and 'recipe\.toml'"):
        RunFolder(tmp_path).check_digests()


@pytest.mark.parametrize("dtype", [">i8", "<i8", ">f4", ">U1", "<U1", "S2", "?"])
def test_arrays_of_any_byte_order_are_read_again(dtype: str, tmp_path: Path) -> None:
    class Note(msgspec.Struct, forbid_unknown_fields=True):
        text: str

    note = Document("hedgerow note", 1, Note, "a note", "Copy it again.")
    array = np.array(["1", "0"]).astype(dtype)
    note.write_archive(tmp_path / "note.npz", Note("a"), {"x": array})
    with note.reading_archive(tmp_path / "note.npz") as (content, arrays):
        assert content.text == "a"
        assert arrays.take("x", np.generic, 2).tolist() == array.tolist()
