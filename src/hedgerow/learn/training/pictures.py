"""The test images of a run, for pages that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learn import data

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.learn.training.run_folder import RunFolder


def drawn_pictures(run: RunFolder) -> Callable[[int], NDArray[np.uint8]] | None:
    """Return a function from the number of a test example to its image, uint8 [H, W]; None if there is none.

    Only glyphs have one, since hedgerow draws them itself: a recipe is a file like any other, and what it names is
    not read only because it is named.
    """
    recipe = run.recipe()
    if recipe.data.name != "glyphs":
        return None
    images = data.load(recipe.data.name, **recipe.data.params).test.inputs
    return lambda row: np.asarray(images[row])  # type: ignore[index]
