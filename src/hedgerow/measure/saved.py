"""The one saved form of builders and evaluations: a document with arrays (see `hedgerow.files.Document`).

Both hold the tree, the settings, the labels and the events; each kind of document adds fields and arrays.

An evaluation is a folder: `examples.npz` is the evaluation itself; `evaluation.json` repeats its figures for
people, with the SHA-256 of the former. Both are written to a temporary folder and then moved into place, so that a
process that is killed leaves the old evaluation or the new one, at worst without `evaluation.json`.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import (
    Archive,
    Document,
    clear_leftovers,
    digest,
    json_array,
    read_json,
    temporary,
    try_folder,
)
from hedgerow.likelihood import BOTTOM, Scale
from hedgerow.measure.events import Events
from hedgerow.score_files import KEPT, Examples
from hedgerow.tree import Hierarchy, SavedSettings, SavedTree, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow import files

Arrays: TypeAlias = "dict[str, NDArray[Any]]"

MEMBERS = JSON, EXAMPLES = "evaluation.json", "examples.npz"
"""The files of an evaluation."""
AGAIN = "Evaluate the scores again."

_EVENTS = ("label", "count", "node", "score")


# Archives ------------------------------------------------------------------------------------------------------


class Measured(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields that both have."""

    tree: SavedTree
    settings: SavedSettings
    scale: Scale


class Contents(NamedTuple):
    """What the fields and arrays that both have say, checked."""

    hierarchy: Hierarchy
    settings: Settings
    events: Events


def packed(
    hierarchy: Hierarchy, settings: Settings, scale: Scale, events: Events
) -> tuple[dict[str, Any], Arrays]:
    """Return the fields and arrays that both have."""
    fields = {"tree": hierarchy.to_dict(), "settings": settings.to_dict(), "scale": scale}
    custom = {} if isinstance(settings.information, str) else {"information": np.asarray(settings.information)}
    return fields, custom | {name: getattr(events, name) for name in _EVENTS}


def unpacked(about: Measured, arrays: files.Arrays) -> Contents:
    """Take what `packed` returned."""
    hierarchy = Hierarchy.from_dict(about.tree)
    nodes, custom = len(hierarchy), None
    if about.settings.information == "custom":
        custom = hierarchy.information(arrays.take("information", np.float64, nodes))
    return Contents(hierarchy, about.settings.opened(custom), _events(arrays, nodes, about.scale))


def _events(arrays: files.Arrays, nodes: int, scale: Scale) -> Events:
    """Take the labels and events of the examples."""
    bottom = BOTTOM[scale]
    label = arrays.take("label", np.int32, None, low=0, high=nodes - 1)
    count = arrays.take("count", np.int32, len(label), low=0, high=nodes)
    total = int(count.sum(dtype=np.int64))
    node = arrays.take("node", np.int32, total, low=1, high=nodes - 1)
    top = 1.0 if scale == "probability" else np.inf
    score = arrays.take("score", np.float64, total, low=bottom, high=top)
    starts = np.zeros(total, dtype=bool)
    starts[(np.cumsum(count, dtype=np.int64) - count)[count > 0]] = True
    if np.any(score == bottom) or np.any((score[1:] >= score[:-1]) & ~starts[1:]):
        raise ValueError("the scores of an example do not fall")
    return Events(label, count, node, score)


def packed_examples(examples: Examples) -> Arrays:
    """Return the columns of examples as arrays."""
    columns = examples.columns.items()
    return {name: json_array(column.tolist()) if column.dtype == object else column for name, column in columns}


def unpacked_examples(arrays: files.Arrays, rules: Sequence[str], count: int, nodes: int) -> Examples:
    """Take what `packed_examples` returned: what is known of the examples, and the answers of the rules."""
    if not {"leaf", "majority"} <= set(rules):
        raise ValueError("the answers of a rule are missing")
    columns: dict[str, NDArray[Any]] = {key: arrays.take_texts(key, count) for key in KEPT if key in arrays}
    for rule in rules:
        columns[f"prediction:{rule}"] = arrays.take(f"prediction:{rule}", np.int32, count, low=0, high=nodes - 1)
        columns[f"confidence:{rule}"] = arrays.take(f"confidence:{rule}", np.float64, count, low=0, high=1)
    return Examples.holding(count, columns)


# Folders -------------------------------------------------------------------------------------------------------


class _Figures(msgspec.Struct):
    """The field of `evaluation.json` that binds it to the examples; the others repeat what these say."""

    files: dict[Literal["examples.npz"], str]


_FIGURES = Document("hedgerow evaluation", 3, _Figures, "the figures of an evaluation", AGAIN)


def write_folder(
    folder: str | os.PathLike[str],
    document: Document[Any],
    about: Mapping[str, Any],
    arrays: Arrays,
    figures: Mapping[str, Any],
) -> None:
    """Write an evaluation and its figures into a folder, in place of an older one."""
    try_evaluation_folder(folder)
    place = Path(folder)
    clear_leftovers(place)
    staging = temporary(place / "evaluation")
    try:
        staging.mkdir(parents=True)
        document.write_archive(staging / EXAMPLES, about, arrays)
        _FIGURES.write(staging / JSON, {**figures, "files": {EXAMPLES: digest(staging / EXAMPLES)}})
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
            content = read_json(path, _FIGURES.what)
            return isinstance(content, dict) and content.get("format") == _FIGURES.format
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
        with _FIGURES.reading(figures) as about:
            bound = about.files
        if bound != {EXAMPLES: digest(path)}:
            raise FileError(
                f"{path} and {JSON} do not belong together: one of them was replaced or is damaged. {AGAIN}"
            )
    return path
