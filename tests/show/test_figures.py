"""Figures: what is drawn where, and that it is written whole or not at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, ParameterError, ScoreError
from hedgerow.measure import Reliability, evaluate
from tests.make_evaluations import LABELS, model, sample
from tests.make_scores import H

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

from hedgerow.show.curve_lines import AXIS_NAMES, KINDS, System  # noqa: E402
from hedgerow.show.figures import (  # noqa: E402  (imports matplotlib)
    COLOURS,
    MARKERS,
    RULE_STYLES,
    OperatingCurveDisplay,
    Panel,
    panel_figure,
    reliability_figure,
    save_figure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.lines import Line2D


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def lines(ax: Any) -> list[Line2D]:
    return [line for line in ax.lines if line.get_linestyle() != "None"]


def markers(ax: Any) -> list[Line2D]:
    return [line for line in ax.lines if line.get_linestyle() == "None" and line.get_marker() != "+"]


def threshold_marks(ax: Any) -> list[list[float]]:
    return [np.asarray(line.get_xydata())[0].tolist() for line in ax.lines if line.get_marker() == "+"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_is_the_curve(kind: Any) -> None:
    curve = hr.operating_curve(H, *sample(40))
    ax = OperatingCurveDisplay.from_curves(curve).plot(kind).ax_
    along, up = KINDS[kind]
    solid, dashed = lines(ax)
    half = curve.index(0.5)
    assert solid.get_drawstyle() == "steps-pre"
    points = np.stack([curve.values[along], curve.values[up]], axis=1)[: half + 1]
    distinct = points[np.append(np.diff(points, axis=0).any(axis=1), True)]
    drawn = np.stack([np.asarray(solid.get_xdata()), np.asarray(solid.get_ydata())], axis=1)
    np.testing.assert_array_equal(drawn[drawn[:, 0] > 0], distinct[distinct[:, 0] > 0])
    assert drawn[0].tolist() == [0, 1]
    assert np.asarray(dashed.get_xdata())[[0, -1]].tolist() == curve.values[along][[half, -1]].tolist()
    assert set(np.asarray(dashed.get_ydata())) <= set(curve.values[up])
    assert (ax.get_xlabel(), ax.get_ylabel()) == (AXIS_NAMES[along], AXIS_NAMES[up])


def test_dashes_begin_at_one_half() -> None:
    curve = hr.operating_curve(H, *sample(40))
    solid, dashed = lines(OperatingCurveDisplay.from_curves(curve).plot("correct-recall").ax_)
    assert not solid.is_dashed()
    assert dashed.is_dashed()
    point = curve.at(0.5)
    assert (np.asarray(solid.get_xdata())[-1], np.asarray(solid.get_ydata())[-1]) == (
        point["recall"],
        point["correct"],
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [40, 3_000])  # steps, and a line smoothed for the dashes
def test_dashes_begin_where_the_solid_line_ends(kind: Any, count: int) -> None:
    curves = [hr.operating_curve(H, *sample(count, seed)) for seed in range(3)]
    for given in (curves[0], {"seeds": curves}):
        solid, dashed = lines(OperatingCurveDisplay.from_curves(given).plot(kind).ax_)
        assert np.asarray(solid.get_xydata())[-1].tolist() == np.asarray(dashed.get_xydata())[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0, 2, 4, 8])
def test_axes_hide_nothing_and_say_where_they_start(kind: Any, strength: float) -> None:
    evaluations = [model(LABELS, strength, seed=seed) for seed in range(3)]
    low = {"leaf": dict.fromkeys(hr.metrics.METRICS, 0.04)}
    systems = [
        System("one", (evaluations[0].curve,), evaluations[0].rules),
        System("three", tuple(e.curve for e in evaluations), low if strength == 2 else {}),
    ]
    ax = OperatingCurveDisplay(systems).plot(kind).ax_
    drawn = np.concatenate(
        [np.asarray(line.get_xydata()) for line in ax.lines] + [np.asarray(patch.get_xy()) for patch in ax.patches]  # type: ignore[attr-defined]
    )
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert left <= drawn[:, 0].min()
    assert drawn[:, 0].max() <= right
    assert bottom <= drawn[:, 1].min()
    assert drawn[:, 1].max() <= top
    ticks = np.asarray(ax.get_yticks())
    assert ticks[0] == pytest.approx(bottom)
    assert ticks[-1] == pytest.approx(1)
    assert 3 <= len(ticks) <= 9


def test_dashes_on_another_scale() -> None:
    q, labels = sample(40)
    with np.errstate(divide="ignore"):
        logit = np.log(q) - np.log1p(-q)
    plain = OperatingCurveDisplay.from_predictions(H, q, labels).plot().ax_
    mapped = OperatingCurveDisplay.from_predictions(H, logit, labels, scale="logit").plot().ax_
    own = hr.likelihood.Likelihoods.of(H, logit, "logit")  # which know their scale
    carried = OperatingCurveDisplay.from_predictions(H, own, labels).plot().ax_
    for a, b, c in zip(lines(plain), lines(mapped), lines(carried), strict=True):
        np.testing.assert_allclose(np.asarray(a.get_xdata(), float), np.asarray(b.get_xdata(), float))
        np.testing.assert_array_equal(np.asarray(b.get_xdata(), float), np.asarray(c.get_xdata(), float))


def test_rules_are_marked() -> None:
    evaluation = evaluate(H, *sample(40), name="mine")
    ax = OperatingCurveDisplay.from_evaluations([evaluation]).plot("correct-exact", rules=["leaf", "majority"]).ax_
    leaf, majority = markers(ax)
    for line, rule in ((leaf, "leaf"), (majority, "majority")):
        assert np.asarray(line.get_xdata()).tolist() == [evaluation.rules[rule]["exact"]]
        assert np.asarray(line.get_ydata()).tolist() == [evaluation.rules[rule]["correct"]]
    assert leaf.get_markerfacecolor() == COLOURS[0]
    assert majority.get_markerfacecolor() == "white"
    legend = ax.get_legend()
    assert legend is not None
    entries = ["mine", "leaf", "majority", "threshold < 0.5", "threshold"]
    assert [text.get_text() for text in legend.get_texts()] == entries


def test_only_majority_and_leaf_are_marked_unless_others_are_asked_for() -> None:
    display = OperatingCurveDisplay.from_predictions(H, *sample(40), name="mine")
    assert len(display.systems[0].rules) == 4
    assert [line.get_markerfacecolor() for line in markers(display.plot().ax_)] == ["white", COLOURS[0]]
    assert len(markers(display.plot(rules=["plurality", "leaf", "expected-information"]).ax_)) == 3
    assert markers(display.plot(rules=()).ax_) == []


def test_the_display_keeps_where_it_drew() -> None:
    display = OperatingCurveDisplay.from_predictions(H, *sample(20))
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    other = display.figure(["correct-exact"])
    assert display.figure_ is not other
    ax = other.axes[0]
    assert display.plot("correct-recall", ax).ax_ is ax


class Estimator:
    """What a fitted classifier has."""

    hierarchy_ = H
    classes_ = H.names[H.leaves]

    def __init__(self, q: Any) -> None:
        self.q = q

    def predict_likelihood(self, X: Any) -> Any:
        return self.q[X]


class ScaledEstimator(Estimator):
    method_ = SimpleNamespace(scale="log")

    def predict_likelihood(self, X: Any, scale: str = "probability") -> Any:
        return np.log(self.q[X]) if scale == "log" else self.q[X]


@pytest.mark.parametrize(("kind", "scale"), [(Estimator, "probability"), (ScaledEstimator, "log")])
def test_from_an_estimator(kind: Any, scale: str) -> None:
    q, labels = sample(40)
    rows = np.arange(0, 40, 2)
    display = OperatingCurveDisplay.from_estimator(kind(q), rows, H.names[labels[rows]], below_label="wrong")
    expected = evaluate(H, q[rows], labels[rows], below_label="wrong")
    (system,) = display.systems
    assert system.name == kind.__name__
    assert system.curves[0].scale == scale
    for metric, values in expected.curve.values.items():
        np.testing.assert_allclose(system.curves[0].values[metric], values)
    assert system.rules == expected.rules


def test_from_a_classifier_with_labels_of_its_own() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), np.tile([3, 7, 1], 20)  # numbers that must not be taken for nodes
    X[:, 0] += y
    classifier = hr.HedgedClassifier(C=1, random_state=0).fit(X, y)
    for labels in (y, y.astype(np.float64)):
        (system,) = OperatingCurveDisplay.from_estimator(classifier, X, labels, name="flat").systems
        assert system.name == "flat"
        assert system.rules["leaf"]["exact"] == np.mean(classifier.predict_leaf(X) == y)


def test_what_is_no_classifier() -> None:
    q, labels = sample(20)
    with pytest.raises(ParameterError, match=r"object has no hierarchy_.*Pipeline"):
        OperatingCurveDisplay.from_estimator(object(), q, labels)
    with pytest.raises(ScoreError, match="one label per example"):
        OperatingCurveDisplay.from_estimator(Estimator(q), np.arange(20), [["bird", "wren"]] * 20)
    with pytest.raises(HedgerowError, match="not in the tree: 'dodo'"):
        OperatingCurveDisplay.from_estimator(Estimator(q), np.arange(20), ["dodo"] * 20)


@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_thresholds_are_marked_on_the_curve(scale: Any) -> None:
    q, labels = sample(400)
    with np.errstate(divide="ignore"):
        scores = {"probability": q, "log": np.log(q), "logit": np.log(q) - np.log1p(-q)}[scale]
    curve = hr.operating_curve(H, q, labels)
    display = OperatingCurveDisplay.from_predictions(H, scores, labels, scale=scale)
    ax = display.plot("correct-exact", thresholds=[0.5, 0.8]).ax_
    found = [[curve.at(tau)[name] for name in ("exact", "correct")] for tau in (0.5, 0.8)]
    assert np.ravel(threshold_marks(ax)).tolist() == pytest.approx(np.ravel(found).tolist())
    assert [text.get_text() for text in ax.texts] == ["0.5", "0.8"]
    # There is no room for a second label beside the first.
    crowded = display.plot("correct-exact", thresholds=[0.5, 0.500001, 0.8]).ax_
    assert [text.get_text() for text in crowded.texts] == ["0.5", "0.8"]


def test_thresholds_are_marked_where_there_are_few_systems() -> None:
    curves = {f"s{i}": hr.operating_curve(H, *sample(400, i)) for i in range(3)}
    three = OperatingCurveDisplay.from_curves(curves)
    assert threshold_marks(three.plot().ax_) == []
    assert len(threshold_marks(three.plot(thresholds=[0.5]).ax_)) == 3
    curves.pop("s2")
    assert len(threshold_marks(OperatingCurveDisplay.from_curves(curves).plot().ax_)) >= 2


def test_thresholds_of_seeds_are_on_the_mean() -> None:
    curves = [hr.operating_curve(H, *sample(400, seed)) for seed in range(3)]
    ax = OperatingCurveDisplay.from_curves({"seeds": curves}).plot("correct-recall", thresholds=[0.6]).ax_
    x = np.mean([curve.at(0.6)["recall"] for curve in curves])
    y = np.mean([curve.correct[curve.recall >= x][0] for curve in curves])
    assert threshold_marks(ax) == [pytest.approx([x, y], abs=5e-3)]  # interpolated between the points of the line


def test_a_line_below_another_shows_at_its_sides() -> None:
    curve, other = (hr.operating_curve(H, *sample(400, seed)) for seed in range(2))
    ax = OperatingCurveDisplay.from_curves({"a": curve, "b": other, "c": curve, "d": curve}).plot().ax_
    a, a_dashes, b, _, c, _, d, _ = (line.get_linewidth() for line in lines(ax))
    assert a >= c + 1 >= d + 2
    assert a_dashes == a
    assert b == d
    many = OperatingCurveDisplay.from_curves({f"{i}": curve for i in range(9)}).plot().ax_
    assert 5 < max(line.get_linewidth() for line in lines(many)) < 8


def test_part_of_a_curve_can_be_drawn() -> None:
    curve = hr.operating_curve(H, *sample(40))
    ax = OperatingCurveDisplay.from_curves(curve.down_to(0.7)).plot("correct-recall").ax_
    solid, dashed = lines(ax)
    end = [curve.at(0.7)[name] for name in ("recall", "correct")]
    assert np.asarray(solid.get_xydata())[-1].tolist() == end
    assert len(np.asarray(dashed.get_xydata())) == 1
    assert end not in threshold_marks(ax)
    seeds = [curve.down_to(0.7), curve]
    (line, _) = lines(OperatingCurveDisplay.from_curves({"": seeds}).plot("correct-recall").ax_)
    assert np.asarray(line.get_xydata())[-1].tolist() == pytest.approx(end)


def test_points_far_below_the_curves_are_listed() -> None:
    curve = hr.operating_curve(H, *sample(400))
    lowest = min(curve.correct.min(), 0.9)
    near, far = ({"crm": dict.fromkeys(curve.values, value)} for value in (lowest, 0.01))
    systems = [System("near", (curve,), near), System("far", (curve,), far)]
    ax = OperatingCurveDisplay(systems).plot("correct-recall", rules=["crm"], thresholds=()).ax_
    (star,) = markers(ax)
    assert star.get_marker() == "*"
    assert np.asarray(star.get_ydata()).tolist() == [lowest]
    assert ax.get_ylim()[0] > 0.01
    assert [text.get_text() for text in ax.texts] == ["CRM over leaves, below:\nfar: 0.01"]


def test_panels_share_a_legend_if_they_show_the_same_systems() -> None:
    evaluations = [model(LABELS, 2, seed=seed) for seed in range(2)]
    first, second = (
        OperatingCurveDisplay.from_evaluations({name: e}) for name, e in zip("ab", evaluations, strict=True)
    )
    same = panel_figure([Panel(first, "correct-recall", "One"), Panel(first, "correct-exact", "Two")], columns=1)
    assert [ax.get_title() for ax in same.axes] == ["One", "Two"]
    assert all(ax.get_legend() is None for ax in same.axes)
    key = ["majority", "leaf", "threshold < 0.5", "threshold"]
    assert [text.get_text() for text in same.legends[0].get_texts()] == ["a", *key]
    differ = panel_figure([Panel(first, "correct-recall"), Panel(second, "correct-recall")] * 2)
    assert len(differ.axes) == 4
    legends = [ax.get_legend() for ax in differ.axes]
    assert [text.get_text() for legend in legends if legend for text in legend.get_texts()] == list("abab")
    assert [text.get_text() for text in differ.legends[0].get_texts()] == key
    with pytest.raises(ParameterError, match="nothing to draw"):
        panel_figure([])


def test_several_seeds_are_a_mean_with_a_band() -> None:
    seeds = [model(LABELS, 2, seed=i) for i in range(3)]
    ax = OperatingCurveDisplay.from_evaluations({"mine": seeds}).plot("correct-recall").ax_
    (band,) = ax.patches
    mean = np.mean([e.rules["majority"]["recall"] for e in seeds])
    assert np.asarray(markers(ax)[0].get_xdata()).tolist() == [pytest.approx(mean)]
    solid, dashed = lines(ax)
    x = np.mean([e.curve.at(0.5)["recall"] for e in seeds])
    heights = [e.curve.correct[e.curve.recall >= x][0] for e in seeds]
    y, dy = np.mean(heights), 2 * np.std(heights, ddof=1)
    assert np.asarray(solid.get_xydata())[-1].tolist() == pytest.approx([x, y], abs=5e-3)  # within a step
    assert np.asarray(dashed.get_xydata())[-1].tolist() == pytest.approx(
        [
            np.mean([values[-1] for values in (e.curve.recall for e in seeds)]),
            np.mean([e.curve.correct[-1] for e in seeds]),
        ]
    )
    outline = np.asarray(band.get_path().vertices)
    for corner in ([x, y - dy], [x, y + dy]):
        assert np.abs(outline - corner).sum(axis=1).min() < 1e-9


def test_twelve_systems_differ_in_colour_and_shape() -> None:
    curve = hr.operating_curve(H, *sample(40))
    rules = {f"s{i}": {"leaf": curve.at(0)} for i in range(14)}
    ax = OperatingCurveDisplay.from_curves({f"s{i}": curve for i in range(14)}, rules=rules).plot().ax_
    looks = [(line.get_markeredgecolor(), line.get_marker()) for line in markers(ax)]
    assert len(set(looks)) == 14
    assert len({colour for colour, _ in looks[:12]}) == len({shape for _, shape in looks[:12]}) == 12
    assert len(COLOURS) == len(MARKERS) == 12


def _lab(rgb: Any) -> Any:
    xyz = rgb @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.95047, 1, 1.08883])
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize(
    "sight",
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    ],
    ids=["normal", "no red cones", "no green cones", "no blue cones"],
)
def test_colours_stay_apart_for_every_eye(sight: Any) -> None:
    """Colour distances (CIE 1976) after simulating colour blindness with the matrices of Machado et al., 2009."""
    from matplotlib.colors import to_rgb

    srgb = np.array([to_rgb(colour) for colour in COLOURS])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    lab = _lab(np.clip(linear @ np.asarray(sight).T, 0, 1))
    distance = np.linalg.norm(lab[:, None] - lab, axis=-1) + 1e3 * np.eye(len(lab))
    assert distance.min() > 15


def test_huge_curves_are_thinned_for_drawing_only() -> None:
    x = np.linspace(0, 1, 1_000_000)
    values = {"recall": x, "precision": 1 - x**3, "correct": 1 - x**2, "exact": x}
    curve = hr.OperatingCurve(np.linspace(1, 0, len(x)), values, examples=10)
    solid, dashed = lines(OperatingCurveDisplay.from_curves(curve).plot().ax_)
    assert len(np.asarray(solid.get_xdata())) < 10_000
    assert len(np.asarray(dashed.get_xdata())) < 1_000
    drawn = np.interp(x[: curve.index(0.5)], np.asarray(solid.get_xdata()), np.asarray(solid.get_ydata()))
    assert np.abs(drawn - values["precision"][: curve.index(0.5)]).max() < 1e-3
    assert len(curve) == 1_000_000


def test_one_panel_per_kind_with_a_legend_that_fits() -> None:
    curve = hr.operating_curve(H, *sample(40))
    named = {f"a system with a long name {i}": curve for i in range(9)}
    figure = OperatingCurveDisplay.from_curves(named).figure(title="All of them")
    assert len(figure.axes) == 3
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert len(legend.get_texts()) == 10


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_files_are_the_same_every_time(suffix: str, magic: bytes, tmp_path: Path) -> None:
    shown = OperatingCurveDisplay.from_predictions(H, *sample(20), name="mine")
    for name in ("a", "b"):
        shown.save(tmp_path / f"{name}.{suffix}", ["precision-recall"])
    data = (tmp_path / f"a.{suffix}").read_bytes()
    assert data.startswith(magic)
    assert data == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_failure_leaves_no_partial_file(tmp_path: Path) -> None:
    figure = OperatingCurveDisplay.from_predictions(H, *sample(20)).figure(["correct-exact"])

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    figure.savefig = fail  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        save_figure(figure, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    q, labels = sample(20)
    shown = OperatingCurveDisplay.from_predictions(H, q, labels)
    with pytest.raises(ParameterError, match="'precision-recall', 'correct-exact', 'correct-recall', not 'roc'"):
        shown.plot("roc")  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match=rf"'best' cannot be marked; choose from '{next(iter(RULE_STYLES))}', "
    ):
        shown.plot(rules=["leaf", "best"])
    with pytest.raises(ParameterError, match="A threshold, a probability, must lie between 0 and 1, not 95"):
        shown.plot(thresholds=[0.5, 95])
    with pytest.raises(ParameterError, match=r"\.png, \.pdf or \.svg, not as '\.bmp'"):
        shown.save(tmp_path / "a.bmp")
    with pytest.raises(ParameterError, match="nothing to draw"):
        OperatingCurveDisplay([])
    with pytest.raises(ParameterError, match="no curve"):
        System("x", ())
    curves = (hr.operating_curve(H, q, labels), hr.operating_curve(H, q, labels, scale="log"))
    with pytest.raises(ParameterError, match="same scale"):
        System("x", curves)


def test_reliability_is_drawn_bin_by_bin() -> None:
    q, labels = sample(60)
    found = {f"model {i}": Reliability.of(H, q, labels, bins=3 + i) for i in range(2)}
    figure = reliability_figure(found, columns=2)
    depths = int(H.depth.max())
    assert [ax.get_title() for ax in figure.axes] == [f"depth {depth}" for depth in range(1, depths + 1)]
    for depth, ax in enumerate(figure.axes):
        diagonal, *drawn = lines(ax)
        assert np.asarray(diagonal.get_xydata()).tolist() == [[0, 0], [1, 1]]
        for line, points, each in zip(drawn, ax.collections, found.values(), strict=True):
            some = each.count[depth] > 0
            sums = np.stack([each.confidence[depth], each.right[depth]], axis=1)[some]
            np.testing.assert_allclose(np.asarray(line.get_xydata()), sums / each.count[depth][some, None])
            np.testing.assert_array_equal(np.asarray(points.get_offsets()), np.asarray(line.get_xydata()))
            assert np.argmax(points.get_sizes()) == np.argmax(each.count[depth][some])  # type: ignore[attr-defined]
    assert len({entry.get_marker() for entry in figure.legends[0].get_lines()}) == 2
    with pytest.raises(ParameterError, match="nothing to draw"):
        reliability_figure({})
    with pytest.raises(ParameterError, match="columns must be 1 or more, not 0"):
        reliability_figure(found, columns=0)
