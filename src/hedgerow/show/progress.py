"""Bars in a terminal that show how far long work is, and the time left."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
)
from rich.table import Column
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task, TaskID


@final
class TimeLeft(ProgressColumn):
    """The time left, by the mean speed since the start: few slow steps are enough, and it counts down between."""

    max_refresh = 0.5

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=True))
        self._last_step: dict[TaskID, tuple[float, float]] = {}  # steps done, and when the last of them was
        self._first: dict[TaskID, float] = {}  # steps that were done at the start, by an earlier run

    def render(self, task: Task) -> Text:
        """Show the time left, or that nobody knows."""
        elapsed = task.elapsed or 0.0
        first = self._first.setdefault(task.id, task.completed)
        done, at = self._last_step.get(task.id, (first, 0.0))
        if task.completed > done:
            done, at = self._last_step[task.id] = task.completed, elapsed
        if task.total is None or done <= first:
            return Text("-:--:-- left", style="progress.remaining")
        left = at * (task.total - first) / (done - first) - elapsed
        return Text(f"{timedelta(seconds=max(0, round(left)))} left", style="progress.remaining")


@final
class _Bar(Progress):
    """A bar that leaves no trace where it was never shown."""

    def stop(self) -> None:
        """Take it away."""
        if self.live.is_started:
            super().stop()


def live_bar(console: Console, *, counted: bool = False) -> Progress:
    """Return a bar as wide as the terminal that goes away when it stops; nothing where nobody watches.

    Parameters
    ----------
    console
        Where to draw.
    counted
        Show "3/9" instead of "33%".
    """
    return _Bar(
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", max_width=30)),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=5)),
        MofNCompleteColumn() if counted else TaskProgressColumn(),
        TimeLeft(),
        console=console,
        transient=True,
        expand=True,
        disable=not console.is_terminal,
    )
