"""Tables of numbers for papers: Markdown, LaTeX, CSV, JSON, and on a terminal.

Of several seeds, they show mean ± two standard deviations, the best in bold, the second in italics. With one seed
there is neither a spread nor a mark.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, final

from hedgerow.errors import ParameterError
from hedgerow.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    from rich.console import Console

Mark = Literal["", "best", "second"]

_LATEX = {
    **{character: f"\\{character}" for character in "&%_#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "ε": r"$\varepsilon$",
    "τ": r"$\tau$",
}


@final
@dataclass(frozen=True)
class Column:
    """A column of numbers."""

    name: str
    better: Literal["higher", "lower", "neither"] = "higher"
    percent: bool = True
    """Whether fractions are shown as percentages."""
    whole: bool = False
    """Whether the numbers are whole."""


def not_in_per_cent(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return a note on the columns whose numbers are no fractions, if there are any."""
    others = ", ".join(column.name for column in columns if not column.percent and not column.whole)
    return (f"Not in per cent: {others}.",) if others else ()


@final
@dataclass(frozen=True)
class Entry:
    """The values of one metric, one per seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float | None:
        """Two standard deviations (of a sample: divided by n - 1); None for one seed."""
        return 2 * statistics.stdev(self.values) if len(self.values) > 1 else None


@final
@dataclass(frozen=True)
class Row:
    """A named row; the best and second values are marked within each group of rows."""

    name: str
    entries: Mapping[str, Entry]
    """By column; a column without an entry stays empty."""
    group: str = ""


@final
@dataclass(frozen=True)
class Table:
    """Figures of several systems."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    corner: str = "%"
    """The heading above the names of the rows."""
    notes: Sequence[str] = field(default_factory=tuple)

    def marks(self, column: Column) -> dict[int, Mark]:
        """Return which rows are best and second in a column, by the rounded numbers.

        Nothing is marked if every entry has one seed: another seed would give another order.
        """
        found: dict[int, Mark] = {}
        if not self._several_seeds:
            return found
        for group in dict.fromkeys(row.group for row in self.rows):
            shown = {
                i: float(self._numbers(row.entries[column.name], column)[0])
                for i, row in enumerate(self.rows)
                if row.group == group and column.name in row.entries
            }
            order = sorted(set(shown.values()), reverse=column.better == "higher")
            if column.better == "neither" or len(order) < 2:
                continue
            ranked: tuple[tuple[float, Mark], ...] = ((order[0], "best"), (order[1], "second"))
            for value, mark in ranked:
                found.update({i: mark for i, each in shown.items() if each == value})
        return found

    @cached_property
    def _several_seeds(self) -> bool:
        return any(len(entry.values) > 1 for row in self.rows for entry in row.entries.values())

    def _numbers(self, entry: Entry, column: Column) -> tuple[str, str]:
        scale = 100 if column.percent else 1
        digits = 0 if column.whole else 1 + self._several_seeds + (not column.percent)
        spread = "" if entry.spread is None else f"±{scale * entry.spread:.{digits}f}"
        return f"{scale * entry.mean:.{digits}f}", spread

    def _shown(self, show: Callable[[str, str, Mark], Any]) -> list[list[Any]]:
        """Return the entries of each row as `show` renders mean, spread and mark; "" if there is none."""
        marks = {column.name: self.marks(column) for column in self.columns}
        return [
            [
                show(*self._numbers(row.entries[column.name], column), marks[column.name].get(i, ""))
                if column.name in row.entries
                else ""
                for column in self.columns
            ]
            for i, row in enumerate(self.rows)
        ]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        wrap: dict[Mark, str] = {"": "", "best": "**", "second": "*"}
        shown = self._shown(lambda mean, spread, mark: f"{wrap[mark]}{mean}{wrap[mark]} {spread}".strip())
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"**{self.title}**", "", self._tabulated(shown, "pipe", _markdown), *notes]) + "\n"

    def latex(self) -> str:
        """Return the table as LaTeX; it needs the package booktabs."""
        wrap: dict[Mark, str] = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\textit{{{}}}"}

        def show(mean: str, spread: str, mark: Mark) -> str:
            return wrap[mark].format(mean) + (rf" {{\footnotesize {_latex(spread)}}}" if spread else "")

        # tabulate's own booktabs format would escape the marks.
        rules = iter((r"\toprule", r"\midrule", r"\bottomrule"))
        text = re.sub(r"\\hline", lambda _: next(rules), self._tabulated(self._shown(show), "latex_raw", _latex))
        notes = "".join(f"% {note}\n" for note in self.notes)
        return f"% {self.title}\n{text}\n{notes}"

    def _tabulated(self, shown: list[list[str]], form: str, name: Callable[[str], str]) -> str:
        head = [name(heading) for heading in self._head]
        rows = [[name(row.name), *texts] for row, texts in zip(self.rows, shown, strict=True)]
        align = ("left", *("right" for _ in self.columns))
        tabulate = require_tabulate()
        return tabulate(rows, head, form, colalign=align, disable_numparse=True)

    @property
    def _head(self) -> list[str]:
        return [self.corner, *(column.name for column in self.columns)]

    def csv(self) -> str:
        """Return the table as CSV, with unrounded fractions: mean and two standard deviations of every metric."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = [column.name for column in self.columns]
        writer.writerow(
            ["group", "row", "seeds", *(f"{name}{suffix}" for name in names for suffix in ("", " 2sd"))]
        )
        for row in self.rows:
            seeds = max((len(entry.values) for entry in row.entries.values()), default=0)
            numbers: list[str] = []
            for name in names:
                entry = row.entries.get(name)
                spread = None if entry is None else entry.spread
                numbers += [
                    "" if entry is None else f"{entry.mean:.6f}",
                    "" if spread is None else f"{spread:.6f}",
                ]
            writer.writerow([row.group, row.name, seeds, *numbers])
        return text.getvalue()

    def print(self, console: Console) -> None:
        """Print the table."""
        from rich.text import Text

        from hedgerow.show.terminal import print_table

        style: dict[Mark, str] = {"": "", "best": "bold", "second": "italic"}
        shown = self._shown(lambda mean, spread, mark: Text(f"{mean} {spread}".strip(), style=style[mark]))
        rows = [[row.name, *texts] for row, texts in zip(self.rows, shown, strict=True)]
        print_table(console, self._head, rows, title=self.title)

    def to_dict(self) -> dict[str, Any]:
        """Return the table ready for JSON, including every value of every seed."""
        return {
            "title": self.title,
            "columns": [column.name for column in self.columns],
            "rows": [
                {
                    "name": row.name,
                    "group": row.group,
                    "figures": {
                        name: {"mean": entry.mean, "2sd": entry.spread, "values": list(entry.values)}
                        for name, entry in row.entries.items()
                    },
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
        }


def entries(results: Iterable[Mapping[str, Any]], metrics: Mapping[str, str]) -> dict[str, Entry]:
    """Return the entries of a row: for each column, the named metric of every result."""
    summaries = [result["summary"] for result in results]
    return {column: Entry(tuple(s[metric] for s in summaries)) for column, metric in metrics.items()}


def write_tables(path: str | PathLike[str], tables: Sequence[Table]) -> None:
    """Write tables into one file: Markdown, LaTeX, or CSV with one line per number, by the extension.

    Parameters
    ----------
    path
        Ends in .md, .tex or .csv.
    tables
        What to write.
    """
    suffix = check_tables(path)
    text = (
        _tidy(tables)
        if suffix == ".csv"
        else "\n".join(table.markdown() if suffix == ".md" else table.latex() for table in tables)
    )
    with atomic_write(path) as file:
        file.write(text)


def check_tables(path: str | PathLike[str]) -> str:
    """Return the extension of a file of tables, if such tables can be written."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in (".csv", ".md", ".tex"):
        raise ParameterError(f"{path}: tables are written as .csv, .md or .tex.")
    if suffix != ".csv":
        require_tabulate()
    return suffix


def require_tabulate() -> Callable[..., str]:
    """Return the function that aligns Markdown and LaTeX; an error if it is not installed."""
    try:
        from tabulate import tabulate
    except ModuleNotFoundError:
        raise ParameterError(
            "Tables in Markdown and LaTeX need tabulate, which is not installed: pip install 'hedgerow[plot]'"
        ) from None
    return tabulate


def _tidy(tables: Iterable[Table]) -> str:
    """Return every number of some tables on a line of its own, unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "group", "row", "column", "value"])
    for table in tables:
        for row in table.rows:
            for name, entry in row.entries.items():
                writer.writerow([table.title, row.group, row.name, name, f"{entry.mean:.10g}"])
    return text.getvalue()


def _markdown(text: str) -> str:
    return " ".join(text.replace("\\", r"\\").replace("|", r"\|").split())


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
