"""Choose the penalty, and the temperature: both by what the model says of held-out examples.

The score of a penalty is the mean of AP, which rewards answers that are right and specific, and of the accuracy of
leaves. From a strong penalty on, it is relaxed for as long as that pays. Of values that are as good as the best,
within a standard error of the difference, the strongest is chosen: it hedges more, also on unseen classes.
Each value is tried from the same start, so that none gains by having trained longer.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from hedgerow import infer
from hedgerow.learn.solver import Fitting, scores
from hedgerow.likelihood import fit_temperature
from hedgerow.measure import CurveBuilder, metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.export import Layer
    from hedgerow.learn.network import Network
    from hedgerow.tree import Indices

PenaltyPath = dict[str, list[float]]
"""The values of "C" that were tried, and the "AP" and "leaf" accuracy of each on held-out examples."""

USUAL = 30.0
"""The C to use if nothing can be held out."""
FIRST, FACTOR = 32.0, 8.0
"""The path begins at this C; the ratio of successive values."""
LONGEST = 8
"""The largest number of values to try."""
_HASTE = 0.6  # epochs of a trial, as a share of those of a fit
_SHARE, _FOLDS = 0.2, 3  # share held out in a fold, and the largest number of folds
_FEWEST, _ENOUGH, _MOST = 20, 500, 3_000  # held-out examples: at least, in all folds; enough; at most, in one
_JUDGED = 500  # held-out examples that choose the temperature, at most
_BLOCK = 512  # held-out examples at a time


@dataclass(frozen=True)
class Trial:
    """What a penalty gives on the held-out examples."""

    ap: float
    right: NDArray[np.bool_]
    """Whether the most likely leaf of each example is right."""

    @property
    def leaf(self) -> float:
        """The accuracy of leaves."""
        return float(self.right.mean())

    @property
    def score(self) -> float:
        """The mean of both."""
        return (self.ap + self.leaf) / 2

    def beats(self, other: Trial) -> bool:
        """Return whether this is better by more than a standard error.

        All penalties are tried on the same examples, so only those on which they differ count.
        """
        differ = int(np.count_nonzero(self.right != other.right))
        error = math.sqrt(max(differ, 1)) / len(self.right)
        return self.score - other.score > error


@dataclass(frozen=True)
class Choice:
    """A penalty, what was tried, and what follows from the choice."""

    C: float = USUAL
    path: PenaltyPath = field(default_factory=lambda: {"C": [], "AP": [], "leaf": []})
    temperature: float = 1.0
    layers: list[Layer] | None = None
    """Weights that were learnt from most of the examples, if training, in rounds, may go on from them."""
    reached: float | None = None
    """The objective that these weights have there."""


def choose(
    fitting: Fitting,
    layers: Sequence[Layer],
    X: Any,
    label: Indices,
    weight: NDArray[np.float64],
    random: np.random.RandomState,
    done: Callable[[str], None] = lambda _: None,
    given: float | None = None,
) -> Choice:
    """Choose C, unless it is given, and the temperature, for a model that starts with these weights.

    If too little can be held out, C is the usual one, and the temperature 1. `done` is called with a description
    of every value that was tried.
    """
    splits = folds(X, label, random)
    if not splits:
        return Choice(given or USUAL)
    method, hierarchy = fitting.method, fitting.method.hierarchy
    learnt = [fitting.examples(X[rows], label[rows], weight[rows]) for rows, _ in splits]
    epochs = math.ceil(_HASTE * fitting.schedule.epochs)
    trained: dict[float, list[Network]] = {}
    path = Choice().path

    def strength(C: float, fold: int) -> float:
        return 1 / (C * float(weight[splits[fold][0]].sum()))

    def held_out(C: float) -> Iterator[tuple[NDArray[np.float64], Indices]]:
        """Yield scores and labels of blocks of held-out examples."""
        for network, (_, others) in zip(trained[C], splits, strict=True):
            found = network.layers()
            for block in (others[i : i + _BLOCK] for i in range(0, len(others), _BLOCK)):
                yield scores(fitting.scaling, found, X[block]), label[block]

    def attempt(C: float) -> Trial:
        trained[C] = [fitting.network(layers) for _ in splits]
        for fold, network in enumerate(trained[C]):
            fitting.train(network, learnt[fold], strength(C, fold), rounds=1, epochs=epochs)
        curve, right = CurveBuilder(hierarchy, scale=method.scale), []
        for theta, answer in held_out(C):
            q = method.link(hierarchy, theta, scale=method.scale)
            curve.update(q, answer)
            right.append(metrics.correct(hierarchy, answer, infer.leaf(hierarchy, q, scale=method.scale)) > 0)
        trial = Trial(curve.compute().summary()["AP"], np.concatenate(right))
        for name, value in {"C": C, "AP": trial.ap, "leaf": trial.leaf}.items():
            path[name].append(value)
        done(f"C = {C:.3g}, AP {100 * trial.ap:.1f} %")
        return trial

    C = given
    if C is None:
        C = relax(attempt)
    else:
        attempt(C)
    theta, answer = map(np.concatenate, zip(*held_out(C), strict=True))
    judged = random.permutation(len(answer))[:_JUDGED]
    fitted = fit_temperature(
        hierarchy,
        theta[judged],
        answer[judged],
        lambda scaled: method.link(hierarchy, scaled, scale="log"),
        judge="nodes" if method.scale == "logit" else "label",
    )
    choice = Choice(C, path, fitted.value)
    if fitting.schedule.rounds == 1:
        return choice
    first = trained[C][0]
    return replace(choice, layers=first.layers(), reached=fitting.objective(first, learnt[0], strength(C, 0)))


def relax(attempt: Callable[[float], Trial]) -> float:
    """Try weaker penalties while they are better, or else stronger ones, and return the C chosen.

    It is the smallest value, `FIRST` or more, that the best does not beat; if there is none, the largest below.
    """
    tried = {FIRST: attempt(FIRST)}
    for factor in (FACTOR, 1 / FACTOR):
        C, better = FIRST, True
        while better and len(tried) < LONGEST:
            C *= factor
            best = max(tried.values(), key=lambda trial: trial.score)
            tried[C] = attempt(C)
            better = tried[C].beats(best)
        if tried[C].score > tried[FIRST].score:
            break
    best = max(tried.values(), key=lambda trial: trial.score)
    close = [C for C, trial in tried.items() if not best.beats(trial)]
    return min([C for C in close if C >= FIRST], default=max(close))


def folds(features: Any, label: Indices, random: np.random.RandomState) -> list[tuple[Indices, Indices]]:
    """Split examples into those to learn from and those held out, several times if there are few.

    One example of each label is always learnt from. Equal examples stay together, and one of them is held out for
    all: a copy among those learnt from would make it easy, and a weight should mean the same as repetition. Labels
    at the root are never held out. If too little can be held out, there are no folds.
    """
    distinct, member = np.unique(_digests(features, label), return_inverse=True)
    first = np.full(len(distinct), len(label))
    np.minimum.at(first, member, np.arange(len(label)))
    order = random.permutation(len(distinct))
    _, kept = np.unique(label[first[order]], return_index=True)
    spare = np.delete(order, kept)
    spare = spare[label[first[spare]] > 0]
    # Rare labels have fewer to spare: draw them sooner, so that each label has its share of what is held out.
    size = np.bincount(label[first])[label[first[spare]]]
    spare = spare[np.argsort(random.exponential(size=len(spare)) * (size - 1) / size)]
    count = min(round(_SHARE * len(distinct)), _MOST, len(spare))
    if count == 0:
        return []
    wanted = min(-(-_ENOUGH // count), _FOLDS, len(spare) // count)
    if wanted * count < _FEWEST:
        return []
    groups = [spare[i * count : (i + 1) * count] for i in range(wanted)]
    return [(np.flatnonzero(~np.isin(member, group)), first[group]) for group in groups]


def _digests(features: Any, label: Indices) -> NDArray[np.int64]:
    """Return a number for each example that depends only on its features and label."""
    if sparse.issparse(features):
        data, indices = features.data, features.indices  # type: ignore[attr-defined]
        rows = [
            zlib.crc32(data[a:b].tobytes(), zlib.crc32(indices[a:b].tobytes()))
            for a, b in pairwise(features.indptr)  # type: ignore[attr-defined]
        ]
    else:
        rows = [zlib.crc32(row) for row in np.ascontiguousarray(features)]
    return np.array(rows, dtype=np.int64) * (int(label.max(initial=0)) + 1) + label
