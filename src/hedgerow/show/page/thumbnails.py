"""Thumbnails of examples, embedded in the page.

A file is never copied into the page: Pillow decodes it, scales it down and encodes it again, so that only pixels
remain. Only files inside a folder that the user named are opened.
"""

from __future__ import annotations

import base64
import io
import os
import warnings
from pathlib import Path

from PIL import Image, ImageOps

from hedgerow.errors import FileError

_SIZE = 176  # pixels: twice the width on the page, for fine screens
_SMALL = 64  # pixels: such pictures stay lossless
_MOST_PIXELS = 1 << 26
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of images with links resolved; raise an error if it is not a folder."""
    place = Path(os.path.realpath(folder))
    if not place.is_dir():
        raise FileError(f"{os.fspath(folder)} is not a folder. Give the folder that holds the images.")
    return place


def thumbnail(name: str, folder: Path) -> str | None:
    """Return a picture as a data URL; None if it is missing, outside the folder, damaged or too large.

    Parameters
    ----------
    name
        The path of the image, absolute or inside the folder.
    folder
        From `check_folder`.
    """
    try:
        path = Path(os.path.realpath(folder / name))
        if not path.is_relative_to(folder) or not path.is_file():
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=_FORMATS) as image:
                return encoded(image)
    # Pillow's decoders raise many kinds of exceptions on damaged files, SyntaxError and struct.error among them.
    except Exception:
        return None


def encoded(image: Image.Image) -> str | None:
    """Return the thumbnail of a picture as a data URL; None if the picture is too large to decode."""
    if image.width * image.height > _MOST_PIXELS:
        return None
    small = max(image.size) <= _SMALL
    if not small:
        image.draft("RGB", (_SIZE, _SIZE))  # a large JPEG is decoded at a fraction of its size
    drawn = ImageOps.exif_transpose(image).convert("RGB")
    drawn.thumbnail((_SIZE, _SIZE))
    drawn.info.clear()
    out = io.BytesIO()
    if small:
        drawn.save(out, "PNG", optimize=True)
    else:
        drawn.save(out, "JPEG", quality=80)
    kind = "png" if small else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(out.getvalue()).decode('ascii')}"
