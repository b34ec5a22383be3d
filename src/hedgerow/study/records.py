"""Records: what is kept of a finished cell, one small JSON file each."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from hedgerow import __version__
from hedgerow.errors import FileError
from hedgerow.files import atomic_write, make_folder, require_file
from hedgerow.study.cells import as_read, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from hedgerow.study.cells import Cell

_FORMAT = 1


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
        try:
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if _is_whole(record) and record["cell"] == as_read(cell.identity) else None

    def finished(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Return the records of those cells that have one."""
        found = (self.read(cell) for cell in cells)
        return [record for record in found if record is not None]

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield every intact record in the folder, of any cell."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if _is_whole(record):
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
            if not self._has(name):
                self._put(name, record)
                new += 1
        return new

    def _has(self, name: str) -> bool:
        try:
            return _is_whole(json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return False

    def pack(self, path: str | PathLike[str]) -> int:
        """Write all intact records into one archive for `merge`; return how many there are."""
        names = sorted(file.stem for file in self.folder.glob("*.json") if self._has(file.stem))
        with atomic_write(path, "wb") as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for name in names:
                archive.write(self.folder / f"{name}.json", f"{name}.json")
        return len(names)


def _incoming(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and records in a file made elsewhere."""
    require_file(path)
    try:
        if path.suffix.lower() == ".zip":
            with ZipFile(path) as archive:
                texts = [(name, archive.read(name)) for name in archive.namelist()]
            read = [(name, json.loads(text)) for name, text in texts]
        else:
            content = json.loads(path.read_text(encoding="utf-8"))
            read = [(path.name, each) for each in (content if isinstance(content, list) else [content])]
    except (OSError, ValueError, BadZipFile, zlib.error) as error:
        raise FileError(
            f"{path} holds no records, or is damaged. Give a .zip of packed records, or a .json of records. If it "
            f"is one, copy it again."
        ) from error
    for name, record in read:
        if not _is_whole(record):
            raise FileError(f"{path}: {name} is damaged, or is not a record of a study. Copy the file again.")
        identity = record["cell"]
        digest = hashlib.sha256(canonical(identity).encode()).hexdigest()[:12]
        method = identity["method"]["name"].replace(":", ".")
        yield f"{identity['task']}-{method}-seed{identity['seed']}-{digest}", record


def _is_whole(record: Any) -> bool:
    if not isinstance(record, dict) or record.get("format") != _FORMAT or not isinstance(record.get("cell"), dict):
        return False
    body = {key: value for key, value in record.items() if key != "checksum"}
    try:
        return bool(record.get("checksum") == _checksum(body))
    except ValueError:  # such as NaN
        return False


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(body).encode()).hexdigest()
