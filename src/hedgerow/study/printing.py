"""What a study prints on the terminal."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, final

from rich.console import Console

from hedgerow.show.terminal import live_bar, print_text
from hedgerow.study.processes import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress

    from hedgerow.study.cells import Cell
    from hedgerow.study.run import Report


@final
class StudyProgress(Watcher):
    """Shows the progress of a study: a line per finished cell and, in a terminal, a bar with the time left."""

    def __init__(self, out: Console, bar: Progress, total: int) -> None:
        self._out, self._bar, self._total = out, bar, total
        self._begun, self._ended = time.monotonic(), 0
        self._running: dict[str, float] = {}
        self._task = bar.add_task("Training", total=total)

    def done(self, cell: Cell) -> None:
        """Print a line."""
        self._ended += 1
        self._running.pop(cell.name, None)
        passed = timedelta(seconds=round(time.monotonic() - self._begun))
        self._out.print(f"[{self._ended}/{self._total}] {passed} {cell.task}: {cell.title}")
        self._show()

    def moved(self, cell: Cell, share: float) -> None:
        """Move the bar."""
        self._running[cell.name] = share
        self._show()

    def _show(self) -> None:
        self._bar.update(self._task, completed=self._ended + sum(self._running.values()))


@contextmanager
def study_bar(cells: int, missing: int) -> Iterator[StudyProgress]:
    """Print a line per cell on the standard output; in a terminal, also show a bar with the time left."""
    out = Console(highlight=False, markup=False, soft_wrap=True)
    if missing < cells:
        out.print(f"{cells - missing} of {cells} cells already have a record.")
    if missing and not out.is_terminal:
        out.print(f"{missing} cells to run; each adds a line here when it is finished, which may take minutes.")
    with live_bar(out if out.is_terminal else Console(stderr=True), counted=True) as bar:
        yield StudyProgress(out, bar, missing)


def print_report(report: Report, console: Console) -> None:
    """Print the requested tables and conclusions, what failed, and which files to open."""
    for found in (report.findings[name] for name in report.requested):
        for table in found.tables.values():
            table.print(console)
            for note in table.notes:
                print_text(console, note, "dim")
        if found.sentences:
            print_text(console, "\n" + " ".join(found.sentences) + "\n")
    if report.failures:
        console.print(f"{len(report.failures)} of {report.cells} cells have no record:", style="red")
        for failure in report.failures:
            print_text(console, f"  {failure.cell.task}: {failure.cell.title}: {failure.message}")
        console.print(
            f"Run the same command again to run only these; {report.folder / 'failed.txt'} has the details.",
            markup=False,
            soft_wrap=True,
        )
    if report.files:
        pages = [str(path) for path in report.files if path.suffix == ".html"]
        pictures = [str(path) for path in report.files if path.suffix == ".png"]
        shown = " and ".join([str(report.files[0]), *(pages or pictures)[:1]])
        console.print(f"Open {shown}.", markup=False, highlight=False, soft_wrap=True)
