"""Monitors: tests of whether the promise of a point is still kept, which may be looked at at any time.

With labels, each example (or event, or whole cluster) is a bet that the mean loss is above what the promise
allows. Without labels, each is a bet that the model is no longer as sure of its answers as it was in calibration:
a conformal test martingale. For each of the two, the probability that it ever gives a false alarm is at most δ.

A conformal promise is an average over calibration sets: even if nothing has changed, about half of all points
exceed it a little. So a larger loss is tested, which only a share δ/2 of all calibration sets exceeds.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final

import msgspec
import numpy as np

from hedgerow.choose.evidence import Evidence, capped_exp, mean_bets, p_value_bets
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.point import OperatingPoint
from hedgerow.choose.request import PART_COLUMNS
from hedgerow.choose.tips import BINS, bins_of, cluster_means, p_values
from hedgerow.choose.watched import TIP, watched_answers
from hedgerow.choose.written import exactly
from hedgerow.errors import ParameterError, ScoreError, counted, some
from hedgerow.files import Count, Document
from hedgerow.likelihood import Likelihoods, numbered
from hedgerow.measure import Clusters
from hedgerow.score_files import as_column

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.promise import Outcome, Promise
    from hedgerow.score_files import Examples
    from hedgerow.tree import Indices

    Floats = NDArray[np.float64]

_SHOWN = 50  # points of the path kept from each update
_ID_BYTES = 8


@final
class Test(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The test of one promise, or of a shift in how sure the model is."""

    __test__: ClassVar[bool] = False  # not a test of pytest

    name: str
    """The group, clade or rank of the promise; "" for all examples."""
    level: Annotated[float, msgspec.Meta(ge=0, le=1)]
    """The mean loss that is tested; 0 for a shift."""
    price: float = 1.0
    """An alarm takes this many times 1/δ, because several tests share δ."""
    units: Count = 0
    """The number of examples, events or clusters counted."""
    loss: float = 0.0
    """The sum of their losses."""
    wealth: Evidence = Evidence()
    """The wealth won by betting."""
    path: tuple[tuple[Count, float], ...] = ()
    """Some numbers of bets, and the evidence after them."""

    @property
    def evidence(self) -> float:
        """The strength of the evidence: an alarm at 1/δ, and about 1 or less if nothing has changed."""
        return capped_exp(self.wealth.best) / self.price

    def after(self, log_factors: Floats, units: int, loss: float) -> Test:
        """Return the test after more bets."""
        wealth, path = self.wealth.after(log_factors)
        shown = np.unique(np.linspace(0, len(path) - 1, min(_SHOWN, len(path))).astype(int)).tolist()
        more = [(self.wealth.count + i + 1, capped_exp(path[i]) / self.price) for i in shown]
        return msgspec.structs.replace(
            self, units=self.units + units, loss=self.loss + loss, wealth=wealth, path=(*self.path, *more)
        )


@final
@dataclass(frozen=True, eq=False)
class _TestedPromise:
    """A promise of a point that can be broken."""

    name: str
    """The first of its groups or clades, or a rank; "" for all examples."""
    promise: Promise
    members: frozenset[str] | None = None
    """The groups or clades that share the promise."""

    @staticmethod
    def of(point: OperatingPoint) -> list[_TestedPromise]:
        """Return the promises of a point, except those that it keeps by always answering the root."""
        if not GUARANTEES[point.request.guarantee].promises:
            return []
        promises = point.request.promises(point.hierarchy)
        if point.by == "rank":
            return [_TestedPromise(each.name, each) for each in promises if point.thresholds[each.rank] < math.inf]
        if point.by == "all":
            return [_TestedPromise("", promises[0])]
        merged_with = {name: names for names in point.merged for name in names}
        answered = [name for name, tau in point.thresholds.items() if tau < math.inf or not point.root_is_safe]
        groups = dict.fromkeys(merged_with.get(name, (name,)) for name in answered)
        return [_TestedPromise(names[0], promises[0], frozenset(names)) for names in groups]

    def level(self, point: OperatingPoint, delta: float) -> float:
        """Return the mean loss to test, for a false alarm with a probability of at most `delta`."""
        largest = point.request.largest_cluster
        bound = self.promise.bound(point.clusters is None or largest == 1, exactly(delta))
        if self.name not in point.calibrated_on:
            raise ParameterError(
                "The point does not say how many examples it was chosen with, so it cannot be tested."
            )
        units, examples = point.calibrated_on[self.name]
        mass = Fraction(units) if largest is None else Fraction(examples, largest)
        return GUARANTEES[bound.guarantee].tested_loss(units, mass, bound)

    def outcome(self, point: OperatingPoint, watched: Examples, labels: Indices) -> Outcome:
        """Return the losses of answers with labels."""
        if self.members is None:
            return self.promise.outcome(labels, watched["answer"])
        if (column := PART_COLUMNS[point.by]) not in watched:
            raise ParameterError(
                f"The point has a promise for each {point.by}: give the {point.by} of each example."
            )
        rows = np.flatnonzero([name in self.members for name in watched[column].tolist()])
        outcome = self.promise.outcome(labels[rows], watched["answer"][rows])
        return outcome._replace(rows=rows[outcome.rows])


class _MonitorFile(msgspec.Struct, forbid_unknown_fields=True):
    """The form of a monitor in a file."""

    point: dict[str, Any]
    delta: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    seed: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
    promise: list[Test]
    shift: Test
    counts: Annotated[list[Count], msgspec.Meta(min_length=BINS, max_length=BINS)]
    labelled: bytes
    """Digests of the ids whose labels were counted."""
    seen: bytes
    """Digests of the ids that were counted without labels."""


_MONITOR = Document("hedgerow monitor", 3, _MonitorFile, "the state of a monitor", "Start again with a new file.")


@final
class Monitor:
    """Watches whether the promise of a point is still kept.

    Parameters
    ----------
    point
        The point to watch.
    delta
        The probability of a false alarm, however long one looks; for labels, and for the test without them.
    seed
        The seed of the random numbers that break ties in the test without labels.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> q = [[1, 0.9, 0.1]] * 190 + [[1, 0.6, 0.4]] * 10
    >>> point = hr.select(h, q, ["cat"] * 190 + ["dog"] * 10, target=("correct", 0.9))
    >>> monitor = hr.Monitor(point)
    >>> monitor.update(q[:100], ["cat"] * 100)
    >>> monitor.alarm
    False
    >>> monitor.update([[1, 0.9, 0.1]] * 100, ["cat"] * 40 + ["dog"] * 60)
    >>> monitor.alarm, monitor.evidence > 100
    (True, True)
    """

    def __init__(self, point: OperatingPoint, delta: float = 0.01, seed: int = 0) -> None:
        if not isinstance(point, OperatingPoint):
            raise ParameterError(f"A monitor watches an operating point, not {point!r:.80}.")
        if not 0 < delta < 1:
            raise ParameterError(f"delta is the probability of a false alarm, between 0 and 1, not {delta!r}.")
        self.point = point
        self.delta = float(delta)
        self.seed = int(seed)
        self._tested = _TestedPromise.of(point)
        share, price = len(self._tested), GUARANTEES[point.request.guarantee].alarm_price
        self.promise = tuple(
            Test(each.name, each.level(point, self.delta / share), share * price) for each in self._tested
        )
        """The tests with labels: one for each promise."""
        self.shift = Test("", 0.0)
        """The test without labels."""
        self._counts = np.array(point.tip_counts or (0,) * BINS, dtype=np.int64)
        self._labelled = self._seen = np.zeros(0, dtype=np.uint64)

    # Results -------------------------------------------------------------------------------------------------

    @property
    def alarm(self) -> bool:
        """Whether the promise is broken, or the model is no longer as sure as in calibration."""
        return self.evidence >= 1 / self.delta

    @property
    def evidence(self) -> float:
        """The strength of the evidence: an alarm at 1/δ, and about 1 or less if nothing has changed."""
        return max(test.evidence for test in (*self.promise, self.shift))

    def to_dict(self) -> dict[str, Any]:
        """Return the results, ready for JSON."""

        def found(test: Test) -> dict[str, Any]:
            alarm = test.evidence >= 1 / self.delta
            return {"units": test.units, "evidence": test.evidence, "alarm": alarm}

        return {
            "alarm": self.alarm,
            "evidence": self.evidence,
            "delta": self.delta,
            "promise": [
                {"name": test.name, "tested": test.level, "mean_loss": test.loss / max(1, test.units)}
                | found(test)
                for test in self.promise
            ],
            "shift": found(self.shift),
        }

    # Watching ------------------------------------------------------------------------------------------------

    def update(
        self,
        q: Any,
        labels: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        """Count new examples: with labels to test the promise, without labels to test for a shift.

        Parameters
        ----------
        q
            [examples, nodes] Their likelihoods, as for `OperatingPoint.predict`.
        labels
            Their labels: names or node indices. The labelled examples should be a random sample of all new ones.
        ids
            Their ids. An id that was counted before is refused.
        groups, clusters, weights
            Those of the examples, where the point depends on them. A cluster must be given whole.
        """
        likelihoods = q if hasattr(q, "scale") else Likelihoods.of(self.point.hierarchy, q, self.point.scale)
        about: dict[str, Any] = {"ids": ids, "groups": groups, "clusters": clusters}
        watched = watched_answers(self.point, likelihoods, weights=weights, **about)
        if labels is not None:
            nodes = self.point.hierarchy.nodes(labels)
            watched = watched.join(labels=as_column("labels", nodes, len(watched)))
        self.watch(watched)

    def watch(self, watched: Examples) -> None:
        """Count answers, those with labels or those without, all of them or, on an error, none.

        See `watched_answers` and `read_answers`.
        """
        if not len(watched):
            raise ScoreError("There are no examples to count.")
        if (watched.clusters is None) != (self.point.clusters is None):
            problem = "was chosen with" if watched.clusters is None else "does not depend on"
            raise ParameterError(
                f"The point {problem} clusters: {'give' if watched.clusters is None else 'leave out'} them."
            )
        if watched.labels is None:
            self._watch_shift(watched)
        else:
            self._watch_promise(watched, watched.labels)

    def _watch_promise(self, watched: Examples, labels: Indices) -> None:
        if not GUARANTEES[self.point.request.guarantee].promises:
            raise ParameterError("An empirical point promises nothing, so labels cannot test it.")
        digests = self._with_new(" with a label", self._labelled, watched)
        tests = []
        for test, tested in zip(self.promise, self._tested, strict=True):
            outcome = tested.outcome(self.point, watched, labels)
            clusters = None if watched.clusters is None else watched.clusters[outcome.rows]
            value, total, units = self._bets(test, outcome, clusters)
            tests.append(test.after(mean_bets(value, test.level), units, total))
        self.promise, self._labelled = tuple(tests), digests

    def _bets(
        self, test: Test, outcome: Outcome, clusters: NDArray[np.object_] | None
    ) -> tuple[Floats, float, int]:
        """Return the values to bet on, from -α to 1 - α, the sum of losses, and the number of units."""
        _, loss, covered = outcome
        if clusters is None:
            return loss[covered] - test.level, float(loss[covered].sum()), int(covered.sum())
        names, member = numbered(clusters)
        units = Clusters.of(member, len(member), self.point.request.largest_cluster)
        if units.largest is not None and units.size.max(initial=0) > units.largest:
            row = int(np.argmax(units.size))
            raise ParameterError(
                f"The cluster {names[member[row]]!r} has {units.size[row]:,} examples, more than the declared "
                f"{units.largest:,}."
            )
        value = np.where(covered, loss - test.level, 0.0) / units.divisor
        total = float(np.sum(np.where(covered, loss, 0.0) / units.size))
        return np.bincount(member, value, minlength=units.number).astype(np.float64), total, units.number

    def _watch_shift(self, watched: Examples) -> None:
        if not self.point.tip_counts:
            raise ParameterError(
                "The point does not say how sure the model was in calibration, or is for data that differ from "
                "these: give labels."
            )
        if "tip" not in watched:
            raise ScoreError(
                f"Without labels, a monitor needs the column {TIP!r}, which hedgerow predict --point writes: give "
                f"it, or labels."
            )
        likelihood = watched["tip"]
        if (bad := ~((likelihood >= 0) & (likelihood <= 1))).any():
            raise ScoreError(f"A likelihood must lie between 0 and 1, not at {likelihood[int(np.argmax(bad))]:g}.")
        digests = self._with_new("", self._seen, watched)
        tips = cluster_means(likelihood, watched.clusters)
        bins = bins_of(tips)
        generator = np.random.PCG64(self.seed).advance(self.shift.wealth.count)
        random = np.random.Generator(generator).random(len(tips))
        bets = p_value_bets(p_values(bins, self._counts, random))
        self.shift = self.shift.after(bets, len(tips), 0.0)
        self._counts = self._counts + np.bincount(bins, minlength=BINS)
        self._seen = digests

    def _with_new(self, how: str, before: NDArray[np.uint64], watched: Examples) -> NDArray[np.uint64]:
        """Add the digests of new ids, or clusters, to those counted before; refuse repeated ones."""
        if watched.clusters is not None:
            kind, names = "cluster", numbered(watched.clusters)[0].tolist()
        elif watched.ids is not None:
            kind, names = "id", watched.ids.tolist()
        else:
            return before
        new = np.array([_digest(name) for name in names], dtype=np.uint64)
        distinct, first, count = np.unique(new, return_index=True, return_counts=True)
        again = [names[i] for i in first[count > 1].tolist()]
        known = [names[i] for i in np.flatnonzero(np.isin(new, before)).tolist()]
        if again or known:
            listed, why = (known, "counted before") if known else (again, "given twice")
            raise ScoreError(
                f"{counted(len(listed), f'{kind} was', f'{kind}s were')} {why}{how}: {some(listed)}. Every "
                f"example counts once: leave them out. Nothing was counted."
            )
        return np.union1d(before, distinct)

    # Files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor, with its point, to a JSON file; see `load`."""
        content = _MonitorFile(
            self.point.to_dict(),
            self.delta,
            self.seed,
            list(self.promise),
            self.shift,
            self._counts.tolist(),
            self._labelled.astype("<u8").tobytes(),
            self._seen.astype("<u8").tobytes(),
        )
        _MONITOR.write(path, content)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Monitor:
        """Read a monitor written by `save`."""
        with _MONITOR.reading(path) as file:
            monitor = Monitor(OperatingPoint.from_dict(file.point), file.delta, file.seed)
            tests = [*zip(monitor.promise, file.promise, strict=True), (monitor.shift, file.shift)]
            bettors = [*(mean_bets(np.zeros(1), each.level) for each in file.promise), p_value_bets(np.zeros(1))]
            for (asked, found), bets in zip(tests, bettors, strict=True):
                same = (asked.name, asked.level, asked.price) == (found.name, found.level, found.price)
                counted_all = found.units == found.wealth.count
                if not (same and counted_all and len(found.wealth.bettors) == bets.size * (found.units > 0)):
                    raise ValueError("its tests are not those of its point")
            if sum(file.counts) != monitor._counts.sum() + file.shift.units:
                raise ValueError("its counts do not add up")
            monitor.promise, monitor.shift = tuple(file.promise), file.shift
            monitor._counts = np.array(file.counts, dtype=np.int64)
            monitor._labelled, monitor._seen = (
                np.unique(np.frombuffer(each, dtype="<u8").astype(np.uint64))
                for each in (file.labelled, file.seen)
            )
            return monitor

    @staticmethod
    def at(path: str | os.PathLike[str] | None, point: OperatingPoint, delta: float | None = None) -> Monitor:
        """Return the monitor of a point from a file, or a new one if there is no file."""
        if path is None or not Path(path).exists():
            return Monitor(point) if delta is None else Monitor(point, delta)
        monitor = Monitor.load(path)
        if monitor.point != point:
            raise ParameterError(f"{path} is the state of a monitor of another point. Use one file per point.")
        if delta not in (None, monitor.delta):
            raise ParameterError(
                f"{path} is for delta {monitor.delta:g}, not {delta:g}: leave out delta, or use a new file."
            )
        return monitor

    def __repr__(self) -> str:
        units = sum(test.units for test in self.promise)
        state = "alarm" if self.alarm else "no alarm"
        return (
            f"Monitor({self.point.promise}: {counted(units, 'label', 'labels')}, {self.shift.units:,} without, "
            f"evidence {self.evidence:.3g} of {1 / self.delta:g}, {state})"
        )


def _digest(name: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_ID_BYTES).digest(), "little"
    )
