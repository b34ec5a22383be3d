"""Records: what is kept of a finished cell, one small JSON file each."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, final
from zipfile import ZIP_DEFLATED, ZipFile

from hedgerow import __version__
from hedgerow.errors import FileError
from hedgerow.files import Archive, atomic_write, make_folder, read_json, reading, schema
from hedgerow.study.cells import as_read, canonical, name_of_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from hedgerow.study.cells import Cell

_FORMAT = 1
_LARGEST_SEED = 2**32 - 1

# What stands in a record. Names become parts of file names and of tables, so they are words.
_NAME = schema.text(r"[\w.:-]{1,200}")
_COUNT = schema.whole(0, 1 << 40)
_CELL = schema.fields(
    {
        "task": schema.text("[a-z_]{1,60}"),
        "options": schema.mapping(schema.anything, keys=_NAME),
        "data": schema.fields({"name": schema.text(longest=1000)}),
        "model": schema.fields({"name": schema.text(longest=200)}),
        "method": schema.fields({"name": _NAME}),
        "optimiser": schema.mapping(schema.anything, keys=_NAME),
        "seed": schema.whole(0, _LARGEST_SEED),
    }
)
_SUMMARY = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1", "leaf_exact", "leaf_ECE")
_CURVE = ("correct", "exact", "precision", "recall")
_MEASURED = schema.fields(
    {
        "way": schema.one_of("plain", "tempered"),
        "reading": _NAME,
        "part": schema.text(r"[\w -]{1,60}"),
        "examples": _COUNT,
        "summary": schema.fields(dict.fromkeys(_SUMMARY, schema.number())),
        "rules": schema.mapping(schema.mapping(schema.number(), keys=_NAME), keys=_NAME),
    },
    optional={
        "curve": schema.fields(
            dict.fromkeys(_CURVE, schema.listing(schema.number(), longest=10_000)),
            optional={
                "logit": schema.listing(lambda value, where: schema.number()(float(value), where)),
                "tau": schema.listing(schema.number(0, 1)),
            },
        )
    },
)
_LEVEL = schema.fields({"level": _COUNT, "classes": _COUNT, "examples": _COUNT, "accuracy": schema.number(0, 1)})
_TEMPERATURE = schema.fields(dict.fromkeys(("value", "before", "after"), schema.number()))
_RECORD = schema.fields(
    {"cell": _CELL, "results": schema.listing(lambda value, where: _result(value, where))},
    optional={"temperature": schema.mapping(_TEMPERATURE, keys=_NAME)},
)


def _result(value: Any, where: str) -> None:
    """Require the measurements of a curve, or those of one level of the tree."""
    if isinstance(value, dict) and "level" in value:
        return _LEVEL(value, where)
    _MEASURED(value, where)
    if value["way"] == "plain" or "curve" in value:
        curve = value.get("curve", {})
        thresholds = curve.get("logit", curve.get("tau", []))
        if not thresholds or any(len(curve[name]) != len(thresholds) for name in _CURVE):
            raise ValueError(f"{where}.curve must have a value for each of its thresholds")
    return None


def _check(record: Any) -> None:
    """Raise a ValueError if something is not a record."""
    _RECORD(record, "the record")
    results = [result for result in record["results"] if "way" in result]
    plain = {(result["reading"], result["part"]) for result in results if result["way"] == "plain"}
    for result in results:
        known = result["reading"] in record.get("temperature", {})
        if (result["reading"], result["part"]) not in plain or (result["way"] == "tempered" and not known):
            raise ValueError(f"its results of {result['reading']} are not complete")


@final
class Records:
    """The records in a folder.

    A record is written completely or not at all, and holds a checksum and the identity of its cell. A record that
    is damaged, or belongs to another cell, counts as absent.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Return where the record of a cell is kept."""
        return self.folder / f"{cell.name}.json"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return the record of a cell, or None if there is no intact one."""
        record = _whole(self.path(cell))
        return record if record is not None and record["cell"] == as_read(cell.identity) else None

    def finished(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Return the records of those cells that have one."""
        found = (self.read(cell) for cell in cells)
        return [record for record in found if record is not None]

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield every intact record in the folder, of any cell."""
        for path in sorted(self.folder.glob("*.json")):
            record = _whole(path)
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
            if _whole(self.folder / f"{name}.json") is None:
                self._put(name, record)
                new += 1
        return new

    def pack(self, path: str | PathLike[str]) -> int:
        """Write all intact records into one archive for `merge`; return how many there are."""
        names = sorted(file.stem for file in self.folder.glob("*.json") if _whole(file) is not None)
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
        if not _is_intact(record):
            raise FileError(f"{path}: {name} is damaged, or is not a record of a study. Copy the file again.")
        with reading(path, f"records: {name}", "It was not written by hedgerow."):
            _check(record)
        yield name_of_cell(record["cell"]), record


def _whole(path: Path) -> dict[str, Any] | None:
    """Return the record in a file; None if there is none, or if it is damaged."""
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = read_json(path, "a record")
        with reading(path, "a record"):
            _check(record)
    except FileError:
        return None
    return record if _is_intact(record) else None


def _is_intact(record: Any) -> bool:
    if not isinstance(record, dict) or record.get("format") != _FORMAT or not isinstance(record.get("cell"), dict):
        return False
    body = {key: value for key, value in record.items() if key != "checksum"}
    try:
        return bool(record.get("checksum") == _checksum(body))
    except (ValueError, RecursionError):  # such as NaN, or half of a surrogate pair
        return False


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(body).encode()).hexdigest()
