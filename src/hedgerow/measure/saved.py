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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

import msgspec
import numpy as np

from hedgerow.errors import FileError, ParameterError, argument, some
from hedgerow.files import (
    Archive,
    clear_leftovers,
    digest,
    naming,
    printable,
    read_arrays,
    read_json,
    require_file,
    stem,
    temporary,
    try_folder,
    write_arrays,
    write_json,
)
from hedgerow.likelihood import BOTTOM, Pooling, Scale, Treatment
from hedgerow.measure.bootstrap import Interval
from hedgerow.measure.builder import STANDARD_METRICS, CurveBuilder
from hedgerow.measure.evaluation import Answers, Evaluation
from hedgerow.measure.evaluation_builder import evaluate
from hedgerow.measure.events import Events
from hedgerow.measure.metrics import METRICS, CustomMetric, Metric, name_of_metric
from hedgerow.score_files import ABOUT, Progress, ScoreReading, open_scores, silent
from hedgerow.tree import Hierarchy, Names, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

MEMBERS = JSON, EXAMPLES = "evaluation.json", "examples.npz"
"""The files of an evaluation."""

_FORMAT = "hedgerow evaluation"
_VERSION = 2
_AGAIN = "Evaluate the scores again."
_EVENTS = ("label", "count", "node", "score")
_SAVED = ("name", "sizes", "warnings", "intervals", "level", "replicates")
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


# The description in a file --------------------------------------------------------------------------------------


class _About(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The description of a builder (kind "curve") or of an evaluation."""

    format: str
    version: int
    kind: Literal["curve", "evaluation"]
    tree: dict[str, Any]
    settings: dict[str, str]
    scale: Scale
    metrics: list[str] = []
    rules: list[str] = []
    name: str = ""
    sizes: list[tuple[str, _Count]] = []
    warnings: list[str] = []
    intervals: dict[str, Interval] = {}
    level: _Share = 0.95
    replicates: _Count = 0
    temperature: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    prior: str | None = None
    pool: Pooling | None = None


def _about(data: NDArray[Any] | None, kind: str) -> _About:
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
    about = msgspec.convert(mark, _About)
    if about.kind != kind:
        raise ValueError(f"it holds {about.kind!r}, not {kind!r}")
    return about


# Builders ------------------------------------------------------------------------------------------------------


def save_curve(builder: CurveBuilder, path: str | os.PathLike[str]) -> None:
    """Write a curve builder."""
    about = {"kind": "curve", "metrics": list(builder.measures.metrics)}
    _write(path, builder, {"numbered": builder.numbered}, **about)


def load_curve(path: str | os.PathLike[str], metrics: Sequence[Metric | CustomMetric]) -> CurveBuilder:
    """Read a curve builder; custom metrics must be passed again."""
    with naming(path, "a curve builder", "Make it again."):
        found = _Contents.read(path, "curve")
        known: dict[str, Any] = METRICS | {name_of_metric(metric): metric for metric in metrics}
        standard = [metric.name for metric in STANDARD_METRICS]
        others = found.about.metrics[len(standard) :]
        if found.about.metrics != [*standard, *others]:
            raise ValueError("its metrics do not begin with those that every curve has")
        for name in others:
            if name not in known:
                raise ParameterError(
                    f"It was made with the metric {name!r}, which is not one of hedgerow's. Pass it to load: "
                    f"metrics=[...]."
                )
        builder = CurveBuilder(
            found.hierarchy,
            metrics=[known[name] for name in others],
            **vars(found.settings),
            scale=found.about.scale,
        )
        builder.numbered = found.array("numbered", np.bool_, len(found.hierarchy), False, True)
        builder.add(found.events())
        found.require_all_used()
        return builder


# Evaluations ---------------------------------------------------------------------------------------------------


def save_evaluation(evaluation: Evaluation, folder: str | os.PathLike[str]) -> None:
    """Write an evaluation into a folder, in place of an older one."""
    try_evaluation_folder(folder)
    place, answers = Path(folder), evaluation.answers
    about = {
        "kind": "evaluation",
        "rules": list(answers.predictions),
        **{name: getattr(evaluation, name) for name in _SAVED},
        **vars(evaluation.treatment),
    }
    arrays: Arrays = {}
    for rule, nodes in answers.predictions.items():
        arrays[f"prediction:{rule}"] = nodes
        arrays[f"confidence:{rule}"] = answers.confidence[rule]
    for key in ABOUT:
        if (values := getattr(answers, key)) is not None:
            arrays[key] = _bytes(json.dumps(values.tolist()))
    clear_leftovers(place)
    staging = temporary(place / "evaluation")
    try:
        staging.mkdir(parents=True)
        _write(staging / EXAMPLES, evaluation, arrays, **about)
        files = {EXAMPLES: digest(staging / EXAMPLES)}
        write_json(
            staging / JSON, {"format": _FORMAT, "version": _VERSION} | evaluation.to_dict() | {"files": files}
        )
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


def load_evaluation(folder: str | os.PathLike[str]) -> Evaluation:
    """Read an evaluation from a folder."""
    path = Path(folder, EXAMPLES)
    if not path.is_file():
        missing = f"contains no {EXAMPLES}" if Path(folder).exists() else "does not exist"
        shown = os.fspath(folder)
        if Path(folder).is_file():
            raise FileError(
                f"{shown} is a file, not an evaluation: give a folder that hedgerow evaluate -o wrote."
            )
        raise FileError(f"{shown} {missing}. Create it with: hedgerow evaluate SCORES --tree TREE -o {shown}")
    _check_digest(Path(folder, JSON), path)
    with naming(path, "an evaluation", _AGAIN):
        found = _Contents.read(path, "evaluation")
        about, events = found.about, found.events()
        answers = found.answers(len(events.label))
        if not len(events.label) or sum(count for _, count in about.sizes) not in (0, len(events.label)):
            raise ValueError("the numbers of examples of its parts do not add up")
        found.require_all_used()
        builder = CurveBuilder(found.hierarchy, **vars(found.settings), scale=about.scale)
        return Evaluation(
            found.hierarchy,
            events,
            builder.holding(events).compute(),
            answers,
            name=printable(about.name),
            settings=found.settings,
            sizes=tuple((printable(name), count) for name, count in about.sizes),
            warnings=tuple(map(printable, about.warnings)),
            intervals=about.intervals,
            level=about.level,
            replicates=about.replicates,
            treatment=Treatment(about.temperature, about.prior, about.pool),
        )


def _check_digest(figures: Path, examples: Path) -> None:
    """Raise an error if the figures in a folder are not those of its examples; there may be none."""
    if not figures.is_file():
        return
    content = read_json(figures, "an evaluation", _AGAIN)
    if not isinstance(content, dict) or content.get("files") != {EXAMPLES: digest(examples)}:
        raise FileError(
            f"{examples} and {JSON} do not belong together: one of them was replaced or is damaged. {_AGAIN}"
        )


def read_or_evaluate(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy | None,
    *,
    reading: ScoreReading | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Evaluation:
    """Read an evaluation folder, or evaluate a score file with a tree; either is named after its path.

    Parameters
    ----------
    path
        A folder written by `Evaluation.save`, or a score file.
    hierarchy
        The tree, which a score file needs; a folder brings its own, and must agree.
    reading
        How to read a score file: see `open_scores`.
    progress
        Called to report progress.
    options
        Options of `evaluate`, for score files; a folder must have been evaluated with the settings among them.
    """
    shown = os.fspath(path)
    if Path(path).is_dir():
        evaluation = load_evaluation(path).measuring(options.get("metrics", ()))
        if hierarchy is not None and hierarchy.fingerprint != evaluation.hierarchy.fingerprint:
            raise ParameterError(f"{shown} was evaluated with another tree, not the given one. Evaluate it again.")
        _check_settings(evaluation, shown, options)
        return replace(evaluation, name=Path(os.path.realpath(path)).name)
    if hierarchy is None:
        require_file(path)
        raise ParameterError(f"{shown} is a score file, which needs a tree: give {argument('tree', 'TREE')}.")
    opened = open_scores(path, hierarchy, reading)
    return evaluate(hierarchy, opened, name=stem(path), progress=progress, **options)


def _check_settings(evaluation: Evaluation, shown: str, options: Mapping[str, Any]) -> None:
    """Raise an error if an evaluation was made with settings other than the requested ones."""
    was = evaluation.settings
    asked = was.updated(**{name: options[name] for name in vars(was) if name in options})
    measure = evaluation.hierarchy.information
    for name, old in was.to_dict().items():
        new = asked.to_dict()[name]
        same = np.array_equal(measure(was.information), measure(asked.information))
        if not (same if name == "information" else old == new):
            raise ParameterError(
                f"{shown} was evaluated with {argument(name, old)}, not with {argument(name, new)}. "
                f"Leave the option out, or evaluate the scores again."
            )


# Archives ------------------------------------------------------------------------------------------------------


def _write(path: str | os.PathLike[str], saved: CurveBuilder | Evaluation, more: Arrays, **about: Any) -> None:
    """Write what builders and evaluations have in common, more arrays, and more about them."""
    described = {
        "format": _FORMAT,
        "version": _VERSION,
        "tree": saved.hierarchy.to_dict(),
        "settings": saved.settings.to_dict(),
        "scale": saved.scale,
        **about,
    }
    arrays: Arrays = {"about": _bytes(json.dumps(msgspec.to_builtins(described)))}
    if not isinstance(saved.settings.information, str):
        arrays["information"] = np.asarray(saved.settings.information)
    write_arrays(path, arrays | {name: getattr(saved.events, name) for name in _EVENTS} | more)


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


@final
@dataclass(frozen=True, eq=False)
class _Contents:
    """The content of a file; each array is checked when it is taken."""

    about: _About
    hierarchy: Hierarchy
    settings: Settings
    arrays: Arrays
    """The arrays that have not been taken yet."""

    @classmethod
    def read(cls, path: str | os.PathLike[str], kind: str) -> _Contents:
        """Read a file of this kind, and check its description."""
        arrays = read_arrays(path)
        about = _about(arrays.pop("about", None), kind)
        hierarchy = Hierarchy.from_dict(about.tree)
        given: dict[str, Any] = about.settings
        if given.get("information") == "custom":
            given |= {"information": hierarchy.information(arrays.pop("information", np.empty(0)))}
        return cls(about, hierarchy, Settings.from_dict(given), arrays)

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
        nodes, bottom = len(self.hierarchy), BOTTOM[self.about.scale]
        label = self.array("label", np.int32, None, 0, nodes - 1)
        count = self.array("count", np.int32, len(label), 0, nodes)
        total = int(count.sum(dtype=np.int64))
        node = self.array("node", np.int32, total, 1, nodes - 1)
        score = self.array(
            "score", np.float64, total, bottom, 1.0 if self.about.scale == "probability" else np.inf
        )
        starts = np.zeros(total, dtype=bool)
        starts[(np.cumsum(count, dtype=np.int64) - count)[count > 0]] = True
        if np.any(score == bottom) or np.any((score[1:] >= score[:-1]) & ~starts[1:]):
            raise ValueError("the scores of an example do not fall")
        return Events(label, count, node, score)

    def answers(self, examples: int) -> Answers:
        """Take the answers of the rules, and what is known about the examples."""
        rules, nodes = self.about.rules, len(self.hierarchy)
        if not {"leaf", "majority"} <= set(rules):
            raise ValueError("the answers of a rule are missing")
        return Answers(
            {rule: self.array(f"prediction:{rule}", np.int32, examples, 0, nodes - 1) for rule in rules},
            {rule: self.array(f"confidence:{rule}", np.float64, examples, 0.0, 1.0) for rule in rules},
            **{key: self._texts(key, examples) for key in ABOUT if key in self.arrays},
        )

    def _texts(self, key: str, examples: int) -> Names:
        listed = msgspec.json.decode(self.arrays.pop(key).astype(np.uint8, copy=False).tobytes(), type=list[str])
        if len(listed) != examples:
            raise ValueError(f"{key!r} does not have one text for each example")
        texts = np.empty(examples, dtype=object)
        texts[:] = listed
        return texts

    def require_all_used(self) -> None:
        """Refuse a file with unknown arrays."""
        if self.arrays:
            raise ValueError(f"it contains {some(sorted(self.arrays))}, which does not belong there")
