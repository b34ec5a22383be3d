"""Out of scope: test examples that belong to no leaf, and whose right answer is high in the tree.

If the test data has examples labelled with groups, such as the root for unforeseen queries, those are out of
scope. Otherwise a fifth of the groups at a third of the tree's depth is removed from the tree and the training
data, drawn separately for every seed. The test examples below these groups are out of scope: their right answer is
the nearest remaining ancestor. An answer below its label counts as wrong here; otherwise, with the root as label,
every answer would be right.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from hedgerow.errors import ParameterError
from hedgerow.measure import intercept
from hedgerow.show import Column, Entry, Row, Table, entries
from hedgerow.study.experiment import Experiment, Findings, Results, by_method, curve_figure, notes
from hedgerow.study.scoring import logits_of, train_and_test
from hedgerow.study.unseen import without
from hedgerow.tree import Hierarchy, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

TASK = "out_of_scope"
SETTINGS = Settings(below_label="wrong")
SHARE = 0.2
PARTS = ("in scope", "out of scope")
TAUS = (0.5, 0.9)


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method and seed."""
    return plan.cells_of_methods(TASK, share=SHARE)


def groups(hierarchy: Hierarchy, share: float, seed: int) -> NDArray[np.int64]:
    """Draw the groups that are out of scope: nodes at a third of the depth, at least one, never all."""
    level = np.flatnonzero(hierarchy.depth == max(1, int(hierarchy.depth.max()) // 3))
    if len(level) < 2:
        raise ParameterError(
            f"The tree has {len(level)} group at a third of its depth, but at least 2 are needed to put some out "
            f"of scope. Use a wider tree, or test examples labelled with groups."
        )
    number = min(len(level) - 1, max(1, round(share * len(level))))
    return np.sort(np.random.default_rng(seed).choice(level, number, replace=False))


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train on what is in scope, and test on both."""
    hierarchy, labels = splits.hierarchy, splits.test.labels
    outside = ~hierarchy.is_leaf[labels]
    if not outside.any():
        splits, left = without(splits, groups(hierarchy, float(cell.options["share"]), cell.recipe.run.seed))
        outside = ~left[labels]
    return train_and_test(cell, splits, {"in scope": ~outside, "out of scope": outside}, settings=SETTINGS)


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the results for examples in and out of scope, and the curves of both."""
    everything, inside, outside = (
        by_method(plan, records, TASK, part=part, share=SHARE) for part in ("all", *PARTS)
    )
    if not everything:
        return Findings()
    rows = [
        Row(
            name,
            {
                **entries(results, {"AC, all": "AC", "AP, all": "AP"}),
                **_at_common_thresholds(inside.get(name, []), outside.get(name, [])),
            },
        )
        for name, results in everything.items()
    ]
    explained = (
        "In: recall of the examples in scope; Out: share of right answers to those out of scope, at the "
        "threshold τ. Last column: the largest recall in scope where 90 % of the answers out of scope are right."
    )
    columns = ["AC, all", "AP, all", *(f"{side}, τ = {tau:g}" for tau in TAUS for side in ("In", "Out")), _KEPT]
    table = Table(
        f"{plan.splits.name} with examples out of scope",
        [Column(name) for name in columns],
        rows,
        notes=(*notes(everything), explained + _thresholds(inside)),
    )
    panels: Any = {
        "In scope": ("correct-recall", inside),
        "In and out of scope": ("correct-recall", everything),
    }
    return Findings({TASK: table}, {TASK: partial(curve_figure, panels)})


def _at_common_thresholds(inside: Results, outside: Results) -> dict[str, Entry]:
    """Return the columns at common thresholds, one value per seed."""
    if not inside or len(inside) != len(outside):
        return {}
    found: dict[str, Entry] = {}
    for tau in TAUS:
        place = [_place(result, tau) for result in inside]
        for side, results, metric in (("In", inside, "recall"), ("Out", outside, "correct")):
            found[f"{side}, τ = {tau:g}"] = Entry(
                tuple(result["curve"][metric][i] for result, i in zip(results, place, strict=True))
            )
    pairs = zip(inside, outside, strict=True)
    found[_KEPT] = Entry(tuple(intercept(a["curve"]["recall"], b["curve"]["correct"], 0.9) for a, b in pairs))
    return found


def _place(result: Mapping[str, Any], tau: float) -> int:
    """Return the position on a recorded curve whose threshold is `tau`, or the nearest below."""
    return int(np.searchsorted(-logits_of(result), -special.logit(tau)))


def _thresholds(inside: Mapping[str, Results]) -> str:
    """Return a sentence about the recorded thresholds in use, if they differ from those in the headings."""
    curves = [result for results in inside.values() for result in results]
    found = {f"{tau:g}": {f"{special.expit(logits_of(r)[_place(r, tau)]):.5g}" for r in curves} for tau in TAUS}
    taken = [f"for τ = {tau}, {' and '.join(sorted(near))}" for tau, near in found.items() if near - {tau}]
    return f" Figures are those at the nearest recorded threshold below τ: {'; '.join(taken)}." if taken else ""


_KEPT = "In, 90 % out right"
EXPERIMENT = Experiment("Examples that belong to no class of the tree", cells, work, findings)
