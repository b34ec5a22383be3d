"""From the columns of a score file to likelihoods in node order: names are bound, values are checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow import likelihood
from hedgerow.arrays import operations
from hedgerow.errors import ScoreError, UnknownNameError, argument, closest, counted, some
from hedgerow.likelihood import ROUNDING, SUM_TOLERANCE, Likelihoods, from_probability
from hedgerow.score_files.source import row_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.score_files.source import Content
    from hedgerow.tree import Hierarchy, Indices

ColumnKind = Literal["leaves", "nodes"]

_NODE_LOGITS = (
    "its columns are all nodes of the tree, and what logits of nodes mean depends on how the model was trained. "
    "Turn them into likelihoods first (hedgerow.likelihood has one function for each kind of model), or give "
    "logits of the leaves only."
)
_INDEX = " A column without a name is usually an index: write the table with index=False."
_UNKNOWN_LEAVES = (
    " If these are classes that the model does not know, add columns of zeros (logits: -inf), or give a tree of "
    "only those that it knows: Hierarchy.subtree(names)[0].to_edges(FILE)."
)
_LIKELY_PROBABILITIES = (
    "The scores were read as logits, but every row looks like {what}. If that is what they are, "
    "leave out {argument}, or save them as 'probabilities'{after}."
)
_LIKELY = {
    1: ("probabilities: between 0 and 1, summing to 1, or nearly", ""),
    100: ("percentages: summing to 100, or nearly", ", divided by 100"),
}
_NEARLY = 0.05  # how far from their sum rounded numbers may be, as a share of it


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """How the columns of a file stand to the nodes of a tree. Use `Columns.bind`."""

    hierarchy: Hierarchy
    source: str
    classes: list[str]
    kind: ColumnKind
    place: Indices
    """The column of each leaf, or of each node; without a column for the root, of each node below it."""
    content: Content
    scale: Scale
    tolerance: float

    @classmethod
    def bind(
        cls,
        hierarchy: Hierarchy,
        source: str,
        classes: list[str],
        *,
        content: Content,
        scale: Scale,
        dtype: np.dtype[Any],
    ) -> Columns:
        """Find what the columns are, or say what is missing or extra."""
        column = {name: i for i, name in enumerate(classes)}
        names = hierarchy.names.tolist()
        kinds: list[tuple[ColumnKind, list[str]]] = [("nodes", names), ("nodes", names[1:])]
        if content != "likelihoods":
            kinds.insert(0, ("leaves", hierarchy.names[hierarchy.leaves].tolist()))
        for kind, wanted in kinds:
            if len(classes) == len(wanted) and column.keys() == set(wanted):
                if content == "logits" and kind == "nodes":
                    raise ScoreError(f"{source} holds logits, but {_NODE_LOGITS}")
                place = np.fromiter(map(column.__getitem__, wanted), dtype=np.int64, count=len(wanted))
                tolerance = SUM_TOLERANCE.get(dtype.name, 1e-3)
                return cls(hierarchy, source, classes, kind, place, content, scale, tolerance)
        raise UnknownNameError(_misfit(hierarchy, source, classes))

    def likelihoods(self, scores: NDArray[Any], start: int) -> Likelihoods:
        """Return the likelihoods of some rows, the first of which is row `start` of the file."""
        if scores.dtype not in (np.float32, np.float64):
            scores = scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)
        if self.content == "logits":
            self._check_logits(scores, start)
            q = likelihood.flat_softmax(self.hierarchy, self._ordered(scores))
        elif self.kind == "leaves":
            self._check_leaves(scores, start)
            q = operations.leaf_shares(self.hierarchy, self._ordered(scores))
        else:
            self._check_nodes(scores, start)
            certain = float(from_probability(1.0, self.scale))
            q = np.full((len(scores), len(self.hierarchy)), certain, dtype=scores.dtype)
            np.minimum(self._ordered(scores), certain, out=q[:, len(self.hierarchy) - len(self.place) :])
        return Likelihoods.checked(self.hierarchy, q, self.scale)

    def likely_probabilities(self, scores: NDArray[Any]) -> str | None:
        """Return a warning if scores that are read as logits look like probabilities."""
        if self.content != "logits" or scores.shape[1] < 2 or scores.min() < 0:
            return None
        total = scores.sum(axis=1, dtype=np.float64)
        for whole, (what, after) in _LIKELY.items():
            if np.abs(total - whole).max() <= _NEARLY * whole:
                return _LIKELY_PROBABILITIES.format(what=what, after=after, argument=argument("logits", True))
        return None

    def _ordered(self, scores: NDArray[Any]) -> NDArray[Any]:
        in_order = np.array_equal(self.place, np.arange(len(self.place)))
        return scores if in_order else np.take(scores, self.place, axis=1)

    def _check_logits(self, scores: NDArray[Any], start: int) -> None:
        good = np.isfinite(scores.max(axis=1))  # -inf means probability 0, unless all are; NaN is the max if there
        if not good.all():
            row = int(np.argmin(good))
            if np.all(scores[row] == -np.inf):
                raise ScoreError(
                    f"{self.source}: row {start + row} (counted from 0) has -inf for every class, which is no "
                    f"distribution. Remove the row, or compute its logits again."
                )
            self._refuse(scores, ~(scores[row] < np.inf), row, start, "Logits must be finite (or -inf)", "")

    def _check_leaves(self, scores: NDArray[Any], start: int) -> None:
        total = scores.sum(axis=1, dtype=np.float64)
        lowest = scores.min(axis=1)
        good = (lowest >= 0) & (np.abs(total - 1) <= self.tolerance)  # NaN fails both
        if good.all():
            return
        row = int(np.argmin(good))
        advice = _advice(scores[row], total[row])
        impossible = ~((scores[row] >= 0) & (scores[row] <= 1 + self.tolerance))
        if impossible.any():
            self._refuse(scores, impossible, row, start, "Probabilities lie between 0 and 1", advice)
        raise ScoreError(
            f"{self.source}: leaf probabilities must sum to 1 within {self.tolerance}; {row_name(start + row)}"
            f" sums to {total[row]:.6g}. {advice}"
        )

    def _check_nodes(self, scores: NDArray[Any], start: int) -> None:
        if self.scale != "probability":
            lowest, highest, rule = -np.inf, np.inf, "Likelihoods must be numbers"
            advice = "Compute them again."
        else:
            tolerance = self.tolerance if self.tolerance in SUM_TOLERANCE.values() else ROUNDING
            lowest, highest, rule = 0.0, 1 + tolerance, "Likelihoods of nodes lie between 0 and 1"
            advice = f"If they are logits ({argument('logits', True)} is for leaves): {_NODE_LOGITS}"
        good = (scores.min(axis=1) >= lowest) & (scores.max(axis=1) <= highest)  # NaN fails both
        if not good.all():
            row = int(np.argmin(good))
            impossible = ~((scores[row] >= lowest) & (scores[row] <= highest))
            self._refuse(scores, impossible, row, start, rule, advice)

    def _refuse(
        self, scores: NDArray[Any], bad: NDArray[np.bool_], row: int, start: int, rule: str, advice: str
    ) -> None:
        worst = int(np.argmax(bad))
        value = scores[row, worst]
        what = "no number (NaN)" if np.isnan(value) else f"{value:.6g}"
        raise ScoreError(
            f"{self.source}: {rule}; {row_name(start + row)} has {what} for "
            f"{self.classes[worst]!r}. {advice}".rstrip()
        )


def clash(hierarchy: Hierarchy, source: str, reserved: list[str]) -> None:
    """Refuse a table in which a column about the examples is also the name of a class."""
    known = set(hierarchy.names.tolist())
    for name in reserved:
        if name in known:
            raise UnknownNameError(
                f"{source} has a column {name!r}, the name of a class and of a column about the examples. Rename "
                f"the class, or use an .npz file."
            )


def label_nodes(hierarchy: Hierarchy, source: str, labels: list[str], start: int) -> Indices:
    """Return the nodes that labels name, or list some that are not in the tree, with their rows."""
    try:
        return hierarchy.indices(labels)
    except UnknownNameError:
        known = set(hierarchy.names.tolist())
    first: dict[str, int] = {}
    for row, label in enumerate(labels):
        if label not in known:
            first.setdefault(label, start + row)
    if "" in first:
        raise ScoreError(f"{source}: {row_name(first[''])} has no label.")
    shown = ", ".join(f"{name!r} (row {row:,})" for name, row in list(first.items())[:5])
    more = ", ..." if len(first) > 5 else ""
    raise UnknownNameError(
        f"{source}: {counted(len(first), 'label is', 'labels are')} not in the tree: {shown}{more}; rows are "
        f"counted from 0.{closest(list(first)[:5], known)}"
    )


def _if_logits() -> str:
    return (
        f"If these are logits, say so with {argument('logits', True)}, or save them in the .npz file as 'logits'."
    )


def _advice(scores: NDArray[Any], total: float) -> str:
    """Say what may have happened to a row of scores that is no distribution."""
    if np.isnan(total):
        return "Remove the row, or compute its scores again."
    if scores.min() >= 0 and abs(total - 1) <= _NEARLY:
        remedy = "write more digits, or divide each row by its sum"
        return f"If these are probabilities that were rounded, {remedy}. {_if_logits()}"
    if scores.min() >= 0 and abs(total - 100) <= 100 * _NEARLY:
        return f"If these are percentages, divide them by 100. {_if_logits()}"
    return _if_logits()


def _misfit(hierarchy: Hierarchy, source: str, classes: list[str]) -> str:
    """Say why columns are neither the leaves nor all nodes."""
    names = hierarchy.names.tolist()
    leaves = hierarchy.names[hierarchy.leaves].tolist()
    inner = set(names) - set(leaves)
    # Columns that name an inner node are meant to be all nodes; otherwise leaves are expected.
    wanted = names if inner & set(classes) else leaves
    optional = {names[0]}
    found = set(classes)
    repeated = [name for name, count in Counter(classes).items() if count > 1]
    missing = [name for name in wanted if name not in found and name not in optional]
    extra = [name for name in dict.fromkeys(classes) if name not in set(wanted)]
    parts = [
        f"{len(which):,} {what} ({some(which)})"
        for which, what in ((repeated, "repeated"), (missing, "missing"), (extra, "extra"))
        if which
    ]
    if not parts and inner == optional | (inner & found):  # the root beside the leaves of a flat tree
        parts = ["the inner nodes are missing"]
    index = _INDEX if any(not name or name.startswith(("Unnamed:", "__index_level")) for name in extra) else ""
    unknown = _UNKNOWN_LEAVES if wanted is leaves and missing and len(parts) == 1 else ""
    expected = "all nodes (the root is optional)" if wanted is names else "the leaves"
    return (
        f"The {counted(len(classes), 'class column', 'class columns')} of {source} are neither the "
        f"{len(leaves):,} leaves nor all {len(names):,} nodes of the tree. Taken as {expected}: "
        f"{'; '.join(parts)}.{closest([name for name in extra if name][:3], missing)}{index}{unknown}"
    )
