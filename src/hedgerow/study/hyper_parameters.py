"""Hyper-parameters of the losses (the figure in the paper's appendix): a fan of correct-recall curves for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow.show import Column, Row, Table, entries
from hedgerow.study import main
from hedgerow.study.experiment import TABLE_METRICS, Experiment, Findings, Results, curve_figure

if TYPE_CHECKING:
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

SWEEPS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "Label smoothing ε": ("flat-softmax", tuple({"label_smoothing": e} for e in (0.0, 0.02, 0.05, 0.1, 0.2))),
    "Multilabel focal γ (α = 0.9)": (
        "multilabel-focal",
        tuple({"gamma": g, "alpha": 0.9} for g in (0.0, 1.0, 2.0)),
    ),
    "Multilabel focal α (γ = 1)": (
        "multilabel-focal",
        tuple({"gamma": 1.0, "alpha": a} for a in (0.5, 0.8, 0.9, 0.95)),
    ),
    "HXE α": ("hxe", tuple({"alpha": a} for a in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5))),
    "Deep RTC cut probability": ("deep-rtc", tuple({"cut_probability": p} for p in (0.0, 0.01, 0.02, 0.05, 0.1))),
    "Soft-max-margin α": ("softmax-margin", tuple({"alpha": a} for a in (0.0, 1.0, 3.0, 5.0, 7.0, 10.0))),
    "Soft-max-margin: soft or hard": ("softmax-margin", ({"hard": False}, {"hard": True})),
}
"""Every sweep: its title, its method, and the parameters it tries."""


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every value and seed; values that two sweeps share occur once."""
    found = {
        cell.name: cell
        for method, points in _chosen(plan).values()
        for params in points
        for cell in plan.cells(main.TASK, method, params)
    }
    return list(found.values())


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return one table and one figure of all sweeps."""
    fans = {title: fan for title in _chosen(plan) if (fan := _fan(plan, records, title))}
    if not fans:
        return Findings()
    rows = [
        Row(f"{title}: {value}", entries(results, TABLE_METRICS), group=title)
        for title, fan in fans.items()
        for value, results in fan.items()
    ]
    table = Table(f"Hyper-parameters on {plan.splits.name}", [Column(name) for name in TABLE_METRICS], rows)
    panels: Any = {title: ("correct-recall", fan) for title, fan in fans.items()}
    return Findings({"hyper_parameters": table}, {"hyper_parameters": partial(curve_figure, panels, columns=4)})


def _chosen(plan: StudyPlan) -> dict[str, tuple[str, tuple[dict[str, Any], ...]]]:
    return {title: sweep for title, sweep in SWEEPS.items() if sweep[0] in plan.methods}


def _fan(plan: StudyPlan, records: Records, title: str) -> dict[str, Results]:
    """Return the results of every value of a sweep that has any, one per seed."""
    method, points = SWEEPS[title]
    moving = [key for key in points[0] if len({point[key] for point in points}) > 1]
    fan: dict[str, Results] = {}
    for params in points:
        value = ", ".join(_shown(params[key]) for key in moving)
        for record in records.finished(plan.cells(main.TASK, method, params)):
            fan.setdefault(value, []).extend(
                result for result in record["results"] if (result["way"], result["reading"]) == ("plain", method)
            )
    return fan


def _shown(value: Any) -> str:
    return {True: "hard", False: "soft"}[value] if isinstance(value, bool) else f"{value:g}"


EXPERIMENT = Experiment("What the hyper-parameters of the losses do", cells, main.work, findings)
