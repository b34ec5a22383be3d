"""An evaluation as a folder: `evaluation.json`, `curve.npz`, `examples.npz`, `tree.json`; nothing is pickled."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ParameterError, argument
from hedgerow.files import (
    digest,
    member,
    printable,
    read_arrays,
    read_json,
    reading,
    replacing,
    require_file,
    schema,
    stem,
    try_folder,
    write_arrays,
    write_json,
)
from hedgerow.measure.bootstrap import Interval
from hedgerow.measure.curve import OperatingCurve
from hedgerow.measure.evaluation import Answers, Evaluation
from hedgerow.measure.evaluation_builder import evaluate
from hedgerow.measure.events import Events
from hedgerow.measure.packed_texts import packed, unpacked
from hedgerow.score_files import Progress, open_scores, silent
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.measure.evaluation import Measured
    from hedgerow.tree import Names

MEMBERS = JSON, CURVE, EXAMPLES, TREE = "evaluation.json", "curve.npz", "examples.npz", "tree.json"
"""The files of an evaluation."""
FORMAT = 1
"""Version of the layout."""

_AGAIN = "Evaluate the scores again."
_ATTEMPTS = 3  # to read the files of one evaluation while another replaces it
_SCHEMA = schema.fields(
    {
        "name": schema.text(),
        "examples": schema.whole(1, 1 << 40),
        "information": schema.one_of("leaves", "depth", "custom"),
        "below_label": schema.one_of("label", "wrong"),
        "confidence": schema.number(0, 1),
        "replicates": schema.whole(0, 1 << 40),
        "warnings": schema.listing(schema.text()),
        "intervals": schema.mapping(
            schema.exactly({"value": schema.number(), "low": schema.number(), "high": schema.number()})
        ),
        "tree": schema.fields({"fingerprint": schema.text()}),
    },
    optional={  # folders of earlier versions have none
        "files": schema.exactly({name: schema.text("[0-9a-f]{64}") for name in (TREE, CURVE, EXAMPLES)}),
        "single_child": schema.one_of("skip", "answer"),
    },
)
_SHORT = ("ids", "groups", "clusters")  # saved as arrays of text
_LONG = ("texts", "images")  # of any length: saved as UTF-8, concatenated


def save(evaluation: Measured, folder: str | os.PathLike[str]) -> None:
    """Write an evaluation into a folder, in place of another that is there; see `hedgerow.files.replacing`.

    A binned evaluation has no examples to write.
    """
    try_evaluation_folder(folder)
    with replacing(folder) as place:
        evaluation.hierarchy.save(place / TREE)
        evaluation.curve.save(place / CURVE)
        if isinstance(evaluation, Evaluation):
            _save_examples(evaluation, place / EXAMPLES)
        files = {name: digest(place / name) for name in (TREE, CURVE, EXAMPLES) if (place / name).exists()}
        write_json(place / JSON, {"format": FORMAT} | evaluation.to_dict() | {"files": files})


def try_evaluation_folder(folder: str | os.PathLike[str]) -> None:
    """Raise an error if a folder cannot be written, or contains other files with the names of an evaluation."""
    try_folder(folder)
    place = Path(folder)
    foreign = [] if _has_evaluation(place) else [place / name for name in MEMBERS if (place / name).exists()]
    if foreign:
        raise FileError(
            f"{foreign[0]} would be overwritten, but is not part of a complete evaluation. Give the evaluation "
            f"its own folder, or delete the file."
        )


def _has_evaluation(place: Path) -> bool:
    try:
        about = read_json(member(place, JSON), "an evaluation")
    except FileError:
        return False
    return isinstance(about, dict) and "format" in about


def load(folder: str | os.PathLike[str]) -> Evaluation:
    """Read an evaluation from a folder; its files must be those that were saved together."""
    shown, place = os.fspath(folder), Path(folder)
    if not member(place, JSON).is_file():
        missing = "does not exist" if not place.exists() else f"contains no {JSON}"
        raise FileError(f"{shown} {missing}. Create it with: hedgerow evaluate SCORES --tree TREE -o {shown}")
    for _ in range(_ATTEMPTS):
        before = _state(place)
        try:
            return _load(place)
        except HedgerowError:
            if _state(place) == before:
                raise
    return _load(place)


def _state(place: Path) -> list[tuple[str, int, int]]:
    """Describe the files, to tell whether another process has replaced them meanwhile."""
    found = []
    for name in MEMBERS:
        with suppress(OSError):
            about = member(place, name).stat()
            found.append((name, about.st_mtime_ns, about.st_ino))
    return found


def _load(place: Path) -> Evaluation:
    about = _about(place)
    hierarchy = Hierarchy.load(_there(place, TREE))
    if hierarchy.fingerprint != about["tree"]["fingerprint"]:
        raise FileError(f"{place}: {TREE} is not the tree that {JSON} was made with. {_AGAIN}")
    curve = OperatingCurve.load(_there(place, CURVE))
    arrays = read_arrays(_there(place, EXAMPLES))
    with reading(member(place, EXAMPLES), "part of an evaluation", _AGAIN):
        events, answers = _events(arrays, len(hierarchy)), _answers(arrays, len(hierarchy))
        if len(events.label) != about["examples"] or curve.examples != about["examples"]:
            raise ValueError(f"the number of examples is not that of {JSON}")
        information = arrays["information"] if about["information"] == "custom" else about["information"]
        hierarchy.information(information)
    return Evaluation(
        hierarchy,
        events,
        curve,
        answers,
        name=printable(about["name"]),
        information=information,
        below_label=about["below_label"],
        single_child=about.get("single_child", "skip"),
        warnings=tuple(map(printable, about["warnings"])),
        intervals={name: Interval(**interval) for name, interval in about["intervals"].items()},
        confidence=about["confidence"],
        replicates=about["replicates"],
    )


def _about(place: Path) -> dict[str, Any]:
    """Return what the JSON file says, once it and the digests of the other files have been checked."""
    json_file = member(place, JSON)
    about = read_json(json_file, "part of an evaluation", _AGAIN)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise FileError(f"{place} was written by another version of hedgerow. {_AGAIN}")
    if "bins" in about:
        raise FileError(
            f"{place} was made with {argument('bins', str(about['bins'])[:20])}: it has figures and a curve, but "
            f"no examples, which are needed here. Evaluate the scores without bins."
        )
    with reading(json_file, "part of an evaluation", _AGAIN):
        _SCHEMA(about, "it")
    for name, saved in about.get("files", {}).items():  # evaluations of earlier versions have none
        if digest(_there(place, name)) != saved:
            raise FileError(
                f"{place}: {name} and {JSON} do not belong together: one of them is damaged, or comes from "
                f"another evaluation. {_AGAIN}"
            )
    return about


def _there(place: Path, name: str) -> Path:
    path = member(place, name)
    if not path.is_file():
        raise FileError(f"{place} has no {name}, which is part of an evaluation. {_AGAIN}")
    return path


def read_or_evaluate(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy | None,
    *,
    reading: Mapping[str, Any] = MappingProxyType({}),
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
        Keywords of `open_scores`, for a score file.
    progress
        Called to report progress.
    options
        Options of `evaluate`, for score files; if `information` or `below_label` is given, a folder must have been
        evaluated with the same setting.
    """
    shown = os.fspath(path)
    if Path(path).is_dir():
        evaluation = load(path)
        if hierarchy is not None and hierarchy.fingerprint != evaluation.hierarchy.fingerprint:
            raise ParameterError(f"{shown} was evaluated with another tree, not the given one. Evaluate it again.")
        _check_settings(evaluation, shown, options)
        return replace(evaluation, name=Path(os.path.realpath(path)).name)
    if hierarchy is None:
        require_file(path)
        raise ParameterError(f"{shown} is a score file, which needs a tree: give {argument('tree', 'TREE')}.")
    return evaluate(
        hierarchy, open_scores(path, hierarchy, **reading), name=stem(path), progress=progress, **options
    )


def _check_settings(evaluation: Evaluation, shown: str, options: dict[str, Any]) -> None:
    """Raise an error if an evaluation was made with settings other than the requested ones."""
    measure = evaluation.hierarchy.information
    for name in ("information", "below_label", "single_child"):
        wanted, found = options.get(name), getattr(evaluation, name)
        if wanted is None or (isinstance(wanted, str) and wanted == found):
            continue
        if name == "information" and np.array_equal(measure(wanted), measure(found)):
            continue
        was, asked = (value if isinstance(value, str) else "custom" for value in (found, wanted))
        raise ParameterError(
            f"{shown} was evaluated with {argument(name, was)}, not with {argument(name, asked)}. Leave the "
            f"option out, or evaluate the scores again."
        )


def _save_examples(evaluation: Evaluation, path: Path) -> None:
    events, answers = evaluation.events, evaluation.answers
    arrays: dict[str, NDArray[Any]] = {
        "names": evaluation.hierarchy.names.astype(str),
        "labels": events.label,
        "event_count": events.count,
        "event_node": events.node,
        "event_score": events.score,
    }
    if not isinstance(evaluation.information, str):
        arrays["information"] = np.asarray(evaluation.information)
    for rule, nodes in answers.predictions.items():
        arrays[f"prediction:{rule}"] = nodes
        if rule in answers.confidence:
            arrays[f"confidence:{rule}"] = answers.confidence[rule]
    for key in _SHORT:
        if (values := getattr(answers, key)) is not None:
            arrays[key] = values.astype(str)
    for key in _LONG:
        if (values := getattr(answers, key)) is not None:
            arrays |= packed(key, values)
    write_arrays(path, arrays)


def _events(arrays: dict[str, NDArray[Any]], nodes: int) -> Events:
    events = Events.of_arrays(
        _nodes(arrays["labels"], nodes),
        _integers(arrays["event_count"]),
        _nodes(arrays["event_node"], nodes),
        _numbers(arrays["event_score"]),
    )
    whole = np.all(events.count >= 0) and events.count.sum(dtype=np.int64) == len(events.node)
    if not whole or len(events.count) != len(events.label) or len(events.score) != len(events.node):
        raise ValueError("its numbers of events do not fit together")
    return events


def _answers(arrays: dict[str, NDArray[Any]], nodes: int) -> Answers:
    examples = arrays["labels"].shape

    def by_rule(kind: str) -> dict[str, NDArray[Any]]:
        found = {key.removeprefix(kind): array for key, array in arrays.items() if key.startswith(kind)}
        if any(not rule.isidentifier() or array.shape != examples for rule, array in found.items()):
            raise ValueError(f"it has a wrong {kind.removesuffix(':')}")
        return found

    predictions = {rule: _nodes(array, nodes) for rule, array in by_rule("prediction:").items()}
    confidence = {rule: _numbers(array) for rule, array in by_rule("confidence:").items()}
    if not {"leaf", "majority"} <= predictions.keys() or not confidence.keys() <= predictions.keys():
        raise ValueError("the answers of a rule are missing")
    texts: dict[str, Names | None] = {key: arrays[key].astype(object) if key in arrays else None for key in _SHORT}
    for key in _LONG:
        texts[key] = _decoded(key, arrays) if f"{key}_end" in arrays else None
    if any(each is not None and each.shape != examples for each in texts.values()):
        raise ValueError("its ids, groups or texts are not as many as its examples")
    return Answers(predictions, confidence, **texts)


def _nodes(array: NDArray[Any], nodes: int) -> NDArray[np.int32]:
    array = _integers(array)
    if len(array) and not 0 <= array.min() <= array.max() < nodes:
        raise ValueError("it names nodes that the tree does not have")
    return array


def _integers(array: NDArray[Any]) -> NDArray[np.int32]:
    if array.ndim != 1 or array.dtype != np.int32:
        raise ValueError(f"{array.dtype} of shape {array.shape} should be a list of integers")
    return array


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    if array.ndim != 1 or array.dtype != np.float64 or np.isnan(array).any():
        raise ValueError(f"{array.dtype} of shape {array.shape} should be a list of numbers, without NaN")
    return array


def _decoded(key: str, arrays: dict[str, NDArray[Any]]) -> Names:
    end, size = arrays[f"{key}_end"], arrays[f"{key}_utf8"].nbytes
    if end.ndim != 1 or end.dtype != np.int64 or any(a > b for a, b in pairwise([0, *end.tolist(), size])):
        raise ValueError("its texts are not one after another")
    return unpacked(key, arrays)
