"""Glyphs: the built-in data set, about 2,300 characters in twelve type faces, three of which are for testing."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.learn.data import DataSplits, Examples, Split
from hedgerow.learn.data.cache import cached
from hedgerow.learn.data.glyph_images import FACES, common_characters, draw
from hedgerow.learn.data.glyph_tree import character_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy

TEST_FACES = ("DejaVuSans-Bold", "DejaVuSansMono-Oblique", "DejaVuSerif")
"""One of each family, each in a different style."""
VAL_FACES = ("DejaVuSerif-BoldItalic",)
"""Unseen in training, like the test faces, so that what is tuned on it carries over."""

# Basic Latin to Latin Extended-A, Greek and Cyrillic, arrows: the first code point, and one past the last.
_QUICK = ((0x21, 0x180), (0x370, 0x460), (0x2190, 0x2200))
_VERSION = 1  # of the drawing; cache files of other versions are not read


def load_glyphs(
    *,
    size: Literal["full", "quick"] = "full",
    draws: int = 2,
    pixels: int = 28,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> DataSplits:
    """Draw the glyphs, or read them from the cache (see `hedgerow.learn.data.cache.cache_folder`).

    Leaves are characters with their Unicode names; the tree is that of `hedgerow.learn.data.glyph_tree`. Training
    uses eight type faces, validation a ninth, and the test three more, one of each family.

    Parameters
    ----------
    size
        "full": every character that all twelve faces contain; "quick": about 630 of them (Latin, Greek and
        Cyrillic letters, digits, punctuation, arrows).
    draws
        Images of each character in each face.
    pixels
        Height and width of an image.
    seed
        Seed of the small random rotations, scales, shears and shifts.
    progress
        Called with the number of faces drawn so far and the number of all faces; not called if they are cached.
    """
    if size not in ("full", "quick"):
        raise ParameterError(f"size={size!r}: the size of glyphs must be 'full' or 'quick'.")
    for what, value, least in (("draws", draws, 1), ("pixels", pixels, 8), ("seed", seed, 0)):
        if value < least:
            raise ParameterError(f"{what}={value}: for glyphs it must be at least {least}.")

    def make() -> dict[str, NDArray[np.uint8] | NDArray[np.int64]]:
        characters = _chosen(size)
        codes = np.array([ord(character) for character in characters])
        return {"codes": codes, "images": draw(characters, draws, pixels, seed, progress)}

    arrays = cached(f"glyphs-{size}-{draws}x{pixels}-seed{seed}-{_versions()}.npz", make)
    images = arrays["images"]
    characters = [chr(code) for code in arrays["codes"].tolist()]
    hierarchy = character_tree(characters)
    train = tuple(face for face in FACES if face not in (*TEST_FACES, *VAL_FACES))
    parts: dict[Split, tuple[str, ...]] = {"train": train, "val": VAL_FACES, "test": TEST_FACES}
    splits = {split: _examples(hierarchy, characters, images, faces) for split, faces in parts.items()}
    return DataSplits("glyphs" if size == "full" else f"glyphs-{size}", hierarchy, **splits)


def _chosen(size: str) -> list[str]:
    characters = common_characters()
    if size == "full":
        return characters
    return [c for c in characters if any(first <= ord(c) < end for first, end in _QUICK)]


def _versions() -> str:
    import matplotlib as mpl
    import PIL

    return f"v{_VERSION}-matplotlib{mpl.__version__}-pillow{PIL.__version__}-unicode{unicodedata.unidata_version}"


def _examples(
    hierarchy: Hierarchy, characters: list[str], images: NDArray[np.uint8], faces: tuple[str, ...]
) -> Examples:
    chosen = images[[FACES.index(face) for face in faces]]
    nodes = hierarchy.indices([unicodedata.name(character) for character in characters])
    shape = chosen.shape[:3]
    codes = [f"U+{ord(character):04X}" for character in characters]
    ids = [f"{face}/{code}/{k}" for face in faces for code in codes for k in range(shape[2])]
    labels = np.broadcast_to(nodes[None, :, None], shape).ravel()
    return Examples(chosen.reshape(-1, *chosen.shape[3:]), labels, ids)
