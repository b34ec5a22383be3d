"""The Typer application that the verbs register with, and how it is run."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import signal
import sys
from contextlib import suppress
from typing import Annotated, Any, NoReturn, TextIO

import typer
from rich.console import Console
from typer.core import TyperGroup

from hedgerow import __version__
from hedgerow.errors import HedgerowError, as_options

BAD_INPUT = 2
"""Exit status if the input cannot be used at all."""

_TRAINING_LIBRARIES = ("torch", "lightning", "torchmetrics", "safetensors", "sklearn", "PIL", "matplotlib")
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PLAIN = {"▲": "+", "▼": "-", "≈": "~", "–": "-", "…": ".", "│": "|", "├": "|", "└": "`", "─": "-"}

_VERBS = (
    *("doctor", "tree"),
    *("evaluate", "compare", "report", "merge"),
    *("select", "predict", "monitor", "export"),
    *("train", "study"),
)


class _Verbs(TyperGroup):
    """The verbs in the order in which they are needed; their help does not name Python types."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs."""
        return sorted(super().list_commands(ctx), key=_VERBS.index)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options before the verb."""
        return _without_types(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb."""
        verb = super().get_command(ctx, cmd_name)
        if verb is not None:
            _without_types(verb.get_params(ctx))
        return verb


def _without_types(parameters: list[Any]) -> list[Any]:
    """Have the help show flags and arguments without "<bool>" or "<list[str]>" next to them."""
    for each in parameters:
        if each.param_type_name == "argument" or each.is_flag:
            each.display_type_rich = lambda **_: None
    return parameters


app = typer.Typer(
    name="hedgerow",
    cls=_Verbs,
    help="Answers from a tree of classes: as specific as possible, as sure as required.",
    epilog="With scores.csv, which has a column for each class and one called label, and tree.csv, with lines of "
    "parent,child:\n\n"
    "hedgerow evaluate scores.csv --tree tree.csv\n\n"
    "hedgerow select scores.csv --tree tree.csv --target correct=0.9 -o point.json\n\n"
    "hedgerow predict scores.csv --point point.json -o answers.csv\n\n"
    "Without data of your own:\n\n"
    "hedgerow train glyphs-quick -o runs/quick\n\n"
    "hedgerow evaluate runs/quick",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  (its callback prints it)
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that come before the verb."""
    context.with_resource(as_options())  # messages name options, not arguments


def main() -> None:
    """Run the command; a mistake in the input is one message, not a traceback."""
    # Before torch is loaded. Threads that spin while they wait make a training ten times slower where another
    # process keeps a core busy; threads that sleep cost next to nothing.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    codecs.register_error("hedgerow.plain", _plain)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="hedgerow.plain")
    sys.stdout, sys.stderr = _pipe_safe(sys.stdout), _pipe_safe(sys.stderr)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:  # while the command is put together, before Typer looks after it
        raise SystemExit(130) from None
    except HedgerowError as error:
        _end(str(error))
    except OSError as error:
        if error.errno not in _DISK_FULL:
            raise
        _discard_output()  # or Python would try again to write what is left of it
        _end(f"{error.filename or 'The output'} cannot be written: {error.strerror}. Free some space on the disk.")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _TRAINING_LIBRARIES:
            raise
        _end(f"This needs {error.name}, which is not installed: pip install 'hedgerow[train]'")


class _Pipe(io.FileIO):
    """A stream whose reader may go away, as `head` does: the rest is discarded, and files are still written."""

    def write(self, data: Any) -> int:
        """Write to the reader, if there is one."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def _pipe_safe(stream: TextIO) -> TextIO:
    """Return a stream that does not fail when its reader goes away, unless it has been replaced, as in tests."""
    if type(stream) is not io.TextIOWrapper:
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Pipe(stream.fileno(), "wb", closefd=False)),
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding of the output does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def _discard_output() -> None:
    with suppress(OSError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(message: str) -> NoReturn:
    # Names are quoted as in Python, which doubles the backslashes of Windows; they shall be as they were typed.
    message = re.sub(r"'[^'\n]*'", lambda quoted: quoted[0].replace("\\\\", "\\"), message)
    # The name of a file, or its content, must not control the terminal.
    printable = "".join(sign if sign.isprintable() or sign in "\n\t" else repr(sign)[1:-1] for sign in message)
    console = Console(stderr=True, highlight=False)
    console.print(printable, style="red", markup=False, emoji=False, soft_wrap=True)
    sys.exit(BAD_INPUT)
