"""Printing operating points: what they promise, and what they give."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from hedgerow.choose import ANSWERED, FAMILIES, GUARANTEES, Explanation, OperatingPoint, Silence
from hedgerow.errors import argument, counted, some
from hedgerow.likelihood import to_probability
from hedgerow.show.terminal import percent, print_levels, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console


_SHOWN = ("correct", "exact", "precision", "recall", "f1")
_EACH_CLUSTER = ", where each cluster counts once"
_HARDER = (
    "Over all these examples, the target is missed: large clusters are harder than small ones but count no more."
)
_WORDS = {
    "correct": "Right at least {0} of the time",
    "precision": "At least {0} of the answers' information is right",
    "recall": "At least {0} of the labels' information is found",
    "exact": "The label itself at least {0} of the time",
    "f1": "An F1 of at least {0}",
}


_AMONG = {
    "correct": "are right",
    "exact": "are the label itself",
    "strictly_exact": "are the label itself, and not below it",
}


def print_point(explanation: Explanation, console: Console, *, then: str, select: str) -> None:
    """Print what a point promises, what it gives on the examples it was chosen with, and what to do next.

    Parameters
    ----------
    explanation, console
        What to print, and where.
    then
        The command that answers new examples with this point.
    select
        The command that chose it, without its target.
    """
    point = explanation.point
    for note in point.notes:
        print_text(console, f"Warning: {note}\n", "yellow")
    for line in promises(point):
        print_text(console, line, "bold")
    print_text(console, f"{meaning(point)}\n" if meaning(point) else "")
    _print_answers(explanation, console)
    if explanation.silence is not None:
        _print_silence(explanation, explanation.silence, console, select)
    _print_thresholds(point, console)
    _print_alternatives(explanation, console)
    if explanation.silence is None:
        _print_shortened(explanation, console)
    console.print(Text(f"Next: answer new examples with this point:\n  {then}", style="bold"), soft_wrap=True)


def promises(point: OperatingPoint) -> list[str]:
    """Return what a point promises, one sentence for each promise, or that every answer is the root."""
    if always_root(point):
        return [f"Every answer is the root: nothing else keeps {point.promise}."]
    asked = point.request
    each = "" if point.by in ("all", "rank") else f", in every {point.by}"
    each += " or merged ones" if point.merged else ""
    each += "" if point.clusters is None or asked.largest_cluster is not None else _EACH_CLUSTER
    if asked.target is None:
        lines = [
            f"At most {_with_sign(1 - float(level))} of answers reach {rank} and are wrong there{each}."
            for rank, level in (asked.per_rank or {}).items()
        ]
        return lines + [
            f"At most {_with_sign(float(share))} of examples of an unknown {rank} are given one{each}."
            for rank, share in (asked.overclassification or {}).items()
        ]
    name, level = asked.metric_name, float(asked.level)
    if asked.among is not None:
        what = _AMONG.get(name, f"have {name}")
        return [f"At least {_with_sign(level)} of the answers {_where(point, asked.among)} {what}{each}."]
    if name not in _WORDS:
        return [f"A mean {name} of at {'most' if point.at_most else 'least'} {level:g}{each}."]
    return [_WORDS[name].format(_with_sign(level)) + f"{each}."]


def always_root(point: OperatingPoint) -> bool:
    """Return whether a point keeps its promise only by always answering the root."""
    return point.root_is_safe and all(tau == math.inf for tau in point.thresholds.values())


def _where(point: OperatingPoint, among: str) -> str:
    """Say where the answers are that a promise covers."""
    if among == ANSWERED:
        return "below the root"
    is_depth = among.isdecimal() and among not in point.hierarchy.rank_names
    return f"at {'depth ' * is_depth}{among} or below it"


def meaning(point: OperatingPoint) -> str:
    """Say what the guarantee means; nothing if every answer is the root."""
    if always_root(point):
        return ""
    one = _unit(point)
    unit = f"a new {one}" if point.clusters is None else f"an {one} of a new cluster"
    asked = point.request
    if asked.largest_cluster is not None:
        unit = f"the {one}s of new clusters of at most {asked.largest_cluster:,}"
    number = counted(point.examples, one, f"{one}s")
    if point.clusters is not None:
        number += f" in {counted(point.clusters, 'cluster', 'clusters')}"
    return GUARANTEES[asked.guarantee].meaning(unit, number, float(asked.delta)) + _new_data(point)


def _unit(point: OperatingPoint) -> str:
    return "example" if point.pool is None else "event"


def _new_data(point: OperatingPoint) -> str:
    """Say which new data the promise is for, if they differ from the calibration data."""
    if point.request.weights:
        return (
            " It is for new data that differ from these by the weights, and is approximate if the weights were "
            "estimated."
        )
    if point.request.expect:
        return (
            " It is for new data with the expected shares of classes, and is approximate if these were estimated."
        )
    return ""


def _print_answers(explanation: Explanation, console: Console) -> None:
    unit = _unit(explanation.point)
    examples = counted(explanation.examples, unit, f"{unit}s")
    print_text(console, f"On these {examples}: {_figures(explanation, explanation.metrics)}.\n")
    right = _with_sign(explanation.metrics["correct"])
    said = f"Correct: {right} of all examples (the root counts as correct), "
    if explanation.right_of_answered is None:
        said += "none of which are answered below the root."
    else:
        said += (
            f"{_with_sign(explanation.right_of_answered)} of the {explanation.answered:,} answered below the root."
        )
    print_text(console, f"{said}\n")
    if explanation.cluster_metrics is not None:
        found = _figures(explanation, explanation.cluster_metrics)
        print_text(console, f"{_EACH_CLUSTER[2:].capitalize()}: {found}.\n")
        if _falls_short(explanation):
            remedy = f"use {argument('unit', 'example')} with {argument('largest_cluster', 'M')}"
            print_text(console, f"{_HARDER} To count every example once, {remedy}.\n", "yellow")
    rows = [
        [level.name or "the root: no answer", percent(level.share), percent(level.correct)]
        for level in explanation.levels
    ]
    head = [f"answers at {explanation.kind}", "% of answers", "% right"]
    print_levels(console, head, rows, [not level.share for level in explanation.levels])
    console.print()


def _print_silence(explanation: Explanation, silence: Silence, console: Console, select: str) -> None:
    """Print why nearly every answer is the root, and which requests would give more answers."""
    point, root = explanation.point, 1 - explanation.answered / explanation.examples
    asked = point.request
    print_text(console, f"{_with_sign(root)} of the answers are the root.", "yellow")
    tau, why = _threshold(point, silence.likelihood), "The reason"
    if asked.among is not None and silence.few:
        unit = "example" if point.clusters is None else "cluster"
        have = counted(silence.answered, f"{unit} has", f"{unit}s have")
        print_text(
            console,
            f"{why}: only {have} an answer {_where(point, asked.among)} with a likelihood above {tau}, where the "
            f"search for a threshold starts; at least {silence.needed:,} are needed.",
        )
        why = "Wrong there"
    if silence.obstacles:
        wrong = "gets a wrong answer" if silence.wrong == 1 else "get wrong answers"
        of = f"{silence.wrong:,} of {explanation.examples:,} examples {wrong}"
        print_text(console, f"{why}: {of} with a likelihood of {tau} or more:")
        rows = [
            [each.answer, f"{each.examples:,}", _threshold(point, each.likelihood), each.label]
            for each in silence.obstacles
        ]
        print_table(console, ["wrong answer", "examples", "likelihood up to", "label, most often"], rows)
    if silence.suggestions:
        _print_suggestions(silence, float(asked.delta), console, select)
    else:
        print_text(console, f"None of {silence.tried - 1} other requests tried would give many more answers.\n")
    if silence.by_rank:
        print_text(
            console, "Levels per rank may give more answers, since an answer above a rank is not wrong there:"
        )
        console.print(Text(f"  {select} {shlex.join(silence.by_rank)} -o point.json\n"), soft_wrap=True)


def _print_suggestions(silence: Silence, delta: float, console: Console, select: str) -> None:
    print_text(console, "\nRequests that gave more answers on these examples:")
    for each in silence.suggestions:
        said = (
            f"{_with_sign(each.answered)} answered, {_with_sign(each.right_of_answered)} of these right "
            f"({_with_sign(each.correct)} of all):"
        )
        print_text(console, said)
        console.print(Text(f"  {select} {shlex.join(each.options)} -o point.json"), soft_wrap=True)
    share = float(f"{delta / silence.tried:.3g}")
    print_text(
        console,
        f"A request chosen because it did well on these examples promises nothing. Choose the point with other "
        f"examples, or add --guarantee pac --delta {share:g}, which divides δ by the {silence.tried} requests "
        f"tried.\n",
    )


def _figures(explanation: Explanation, means: Mapping[str, float]) -> str:
    """Write the means of metrics."""
    found = [f"{name} {_with_sign(means[name])}" for name in _SHOWN]
    found += [f"{name} {means[name]:z.4g} on average" for name in _own_metric(explanation)]
    return ", ".join(found)


def _falls_short(explanation: Explanation) -> bool:
    """Return whether the target is met by the mean over clusters, but not by the mean over examples."""
    asked, by_cluster = explanation.point.request, explanation.cluster_metrics or {}
    name, level = asked.metric_name, 0 if asked.target is None else asked.level
    sign = -1 if explanation.point.at_most else 1
    return name in by_cluster and sign * explanation.metrics[name] < sign * level <= sign * by_cluster[name]


def _own_metric(explanation: Explanation) -> list[str]:
    """Return the metric of the target, unless it is always shown."""
    name = explanation.point.request.metric_name
    return [name] * (name in explanation.metrics and name not in _SHOWN)


def _print_thresholds(point: OperatingPoint, console: Console) -> None:
    if point.by == "all":
        print_text(console, f"The threshold is {_threshold(point, point.threshold)}.\n")
        return
    for names in point.merged:
        print_text(console, f"Merged, with one promise and one threshold: {some(names, 20)}.")
    rows = [[name, _threshold(point, tau)] for name, tau in point.thresholds.items()]
    print_table(console, [point.by, "threshold"], rows)
    console.print()


def _threshold(point: OperatingPoint, tau: float) -> str:
    """Write a threshold."""
    if math.isinf(tau) and tau > 0:
        return "never passed" if point.by == "rank" else "never passed: always the root"
    if FAMILIES[point.request.rule].is_lambda:
        return f"λ = {tau:.6g}"
    if point.scale == "probability":
        return f"{tau:.6g}"
    return f"{tau:.6g} (as a probability {float(to_probability(np.float64(tau), point.scale)):.6g})"


def _print_alternatives(explanation: Explanation, console: Console) -> None:
    if explanation.looser is None or explanation.stricter is None:
        return
    name, level = explanation.point.request.metric_name, float(explanation.point.request.level)
    own, rows = _own_metric(explanation), []
    for what, other in (("stricter", explanation.stricter), ("", None), ("looser", explanation.looser)):
        asked = level if other is None else other.level
        means = explanation.metrics if other is None else other.metrics
        if means is None:
            rows.append(
                [f"{asked:g} ({what})", "cannot be promised with these examples", "", "", "", *[""] * len(own)]
            )
            continue
        root = 1 - explanation.answered / explanation.examples if other is None else other.root
        of_answered = explanation.right_of_answered if other is None else other.right_of_answered
        said = f"{asked:g} ({what})" if what else f"{asked:g}"
        found = [f"{means[metric]:z.4g}" for metric in own]
        shares = means["correct"], of_answered, means["recall"], root
        rows.append([said, *map(percent, shares), *found])
    head = [
        f"target: {name}",
        "% right",
        "% right of answered",
        "% recall",
        "% at the root",
        *(f"mean {metric}" for metric in own),
    ]
    print_table(console, head, rows)
    console.print()


def _print_shortened(explanation: Explanation, console: Console) -> None:
    if not explanation.shortened:
        return
    rows = [
        [each.name, f"{each.higher:,} of {each.examples:,}", percent(each.higher / each.examples)]
        for each in explanation.shortened
    ]
    print_table(console, ["labels most often answered higher up", "examples", "%"], rows)
    console.print()


def _with_sign(value: float) -> str:
    return f"{round(100 * value, 1):zg} %"
