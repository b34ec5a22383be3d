"""The example `examples/languages`: what codes mean, where classes are placed, how texts are cut."""

from __future__ import annotations

import doctest
import re
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from examples.languages import sources
from examples.languages import tree as tree_module
from examples.languages.prepare import prepare
from examples.languages.sources import Declaration, FetchError, snippets
from examples.languages.tree import Class, LanguageTree, read_codes, read_glottolog

import hedgerow as hr

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]

GLOTTOLOG = """
((('Standard [abov1234][aaa]-l-':1,('Town [town1234]':1)'Village [vill1234][bbb]-l-':1)'Low [loww1234]':1,('Hill [hill1234][ccc]-l-':1)'High [high1234]':1)'Land [land1234]':1,'Far [farr1234][ddd]-l-':1)'Earth [eart1234]':1;
('Alone [alon1234][eee]-l-':1)'Alone [alon1234][eee]-l-':1;
(('Sea''s [seas1234][fff]-l-':1)'Shore [shor1234]':1,('Fish [fish1234][ggg]-l-':1)'Shore [shor5678]':1)'Water [wate1234]':1;
(('M One [mone1234][mma]':1,'M Two [mtwo1234][mmb]':1,'M Three [mthr1234][mmc]':1)'M [mmmm1234][mmm]-l-':1)'Macro [macr1234]':1;
"""  # noqa: E501


@dataclass(frozen=True)
class Language:
    """A language as python-iso639 lists it."""

    part3: str
    part1: str | None = None
    name: str = ""
    macrolanguage: str | None = None


@pytest.mark.parametrize("module", [sources, tree_module])
def test_docstrings_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def plain(*codes: str) -> dict[str, Class]:
    return {code: Class(f"class {code}", code, frozenset([code])) for code in codes}


def lineage(tree: LanguageTree, name: str) -> list[str]:
    h = tree.hierarchy
    return [str(found) for found in h.names[h.lineage(name)][1:]]


def test_parents_are_read_from_behind() -> None:
    found = read_glottolog(GLOTTOLOG)
    assert found["town1234"].above == ("eart1234", "land1234", "loww1234", "vill1234")
    assert found["seas1234"].name == "Sea's"
    assert found["alon1234"].above == ()  # listed twice, as a family and as its only language
    assert found["mmmm1234"].iso == "mmm"
    assert len(found) == 20


def test_only_groups_that_divide_classes_are_kept() -> None:
    tree = LanguageTree.build(plain("aaa", "bbb", "ccc", "eee", "fff"), read_glottolog(GLOTTOLOG))
    assert lineage(tree, "class aaa") == ["Land", "Low", "class aaa"]  # Earth holds only Land
    assert lineage(tree, "class ccc") == ["Land", "class ccc"]
    assert lineage(tree, "class eee") == ["class eee"]
    assert lineage(tree, "class fff") == ["class fff"]
    h = tree.hierarchy
    assert all(len(h[node].children) != 1 for node in range(1, len(h)))
    assert h.rank is not None
    assert {str(h.names[node]): h.rank[node] for node in range(len(h)) if node not in h.leaves} == {
        "any language": "",
        "Land": "family",
        "Low": "branch",
    }
    assert set(h.rank[h.leaves]) == {"language"}


def test_the_label_of_an_unknown_language_is_the_smallest_group_that_holds_it_and_a_class() -> None:
    tree = LanguageTree.build(plain("aaa", "ccc", "fff"), read_glottolog(GLOTTOLOG))
    assert tree.label("aaa") == "class aaa"
    assert tree.label("bbb") == "Land"  # Low holds one class only
    assert tree.label("ddd") == "any language"
    assert tree.label("eee") == "any language"
    assert tree.label("ggg") == "any language"
    assert tree.label("zzz") is None


def test_a_dialect_is_its_language() -> None:
    newick = GLOTTOLOG.replace("'Town [town1234]'", "'Town [town1234][ttt]'")
    tree = LanguageTree.build(plain("aaa", "bbb"), read_glottolog(newick))
    assert tree.label("ttt") == "class bbb"


def test_groups_that_share_a_name_are_told_apart() -> None:
    newick = GLOTTOLOG.replace("'Fish [", "'Crab [crab1234][hhh]':1,'Fish [").replace(
        "'Sea''s [", "'Shell [shel1234][iii]':1,'Sea''s ["
    )
    tree = LanguageTree.build(plain("fff", "ggg", "hhh", "iii"), read_glottolog(newick))
    assert lineage(tree, "class ggg") == ["Water", "Shore [shor5678]", "class ggg"]
    assert lineage(tree, "class fff") == ["Water", "Shore [shor1234]", "class fff"]


def test_a_macrolanguage_covers_its_languages_that_are_no_classes() -> None:
    languages = [
        Language("mmm", "mm", "M (macrolanguage)"),
        Language("mma", name="M One", macrolanguage="mmm"),
        Language("mmb", name="M Two", macrolanguage="mmm"),
        Language("mmc", "mc", name="M Three (to 1453)", macrolanguage="mmm"),
        Language("eee", name="Alone"),
    ]
    assert read_codes(["mm", "eee", "zxx"], languages) == {
        "mm": Class("M", "mmm", frozenset(["mma", "mmb", "mmc"])),
        "eee": Class("Alone", "eee", frozenset(["eee"])),
    }
    three = Class("M Three", "mmc", frozenset(["mmc"]))
    assert read_codes(["mm", "mc"], languages) == {"mm": Class("M", "mmm", frozenset(["mma", "mmb"])), "mc": three}
    alone = read_codes(["mm", "mmb", "mc"], languages)
    assert alone["mm"] == Class("M One", "mmm", frozenset(["mma"]))  # as Norwegian is Bokmål beside Nynorsk

    tree = LanguageTree.build(alone, read_glottolog(GLOTTOLOG))
    assert lineage(tree, "M One") == ["M", "M One"]
    assert [tree.label(iso) for iso in ("mmm", "mma", "mmb", "mmc")] == ["M One", "M One", "M Two", "M Three"]
    assert tree.hierarchy.index("mm") == tree.hierarchy.index("M One")  # scores may use the model's codes


def test_a_class_of_several_languages_is_in_the_smallest_group_that_holds_them() -> None:
    classes = plain("bbb", "ddd") | {"x": Class("X", "xxx", frozenset(["aaa", "ccc"]))}
    tree = LanguageTree.build(classes, read_glottolog(GLOTTOLOG))
    assert lineage(tree, "X") == ["Earth", "Land", "X"]
    assert tree.label("ccc") == "X"


def test_snippets_are_short_and_different() -> None:
    words = [f"word{number} of some language here" for number in range(60)]
    chinese = "".join(chr(0x4E00 + number) for number in range(24 * 30))
    texts = [
        Declaration("aaa", "A", words[:30]),
        Declaration("aaa", "A, once more", words[30:]),
        Declaration("bbb", "B", ["12 34 56 78 90 12 34 56"] * 50),
        Declaration("ccc", "C", ["the same words"] * 50),
        Declaration("ddd", "D", [chinese]),
    ]
    found = snippets(texts)
    assert found.keys() == {"aaa", "ddd"}
    assert found == snippets(texts)
    for lines in found.values():
        assert len(set(lines)) == len(lines) == sources.PER_LANGUAGE
        assert all(12 <= len(line) <= 24 for line in lines)
    assert all(re.search(rf"(^| ){re.escape(line)}($| )", "\n".join(words), re.MULTILINE) for line in found["aaa"])


def test_without_npm_the_reason_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FetchError, match="there is no npm here"):
        sources.fetch()
    assert not sources.downloads().exists()


def test_a_failed_download_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error: no network' >&2\nexit 1\n", encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(FetchError, match="the download failed: npm error: no network"):
        sources.fetch()
    assert not list((tmp_path / "cache" / "languages").iterdir())


@pytest.mark.skipif(not sources.downloads().is_dir(), reason="python -m examples.languages was not run")
def test_the_front_page_has_what_is_measured(tmp_path: Path) -> None:
    assert prepare(tmp_path) == {"too short": 1, "not in Glottolog": 2}
    h = hr.Hierarchy.read(tmp_path / "tree.json")
    table = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", (ROOT / "README.md").read_text("utf-8"), re.M)
    shown = {name: values for name, *values in table}
    point = None
    picture = runpy.run_path(str(ROOT / "docs" / "draw_answers.py"))
    for column, name in enumerate(("known", "unknown")):
        scores = hr.open_scores(tmp_path / f"{name}.npz", h)
        curve = hr.evaluate(h, scores, below_label="wrong").curve
        point = point or hr.select(h, scores, target=("correct", 0.95), clusters=True, below_label="wrong")
        (block,) = scores
        assert block.labels is not None
        assert block.clusters is not None
        right = hr.metrics.correct(h, block.labels, point.predict(block.likelihoods), below_label="wrong").mean()
        leaf = hr.metrics.correct(h, block.labels, hr.infer.leaf(h, block.likelihoods), below_label="wrong").mean()
        measured = {
            "the most likely language is right": leaf,
            "the most specific class more likely than 0.7 is right": curve.at(0.7)["correct"],
            "average precision over all thresholds (AP)": curve.summary()["AP"],
            "right with a threshold chosen for 95 % on languages that it knows": right,
        }
        for what, value in measured.items():
            text = shown[what][column].replace("never", "0 %").removesuffix(" %")
            assert float(text) == pytest.approx(100 * value, abs=0.11), what
        assert len(np.unique(block.clusters)) == {"known": 144, "unknown": 300}[name]
        if name == "known":
            assert block.texts is not None
            (place,) = np.flatnonzero(block.texts == picture["WORDS"])
            q = np.asarray(block.likelihoods)[place]
            there = {"Bokmål": "Norwegian Bokmål", "Nynorsk": "Norwegian Nynorsk"}
            for drawn in ("Bokmål", "Nynorsk", "Danish", "West Germanic"):
                assert q[h.index(there.get(drawn, drawn))] == pytest.approx(picture["SCORES"][drawn], abs=1e-3)
            for drawn, classes in picture["CLASSES"].items():
                node = h.index(there.get(drawn, drawn))
                assert ((h.leaves >= node) & (h.leaves < h.end[node])).sum() == classes
            assert sum(picture["SCORES"].values()) == pytest.approx(1)
