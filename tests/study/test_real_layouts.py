"""The recipes of the paper's data sets, end to end on miniature data in the real layouts, with the small CNN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.learn.training.recipe import Recipe
from hedgerow.study.run import study
from tests.learn.data.folders import write_imagenet, write_inat21

if TYPE_CHECKING:
    from pathlib import Path

SMALL = (
    "model.name=cnn",
    "model.width=4",
    "data.image_size=16",
    "optimiser.epochs=1",
    "optimiser.batch_size=8",
    "run.workers=0",
    "run.accelerator=cpu",
)


def run(folder: Path, recipe: str, *changes: str) -> None:
    changed = Recipe.load(recipe, [*SMALL, *changes])
    report = study(["main", "levels"], changed, folder, chosen=["flat-softmax", "deep-rtc"], tune=False)
    assert report.failures == []
    assert [row.name for row in report.findings["main"].tables["main"].rows] == [
        "Flat softmax",
        "Deep RTC (own cuts)",
    ]
    assert (folder / "levels.tex").exists()
    assert (folder / "main.png").exists()


def test_inat21_mini(tmp_path: Path) -> None:
    write_inat21(tmp_path / "inat21")
    run(tmp_path / "out", "inat21mini-resnet18", f"data.path={tmp_path / 'inat21'}")


def test_imagenet(tmp_path: Path) -> None:
    tree = write_imagenet(tmp_path / "imagenet")
    run(tmp_path / "out", "imagenet-resnet50", f"data.path={tmp_path / 'imagenet'}", f"data.tree={tree}")
