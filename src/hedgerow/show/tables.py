"""Tables of names and numbers on a terminal, of which nothing is ever cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

_ENDLESS = 1 << 20
_NAME, _PROSE = 14, 18  # widths that are asked for before a table is split


def print_table(
    console: Console,
    head: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    title: str = "",
    prose: bool = False,
) -> None:
    """Print a table: names in the first column, then numbers.

    Where nobody watches, as in a file or a pipe, it is as wide as it needs to be. On a terminal that is narrower,
    headings, names and prose fold, and columns for which there is no room follow below, beside the names again.

    Parameters
    ----------
    console
        Where to print.
    head, rows
        Headings, and the cells below them.
    title
        What stands above; a table that has a title is boxed.
    prose
        Whether the last column holds sentences instead of numbers.
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


@final
@dataclass(frozen=True)
class _Sheet:
    """The cells of a table, headings first, and how to set them."""

    cells: Sequence[Sequence[Text]]
    console: Console
    boxed: bool
    prose: int | None
    """The column of sentences, if there is one."""

    def parts(self) -> Iterator[Table]:
        """Yield the tables to print one below the other."""
        room = self.console.width
        whole = self.table(range(1, len(self.cells[0])), {})
        if not self.console.is_terminal or self.width(whole) <= room:
            yield whole
            return
        least = {place: self._least(place) for place in range(len(self.cells[0]))}
        for places in self._groups(least):
            spare = max(0, room - self.width(self.table(places, least)))
            given = {} if self.prose not in places else {self.prose: least[self.prose] + spare}
            yield self.table(places, least | given)

    def _groups(self, widths: Mapping[int, int]) -> Iterator[list[int]]:
        """Yield columns, the first left out, that have room side by side; one at least."""
        group: list[int] = []
        for place in range(1, len(self.cells[0])):
            if group and self.width(self.table([*group, place], widths)) > self.console.width:
                yield group
                group = []
            group.append(place)
        yield group

    def _least(self, place: int) -> int:
        """Return the least width of a column: numbers are never folded, headings between words only."""
        heading, *column = (row[place] for row in self.cells)
        widest = max((cell.cell_len for cell in column), default=0)
        if place == 0:
            return min(max(widest, heading.cell_len), max(_NAME, self.console.width // 3))
        return max([_PROSE if place == self.prose else widest, *map(cell_len, heading.plain.split())])

    def table(self, places: Sequence[int], widths: Mapping[int, int]) -> Table:
        """Return a table of the first column and some others, as wide as is said, or as they need."""
        table = Table(box=HEAVY_HEAD if self.boxed else None, pad_edge=self.boxed, title_justify="left")
        for place in (0, *places):
            justify: Literal["left", "right"] = "left" if place in (0, self.prose) else "right"
            table.add_column(self.cells[0][place], justify=justify, overflow="fold", width=widths.get(place))
        for row in self.cells[1:]:
            table.add_row(*(row[place] for place in (0, *places)))
        return table

    def width(self, table: Table) -> int:
        """Return the width at which nothing of a table is folded further."""
        return Measurement.get(self.console, self.console.options.update(max_width=_ENDLESS), table).maximum
