"""What to do if nearly every answer is the root: why that is so, and what would answer."""

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
from hedgerow.choose.thresholds import wrong_events
from hedgerow.errors import HedgerowError
from hedgerow.measure import Comparison, Ranks, metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.choose.calibration import CalibrationSet
    from hedgerow.choose.point import OperatingPoint
    from hedgerow.choose.request import Request

MOSTLY_ROOT = 0.9
"""Above this share of answers at the root, select says why."""
_LISTED = 5
_LOOSER = (2, 4, 8)
_USUAL_DELTA = Fraction(1, 20)


@final
@dataclass(frozen=True)
class Obstacle:
    """A class that is a wrong answer at high likelihoods."""

    answer: str
    likelihood: float
    """The largest likelihood of it where it is wrong, on the scale of the point."""
    label: str
    """The label that it most often has there."""
    examples: int
    """How many examples it is wrong for, among those that are wrong first."""


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
    """The share of those below the root that are right."""


@final
@dataclass(frozen=True)
class Silence:
    """Why nearly every answer is the root, and what would answer."""

    wrong: int
    """The number of examples that are wrong first, as the threshold falls."""
    likelihood: float
    """The likelihood that their wrong answers have at least, on the scale of the point."""
    answered: int
    """Of a promise among the answers given: how many examples or clusters have such an answer there."""
    needed: int
    """Minimum number needed if none is wrong; 0 for a promise about all."""
    obstacles: tuple[Obstacle, ...]
    """The classes of these answers, the most frequent ones first."""
    suggestions: tuple[Suggestion, ...]
    tried: int
    """How many requests were tried with these examples, the original one included."""
    by_rank: tuple[str, ...]
    """The options of a request for levels by rank, which were not tried; none if that cannot be asked for."""

    @property
    def few(self) -> bool:
        """Whether there are too few answers where the search for a threshold begins."""
        return self.answered < self.needed


def silence(point: OperatingPoint, examples: CalibrationSet) -> Silence | None:
    """Return why nearly every answer is the root, if the target is one that the root always meets."""
    request, found, tried = point.request, [], 1
    if request.target is None or not point.root_is_safe:
        return None
    for requests in _requests(request, examples):
        for asked in requests:
            tried += 1
            if (suggestion := _tried(asked, examples)) is not None:
                found.append(suggestion)
                break
    reason = _reason(request, examples)
    return replace(reason, suggestions=tuple(found), tried=tried, by_rank=_by_rank(request, examples))


def _reason(request: Request, examples: CalibrationSet) -> Silence:
    """Return which answers are wrong first, without suggestions."""
    events, (promise,) = examples.events, request.promises(examples.hierarchy)
    _, is_wrong = wrong_events(promise, examples)
    wrong = np.flatnonzero(is_wrong)
    _, first = np.unique(events.example[wrong], return_index=True)  # events of an example have decreasing scores
    wrong = wrong[first]
    answered = needed = 0
    if request.among is not None:  # no walk begins at a lower threshold
        lowest = float(starting_thresholds(promise.alpha, examples.scale)[-1])
        clusters = examples.counted(request)
        answered = len(np.unique(clusters.member[promise.loss.about[events.answers_above(lowest)]]))
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
    return Silence(len(wrong), lowest, answered, needed, tuple(obstacles), (), 0, ())


def _requests(request: Request, examples: CalibrationSet) -> Iterator[Iterator[Request]]:
    """Yield requests that might give answers; of each kind, the first that does is suggested."""
    (promise,) = request.promises(examples.hierarchy)
    loss, alpha, is_lambda = promise.loss, promise.alpha, FAMILIES[request.rule].is_lambda
    if not request.is_shifted and request.among is None and loss.is_binary and not is_lambda:
        covers = GUARANTEES[request.guarantee].covers_answers
        yield iter([replace(request, among=ANSWERED, guarantee=request.guarantee if covers else "pac")])
    yield (request.at_level(loss.level_of(alpha * times)) for times in _LOOSER if alpha * times <= 0.5)


def _by_rank(request: Request, examples: CalibrationSet) -> tuple[str, ...]:
    """Return the options of a request for levels by rank, if there can be one."""
    plain = request.by == "all" and request.among is None and not request.is_shifted
    if not plain or request.rule != "threshold" or request.metric_name != metrics.correct.name:
        return ()
    levels = (f"{rank}={float(request.level):g}" for rank in Ranks.of(examples.hierarchy).names)
    return ("--per-rank", ",".join(levels), *_guarantee(request))


def _options(request: Request) -> tuple[str, ...]:
    """Return the options that give the target of a request, and how it is promised."""
    among = () if request.among is None else ("--among", request.among)
    return ("--target", f"{request.metric_name}={float(request.level):g}", *among, *_guarantee(request))


def _guarantee(request: Request) -> tuple[str, ...]:
    """Return the options for a guarantee that is not the default one."""
    options: list[str] = []
    if request.guarantee != ("conformal" if request.among is None else "pac"):
        options += ["--guarantee", request.guarantee]
    if GUARANTEES[request.guarantee].uses_delta and request.delta != _USUAL_DELTA:
        options += ["--delta", f"{float(request.delta):g}"]
    return tuple(options)


def _tried(request: Request, examples: CalibrationSet) -> Suggestion | None:
    """Return what a request gives; None if that is hardly better."""
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
