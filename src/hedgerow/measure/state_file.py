"""Builders on disk: an `.npz` archive with the tree, the settings and the state; nothing is pickled.

The member `about` is JSON in UTF-8; all others are arrays of numbers. A file may come from anywhere, so everything
in it is checked before anything of it is used.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, HedgerowError, some
from hedgerow.files import read_arrays, reading, schema, write_arrays
from hedgerow.likelihood import BOTTOM
from hedgerow.measure.bins import edges_of
from hedgerow.measure.builder import STANDARD_METRICS
from hedgerow.measure.evaluation import ABOUT
from hedgerow.measure.packed_texts import packed, unpacked
from hedgerow.measure.state import EVENTS, State, curve_of, curve_state, evaluation_of, evaluation_state
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.infer import Rule
    from hedgerow.measure.builder import CurveBuilder, CustomMetric
    from hedgerow.measure.evaluation_builder import EvaluationBuilder
    from hedgerow.measure.metrics import Metric
    from hedgerow.measure.packed_texts import Arrays

VERSION = 1
"""Version of the layout."""

_FORMAT = "hedgerow state"
_SIGNED = np.iinfo(np.int64)
_MOST_EDGES = 1 << 24
_TREE_TEXTS = ("names", "rank", "title")


def save_curve(builder: CurveBuilder, path: str | os.PathLike[str]) -> None:
    """Write a curve builder."""
    _write(path, curve_state(builder), builder.hierarchy)


def load_curve(path: str | os.PathLike[str], metrics: Sequence[Metric | CustomMetric]) -> CurveBuilder:
    """Read a curve builder."""
    with _naming(path):
        state, hierarchy = _read(path, "curve")
        return curve_of(state, hierarchy, metrics)


def save_evaluation(builder: EvaluationBuilder, path: str | os.PathLike[str]) -> None:
    """Write an evaluation builder."""
    _write(path, evaluation_state(builder), builder.hierarchy)


def load_evaluation(path: str | os.PathLike[str], rules: Mapping[str, Rule]) -> EvaluationBuilder:
    """Read an evaluation builder."""
    with _naming(path):
        state, hierarchy = _read(path, "evaluation")
        return evaluation_of(state, hierarchy, rules)


def _write(path: str | os.PathLike[str], state: State, hierarchy: Hierarchy) -> None:
    about = {"format": _FORMAT, "version": VERSION, "tree": hierarchy.fingerprint, **state.about}
    tree: Arrays = {"tree_parent": hierarchy.parent}
    for key in _TREE_TEXTS:
        if (values := getattr(hierarchy, key)) is not None:
            tree |= packed(f"tree_{key}", values)
    text = json.dumps(about, ensure_ascii=True).encode()
    write_arrays(path, {"about": np.frombuffer(text, dtype=np.uint8), **tree, **state.arrays})


def _read(path: str | os.PathLike[str], kind: str) -> tuple[State, Hierarchy]:
    arrays = read_arrays(path)
    about = _about(arrays.pop("about", np.empty(0)), kind)
    tree = {name: arrays.pop(name) for name in list(arrays) if name.startswith("tree_")}
    hierarchy = _tree(tree)
    if hierarchy.fingerprint != about["tree"]:
        raise ValueError("its tree is not the one that its description names")
    state = State({key: about[key] for key in about if key not in ("format", "version", "tree")}, arrays)
    _Checks(state, hierarchy).all()
    return state, hierarchy


def _tree(arrays: Arrays) -> Hierarchy:
    texts: dict[str, Any] = {}
    for key in _TREE_TEXTS:
        name = f"tree_{key}"
        if f"{name}_end" in arrays:
            _check_texts(name, arrays, None)
            texts[key] = unpacked(name, arrays)
    parent = arrays.get("tree_parent", np.empty(0))
    if "names" not in texts or parent.dtype != np.int64 or parent.ndim != 1:
        raise ValueError("it contains no tree")
    return Hierarchy(texts["names"], parent, texts.get("rank"), texts.get("title"))


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in every error about what is in it."""
    try:
        with reading(path, "a state", "Make it again."):
            yield
    except FileError:
        raise  # it names the file
    except HedgerowError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None


# Checks -----------------------------------------------------------------------------------------------------


def _about(data: NDArray[Any], kind: str) -> dict[str, Any]:
    """Parse the description, and check everything in it."""
    try:
        about = json.loads(data.tobytes()) if data.dtype == np.uint8 else None
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise ValueError("hedgerow did not write it")
    if about.get("version") != VERSION:
        raise ValueError(
            f"its layout has version {about.get('version')!r:.20}, and this hedgerow reads version {VERSION}"
        )
    if about.get("kind") != kind:
        raise ValueError(f"it holds {about.get('kind')!r:.20}, not {kind!r}")
    _ABOUT[kind](about, "it")
    return about


def _metrics(value: Any, where: str) -> None:
    schema.listing(schema.text())(value, where)
    if value[: len(STANDARD_METRICS)] != [metric.name for metric in STANDARD_METRICS]:
        raise ValueError(f"{where} must begin with the metrics that every curve has")


def _sums(value: Any, where: str) -> None:
    schema.listing(schema.whole(0, 2**100))(value, where)
    if len(value) not in (0, len(STANDARD_METRICS)):  # without bins, there are no sums
        raise ValueError(f"{where} must be a sum for each of {len(STANDARD_METRICS)} metrics")


def _part(value: Any, where: str) -> None:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{where} must be a name and a number of examples")
    schema.text()(value[0], where)
    schema.whole(0, _SIGNED.max)(value[1], where)


_COMMON: dict[str, schema.Rule] = {
    "format": schema.anything,
    "version": schema.anything,
    "kind": schema.anything,
    "tree": schema.text(),
    "metrics": _metrics,
    "information": schema.one_of("leaves", "depth", "custom"),
    "single_child": schema.one_of("skip", "answer"),
    "below_label": schema.one_of("label", "wrong"),
    "scale": schema.one_of(*BOTTOM),
    "bins": schema.maybe(schema.whole(2, _MOST_EDGES)),
}
_ABOUT = {
    "curve": schema.exactly(_COMMON),
    "evaluation": schema.exactly(
        _COMMON
        | {
            "rules": schema.mapping(_sums),
            "parts": schema.listing(_part),
            "warnings": schema.listing(schema.text()),
        }
    ),
}


@final
@dataclass(frozen=True)
class _Checks:
    """The arrays of a state, compared with its description and its tree."""

    state: State
    hierarchy: Hierarchy

    def all(self) -> None:
        """Raise an error unless every array is there, and holds what it should."""
        about, arrays = self.state.about, self.state.arrays
        nodes = len(self.hierarchy)
        self._array("numbered", np.int64, None, 0, nodes - 1)
        expected = {"numbered"}
        if about["information"] == "custom":
            self._array("information", np.float64, (nodes,), -np.inf, np.inf)
            expected.add("information")
        expected |= self._events() if about["bins"] is None else self._bins()
        if about["kind"] == "evaluation" and about["bins"] is None:
            expected |= self._answers()
        if set(arrays) != expected:
            raise ValueError(f"it contains {some(sorted(set(arrays) - expected))}, which no state has")

    def _events(self) -> set[str]:
        nodes, scale = len(self.hierarchy), self.state.about["scale"]
        label = self._array("label", np.int32, None, 0, nodes - 1)
        count = self._array("count", np.int32, label.shape, 0, nodes)
        total = (int(count.sum(dtype=np.int64)),)
        self._array("node", np.int32, total, 1, nodes - 1)
        score = self._array("score", np.float64, total, BOTTOM[scale], 1.0 if scale == "probability" else np.inf)
        starts = np.zeros(len(score), dtype=bool)
        starts[(np.cumsum(count, dtype=np.int64) - count)[count > 0]] = True
        if np.any(score == BOTTOM[scale]) or np.any((score[1:] >= score[:-1]) & ~starts[1:]):
            raise ValueError("the scores of an example do not fall")
        return set(EVENTS)

    def _bins(self) -> set[str]:
        about = self.state.about
        metrics, edges = len(about["metrics"]), len(edges_of(about["bins"], about["scale"]))
        most = _SIGNED.max
        self._array("examples", np.int64, (1,), 0, most)
        self._array("bound", np.int64, (metrics,), 0, most)
        self._array("at_root", np.int64, (metrics,), _SIGNED.min, most)
        self._array("change", np.int64, (metrics, edges), _SIGNED.min, most)
        self._array("rise", np.int64, (metrics, edges), _SIGNED.min, most)
        self._array("moves", np.int64, (edges,), 0, most)
        if about["kind"] == "evaluation" and not all(about["rules"].values()):
            raise ValueError("it has bins, but no sums of the rules")
        if about["kind"] == "evaluation" and about["parts"]:
            raise ValueError("it has bins, but lists parts")
        return {"examples", "bound", "at_root", "change", "rise", "moves"}

    def _answers(self) -> set[str]:
        about, arrays = self.state.about, self.state.arrays
        rows = arrays["label"].shape
        if sum(count for _, count in about["parts"]) != rows[0]:
            raise ValueError("the numbers of examples of its parts do not add up")
        found: set[str] = set()
        for rule in about["rules"]:
            self._array(f"prediction:{rule}", np.int32, rows, 0, len(self.hierarchy) - 1)
            self._array(f"confidence:{rule}", np.float64, rows, 0.0, 1.0)
            found |= {f"prediction:{rule}", f"confidence:{rule}"}
        for key in ABOUT:
            if f"{key}_end" in arrays:
                _check_texts(key, arrays, rows[0])
                found |= {f"{key}_end", f"{key}_utf8"}
        return found

    def _array(
        self, name: str, dtype: type[Any], shape: tuple[int, ...] | None, low: float, high: float
    ) -> NDArray[Any]:
        array: NDArray[Any] | None = self.state.arrays.get(name)
        if array is None:
            raise ValueError(f"{name!r} is missing")
        fits = array.ndim == 1 if shape is None else array.shape == shape
        if array.dtype != dtype or not fits:
            raise ValueError(f"{name!r} is {array.dtype} of shape {array.shape}")
        if not np.all((array >= low) & (array <= high)):  # also for NaN
            raise ValueError(f"{name!r} has values outside {low} to {high}")
        return array


def _check_texts(name: str, arrays: Arrays, count: int | None) -> None:
    data, ends = arrays.get(f"{name}_utf8"), arrays[f"{name}_end"]
    if data is None or data.dtype != np.uint8 or data.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise ValueError(f"{name!r} is not text")
    steps = np.diff(ends, prepend=0, append=len(data))
    if np.any(steps < 0) or (len(ends) and steps[-1]) or (count is not None and len(ends) != count):
        raise ValueError(f"{name!r} does not have one text for each of its entries")
    try:
        data.tobytes().decode("utf-8", "surrogatepass")
        unpacked(name, arrays)
    except UnicodeDecodeError:
        raise ValueError(f"{name!r} is not text") from None
