"""Studies small enough to run in a second or two."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from hedgerow.study.run import Report, study
from tests.learn.training import toy

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.learn.data import DataSplits
    from hedgerow.learn.training.recipe import Recipe

TWO = ("flat-softmax", "ps-softmax")


@functools.cache
def splits() -> DataSplits:
    return toy.splits()


def recipe(*changes: str) -> Recipe:
    return toy.recipe("optimiser.epochs=1", "optimiser.batch_size=100", *changes)


def run(folder: Path, *experiments: str, **options: Any) -> Report:
    chosen = {"chosen": TWO, "splits": splits(), "jobs": 1, "draw": False, "recipe": recipe(), **options}
    return study(experiments or ("main",), chosen.pop("recipe"), folder, **chosen)
