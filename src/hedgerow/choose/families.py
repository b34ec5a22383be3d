"""Families of rules: the answers as functions of one number, from the root to the most specific answers.

The number is the *threshold*: high for conservative answers, low for specific ones. The answer to an example
changes only at some thresholds, its *events*. The rest of this package works on events alone, so it is the same
for all families, and for dense and sparse likelihoods.

- "threshold": the most specific node with a likelihood above τ;
- "climbing": from the most likely leaf up to the first node with a likelihood above τ (Goren et al.);
- "expected-information": the node with the largest (I + λ) q (Deng et al.); the number is λ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.infer import Candidates, climbing_sets
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Scale, from_logit, to_probability
from hedgerow.measure import Events
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.tree import Indices


_STEP = 0.05


@final
@dataclass(frozen=True)
class Family:
    """Rules that differ in one number."""

    events: Callable[[AnyLikelihoods, Indices, Candidates], Events]
    """Return the events of each example, given likelihoods and labels."""
    is_lambda: bool = False
    """Whether the number is a λ, 0 or more; otherwise it is a threshold on the scale of the likelihoods."""

    def grid(self, scale: Scale) -> NDArray[np.float64]:
        """Return thresholds that depend on no example, from the highest to the lowest possible one.

        They are evenly spaced in the logit of the likelihood or in the logarithm of λ.
        """
        if self.is_lambda:
            return np.append(np.exp2(np.arange(20, -20, -_STEP)), 0.0)
        return np.append(from_logit(_STEP * np.arange(400, -200, -1), scale), BOTTOM[scale])


def _climbing(q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    sets = climbing_sets(q, candidates)
    return Events.of_arrays(labels, sets.count, sets.node, sets.score + 0.0)  # -0.0 becomes 0.0


def _expected_information(q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    """Follow the upper envelope of the lines ``(I + λ) q`` from large λ to small.

    All answers are in the ordered Pareto set. The next answer is the node, after the current one in the set, whose
    line meets the current line at the largest λ; if several do, the most specific of them.
    """
    sets = candidates.sets(q, BOTTOM[q.scale])
    count, node, score = (as_numpy(each) for each in (sets.count, sets.node, sets.score))
    p = to_probability(score.astype(np.float64), q.scale)
    gain = candidates.value[node] * p
    end = np.cumsum(count)
    start = end - count
    # The first of the set is the answer for the largest λ. If it is not the root, the root is never the answer.
    example = np.flatnonzero(count > 0)
    named = example[node[start[example]] > 0]
    found = [(named, node[start[named]], np.full(len(named), np.inf))]
    current, last, previous = start[example], end[example], np.full(len(example), np.inf)
    while True:
        more = current + 1 < last
        example, current, last, previous = example[more], current[more], last[more], previous[more]
        if not len(example):
            break
        rivals, at, first = _rivals(current, last)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = (gain[rivals] - gain[at]) / (p[at] - p[rivals])
        meets[np.isnan(meets)] = -np.inf  # both probabilities are rounded to 0
        highest = np.maximum.reduceat(meets, first)
        winner = np.where(meets == np.repeat(highest, last - current - 1), rivals, -1)
        current = np.maximum.reduceat(winner, first)
        going = highest > 0
        example, current, last = example[going], current[going], last[going]
        previous = np.minimum(highest, previous)[going]  # where three lines meet, rounding may raise it
        found.append((example, node[current], previous))
    who, nodes, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    order = np.argsort(who, kind="stable")  # stable, since the events of each example are in order
    return Events.of_arrays(labels, np.bincount(who, minlength=len(count)), nodes[order], scores[order])


def _rivals(current: Indices, last: Indices) -> tuple[Indices, Indices, Indices]:
    """Return the positions after each current one, the current one of each, and where those of each begin."""
    width = last - current - 1
    first = np.cumsum(width) - width
    return np.arange(width.sum()) + np.repeat(current + 1 - first, width), np.repeat(current, width), first


FAMILIES: Registry[Family] = Registry(
    "rule",
    {
        "threshold": Family(Events.of),
        "climbing": Family(_climbing),
        "expected-information": Family(_expected_information, is_lambda=True),
    },
)
"""The families, by the name of their rule."""
