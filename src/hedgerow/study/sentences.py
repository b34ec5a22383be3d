"""Sentences about the main table, computed from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.errors import argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.study.tables import Entry, Row, Table

_FLAT, _TOP_DOWN = "Flat softmax", ("Cond softmax", "Cond sigmoid")
_ONE_SEED_NOISE = 0.01  # with a single seed, smaller differences are not mentioned


def main_sentences(table: Table) -> tuple[str, ...]:
    """Say which methods lead, and how those that know the tree compare with the flat softmax, which does not.

    A single method is not compared with anything; without the flat softmax, only the best are named. For a single
    seed, the sentences say what was seen and that it may be luck.
    """
    rows = {row.name: row for row in table.rows}
    if len(rows) < 2:
        return ()
    overall, careful = (_best(table.rows, column) for column in ("AP", "R@95C"))
    several = any(entry.spread is not None for row in table.rows for entry in row.entries.values())
    more = argument("seeds", "3", python="seeds=3")
    caution = () if several else (f"With one seed, such differences may be luck: use {more} or more.",)
    first = ("" if several else "In this one seed, ") + (
        f"{overall.name} has the best trade-off between being right and being specific "
        f"(AP {_percent(overall.entries['AP'])}), and "
        + ("also " if careful is overall else f"{careful.name} ")
        + f"has the highest recall when 95 % of the answers must be right ({_percent(careful.entries['R@95C'])})."
    )
    if _FLAT not in rows:
        return (first, *caution)
    flat = rows[_FLAT].entries["AP"]
    others = [row for row in table.rows if row.name != _FLAT]
    better = [row for row in others if _beyond(row.entries["AP"], flat)]
    worse = [row for row in others if _beyond(flat, row.entries["AP"])]
    second = (
        f"The flat softmax, which does not know the tree, reaches AP {_percent(flat)}: "
        + (
            f"{_listed(better, 'beats', 'beat')} it by more than two standard deviations, "
            f"{_listed(worse, 'falls', 'fall')} behind"
            if several
            else f"{_listed(better, 'is', 'are')} more than {100 * _ONE_SEED_NOISE:g} point above it, "
            f"{_listed(worse, 'is', 'are')} more than that below"
        )
        + _top_down(rows, flat)
        + "."
    )
    return first, second, *caution


def _top_down(rows: dict[str, Row], flat: Entry) -> str:
    there = [rows[name].entries["AP"] for name in _TOP_DOWN if name in rows]
    if not there:
        return ""
    gap = flat.mean - max(entry.mean for entry in there)
    side = "below" if gap > 0 else "above"
    return f", and the better of the top-down methods is {abs(100 * gap):.1f} points {side} it"


def _best(rows: Sequence[Row], column: str) -> Row:
    return max(rows, key=lambda row: row.entries[column].mean)


def _beyond(entry: Entry, other: Entry) -> bool:
    """Return whether one figure is larger than another by more than the spread of the seeds."""
    noise = max(e.spread if e.spread is not None else _ONE_SEED_NOISE for e in (entry, other))
    return entry.mean - other.mean > noise


def _listed(rows: Sequence[Row], one: str, several: str) -> str:
    if not rows:
        return f"no method {one}"
    if len(rows) > 3:
        return f"{len(rows)} of the other rows {several}"
    names = [row.name for row in rows]
    if len(names) == 1:
        return f"{names[0]} {one}"
    return f"{', '.join(names[:-1])} and {names[-1]} {several}"


def _percent(entry: Entry) -> str:
    return f"{100 * entry.mean:.1f} %"
