"""Bars: what they show, and that they leave nothing behind."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from hedgerow.learn.training.console import EpochReport
from hedgerow.show.terminal import live_bar


def terminal(width: int = 60) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, legacy_windows=False)


def shown(console: Console, bar: object) -> str:
    with console.capture() as captured:
        console.print(bar.get_renderable())  # type: ignore[attr-defined]
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", captured.get())


@pytest.mark.parametrize("width", [60, 120])
def test_the_time_left_is_that_of_the_mean_speed(width: int) -> None:
    console = terminal(width)
    bar = live_bar(console, counted=True)
    now = 0.0
    bar.get_time = lambda: now
    task = bar.add_task("A title that is much too long for what is left of the line", total=9, completed=3)
    assert "-:--:--" in shown(console, bar)
    bar.advance(task)
    now = 60.0
    bar.advance(task, 2)  # 30 seconds a step, and 3 to go
    first = shown(console, bar)
    assert "6/9" in first
    assert "0:01:30" in first
    assert len(first.splitlines()) == 1
    now = 200.0
    bar.advance(task)  # slow steps count as well: 200 seconds for 3 steps, and 2 to go
    now = 201.0  # rich refreshes the time left twice a second
    assert "0:02:14" in shown(console, bar)


def test_work_of_unknown_length() -> None:
    console = terminal()
    bar = live_bar(console)
    bar.advance(bar.add_task("Drawing the curve", total=None))
    assert shown(console, bar).startswith("Drawing the curve ━")


def test_nothing_is_printed_where_nobody_watches_or_nothing_was_shown() -> None:
    file = io.StringIO()
    with live_bar(Console(file=file)) as bar:
        bar.advance(bar.add_task("Training", total=2))
    console = terminal()
    live_bar(console).stop()
    assert file.getvalue() == ""
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_a_resumed_training_run_counts_its_own_steps_only() -> None:
    report = EpochReport("AP")
    console = terminal()
    report._bar = bar = live_bar(console)
    now = 0.0
    bar.get_time = lambda: now
    report._task = bar.add_task("", start=False)
    trainer: Any = SimpleNamespace(is_global_zero=True, num_training_batches=100, max_epochs=10, current_epoch=9)
    report.on_train_start(trainer, None)
    bar.advance(report._task)
    now = 10.0
    bar.advance(report._task)  # 10 seconds a step, and 98 to go
    assert "0:16:20" in shown(console, bar)
    bar.stop()
