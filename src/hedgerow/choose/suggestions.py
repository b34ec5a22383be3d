"""If nearly every answer is the root: why that is so, and which requests would give more answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.answered import starting_thresholds
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.promise import ANSWERED
from hedgerow.choose.select import choose
from hedgerow.choose.thresholds import covered_and_wrong
from hedgerow.errors import HedgerowError
from hedgerow.measure import Comparison, Ranks, metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.choose.calibration import CalibrationSet
    from hedgerow.choose.point import OperatingPoint
    from hedgerow.choose.request import Request

MOSTLY_ROOT = 0.9
"""Above this share of answers at the root, `select` says why."""
_LISTED = 5
_LOOSER = (2, 4, 8)
_USUAL_DELTA = Fraction(1, 20)


@final
@dataclass(frozen=True)
class Obstacle:
    """A class that is a wrong answer with a high likelihood."""

    answer: str
    likelihood: float
    """Its largest likelihood where it is wrong, on the scale of the point."""
    label: str
    """The most frequent label of the examples that it is wrong for."""
    examples: int
    """The number of these examples, among those that are wrong first."""


@final
@dataclass(frozen=True)
class Suggestion:
    """An alternative request and its empirical result."""

    options: tuple[str, ...]
    answered: float
    """The share of answers below the root."""
    correct: float
    """The share of all answers that are right."""
    right_of_answered: float
    """The share of the answers below the root that are right."""


@final
@dataclass(frozen=True)
class Silence:
    """Why nearly every answer is the root, and which requests would give more answers."""

    wrong: int
    """The number of examples that are wrong first, as the threshold falls."""
    likelihood: float
    """The smallest likelihood of their wrong answers, on the scale of the point."""
    answered: int
    """For a promise about the answers given: how many examples or clusters have an answer where walks start."""
    needed: int
    """The least number of them needed if none is wrong; 0 for a promise about all examples."""
    obstacles: tuple[Obstacle, ...]
    """The classes of the wrong answers, the most frequent first."""
    suggestions: tuple[Suggestion, ...]
    tried: int
    """The number of requests tried with these examples, the original one included."""
    by_rank: tuple[str, ...]
    """The options of a request for levels by rank, which was not tried; empty if it is not possible."""

    @property
    def few(self) -> bool:
        """Whether there are too few answers where walks start."""
        return self.answered < self.needed


def silence(point: OperatingPoint, examples: CalibrationSet) -> Silence | None:
    """Return why nearly every answer is the root; None unless the root always meets the target."""
    request, found, tried = point.request, [], 1
    if request.target is None or not point.root_is_safe:
        return None
    for requests in _requests(request, examples):
        for asked in requests:
            tried += 1
            if (suggestion := _tried(asked, examples)) is not None:
                found.append(suggestion)
                break
    return Silence(*_reason(request, examples), tuple(found), tried, _by_rank(request, examples))


def _reason(request: Request, examples: CalibrationSet) -> tuple[int, float, int, int, tuple[Obstacle, ...]]:
    """Return which answers are wrong first as the threshold falls: the first fields of `Silence`."""
    events, (promise,) = examples.events, request.promises(examples.hierarchy)
    _, is_wrong = covered_and_wrong(promise, examples)
    wrong = np.flatnonzero(is_wrong)
    _, first = np.unique(events.example[wrong], return_index=True)  # events of an example have decreasing scores
    wrong = wrong[first]
    answered = needed = 0
    if request.among is not None:  # no walk starts at a lower threshold
        lowest = float(starting_thresholds(promise.alpha, examples.scale)[-1])
        clusters = examples.units(request)
        answered = len(np.unique(clusters.member[promise.loss.covered[events.answers_above(lowest)]]))
        needed = promise.bound(clusters.are_units).needed
    elif len(wrong):
        allowed = min(int(promise.alpha * len(examples)), len(wrong) - 1)
        lowest = float(-np.partition(-events.score[wrong], allowed)[allowed])
    else:
        lowest = 0.0
    wrong = wrong[events.score[wrong] >= lowest]
    answer, label = events.node[wrong], events.label[events.example[wrong]]
    named, count = np.unique(answer, return_counts=True)
    obstacles = []
    for i in np.argsort(-count, kind="stable")[:_LISTED]:
        here = answer == named[i]
        most = int(np.bincount(label[here]).argmax())
        highest = float(events.score[wrong[here]].max())
        names = (str(examples.hierarchy.names[node]) for node in (named[i], most))
        obstacles.append(Obstacle(next(names), highest, next(names), int(count[i])))
    return len(wrong), lowest, answered, needed, tuple(obstacles)


def _requests(request: Request, examples: CalibrationSet) -> Iterator[Iterator[Request]]:
    """Yield requests that may give more answers, by kind; of each kind, the first that does is suggested."""
    (promise,) = request.promises(examples.hierarchy)
    loss, alpha, is_lambda = promise.loss, promise.alpha, FAMILIES[request.rule].is_lambda
    if not request.is_shifted and request.among is None and loss.is_binary and not is_lambda:
        covers = GUARANTEES[request.guarantee].covers_answers
        yield iter([replace(request, among=ANSWERED, guarantee=request.guarantee if covers else "pac")])
    yield (request.at_level(loss.level_at(alpha * times)) for times in _LOOSER if alpha * times <= 0.5)


def _by_rank(request: Request, examples: CalibrationSet) -> tuple[str, ...]:
    """Return the options of a request for levels by rank; empty if it is not possible."""
    plain = request.by == "all" and request.among is None and not request.is_shifted
    if not plain or request.rule != "threshold" or request.metric_name != metrics.correct.name or request.bounds:
        return ()
    levels = (f"{rank}={float(request.level):g}" for rank in Ranks.of(examples.hierarchy).names)
    return ("--per-rank", ",".join(levels), *_guarantee(request))


def _options(request: Request) -> tuple[str, ...]:
    """Return the options for the promise of a request."""
    among = () if request.among is None else ("--among", request.among)
    metric, level = request.target or ("", 0)
    named = metric if isinstance(metric, str) else request.metric_name  # as it was typed, it can be typed again
    return ("--target", f"{named}={float(level):g}", *among, *_guarantee(request))


def _guarantee(request: Request) -> tuple[str, ...]:
    """Return the options for the guarantee of a request, but for defaults."""
    options: list[str] = []
    if request.guarantee != ("conformal" if request.among is None else "pac"):
        options += ["--guarantee", request.guarantee]
    if GUARANTEES[request.guarantee].uses_delta and request.delta != _USUAL_DELTA:
        options += ["--delta", f"{float(request.delta):g}"]
    return tuple(options)


def _tried(request: Request, examples: CalibrationSet) -> Suggestion | None:
    """Return what a request gives; None if nearly every answer is still the root."""
    try:
        answers = examples.answers(choose(request, examples))
    except HedgerowError:
        return None
    below = answers > 0
    if below.mean() <= 1 - MOSTLY_ROOT:
        return None
    comparison = Comparison.of(examples.hierarchy, examples.labels, answers, request.settings)
    right = metrics.correct.of(comparison) > 0
    return Suggestion(_options(request), float(below.mean()), float(right.mean()), float(right[below].mean()))
