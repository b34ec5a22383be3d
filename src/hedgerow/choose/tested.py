"""The promises of a point, one by one, as a monitor tests them on new answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from hedgerow.choose.among import among_nodes
from hedgerow.choose.guarantees import GUARANTEES, Promise, exactly
from hedgerow.choose.spec import SelectionSpec
from hedgerow.errors import ParameterError, some

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.choose.point import OperatingPoint
    from hedgerow.choose.ranks import RankPromise
    from hedgerow.choose.watched import Watched
    from hedgerow.tree import Indices


class Outcome(NamedTuple):
    """How the answers turned out that a promise is about."""

    rows: Indices
    """Those that are to be counted."""
    loss: NDArray[np.float64]
    meant: NDArray[np.bool_]
    """Which answers the promise is about, with `among`."""


@final
@dataclass(frozen=True, eq=False)
class TestedPromise:
    """A promise of a point that can be broken."""

    point: OperatingPoint
    spec: SelectionSpec
    name: str
    """A group, clade or rank; "" for all examples."""
    members: frozenset[str] | None = None
    """The groups or clades that share the promise."""
    rank: RankPromise | None = None

    def level(self, delta: float) -> float:
        """Return the mean loss to test so that false alarms occur in at most a share δ of all streams."""
        point = self.point
        single = point.clusters is None or point.largest_cluster == 1
        if self.rank is not None:
            promise = Promise(point.guarantee, self.rank.alpha, exactly(delta), single)
        else:
            target = self.spec.aim
            promise = Promise(point.guarantee, target.alpha, exactly(delta), single and target.is_binary)
        units, examples = point.calibrated_on[self.name]
        mass = Fraction(units) if point.largest_cluster is None else Fraction(examples, point.largest_cluster)
        return GUARANTEES[point.guarantee].tested(units, mass, promise)

    def outcome(self, watched: Watched, labels: Indices) -> Outcome:
        """Return how answers with labels turned out."""
        point, spec, tree = self.point, self.spec, self.point.hierarchy
        rows = np.arange(len(watched))
        if self.rank is not None:
            rows = rows[self.rank.rows(tree, labels)]
            wrong = self.rank.wrong(tree, labels[rows], watched.answers[rows])
            return Outcome(rows, wrong.astype(np.float64), np.ones(len(rows), dtype=bool))
        if spec.target is None or spec.target.name not in point.target:
            raise ParameterError(f"The metric {some(point.target)} is not known here, so it cannot be tested.")
        if self.members is not None:
            if watched.names is None:
                raise ParameterError(f"The point has a promise for each {point.by}: give that of each example.")
            rows = np.flatnonzero([name in self.members for name in watched.names.tolist()])
        answers = watched.answers[rows]
        losses, parts = spec.losses(labels[rows], answers)
        return Outcome(rows, (losses / parts).astype(np.float64), among_nodes(tree, point.among)[answers])


def promises_of(point: OperatingPoint) -> list[TestedPromise]:
    """Return the promises of a point that can be broken: not those that are kept by always answering the root."""
    if not GUARANTEES[point.guarantee].promises:
        return []
    spec = SelectionSpec.of_point(point, point.hierarchy)
    if spec.target is None:
        promises = [each for each in spec.rank_promises if point.thresholds[each.rank] < math.inf]
        return [TestedPromise(point, spec, each.name, rank=each) for each in promises]
    if point.by == "all":
        return [TestedPromise(point, spec, "")]
    pool_of = {name: pool for pool in point.pools for name in pool}
    answered = [name for name, tau in point.thresholds.items() if tau < math.inf or not point.root_is_safe]
    pools = dict.fromkeys(pool_of.get(name, (name,)) for name in answered)
    return [TestedPromise(point, spec, pool[0], frozenset(pool)) for pool in pools]
