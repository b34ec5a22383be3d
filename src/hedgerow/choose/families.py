"""Families of operating points: how answers change along one number, from the root to the most specific.

Each family has one number, the *threshold*: high for conservative answers, low for specific ones. For each
example, the answers change at certain values of it, its *events*. Everything else in this package works on events
alone, so it is the same for all families, and for dense and sparse likelihoods.

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
    """From likelihoods and labels to the events of each example."""
    is_lambda: bool = False
    """Whether the number is a λ from 0 on; else it is a threshold on the scale of the likelihoods."""

    def grid(self, scale: Scale) -> NDArray[np.float64]:
        """Return thresholds from the highest down that do not depend on any example; the last one is the lowest.

        They are evenly spaced in the logit of the likelihood, or in the logarithm of λ.
        """
        if self.is_lambda:
            return np.append(np.exp2(np.arange(20, -20, -_STEP)), 0.0)
        return np.append(from_logit(_STEP * np.arange(400, -200, -1), scale), BOTTOM[scale])


def _climbing(q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    sets = climbing_sets(q, candidates)
    return Events.of_arrays(labels, sets.count, sets.node, sets.score + 0.0)  # -0.0 becomes 0.0


def _expected_information(q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    """Return the upper envelope of the lines ``(I + λ) q`` over λ, from large λ to small.

    All answers are in the ordered Pareto set. The next answer after `y` is the node below whose line meets that of
    `y` at the largest λ; if several meet there, the most specific of them.
    """
    sets = candidates.sets(q, BOTTOM[q.scale])
    count, node, score = (as_numpy(each) for each in (sets.count, sets.node, sets.score))
    p = to_probability(score.astype(np.float64), q.scale)
    gain = candidates.value[node] * p
    end = np.cumsum(count)
    start = end - count
    # The answer for the largest λ is the first of the set. If that is not the root, the root is never the answer.
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
        meets[np.isnan(meets)] = -np.inf  # both likelihoods round to the probability 0
        highest = np.maximum.reduceat(meets, first)
        winner = np.where(meets == np.repeat(highest, last - current - 1), rivals, -1)
        current = np.maximum.reduceat(winner, first)
        going = highest > 0
        example, current, last = example[going], current[going], last[going]
        previous = np.minimum(highest, previous)[going]  # equal, but for rounding, if three lines meet
        found.append((example, node[current], previous))
    who, nodes, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    order = np.argsort(who, kind="stable")  # an example's events were found in their order
    return Events.of_arrays(labels, np.bincount(who, minlength=len(count)), nodes[order], scores[order])


def _rivals(current: Indices, last: Indices) -> tuple[Indices, Indices, Indices]:
    """Return all places after each current one, the current place of each, and where those of each begin."""
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
"""The families of rules, by the name of the rule."""
