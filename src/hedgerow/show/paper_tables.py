"""The tables of evaluations for papers: summary, single rules, averages over classes, ranks and classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hedgerow.measure import STANDARD_METRICS, Evaluation, Metric, SystemComparison
from hedgerow.show.tables import Column, Entry, Row, Table, not_in_per_cent, write_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from hedgerow.measure import Difference, Interval

_RANKS = ("correct", "misclassified", "underclassified", "overclassified")
_COUNT = Column("examples", better="neither", percent=False, whole=True)
_RULE = "majority"


def write_evaluation_tables(self: Evaluation, path: str | PathLike[str]) -> None:
    """Write every number for a paper: figures, rules, averages over classes, ranks and classes.

    Parameters
    ----------
    path
        Ends in .md, .tex (with booktabs) or .csv, which has one line per number.
    """
    write_tables(path, tables_of([self]))


def write_comparison_tables(self: SystemComparison, path: str | PathLike[str]) -> None:
    """Write every number of all models for a paper, and the differences: see `Evaluation.to_table`."""
    write_tables(path, [*tables_of(self.evaluations), *_differences(self)])


def tables_of(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of evaluations with the same additional metrics."""
    figures = _figures(evaluations)
    rules = _of_rules("Single rules", evaluations, {each.name: each.rules for each in evaluations})
    macro = _of_rules(
        "Single rules, averaged over classes: each counts once",
        evaluations,
        {e.name: e.macro for e in evaluations},
    )
    return [figures, rules, macro, _by_rank(evaluations), _by_class(evaluations)]


def _columns(metrics: Iterable[Metric]) -> list[Column]:
    return [
        Column(metric.name, better="higher" if metric.higher_is_better else "lower", percent=metric.is_fraction)
        for metric in metrics
    ]


def _table(title: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    """Return a table that says which of its columns are not in per cent."""
    return Table(title, columns, rows, notes=not_in_per_cent(columns))


def _row(name: str, values: Mapping[str, float | None], group: str = "") -> Row:
    known = {key: value for key, value in values.items() if value is not None and not math.isnan(value)}
    return Row(name, {key: Entry((value,)) for key, value in known.items()}, group)


def _figures(evaluations: Sequence[Evaluation]) -> Table:
    first = evaluations[0]
    own = {name: metric for name, (_, metric) in first.figures.items()}
    columns = [
        Column(name, percent=name not in own or own[name].is_fraction, better="neither")
        for name in first.summary()
    ]
    rows = []
    for each in evaluations:
        rows.append(_row(each.name, each.summary()))
        rows += _range(each.name, each.intervals, each.level)
    return _table("Summary", columns, rows)


def _range(name: str, found: Mapping[str, Interval] | Mapping[str, Difference], level: float) -> Iterator[Row]:
    """Yield the two ends of intervals as rows."""
    if found:
        yield _row(f"{name}, {100 * level:g} % from", {key: each.low for key, each in found.items()})
        yield _row(f"{name}, {100 * level:g} % to", {key: each.high for key, each in found.items()})


def _differences(comparison: SystemComparison) -> Iterator[Table]:
    base = comparison.evaluations[comparison.reference]
    rows: list[Row] = []
    for each, found in zip(comparison.evaluations, comparison.differences, strict=True):
        if found:
            rows.append(_row(each.name, {key: difference.value for key, difference in found.items()}))
            rows += _range(each.name, found, comparison.level)
    if rows:
        yield _table(f"Difference from {base.name}", _figures([base]).columns, rows)


def _of_rules(
    title: str, evaluations: Sequence[Evaluation], found: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> Table:
    """Return a table of metric means with one row per rule."""
    rows = [
        _row(_named(evaluations, name, rule), values, name)
        for name, by_rule in found.items()
        for rule, values in by_rule.items()
    ]
    return _table(title, _columns((*STANDARD_METRICS, *evaluations[0].metrics)), rows)


def _by_rank(evaluations: Sequence[Evaluation]) -> Table:
    kind = "depth" if evaluations[0].hierarchy.rank is None else "rank"
    rows = [
        _row(
            _named(evaluations, each.name, rank),
            {"examples": found["known"]} | {k: found[k] for k in _RANKS},
            each.name,
        )
        for each in evaluations
        for rank, found in each.ranks[_RULE].items()
    ]
    shown = [name for name in _RANKS if any(name in row.entries for row in rows)]
    return Table(f"By {kind}, rule {_RULE}", [_COUNT, *map(Column, shown)], rows)


def _exact_leaves(evaluation: Evaluation, name: str) -> dict[str, float]:
    leaf = evaluation.classes.get("leaf")  # without leaf scores, there are no such answers
    return {} if leaf is None else {"leaf exact": leaf[name]["exact"]}


def _by_class(evaluations: Sequence[Evaluation]) -> Table:
    rows = [
        _row(
            _named(evaluations, each.name, name),
            values | _exact_leaves(each, name),
            each.name,
        )
        for each in evaluations
        for name, values in each.classes[_RULE].items()
    ]
    columns = [_COUNT, *_columns((*STANDARD_METRICS, *evaluations[0].metrics)), Column("leaf exact")]
    return _table(f"By class, rule {_RULE}", columns, rows)


def _named(evaluations: Sequence[Evaluation], system: str, row: str) -> str:
    """Return the name of a row, with the name of its model if there are several."""
    return row if len(evaluations) == 1 else f"{system}: {row}"
