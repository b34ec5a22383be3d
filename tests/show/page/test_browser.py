"""The page in a real browser: what a reader sees and does."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import sync_playwright

import hedgerow as hr
from hedgerow.measure import EvaluationBuilder, metrics
from hedgerow.show import write_report
from hedgerow.show.curve_lines import System
from hedgerow.show.page import PageModel, PagePoint
from hedgerow.show.page.document import SCRIPTS
from hedgerow.show.page.page_data import PageData
from tests.show.page.cases import GARDEN, HOSTILE, evaluation, hostile_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from playwright.sync_api import Browser, Dialog, Page

    from hedgerow.measure import Evaluation

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
REQUIRED = os.environ.get("HEDGEROW_REQUIRE_BROWSER") == "1"
SOURCES = Path(hr.__file__).parent / "show" / "page" / "js"

pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "HEDGEROW_REQUIRE_BROWSER is set, but there is no chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Return a function that opens the page of some models; nothing may go wrong in it, and nothing be loaded."""
    wrong: list[str] = []
    contexts = []

    def refuse(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def opened(*models: Any, width: int = 1280, dark: bool = False, **options: Any) -> Page:
        path = tmp_path / "page.html"
        write_report(path, models, **options)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", refuse)
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((path.as_uri(), "data:")) else wrong.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def move_slider(page: Page, step: int) -> None:
    page.evaluate(
        """step => {
            const slider = document.getElementById("slider");
            slider.value = step;
            slider.dispatchEvent(new Event("input"));
        }""",
        step,
    )
    settled(page)


def settled(page: Page) -> None:
    """Wait until what is not on the screen is drawn too."""
    page.wait_for_selector("html[data-ready=yes]", state="attached")


def figures(page: Page) -> list[dict[str, float]]:
    """Return the figures at the chosen point, one row per model."""
    read: list[dict[str, float]] = page.evaluate(
        """() => Array.from(document.querySelectorAll("#figures tr"), row => Object.fromEntries(
            Array.from(row.querySelectorAll("td"), cell => [cell.dataset.figure, Number(cell.dataset.value)])))"""
    )
    return read


def table(page: Page, body: str) -> list[list[str]]:
    """Return the cells of a table."""
    read: list[list[str]] = page.locator(f"{body} tr").evaluate_all(
        "rows => rows.map(row => Array.from(row.cells, cell => cell.textContent))"
    )
    return read


def cards(page: Page) -> dict[str, str]:
    """Return the answer of each shown example, by its id."""
    read: dict[str, str] = page.evaluate(
        """() => Object.fromEntries(Array.from(document.querySelectorAll(".example"), card =>
            [card.querySelector(".id").title, card.querySelector(".answer .name").title]))"""
    )
    return read


def two_models() -> tuple[Evaluation, Evaluation]:
    ids = [f"photo {i}" for i in range(300)]
    return evaluation(name="keen", sharp=3, ids=ids), evaluation(name="careful", ids=ids)


# The slider ----------------------------------------------------------------------------------------------


def test_the_slider_moves_figures_and_markers_to_what_python_computes(open_page: Callable[..., Page]) -> None:
    models = two_models()
    page = open_page(*models)
    data = PageData([PageModel.of(model) for model in models])
    for mode, steps in data.steps.items():
        page.locator(f"input[name=mode][value={mode}]").check()
        for step in range(0, len(steps), 40):
            move_slider(page, step)
            shown = figures(page)
            for model, positions, row in zip(models, data.positions, shown, strict=True):
                threshold = float(positions.threshold[positions.at[mode][step]])
                wanted = model.at_probability(steps[step]) if mode == "threshold" else model.curve.at(threshold)
                below = (model.events.answers_above(threshold) > 0).mean()
                answered = {"answered": below, "right_of_answered": (wanted["correct"] - 1 + below) / (below or 1)}
                del row["tau"]
                assert row == {name: pytest.approx((wanted | answered)[name], abs=1e-9) for name in row}
            at = page.locator("#markers .dot").evaluate_all(
                "dots => dots.map(({dataset}) => [dataset.model, dataset.x, dataset.y].map(Number))"
            )
            for number, x, y in at:
                assert (x, y) == (shown[int(number)]["recall"], shown[int(number)]["precision"])
        said = page.locator("#slider").get_attribute("aria-valuetext")
        assert said == page.locator("#setting").inner_text()


CENTRES = """elements => elements.map(each => {
    const box = each.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
})"""
AWAY_FROM_CURVES = """dots => dots.map(dot => {
    const box = dot.getBoundingClientRect();
    const paths = Array.from(document.querySelectorAll(`#curves path[data-model="${dot.dataset.model}"]`));
    return Math.min(...paths.flatMap(path => {
        const toScreen = path.getScreenCTM();
        return Array.from({length: 1501}, (_, i) => {
            const {x, y} = path.getPointAtLength((i / 1500) * path.getTotalLength()).matrixTransform(toScreen);
            return Math.hypot(box.left + box.width / 2 - x, box.top + box.height / 2 - y);
        });
    }));
})"""


def axis(page: Page, anchor: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the values written at an axis, and the centres of these texts."""
    texts = page.locator(f"#curves .tick[text-anchor={anchor}]")
    values = [float(text.removesuffix("\N{NO-BREAK SPACE}%")) / 100 for text in texts.all_text_contents()]
    return np.array(values), np.array(texts.evaluate_all(CENTRES))


def test_a_marker_is_where_the_axes_and_its_curve_say(open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models())
    page.emulate_media(reduced_motion="reduce")
    for width in (1280, 390):  # the curves are not drawn again for another width
        page.set_viewport_size({"width": width, "height": 900})
        for kind in ("precision-recall", "correct-exact"):
            page.locator(f"[data-kind={kind}]").click()
            (across, below), (up, beside) = axis(page, "middle"), axis(page, "end")
            for step in (30, 60, 90):
                move_slider(page, step)
                dots = page.locator("#markers .dot")
                values = dots.evaluate_all("dots => dots.map(({dataset}) => [dataset.x, dataset.y].map(Number))")
                for (x, y), (left, top) in zip(values, dots.evaluate_all(CENTRES), strict=True):
                    assert left == pytest.approx(np.polyval(np.polyfit(across, below[:, 0], 1), x), abs=1)
                    assert top == pytest.approx(np.polyval(np.polyfit(up, beside[:, 1], 1), y), abs=1.5)
                assert max(dots.evaluate_all(AWAY_FROM_CURVES)) < 2


def test_a_curve_has_the_steps_of_the_figures(open_page: Callable[..., Page]) -> None:
    found = two_models()[0]
    page = open_page(found)
    line = System(found.name, (found.curve,)).line("recall", "precision", grid=600)
    corners: list[tuple[float, float]] = []
    for path in page.locator("#curves path").all():
        for kind, value, rest in re.findall(r"([MVH])([-\d.]+)(?: ([-\d.]+))?", path.get_attribute("d") or ""):
            x, y = corners[-1] if corners else (0.0, 0.0)
            moved = {"M": (value, rest), "H": (value, y), "V": (x, value)}[kind]
            corners.append((float(moved[0]), float(moved[1])))
    first, second = np.split(line.path(), [2 * line.half + 1])
    wanted = np.concatenate([first, first[-1:], second])
    for drawn, value in zip(np.array(corners).T, (wanted.real, wanted.imag), strict=True):
        slope, start = np.polyfit(value, drawn, 1)
        assert drawn == pytest.approx(slope * value + start, abs=0.02)


def test_the_curves_follow_the_colours_of_the_screen(open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models())
    strokes = "paths => paths.map(path => getComputedStyle(path).stroke)"
    light = page.locator("#curves path").evaluate_all(strokes)
    page.emulate_media(color_scheme="dark")
    dark = page.locator("#curves path").evaluate_all(strokes)
    assert len(light) == 4  # above and below the threshold 0.5, of each model
    assert len(set(light + dark)) == 4


def test_curves_and_markers_are_printed(open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models(), dark=True)
    page.emulate_media(media="print")
    drawn = page.locator("#curves path, #markers .dot, #icicle .sector").all()
    assert len(drawn) > 20
    assert all(each.is_visible() for each in drawn)
    assert not page.locator("#slider").is_visible()


def test_cards_levels_and_mistakes_follow_the_slider(open_page: Callable[..., Page]) -> None:
    found = two_models()[0]
    page = open_page(found)
    page.locator("input[name=mode][value=threshold]").check()
    steps = PageData([PageModel.of(found)]).steps["threshold"]
    assert found.examples.ids is not None
    row = {name: i for i, name in enumerate(found.examples.ids)}
    seen = set()
    for tau in (0.995, 0.8, 0.5, 0.0):
        move_slider(page, steps.index(tau))
        answers = found.events.answers_above(tau)
        shown = cards(page)
        assert len(shown) == 12
        assert shown == {name: GARDEN.names[answers[row[name]]] for name in shown}
        seen.add(tuple(shown.values()))
        right = metrics.correct(GARDEN, found.labels, answers) == 1
        levels = table(page, "#levels")
        ranks = np.array(["root", *GARDEN.rank[1:]])[answers]  # type: ignore[index]
        for rank, _, shown_right, shown_wrong in levels:
            there = ranks == rank
            assert int(shown_right) == (there & right).sum()
            assert int(shown_wrong) == (there & ~right).sum()
        for truth, answer, number in filter(lambda row: len(row) == 3, table(page, "#leaf-pairs")):
            both = (GARDEN.names[found.labels] == truth) & (GARDEN.names[answers] == answer)
            assert int(number) == both.sum()
    assert len(seen) >= 3  # the answers have moved


def test_the_slider_is_moved_by_keys(open_page: Callable[..., Page]) -> None:
    page = open_page(two_models()[0])
    page.locator("#slider").focus()
    before = figures(page)[0]["correct"]
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    assert figures(page)[0]["correct"] < before
    page.keyboard.press("End")
    assert figures(page)[0]["correct"] >= 1.0


# The tree ------------------------------------------------------------------------------------------------


def test_zoom_search_and_breadcrumb(open_page: Callable[..., Page]) -> None:
    page = open_page(two_models()[0])
    crumbs = page.locator("#crumbs li")
    assert crumbs.all_inner_texts() == ["root"]
    page.locator("#icicle .sector", has_text="Insects").click()
    assert crumbs.all_inner_texts() == ["root", "Animals", "Insects"]
    insects = {GARDEN.names[i] for i in range(GARDEN.index("Insects"), GARDEN.end[GARDEN.index("Insects")])}
    assert set(page.locator(".truth b").all_inner_texts()) <= insects
    assert "Insects" in page.locator("#inside-title").inner_text()
    page.locator("#icicle .sector", has_text="Insects").click()  # the group itself leads up again
    assert crumbs.all_inner_texts() == ["root", "Animals"]
    page.locator("#search").fill("flycatch")
    assert page.locator("#found button").first.inner_text().strip() == "Spotted flycatcher"
    page.locator("#search").press("Enter")
    assert crumbs.last.inner_text() == "Old World flycatchers"
    assert page.locator("#found li").count() == 0
    page.locator("#search").fill("no such class")
    assert page.locator("#found").inner_text() == "No class has such a name."
    page.locator("#crumbs button").first.click()
    assert crumbs.all_inner_texts() == ["root"]


def test_the_tree_shows_what_python_computes(open_page: Callable[..., Page]) -> None:
    found = two_models()[0]
    page = open_page(found)
    page.locator("input[name=mode][value=threshold]").check()
    move_slider(page, PageData([PageModel.of(found)]).steps["threshold"].index(0.6))
    answers = found.events.answers_above(0.6)
    right = metrics.correct(GARDEN, found.labels, answers) == 1
    rows = table(page, "#inside")
    assert len(rows) >= 8
    for name, examples, share, stops in rows:
        inside = GARDEN.is_ancestor(name, found.labels.astype(np.int64))
        assert int(examples) == inside.sum()
        assert share == f"{100 * right[inside].mean():.1f}\N{NO-BREAK SPACE}%"
        assert stops == f"{100 * (answers[inside] == GARDEN.index(name)).mean():.1f}\N{NO-BREAK SPACE}%"


def test_the_pointer_does_not_bring_back_the_colours_of_an_earlier_position(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(evaluation())
    fills = "sectors => sectors.map(sector => getComputedStyle(sector).backgroundColor)"
    sectors = page.locator("#icicle .sector")
    first = sectors.evaluate_all(fills)
    move_slider(page, 0)
    moved = sectors.evaluate_all(fills)
    assert moved != first
    for name in ("Animals", "Insects"):
        page.locator("#icicle .sector", has_text=name).first.hover()
        assert name in page.locator("#hovered").inner_text()
        assert sectors.evaluate_all(fills) == moved
    page.mouse.move(0, 0)
    assert sectors.evaluate_all(fills) == moved


def test_the_words_about_a_group_follow_the_slider(open_page: Callable[..., Page]) -> None:
    page = open_page(evaluation())
    page.locator("#icicle .sector", has_text="Insects").hover()
    before = page.locator("#hovered").inner_text()
    move_slider(page, 0)
    ((_, examples, right, stops),) = [row for row in table(page, "#inside") if row[0] == "Insects"]
    said = page.locator("#hovered").inner_text()
    assert said == f"Insects: {examples} examples, {right} right, {stops} stop here"
    assert said != before


def test_the_sectors_of_a_group_lie_beside_it_by_size(open_page: Callable[..., Page]) -> None:
    found = evaluation()
    page = open_page(found)
    boxes = page.locator("#icicle .sector").evaluate_all(
        """sectors => Object.fromEntries(sectors.map(sector => {
            const {left, right, top, bottom} = sector.getBoundingClientRect();
            return [sector.textContent, [left, right, top, bottom]];
        }))"""
    )
    assert len(boxes) > 20
    height = boxes["root"][3] - boxes["root"][2]
    for name, (left, _, top, bottom) in boxes.items():
        share = GARDEN.is_ancestor(name, found.labels.astype(np.int64)).mean()
        assert bottom - top == pytest.approx(share * height, abs=0.1)
        if name != "root":
            _, beside, highest, lowest = boxes[GARDEN.names[GARDEN.parent[GARDEN.index(name)]]]
            assert left == pytest.approx(beside, abs=0.1)
            assert highest - 0.1 <= top
            assert bottom <= lowest + 0.1
    for i, (left, _, top, bottom) in enumerate(boxes.values()):
        for other_left, _, other_top, other_bottom in list(boxes.values())[:i]:
            assert other_left != left or top >= other_bottom - 0.1 or other_top >= bottom - 0.1


def test_few_sectors_are_drawn_of_a_wide_tree(open_page: Callable[..., Page]) -> None:
    wide = hr.Hierarchy.from_edges(
        [("root", f"g{i}") for i in range(500)] + [("g7", f"g7-{j}") for j in range(40)]
    )
    page = open_page(evaluation(wide, rows=3000))
    assert page.locator("#icicle .sector").count() == 300
    page.locator("#search").fill("g7")
    page.locator("#search").press("Enter")
    assert page.locator("#icicle .sector").count() == 41


# Examples ------------------------------------------------------------------------------------------------


def test_filters_and_the_model_in_focus(open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models())
    page.locator("input[name=status][value=wrong]").check()
    assert set(page.locator(".example .about .status").all_inner_texts()) == {"✕ wrong"}
    page.locator("input[name=status][value=exact]").check()
    assert set(page.locator(".example .about .status").all_inner_texts()) == {"● exact"}
    page.locator("input[name=status][value=all]").check()
    before = cards(page)
    page.locator("#more").click()
    assert len(cards(page)) == 36
    shown = page.locator("#focus option:checked").inner_text()
    page.locator("#focus").select_option("careful" if shown == "keen" else "keen")
    after = cards(page)
    assert after.keys() == before.keys()
    assert after != before
    page.locator("#clade").select_option(label="· Plants")
    assert page.locator("#crumbs li").last.inner_text() == "Plants"
    for truth in page.locator(".truth b").all_inner_texts():
        assert "Plants" in GARDEN.names[GARDEN.lineage(truth)]


def test_images_and_texts_are_shown(open_page: Callable[..., Page], tmp_path: Path) -> None:
    Image.new("RGB", (300, 200), "green").save(tmp_path / "a.jpg")
    h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    builder = EvaluationBuilder(h)
    about = {
        "images": np.array(["a.jpg"] * 2, dtype=object),
        "texts": np.array(["a <b>cat</b>", "x"], dtype=object),
    }
    builder.update([[1, 0.7, 0.3], [1, 0.2, 0.8]], ["cat", "dog"], **about)
    page = open_page(builder.compute(), images=tmp_path)
    assert page.locator(".example img").first.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [
        176,
        117,
    ]
    assert page.locator(".example .text").first.inner_text() in ("a <b>cat</b>", "x")


# Hostile names, empty states -----------------------------------------------------------------------------


def test_hostile_names_are_shown_as_text(open_page: Callable[..., Page]) -> None:
    h = hostile_tree()
    ids = [f"{HOSTILE[i % 7]} {i}" for i in range(60)]
    page = open_page(evaluation(h, rows=60, name=HOSTILE[1], ids=ids), title=HOSTILE[3], width=400)
    assert page.locator("h1").inner_text() == HOSTILE[3]
    drawn = page.locator("#icicle .sector").all_text_contents()
    assert HOSTILE[0] in drawn
    assert any(text.startswith('"><img src=x onerror=alert(1)>') for text in drawn)
    assert page.locator("#icicle b, #icicle i, main img").count() == 0
    assert page.locator("#crumbs").inner_text().strip() == HOSTILE[0]
    page.locator("#search").fill("<b>bold")
    assert page.locator("#found button").inner_text().strip() == HOSTILE[2]
    names = page.locator(".lineage .name").evaluate_all("names => names.map(name => name.title)")
    assert set(names) <= set(HOSTILE)
    assert page.evaluate("document.documentElement.scrollWidth") == 400


EMPTY: dict[str, Callable[[], list[Any]]] = {
    "one model": lambda: [evaluation(rows=30)],
    "one example": lambda: [evaluation(rows=1)],
    "never wrong": lambda: [evaluation(rows=40, noise=0)],
    "one class": lambda: [evaluation(hr.Hierarchy.from_edges([("thing", "robin")]), rows=4)],
    "always the root": lambda: [hr.evaluate(GARDEN, np.eye(1, len(GARDEN)), ["Robin"])],
    "curves alone": lambda: [PageModel("a", (e := evaluation(rows=30)).curve, e.summary())],
}


@pytest.mark.parametrize("name", EMPTY)
def test_small_pages_open(name: str, open_page: Callable[..., Page]) -> None:
    page = open_page(*EMPTY[name](), width=400)
    for mode in ("threshold", "recall", "correct"):
        page.locator(f"input[name=mode][value={mode}]").check()
        page.locator("#slider").focus()
        page.keyboard.press("Home")
        page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    if name == "never wrong":
        page.locator("input[name=status][value=wrong]").check()
        assert page.locator("#cards").inner_text() == "No wrong answers here."


def test_a_chosen_point_is_marked(open_page: Callable[..., Page]) -> None:
    found = two_models()[0]
    promise = "At least 95 % of new answers are right."
    page = open_page(found, point=PagePoint(promise, 0.8125))
    assert figures(page)[0]["correct"] == found.at_probability(0.8125)["correct"]
    assert promise in page.locator(".promise").inner_text()
    move_slider(page, 0)
    ring = page.locator("#markers .ring")
    assert float(ring.get_attribute("data-x") or "") == found.at_probability(0.8125)["recall"]
    page.locator("#to-point").click()
    assert figures(page)[0]["recall"] == found.at_probability(0.8125)["recall"]


# Looks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_the_page_is_accessible(width: int, dark: bool, open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models(), width=width, dark=dark, point=PagePoint("A promise.", 0.7))
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_nothing_in_the_page_points_outside(open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models())
    found = page.evaluate(
        """() => Array.from(document.querySelectorAll("[src], [href], [action]"), each =>
            each.getAttribute("src") || each.getAttribute("href") || each.getAttribute("action"))"""
    )
    assert [each for each in found if not each.startswith(("#", "data:"))] == []
    assert page.locator("a").count() == 0


def test_moving_the_slider_does_not_move_the_page(open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models())
    places = "['#icicle', '#figures', '#cards-title']"
    tops = f"() => {places}.map(id => document.querySelector(id).getBoundingClientRect().top)"
    before = page.evaluate(tops)
    for step in (0, 50, 100):
        move_slider(page, step)
        assert page.evaluate(tops) == before


def test_the_summary_is_sorted_by_a_click(open_page: Callable[..., Page]) -> None:
    models = two_models()
    page = open_page(*models)
    page.get_by_role("button", name="AP", exact=True).click()
    order = sorted(models, key=lambda model: -model.summary()["AP"])
    assert page.locator("table.summary tbody th").all_inner_texts() == [model.name for model in order]
    page.get_by_role("button", name="AP", exact=True).click()
    assert page.locator("table.summary tbody th").all_inner_texts() == [model.name for model in order[::-1]]


# Scripts on their own ------------------------------------------------------------------------------------


def run_script(browser: Browser, scripts: tuple[str, ...], expression: str) -> Any:
    assert set(scripts) <= set(SCRIPTS)
    page = browser.new_page()
    source = "\n".join((SOURCES / f"{name}.js").read_text(encoding="utf-8") for name in scripts)
    try:
        return page.evaluate(f"() => {{ {source}\n return {expression}; }}")
    finally:
        page.close()


def test_series_sum_their_changes(browser: Browser) -> None:
    found = run_script(
        browser, ("series",), "[0, 1, 2, 3, 4, 9].map(at => new Series(7, [2, -3, 1, 1, 1, 4]).at(at))"
    )
    assert found == [7, 7, 4, 5, 9, 9]


def test_texts_and_numbers_are_short(browser: Browser) -> None:
    assert run_script(browser, ("text",), "shortened('🦉🦉🦉', 2)") == "🦉…"
    written = run_script(browser, ("text",), "[0, 1, 0.5, 0.999, 0.99995, 0.00012, 0.123456].map(threshold)")
    assert written == ["0", "1", "0.5", "0.999", "0.99995", "0.00012", "0.123"]


def test_answers_and_lineages(browser: Browser) -> None:
    nodes = "{parent: [-1, 0, 1, 1, 0], leaf: [0, 0, 1, 1, 1], name: ['r', 'g', 'a', 'b', 'c']}"
    events = "[[1, 2, 0.9], [2, 4, 0.6], [4, 6, 0.3]]"

    def run(expression: str) -> Any:
        return run_script(browser, ("answers",), f"((tree, events) => {expression})(new Tree({nodes}), {events})")

    assert run("[0, 2, 3, 4, 9].map(at => answerAt(events, at).node)") == [0, 1, 1, 2, 4]
    assert run("shownLineage(tree, events, 1)") == [0, 1, 2]
    assert run("shownLineage(tree, events, 4)") == [0, 4]
    assert run("[2, 1, 3, 0].map(answer => statusOf(tree, 2, answer, 'label'))") == [
        "exact",
        "hedged",
        "wrong",
        "hedged",
    ]
    assert run("['label', 'wrong'].map(below => statusOf(tree, 1, 2, below))") == ["exact", "wrong"]


def test_a_metric_of_ones_own_is_at_every_point(open_page: Callable[..., Page]) -> None:
    model = evaluation(metrics=["edge_distance", "tests.own:leaf_answers"])
    page = open_page(model, evaluation(name="other", sharp=3, metrics=["edge_distance"]))
    assert page.locator("table.figures thead th").all_inner_texts()[-2:] == ["edge_distance", "τ"]
    page = open_page(model)
    move_slider(page, 10)
    (row,) = figures(page)
    there = model.at_probability(row["tau"])
    assert row["edge_distance"] == there["edge_distance"]
    assert row["leaf_answers"] == there["leaf_answers"]
    shown = page.locator("#figures td").all_inner_texts()
    assert shown[7:9] == [f"{there['edge_distance']:.3g}", f"{100 * there['leaf_answers']:.1f}"]
    assert "majority_leaf_answers" in page.locator("table.summary").inner_text()


WHOLE_WORDS = """() => {
    const broken = [];
    for (const name of document.querySelectorAll("table tbody th, table tbody td")) {
        const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
        for (let text = walker.nextNode(); text; text = walker.nextNode()) {
            for (const word of text.data.matchAll(/[^\\s-]+/g)) {
                const range = document.createRange();
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                if (range.getClientRects().length > 1) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""


@pytest.mark.parametrize("kind", ["study", "evaluation"])
def test_on_a_phone_words_are_whole_and_the_page_is_seen(kind: str, open_page: Callable[..., Page]) -> None:
    names = ["Flat softmax", "Soft-max-descendant", "Deep RTC (PS weights)"]
    found = [evaluation(name=name, seed=seed, rows=100) for seed, name in enumerate(names)]
    curves = [PageModel(each.name, each.curve, each.summary()) for each in found]
    page = open_page(*(curves if kind == "study" else found[:1]), width=390)
    assert page.evaluate(WHOLE_WORDS) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("table.summary").scroll_into_view_if_needed()
    stuck = page.evaluate(
        """() => Array.from(document.querySelectorAll("main *"))
            .filter(each => getComputedStyle(each).position === "sticky")
            .map(each => each.getBoundingClientRect()).map(({ top, height }) => [top, height])"""
    )
    ((top, height),) = stuck
    assert top == 0
    assert height < 0.08 * 900
    figures = page.locator("table.figures")
    scrolls = figures.evaluate("table => table.scrollWidth - table.parentElement.clientWidth")
    assert scrolls <= 0, f"{scrolls} pixels of the table are hidden"


@pytest.mark.parametrize("width", [390, 1280])
def test_every_column_has_a_heading(width: int, open_page: Callable[..., Page]) -> None:
    page = open_page(*two_models(), width=width)
    for table in page.locator("table").all():
        headings = [each for each in table.locator("thead th").all() if each.is_visible()]
        assert all(heading.inner_text().strip() and heading.bounding_box() for heading in headings)
        boxes = [heading.bounding_box() for heading in headings]
        assert all(box is not None and box["width"] > 4 and box["height"] > 4 for box in boxes)
        cells = table.locator("tbody tr").first.locator("> *").all()
        assert len(headings) == sum(each.is_visible() for each in cells)


@pytest.mark.parametrize("width", [390, 960, 1060, 1280])
def test_no_column_is_hidden(width: int, open_page: Callable[..., Page]) -> None:
    deep = hr.Hierarchy.from_json(
        {
            "animal": {
                "mammalia": {"carnivora": {"felidae": ["lynx", "puma"]}, "cetartiodactyla": ["roe", "elk"]}
            },
            "blank": {},
            "vehicle": {},
        }
    )
    page = open_page(evaluation(deep), width=width)
    for table in page.locator(".figures, .inside table").all():
        hidden = table.evaluate("table => table.scrollWidth - table.parentElement.clientWidth")
        assert hidden <= 0, f"{hidden} pixels of the table {table.get_attribute('class')!r} are hidden"
