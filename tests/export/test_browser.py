"""hedgerow.js, in node and in Chromium, and the folder that holds it."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hedgerow as hr
from hedgerow.choose import FAMILIES
from hedgerow.export import write_app
from tests.export.vectors import CASES
from tests.export.write_vectors import VECTORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

SCRIPT = files("hedgerow.export").joinpath("hedgerow.js").read_text(encoding="utf-8")
CHECK = Path(__file__).with_name("check_vectors.mjs")
NODE = shutil.which("node")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
REQUIRED = "HEDGEROW_REQUIRE_BROWSER" in os.environ
LIMIT = 10_000  # bytes


def test_it_is_small_and_imports_nothing() -> None:
    assert len(SCRIPT.encode()) < LIMIT
    assert not re.search(r"^import|import\(|require\(|BigInt", SCRIPT, re.MULTILINE)


@pytest.mark.parametrize("rule", FAMILIES)
def test_every_rule_is_in_the_script(rule: str) -> None:
    rules = SCRIPT.partition("const RULES = {")[2]
    named = re.findall(r'^  "?([a-z-]+)"?\(d', rules, re.MULTILINE)
    assert rule in named, f"RULES in src/hedgerow/export/hedgerow.js: add {rule!r}"


@pytest.mark.parametrize("rule", FAMILIES)
def test_every_rule_is_in_the_vectors(rule: str) -> None:
    rules = {case.content["point"]["rule"] for case in CASES.values()}
    assert rule in rules, f"tests/export/write_vectors.py: add a point with the rule {rule!r}"


def failures_in_node(folder: Path, script: str) -> list[str]:
    (folder / "hedgerow.mjs").write_text(script, encoding="utf-8")
    run = f"""
import {{ readFileSync }} from "node:fs";
import {{ answer }} from "./hedgerow.mjs";
import {{ failures }} from {json.dumps(CHECK.as_uri())};
console.log(JSON.stringify(failures(answer, JSON.parse(readFileSync({json.dumps(str(VECTORS))}, "utf8")))));
"""
    (folder / "run.mjs").write_text(run, encoding="utf-8")
    assert NODE is not None
    done = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(NODE is None and not REQUIRED, reason="node is not installed")
def test_vectors_in_node(tmp_path: Path) -> None:
    assert failures_in_node(tmp_path, SCRIPT) == []


@pytest.mark.skipif(NODE is None and not REQUIRED, reason="node is not installed")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("q[v] > tau", "q[v] >= tau"),
        ("|| b - a", "|| a - b"),
        ("children[v] !== 1", "children[v] >= 0"),
        ("Math.abs((high[n] - HALF) * HALF + low[n]) > (n + 1) * 512", "false"),
        ("(x) => Math.min(x, 1)", "(x) => x"),
        ("Number.isFinite(largest)", "true"),
        ("root_is_safe ? Infinity : NaN", "Infinity"),
    ],
)
def test_the_vectors_notice_mistakes(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in SCRIPT
    assert failures_in_node(tmp_path, SCRIPT.replace(right, wrong)) != []


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """Yield a page of Chromium."""
    if CHROMIUM is None and not REQUIRED:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened.new_page()
        opened.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_vectors_in_a_browser(page: Page, served: str, tmp_path: Path) -> None:
    write_app(CASES["groups, of which one is unknown"].point(), tmp_path)
    shutil.copy(CHECK, tmp_path)
    shutil.copy(VECTORS, tmp_path)
    page.goto(f"{served}/index.html")
    found = page.evaluate(
        """async () => {
            const { answer } = await import("./hedgerow.js");
            const { failures } = await import("./check_vectors.mjs");
            return failures(answer, await (await fetch("vectors.json")).json());
        }"""
    )
    assert found == []


def test_the_page_answers_without_a_server(page: Page, tmp_path: Path) -> None:
    names = ["root", "<b>pet</b>", "cat", "</script>", "wolf"]
    tree = hr.Hierarchy(names, [-1, 0, 1, 1, 0])  # type: ignore[arg-type]
    q = hr.likelihood.from_leaves(tree, [[0.5, 0.25, 0.25]] * 20)
    point = hr.select(tree, q, ["cat"] * 10 + ["</script>"] * 9 + ["wolf"], target=("correct", 0.9))
    written = write_app(point, tmp_path / "app")
    assert [path.name for path in written] == ["point.json", "hedgerow.js", "index.html"]
    assert hr.OperatingPoint.load(written[0]) == point
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(written[-1].as_uri())
    page.fill("#row", json.dumps({"wolf": 0, "cat": 0.5, "</script>": 0.5}))
    assert page.inner_text("#name") == "<b>pet</b> (100.0 %)"
    assert page.inner_text("#lineage") == "root > <b>pet</b>"
    assert page.inner_text("#promise") == "correct >= 0.9"
    page.fill("#row", "[0.5, 0.25]")
    assert "A row needs 3 numbers" in page.inner_text("#lineage")
    page.fill("#row", '{"cat": 1, "dog": 0, "wolf": 0}')
    assert 'There is no score of "</script>"' in page.inner_text("#lineage")
    assert errors == []


def test_the_live_example_of_the_docs(page: Page, tmp_path: Path) -> None:
    live: str = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "live_example.py"))["live_example"]()
    (tmp_path / "live.html").write_text(f"<!doctype html><meta charset=utf-8>{live}", encoding="utf-8")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "live.html").as_uri())
    ink = """() => {
        const { data } = document.querySelector("#hedgerow-live canvas").getContext("2d").getImageData(0, 0, 8, 8);
        return data.reduce((sum, value) => sum + 255 - value, 0);
    }"""
    answers = []
    for name in "ABC":
        page.click(f"#hedgerow-live button:text-is('{name}')")
        answers.append(page.inner_text("#hedgerow-live .lineage"))
        assert page.evaluate(ink) > 1000
    assert [answer.count(" > ") for answer in answers] == [2, 1, 0]
    page.click("#hedgerow-live button:text-is('clear')")
    assert page.evaluate(ink) == 0
    page.mouse.move(100, 60)
    page.mouse.down()
    page.mouse.move(100, 150, steps=10)
    page.mouse.up()
    assert page.evaluate(ink) > 1000
    assert errors == []
