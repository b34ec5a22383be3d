"""The file itself: one piece, nothing from outside, nothing that runs but our own scripts."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hedgerow as hr
from hedgerow.errors import FileError, ParameterError
from hedgerow.measure import CurveBuilder, Evaluation, EvaluationBuilder, Events
from hedgerow.show import write_report
from hedgerow.show.page import PageModel, page_html
from hedgerow.show.page.document import headline
from hedgerow.show.page.page_data import PageData, aligned
from hedgerow.show.page.thumbnails import check_folder, thumbnail
from tests.show.page.cases import GARDEN, HOSTILE, evaluation, hostile_tree

TREE = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
GARDEN_SCORES = Path(__file__).parents[3] / "examples" / "garden_scores.csv"


def content(html: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    read: dict[str, Any] = json.loads(found)
    return read


def scripts(html: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", html, re.DOTALL)


def test_the_policy_names_the_script_the_style_and_nothing_from_outside() -> None:
    html = page_html([evaluation(rows=20)])
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src &#39;none&#39;")
    assert "http" not in policy
    assert "unsafe" not in policy
    rules = dict(rule.split(" ", 1) for rule in policy.replace("&#39;", "'").split("; "))
    for kind, found in (
        ("script-src", scripts(html)),
        ("style-src", re.findall(r"<style>(.*?)</style>", html, re.DOTALL)),
    ):
        digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found]
        assert rules[kind] == " ".join(f"'sha256-{digest}'" for digest in digests)


def test_names_cannot_leave_their_place() -> None:
    h = hostile_tree()
    found = evaluation(h, rows=40, name=HOSTILE[0], ids=[f"{HOSTILE[3]}{i}" for i in range(40)])
    html = page_html([found], title=HOSTILE[1], command=HOSTILE[3])
    assert len(scripts(html)) == 1
    markup = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "<script>alert" not in markup
    assert "<img" not in markup
    assert content(html)["tree"]["nodes"]["name"][0] == HOSTILE[0]


def test_a_lone_surrogate_does_not_break_the_page() -> None:
    h = hr.Hierarchy.from_edges([("root", "cat \ud83d"), ("root", "dog")])
    page_html([evaluation(h, rows=5)]).encode("utf-8")


def test_models_of_one_name_are_told_apart() -> None:
    html = page_html([evaluation(name="same"), evaluation(name="same", sharp=3)])
    assert [model["name"] for model in content(html)["models"]] == ["same (1)", "same (2)"]


def test_a_page_needs_a_model() -> None:
    with pytest.raises(ParameterError, match="at least one evaluation"):
        page_html([])


def test_to_html_writes_a_file(tmp_path: Path) -> None:
    evaluation(rows=20).to_html(tmp_path / "page.html", title="Garden & co")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Garden &amp; co</h1>" in html
    assert html.rstrip().endswith("</html>")


@pytest.mark.parametrize("library", ["jinja2", "PIL"])
def test_a_missing_extra_is_told_in_one_line(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith(("hedgerow.show.page", f"{library}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ParameterError) as caught:
        write_report(tmp_path / "page.html", [evaluation(rows=5)])
    assert "pip install 'hedgerow[report]'" in str(caught.value)
    assert "\n" not in str(caught.value)


# Words ---------------------------------------------------------------------------------------------------


def test_the_headline_names_the_best_first_and_sums_up_the_rest() -> None:
    def said(models: list[tuple[str, float]]) -> str:
        return headline(models).replace("\N{NO-BREAK SPACE}", " ")

    assert said([("a", 1.0)]) == "At 95 % correct, a still finds 100 % of the labels' information (R@95C)."
    many = [("a", 0.5), ("b", 0.7), ("c", 0.6), ("d", 0.1), ("e", 0.2)]
    rest = "; c finds 60 %; a finds 50 %; the other 2 find 10 % to 20 %."
    assert said(many).endswith(f"b still finds 70 % of the labels' information (R@95C){rest}")
    assert said(many[:4]).endswith("; c finds 60 %; a finds 50 %; d finds 10 %.")


def test_page_and_comparison_call_the_same_model_the_better_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(Path(__file__).parents[3] / "examples" / "two_models.py"))
    models = [
        hr.evaluate(GARDEN, hr.open_scores(f"{name}.csv", GARDEN), name=name) for name in ("keen", "careful")
    ]
    recall = {model.name: model.summary()["R@95C"] for model in models}
    best = max(recall, key=lambda name: recall[name])
    page = page_html(models).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{best} still finds {100 * recall[best]:.0f} % of the labels" in page
    ordered, _ = aligned([PageModel.of(model) for model in models])
    assert PageData(ordered).to_dict()["start"]["focus"] == [model.name for model in models].index(best)


# Size ----------------------------------------------------------------------------------------------------


def large_evaluation(examples: int, seed: int = 0) -> Evaluation:
    """Evaluate answers that go down a tree of 10,000 leaves, and take a wrong turn now and then."""
    edges = [("life", f"{i}") for i in range(10)]
    edges += [(f"{i}", f"{i}.{j}") for i in range(10) for j in range(20)]
    edges += [(f"{i}.{j}", f"{i}.{j}.{k}") for i in range(10) for j in range(20) for k in range(50)]
    h = hr.Hierarchy.from_edges(edges)
    random = np.random.default_rng(seed)
    labels = random.choice(h.leaves, examples)
    near = h.leaves[np.clip(np.searchsorted(h.leaves, labels) + random.integers(-60, 60, examples), 0, 9999)]
    answer = np.where(random.random(examples) < 0.7, labels, near)
    nodes = np.stack([h.parent[h.parent[answer]], h.parent[answer], answer], axis=1)
    scores = np.cumprod(random.beta(8, 1, nodes.shape), axis=1)
    builder = CurveBuilder(h)
    builder.add(Events.of_arrays(labels, np.full(examples, 3), nodes.ravel(), scores.ravel()))
    return Evaluation.of_events(builder)


def test_the_page_of_the_garden_is_small() -> None:
    scores = hr.open_scores(GARDEN_SCORES, GARDEN)
    assert len(page_html([hr.evaluate(GARDEN, scores)]).encode()) < 150_000


def test_a_large_evaluation_makes_a_page_of_bounded_size() -> None:
    html = page_html([large_evaluation(100_000), large_evaluation(100_000, seed=1)])
    assert len(html.encode()) < 4_000_000
    data = content(html)
    assert len(data["tree"]["nodes"]["name"]) < 5_000
    assert len(data["tree"]["nodes"]["name"]) + len(data["tree"]["others"]["name"]) == 10_211
    assert len(data["tree"]["sets"][0]["shown"]) == 240


# Images --------------------------------------------------------------------------------------------------


def with_images(names: list[str]) -> Evaluation:
    builder = EvaluationBuilder(TREE)
    q = np.tile([1, 0.7, 0.3], (len(names), 1))
    builder.update(q, ["cat"] * len(names), images=np.array(names, dtype=object))
    return builder.compute()


def decoded(url: str) -> Image.Image:
    head, _, data = url.partition(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_images_are_made_small_and_encoded_again(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    Image.new("RGB", (1200, 800), "red").save(tmp_path / "large.jpg", exif=exif, comment=b"secret comment")
    Image.new("LA", (20, 30)).save(tmp_path / "small.png")
    html = page_html([with_images(["large.jpg", "small.png"])], images=tmp_path)
    shown = {example["id"]: example["image"] for example in content(html)["tree"]["sets"][0]["shown"]}
    assert decoded(shown["Example 0"]).size == (176, 117)
    assert decoded(shown["Example 1"]).size == (20, 30)
    assert b"secret" not in base64.b64decode(shown["Example 0"].partition(",")[2])


def test_without_a_folder_no_image_is_read(tmp_path: Path) -> None:
    Image.new("RGB", (10, 10)).save(tmp_path / "a.png")
    html = page_html([with_images([str(tmp_path / "a.png")])])
    assert "image" not in content(html)["tree"]["sets"][0]["shown"][0]
    assert "--images DIR" in html


def test_only_images_inside_the_folder_are_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out.png"
    inside.mkdir()
    Image.new("RGB", (10, 10)).save(outside)
    Image.new("RGB", (10, 10)).save(inside / "a.png")
    (inside / "link.png").symlink_to(outside)
    folder = check_folder(inside)
    assert thumbnail("a.png", folder) is not None
    assert thumbnail(str(inside / "a.png"), folder) is not None
    for name in ("../out.png", str(outside), "link.png", "missing.png", "", "a\0b", "."):
        assert thumbnail(name, folder) is None


def test_damaged_and_huge_images_are_left_out(tmp_path: Path) -> None:
    whole = io.BytesIO()
    Image.effect_noise((100, 100), 50).save(whole, "PNG")
    (tmp_path / "cut.png").write_bytes(whole.getvalue()[:2000])
    (tmp_path / "script.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")
    (tmp_path / "text.png").write_text("not an image")
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    folder = check_folder(tmp_path)
    for name in ("cut.png", "script.svg", "text.png", "bomb.png"):
        assert thumbnail(name, folder) is None
    html = page_html([with_images(["cut.png", "bomb.png"])], images=tmp_path)
    assert "2 of 2 images are missing from the folder, or cannot be read." in html


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not a folder"):
        page_html([with_images(["a.png"])], images=tmp_path / "missing")
