"""Records of finished cells, one small JSON file each."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, final
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from hedgerow import __version__
from hedgerow.errors import FileError
from hedgerow.files import Archive, atomic_write, make_folder, read_json, reading
from hedgerow.study.cells import Cell, as_read, canonical, name_of_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike


_FORMAT = 1
_SUMMARY = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1", "leaf_exact", "leaf_ECE")

# The form of a record. Names become parts of file names and of tables, so they must be words.
_Word = Annotated[str, msgspec.Meta(pattern=r"\A[\w.:-]{1,200}\Z")]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
_Column = Annotated[list[float], msgspec.Meta(max_length=10_000)]


class _Named(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=1000)]


class _Method(msgspec.Struct):
    name: _Word


class _Identity(msgspec.Struct):
    """Everything that determines the results of a cell: see `Cell.identity`."""

    task: Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,60}\Z")]
    options: dict[_Word, Any]
    data: _Named
    model: _Named
    method: _Method
    optimiser: dict[_Word, Any]
    seed: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]


class _Curve(msgspec.Struct):
    logit: list[float | Literal["inf", "-inf"]]  # JSON has no infinity
    correct: _Column
    exact: _Column
    precision: _Column
    recall: _Column

    def __post_init__(self) -> None:
        if any(
            len(column) != len(self.logit) for column in (self.correct, self.exact, self.precision, self.recall)
        ):
            raise ValueError("a curve must have a value for each of its thresholds")


class _Measured(msgspec.Struct):
    """The measurements of a curve."""

    way: Literal["plain", "tempered"]
    reading: _Word
    part: Annotated[str, msgspec.Meta(pattern=r"\A[\w -]{1,60}\Z")]
    examples: _Count
    summary: dict[str, float]
    rules: dict[_Word, dict[_Word, float]]
    curve: _Curve | None = None
    replicates: dict[str, _Column] = {}
    """Figures in replicates of the examples: see `hedgerow.measure.replicated`."""

    def __post_init__(self) -> None:
        if not self.summary.keys() >= set(_SUMMARY) or (self.way == "plain" and self.curve is None):
            raise ValueError("its metrics are not complete")
        if len({len(column) for column in self.replicates.values()}) > 1:
            raise ValueError("it must have equally many replicates of each figure")


class _Level(msgspec.Struct):
    """The measurements at one level of the tree."""

    level: _Count
    classes: _Count
    examples: _Count
    accuracy: Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Temperature(msgspec.Struct):
    value: float
    before: float
    after: float


class _Record(msgspec.Struct):
    cell: _Identity
    results: list[dict[str, Any]]
    temperature: dict[_Word, _Temperature] = {}
    validation: dict[str, float] | None = None
    """The summary of the validation data, if the cell is one of tuning; empty if training diverged."""

    def __post_init__(self) -> None:
        if (self.validation is not None) != (self.cell.task == "tuning"):
            raise ValueError("cells of tuning, and only these, measure the validation data")
        kinds = [(result, _Level if "level" in result else _Measured) for result in self.results]
        found = [msgspec.convert(result, kind) for result, kind in kinds]
        curves = [result for result in found if isinstance(result, _Measured)]
        plain = {(result.reading, result.part) for result in curves if result.way == "plain"}
        for result in curves:
            untempered = result.way == "tempered" and result.reading not in self.temperature
            if untempered or (result.reading, result.part) not in plain:
                raise ValueError(f"its results of {result.reading} are not complete")


@final
class Records:
    """The records in a folder.

    A record is written completely or not at all, with a checksum and the identity of its cell. A record that is
    damaged, or belongs to another cell, counts as absent.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Return the path of the record of a cell."""
        return self.folder / f"{cell.name}.json"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return the record of a cell, or None if there is no intact one."""
        record = _intact(self.path(cell))
        return record if record is not None and record["cell"] == as_read(cell.identity) else None

    def finished(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Return the records of those cells that have one."""
        found = (self.read(cell) for cell in cells)
        return [record for record in found if record is not None]

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield every intact record in the folder, of any cell."""
        for path in sorted(self.folder.glob("*.json")):
            record = _intact(path)
            if record is not None:
                yield record

    def write(self, cell: Cell, content: dict[str, Any]) -> None:
        """Write the record of a cell."""
        self._put(cell.name, {"format": _FORMAT, "hedgerow": __version__, "cell": cell.identity, **content})

    def _put(self, name: str, record: dict[str, Any]) -> None:
        body = {key: value for key, value in record.items() if key != "checksum"}
        make_folder(self.folder)
        with atomic_write(self.folder / f"{name}.json") as file:
            file.write(canonical({**body, "checksum": _checksum(body)}) + "\n")

    def merge(self, path: str | PathLike[str]) -> int:
        """Merge records made elsewhere: an archive that `pack` wrote, or a JSON file of one record or a list.

        Existing records are kept. Returns how many were new. A damaged archive or record is an error, and then
        nothing is merged.
        """
        incoming = dict(_incoming(Path(path)))
        new = 0
        for name, record in incoming.items():
            if _intact(self.folder / f"{name}.json") is None:
                self._put(name, record)
                new += 1
        return new

    def pack(self, path: str | PathLike[str]) -> int:
        """Write all intact records into one archive for `merge`; return how many there are."""
        names = sorted(file.stem for file in self.folder.glob("*.json") if _intact(file) is not None)
        with atomic_write(path, "wb") as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for name in names:
                archive.write(self.folder / f"{name}.json", f"{name}.json")
        return len(names)


def _incoming(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and records in a file made elsewhere."""
    remedy = "Give a .zip of packed records, or a .json of records. If it is one, copy it again."
    if path.suffix.lower() == ".zip":
        with Archive(path) as archive, reading(path, "records", remedy):
            read = [(name, json.loads(archive.content(name))) for name in archive.names]
    else:
        content = read_json(path, "records", remedy)
        read = [(path.name, each) for each in (content if isinstance(content, list) else [content])]
    for name, record in read:
        _check(record, path, name)
        yield name_of_cell(record["cell"]), record


def _intact(path: Path) -> dict[str, Any] | None:
    """Return the record in a file; None if there is none, or if it is damaged."""
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = read_json(path, "a record")
        _check(record, path, path.name)
    except FileError:
        return None
    return record


def _check(record: Any, path: Path, name: str) -> None:
    """Raise an error unless a record has its checksum and the declared form."""
    try:
        body = {key: value for key, value in record.items() if key != "checksum"}
        intact = record["format"] == _FORMAT and record["checksum"] == _checksum(body)
    except (AttributeError, KeyError, ValueError, RecursionError):  # such as NaN, or half of a surrogate pair
        intact = False
    if not intact:
        raise FileError(f"{path}: {name} is damaged, or is not a record of a study. Copy the file again.")
    with reading(path, f"records: {name}", "It was not written by hedgerow."):
        msgspec.convert(record, _Record)


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(body).encode()).hexdigest()
