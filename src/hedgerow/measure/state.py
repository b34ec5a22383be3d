"""Builders as plain values, and back: what files hold, and what processes send each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError, some
from hedgerow.infer import RULES
from hedgerow.measure.builder import STANDARD_METRICS, CurveBuilder, name_of_metric
from hedgerow.measure.evaluation import ABOUT, Answers
from hedgerow.measure.evaluation_builder import EvaluationBuilder
from hedgerow.measure.events import Events
from hedgerow.measure.metrics import METRICS
from hedgerow.measure.packed_texts import packed, unpacked
from hedgerow.measure.parts import Part, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hedgerow.infer import Rule
    from hedgerow.measure.builder import CustomMetric
    from hedgerow.measure.metrics import Metric
    from hedgerow.measure.packed_texts import Arrays
    from hedgerow.tree import Hierarchy

EVENTS = ("label", "count", "node", "score")
"""The arrays of events."""


@final
@dataclass(frozen=True, eq=False)
class State:
    """A builder as plain values, without its tree."""

    about: dict[str, Any]
    arrays: Arrays


def curve_state(builder: CurveBuilder) -> State:
    """Return the state of a curve builder."""
    events = None if builder.bins is not None else builder.events
    about = {"kind": "curve", "metrics": list(builder.measures.metrics), **_settings(builder)}
    return State(about, _curve_arrays(builder, events))


def curve_of(state: State, hierarchy: Hierarchy, metrics: Sequence[Metric | CustomMetric] = ()) -> CurveBuilder:
    """Return the curve builder of a state."""
    known: dict[str, Any] = METRICS | {name_of_metric(metric): metric for metric in metrics}
    names = state.about["metrics"]
    missing = [name for name in names if name not in known]
    if missing:
        raise ParameterError(
            f"The state was made with the metric {missing[0]!r}, which is not one of hedgerow's. Give it to load: "
            f"metrics=[...]."
        )
    builder = CurveBuilder(
        hierarchy,
        metrics=[known[name] for name in names[len(STANDARD_METRICS) :]],
        **_given(state),
        scale=state.about["scale"],
    )
    _fill(builder, state.arrays)
    if builder.bins is None:
        builder.add(_events(state.arrays))
    return builder


def evaluation_state(builder: EvaluationBuilder) -> State:
    """Return the state of an evaluation builder."""
    curve, parts = builder.curve, in_order(builder.parts)
    if curve is None:
        raise ScoreError("There are no examples to save.")
    about = {
        "kind": "evaluation",
        "metrics": list(curve.measures.metrics),
        **_settings(curve),
        "rules": {rule: [] for rule in builder.rules} if builder.sums is None else builder.sums.sums,
        "parts": [[part.name, len(part)] for part in parts],
        "warnings": sorted(builder.warnings),
    }
    if not parts:
        return State(about, _curve_arrays(curve, None))
    whole = Part.joined(parts)
    arrays = _curve_arrays(curve, whole.events)
    for rule in builder.rules:
        arrays[f"prediction:{rule}"] = whole.answers.predictions[rule]
        arrays[f"confidence:{rule}"] = whole.answers.confidence[rule]
    for key in ABOUT:
        if (values := getattr(whole.answers, key)) is not None:
            arrays |= packed(key, values)
    return State(about, arrays)


def evaluation_of(state: State, hierarchy: Hierarchy, rules: Mapping[str, Rule] = RULES) -> EvaluationBuilder:
    """Return the evaluation builder of a state."""
    about, arrays = state.about, state.arrays
    if sorted(rules) != sorted(about["rules"]):
        raise ParameterError(
            f"The state was made with the rules {some(about['rules'], 10)}, not {some(rules, 10)}. Give its rules "
            f"to load: rules={{...}}."
        )
    builder = EvaluationBuilder(hierarchy, rules=rules, **_given(state))
    builder.curve = builder.curve_on(about["scale"])
    builder.warnings |= set(about["warnings"])
    _fill(builder.curve, arrays)
    if builder.sums is None:
        builder.add_parts(_parts(state))
    else:
        builder.sums.sums |= about["rules"]
    return builder


def _settings(curve: CurveBuilder) -> dict[str, Any]:
    return {
        "information": curve.information if isinstance(curve.information, str) else "custom",
        "single_child": curve.single_child,
        "below_label": curve.below_label,
        "scale": curve.scale,
        "bins": curve.bin_count,
    }


def _given(state: State) -> dict[str, Any]:
    """Return the settings of a state as keywords of a builder."""
    information = state.about["information"]
    return {
        "information": state.arrays["information"] if information == "custom" else information,
        "single_child": state.about["single_child"],
        "below_label": state.about["below_label"],
        "bins": state.about["bins"],
    }


def _curve_arrays(curve: CurveBuilder, events: Events | None) -> Arrays:
    arrays: Arrays = {"numbered": curve.numbered}
    if not isinstance(curve.information, str):
        arrays["information"] = curve.measures.information
    if events is not None:
        return arrays | {name: getattr(events, name) for name in EVENTS}
    assert curve.bins is not None  # noqa: S101  (without bins, there are events)
    return arrays | {name: np.atleast_1d(sums) for name, sums in curve.bins.sums.items()}


def _fill(curve: CurveBuilder, arrays: Arrays) -> None:
    curve.numbered = arrays["numbered"]
    if curve.bins is not None:
        curve.bins.add_sums({name: arrays[name].reshape(sums.shape) for name, sums in curve.bins.sums.items()})


def _events(arrays: Arrays) -> Events:
    return Events(*(arrays[name] for name in EVENTS))


def _parts(state: State) -> Iterator[Part]:
    arrays, events = state.arrays, _events(state.arrays)
    predictions, confidence = (
        {rule: arrays[f"{kind}:{rule}"] for rule in state.about["rules"]} for kind in ("prediction", "confidence")
    )
    texts: dict[str, Any] = {key: unpacked(key, arrays) for key in ABOUT if f"{key}_end" in arrays}
    answers = Answers(predictions, confidence, **texts)
    end = 0
    for name, count in state.about["parts"]:
        rows = slice(end, end := end + count)
        yield Part(name, events.taken(rows), answers.taken(rows))
