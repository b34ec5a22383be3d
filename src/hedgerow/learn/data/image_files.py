"""Image files: opened when needed and cropped to one size, with Pillow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError, ParameterError, check_number
from hedgerow.files import reading
from hedgerow.learn.data.image_cache import ImageCache, Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from numpy.typing import NDArray

EXTENSIONS = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""Extensions of the files that count as images, in upper or lower case."""

_SHORT_SIDE = 256 / 224  # short side of an image before its centre is cropped, as a multiple of the size
_AREA = (0.08, 1.0)
_LOG_RATIO = (np.log(3 / 4), np.log(4 / 3))
_ATTEMPTS = 10
_SPARE = 2  # times the size, at least, to which large photographs are decoded before they are scaled

Box = tuple[float, float, float, float]


@final
@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Paths of images that are read at one size.

    Parameters
    ----------
    root
        Folder that the names are relative to.
    names
        One file name per example, such as "train/robin/0001.jpg"; kept as UTF-8 bytes, as there may be millions.
    size
        Height and width to read, in pixels.
    channels
        3 for colour, 1 for grey.
    cache
        Where images are kept at about this size once they have been read.
    """

    root: Path
    names: NDArray[np.bytes_]
    size: int = 224
    channels: int = 3
    cache: ImageCache | None = None

    def __post_init__(self) -> None:
        if self.channels not in (1, 3):
            raise ParameterError(f"channels={self.channels}: images are read with 1 or 3 channels.")
        check_number("size", self.size, 1)

    @classmethod
    def of(
        cls,
        names: Sequence[str | PathLike[str]],
        root: str | PathLike[str] = "",
        size: int = 224,
        channels: int = 3,
        cache: str | PathLike[str] | None = None,
    ) -> ImageFiles:
        """Build from strings or paths; `cache` is a folder, for any number of lists of images."""
        encoded = np.array([str(name).encode("utf-8", "surrogateescape") for name in names], dtype=np.bytes_)
        files = cls(Path(root), encoded, size, channels)
        if cache is None:
            return files
        kept = ImageCache.of(Path(cache), files.root, encoded, size, round(size * _SHORT_SIDE), channels)
        return replace(files, cache=kept)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, indices: NDArray[np.int64]) -> ImageFiles:
        cache = None if self.cache is None else self.cache[indices]
        return replace(self, names=self.names[indices], cache=cache)

    def path(self, index: int) -> Path:
        """Return the path of one image."""
        return self.root / bytes(self.names[index]).decode("utf-8", "surrogateescape")

    def read(self, index: int, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """Return one image as [size, size, 3], or [size, size] if grey.

        Without `rng`, the short side is scaled and the centre is cropped. With it, a part of random area and
        proportions is cropped, scaled, and mirrored half of the time. Grey images are scaled as a whole, because
        the grey images that models are trained on are held in memory and never cropped.
        """
        path = self.path(index)
        if not path.is_file():
            raise FileError(f"{path} does not exist, but the data set lists it. Unpack the data again.")
        if self.channels == 1 or rng is None:
            decode = partial(self._decoded, path, self.size, _whole if self.channels == 1 else self._centre)
            return (decode() if self.cache is None else self.cache.centres.get(index, path, decode)).pixels
        if self.cache is None:
            cut = self._decoded(path, self.size, partial(_random_box, rng=rng)).pixels
        else:
            wholes = self.cache.wholes
            kept = wholes.get(index, path, partial(self._decoded, path, wholes.shape[0], _whole))
            cut = _cut(kept, _random_box(kept.width, kept.height, rng), self.size)
        return np.ascontiguousarray(cut[:, ::-1]) if rng.random() < 0.5 else cut

    def _decoded(self, path: Path, size: int, choose: Callable[[int, int], Box]) -> Kept:
        """Return a part of an image, chosen by its width and height, as a square of one size."""
        from PIL import Image

        mode = "RGB" if self.channels == 3 else "L"
        with reading(path, "an image", "Unpack it again, or remove it."), Image.open(path) as image:
            width, height = image.size
            box = choose(width, height)
            # A JPEG file can be decoded at an eighth to a half of its size, which takes a fraction of the time.
            enough = _SPARE * size / min(box[2] - box[0], box[3] - box[1])
            image.draft(mode, (math.ceil(width * enough), math.ceil(height * enough)))
            pixels = np.asarray(image.convert(mode))
        return Kept(_cut(Kept(pixels, width, height), box, size), width, height)

    def _centre(self, width: int, height: int) -> Box:
        """Return the part of an image to cut out: left, top, right, bottom."""
        side = min(width, height) * self.size / round(self.size * _SHORT_SIDE)
        left, top = (width - side) / 2, (height - side) / 2
        return left, top, left + side, top + side


def _whole(width: int, height: int) -> Box:
    return 0, 0, width, height


def _cut(image: Kept, box: Box, size: int) -> NDArray[np.uint8]:
    """Scale a part of an image, given in pixels of its original, to a square."""
    from PIL import Image

    across, down = image.pixels.shape[1] / image.width, image.pixels.shape[0] / image.height
    part = box[0] * across, box[1] * down, box[2] * across, box[3] * down
    scaled = Image.fromarray(image.pixels).resize((size, size), Image.Resampling.BILINEAR, part, reducing_gap=3.0)
    return np.array(scaled)


def _random_box(width: int, height: int, rng: np.random.Generator) -> Box:
    """Choose 8 % to 100 % of the area at proportions from 3:4 to 4:3, as is usual for ImageNet."""
    for _ in range(_ATTEMPTS):
        area = rng.uniform(*_AREA) * width * height
        ratio = np.exp(rng.uniform(*_LOG_RATIO))
        w, h = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1))
            return left, top, left + w, top + h
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side, top + side
