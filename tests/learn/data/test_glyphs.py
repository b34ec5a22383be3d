from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.learn import data
from hedgerow.learn.data import glyphs
from hedgerow.learn.data.glyphs import FACES, cache_folder, character_tree, common_characters, draw

SOME = list("AÁÂẤaΑАBbВ01½→⇒←!?+∫")


@pytest.fixture(scope="module")
def characters() -> list[str]:
    return common_characters()


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Few characters and an empty cache."""
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(glyphs, "common_characters", lambda: SOME)
    return SOME


def test_characters_stand_in_all_faces_and_leave_ink(characters: list[str]) -> None:
    assert len(FACES) == 12
    assert 2250 < len(characters) < 2350
    assert "\N{OBJECT REPLACEMENT CHARACTER}" not in characters
    assert {unicodedata.category(character)[0] for character in characters} == set("LNPS")


def test_the_tree_is_deep_and_unbalanced(characters: list[str]) -> None:
    h = character_tree(characters)
    assert 3000 < len(h) < 3400
    assert len(h.leaves) == len(characters)
    assert set(h.depth[h.leaves].tolist()) == {4, 5, 6}
    assert h.is_trivial.sum() > 300
    assert h.title is not None
    assert sorted(h.title[h.leaves].tolist()) == characters
    assert not any("other other" in name for name in h.names.tolist() if name != "Other other")


@pytest.mark.parametrize(
    ("character", "lineage"),
    [
        ("Á", ["Letter", "Latin", "Latin uppercase", "Latin uppercase A"]),
        ("ɐ", ["Letter", "Latin", "Latin lowercase", "Latin lowercase A"]),
        ("Ω", ["Letter", "Greek", "Greek uppercase", "Greek uppercase OMEGA"]),
        ("\N{OHM SIGN}", ["Letter", "Greek", "Greek uppercase", "Greek uppercase OMEGA"]),
        ("ж", ["Letter", "Cyrillic", "Cyrillic lowercase", "Cyrillic lowercase ZHE"]),
        ("⅜", ["Number", "Fraction", "Fraction eighth"]),
        ("⇒", ["Symbol", "Arrow", "Arrow rightwards"]),
        ("╬", ["Symbol", "Box drawing", "Box drawing cross"]),
        ("€", ["Symbol", "Currency", "Currency euro"]),
        ("[", ["Punctuation", "Bracket", "Bracket square"]),
    ],
)
def test_characters_stand_where_people_would_look(character: str, lineage: list[str]) -> None:
    h = character_tree([character, "x"])
    leaf = h.index(unicodedata.name(character))
    assert h.names[h.lineage(leaf)].tolist() == ["Character", *lineage, unicodedata.name(character)]


def test_quick_keeps_its_promises(characters: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glyphs, "common_characters", lambda: characters)
    h = character_tree(glyphs._chosen("quick"))
    assert len(h.leaves) >= 500
    assert h.depth.max() >= 5
    assert len(h.children(0)) == 4


def test_splits_are_by_type_face(few: list[str]) -> None:
    splits = data.load("glyphs", draws=2, pixels=16)
    faces = {name: {i.split("/")[0] for i in splits.split(name).ids.tolist()} for name in data.SPLITS}
    assert faces["test"] == set(glyphs.TEST_FACES)
    assert faces["val"] == set(glyphs.VAL_FACES)
    assert faces["train"] == set(FACES) - faces["test"] - faces["val"]
    families = {face.removeprefix("DejaVu").split("-")[0] for face in glyphs.TEST_FACES}
    assert families == {"Sans", "SansMono", "Serif"}
    assert len(splits.train) == 8 * len(few) * 2
    assert splits.input_shape == (1, 16, 16)
    code = splits.test.ids[5].split("/")[1]
    assert splits.hierarchy.names[splits.test.labels[5]] == unicodedata.name(chr(int(code[2:], 16)))


def test_every_image_has_ink_and_draws_differ(few: list[str]) -> None:
    images = draw(few, 2, 28, seed=0)
    assert images.shape == (12, len(few), 2, 28, 28)
    assert images.max(axis=(3, 4)).min() > 100
    assert (images[:, :, 0] != images[:, :, 1]).any(axis=(2, 3)).all()
    upright = images[0, few.index("A"), 0].astype(float)
    rows = np.flatnonzero(upright.sum(axis=1))
    assert 10 <= rows[-1] - rows[0] <= 20
    small = images[0, few.index("a"), 0].astype(float)
    assert np.flatnonzero(small.sum(axis=1))[0] > rows[0]  # sizes are kept: a lowercase letter is lower


def test_images_follow_from_the_seed(few: list[str]) -> None:
    first = draw(few[:3], 1, 12, seed=0)
    np.testing.assert_array_equal(first, draw(few[:3], 1, 12, seed=0))
    assert (first != draw(few[:3], 1, 12, seed=1)).any()


def test_the_cache_is_used_and_repaired(few: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[int, int]] = []
    params = {"draws": 1, "pixels": 12, "progress": lambda done, of: steps.append((done, of))}
    first = data.load("glyphs", **params)
    assert steps[-1] == (12, 12)
    steps.clear()
    again = data.load("glyphs", **params)
    assert not steps
    np.testing.assert_array_equal(np.asarray(first.train.inputs), np.asarray(again.train.inputs))
    assert again.hierarchy == first.hierarchy
    [file] = cache_folder().iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:600] + b"\x00\xff" + whole[602:], b"junk" * 30):
        file.write_bytes(damaged)
        steps.clear()
        repaired = data.load("glyphs", **params)
        assert steps
        np.testing.assert_array_equal(np.asarray(first.test.inputs), np.asarray(repaired.test.inputs))
    assert data.load("glyphs", draws=1, pixels=12, seed=1).train.ids.tolist() == first.train.ids.tolist()
    assert len(list(cache_folder().iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_done_without(few: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert len(data.load("glyphs", draws=1, pixels=12).val) == len(few)


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/hedgerow")),
        ("linux", {}, Path("~/.cache/hedgerow")),
        ("darwin", {}, Path("~/Library/Caches/hedgerow")),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/hedgerow/cache")),
        ("linux", {"HEDGEROW_CACHE": "/mine", "XDG_CACHE_HOME": "/x"}, Path("/mine")),
    ],
)
def test_where_the_cache_is(
    platform: str, environment: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for name in ("HEDGEROW_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == folder.expanduser()


@pytest.mark.parametrize("params", [{"size": "huge"}, {"draws": 0}, {"pixels": 4}, {"seed": -1}])
def test_parameters_are_checked(params: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="glyphs"):
        data.load("glyphs", **params)
