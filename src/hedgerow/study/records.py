"""Records of finished cells, one small JSON file each."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, final
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from hedgerow import __version__
from hedgerow.errors import FileError
from hedgerow.files import Archive, Count, Document, atomic_write, make_folder, read_json, reading, write_json
from hedgerow.study.cells import Cell, as_read, name_of_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike


_SUMMARY = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1", "leaf_exact", "leaf_ECE")

# The form of a record. Names become parts of file names and of tables, so they must be words.
_Word = Annotated[str, msgspec.Meta(pattern=r"\A[\w.:-]{1,200}\Z")]
_Column = Annotated[list[float], msgspec.Meta(max_length=10_000)]


class _Named(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=1000)]


class _Method(msgspec.Struct):
    name: _Word


class _Identity(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that determines the results of a cell: see `Cell.identity`."""

    task: Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,60}\Z")]
    options: dict[_Word, Any]
    data: _Named
    model: _Named
    method: _Method
    optimiser: dict[_Word, Any]
    seed: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]


class _Curve(msgspec.Struct):  # a column for each metric, also those of users
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


class _Measured(msgspec.Struct, forbid_unknown_fields=True):
    """The measurements of a curve."""

    way: Literal["plain", "tempered"]
    reading: _Word
    part: Annotated[str, msgspec.Meta(pattern=r"\A[\w -]{1,60}\Z")]
    examples: Count
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


class _Level(msgspec.Struct, forbid_unknown_fields=True):
    """The measurements at one level of the tree."""

    level: Count
    classes: Count
    examples: Count
    accuracy: Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Temperature(msgspec.Struct, forbid_unknown_fields=True):
    value: float
    before: float
    after: float


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    hedgerow: str
    cell: _Identity
    results: list[dict[str, Any]]
    temperature: dict[_Word, _Temperature] = {}
    seconds: dict[_Word, float] = {}
    device: str = ""
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


RECORD = Document("hedgerow record", 2, _Record, "a record of a study", "Copy the file again.")


@final
class Records:
    """The records in a folder.

    A record is written completely or not at all, with a digest and the identity of its cell. A record that is
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
        found = (_intact(path) for path in sorted(self.folder.glob("*.json")))
        return (record for record in found if record is not None)

    def write(self, cell: Cell, content: Mapping[str, Any]) -> None:
        """Write the record of a cell; an error if a number in it is not finite."""
        whole = {"hedgerow": __version__, "cell": cell.identity, **content}
        self._put(cell.name, RECORD.wrapped(as_read(whole)))

    def _put(self, name: str, record: dict[str, Any]) -> None:
        make_folder(self.folder)
        write_json(self.folder / f"{name}.json", record, indent=None)

    def merge(self, path: str | PathLike[str]) -> int:
        """Merge records made elsewhere: an archive that `pack` wrote, or a JSON file of one record or a list.

        Existing records are kept. Returns how many were new. A damaged archive or record is an error, and then
        nothing is merged.
        """
        incoming = dict(_incoming(Path(path)))
        new = {name: each for name, each in incoming.items() if _intact(self.folder / f"{name}.json") is None}
        for name, record in new.items():
            self._put(name, record)
        return len(new)

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
            read = [(name, msgspec.json.decode(archive.content(name))) for name in archive.names]
    else:
        content = read_json(path, "records", remedy)
        read = [(path.name, each) for each in (content if isinstance(content, list) else [content])]
    for name, record in read:
        with RECORD.unwrapped(record, f"{path}: {name}"):
            yield name_of_cell(record["cell"]), record


def _intact(path: Path) -> dict[str, Any] | None:
    """Return the record in a file; None if there is none, or if it is damaged."""
    with suppress(FileError):
        record: dict[str, Any] = read_json(path, RECORD.what)
        with RECORD.unwrapped(record, path):
            return record
    return None
