"""The Typer application that the verbs register with."""

from __future__ import annotations

from typing import Annotated

import typer

from hedgerow import __version__

app = typer.Typer(
    name="hedgerow",
    help="Answers from a tree of classes: as specific as they can be, as sure as they must be.",
    epilog="Example: hedgerow doctor tree.csv",
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
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that stand before the verb."""
