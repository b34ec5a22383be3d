"""Tables and progress bars on a terminal or in a notebook.

A table is never cut off; a bar shows the progress of long tasks and the time left.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, final

from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

_ENDLESS = 1 << 20
_WHOLE_RUN = 1e9  # seconds: by default, rich forgets steps that took longer than 30
_NAME, _PROSE = 14, 18  # the smallest widths of names and prose; a table without space for them is split

_MOST_LEVELS = 20  # rows of a table that has one for each depth


def print_text(console: Console, text: str, style: str = "") -> None:
    """Print a paragraph, broken between words; a number and its per cent sign stay together.

    In a file or a pipe, it is one line, in which other programs can search.
    """
    width = console.width if console.is_terminal or console.is_jupyter else _ENDLESS
    console.print(Text(wrapped(text, width), style=style), soft_wrap=True)


def wrapped(text: str, width: int, lead: str = "") -> str:
    """Wrap text to lines of at most `width` cells, unless a word is longer.

    Parameters
    ----------
    text, width
        Text, perhaps in several lines, and the width of a line.
    lead
        The beginning of the first line; the others are indented to match.

    Examples
    --------
    >>> print(wrapped("At threshold 0.7, 95.0 % of them are right.", 22))
    At threshold 0.7,
    95.0 % of them are
    right.
    """
    indent, lines = " " * len(lead), []
    for given in text.split("\n"):
        line, *words = re.split(r" (?!%)", given)
        for word in words:
            if cell_len(f"{indent}{line} {word}") > width:
                lines.append(line)
                line = word
            else:
                line += f" {word}"
        lines.append(line)
    return lead + f"\n{indent}".join(lines)


def print_table(
    console: Console,
    head: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    title: str = "",
    prose: bool = False,
) -> None:
    """Print a table: names in the first column, then numbers.

    In a file or a pipe, it is as wide as it needs to be. On a narrower terminal, headings, names and prose wrap,
    and columns that do not fit follow in another table below, where the names are repeated.

    Parameters
    ----------
    console
        Where to print.
    head, rows
        Headings, and the cells below them.
    title
        The text above; a table with a title has a box.
    prose
        Whether the last column contains sentences instead of numbers.
    """
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in (head, *rows)]
    sheet = _Sheet(cells, console, boxed=bool(title), prose=len(head) - 1 if prose else None)
    for i, part in enumerate(sheet.parts()):
        if i:
            console.print()
        elif title:
            part.title = Text(title, style="bold")
        part.width = sheet.width(part)  # instead of the console's
        console.print(part, crop=False)


def print_levels(
    console: Console,
    head: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    empty: Sequence[bool] | None = None,
) -> None:
    """Print a table with a row for each rank or depth; in very deep trees, only for some of them, evenly chosen.

    `empty` says which rows, except the first, are left out before others.
    """
    shown = list(rows)
    if len(shown) > _MOST_LEVELS and empty is not None:
        shown = [row for i, row in enumerate(rows) if not (i and empty[i])]
    if len(shown) > _MOST_LEVELS:
        step = (len(shown) - 1) / (_MOST_LEVELS - 1)
        shown = [shown[round(i * step)] for i in range(_MOST_LEVELS)]
    print_table(console, head, shown)
    if len(shown) < len(rows):
        print_text(console, f"These are {len(shown)} of {len(rows):,} rows; --json FILE writes all of them.")


@final
@dataclass(frozen=True)
class _Sheet:
    """The cells of a table, headings first, and how to lay them out."""

    cells: Sequence[Sequence[Text]]
    console: Console
    boxed: bool
    prose: int | None
    """The number of the column with sentences, if there is one."""

    def parts(self) -> Iterator[Table]:
        """Yield the tables to print, one below the other."""
        available = self.console.width
        whole = self.table(range(1, len(self.cells[0])), {})
        if not self.console.is_terminal or self.width(whole) <= available:
            yield whole
            return
        least = {place: self._least(place) for place in range(len(self.cells[0]))}
        for places in self._groups(least):
            spare = max(0, available - self.width(self.table(places, least)))
            given = {} if self.prose not in places else {self.prose: least[self.prose] + spare}
            yield self.table(places, least | given)

    def _groups(self, widths: Mapping[int, int]) -> Iterator[list[int]]:
        """Yield groups of columns, without the first, that fit side by side; at least one column in each."""
        group: list[int] = []
        for place in range(1, len(self.cells[0])):
            if group and self.width(self.table([*group, place], widths)) > self.console.width:
                yield group
                group = []
            group.append(place)
        yield group

    def _least(self, place: int) -> int:
        """Return the smallest width of a column: numbers never wrap, and headings wrap only between words."""
        heading, *column = (row[place] for row in self.cells)
        widest = max((cell.cell_len for cell in column), default=0)
        if place == 0:
            return min(max(widest, heading.cell_len), max(_NAME, self.console.width // 3))
        return max([_PROSE if place == self.prose else widest, *map(cell_len, heading.plain.split())])

    def table(self, places: Sequence[int], widths: Mapping[int, int]) -> Table:
        """Return a table of the first column and some others, with the given widths, or as wide as they need."""
        table = Table(box=HEAVY_HEAD if self.boxed else None, pad_edge=self.boxed, title_justify="left")
        for place in (0, *places):
            justify: Literal["left", "right"] = "left" if place in (0, self.prose) else "right"
            table.add_column(self.cells[0][place], justify=justify, overflow="fold", width=widths.get(place))
        for row in self.cells[1:]:
            table.add_row(*(row[place] for place in (0, *places)))
        return table

    def width(self, table: Table) -> int:
        """Return the width at which nothing in a table wraps, except in columns of a given width."""
        return Measurement.get(self.console, self.console.options.update(max_width=_ENDLESS), table).maximum


@final
class _Bar(Progress):
    """A bar that prints nothing if it stops before it was shown; older versions of rich print an empty line."""

    def stop(self) -> None:
        """Remove the bar."""
        if self.live.is_started:
            super().stop()


def live_bar(console: Console, *, counted: bool = False) -> Progress:
    """Return a progress bar as wide as the terminal, which disappears when it stops.

    Notebooks show it too, if ipywidgets is installed. Elsewhere, such as in a pipe, nothing is shown.

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
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
        expand=True,
        speed_estimate_period=_WHOLE_RUN,
        disable=not (console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)),
    )


def percent(share: float | None) -> str:
    """Write a share as a percentage, without the sign; nothing for None, and a dash for NaN.

    >>> percent(0.1234), percent(-1e-17), percent(float("nan"))
    ('12.3', '0.0', '–')
    """
    if share is None:
        return ""
    return "–" if math.isnan(share) else f"{100 * share:z.1f}"
