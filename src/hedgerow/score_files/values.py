"""From the values of a score file to likelihoods in node order, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.special import softmax

from hedgerow import likelihood
from hedgerow.arrays import operations
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.likelihood import ROUNDING, SUM_TOLERANCE, Likelihoods, from_probability, sum_tolerance
from hedgerow.score_files.reader import row_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.score_files.class_columns import ColumnFit
    from hedgerow.score_files.reader import Content, Reader
    from hedgerow.tree import Hierarchy

_NODE_LOGITS = (
    "its columns are all nodes of the tree, and what logits of nodes mean depends on how the model was trained. "
    "Turn them into likelihoods first (hedgerow.likelihood has one function for each kind of model), or give "
    "logits of the leaves only."
)
_AGAIN = "Remove the row, or compute its scores again."
_NEARLY = 0.05  # how far from their sum rounded numbers may be, as a share of it


@final
@dataclass(frozen=True, eq=False)
class Values:
    """What the values of a score file are, and how they become likelihoods.

    Parameters
    ----------
    hierarchy
        The tree.
    reader
        The file.
    fit
        How its columns stand to the nodes.
    logits
        Whether what the file calls probabilities are logits.
    renormalise
        Whether rows of probabilities may have any positive sum, by which they are divided.
    outside
        Columns that are not in the tree, if columns are classes at any depth.
    """

    hierarchy: Hierarchy
    reader: Reader
    fit: ColumnFit
    logits: bool
    renormalise: bool
    outside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is not defined."""
        path = self.reader.path
        if self.content == "logits" and self.fit.kind == "nodes":
            raise ScoreError(f"{path} holds logits, but {_NODE_LOGITS}")
        if self.content == "likelihoods" and self.fit.kind == "own":
            raise ParameterError(
                f"{path} holds likelihoods of nodes, not probabilities of classes: leave out "
                f"{argument('columns', 'own')}."
            )
        if self.renormalise and (self.content != "probabilities" or self.fit.kind == "nodes"):
            what = self.content if self.content != "probabilities" else "likelihoods of all nodes"
            raise ParameterError(
                f"{path} holds {what}, and {_renormalise()} is for probabilities of the leaves: leave it out."
            )

    @property
    def content(self) -> Content:
        """What the values are."""
        if self.logits and self.reader.content == "probabilities":
            return "logits"
        return self.reader.content

    @property
    def tolerance(self) -> float:
        """How far from 1 a row of leaf probabilities may sum."""
        return sum_tolerance(self.reader.dtype)

    def likelihoods(self, scores: NDArray[Any], start: int) -> Likelihoods:
        """Return the likelihoods of some rows, the first of which is row `start` of the file."""
        if scores.dtype not in (np.float32, np.float64):
            scores = scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)
        if self.content == "logits":
            self._check_logits(scores, start)
            if self.fit.kind == "own":
                q = self._from_columns(softmax(scores, axis=1))
            else:
                q = likelihood.flat_softmax(self.hierarchy, self._ordered(scores))
        elif self.fit.kind == "own":
            total = self._check_probabilities(scores, start)
            q = self._from_columns(scores / total[:, None] if self.renormalise else scores)
        elif self.fit.kind == "leaves":
            total = self._check_probabilities(scores, start)
            if self.renormalise:
                scores = (scores / total[:, None]).astype(scores.dtype)
            q = operations.leaf_shares(self.hierarchy, self._ordered(scores))
        else:
            self._check_nodes(scores, start)
            certain = float(from_probability(1.0, self.reader.scale))
            q = np.full((len(scores), len(self.hierarchy)), certain, dtype=scores.dtype)
            np.minimum(self._ordered(scores), certain, out=q[:, len(self.hierarchy) - len(self.fit.place) :])
        return Likelihoods.checked(self.hierarchy, q, self.reader.scale)

    def likely_probabilities(self, scores: NDArray[Any]) -> str | None:
        """Return a warning if scores that are read as logits look like probabilities."""
        if self.content != "logits" or scores.shape[1] < 2 or scores.min() < 0:
            return None
        total = scores.sum(axis=1, dtype=np.float64)
        for whole, what in ((1, "probabilities: 0 or more, summing to 1"), (100, "percentages: summing to 100")):
            if np.abs(total - whole).max() <= _NEARLY * whole:
                remedy = (
                    f"leave out {argument('logits', True)}" if self.logits else "save them as 'probabilities'"
                ) + ("" if whole == 1 else f" and say {_renormalise()}")
                return (
                    f"The scores were read as logits, but every row looks like {what}, or nearly. If that is what "
                    f"they are, {remedy}."
                )
        return None

    def _from_columns(self, scores: NDArray[Any]) -> Any:
        return likelihood.from_columns(self.hierarchy, scores, self.reader.classes, self.outside)

    def _ordered(self, scores: NDArray[Any]) -> NDArray[Any]:
        place = self.fit.place
        in_order = np.array_equal(place, np.arange(len(place)))
        return scores if in_order else np.take(scores, place, axis=1)

    def _check_logits(self, scores: NDArray[Any], start: int) -> None:
        good = np.isfinite(scores.max(axis=1))  # -inf means probability 0, unless all are; NaN is the max if there
        if not good.all():
            row = int(np.argmin(good))
            if np.all(scores[row] == -np.inf):
                raise ScoreError(
                    f"{self.reader.path}: {row_name(start + row)} has -inf for every class, which is no "
                    f"distribution. {_AGAIN}"
                )
            self._refuse(scores, ~(scores[row] < np.inf), row, start, "Logits must be finite (or -inf)", _AGAIN)

    def _check_probabilities(self, scores: NDArray[Any], start: int) -> NDArray[np.float64]:
        """Return the sum of each row."""
        total: NDArray[np.float64] = scores.sum(axis=1, dtype=np.float64)
        if self.renormalise:
            sums = (total > 0) & (total < np.inf)
        elif self.fit.kind == "own":
            sums = total <= 1 + self.tolerance
        else:
            sums = np.abs(total - 1) <= self.tolerance
        good = (scores.min(axis=1) >= 0) & sums  # NaN fails both
        if good.all():
            return total
        row = int(np.argmin(good))
        advice = self._advice(scores, row, total)
        if self.renormalise:
            impossible, rule = ~((scores[row] >= 0) & (scores[row] < np.inf)), "Probabilities must be 0 or more"
        else:
            impossible = ~((scores[row] >= 0) & (scores[row] <= 1 + self.tolerance))
            rule = "Probabilities lie between 0 and 1"
        if impossible.any():
            self._refuse(scores, impossible, row, start, rule, advice)
        most = "at most " if self.fit.kind == "own" else ""
        wanted = "have a positive sum" if self.renormalise else f"sum to {most}1 within {self.tolerance}"
        what = "probabilities" if self.fit.kind == "own" else "leaf probabilities"
        raise ScoreError(
            f"{self.reader.path}: {what} must {wanted}; {row_name(start + row)} sums to {total[row]:.6g}. {advice}"
        )

    def _advice(self, scores: NDArray[Any], row: int, total: NDArray[np.float64]) -> str:
        """Say what may have happened to scores of which a row is no distribution; nothing that they contradict."""
        if self.renormalise or not np.isfinite(total[row]) or total[row] == 0:
            return _AGAIN
        if np.fmin.reduce(scores, axis=None) < 0:
            return _if_logits()
        divide = f"say {_renormalise()}, which divides each row by its sum"
        if abs(total[row] - 1) <= _NEARLY:
            return f"If these are probabilities that were rounded, {divide}."
        if abs(total[row] - 100) <= 100 * _NEARLY:
            return f"If these are percentages, {divide}."
        if np.fmax.reduce(scores, axis=None) <= 1:
            return f"If only the shares within a row matter, {divide}."
        return f"If these are counts or weights, {divide}. {_if_logits()}"

    def _check_nodes(self, scores: NDArray[Any], start: int) -> None:
        if self.reader.scale != "probability":
            lowest, highest, rule, advice = -np.inf, np.inf, "Likelihoods must be numbers", _AGAIN
        else:
            tolerance = self.tolerance if self.tolerance > SUM_TOLERANCE else ROUNDING
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
            f"{self.reader.path}: {rule}; {row_name(start + row)} has {what} for "
            f"{self.reader.classes[worst]!r}. {advice}"
        )


def _renormalise() -> str:
    return argument("renormalise", True)


def _if_logits() -> str:
    return (
        f"If these are logits, say so with {argument('logits', True)}, or save them in the .npz file as 'logits'."
    )
