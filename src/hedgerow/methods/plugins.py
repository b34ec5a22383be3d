"""Methods and models from other packages, named "package.module:object"."""

from __future__ import annotations

import importlib
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.methods.base import Method

ENTRY_POINTS = "hedgerow.methods"
"""The group of entry points through which packages offer methods."""


def import_object(path: str, what: str) -> Any:
    """Import the object named "package.module:object"; the error says `what` it should have been."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"The {what} {path!r} cannot be imported: {error}. Write 'package.module:object'. If the module is in "
            f"the current folder, call the command as `python -m hedgerow`, or set PYTHONPATH=. before it."
        ) from None


def checked_method(found: Any, name: str) -> type[Method]:
    """Return the method; refuse anything else."""
    if isinstance(found, type) and issubclass(found, Method):
        return found
    raise ParameterError(f"{name!r} is not a method: it must be a subclass of hedgerow.methods.Method.")
