"""The one saved form of builders and evaluations: an `.npz` archive, in which nothing is pickled.

Its member `about` is JSON, with the tree and the settings; texts of the examples are JSON lists; all others are
arrays of numbers. Files are not trusted: everything is checked before any of it is used.

An evaluation is a folder: `examples.npz` is the evaluation itself; `evaluation.json` repeats its figures for
people, with the SHA-256 of the former. Both are written to a temporary folder and then moved into place, so that a
process that is killed leaves the old evaluation or the new one, at worst without `evaluation.json`.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

import msgspec
import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.files import (
    Archive,
    clear_leftovers,
    digest,
    read_arrays,
    read_json,
    temporary,
    try_folder,
    write_arrays,
    write_json,
)
from hedgerow.likelihood import BOTTOM, Scale
from hedgerow.measure.events import Events
from hedgerow.score_files import KEPT, Examples, as_names
from hedgerow.tree import Hierarchy, Names, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Arrays: TypeAlias = "dict[str, NDArray[Any]]"

MEMBERS = JSON, EXAMPLES = "evaluation.json", "examples.npz"
"""The files of an evaluation."""
AGAIN = "Evaluate the scores again."

_FORMAT = "hedgerow evaluation"
_VERSION = 2
_EVENTS = ("label", "count", "node", "score")


# Archives ------------------------------------------------------------------------------------------------------


class About(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The description in every file; each kind of file adds fields."""

    format: str
    version: int
    kind: str
    tree: dict[str, Any]
    settings: dict[str, str]
    scale: Scale


AnyAbout = TypeVar("AnyAbout", bound=About)


def packed(hierarchy: Hierarchy, settings: Settings, events: Events, more: Arrays, **about: Any) -> Arrays:
    """Return the arrays of a file: what every file contains, more arrays, and more for the description."""
    common = {"format": _FORMAT, "version": _VERSION, "tree": hierarchy.to_dict(), "settings": settings.to_dict()}
    arrays = {"about": packed_json(msgspec.to_builtins(common | about))}
    if not isinstance(settings.information, str):
        arrays["information"] = np.asarray(settings.information)
    return arrays | {name: getattr(events, name) for name in _EVENTS} | more


def packed_examples(examples: Examples) -> Arrays:
    """Return the arrays that `Contents.examples` takes."""
    columns = examples.columns.items()
    return {name: packed_json(each.tolist()) if each.dtype == object else each for name, each in columns}


def packed_json(content: Any) -> NDArray[np.uint8]:
    """Return content as the bytes of its JSON."""
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)


def unpacked(path: str | os.PathLike[str], kind: str, form: type[AnyAbout]) -> tuple[AnyAbout, Contents]:
    """Read a file of this kind; return its description, which is checked, and the rest."""
    arrays = read_arrays(path)
    about = _about(arrays.pop("about", None), kind, form)
    hierarchy = Hierarchy.from_dict(about.tree)
    given: dict[str, Any] = about.settings
    if given.get("information") == "custom":
        given |= {"information": hierarchy.information(arrays.pop("information", np.empty(0)))}
    return about, Contents(hierarchy, Settings.from_dict(given), about.scale, arrays)


def _about(data: NDArray[Any] | None, kind: str, form: type[AnyAbout]) -> AnyAbout:
    """Decode the description, and check everything in it."""
    if data is None or data.dtype != np.uint8:
        raise ValueError("hedgerow did not write it")
    text = data.tobytes()
    try:
        mark = json.loads(text)
    except (ValueError, RecursionError):
        mark = None
    if not isinstance(mark, dict) or mark.get("format") != _FORMAT:
        raise ValueError("hedgerow did not write it")
    if mark.get("version") != _VERSION:
        raise ValueError(f"its version is {mark.get('version')!r:.20}, and this hedgerow reads version {_VERSION}")
    if mark.get("kind") != kind:
        raise ValueError(f"it holds {mark.get('kind')!r:.20}, not {kind!r}")
    return msgspec.convert(mark, form)


@final
@dataclass(frozen=True, eq=False)
class Contents:
    """The content of a file; each array is checked when it is taken."""

    hierarchy: Hierarchy
    settings: Settings
    scale: Scale
    arrays: Arrays
    """The arrays that have not been taken yet."""

    def array(self, name: str, dtype: type[Any], count: int | None, low: float, high: float) -> NDArray[Any]:
        """Take an array, and check its type, its length and the range of its numbers."""
        array: NDArray[Any] | None = self.arrays.pop(name, None)
        if array is None:
            raise ValueError(f"{name!r} is missing")
        if array.dtype != dtype or array.ndim != 1 or (count is not None and len(array) != count):
            raise ValueError(f"{name!r} is {array.dtype} of shape {array.shape}")
        if not np.all((array >= low) & (array <= high)):  # also for NaN
            raise ValueError(f"{name!r} has values outside {low} to {high}")
        return array

    def events(self) -> Events:
        """Take the labels and events of the examples."""
        nodes, bottom = len(self.hierarchy), BOTTOM[self.scale]
        label = self.array("label", np.int32, None, 0, nodes - 1)
        count = self.array("count", np.int32, len(label), 0, nodes)
        total = int(count.sum(dtype=np.int64))
        node = self.array("node", np.int32, total, 1, nodes - 1)
        score = self.array("score", np.float64, total, bottom, 1.0 if self.scale == "probability" else np.inf)
        starts = np.zeros(total, dtype=bool)
        starts[(np.cumsum(count, dtype=np.int64) - count)[count > 0]] = True
        if np.any(score == bottom) or np.any((score[1:] >= score[:-1]) & ~starts[1:]):
            raise ValueError("the scores of an example do not fall")
        return Events(label, count, node, score)

    def examples(self, count: int, rules: Sequence[str]) -> Examples:
        """Take what is known of the examples, and the answers of the rules."""
        if not {"leaf", "majority"} <= set(rules):
            raise ValueError("the answers of a rule are missing")
        last = len(self.hierarchy) - 1
        columns: dict[str, Any] = {key: self._texts(key, count) for key in KEPT if key in self.arrays}
        for rule in rules:
            columns[f"prediction:{rule}"] = self.array(f"prediction:{rule}", np.int32, count, 0, last)
            columns[f"confidence:{rule}"] = self.array(f"confidence:{rule}", np.float64, count, 0.0, 1.0)
        return Examples.holding(count, columns)

    def _texts(self, key: str, examples: int) -> Names:
        """Take a text for each example."""
        listed = msgspec.json.decode(self.arrays.pop(key).astype(np.uint8, copy=False).tobytes(), type=list[str])
        if len(listed) != examples:
            raise ValueError(f"{key!r} does not have one text for each example")
        return as_names(listed, examples)

    def require_all_used(self) -> None:
        """Refuse a file with unknown arrays."""
        if self.arrays:
            raise ValueError(f"it contains {some(sorted(self.arrays))}, which does not belong there")


# Folders -------------------------------------------------------------------------------------------------------


def write_folder(folder: str | os.PathLike[str], arrays: Arrays, figures: dict[str, Any]) -> None:
    """Write the arrays and the figures of an evaluation into a folder, in place of an older one."""
    try_evaluation_folder(folder)
    place = Path(folder)
    clear_leftovers(place)
    staging = temporary(place / "evaluation")
    try:
        staging.mkdir(parents=True)
        write_arrays(staging / EXAMPLES, arrays)
        files = {EXAMPLES: digest(staging / EXAMPLES)}
        write_json(staging / JSON, {"format": _FORMAT, "version": _VERSION, **figures, "files": files})
        (place / JSON).unlink(missing_ok=True)
        for name in (EXAMPLES, JSON):
            (staging / name).replace(place / name)
    except FileError as error:
        raise FileError(str(error).replace(str(staging), str(place))) from error
    except OSError as error:
        raise FileError(f"{place} cannot be written: {error.strerror or error}. Check the disk.") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def try_evaluation_folder(folder: str | os.PathLike[str]) -> None:
    """Raise an error if a folder cannot be written, or contains other files with the names of an evaluation."""
    try_folder(folder)
    place = Path(folder)
    foreign = [place / name for name in MEMBERS if (place / name).exists() and not _is_ours(place / name)]
    if foreign:
        raise FileError(
            f"{foreign[0]} would be overwritten, but is not part of an evaluation. Give the evaluation its own "
            f"folder, or delete the file."
        )


def _is_ours(path: Path) -> bool:
    try:
        if path.name == JSON:
            content = read_json(path, "an evaluation")
            return isinstance(content, dict) and content.get("format") == _FORMAT
        with Archive(path) as archive:
            return "about" in archive.arrays
    except FileError:
        return False


def examples_in(folder: str | os.PathLike[str]) -> Path:
    """Return the path of the examples in a folder, which must be those of its figures; there may be none."""
    path = Path(folder, EXAMPLES)
    if not path.is_file():
        missing = f"contains no {EXAMPLES}" if Path(folder).exists() else "does not exist"
        shown = os.fspath(folder)
        if Path(folder).is_file():
            raise FileError(
                f"{shown} is a file, not an evaluation: give a folder that hedgerow evaluate -o wrote."
            )
        raise FileError(f"{shown} {missing}. Create it with: hedgerow evaluate SCORES --tree TREE -o {shown}")
    figures = Path(folder, JSON)
    if figures.is_file():
        content = read_json(figures, "an evaluation", AGAIN)
        if not isinstance(content, dict) or content.get("files") != {EXAMPLES: digest(path)}:
            raise FileError(
                f"{path} and {JSON} do not belong together: one of them was replaced or is damaged. {AGAIN}"
            )
    return path
