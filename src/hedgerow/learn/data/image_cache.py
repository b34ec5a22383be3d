"""Images at training size in two files, so that large photographs are decoded only once.

Each file has a record of fixed size for every image of a list, and fills as the images are first read, by any
number of processes. A record begins with the size and the time of its source and ends with a checksum: one that is
missing, half written, damaged or out of date is made again.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import struct
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

_HEAD = struct.Struct("<QqII")  # size and time of the source; width and height of the image
_CHECKSUM = struct.Struct("<I")


class Kept(NamedTuple):
    """The pixels of an image, and its width and height before it was scaled."""

    pixels: NDArray[np.uint8]
    width: int
    height: int


@final
@dataclass(frozen=True, eq=False)
class Records:
    """The images of a list, or of a part of it, at one size.

    Parameters
    ----------
    path
        The file.
    shape
        Shape of an image: [size, size] or [size, size, 3].
    place
        The place in the file of each image.
    """

    path: Path
    shape: tuple[int, ...]
    place: NDArray[np.int64]

    @property
    def record_bytes(self) -> int:
        """Size of a record."""
        return _HEAD.size + math.prod(self.shape) + _CHECKSUM.size

    def get(self, index: int, source: Path, make: Callable[[], Kept]) -> Kept:
        """Return an image: from the file or, if it is not there yet, made from its source."""
        start, known = int(self.place[index]) * self.record_bytes, source.stat()
        now = known.st_size, known.st_mtime_ns
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(start)
                record = file.read(self.record_bytes)
        except OSError as error:
            raise _unusable(self.path, "read", error) from error
        content, checksum = record[: -_CHECKSUM.size], record[-_CHECKSUM.size :]
        if len(record) == self.record_bytes and _CHECKSUM.pack(zlib.crc32(content)) == checksum:
            *then, width, height = _HEAD.unpack_from(content)
            if tuple(then) == now:
                return Kept(np.frombuffer(content, np.uint8, offset=_HEAD.size).reshape(self.shape), width, height)
        made = make()
        content = _HEAD.pack(*now, made.width, made.height) + made.pixels.tobytes()
        try:
            with self.path.open("r+b", buffering=0) as file:
                file.seek(start)
                file.write(content + _CHECKSUM.pack(zlib.crc32(content)))
        except OSError as error:
            raise _unusable(self.path, "written", error) from error
        return made

    def missing_bytes(self) -> int:
        """Return how much the file will still grow, at most."""
        stored = self.path.stat()
        # A file with holes takes only the space of what was written.
        filled = stored.st_blocks * 512 if hasattr(stored, "st_blocks") else stored.st_size
        return max(0, len(self.place) * self.record_bytes - filled)


@final
@dataclass(frozen=True, eq=False)
class ImageCache:
    """The images of a list in the two forms in which they are read."""

    centres: Records
    """What is read without random changes, to the last bit."""
    wholes: Records
    """Whole images, scaled to squares, of which random parts are cropped."""

    @classmethod
    def of(
        cls, folder: Path, root: Path, names: NDArray[np.bytes_], size: int, whole_size: int, channels: int
    ) -> Self:
        """Return the cache of a list of files, in a folder that may have those of other lists and sizes.

        Parameters
        ----------
        folder, root, names
            The folder of caches; the files, and the folder that their names are relative to.
        size, whole_size
            Height and width of the centres and of the whole images.
        channels
            3 for colour, 1 for grey.
        """
        listed = hashlib.sha256(f"{root.absolute()}\n{names.dtype}\n".encode("utf-8", "surrogateescape"))
        listed.update(names.tobytes())
        make_folder(folder)
        records = []
        for what, side in (("centres", size), ("wholes", whole_size)):
            path = folder / f"{listed.hexdigest()[:24]}-{what}-{side}x{side}x{channels}.images"
            try:
                path.open("ab").close()
            except OSError as error:
                raise _unusable(path, "written", error) from error
            shape = (side, side, 3) if channels == 3 else (side, side)
            records.append(Records(path, shape, np.arange(len(names))))
        return cls(*records)

    def __getitem__(self, indices: NDArray[np.int64]) -> ImageCache:
        parts = (replace(part, place=part.place[indices]) for part in (self.centres, self.wholes))
        return ImageCache(*parts)


def check_space(records: Iterable[Records]) -> None:
    """Refuse to start if images will not fit on the disk."""
    parts = list(records)
    needed = sum(part.missing_bytes() for part in parts)
    for folder in {part.path.parent for part in parts}:
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise FileError(
                f"{folder} has {free / 1e9:,.1f} GB free, but the images need {needed / 1e9:,.1f} GB more. Free "
                f"some space, or leave out data.cache."
            )


def _unusable(path: Path, done: str, error: OSError) -> FileError:
    return FileError(
        f"{path} cannot be {done}: {error.strerror or error}. Check the disk, or leave out data.cache."
    )
