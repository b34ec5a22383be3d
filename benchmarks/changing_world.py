"""Promises in a world that changes: events, weights, expected shares, a monitor; run by `bench_promises`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from tests.choose.populations import population

import hedgerow as hr
from hedgerow.choose import FAMILIES
from hedgerow.choose.evidence import Evidence, mean_bets, p_value_bets
from hedgerow.choose.guarantees import Bound
from hedgerow.choose.tips import BINS, bins_of, p_values, tip_likelihoods
from hedgerow.choose.written import exactly
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods, from_leaves, pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA = 0.05
DELTA = 0.01  # of false alarms
STREAM = 2_000
_CHECKED = 10  # draws that are compared with `hedgerow.select`


def largest_wrong(h: hr.Hierarchy, q: Any, labels: NDArray[np.int64]) -> Floats:
    """Return the largest likelihood at which the answer to each example is wrong; 0 if it never is."""
    events = FAMILIES["threshold"].events(q, labels, Candidates.of(h, hr.tree.Settings()))
    wrong = ~h.is_ancestor(events.node.astype(np.int64), np.repeat(labels, events.count))
    result = np.zeros(len(labels))
    np.maximum.at(result, events.example[wrong], events.score[wrong])
    return result


def conformal(r: Floats, alpha: float = ALPHA) -> Floats:
    """Return the conformal threshold of each row of calibration examples; infinite for the root."""
    k = math.ceil((r.shape[1] + 1) * (1 - exactly(alpha)))
    return np.sort(r, axis=1)[:, k - 1] if k <= r.shape[1] else np.full(len(r), np.inf)


def share_right(r: Floats, tau: Floats) -> Floats:
    """Return the share of a population that is right at each threshold."""
    return np.searchsorted(np.sort(r), tau, side="right") / len(r)


# Events ----------------------------------------------------------------------------------------------------------


def bursts(events: int, seed: int) -> tuple[hr.Hierarchy, Any, NDArray[np.int64], NDArray[np.int64]]:
    """Photographs in bursts of 1 to 9: half of the noise is that of the photograph, half that of the burst."""
    random = np.random.default_rng(seed)
    people = population(leaves=12, size=10)
    h, leaves = people.hierarchy, 12
    member = np.repeat(np.arange(events), random.integers(1, 10, events))
    place = random.integers(leaves, size=events)
    noise = random.gamma(2.0, 0.7, size=events)[:, None] * random.normal(size=(events, leaves))
    own = random.gamma(2.0, 0.7, size=len(member))[:, None] * random.normal(size=(len(member), leaves))
    logits = (noise[member] + own) * math.sqrt(0.5)
    logits += 3.0 * np.exp(-np.abs(np.arange(leaves) - place[member][:, None]) / 1.5)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    q = Likelihoods.of(h, from_leaves(h, p / p.sum(axis=1, keepdims=True)))
    return h, q, h.leaves[place], member


def by_events(draws: int, number: int = 500) -> None:
    """Compare one answer per event with the vote of its photographs, each answered by itself."""
    h, q, labels, member = bursts(20_000, 0)
    random = np.random.default_rng(1)
    rows = random.integers(len(labels), size=(draws, number))
    information = h.information()
    for how in ("mean", "geometric", "max"):
        pooled, _ = pool(h, q, member, how)
        r = largest_wrong(h, pooled, labels)
        tau = conformal(r[rows])
        right = share_right(r, tau)
        recall = np.mean([_recall(h, hr.infer.threshold(h, pooled, t), labels, information) for t in tau[:200]])
        print(
            f"events, {how:9} right {right.mean():.3%} ± {2 * _error(right):.3%} of events; recall {recall:.1%}",
            flush=True,
        )
    # One photograph of each event is a fair calibration set for photographs.
    first = np.unique(member, return_index=True)[1]
    single = q[first]
    tau = conformal(largest_wrong(h, single, labels)[rows])[:200]
    found = []
    for t in tau:
        voted = _vote(hr.infer.threshold(h, q, t), member, information)
        found.append((h.is_ancestor(voted, labels).mean(), _recall(h, voted, labels, information)))
    right, recall = np.mean(found, axis=0)
    best = 0.0
    for t in np.linspace(0.3, 0.99, 70):  # what the vote would give if its threshold were known
        voted = _vote(hr.infer.threshold(h, q, t), member, information)
        if h.is_ancestor(voted, labels).mean() >= 1 - ALPHA:
            best = max(best, _recall(h, voted, labels, information))
    said = f"at the best threshold in hindsight {best:.1%}"
    print(f"events, majority vote of single answers: right {right:.1%}, recall {recall:.1%}; {said}", flush=True)


def _vote(answers: NDArray[np.int64], member: NDArray[np.int64], information: Floats) -> NDArray[np.int64]:
    """Return the most frequent answer of each event; of several, the most specific."""
    key, count = np.unique(member * len(information) + answers, return_counts=True)
    event, node = np.divmod(key, len(information))
    order = np.lexsort((information[node], count, event))
    return np.asarray(node[order[np.searchsorted(event[order], np.arange(member[-1] + 1), side="right") - 1]])


def _recall(h: hr.Hierarchy, answers: NDArray[np.int64], labels: NDArray[np.int64], information: Floats) -> float:
    return float((information[h.lca(answers, labels)] / information[labels]).mean())


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


# Weights and expected shares -------------------------------------------------------------------------------------


def weighed(r: Floats, weights: Floats, new: float) -> Floats:
    """Return the threshold for a new example of a weight, for each row of calibration examples."""
    order = np.argsort(r, axis=1)
    mass = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    needed = (1 - ALPHA) * (mass[:, -1] + new)
    place = np.argmax(mass >= needed[:, None] - 1e-9, axis=1)
    tau = np.take_along_axis(np.take_along_axis(r, order, axis=1), place[:, None], axis=1)[:, 0]
    return np.where(mass[:, -1] >= needed - 1e-9, tau, np.inf)


def other_data(draws: int, number: int = 500) -> None:
    """New data have five times as many examples of one half of the classes, which is harder."""
    random = np.random.default_rng(2)
    people = population(size=20_000, seed=3)
    h, labels = people.hierarchy, people.labels
    hard = labels >= h.leaves[6]
    p = people.q[:, h.leaves]
    p[~hard] = (p[~hard] + (h.leaves == labels[~hard, None])) / 2
    q = np.asarray(from_leaves(h, p))
    r = largest_wrong(h, Likelihoods.of(h, q), labels)
    ratio = np.where(hard, 5.0, 1.0)
    new = ratio / ratio.sum()
    rows = random.integers(len(labels), size=(draws, number))

    def truth(taus: dict[float, Floats]) -> Floats:
        """Return the share right of new data, with the threshold of each weight."""
        right = [new[ratio == w].sum() * share_right(r[ratio == w], tau) for w, tau in taus.items()]
        return np.asarray(np.sum(right, axis=0))

    plain = conformal(r[rows])
    with_weights = {w: weighed(r[rows], ratio[rows], w) for w in (1.0, 5.0)}
    # Strata: each class counts by its share, its examples by 1 / (n_c + 1).
    leaf = np.searchsorted(h.leaves, labels)
    share = np.bincount(leaf, new, minlength=12)
    size = np.stack([np.bincount(each, minlength=12) for each in leaf[rows]])
    mass = (share / (size + 1))[np.arange(draws)[:, None], leaf[rows]]
    order = np.argsort(r[rows], axis=1)
    sums = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)
    place = np.argmax(sums >= 1 - ALPHA - 1e-12, axis=1)[:, None]
    tau = np.take_along_axis(np.take_along_axis(r[rows], order, axis=1), place, axis=1)[:, 0]
    by_shares = np.where(sums[:, -1] >= 1 - ALPHA - 1e-12, tau, np.inf)
    for draw in range(min(_CHECKED, draws)):
        here = rows[draw]
        given: dict[str, Any] = {"target": ("correct", 1 - ALPHA)}
        names = h.names[labels[here]]
        point = hr.select(h, q[here], names, weights=ratio[here], **given)
        found = point.thresholds_of_weights([1.0, 5.0], 2)
        assert found.tolist() == [with_weights[1.0][draw], with_weights[5.0][draw]]
        expect = dict(zip(h.names[h.leaves].tolist(), share.tolist(), strict=True))
        assert hr.select(h, q[here], names, expect=expect, **given).threshold == by_shares[draw]
    results = {
        "as if nothing had changed": {1.0: plain, 5.0: plain},
        "weights": with_weights,
        "expected shares": {1.0: by_shares, 5.0: by_shares},
    }
    for name, taus in results.items():
        right = truth(taus)
        print(f"other data, {name:26} right {right.mean():.3%} ± {2 * _error(right):.3%}", flush=True)


# A monitor -------------------------------------------------------------------------------------------------------


def fixed_sample(alpha: float, share: float, level: float) -> int:
    """Return the fewest labels with which a test of Clopper and Pearson finds a larger share half of the time."""
    for number in range(5, 100_000):
        least = int(stats.binom.isf(level, number, alpha)) + 1  # so many errors are too many
        if stats.binom.sf(least - 1, number, share) >= 0.5:
            return number
    raise AssertionError("no number of labels suffices")


def first_alarm(losses: Floats, level: float, goal: float) -> int:
    """Return the number of labels until the alarm; one more than there are if there is none."""
    _, path = Evidence().after(mean_bets(losses - level, level))
    return int(np.argmax(np.append(path, np.inf) >= math.log(goal))) + 1


def monitored(draws: int, number: int = 1_000) -> None:
    """Draw points and streams: false alarms while nothing changes, and delays once the error doubles."""
    people = population(size=20_000, seed=3)
    h = people.hierarchy
    r = largest_wrong(h, Likelihoods.of(h, people.q), people.labels)
    random = np.random.default_rng(4)
    budget = int(Bound("pac", exactly(ALPHA), exactly(0.05)).budget(number))
    k = math.ceil((number + 1) * (1 - exactly(ALPHA)))
    for guarantee in ("conformal", "pac"):
        place = k - 1 if guarantee == "conformal" else number - budget - 1
        price = 2 if guarantee == "conformal" else 1
        level = float(stats.beta.ppf(1 - DELTA / 2, number + 1 - k, k)) if price == 2 else ALPHA
        false = broken = 0
        for _ in range(draws):
            tau = np.partition(r[random.integers(len(r), size=number)], place)[place]
            error = float((r > tau).mean())
            alarmed = first_alarm((random.random(STREAM) < error).astype(float), level, price / DELTA) <= STREAM
            kept = guarantee == "conformal" or error <= ALPHA
            false, broken = false + (alarmed and kept), broken + (not kept)
        delays = {
            calm: [
                first_alarm(
                    (random.random(9_000) < np.where(np.arange(9_000) < calm, ALPHA, 2 * ALPHA)).astype(float),
                    level,
                    price / DELTA,
                )
                - calm
                for _ in range(draws // 10)
            ]
            for calm in (0, 1_000)
        }
        best = fixed_sample(level, 2 * ALPHA, DELTA / price)
        median = float(np.median(delays[0]))
        print(
            f"monitor, {guarantee:9} tests {level:.2%}: false alarms in {false / draws:.2%} of streams of "
            f"{STREAM:,} (at most "
            f"{DELTA:.0%}; points that break their promise: {broken / draws:.1%}); the error doubles: alarm "
            f"after {median:,.0f} "
            f"labels, {median / best:.2f} times the {best:,} of a fixed sample; after 1,000 calm ones: "
            f"{np.median(delays[1_000]):,.0f}",
            flush=True,
        )
    without_labels(draws, number, h, people.q)


def without_labels(draws: int, number: int, h: hr.Hierarchy, q: Floats) -> None:
    """Test what the model says, while nothing changes, and once it is surer than before."""
    candidates = Candidates.of(h, hr.tree.Settings())
    sharper = hr.likelihood.tempered(h, q, 0.8)
    bins = [bins_of(tip_likelihoods(Likelihoods.of(h, each), candidates)) for each in (q, sharper)]
    random = np.random.default_rng(5)
    alarms: list[list[int]] = [[], []]
    for which, streams in ((0, draws), (1, draws // 10)):
        for _ in range(streams):
            counts = np.bincount(bins[0][random.integers(len(q), size=number)], minlength=BINS)
            stream = bins[which][random.integers(len(q), size=STREAM)]
            _, path = Evidence().after(p_value_bets(p_values(stream, counts, random.random(STREAM))))
            alarms[which].append(int(np.argmax(np.append(path, np.inf) >= math.log(1 / DELTA))) + 1)
    false = np.mean(np.array(alarms[0]) <= STREAM)
    print(
        f"monitor, without labels: false alarms in {false:.2%} of streams of {STREAM:,} (at most {DELTA:.0%}); "
        f"at a "
        f"temperature of 0.8: alarm after {np.median(alarms[1]):,.0f} examples",
        flush=True,
    )
