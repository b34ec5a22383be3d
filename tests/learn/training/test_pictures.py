"""The test images of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learn import data
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.training.recipe import Recipe
from hedgerow.learn.training.run_folder import RunFolder
from tests.make_scores import H

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from numpy.typing import NDArray

IMAGES: NDArray[np.uint8] = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4)


def small(*, size: str = "full") -> DataSplits:
    assert size == "quick"
    examples = LabelledInputs(IMAGES, [2, 3, 5])
    return DataSplits("glyphs", H, train=examples, val=examples, test=examples)


def run_of(recipe: str, folder: Path, *changes: str) -> RunFolder:
    run = RunFolder(folder)
    run.write_text("recipe.toml", Recipe.load(recipe, list(changes)).to_toml())
    return run


def test_glyphs_are_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(data.LOADERS, "glyphs", small)
    picture = run_of("glyphs-quick", tmp_path).pictures()
    assert picture is not None
    assert [picture(row).tolist() for row in range(3)] == IMAGES.tolist()


def test_what_a_recipe_names_is_not_read(tmp_path: Path) -> None:
    run = run_of("features-linear", tmp_path, "data.path=/somewhere/else.npz", "data.tree=tree.csv")
    assert run.pictures() is None
