"""Monitors against slow definitions: wealth, ranks, losses; and how often they are wrong."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

import hedgerow as hr
from hedgerow.choose import read_answers
from hedgerow.choose.evidence import Evidence, mean_bets, p_value_bets
from hedgerow.choose.tips import BINS, bins_of, p_values, tip_likelihoods
from hedgerow.errors import HedgerowError
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods
from hedgerow.score_files import Examples
from tests.choose.populations import population
from tests.choose.test_select import quiet
from tests.sealed import sealed

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = population(size=4000, seed=1)
TREE = PEOPLE.hierarchy
NAMES = TREE.names[PEOPLE.labels]
POINT = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("correct", 0.9))
NEW = PEOPLE.q[1000:], NAMES[1000:]
Array = np.ndarray[Any, Any]


# The bets ------------------------------------------------------------------------------------------------------


def slow_wealth(factors: Array) -> list[float]:
    """Each bettor puts in a part of his money before each bet; what he does not put in stays as it is."""
    number = factors.shape[1]
    reserve, play, path = 1.0, [0.0] * number, []
    for bet, row in enumerate(factors, start=1):
        kept = 0.5 / math.log2(bet + 1)
        for j, factor in enumerate(row):
            play[j] = (play[j] + (reserve - kept) / number) * factor
        reserve = kept
        path.append(sum(play) + reserve)
    return path


def test_wealth_is_its_definition_whatever_the_batches() -> None:
    factors = np.random.default_rng(0).gamma(2.0, 0.5, size=(60, 3))
    expected = slow_wealth(factors)
    evidence, path = Evidence().after(np.log(factors))
    assert np.exp(path) == pytest.approx(expected)
    assert np.exp(evidence.best) == pytest.approx(max(1.0, *expected))
    parts = Evidence()
    for start, end in ((0, 1), (1, 1), (1, 30), (30, 60)):
        parts, path = parts.after(np.log(factors[start:end]))
    assert np.exp(path[-1]) == pytest.approx(expected[-1])
    assert parts.bettors == pytest.approx(evidence.bettors)
    assert parts.count == 60
    assert parts.best == pytest.approx(evidence.best)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3, 0.9])
def test_no_bet_has_a_gain_on_average(alpha: float) -> None:
    """For a loss of at most α on average: of 0 and 1, or anything in between."""
    wrong, right = np.exp(mean_bets(np.array([1 - alpha, -alpha]), alpha))
    assert alpha * wrong + (1 - alpha) * right == pytest.approx(np.ones(len(wrong)))
    assert (right > 0).all()
    p = (np.arange(1_000_000) + 0.5) / 1_000_000
    assert np.exp(p_value_bets(p)).mean(axis=0) == pytest.approx(1, abs=2e-3)
    assert (np.exp(p_value_bets(p)).mean(axis=0) <= 1 + 1e-9).all()


def test_ranks_are_their_definition() -> None:
    random = np.random.default_rng(0)
    calibration, stream = random.integers(0, BINS, 40), random.integers(0, BINS, 3000)
    ties = random.random(3000)
    found = p_values(stream, np.bincount(calibration, minlength=BINS), ties)
    before = calibration.tolist()
    for place in range(300):
        value = int(stream[place])
        greater, same = sum(b > value for b in before), sum(b == value for b in before)
        assert found[place] == pytest.approx((greater + ties[place] * (same + 1)) / (len(before) + 1))
        before.append(value)
    assert stats.kstest(found, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.06


def test_bins_hold_all_likelihoods() -> None:
    tips = np.array([0.0, 1e-9, 0.4, 0.5, 0.999, 1 - 1e-9, 1.0])
    assert bins_of(tips).tolist() == sorted(bins_of(tips).tolist())
    assert (bins_of(tips)[0], bins_of(tips)[-1]) == (0, BINS - 1)
    expected = np.bincount(bins_of(PEOPLE.q[:1000, TREE.leaves].max(axis=1)), minlength=BINS)
    assert POINT.tip_counts == tuple(expected.tolist())


def test_the_likelihood_of_the_most_likely_tip() -> None:
    """Of the nodes with nothing likely below them: leaves, or where no leaf is likely, inner nodes."""
    tree = hr.Hierarchy.from_json({"r": {"a": ["b", "c"], "d": ["e", "f"]}})
    rows = [[1, 0.6, 0.4, 0.2, 0.4, 0.3, 0.1], [1, 0.7, 0.0, 0.0, 0.3, 0.3, 0.0], [1, 0, 0, 0, 0, 0, 0]]
    for q in ([rows[0]], rows):
        found = tip_likelihoods(Likelihoods.of(tree, q), Candidates.of(tree, POINT.settings))
        assert found.tolist() == [0.4, 0.7, 1.0][: len(q)]


# What is tested ------------------------------------------------------------------------------------------------


def test_the_loss_that_is_tested() -> None:
    """Of a conformal point: what a share δ/2 of all calibration sets exceeds, by the distribution of ranks."""
    monitor = hr.Monitor(POINT, delta=0.02)
    n, k = 1000, math.ceil(1001 * 0.9)
    assert monitor.promise[0].level == pytest.approx(stats.beta.ppf(0.99, n + 1 - k, k))
    pac = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("correct", 0.9), guarantee="pac")
    assert hr.Monitor(pac).promise[0].level == 0.1
    groups = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("correct", 0.9), groups=["a", "b"] * 500)
    monitor = hr.Monitor(groups, delta=0.02)
    k = math.ceil(501 * 0.9)
    expected = float(stats.beta.ppf(1 - 0.02 / 4, 501 - k, k))
    assert {test.name: test.level for test in monitor.promise} == pytest.approx({"a": expected, "b": expected})
    loss = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("precision", 0.9))
    assert 0.1 < hr.Monitor(loss).promise[0].level < 0.2  # by inequalities


def test_a_metric_with_bounds_is_watched(tmp_path: Path) -> None:
    """Also by a point from a file; one of which nobody knows the metric says so."""
    asked: dict[str, Any] = {"target": ("edge_distance", 3.0), "bounds": (0, 6), "guarantee": "pac"}
    point = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], **asked)
    point.save(tmp_path / "p.json")
    distance = hr.metrics.edge_distance(TREE, PEOPLE.labels[1000:1400], point.predict(PEOPLE.q[1000:1400]))
    for each in (point, hr.OperatingPoint.load(tmp_path / "p.json")):
        monitor = hr.Monitor(each)
        monitor.update(PEOPLE.q[1000:1400], NAMES[1000:1400])
        (test,) = monitor.promise
        assert (test.level, test.units) == (0.5, 400)
        assert test.loss == pytest.approx(distance.sum() / 6)
        assert not monitor.alarm
    steps = hr.metrics.Metric("steps", False, lambda c: 1.0 * (c.label != c.prediction))
    quiet(TREE, PEOPLE.q, NAMES, target=(steps, 0.9), bounds=(0, 1)).save(tmp_path / "p.json")
    unknown = hr.Monitor(hr.OperatingPoint.load(tmp_path / "p.json"))
    with pytest.raises(hr.HedgerowError, match="The metric 'steps' is not known here"):
        unknown.update(PEOPLE.q[:10], NAMES[:10])


@pytest.mark.parametrize("level", [Fraction(2, 3), "2/3", "0.66666666666666666666666"])
def test_levels_that_are_no_float_survive_files(level: Any, tmp_path: Path) -> None:
    point = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("correct", level), guarantee="pac")
    monitor = hr.Monitor(point)
    monitor.update(PEOPLE.q[1000:1100], NAMES[1000:1100])
    monitor.save(tmp_path / "m.json")
    again = hr.Monitor.load(tmp_path / "m.json")
    assert again.point.request == point.request
    assert again.evidence == monitor.evidence


def wealth(values: list[float], alpha: float) -> float:
    return max(1.0, *slow_wealth(np.exp(mean_bets(np.array(values), alpha))))


def evidence(point: hr.OperatingPoint, labels: Array, **more: Any) -> hr.Monitor:
    monitor = hr.Monitor(point)
    monitor.update(NEW[0][: len(labels)], labels, **more)
    return monitor


def test_with_labels() -> None:
    labels = NEW[1][:300].copy()
    labels[200:] = TREE.names[TREE.leaves[0]]
    monitor = evidence(POINT, labels)
    answers = POINT.predict(NEW[0][:300])
    alpha = monitor.promise[0].level
    wrong = ~TREE.is_ancestor(answers, TREE.indices(labels))
    assert monitor.evidence == pytest.approx(wealth((wrong - alpha).tolist(), alpha) / 2)
    assert (monitor.promise[0].units, monitor.promise[0].loss) == (300, wrong.sum())
    one_by_one = hr.Monitor(POINT)
    for row in range(300):
        one_by_one.update(NEW[0][row : row + 1], labels[row : row + 1], [f"i{row}"])
    assert one_by_one.evidence == pytest.approx(monitor.evidence)
    assert one_by_one.alarm == monitor.alarm


def test_among_the_answers_given() -> None:
    point = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("correct", 0.8), among="answered")
    labels = NEW[1][:400].copy()
    labels[::3] = TREE.names[TREE.leaves[0]]
    monitor = evidence(point, labels)
    answers = point.predict(NEW[0][:400])
    wrong = ~TREE.is_ancestor(answers, TREE.indices(labels))[answers > 0]
    assert 0 < (answers > 0).sum() < 400
    assert monitor.promise[0].units == (answers > 0).sum()
    assert monitor.evidence == pytest.approx(wealth((wrong - 0.2).tolist(), monitor.promise[0].level))


@pytest.mark.parametrize("largest", [None, 9])
def test_whole_clusters(largest: int | None) -> None:
    people = population(size=6000, cluster=5, seed=2)
    names, clusters = people.hierarchy.names[people.labels], people.clusters.astype(str)
    old, new = people.clusters < 600, (people.clusters >= 600) & (people.clusters < 700)
    more: dict[str, Any] = {} if largest is None else {"unit": "example", "largest_cluster": largest}
    given = {"target": ("correct", 0.8), "guarantee": "pac", "clusters": clusters[old], **more}
    point = quiet(people.hierarchy, people.q[old], names[old], **given)
    labels = names[new].copy()
    labels[::2] = people.hierarchy.names[people.hierarchy.leaves[0]]
    monitor = hr.Monitor(point)
    monitor.update(people.q[new], labels, clusters=clusters[new])
    wrong = ~people.hierarchy.is_ancestor(point.predict(people.q[new]), people.hierarchy.indices(labels))
    values = []
    for cluster in dict.fromkeys(clusters[new].tolist()):
        mine = wrong[clusters[new] == cluster]
        values.append((mine - 0.2).mean() if largest is None else (mine - 0.2).sum() / largest)
    assert monitor.promise[0].units == len(values)
    assert monitor.evidence == pytest.approx(wealth(values, monitor.promise[0].level))
    before = repr(monitor)
    with pytest.raises(HedgerowError, match="1 cluster was counted before"):
        monitor.update(people.q[new][:1], labels[:1], clusters=clusters[new][:1])
    with pytest.raises(HedgerowError, match="The point was chosen with clusters: give them"):
        monitor.update(people.q[new][:1], labels[:1])
    assert repr(monitor) == before


def test_ranks_and_merged_groups() -> None:
    point = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], per_rank={"1": 0.95, "2": 0.8}, guarantee="pac")
    labels = NEW[1][:500].copy()
    labels[::4] = TREE.names[TREE.leaves[5]]
    monitor = evidence(point, labels)
    answers, nodes = point.predict(NEW[0][:500]), TREE.indices(labels)
    for test, depth, alpha in zip(monitor.promise, (1, 2), (0.05, 0.2), strict=True):
        wrong = []
        for answer, label in zip(answers.tolist(), nodes.tolist(), strict=True):
            path = TREE.lineage(answer)
            node = int(path[depth]) if len(path) > depth else None
            wrong.append(
                node is not None and not TREE.is_ancestor(node, label) and not TREE.is_ancestor(label, node)
            )
        assert test.loss == sum(wrong)
        assert test.evidence == pytest.approx(wealth([w - alpha for w in wrong], alpha) / 2)
    groups = np.array(["a", "b", "c"] * 400, dtype=object)[:1000]
    groups[:5] = "tiny"
    few = quiet(TREE, PEOPLE.q[:1000], NAMES[:1000], target=("correct", 0.9), groups=groups, merge_small=True)
    monitor = hr.Monitor(few)
    here = np.array(["a", "tiny", "new", "c"] * 50)
    monitor.update(NEW[0][:200], NEW[1][:200], groups=here)
    counts = {test.name: test.units for test in monitor.promise}
    pool = next(name for name in counts if few.thresholds[name] == few.thresholds["tiny"])
    assert sum(counts.values()) == 150  # nothing is promised for a new group: its answers are the root
    assert counts[pool] >= 50


# Without labels ------------------------------------------------------------------------------------------------


def test_without_labels() -> None:
    monitor = hr.Monitor(POINT, seed=3)
    monitor.update(NEW[0][:500], ids=np.arange(500))
    tips = tip_likelihoods(Likelihoods.of(TREE, NEW[0][:500]), Candidates.of(TREE, POINT.settings))
    random = np.random.Generator(np.random.PCG64(3)).random(500)
    p = p_values(bins_of(tips), np.array(POINT.tip_counts), random)
    assert monitor.evidence == pytest.approx(max(1.0, *slow_wealth(np.exp(p_value_bets(p)))))
    assert not monitor.alarm
    parts = hr.Monitor(POINT, seed=3)
    for start in range(0, 500, 125):
        parts.update(NEW[0][start : start + 125])
    assert parts.evidence == pytest.approx(monitor.evidence)
    sharper = np.asarray(hr.likelihood.tempered(TREE, NEW[0][500:1000], 0.7))
    monitor.update(sharper)
    assert monitor.to_dict()["alarm"]
    assert monitor.to_dict()["shift"]["alarm"]
    assert not monitor.to_dict()["promise"][0]["alarm"]


# How often it is wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", ["conformal", "pac"])
def test_false_alarms_and_delays(guarantee: str) -> None:
    """Streams of a promise that is just kept, and of one that is broken: 300 of 600 labels each."""
    n, alpha, delta = 400, 0.05, 0.05
    random = np.random.default_rng(0)
    monitor = hr.Monitor(
        quiet(TREE, PEOPLE.q[:n], NAMES[:n], target=("correct", 0.95), guarantee=guarantee), delta
    )
    level = monitor.promise[0].level
    k = math.ceil((n + 1) * (1 - alpha))
    price = 2 if guarantee == "conformal" else 1

    def alarms(share: float) -> list[int]:
        found = []
        for _ in range(300):
            # The error of a point is that of its calibration set.
            truth = random.beta(n + 1 - k, k) if guarantee == "conformal" and share == alpha else share
            loss = (random.random(600) < truth).astype(float)
            _, path = Evidence().after(mean_bets(loss - level, level))
            found.append(int(np.argmax(np.append(path, np.inf) >= math.log(price / delta))))
        return found

    assert np.mean(np.array(alarms(alpha)) < 600) <= delta
    assert np.median(alarms(3 * alpha)) < 150


# Files and bad input -------------------------------------------------------------------------------------------


def test_a_monitor_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    monitor = hr.Monitor(POINT, delta=0.05, seed=8)
    monitor.update(NEW[0][:50], NEW[1][:50], [f"i{row}" for row in range(50)])
    monitor.update(NEW[0][:70], ids=[f"i{row}" for row in range(70)])
    monitor.save(path)
    again = hr.Monitor.load(path)
    assert repr(again) == repr(monitor)
    assert again.to_dict() == monitor.to_dict()
    again.save(tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == path.read_bytes()
    for each in (monitor, again):
        each.update(NEW[0][100:300], NEW[1][100:300])
        each.update(NEW[0][100:300])
    assert again.to_dict() == monitor.to_dict()
    assert again.shift.path == monitor.shift.path
    with pytest.raises(HedgerowError, match="1 id was counted before with a label: 'i7'"):
        again.update(NEW[0][:1], NEW[1][:1], ["i7"])
    with pytest.raises(HedgerowError, match="2 ids were counted before: 'i60' and 'i8'"):
        again.update(NEW[0][:3], ids=["i60", "i8", "new"])
    with pytest.raises(HedgerowError, match="1 id was given twice: 'new'"):
        again.update(NEW[0][:2], ids=["new", "new"])
    assert again.to_dict() == monitor.to_dict()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"delta": 2}, "delta"),
        ({"format": "x"}, "cannot be read as the state of a monitor: it is a 'x'"),
        ({"schema": 99}, "another version"),
        ({"counts": [1, 2]}, "length >= 66 - at `.*counts`"),
        ({"counts": [1] * 66}, "its counts do not add up"),
        ({"promise": []}, "cannot be read as the state of a monitor"),
        ({"shift": {"name": "", "level": 0.0, "wealth": {"bettors": [0.5]}}}, "not those of its point"),
        ({"shift": {"name": "", "level": 0.0, "units": 3, "wealth": {"count": 3}}}, "not those of its point"),
        ({"seen": "AAA="}, "cannot be read as the state of a monitor"),
        ({"more": 1}, "more"),
        ({"point": {}}, "the point cannot be read as a point: hedgerow did not write it"),
    ],
)
def test_damaged_states(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "state.json"
    hr.Monitor(POINT).save(path)
    content = json.loads(path.read_text(encoding="utf-8")) | change
    path.write_text(json.dumps(sealed(content)), encoding="utf-8")
    with pytest.raises(HedgerowError, match=rf"state\.json.*{said}"):
        hr.Monitor.load(path)


def test_bad_input() -> None:
    with pytest.raises(HedgerowError, match="delta is the probability of a false alarm"):
        hr.Monitor(POINT, delta=0)
    with pytest.raises(HedgerowError, match="watches an operating point"):
        hr.Monitor("point.json")  # type: ignore[arg-type]
    empirical = quiet(TREE, PEOPLE.q[:50], NAMES[:50], target=("correct", 0.9), guarantee="empirical")
    with pytest.raises(HedgerowError, match="An empirical point promises nothing"):
        hr.Monitor(empirical).update(PEOPLE.q[:5], NAMES[:5])
    weighed = quiet(TREE, PEOPLE.q[:50], NAMES[:50], target=("correct", 0.8), weights=np.ones(50))
    with pytest.raises(HedgerowError, match="or is for data that differ from these: give labels"):
        hr.Monitor(weighed).update(PEOPLE.q[:5], weights=np.ones(5))
    hr.Monitor(weighed).update(PEOPLE.q[:5], NAMES[:5], weights=np.ones(5))
    monitor = hr.Monitor(POINT)
    with pytest.raises(HedgerowError, match="does not depend on clusters"):
        monitor.update(NEW[0][:5], clusters=["a"] * 5)
    with pytest.raises(HedgerowError, match="labels needs one entry per example, 5; got 4"):
        monitor.update(NEW[0][:5], NEW[1][:4])
    with pytest.raises(HedgerowError, match="There are no examples"):
        monitor.update(NEW[0][:0], NEW[1][:0])
    other = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    with pytest.raises(HedgerowError, match="another tree"):
        monitor.update(Likelihoods.of(other, [[1, 0.5, 0.5]]), ["cat"])
    with pytest.raises(HedgerowError, match="tip_likelihood"):
        monitor.watch(Examples.of(2, answer=[1, 2]))
    assert monitor.to_dict()["promise"][0]["units"] == 0


def test_answers_are_read_from_tables(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"prediction": "cat"}\n')
    with pytest.raises(
        HedgerowError, match=r"answers\.jsonl: a monitor reads answers from \.csv, \.tsv, \.parquet files"
    ):
        read_answers(POINT, tmp_path / "answers.jsonl")
