"""What to do if nearly every answer is the root: why that is so, and what would answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.among import ANSWERED, among_nodes, starting_thresholds
from hedgerow.choose.calibration import of_block
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.select import choose
from hedgerow.errors import HedgerowError
from hedgerow.measure import Comparison, Ranks, metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hedgerow.choose.calibration import CalibrationSet
    from hedgerow.choose.point import OperatingPoint
    from hedgerow.choose.spec import SelectionSpec
    from hedgerow.score_files import Block
    from hedgerow.tree import Indices

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
class Proposal:
    """Another request, and what it gives on the same examples, which is no promise."""

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
    """How many it takes if none of these is wrong; 0 for a promise about all."""
    obstacles: tuple[Obstacle, ...]
    """The classes of these answers, the most frequent ones first."""
    proposals: tuple[Proposal, ...]
    tried: int
    """How many requests were tried with these examples, the original one included."""

    @property
    def few(self) -> bool:
        """Whether there are too few answers where the search for a threshold begins."""
        return self.answered < self.needed


def silence(
    spec: SelectionSpec, examples: CalibrationSet, blocks: Callable[[], Iterable[Block]]
) -> Silence | None:
    """Return why nearly every answer is the root, if the target is one that the root always meets."""
    if spec.target is None or not spec.from_root:
        return None
    found, tried = [], 1
    for requests in _requests(spec):
        for options, asked in requests:
            tried += 1
            proposal = _tried((*options, *_guarantee(asked)), asked, examples, blocks)
            # Levels by rank promise nothing of the ranks that they leave out.
            if proposal is not None and (asked.target or proposal.right_of_answered >= 1 - 2 * spec.target.alpha):
                found.append(proposal)
                break
    return replace(_reason(spec, examples), proposals=tuple(found), tried=tried)


def _reason(spec: SelectionSpec, examples: CalibrationSet) -> Silence:
    """Return which answers are wrong first, without proposals."""
    events, target = examples.events, spec.aim
    losses, _ = spec.losses(np.repeat(events.label, events.count).astype(np.int64), events.node.astype(np.int64))
    meant = among_nodes(spec.hierarchy, spec.among)
    wrong = np.flatnonzero((losses > 0) & meant[events.node])
    _, first = np.unique(events.example[wrong], return_index=True)  # events of an example have decreasing scores
    wrong = wrong[first]
    answered = needed = 0
    if spec.among is not None:  # no walk begins at a lower threshold
        lowest = float(starting_thresholds(target.alpha, examples.scale)[-1])
        clusters = examples.counted(spec)
        answered = len(np.unique(clusters.member[meant[events.answers_above(lowest)]]))
        needed = spec.promise(clusters).needed
    elif len(wrong):
        allowed = min(int(target.alpha * len(examples)), len(wrong) - 1)
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
        names = str(spec.hierarchy.names[named[i]]), str(spec.hierarchy.names[most])
        obstacles.append(Obstacle(names[0], highest, names[1], int(count[i])))
    return Silence(len(wrong), lowest, answered, needed, tuple(obstacles), (), 0)


def _requests(spec: SelectionSpec) -> Iterator[Iterator[tuple[tuple[str, ...], SelectionSpec]]]:
    """Yield requests that might give answers; of each kind, the first that does is proposed."""
    target = spec.aim
    asked = f"{target.name}={float(target.level):g}"
    same = not spec.is_shifted  # weights and shares are for one promise about all examples
    if same and spec.among is None and target.is_binary and spec.rule != "expected-information":
        options = ("--target", asked, "--among", ANSWERED)
        yield iter([(options, replace(spec, among=ANSWERED, guarantee=_pac(spec)))])
    if same and spec.by == "all" and spec.rule == "threshold" and target.metric is metrics.correct:
        ranks = Ranks.of(spec.hierarchy).names
        yield (
            (
                ("--per-rank", ",".join(f"{rank}={float(target.level):g}" for rank in ranks[start:])),
                replace(spec, target=None, among=None, per_rank=dict.fromkeys(ranks[start:], target.level)),
            )
            for start in (0, len(ranks) - 1)[: len(ranks)]
        )

    def looser() -> Iterator[tuple[tuple[str, ...], SelectionSpec]]:
        for times in _LOOSER:
            if target.alpha * times <= 0.5:
                wider = target.at_loss(target.alpha * times)
                among = () if spec.among is None else ("--among", spec.among)
                yield ("--target", f"{wider.name}={float(wider.level):g}", *among), replace(spec, target=wider)

    yield looser()


def _guarantee(spec: SelectionSpec) -> tuple[str, ...]:
    """Return the options for a guarantee that is not the default one."""
    options: list[str] = []
    if spec.guarantee != ("conformal" if spec.among is None else "pac"):
        options += ["--guarantee", spec.guarantee]
    if GUARANTEES[spec.guarantee].uses_delta and spec.delta != _USUAL_DELTA:
        options += ["--delta", f"{float(spec.delta):g}"]
    return tuple(options)


def _pac(spec: SelectionSpec) -> str:
    return spec.guarantee if GUARANTEES[spec.guarantee].covers_answers else "pac"


def _tried(
    options: tuple[str, ...],
    spec: SelectionSpec,
    examples: CalibrationSet,
    blocks: Callable[[], Iterable[Block]],
) -> Proposal | None:
    """Return what a request gives; None if that is hardly better."""
    try:
        if spec.target is None:
            point = choose(spec, _with_ranks(spec, examples, blocks()))
            answers = np.concatenate([point.answer(block) for block in blocks()])
        else:
            point = choose(spec, examples)
            answers = answers_of(point, examples)
    except HedgerowError:
        return None
    below = answers > 0
    if below.mean() <= 1 - MOSTLY_ROOT:
        return None
    comparison = Comparison.of(spec.hierarchy, examples.labels, answers, spec.settings)
    right = metrics.correct.of(comparison) > 0
    return Proposal(options, float(below.mean()), float(right.mean()), float(right[below].mean()))


def _with_ranks(spec: SelectionSpec, examples: CalibrationSet, blocks: Iterable[Block]) -> CalibrationSet:
    """Return the examples with what levels per rank need to know of them."""
    parts = [of_block(spec, block).wrong_at for block in blocks]
    return replace(examples, wrong_at={name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def answers_of(point: OperatingPoint, examples: CalibrationSet) -> Indices:
    """Return the answers of a point to examples whose events are known."""
    if point.weight_steps:
        tau = point.thresholds_of_weights(examples.weights, len(examples))
    else:
        tau = point.thresholds_of(examples.names(point.by), len(examples))
    return examples.events.answers_above(tau).astype(np.int64)
