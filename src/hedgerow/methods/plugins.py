"""Methods and models that other packages bring, named as "package.module:object"."""

from __future__ import annotations

import importlib
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.methods.base import Method

ENTRY_POINTS = "hedgerow.methods"
"""The group of entry points by which a package offers methods."""


def import_object(path: str, what: str) -> Any:
    """Import what "package.module:object" names; `what` it is to be is said where it cannot be."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"The {what} {path!r} cannot be imported: {error}. Write 'package.module:object', on the Python path."
        ) from None


def checked_method(found: Any, name: str) -> type[Method]:
    """Refuse what is not a method."""
    if isinstance(found, type) and issubclass(found, Method):
        return found
    raise ParameterError(f"{name!r} is not a method: it must be a subclass of hedgerow.methods.Method.")
