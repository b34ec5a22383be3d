"""An evaluation as a folder: `evaluation.json`, `curve.npz`, `examples.npz`, `tree.json`; nothing is pickled."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zlib
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ParameterError, argument
from hedgerow.files import atomic_write, require_file, try_folder
from hedgerow.measure.bootstrap import Interval
from hedgerow.measure.curve import OperatingCurve
from hedgerow.measure.evaluation import Answers, Evaluation
from hedgerow.measure.evaluation_builder import evaluate
from hedgerow.measure.events import Events
from hedgerow.score_files import Progress, open_scores, silent
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.measure.binned_evaluation import BinnedEvaluation
    from hedgerow.tree import Names

MEMBERS = JSON, CURVE, EXAMPLES, TREE = "evaluation.json", "curve.npz", "examples.npz", "tree.json"
"""The files of an evaluation."""
FORMAT = 1
"""Version of the layout."""

_SHORT = ("ids", "groups", "clusters")  # saved as arrays of text
_LONG = ("texts", "images")  # of any length: saved as UTF-8, concatenated


def save(evaluation: Evaluation | BinnedEvaluation, folder: str | os.PathLike[str]) -> None:
    """Write an evaluation into a folder, `evaluation.json` last; a binned one has no examples to write."""
    try_evaluation_folder(folder)
    target = Path(os.path.realpath(folder))
    # Everything is first written to a temporary folder, so that a failure leaves the target unchanged.
    aside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        aside.mkdir(parents=True)
        try:
            evaluation.hierarchy.save(aside / TREE)
            evaluation.curve.save(aside / CURVE)
            if isinstance(evaluation, Evaluation):
                _save_examples(evaluation, aside / EXAMPLES)
            with atomic_write(aside / JSON) as file:
                json.dump({"format": FORMAT} | evaluation.to_dict(), file, ensure_ascii=False, indent=2)
                file.write("\n")
            if not target.exists():
                aside.rename(target)
                return
            (target / JSON).unlink(missing_ok=True)
            (target / EXAMPLES).unlink(missing_ok=True)
            for name in (TREE, CURVE, EXAMPLES, JSON):
                if (aside / name).exists():
                    (aside / name).replace(target / name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise FileError(
            f"{os.fspath(folder)} cannot be written: {error.strerror or error}. Check the folder's permissions "
            f"and the disk."
        ) from error


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
        about = json.loads((place / JSON).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and "format" in about


def load(folder: str | os.PathLike[str]) -> Evaluation:
    """Read an evaluation from a folder."""
    shown, place = os.fspath(folder), Path(folder)
    if not (place / JSON).is_file():
        missing = "does not exist" if not place.exists() else f"contains no {JSON}"
        raise FileError(f"{shown} {missing}. Create it with: hedgerow evaluate SCORES --tree TREE -o {shown}")
    reading = JSON
    try:
        about = json.loads((place / JSON).read_text(encoding="utf-8"))
        if about.get("format") != FORMAT:
            raise FileError(f"{shown} was written by another version of hedgerow. Evaluate the scores again.")
        if "bins" in about:
            raise FileError(
                f"{shown} was made with {argument('bins', str(about['bins'])[:20])}: it has figures and a curve, "
                f"but no examples, which are needed here. Evaluate the scores without bins."
            )
        fingerprint, examples, information = about["tree"]["fingerprint"], about["examples"], about["information"]
        settings = {key: about[key] for key in ("name", "below_label", "confidence", "replicates")}
        settings["single_child"] = about.get("single_child", "skip")  # older folders have none
        settings["warnings"] = tuple(about["warnings"])
        settings["intervals"] = {name: Interval(**interval) for name, interval in about["intervals"].items()}
        hierarchy = Hierarchy.load(place / TREE)
        if hierarchy.fingerprint != fingerprint:
            raise FileError(
                f"{shown}: {TREE} is not the tree that {JSON} was made with. Evaluate the scores again."
            )
        curve = OperatingCurve.load(place / CURVE)
        reading = EXAMPLES
        with np.load(place / EXAMPLES, allow_pickle=False) as members:
            arrays = {key: members[key] for key in members.files}
        events = Events(*(arrays[key] for key in ("labels", "event_count", "event_node", "event_score")))
        if len(events.label) != examples or events.count.sum() != len(events.node):
            raise FileError(f"{shown}: {EXAMPLES} and {JSON} do not belong together. Evaluate the scores again.")
        information = arrays["information"] if information == "custom" else information
        return Evaluation(hierarchy, events, curve, _answers(arrays), information=information, **settings)
    except HedgerowError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is damaged, or was written by another program"
        raise FileError(
            f"{place / reading} cannot be read as part of an evaluation: {why}. Evaluate the scores again."
        ) from error


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
        hierarchy, open_scores(path, hierarchy, **reading), name=Path(path).stem, progress=progress, **options
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
            encoded = [value.encode("utf-8", "surrogatepass") for value in values.tolist()]
            arrays[f"{key}_utf8"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
            arrays[f"{key}_end"] = np.cumsum([len(value) for value in encoded], dtype=np.int64)
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _answers(arrays: dict[str, NDArray[Any]]) -> Answers:
    def by_rule(kind: str) -> dict[str, NDArray[Any]]:
        return {key.removeprefix(kind): array for key, array in arrays.items() if key.startswith(kind)}

    texts: dict[str, Names | None] = {key: arrays[key].astype(object) if key in arrays else None for key in _SHORT}
    for key in _LONG:
        texts[key] = _decoded(arrays[f"{key}_utf8"], arrays[f"{key}_end"]) if f"{key}_end" in arrays else None
    return Answers(by_rule("prediction:"), by_rule("confidence:"), **texts)


def _decoded(data: NDArray[np.uint8], end: NDArray[np.int64]) -> Names:
    joined, ends = data.tobytes(), end.tolist()
    values = np.empty(len(ends), dtype=object)
    values[:] = [
        joined[first:last].decode("utf-8", "surrogatepass")
        for first, last in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return values
