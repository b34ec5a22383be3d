"""Evaluations, comparisons and written answers, printed with explanations."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hedgerow.errors import counted, some
from hedgerow.likelihood import from_probability, threshold_probability
from hedgerow.measure import right_of_answered
from hedgerow.show.terminal import percent, print_levels, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from hedgerow.measure import Evaluation, Interval, Metric, Reliability, SystemComparison
    from hedgerow.score_files import Written
    from hedgerow.tree import Settings

MEANINGS = {
    "AP": "average precision: the share of the answers' information that is right, averaged over recall",
    "AC": "average correct: the share of answers that are right, averaged over recall",
    "AC_exact": "the same, averaged over the share of answers that name the label itself",
    "AURC": "area under the risk-coverage curve: wrong answers, averaged over specificity; lower is better",
    "R@90C": "recall where 90 % of answers are right: the share of the labels' information that is found",
    "R@95C": "recall where 95 % of answers are right",
    "E@90C": "answers that name the label itself, where 90 % are right",
    "E@95C": "answers that name the label itself, where 95 % are right",
    "majority_F1": "F1 if the answer is the most specific node more likely than not",
    "majority_correct": "answers that are right under that rule",
    "leaf_F1": "F1 if the answer is always the most likely leaf",
    "leaf_exact": "answers that name the label itself if the answer is always the most likely leaf",
}
"""The meaning of each summary figure."""

_WHEN = {
    "majority": "if the answer is the most specific node more likely than not",
    "leaf": "if the answer is always the most likely leaf",
}
_COMPARED = ("AP", "AC", "R@90C", "R@95C", "majority_F1", "leaf_F1", "leaf_exact")
_RULE_COLUMNS = ("exact", "precision", "recall", "f1")
_RULE_WORDS = (
    "Correct: the answer is the label, or above it; the root always is. Answered: it is below the root. Exact: it "
    "is the label. Precision: the share of the answer's information that is right. Recall: the share of the "
    "label's information that is found. The more specific a class, the more information it has. Averaged over "
    "classes, a rare one counts as much as a common one."
)
_DIFFERENCES = ("AP", "R@95C", "majority_F1", "leaf_exact")
_NO_LEAF_SCORES = "no leaf scores"
_SINGLE_CHILD = "Nodes with a single child are answers of their own (--single-child skip leaves them out)."
_SAFE = 0.95  # the share of answers that are right at the proposed threshold
_NEARLY = 0.99  # the share of the recall that a rounded threshold must keep
_VERDICTS = {None: (" ", ""), "better": ("▲", "green"), "worse": ("▼", "red"), "unclear": ("≈", "dim")}


def print_evaluation(
    evaluation: Evaluation,
    console: Console,
    *,
    predict: str = "SCORES --tree TREE",
    select: str = "SCORES --tree TREE",
    answers: str = "answers.csv",
    compare: str = "THIS OTHER",
) -> None:
    """Print the figures of an evaluation, what they mean, and what to do next.

    Parameters
    ----------
    evaluation, console
        What to print, and where.
    predict, select, compare
        The arguments of these commands in the advice at the end, quoted for a shell.
    answers
        Where to write the answers.
    """
    hierarchy = evaluation.hierarchy
    examples = counted(len(evaluation), "example", "examples")
    leaves = counted(len(hierarchy.leaves), "leaf", "leaves")
    said = f"{evaluation.name}: {examples}, a tree of {len(hierarchy):,} nodes with {leaves}\n"
    print_text(console, said, "bold")
    if evaluation.settings.single_child == "answer":
        print_text(console, f"{_SINGLE_CHILD}\n")
    for warning in evaluation.warnings:
        print_text(console, f"Warning: {warning}\n", "yellow")
    head, *rows = summary_table(evaluation.summary(), evaluation.intervals, evaluation.level, evaluation.figures)
    print_table(console, head, rows, prose=True)
    console.print()
    if evaluation.intervals and evaluation.clusters.unit == "cluster":
        print_text(console, f"{_drawn_whole(evaluation.clusters.number).strip()}\n")
    _print_rules(evaluation, console)
    _print_ranks(evaluation, console)
    tau = _safe_threshold(evaluation)
    if tau is None:
        step = f"compare with another model:\n  hedgerow compare {compare}"
    else:
        there = evaluation.at_probability(float(tau))
        share = float(evaluation.answered_at(from_probability([float(tau)], evaluation.scale))[0])
        right = percent(right_of_answered(there["correct"], share))
        below = f"the root, and {right} % of the {percent(share)} % below the root"
        which = below if share < 1 else "none is the root"
        said = (
            f"At threshold {tau}, close to R@95C, {percent(there['correct'])} % of these answers are right: "
            f"{which}. They contain {percent(there['recall'])} % of the labels' information (recall). On new "
            f"examples, both will differ somewhat: `select` chooses a threshold that keeps its promise there.\n"
        )
        print_text(console, said)
        step = (
            f"answer with this threshold:\n  hedgerow predict {predict} --tau {tau} -o {answers}\n"
            f"Or be right at least 95 % of the time on new examples too:\n"
            f"  hedgerow select {select} --target correct=0.95 -o point.json"
        )
    # Not wrapped, so that the command can be copied as one line.
    console.print(Text(f"Next: {step}", style="bold"), soft_wrap=True)


def print_comparison(comparison: SystemComparison, console: Console) -> None:
    """Print evaluations side by side, and whether their differences are real."""
    base = comparison.evaluations[comparison.reference]
    for evaluation, reason in zip(comparison.evaluations, comparison.reasons, strict=True):
        for warning in evaluation.warnings:
            print_text(console, f"Warning, {evaluation.name}: {warning}\n", "yellow")
        if reason is not None:
            said = f"{evaluation.name} cannot be compared example by example with {base.name}: {reason}\n"
            print_text(console, said, "yellow")
    _print_figures(comparison, console)
    if comparison.replicates and any(comparison.differences):
        share = f"{100 * comparison.level:.0f} %"
        print_text(
            console,
            f"Compared with {base.name} on the same examples: ▲ better, ▼ worse, ≈ no clear difference. A "
            f"difference is clear if the {share} interval of {comparison.replicates:,} paired bootstrap "
            f"replicates does not contain 0.{_drawn_whole(comparison.clusters)} Even so, "
            f"{100 * (1 - comparison.level):.0f} % of the numbers that do not really differ will be marked.\n",
        )
        _print_differences(comparison, console)
    for evaluation in comparison.evaluations:
        if not evaluation.has_leaf_scores:
            print_text(console, f"{evaluation.name} has {_NO_LEAF_SCORES}: no leaf_F1, no leaf_exact.\n")


def _drawn_whole(clusters: int | None) -> str:
    if clusters is None:
        return ""
    return f" The examples are in {clusters:,} clusters, and each replicate draws clusters whole."


def print_written(written: Written, output: str, console: Console, settings: Settings) -> None:
    """Print how many answers were written, in total and by rank, or by depth if there are no ranks."""
    answers = counted(written.examples, "answer", "answers")
    said = f"{answers} written to {output}"
    if written.mean_confidence is not None:
        below = "; those below the root have" if written.by_depth[0] else ", with"
        said += f"{below} a mean confidence of {percent(written.mean_confidence)} %"
    print_text(console, f"{said}.\n", "bold")
    for warning in written.warnings:
        print_text(console, f"Warning: {warning}\n", "yellow")
    if settings.single_child == "answer":
        print_text(console, f"{_SINGLE_CHILD}\n")
    rows = [("the root: no answer", written.by_depth[0])]
    if written.by_rank is None:
        rows += [(str(depth), number) for depth, number in enumerate(written.by_depth) if depth]
    else:
        rows += [(rank or "no rank", number) for rank, number in written.by_rank.items()]
    head = ["depth" if written.by_rank is None else "rank", "answers", "%"]
    cells = [[named, f"{number:,}", percent(number / written.examples)] for named, number in rows]
    print_levels(console, head, cells, [not number for _, number in rows])


def summary_table(
    summary: Mapping[str, float],
    intervals: Mapping[str, Interval] | None = None,
    level: float = 0.95,
    own: Mapping[str, tuple[str, Metric]] | None = None,
) -> list[list[str]]:
    """Return a table of summary figures and their meaning, headings first; with intervals, if there are any.

    `own` are the figures of additional metrics: `Evaluation.figures`.
    """
    rows = [["measure", "%", f"{100 * level:.0f} % interval", "what it means"]]
    for name, value in summary.items():
        rule, metric = (own or {}).get(name, ("", None))
        interval = (intervals or {}).get(name)
        no_leaf = _NO_LEAF_SCORES if math.isnan(value) else None
        spread = "" if interval is None else f"{shown(interval.low, metric)} – {shown(interval.high, metric)}"
        meaning = MEANINGS.get(name, "") if metric is None else f"{heading(metric)} {_WHEN[rule]}"
        rows.append([name, shown(value, metric), spread, no_leaf or meaning])
    return rows if intervals else [[name, value, meaning] for name, value, _, meaning in rows]


def _print_rules(evaluation: Evaluation, console: Console) -> None:
    own = evaluation.metrics

    def cells(values: Mapping[str, float]) -> list[str]:
        return [
            *(percent(values[column]) for column in _RULE_COLUMNS),
            *(shown(values[metric.name], metric) for metric in own),
        ]

    columns = [*_RULE_COLUMNS, *map(heading, own)]
    rows = [
        [rule, percent(values["correct"]), *map(percent, evaluation.answered[rule].values()), *cells(values)]
        for rule, values in evaluation.rules.items()
    ]
    print_table(console, ["single rule (%)", "correct", "answered", "right of these", *columns], rows)
    console.print()
    rows = [[rule, percent(values["correct"]), *cells(values)] for rule, values in evaluation.macro.items()]
    print_table(console, ["averaged over classes (%)", "correct", *columns], rows)
    console.print()
    print_text(console, f"{_RULE_WORDS}\n")


def print_reliability(found: Mapping[str, Reliability], console: Console) -> None:
    """Print the calibration error at each depth, for scores as given and as divided by a temperature."""
    by_depth = zip(*(each.errors for each in found.values()), strict=True)
    rows = [[f"depth {depth}", *map(percent, errors)] for depth, errors in enumerate(by_depth, start=1)]
    losses = [each.log_loss for each in found.values()]
    rows.append(["log-loss of the labels", *("" if loss is None else f"{loss:z.4f}" for loss in losses)])
    print_levels(console, ["calibration error (%)", *found], rows)
    console.print()


def _print_ranks(evaluation: Evaluation, console: Console) -> None:
    """Print the mistakes at each rank of the answers that are more likely than not."""
    figures = evaluation.ranks["majority"]
    if len(figures) < 2:
        return
    kind = "depth" if evaluation.hierarchy.rank is None else "rank"
    shown = ["correct", "misclassified", "underclassified"]
    if any(each["unknown"] for each in figures.values()):
        shown.append("overclassified")
    rows = [[rank, *(percent(each[name]) for name in shown)] for rank, each in figures.items()]
    empty = [not (each["known"] or each["unknown"]) for each in figures.values()]
    print_levels(console, [f"majority, by {kind} (%)", *shown], rows, empty)
    over = (
        f"; overclassified: the answer names this {kind}, and the label ends above"
        if "overclassified" in shown
        else ""
    )
    print_text(console, f"Underclassified: the answer ends above this {kind}{over}.\n")


def _safe_threshold(evaluation: Evaluation) -> str | None:
    """Return the threshold at which 95 % of the answers are right, a probability in few digits; or None."""
    point = evaluation.points.get("R@95C")
    if point is None or point["recall"] == 0:
        return None

    def is_safe(tau: float) -> bool:
        there = evaluation.at_probability(tau)
        return there["correct"] >= _SAFE and there["recall"] >= _NEARLY * point["recall"]

    exact = float(threshold_probability(point["threshold"], evaluation.scale))
    for digits in range(17):
        # Rounded up, to be safe. Models can be so confident that thresholds differ only after many digits.
        rounded = Decimal(exact).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        if is_safe(float(rounded)):
            return f"{rounded:f}"
    return repr(exact) if is_safe(exact) else None


def _print_figures(comparison: SystemComparison, console: Console) -> None:
    summaries = [evaluation.summary() for evaluation in comparison.evaluations]
    own = comparison.evaluations[0].figures
    compared = (*_COMPARED, *own)
    sign = {figure: 1.0 if comparison.higher_is_better(figure) else -1.0 for figure in compared}
    best = {
        figure: sign[figure] * np.nanmax([-np.inf, *(sign[figure] * each[figure] for each in summaries)])
        for figure in compared
    }
    rows = []
    for i, (evaluation, summary) in enumerate(zip(comparison.evaluations, summaries, strict=True)):
        row: list[str | Text] = [evaluation.name]
        for figure in compared:
            value = summary[figure]
            mark, style = _VERDICTS[comparison.verdict(i, figure)]
            _, metric = own.get(figure, ("", None))
            cell = Text(shown(value, metric), style="bold" if value == best[figure] else "")
            row.append(cell.append(f" {mark}", style))
        rows.append(row)
    print_table(console, ["system (%)", *compared], rows)
    if any(not metric.is_fraction for _, metric in own.values()):
        names = some([metric.name for metric in comparison.evaluations[0].metrics if not metric.is_fraction])
        print_text(console, f"Not in per cent: {names}.")
    console.print()


def _print_differences(comparison: SystemComparison, console: Console) -> None:
    rows = []
    for evaluation, found in zip(comparison.evaluations, comparison.differences, strict=True):
        if found:
            ranges = (found.get(figure) for figure in _DIFFERENCES)
            cells = ("–" if d is None else f"{100 * d.low:+z.2f} to {100 * d.high:+z.2f}" for d in ranges)
            rows.append([evaluation.name, *cells])
    print_table(console, ["difference (%)", *_DIFFERENCES], rows)
    console.print()


def shown(value: float, metric: Metric | None) -> str:
    """Write a mean of a metric: a percentage without the sign, unless its values are no fractions."""
    return percent(value) if metric is None or metric.is_fraction else f"{value:z.3g}"


def heading(metric: Metric) -> str:
    """Return the heading of a column, or the beginning of a meaning."""
    return metric.name if metric.is_fraction else f"{metric.name} (a mean, not %)"
