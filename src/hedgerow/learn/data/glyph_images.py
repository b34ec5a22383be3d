"""Characters drawn in the type faces that Matplotlib ships, each image slightly rotated, scaled and shifted."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from PIL import Image, ImageFont

    Progress = Callable[[int, int], None]

FACES = tuple(
    f"DejaVu{family}{style}"
    for family, styles in (
        ("Sans", ("", "-Bold", "-Oblique", "-BoldOblique")),
        ("SansMono", ("", "-Bold", "-Oblique", "-BoldOblique")),
        ("Serif", ("", "-Bold", "-Italic", "-BoldItalic")),
    )
    for style in styles
)
"""The twelve faces, by file name."""

_OVERSAMPLING = 2  # glyphs are drawn and moved at this multiple of the size, then averaged
_EM = 0.68  # font size, as a fraction of the image's side
_BASELINE = 0.70  # position of the baseline from the top, as a fraction of the image's side
_INK = 0.90  # largest extent of a glyph, as a fraction of the image's side
_TURN, _SCALE, _SHEAR, _SHIFT = 0.14, 0.10, 0.12, 0.05  # largest changes: radians, two factors, part of the side


def common_characters() -> list[str]:
    """Return the letters, numbers, punctuation marks and symbols that all faces contain and that leave ink.

    Combining marks, spaces and control characters are left out.
    """
    from matplotlib.ft2font import FT2Font

    codes = set.intersection(*(set(FT2Font(str(_face_file(face))).get_charmap()) for face in FACES))
    listed = [chr(code) for code in sorted(codes) if unicodedata.category(chr(code))[0] in "LNPS"]
    fonts = [_font(face, 12) for face in FACES]
    return [character for character in listed if all(font.getmask(character).getbbox() for font in fonts)]


def draw(
    characters: Sequence[str], draws: int, pixels: int, seed: int, progress: Progress | None = None
) -> NDArray[np.uint8]:
    """Draw every character in every face.

    Parameters
    ----------
    characters
        What to draw, one character each.
    draws
        Number of images of each character in each face.
    pixels
        Height and width of an image.
    seed
        Seed of the random changes; those of a face do not depend on the other faces.
    progress
        Called with the number of faces drawn so far and the number of all faces.

    Returns
    -------
    uint8 array [faces, characters, draws, pixels, pixels]
        Light on dark.
    """
    images = np.empty((len(FACES), len(characters), draws, pixels, pixels), dtype=np.uint8)
    for i, face in enumerate(FACES):
        rng = np.random.default_rng([seed, i])
        motions = _motions(rng, len(characters) * draws, pixels * _OVERSAMPLING)
        font = _font(face, round(pixels * _EM * _OVERSAMPLING))
        for j, character in enumerate(characters):
            glyph = _glyph(font, character, pixels * _OVERSAMPLING)
            for k in range(draws):
                images[i, j, k] = _moved(glyph, motions[j * draws + k])
        if progress is not None:
            progress(i + 1, len(FACES))
    return images


def _motions(rng: np.random.Generator, count: int, side: int) -> list[tuple[float, ...]]:
    """Choose affine maps from the moved image back to the glyph, about the centre, in Pillow's form."""
    turn = rng.uniform(-_TURN, _TURN, count)
    scale = np.exp(rng.uniform(-_SCALE, _SCALE, (2, count)))
    shear = rng.uniform(-_SHEAR, _SHEAR, count)
    shift = rng.uniform(-_SHIFT, _SHIFT, (2, count)) * side
    cos, sin = np.cos(turn), np.sin(turn)
    a, b = cos / scale[0], (cos * shear - sin) / scale[1]
    d, e = sin / scale[0], (sin * shear + cos) / scale[1]
    centre = side / 2
    c = centre - a * (centre + shift[0]) - b * (centre + shift[1])
    f = centre - d * (centre + shift[0]) - e * (centre + shift[1])
    return [tuple(row) for row in np.stack([a, b, c, d, e, f], axis=1).tolist()]


def _glyph(font: ImageFont.FreeTypeFont, character: str, side: int) -> Image.Image:
    """Draw a character on its baseline, centred; shrink and lift it only as far as needed to fit."""
    from PIL import Image, ImageDraw

    left, top, right, bottom = font.getbbox(character, anchor="ls")
    fit = _INK * side / max(right - left, bottom - top)
    if fit < 1:
        font = font.font_variant(size=int(font.size * fit))
        left, top, right, bottom = font.getbbox(character, anchor="ls")
    margin = (1 - _INK) / 2 * side
    baseline = min(max(_BASELINE * side, margin - top), side - margin - bottom)
    image = Image.new("L", (side, side))
    ImageDraw.Draw(image).text((side / 2 - (left + right) / 2, baseline), character, 255, font, anchor="ls")
    return image


def _moved(glyph: Image.Image, motion: tuple[float, ...]) -> NDArray[np.uint8]:
    from PIL import Image

    moved = glyph.transform(glyph.size, Image.Transform.AFFINE, motion, Image.Resampling.BILINEAR)
    small = moved.reduce(_OVERSAMPLING)
    return np.frombuffer(small.tobytes(), dtype=np.uint8).reshape(small.height, small.width)


def _font(face: str, size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.truetype(str(_face_file(face)), size, layout_engine=ImageFont.Layout.BASIC)


def _face_file(face: str) -> Path:
    import matplotlib as mpl

    return Path(mpl.get_data_path()) / "fonts" / "ttf" / f"{face}.ttf"
