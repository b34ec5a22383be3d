"""Trees coloured by how often answers are right: the counts, and what is drawn where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from tests.make_evaluations import sample
from tests.make_scores import H

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

from matplotlib.colors import to_hex  # noqa: E402

from hedgerow.show.figures import TreeDisplay  # noqa: E402  (imports matplotlib)

if TYPE_CHECKING:
    from collections.abc import Iterator

TREE = hr.Hierarchy.from_json({"life": {"bird": ["robin", "owl", "wren"], "plant": {"tree": ["oak"]}}})
ANSWERS = ["robin", "bird", "owl", "owl", "plant", "life"]
LABELS = ["robin", "wren", "wren", "bird", "robin", "oak"]


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def names(ax: Any) -> set[str]:
    return {text.get_text() for text in ax.texts}


def slow_counts(h: hr.Hierarchy, answers: Any, labels: Any) -> dict[str, list[int]]:
    """Count with lineages: an answer is right if it is above, at or below its label."""
    found: dict[str, list[int]] = {"examples": [0] * len(h), "right": [0] * len(h), "stops": [0] * len(h)}
    for answer, label in zip(h.nodes(answers).tolist(), h.nodes(labels).tolist(), strict=True):
        above = h.lineage(label).tolist()
        for node in above:
            found["examples"][node] += 1
            found["right"][node] += answer in above or label in h.lineage(answer).tolist()
        found["stops"][answer] += 1
    return found


def test_counts_of_answers() -> None:
    display = TreeDisplay.from_answers(TREE, ANSWERS, LABELS)
    for name, counts in slow_counts(TREE, ANSWERS, LABELS).items():
        assert getattr(display, name).tolist() == counts
    strict = TreeDisplay.from_answers(TREE, ANSWERS, LABELS, below_label="wrong")
    assert display.right[0] - strict.right[0] == 1  # an owl, labelled as a bird


@pytest.mark.parametrize("tau", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_counts_of_an_evaluation(tau: float, scale: Any) -> None:
    q, labels = sample(60)
    with np.errstate(divide="ignore"):
        given = q if scale == "probability" else np.log(q) - np.log1p(-q)
    display = TreeDisplay.from_evaluation(hr.evaluate(H, given, labels, scale=scale), tau)
    for name, counts in slow_counts(H, hr.infer.threshold(H, q, tau), labels).items():
        assert getattr(display, name).tolist() == counts


def test_a_tree_that_is_cut_keeps_its_examples() -> None:
    whole = TreeDisplay.from_answers(TREE, ANSWERS, LABELS)
    cut = TreeDisplay.from_answers(TREE, ANSWERS, LABELS, max_depth=1)
    assert cut.hierarchy.names.tolist() == ["life", "bird", "plant"]
    assert cut.examples.tolist() == whole.examples[TREE.indices(["life", "bird", "plant"])].tolist()
    assert cut.right.tolist() == whole.right[TREE.indices(["life", "bird", "plant"])].tolist()
    assert cut.stops.tolist() == [1, 4, 1]


def test_what_is_drawn() -> None:
    display = TreeDisplay.from_answers(TREE, ANSWERS, LABELS)
    returned = display.plot()
    assert returned is display
    ax: Any = display.ax_
    assert display.figure_ is ax.figure
    assert {"robin", "owl", "wren", "oak"} <= names(ax)
    lines, dots = ax.collections
    assert len(lines.get_segments()) == len(TREE) - 1 + 4  # a branch to every node but the root, and 4 forks
    assert len(dots.get_offsets()) == len(set(ANSWERS))
    areas = dots.get_sizes()
    assert areas.max() == 2 * areas.min()  # two owls
    colours = [to_hex(colour) for colour in lines.get_colors()]
    assert colours.count(to_hex("0.8")) == 1  # no example is an owl
    assert ax.get_legend().get_texts()[0].get_text() == "2 answers stop here"


def test_colours_follow_the_share_of_right_answers() -> None:
    answers = ["robin"] * 4 + ["owl"] * 4
    labels = ["robin"] * 3 + ["oak"] + ["owl"] * 2 + ["robin", "oak"]
    display = TreeDisplay.from_answers(TREE, answers, labels)
    share = display.right / np.maximum(display.examples, 1)
    assert share[TREE.indices(["owl", "robin", "oak"])].tolist() == [1, 0.75, 0]
    lines = display.plot().ax_.collections[0]
    drawn: list[Any] = list(zip(lines.get_segments(), lines.get_colors(), strict=True))  # type: ignore[attr-defined]
    row = {
        name: colour
        for segment, colour in drawn
        for name in TREE.names[TREE.leaves]
        if segment[1].tolist() == [3, TREE.leaves_before[TREE.index(name)]] and segment[0][0] < 3
    }
    light = {name: float(np.dot(colour[:3], [0.2126, 0.7152, 0.0722])) for name, colour in row.items()}
    assert light["owl"] > light["robin"] > light["oak"]


def test_names_that_fit() -> None:
    few = TreeDisplay.from_answers(TREE, ANSWERS, LABELS).plot().ax_
    assert "bird" in names(few)
    long = hr.Hierarchy.from_json({"life": {"a name that is longer than its branch": ["robin"], "short": ["oak"]}})
    inner = names(TreeDisplay.from_answers(long, ["robin"], ["robin"]).plot().ax_)
    assert "short" in inner
    assert not any(name.startswith("a name") for name in inner)
    wide = hr.Hierarchy.from_edges([("root", f"class {number}") for number in range(500)])
    assert names(TreeDisplay.from_answers(wide, ["root"], ["class 1"]).plot().ax_) == set()


def test_very_long_names_are_shortened() -> None:
    long = "Candidatus " + "long" * 50
    h = hr.Hierarchy.from_edges([("root", long), ("root", "b")])
    display = TreeDisplay.from_answers(h, [long], [long]).plot()
    display.figure_.draw_without_rendering()  # type: ignore[union-attr]  # a warning if there is no room for the axes
    assert names(display.ax_) == {long[:35] + "…", "b"}


def test_names_do_not_overlap() -> None:
    from matplotlib import pyplot as plt

    h = hr.Hierarchy.from_json({"life": {f"group {i}": [f"kind {i}.{j}" for j in range(3)] for i in range(12)}})
    ax = TreeDisplay.from_answers(h, h.names[h.leaves], h.names[h.leaves]).plot().ax_
    plt.gcf().canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 48
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_it_draws_where_it_is_told_to() -> None:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    display = TreeDisplay.from_answers(TREE, ANSWERS, LABELS).plot(right, legend=False)
    assert display.ax_ is right
    assert figure.axes == [left, right]  # no colour bar
    assert right.get_legend() is None
    parts: Any = plt.figure(layout="constrained").subfigures(1, 2)
    assert TreeDisplay.from_answers(TREE, ANSWERS, LABELS).plot(parts[0].subplots()).figure_ is parts[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TreeDisplay.from_answers(TREE, ["owl"], ["owl", "oak"]), "one answer per label"),
        (
            lambda: TreeDisplay.from_evaluation(hr.evaluate(H, *sample(5)), 1.5),
            "a probability, must lie between 0 and 1",
        ),
        (lambda: TreeDisplay.from_evaluation(hr.evaluate(H, *sample(5)), cast("Any", "1")), "must be a number"),
        (lambda: TreeDisplay.from_evaluation(cast("Any", "results")), "must be an Evaluation .*, not 'results'"),
        (lambda: TreeDisplay.from_answers(TREE, ["owl"], ["owl"], max_depth=cast("Any", "2")), "must be a number"),
        (lambda: TreeDisplay(TREE, [1], [1], [1]), "one number per node, 8 in all"),
        (lambda: TreeDisplay(TREE, ["a"] * 8, [1] * 8, [1] * 8), "one number per node, 8 in all"),
    ],
)
def test_what_cannot_be_drawn(call: Any, message: str) -> None:
    with pytest.raises(HedgerowError, match=message):
        call()


def test_no_examples_are_grey() -> None:
    nothing = np.zeros(len(TREE))
    ax: Any = TreeDisplay(TREE, nothing, nothing, nothing).plot().ax_
    assert {to_hex(colour) for colour in ax.collections[0].get_colors()} == {to_hex("0.8")}
