"""The form of an experiment: the cells to run, the work on each, and the findings from their records.

The functions below make tables, figures and pages from results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from hedgerow import methods
from hedgerow.measure import metrics
from hedgerow.show import Column, CurveKind, Row, System, Table, entries, not_in_per_cent, write_report
from hedgerow.study.scoring import FROM_PS, curve_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

NAMES = {
    "flat-softmax": "Flat softmax",
    "hxe": "HXE",
    "multilabel-focal": "Multilabel focal",
    "conditional-softmax": "Cond softmax",
    "conditional-sigmoid": "Cond sigmoid",
    FROM_PS: "Deep RTC (PS weights)",
    "deep-rtc": "Deep RTC (own cuts)",
    "ps-softmax": "PS softmax",
    "softmax-descendant": "Soft-max-descendant",
    "softmax-margin": "Soft-max-margin",
}
"""The names of the paper's methods in tables, in the order of the rows."""

TABLE_METRICS = {
    "AP": "AP",
    "AC": "AC",
    "R@90C": "R@90C",
    "R@95C": "R@95C",
    "Majority F1": "majority_F1",
    "Leaf F1": "leaf_F1",
}
"""The columns of the paper's main table, and the summary metric of each."""

Results = list[dict[str, Any]]


@final
@dataclass(frozen=True)
class Findings:
    """The results of an experiment."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    """By file name, without suffix."""
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    """By file name, without suffix; drawn when called."""
    sentences: tuple[str, ...] = ()
    """Conclusions computed from the tables."""
    pages: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)
    """HTML pages by file name, without suffix; written to a path when called."""


@final
@dataclass(frozen=True)
class Experiment:
    """One experiment."""

    title: str
    cells: Callable[[StudyPlan], list[Cell]]
    work: Callable[[Cell, DataSplits], dict[str, Any]]
    """Train and measure one cell; return the content of its record."""
    findings: Callable[[StudyPlan, Records], Findings]


def by_method(
    plan: StudyPlan, records: Records, task: str, *, part: str = "all", way: str = "plain", **options: Any
) -> dict[str, Results]:
    """Return the results of every method that has any, one per seed, by its name and in the order of tables."""
    found: dict[str, Results] = {}
    for method in plan.methods:
        for record in records.finished(plan.cells(task, method, **options)):
            for result in record["results"]:
                if result["part"] == part and result["way"] == way:
                    found.setdefault(result["reading"], []).append({**result, "seed": record["cell"]["seed"]})
    named = names_of(plan)
    order = [*named, *(name for name in found if name not in named)]
    return {named.get(name, name): found[name] for name in order if name in found}


def names_of(plan: StudyPlan) -> dict[str, str]:
    """Return what tables call each method, in the order of the rows; a title that is taken gives way to a name."""
    named = dict(NAMES)
    for name in plan.methods:
        if name not in named:
            title = methods.title(name)
            named[name] = name if title in named.values() else title
    return named


def method_table(plan: StudyPlan, title: str, systems: Mapping[str, Results]) -> Table:
    """Return a table with one row per method and one column per metric."""
    own = {
        f"Majority {metric.name}": (f"majority_{metric.name}", metric)
        for metric in map(metrics.as_metric, plan.metrics)
    }
    shown = TABLE_METRICS | {column: figure for column, (figure, _) in own.items()}
    columns = [Column(name) for name in TABLE_METRICS]
    columns += [
        Column(name, "higher" if metric.higher_is_better else "lower", metric.is_fraction)
        for name, (_, metric) in own.items()
    ]
    rows = [Row(name, entries(results, shown)) for name, results in systems.items()]
    return Table(title, columns, rows, notes=(*notes(systems), *not_in_per_cent(columns)))


def column_table(title: str, columns: Mapping[str, tuple[Mapping[str, Results], str]]) -> Table:
    """Return a table whose columns come from different results: column -> (name of the row -> results, metric)."""
    measured = [results for results, _ in columns.values()]
    rows = []
    for name in dict.fromkeys(name for results in measured for name in results):
        found = {
            column: entries(results[name], {column: metric})[column]
            for column, (results, metric) in columns.items()
            if name in results
        }
        rows.append(Row(name, found))
    return Table(title, [Column(column) for column in columns], rows, notes=notes(*measured))


def notes(*measured: Mapping[str, Results]) -> tuple[str, ...]:
    """Return how many seeds a table is based on, and an explanation of Deep RTC with PS weights."""
    seeds = sorted({len(results) for systems in measured for results in systems.values()})
    number = "one seed" if seeds == [1] else f"{' to '.join(map(str, sorted({seeds[0], seeds[-1]})))} seeds"
    said = [f"Mean ± 2 standard deviations over {number}." if seeds[-1] > 1 else "One seed."] if seeds else []
    if any(NAMES[FROM_PS] in systems for systems in measured):
        said.append(f"{NAMES[FROM_PS]} reads the weights of the PS softmax with σ(β), as the paper does.")
    return tuple(said)


def curve_figure(
    panels: Mapping[str, tuple[CurveKind, Mapping[str, Results]]], *, columns: int = 3, rules: Sequence[str] = ()
) -> Figure:
    """Draw panels: title -> (kind, system -> results, one per seed), and mark the points of rules."""
    from hedgerow.show.figures import OperatingCurveDisplay, Panel, panel_figure

    drawn = [
        Panel(OperatingCurveDisplay([_system(*named) for named in systems.items()]), kind, title)
        for title, (kind, systems) in panels.items()
    ]
    return panel_figure(drawn, columns=columns, rules=rules)


def _system(name: str, results: Results) -> System:
    return System.of_seeds(name, [curve_of(r) for r in results], [r["rules"] for r in results])


def write_page(systems: Mapping[str, Results], title: str, path: Path, *, measured: Sequence[str] = ()) -> None:
    """Write a page of systems: name -> results, one per seed.

    Of several seeds, the page shows the one with the median AP: a mean of curves at equal thresholds can be below
    all of them, and no other mean has thresholds for a slider.
    """
    from hedgerow.show.page import PageModel

    shown = {name: _median(results) for name, results in systems.items()}
    own = tuple(map(metrics.as_metric, measured))
    models = [PageModel(name, curve_of(result), result["summary"], metrics=own) for name, result in shown.items()]
    seeds = max(map(len, systems.values()))
    write_report(path, models, title=f"{title} (of {seeds} seeds, that of median AP)" if seeds > 1 else title)


def _median(results: Results) -> Mapping[str, Any]:
    """Return the result of the seed with the median AP; of two in the middle, the lower."""
    return sorted(results, key=lambda result: float(result["summary"]["AP"]))[(len(results) - 1) // 2]
