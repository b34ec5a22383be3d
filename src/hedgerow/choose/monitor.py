"""Is the promise of a point still kept? A test that may be looked at as often as one likes.

With labels, each example (event, or whole cluster) is a bet that its loss is above what the promise allows.
Without labels, each is a bet that the model is no longer as sure of its answers as it was of the calibration
examples: a conformal test martingale. False alarms occur in at most a share δ of all streams, for each of the two.

A conformal promise is an average over calibration sets: about half of all points exceed it a little with nothing
changed. What is tested is therefore a larger loss, which only a share δ/2 of all calibration sets exceeds.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final

import msgspec
import numpy as np

from hedgerow.choose.evidence import Evidence, as_number, mean_bets, rank_bets
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.point import OperatingPoint, point_of
from hedgerow.choose.tips import BINS, bins_of, mean_of_each, ranks_of
from hedgerow.choose.watched import TIP, Watched
from hedgerow.choose.written import exactly
from hedgerow.errors import FileError, ParameterError, ScoreError, counted, some
from hedgerow.files import read_text, reading, write_json
from hedgerow.likelihood import numbered
from hedgerow.measure import Clusters

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.promise import Outcome, Promise
    from hedgerow.tree import Indices

    Floats = NDArray[np.float64]

_FORMAT = "hedgerow monitor"
_VERSION = 2
_SHOWN = 50  # points of the path that are kept of each update
_ID_BYTES = 8
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


@final
@dataclass(frozen=True)
class Test:
    """One promise that is tested, or the distribution of what the model says."""

    __test__: ClassVar[bool] = False  # it is none of pytest's

    name: str
    """The group, clade or rank of the promise; "" for all examples."""
    level: Annotated[float, msgspec.Meta(ge=0, le=1)]
    """The mean loss that is tested; 0 for the distribution."""
    price: float = 1.0
    """How many times 1/δ it takes for an alarm, as there are several tests."""
    units: _Count = 0
    """How many examples, events or clusters were counted."""
    loss: float = 0.0
    """The sum of their losses."""
    wealth: Evidence = field(default_factory=Evidence)
    """What bets have won."""
    path: tuple[tuple[_Count, float], ...] = ()
    """The evidence after some numbers of bets."""

    @property
    def evidence(self) -> float:
        """The strength of the evidence: an alarm at 1/δ, and about 1 or less if nothing has changed."""
        return as_number(self.wealth.best) / self.price

    def after(self, log_factors: Floats, units: int, loss: float) -> Test:
        """Return the test after more bets."""
        wealth, path = self.wealth.after(log_factors)
        shown = np.unique(np.linspace(0, len(path) - 1, min(_SHOWN, len(path))).astype(int)).tolist()
        more = [(self.wealth.count + i + 1, as_number(path[i]) / self.price) for i in shown]
        return replace(
            self, units=self.units + units, loss=self.loss + loss, wealth=wealth, path=(*self.path, *more)
        )


@final
@dataclass(frozen=True, eq=False)
class _Tested:
    """A promise of a point that can be broken."""

    name: str
    """A group, clade or rank; "" for all examples."""
    promise: Promise
    members: frozenset[str] | None = None
    """The groups or clades that share the promise."""

    @staticmethod
    def of(point: OperatingPoint) -> list[_Tested]:
        """Return the promises of a point, but those that are kept by always answering the root."""
        if not GUARANTEES[point.request.guarantee].promises:
            return []
        promises = point.request.promises(point.hierarchy)
        if point.by == "rank":
            return [_Tested(each.name, each) for each in promises if point.thresholds[each.rank] < math.inf]
        if point.by == "all":
            return [_Tested("", promises[0])]
        merged_with = {name: names for names in point.merged for name in names}
        answered = [name for name, tau in point.thresholds.items() if tau < math.inf or not point.root_is_safe]
        groups = dict.fromkeys(merged_with.get(name, (name,)) for name in answered)
        return [_Tested(names[0], promises[0], frozenset(names)) for names in groups]

    def level(self, point: OperatingPoint, delta: float) -> float:
        """Return the mean loss to test so that false alarms occur in at most a share δ of all streams."""
        largest = point.request.largest_cluster
        bound = self.promise.bound(point.clusters is None or largest == 1, exactly(delta))
        units, examples = point.calibrated_on[self.name]
        mass = Fraction(units) if largest is None else Fraction(examples, largest)
        return GUARANTEES[bound.guarantee].tested(units, mass, bound)

    def outcome(self, point: OperatingPoint, watched: Watched, labels: Indices) -> Outcome:
        """Return how answers with labels turned out."""
        if self.members is None:
            return self.promise.outcome(labels, watched.answers)
        if watched.names is None:
            raise ParameterError(f"The point has a promise for each {point.by}: give that of each example.")
        rows = np.flatnonzero([name in self.members for name in watched.names.tolist()])
        outcome = self.promise.outcome(labels[rows], watched.answers[rows])
        return outcome._replace(rows=rows[outcome.rows])


class _MonitorFile(msgspec.Struct, forbid_unknown_fields=True):
    """A monitor as it is saved."""

    format: str
    schema: int
    point: dict[str, Any]
    delta: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    seed: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
    promise: list[Test]
    shift: Test
    counts: list[_Count]
    labelled: bytes
    """Digests of the ids whose labels were counted."""
    seen: bytes
    """Digests of the ids that were counted without labels."""


@final
class Monitor:
    """Watches whether the promise of a point is still kept.

    Parameters
    ----------
    point
        The point.
    delta
        The probability of a false alarm, however long one looks: with labels, and without them.
    seed
        Of the random numbers that break ties without labels.

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
        self._tested = _Tested.of(point)
        share, price = len(self._tested), GUARANTEES[point.request.guarantee].alarm_price
        self.promise = tuple(
            Test(each.name, each.level(point, self.delta / share), share * price) for each in self._tested
        )
        """The tests with labels: one for each promise."""
        self.shift = Test("", 0.0)
        """The test without labels."""
        self._counts = np.array(point.tip_counts or (0,) * BINS, dtype=np.int64)
        self._labelled = self._seen = np.zeros(0, dtype=np.uint64)

    # What was found ------------------------------------------------------------------------------------------

    @property
    def alarm(self) -> bool:
        """Whether the promise is broken, or the model's likelihoods are no longer those of the calibration."""
        return self.evidence >= 1 / self.delta

    @property
    def evidence(self) -> float:
        """The strength of the evidence: an alarm at 1/δ, and about 1 or less if nothing has changed."""
        return max(test.evidence for test in (*self.promise, self.shift))

    def to_dict(self) -> dict[str, Any]:
        """Return what was found, ready for JSON."""

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
        """Count new examples: with labels for the promise, without labels for a shift of what the model says.

        Parameters
        ----------
        q
            [examples, nodes] Their likelihoods, as for `OperatingPoint.predict`.
        labels
            Their labels: names or node indices. They should be those of a random sample of all new examples.
        ids
            Their ids. An id that was counted before is refused.
        groups, clusters, weights
            What the point depends on. A cluster must be given whole.
        """
        watched = Watched.of(self.point, q, ids, groups=groups, clusters=clusters, weights=weights)
        self.watch(watched, None if labels is None else self.point.hierarchy.nodes(labels))

    def watch(self, watched: Watched, labels: Indices | None = None) -> None:
        """Count answers; either everything is counted, or nothing."""
        if not len(watched):
            raise ScoreError("There are no examples to count.")
        if (watched.clusters is None) != (self.point.clusters is None):
            problem = "was chosen with" if watched.clusters is None else "does not depend on"
            raise ParameterError(
                f"The point {problem} clusters: {'give' if watched.clusters is None else 'leave out'} them."
            )
        if labels is None:
            self._watch_shift(watched)
        else:
            self._watch_promise(watched, labels)

    def _watch_promise(self, watched: Watched, labels: Indices) -> None:
        if not GUARANTEES[self.point.request.guarantee].promises:
            raise ParameterError("An empirical point promises nothing, so there is nothing to test with labels.")
        if labels.shape != (len(watched),):
            raise ScoreError(f"One label per answer is needed: {len(watched):,}; got shape {labels.shape}.")
        digests = self._new(" with a label", self._labelled, watched)
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
        """Return what is bet on, from -α to 1 - α; the sum of the losses; and the number of units."""
        _, loss, counts = outcome
        if clusters is None:
            return loss[counts] - test.level, float(loss[counts].sum()), int(counts.sum())
        names, member = numbered(clusters)
        units = Clusters.of(member, len(member), self.point.request.largest_cluster)
        if units.largest is not None and units.size.max(initial=0) > units.largest:
            row = int(np.argmax(units.size))
            raise ParameterError(
                f"The cluster {names[member[row]]!r} has {units.size[row]:,} examples, more than "
                f"{units.largest:,}."
            )
        value = np.where(counts, loss - test.level, 0.0) / units.divisor
        total = float(np.sum(np.where(counts, loss, 0.0) / units.size))
        return np.bincount(member, value, minlength=units.number).astype(np.float64), total, units.number

    def _watch_shift(self, watched: Watched) -> None:
        if not self.point.tip_counts:
            raise ParameterError(
                "The point does not know how sure the model was of the calibration examples, or is for other "
                "data than these: give labels."
            )
        if watched.tips is None:
            raise ScoreError(
                f"Without labels, the likelihood of the most likely tip of each example is needed, a column "
                f"{TIP!r}: hedgerow predict --point writes it."
            )
        if (bad := ~((watched.tips >= 0) & (watched.tips <= 1))).any():
            raise ScoreError(f"A likelihood lies between 0 and 1, not at {watched.tips[int(np.argmax(bad))]:g}.")
        digests = self._new("", self._seen, watched)
        tips = mean_of_each(watched.tips, watched.clusters)
        bins = bins_of(tips)
        generator = np.random.PCG64(self.seed).advance(self.shift.wealth.count)
        random = np.random.Generator(generator).random(len(tips))
        ranks = ranks_of(bins, self._counts, random)
        self.shift = self.shift.after(rank_bets(ranks), len(tips), 0.0)
        self._counts = self._counts + np.bincount(bins, minlength=BINS)
        self._seen = digests

    def _new(self, what: str, before: NDArray[np.uint64], watched: Watched) -> NDArray[np.uint64]:
        """Return the digests of all ids that were counted; refuse one that was counted before."""
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
                f"{counted(len(listed), f'{kind} was', f'{kind}s were')} {why}{what}: {some(listed)}. Every "
                f"example counts once: leave them out. Nothing was counted."
            )
        return np.union1d(before, distinct)

    # Files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor, with its point, to a JSON file; see `load`."""
        content = _MonitorFile(
            _FORMAT,
            _VERSION,
            self.point.to_dict(),
            self.delta,
            self.seed,
            list(self.promise),
            self.shift,
            self._counts.tolist(),
            self._labelled.astype("<u8").tobytes(),
            self._seen.astype("<u8").tobytes(),
        )
        write_json(path, msgspec.to_builtins(content), indent=1)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Monitor:
        """Read a monitor written by `save`."""
        again = "Start anew with another file."
        text = read_text(path)
        with reading(path, "a monitor", again):
            content = msgspec.json.decode(text)
            if not isinstance(content, dict) or content.get("format") != _FORMAT:
                raise FileError(f"{path} is not the state of a monitor. {again}")
            if content.get("schema") != _VERSION:
                raise FileError(f"{path} was written by another version of hedgerow. {again}")
            file = msgspec.convert(content, _MonitorFile)
        monitor = Monitor(point_of(file.point, str(path)), file.delta, file.seed)
        with reading(path, "a monitor", again):
            tests = [*zip(monitor.promise, file.promise, strict=True), (monitor.shift, file.shift)]
            bettors = [*(mean_bets(np.zeros(1), each.level) for each in file.promise), rank_bets(np.zeros(1))]
            for (asked, found), bets in zip(tests, bettors, strict=True):
                same = (asked.name, asked.level, asked.price) == (found.name, found.level, found.price)
                wealth = found.wealth
                if (
                    not same
                    or found.units != wealth.count
                    or len(wealth.bettors) != bets.size * (wealth.count > 0)
                ):
                    raise ValueError("its tests are not those of its point")
            if len(file.counts) != BINS or sum(file.counts) != monitor._counts.sum() + file.shift.units:
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
        """Return the monitor of a point that is saved at a path, or a new one."""
        if path is None or not Path(path).exists():
            return Monitor(point) if delta is None else Monitor(point, delta)
        monitor = Monitor.load(path)
        if monitor.point != point:
            raise ParameterError(
                f"{path} is the state of a monitor of another point. Give each point its own file."
            )
        if delta not in (None, monitor.delta):
            raise ParameterError(
                f"{path} is for delta {monitor.delta:g}, not {delta:g}: leave it out, or start anew."
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
