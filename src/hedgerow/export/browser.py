"""A point as a folder that a browser can use: the point, `hedgerow.js`, and a page to try them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.export.portable import check_portable
from hedgerow.files import atomic_write, make_folder

if TYPE_CHECKING:
    from os import PathLike

    from hedgerow.choose import OperatingPoint


def write_app(point: OperatingPoint, folder: str | PathLike[str]) -> list[Path]:
    """Write `point.json`, `hedgerow.js` and `index.html` into a folder, and return their paths.

    The page holds both other files, so that it works without a server; programs import `hedgerow.js` and read
    `point.json`.
    """
    check_portable(point)
    place = Path(folder)
    make_folder(place)
    page = _packaged("page.html")
    shown = json.dumps(point.to_dict() | {"promise": point.promise}, ensure_ascii=False).replace("<", "\\u003c")
    first, _, rest = page.partition("POINT")
    before, _, after = rest.partition("SCRIPT\n")
    texts = {"hedgerow.js": script(), "index.html": f"{first}{shown}{before}{script()}{after}"}
    point.save(place / "point.json")
    for name, text in texts.items():
        with atomic_write(place / name) as file:
            file.write(text)
    return [place / name for name in ("point.json", *texts)]


def script() -> str:
    """Return the text of `hedgerow.js`."""
    return _packaged("hedgerow.js")


def _packaged(name: str) -> str:
    return files("hedgerow.export").joinpath(name).read_text(encoding="utf-8")
