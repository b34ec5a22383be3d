"""Calibration: the main table again, with scores divided by a temperature fitted to the validation data.

It shares the cells of the main experiment: a temperature needs no further training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.show import Column, Entry, Row, Table, entries
from hedgerow.study import main
from hedgerow.study.experiment import Experiment, Findings, by_method, method_table, names_of, notes

if TYPE_CHECKING:
    from hedgerow.study.cells import StudyPlan
    from hedgerow.study.records import Records


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the main table after calibration, and a table of the changes."""
    before = by_method(plan, records, main.TASK)
    after = by_method(plan, records, main.TASK, way="tempered")
    if not after:
        return Findings()
    named = names_of(plan)
    fitted: dict[str, list[dict[str, float]]] = {}
    for method in plan.methods:
        for record in records.finished(plan.cells(main.TASK, method)):
            for reading, each in record.get("temperature", {}).items():
                fitted.setdefault(named.get(reading, reading), []).append(each)
    rows = []
    for name in after:
        held_out = {
            column: Entry(tuple(each[key] for each in fitted[name]))
            for column, key in (("T", "value"), ("NLL", "before"), ("NLL at T", "after"))
        }
        error = entries(before[name], {"ECE": "leaf_ECE", "AP": "AP", "R@95C": "R@95C"})
        now = entries(after[name], {"ECE at T": "leaf_ECE", "AP at T": "AP", "R@95C at T": "R@95C"})
        rows.append(Row(name, {**held_out, **error, **now}))
    columns = [
        Column("T", "neither", percent=False),
        Column("NLL", "neither", percent=False),  # softmaxes and sigmoids differ in measure: do not compare them
        Column("NLL at T", "neither", percent=False),
        Column("ECE", "lower"),
        Column("ECE at T", "lower"),
        *(Column(name) for name in ("AP", "AP at T", "R@95C", "R@95C at T")),
    ]
    explained = (
        "T and NLL (of the label; for sigmoids, of all nodes): validation data. ECE: calibration error of the "
        "most likely leaf, test data."
    )
    return Findings(
        {
            "calibration": method_table(plan, f"Methods on {plan.splits.name}, calibrated", after),
            "calibration_change": Table(
                f"What calibration changes on {plan.splits.name}", columns, rows, notes=(*notes(after), explained)
            ),
        }
    )


EXPERIMENT = Experiment("The main table after temperature scaling", main.cells, main.work, findings)
