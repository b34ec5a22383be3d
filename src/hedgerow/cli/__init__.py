"""The command `hedgerow`: one verb per job and per file, no logic of its own.

In come the words of a command line; out go findings on the terminal, the files that were asked for, and an exit
status. A verb is a function with `@app.command()` that parses, calls the library and prints. It imports what it
needs inside the function, so that `hedgerow --help` stays quick.
"""

from __future__ import annotations

import codecs
import io
import sys
from typing import NoReturn

from rich.console import Console

from hedgerow.cli import compare, doctor, evaluate, predict, study, train  # noqa: F401  (importing a verb registers it)
from hedgerow.cli.app import app
from hedgerow.errors import HedgerowError, as_options

__all__ = ["BAD_INPUT", "app", "main"]

BAD_INPUT = 2
"""Exit status where the input cannot be used at all."""

_OF_TRAINING = ("torch", "lightning", "torchmetrics", "safetensors", "sklearn", "PIL", "matplotlib")
_PLAIN = {"▲": "+", "▼": "-", "≈": "~", "–": "-", "…": ".", "│": "|", "├": "|", "└": "`", "─": "-"}


def main() -> None:
    """Run the command; a mistake in the input is one message, not a traceback."""
    codecs.register_error("hedgerow.plain", _plain)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="hedgerow.plain")
    try:
        with as_options():  # messages name options, not arguments
            app()
    except HedgerowError as error:
        _end(str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _OF_TRAINING:
            raise
        _end(f"This needs {error.name}, which is not installed: pip install 'hedgerow[train]'")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Say with other characters what the encoding of the output has none for."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def _end(message: str) -> NoReturn:
    Console(stderr=True, highlight=False).print(message, style="red", markup=False, soft_wrap=True)
    sys.exit(BAD_INPUT)
