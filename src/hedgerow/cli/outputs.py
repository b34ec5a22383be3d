"""What verbs write: files, figures, and progress on the terminal."""

from __future__ import annotations

import shlex
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from hedgerow.errors import FileError, ParameterError
from hedgerow.files import is_special, try_file, try_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import Progress

    from hedgerow.measure import Evaluation, Metric, SystemComparison

_INTERRUPTED = 130  # the convention of shells


def named_metrics(given: str | None) -> list[Metric]:
    """Return the metrics that --metrics names."""
    from hedgerow.measure import metrics

    return [metrics.as_metric(name.strip()) for name in (given or "").split(",") if name.strip()]


def check_page(path: Path) -> None:
    """Refuse a page that is not an HTML file, or that cannot be made, before a long computation."""
    from hedgerow.show import require_report

    if path.suffix.lower() not in (".html", ".htm") and not is_special(path):
        raise ParameterError(f"{path}: a page is written as .html.")
    require_report()


def command_line() -> str:
    """Return the command as it was given, for the pages that it makes."""
    return shlex.join(["hedgerow", *sys.argv[1:]])


def check_outputs(
    *files: Path | None,
    folder: Path | None = None,
    evaluation: Path | None = None,
    inputs: Sequence[Path | None],
) -> None:
    """Refuse outputs that could not be written after a long computation, or that would overwrite an input.

    Parameters
    ----------
    files, folder, evaluation
        What will be written, if requested; the folder, or that of an evaluation, is written first.
    inputs
        What is read: files, or folders of evaluations.
    """
    from hedgerow.measure import MEMBERS, try_evaluation_folder

    outputs = [path for path in files if path is not None]
    inside = [] if evaluation is None else [evaluation / name for name in MEMBERS]
    folder = evaluation or folder
    read = [path for path in inputs if path is not None]
    read += [path / name for path in read for name in MEMBERS]
    for path in [*outputs, *inside]:
        for given in read:
            if path.exists() and given.exists() and path.samefile(given):
                raise FileError(
                    f"{path} would overwrite {given}, which is an input. Give the output another name."
                )
    taken: set[Path] = set()
    for path in [*inside, *outputs, *([] if folder is None else [folder])]:
        place = path.resolve()
        if place in taken and not is_special(path):
            raise FileError(f"{path} is named for two outputs. Give each output its own name.")
        taken.add(place)
    made: set[Path] = set()  # folders that will exist by the time they are needed
    if folder is not None:
        try_folder(folder)
        made = {place for place in (folder.resolve(), *folder.resolve().parents) if not place.exists()}
    for path in outputs:
        if path.resolve() in made:
            raise FileError(f"{path} will be a folder, needed for {folder}. Give the output another name.")
        if path.resolve().parent not in made:
            try_file(path)
    if evaluation is not None:
        try_evaluation_folder(evaluation)


def save_evaluation(evaluation: Evaluation, folder: Path | None) -> None:
    """Save an evaluation, if that was requested."""
    if folder is not None:
        with bar("Saving", None):
            evaluation.save(folder)
        typer.echo(f"The evaluation is in {folder}.", err=True)


def save_tables(found: Evaluation | SystemComparison, path: Path | None) -> None:
    """Write the tables for a paper, if that was requested."""
    if path is not None:
        found.to_table(path)
        typer.echo(f"The tables are in {path}.", err=True)


def check_figure(path: Path) -> None:
    """Refuse a figure in another format, before a long computation."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ParameterError(f"{path}: figures are written as .png, .pdf or .svg.")


def drawing(path: Path | None, rules: str | None) -> Callable[[Sequence[Any]], None]:
    """Return the function that draws the figure; without matplotlib, print a notice and draw nothing."""
    marked = _rules(rules)
    if path is None:
        if rules is not None:
            raise ParameterError("--rules chooses what to mark in a figure: give --figure FILE too.")
        return lambda _: None
    check_figure(path)
    try:
        from hedgerow.show.figures import OperatingCurveDisplay
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        notice = "No figure is drawn: it needs matplotlib. Install it with: pip install 'hedgerow[plot]'"
        Console(stderr=True).print(notice, style="yellow", markup=False, soft_wrap=True)
        return lambda _: None

    def draw(evaluations: Sequence[Any]) -> None:
        OperatingCurveDisplay.from_evaluations(evaluations).save(path, rules=marked)
        typer.echo(f"The figure is in {path}.", err=True)

    return draw


def _rules(given: str | None) -> tuple[str, ...]:
    """Return the rules that --rules names."""
    from hedgerow.infer import RULES
    from hedgerow.show import DEFAULT_RULES

    if given is None or given == "none":
        return DEFAULT_RULES if given is None else ()
    named = tuple(name.strip() for name in given.split(","))
    for name in named:
        if name not in RULES:
            raise ParameterError(f"--rules: there is no rule {name!r}. Choose from {', '.join(RULES)}; or 'none'.")
    return named


@contextmanager
def bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar for work that takes longer than a second."""
    from hedgerow.show.terminal import live_bar

    progress = live_bar(Console(stderr=True))
    task = progress.add_task(what, total=total)
    with after_a_second(progress):
        yield lambda steps: progress.advance(task, steps)


@contextmanager
def after_a_second(progress: Progress) -> Iterator[None]:
    """Show a bar in this block, if it takes longer than a second."""
    waiting = threading.Timer(1, progress.start)
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()
        waiting.join()
        progress.stop()


@contextmanager
def explaining_interrupts(kept: str) -> Iterator[None]:
    """If the work is interrupted, print what is kept and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. {kept}", err=True)
        raise typer.Exit(_INTERRUPTED) from None
