"""What verbs share that read many parts: several files or a pattern, workers, what to do if parts fail."""

from __future__ import annotations

import time
from contextlib import contextmanager
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from hedgerow.cli.outputs import after_a_second
from hedgerow.errors import ParameterError
from hedgerow.files import is_pattern, is_remote, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.cli.reading import ScoreReading, TreeFile
    from hedgerow.cluster import PartsError

PARTS_FAILED = 1
"""Exit status if some parts failed."""

WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", help="Work on parts in N processes, with Dask.", show_default=False
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Work on parts on a Dask cluster, such as tcp://10.0.0.1:8786.",
        show_default=False,
    ),
]


def is_many(scores: Sequence[str]) -> bool:
    """Tell whether the arguments name several parts, or one that is not a local file or folder."""
    return len(scores) > 1 or is_pattern(scores[0]) or is_remote(scores[0])


def local(scores: Sequence[str]) -> list[Path]:
    """Return the local files among the arguments, which outputs must not overwrite."""
    if not is_many(scores):
        return [Path(scores[0])]
    from hedgerow.cluster import expand

    return [Path(path) for path in expand([score for score in scores if not is_remote(score)])]


def name_of_parts(scores: Sequence[str]) -> str:
    """Return the name of a model whose scores are parts: what their names share, or else their folder.

    >>> name_of_parts(["runs/keen-*.npz"]), name_of_parts(["keen-1.csv", "keen-2.csv"])
    ('keen-*', 'keen-*')
    >>> name_of_parts(["runs/*.npz"]), name_of_parts(["runs/a.npz", "runs/b.npz"])
    ('runs', 'runs')
    """
    stems = [stem(score) for score in scores]
    shared = stems[0] if len(stems) == 1 else f"{commonprefix(stems)}*"  # noqa: RUF071  (characters are meant)
    folders = {Path(score).parent.name or Path.cwd().name for score in scores}
    telling = [name for name in (shared, *(folders if len(folders) == 1 else ())) if name.strip("*")]
    return telling[0] if telling else "scores"


def check_parts(scores: Sequence[str], tree: TreeFile | None, data: Path | None) -> TreeFile:
    """Refuse what only single files and training runs have, and return the tree."""
    if data is not None:
        raise ParameterError("--data is for the folder of one training run, not for parts. Leave it out.")
    for score in scores:
        if Path(score).is_dir():
            raise ParameterError(f"{score} is a folder. Give its files, as in '{score}/*.npz'.")
    if tree is None:
        raise ParameterError(f"{scores[0]} is a score file, which needs a tree: give --tree TREE.")
    return tree


@contextmanager
def connected(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Connect to workers, if there are to be some, and say where to watch them."""
    from hedgerow.cluster import connect

    if workers is not None and scheduler is not None:
        raise ParameterError("Give --workers or --scheduler, not both.")
    with connect(workers=workers, scheduler=scheduler) as client:
        if client is not None:
            typer.echo(f"Dashboard: {client.dashboard_link}", err=True)
        yield client


def keywords(reading: ScoreReading) -> dict[str, Any]:
    """Return how to read parts, without what is at its default: it is sent to workers."""
    return {name: value for name, value in reading.keywords.items() if value not in (None, False)}


@contextmanager
def parts_bar(total: int) -> Iterator[Callable[[int], None]]:
    """Show how many parts are done, and how many examples a second, for work that takes longer than a second."""
    from hedgerow.show import live_bar

    progress = live_bar(Console(stderr=True), counted=True)
    task = progress.add_task("Parts", total=total)
    begun, examples = time.monotonic(), 0

    def advance(number: int) -> None:
        nonlocal examples
        examples += number
        rate = examples / (time.monotonic() - begun)
        progress.update(task, advance=1, description=f"Parts, {rate:,.0f} examples/s")

    with after_a_second(progress):
        yield advance


def end_with_failures(error: PartsError, kept: str) -> NoReturn:
    """Print which parts failed, and what is kept of the others."""
    console = Console(stderr=True, highlight=False)
    console.print(str(error), style="red", markup=False, soft_wrap=True)
    console.print(kept, markup=False, soft_wrap=True)
    raise typer.Exit(PARTS_FAILED)
