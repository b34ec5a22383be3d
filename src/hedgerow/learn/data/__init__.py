"""Data sets by name: the built-in glyphs, feature files, image folders, iNaturalist 2021, ImageNet.

`load("glyphs", size="quick")` returns `DataSplits`: a tree and three splits of `LabelledInputs`. Each loader is
one function with keyword parameters, in its own module.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, argument, check_kinds, closest
from hedgerow.learn.data.features import load_features
from hedgerow.learn.data.glyphs import load_glyphs
from hedgerow.learn.data.image_cache import check_space
from hedgerow.learn.data.image_files import ImageFiles
from hedgerow.learn.data.imagenet import load_imagenet
from hedgerow.learn.data.images import load_images
from hedgerow.learn.data.inat21 import load_inat21
from hedgerow.learn.data.splits import SPLITS, DataSplits, LabelledInputs, Split
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable


LOADERS: Registry[Callable[..., DataSplits]] = Registry(
    "data set",
    {
        "glyphs": load_glyphs,
        "features": load_features,
        "images": load_images,
        "inat21": load_inat21,
        "imagenet": load_imagenet,
    },
)
"""Every data set that `load` knows, by name."""


def load(name: str, **params: Any) -> DataSplits:
    """Load a data set by name.

    Parameters
    ----------
    name
        One of `LOADERS`.
    params
        Parameters of its loader; see `parameters`.
    """
    known = parameters(name)
    for given in params:
        if given not in known:
            raise ParameterError(
                f"The data set {name!r} has no parameter {given!r}. Parameters: {', '.join(known)}."
                f"{closest([given], known)}"
            )
    missing = [key for key, default in known.items() if default is inspect.Parameter.empty and key not in params]
    if missing:
        field = f"data.{missing[0]}"
        given = argument("set", f"{field}=VALUE", python=f"{missing[0]}=VALUE (in a recipe {field})")
        raise ParameterError(f"The data set {name!r} needs the parameter {missing[0]!r}: give {given}.")
    check_kinds(f"The data set {name!r}", known, params)
    splits = LOADERS[name](**params)
    caches = {part: getattr(splits.split(part).inputs, "cache", None) for part in SPLITS}
    check_space(
        cache.wholes if part == "train" else cache.centres for part, cache in caches.items() if cache is not None
    )
    return splits


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a data set and their defaults (`inspect.Parameter.empty` if there is none)."""
    return {key: each.default for key, each in inspect.signature(LOADERS.find(name)).parameters.items()}
