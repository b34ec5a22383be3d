"""The command `hedgerow`: one verb per job, no logic of its own.

A verb is a function with `@app.command()` that parses, calls the library and prints. It imports what it needs
inside the function, so that `hedgerow --help` stays quick.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hedgerow import __version__
from hedgerow._atomic import atomic_write
from hedgerow.errors import HedgerowError
from hedgerow.tree_files import FORMATS

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

BAD_INPUT = 2
"""Exit status where the input cannot be used at all."""

TreeFormatOption = Annotated[
    str | None,
    typer.Option(
        "--tree-format",
        metavar="FORMAT",
        help=f"Format of the tree: {', '.join(FORMATS)}. By default by extension (.csv, .tsv: edges).",
        show_default=False,
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the findings to FILE as JSON.", show_default=False),
]


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


def write_json(path: Path, data: Any) -> None:
    """Write the findings of a verb as JSON."""
    with atomic_write(path) as file:
        json.dump(data, file, ensure_ascii=False, indent=2)
        file.write("\n")


@app.command(
    epilog="Examples:\n\nhedgerow doctor tree.csv\n\n"
    "hedgerow doctor lineages.csv --tree-format lineages --labels labels.txt\n\n"
    "hedgerow doctor tree.csv --scores model.npz --json findings.json"
)
def doctor(
    tree: Annotated[Path, typer.Argument(metavar="TREE", help="The tree.", show_default=False)],
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Scores whose classes should fit the tree (.npz, .csv, .parquet)."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels that should be in the tree: .txt, one a line; or .csv, .parquet with a column 'label'.",
        ),
    ] = None,
    titles: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Display names to show: a JSON object {"n02084071": "dog"}.'),
    ] = None,
    tree_format: TreeFormatOption = None,
    json_file: JsonOption = None,
) -> None:
    """Explain a tree in plain words, and everything that is wrong with it.

    Exit status 0 if all is well, 1 if there are problems.
    """
    from hedgerow.doctor import examine

    diagnosis = examine(tree, tree_format, scores=scores, labels=labels, titles=titles)
    diagnosis.print(Console())
    if json_file is not None:
        write_json(json_file, diagnosis.to_dict())
    raise typer.Exit(0 if diagnosis.ok else 1)


def main() -> None:
    """Run the command; a mistake in the input is one message, not a traceback."""
    try:
        app()
    except HedgerowError as error:
        console = Console(stderr=True, highlight=False)
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        sys.exit(BAD_INPUT)
