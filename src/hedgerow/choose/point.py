"""Operating points: a rule, its thresholds, and what they promise, as an object and as a small file."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np

from hedgerow.choose import ranks
from hedgerow.choose.families import FAMILIES, Family, SingleChild, candidates_of, events_of, map_dense_rows
from hedgerow.choose.guarantees import GUARANTEES, Guarantee
from hedgerow.errors import FileError, HedgerowError, ParameterError, argument, some
from hedgerow.files import atomic_write, read_text
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Likelihoods
from hedgerow.measure import Ranks
from hedgerow.score_files import TemperedScores
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.infer import Candidates
    from hedgerow.likelihood import Scale
    from hedgerow.measure import BelowLabel
    from hedgerow.score_files import Block, Scores
    from hedgerow.tree import Indices

By = Literal["all", "group", "clade", "rank"]

_FORMAT = "hedgerow operating point"
_VERSION = 1
_AGAIN = "Choose the point again with hedgerow select."


@final
@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint:
    """How to answer, and what that promises; made by `select`, kept as JSON by `save` and `load`.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.9, 0.6, 0.3, 0.1]] * 15 + [[1, 0.6, 0.5, 0.1, 0.4]] * 5
    >>> point = hr.select(h, q, ["cat"] * 15 + ["dog"] * 5, target=("correct", 0.9))
    >>> point
    OperatingPoint(correct >= 0.9, conformal: threshold 0.5, 20 examples)
    >>> h.names[point.predict([[1, 0.9, 0.8, 0.1, 0.1], [1, 0.9, 0.45, 0.45, 0.1]])].tolist()
    ['cat', 'pet']
    """

    hierarchy: Hierarchy
    """The tree that the point is for."""
    target: Mapping[str, float]
    """What is promised: the level of a metric, or of each rank (the share not wrong there)."""
    overclassification: Mapping[str, float]
    """The share of examples of unknown taxa that may be given a name at each rank."""
    guarantee: Guarantee
    delta: float | None
    """With "pac", the probability that the promise is broken."""
    rule: Family | Literal["ranks"]
    by: By
    """What the thresholds are for: "all" examples, or each "group", "clade" or "rank"."""
    thresholds: Mapping[str, float]
    """On the scale of the likelihoods, or λ; by group, clade or rank, or "" for all; infinite: always the root."""
    scale: Scale
    """The scale of the likelihoods."""
    root_is_safe: bool = True
    """Whether the root always keeps the promise; otherwise the most specific answers keep it best."""
    clade_depth: int | None = None
    """The depth of the clades."""
    information: Literal["leaves", "depth"] = "leaves"
    single_child: SingleChild = "skip"
    below_label: BelowLabel = "label"
    temperature: float = 1.0
    """What the scores had been divided by."""
    examples: int = 0
    """How many examples the point was chosen with."""
    clusters: int | None = None
    """How many clusters they were in, if they were."""
    notes: tuple[str, ...] = ()
    """What is worth knowing about this point, as sentences."""
    created: str = ""
    """When it was chosen, in UTC."""
    version: str = ""
    """The version of hedgerow that chose it."""

    @property
    def threshold(self) -> float:
        """The only threshold, on the scale of the likelihoods."""
        if self.by != "all":
            raise ParameterError(f"This point has one threshold per {self.by}: see its thresholds.")
        return self.thresholds[""]

    @property
    def promise(self) -> str:
        """What is promised, in a few words: "correct >= 0.95"."""
        said = [f"{name} >= {level:g}" for name, level in self.target.items()]
        said += [f"{rank} given to unknown taxa <= {level:g}" for rank, level in self.overclassification.items()]
        return ", ".join(said)

    # Answering ---------------------------------------------------------------------------------------------

    def predict(self, q: Any, groups: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the answer to each example, as node indices: int64 [B].

        Parameters
        ----------
        q
            [B, nodes] likelihoods: `Likelihoods`, or an array or a table on the scale of the point, in the node
            order of its tree.
        groups
            The group of each example, if the point has thresholds by group.
        """
        likelihoods = self._fitting(q)
        if self.by == "rank":
            return self._by_rank(likelihoods)
        tau = self._threshold_of_each(likelihoods, groups)
        nowhere = np.zeros(len(likelihoods), dtype=np.int64)  # labels are not needed to find answers
        events = events_of(self.rule, likelihoods, nowhere, self._candidates(likelihoods))  # type: ignore[arg-type]
        return answers_above(events.count, events.node, events.score, tau)

    def _fitting(self, q: Any) -> AnyLikelihoods:
        """Return likelihoods that this point is for, or say why they are not."""
        carried = getattr(q, "scale", None)
        if carried is None:
            plain: AnyLikelihoods = Likelihoods.of(self.hierarchy, q, self.scale)
            return plain
        self.check_tree(q.hierarchy)
        if carried != self.scale:
            raise ParameterError(
                f"This point is for likelihoods on the scale {self.scale!r}, and these are on the scale "
                f"{carried!r}: they come from another kind of model or file. {_AGAIN}"
            )
        temperature = getattr(q, "temperature", 1.0)
        if temperature != self.temperature:
            raise ParameterError(
                f"This point is for scores divided by the temperature {self.temperature:g}, and these were "
                f"divided by {temperature:g}. Use the same temperature, or choose the point again."
            )
        likelihoods: AnyLikelihoods = q
        return likelihoods

    def _by_rank(self, q: AnyLikelihoods) -> Indices:
        known = Ranks.of(self.hierarchy)
        rank = known.of_node
        if q.hierarchy is not self.hierarchy:  # its nodes may be in another order, and without ranks
            rank = rank[self.hierarchy.indices(q.hierarchy.names)]
        lowest = np.full(len(rank), -np.inf)
        for name, tau in self.thresholds.items():
            lowest[rank == known.names.index(name)] = tau
        return ranks.answer(q, lowest, self._candidates(q))

    def _candidates(self, q: AnyLikelihoods) -> Candidates:
        return candidates_of(q.hierarchy, self.information, self.single_child)

    def _threshold_of_each(self, q: AnyLikelihoods, groups: ArrayLike | None) -> NDArray[np.float64]:
        if groups is not None and self.by != "group":
            raise ParameterError("This point does not depend on groups: leave them out.")
        if self.by == "clade":
            return self.thresholds_of(clades(q, self.clade_depth or 1), len(q))
        if self.by == "group" and groups is None:
            raise ParameterError(
                f"This point has a threshold for each group ({some(self.thresholds)}), so it needs to know the "
                f"group of each example: give {argument('groups', 'COLUMN', python='point.predict(q, groups)')}."
            )
        return self.thresholds_of(groups, len(q))

    def thresholds_of(self, names: ArrayLike | None, examples: int) -> NDArray[np.float64]:
        """Return the threshold of each example, by its group or clade; there may be one threshold for all."""
        if self.by == "all":
            return np.full(examples, self.thresholds[""])
        given = [str(name) for name in np.asarray(names).ravel().tolist()]
        if len(given) != examples:
            raise ParameterError(f"groups needs one entry per example, {examples:,}; got {len(given):,}.")
        distinct, place = np.unique(np.array(given, dtype=str), return_inverse=True)
        unknown = [name for name in distinct.tolist() if name not in self.thresholds]
        if unknown and not self.root_is_safe:
            raise ParameterError(
                f"Nothing is promised for the {self.by} {some(unknown)}, of which no example was there when the "
                f"point was chosen. Leave out these examples, or choose the point again with examples of them."
            )
        # Nothing is known of other groups; the root keeps the promise there too.
        return np.array([self.thresholds.get(name, np.inf) for name in distinct.tolist()])[place]

    def check_tree(self, hierarchy: Hierarchy) -> None:
        """Raise an error that shows the difference if a tree is not the one that the point is for."""
        if hierarchy is self.hierarchy or hierarchy.fingerprint == self.hierarchy.fingerprint:
            return
        ours, theirs = self.hierarchy, hierarchy
        missing = [name for name in ours.names.tolist() if name not in theirs]
        extra = [name for name in theirs.names.tolist() if name not in ours]
        moved = [
            name
            for name in ours.names.tolist()[1:]
            if name in theirs and _parent(ours, name) != _parent(theirs, name)
        ]
        said = []
        if missing:
            said.append(f"it does not have {some(missing)}")
        if extra:
            said.append(f"it has {some(extra)} in addition")
        if moved:
            name = moved[0]
            more = f" (and {len(moved) - 1:,} more differ)" if len(moved) > 1 else ""
            said.append(f"{name!r} is below {_parent(theirs, name)!r}, not below {_parent(ours, name)!r}{more}")
        raise ParameterError(f"The point is for another tree than this one: {'; '.join(said)}. {_AGAIN}")

    # Files -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON, with a digest of it."""
        tree: dict[str, Any] = {
            "fingerprint": self.hierarchy.fingerprint,
            "names": self.hierarchy.names.tolist(),
            "parents": self.hierarchy.parent.tolist(),
        }
        if self.hierarchy.rank is not None:
            tree["ranks"] = self.hierarchy.rank.tolist()
        fields = {name: getattr(self, name) for name in _FIELDS}
        fields["target"], fields["overclassification"] = dict(self.target), dict(self.overclassification)
        fields["thresholds"] = {name: _number(tau) for name, tau in self.thresholds.items()}
        fields["notes"] = list(self.notes)
        content = {"format": _FORMAT, "schema": _VERSION, **fields, "tree": tree}
        return content | {"digest": _digest(content)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the point to a JSON file; see `load`."""
        with atomic_write(path) as file:
            json.dump(self.to_dict(), file, ensure_ascii=False, indent=1)
            file.write("\n")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> OperatingPoint:
        """Read a point written by `save`; anything that was changed since is refused."""
        shown = str(path)
        try:
            content = json.loads(read_text(path), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            if isinstance(error, HedgerowError):
                raise
            raise FileError(f"{shown} is not a point: it is not valid JSON ({error}). {_AGAIN}") from None
        return _read(content, shown)

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, (self.to_dict(), "the point")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatingPoint) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content["digest"])

    @cached_property
    def _content(self) -> dict[str, Any]:
        return self.to_dict()

    def __repr__(self) -> str:
        tau = f"threshold {self.threshold:.6g}" if self.by == "all" else f"{len(self.thresholds)} thresholds"
        if self.by == "all" and math.isinf(self.threshold) and self.threshold > 0:
            tau = "always the root"
        unit = "" if self.clusters is None else f" in {self.clusters:,} clusters"
        return f"OperatingPoint({self.promise}, {self.guarantee}: {tau}, {self.examples:,} examples{unit})"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        _repr_html_: ClassVar[Callable[..., str]]


@final
class PointAnswers:
    """Scores to be answered at a point, checked against it before they are read; see `write_predictions`.

    Parameters
    ----------
    point
        The point.
    scores
        A score file, or what a trained model says about new data. If the point is for scores divided by a
        temperature, they are divided by it.
    """

    def __init__(self, point: OperatingPoint, scores: Scores) -> None:
        point.check_tree(scores.hierarchy)
        self._point = point
        self._scores = scores if point.temperature == 1 else TemperedScores(scores, point.temperature)
        self._groups: NDArray[np.object_] | None = None
        self.path, self.hierarchy, self.warnings = scores.path, scores.hierarchy, scores.warnings
        self.single_child = point.single_child

    @property
    def rows(self) -> int | None:
        """Number of examples, where it is known in advance."""
        return self._scores.rows

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""
        return self._scores.has_ids

    def __iter__(self) -> Iterator[Block]:
        for block in self._scores:
            self._groups = block.groups if self._point.by == "group" else None
            yield block

    def rule(self, _: Hierarchy, q: AnyLikelihoods) -> NDArray[np.int64]:
        """Answer the examples of the block that was yielded last."""
        return self._point.predict(q, self._groups)


def answers_above(
    count: NDArray[Any], node: NDArray[Any], score: NDArray[np.float64], tau: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return each example's answer at a threshold of its own, from its events: see `Events`."""
    passed = np.append(0, np.cumsum(score > np.repeat(tau, count)))
    end = np.cumsum(count, dtype=np.int64)
    moves = passed[end] - passed[end - count]
    answers = np.zeros(len(count), dtype=np.int64)
    moved = moves > 0
    answers[moved] = node[(end - count + moves - 1)[moved]]
    return answers


def clades(q: AnyLikelihoods, depth: int) -> NDArray[np.object_]:
    """Return the name of the clade of each example: the node above its most likely leaf at a depth."""
    hierarchy = q.hierarchy
    above = np.arange(len(hierarchy))
    for level in hierarchy.levels[depth + 1 :]:
        above[level] = above[hierarchy.parent[level]]
    clade = hierarchy.names[above[hierarchy.leaves]]
    found = map_dense_rows(lambda part, _: clade[np.argmax(part[:, hierarchy.leaves], axis=1)], q)
    return np.concatenate([np.zeros(0, dtype=object), *found])


def _parent(hierarchy: Hierarchy, name: str) -> str:
    place = int(hierarchy.parent[hierarchy.index(name)])
    return "" if place < 0 else str(hierarchy.names[place])


# What a file must hold ---------------------------------------------------------------------------------------


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)  # JSON has no infinity


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_threshold(value: object) -> bool:
    return _is_number(value) or value in ("inf", "-inf")


def _is_levels(value: object) -> bool:
    return isinstance(value, dict) and all(_is_number(level) for level in value.values())


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "target": _is_levels,
    "overclassification": _is_levels,
    "guarantee": lambda value: value in GUARANTEES,
    "delta": lambda value: value is None or (_is_number(value) and 0 < value < 1),
    "rule": lambda value: value in (*FAMILIES, "ranks"),
    "by": lambda value: value in ("all", "group", "clade", "rank"),
    "thresholds": lambda value: (
        isinstance(value, dict) and len(value) > 0 and all(map(_is_threshold, value.values()))
    ),
    "scale": lambda value: isinstance(value, str) and value in BOTTOM,
    "root_is_safe": lambda value: isinstance(value, bool),
    "clade_depth": lambda value: value is None or (_is_count(value) and value > 0),
    "information": lambda value: value in ("leaves", "depth"),
    "single_child": lambda value: value in ("skip", "answer"),
    "below_label": lambda value: value in ("label", "wrong"),
    "temperature": lambda value: _is_number(value) and value > 0,
    "examples": _is_count,
    "clusters": lambda value: value is None or _is_count(value),
    "notes": _is_texts,
    "created": lambda value: isinstance(value, str),
    "version": lambda value: isinstance(value, str),
}
"""The fields of a file, and whether a value is possible."""


def _refuse(constant: str) -> None:
    raise ValueError(f"it holds {constant}")


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps({key: content[key] for key in content if key != "digest"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(content: Any, shown: str) -> OperatingPoint:
    """Check every field of a file before it is used."""
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise FileError(f"{shown} is not a point written by hedgerow select.")
    if content.get("schema") != _VERSION:
        raise FileError(f"{shown} was written by another version of hedgerow. {_AGAIN}")
    for name, possible in _FIELDS.items():
        if name not in content:
            raise FileError(f"{shown} has no field {name!r}: it was edited or is damaged. {_AGAIN}")
        try:
            good = possible(content[name])
        except (TypeError, OverflowError):
            good = False
        if not good:
            raise FileError(f"{shown}: the field {name!r} cannot be {_short(content[name])}. {_AGAIN}")
    tree = content.get("tree")
    if not isinstance(tree, dict) or not _is_texts(tree.get("names")) or not isinstance(tree.get("parents"), list):
        raise FileError(f"{shown}: the field 'tree' has no names and parents. {_AGAIN}")
    if content.get("digest") != _digest(content):
        raise FileError(
            f"{shown} was changed after it was written: it no longer agrees with its digest, so it promises "
            f"nothing. {_AGAIN}"
        )
    hierarchy = _tree(tree, shown)
    if hierarchy.fingerprint != tree.get("fingerprint"):
        raise FileError(f"{shown}: the tree in it does not agree with its fingerprint. {_AGAIN}")
    fields = {name: content[name] for name in _FIELDS}
    fields["thresholds"] = {name: float(tau) for name, tau in content["thresholds"].items()}
    fields["notes"] = tuple(content["notes"])
    point = OperatingPoint(hierarchy, **fields)
    _check_thresholds(point, shown)
    return point


def _tree(tree: Mapping[str, Any], shown: str) -> Hierarchy:
    names, parents, given = tree["names"], tree["parents"], tree.get("ranks")
    numbers = all(isinstance(parent, int) and -1 <= parent < len(names) for parent in parents)
    if (
        not numbers
        or len(parents) != len(names)
        or not (given is None or (_is_texts(given) and len(given) == len(names)))
    ):
        raise FileError(f"{shown}: the names, parents and ranks of its tree do not belong together. {_AGAIN}")
    try:
        return Hierarchy(
            np.array(names, dtype=object),
            np.array(parents, dtype=np.int64),
            None if given is None else np.array(given, dtype=object),
        )
    except HedgerowError as error:
        raise FileError(f"{shown}: its tree is not a tree. {error}") from None


def _check_thresholds(point: OperatingPoint, shown: str) -> None:
    """Refuse thresholds that are not for what the point says they are for."""
    known: set[str] | None = None
    if point.by == "all":
        known = {""}
    elif point.by == "rank":
        known = set(Ranks.of(point.hierarchy).names)
    elif point.by == "clade":
        known = set(point.hierarchy.names.tolist())
    if (known is not None and not set(point.thresholds) <= known) or (point.by == "rank") != (
        point.rule == "ranks"
    ):
        raise FileError(f"{shown}: its thresholds do not fit the rest of it. {_AGAIN}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
