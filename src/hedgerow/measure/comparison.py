"""Several evaluations side by side, and whether their differences are real."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np

from hedgerow.errors import ParameterError, some
from hedgerow.measure import bootstrap
from hedgerow.measure.clusters import Clusters
from hedgerow.score_files import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hedgerow.measure.bootstrap import Difference
    from hedgerow.measure.evaluation import Evaluation
    from hedgerow.tree import Indices

LOWER_IS_BETTER = frozenset({"AURC"})
"""The summary figures for which lower values are better."""

_ROUNDING = 1e-12  # smaller differences count as 0


@final
@dataclass(frozen=True, eq=False)
class SystemComparison:
    """Evaluations side by side; see `compare`."""

    evaluations: tuple[Evaluation, ...]
    reference: int
    """The position of the evaluation that the others are compared with."""
    differences: tuple[Mapping[str, Difference], ...]
    """For each evaluation, its figures minus those of the reference; empty if they cannot be compared."""
    reasons: tuple[str | None, ...]
    """For each evaluation, why it cannot be compared; None if it can."""
    level: float
    """The share of replicates inside an interval."""
    replicates: int
    clusters: int | None = None
    """The number of clusters, which are drawn whole; None if examples are drawn."""

    def verdict(self, system: int, figure: str) -> Literal["better", "worse", "unclear"] | None:
        """Return whether a system differs from the reference by more than chance explains; None if unknown."""
        difference = self.differences[system].get(figure)
        if difference is None:
            return None
        if difference.low <= _ROUNDING and difference.high >= -_ROUNDING:
            return "unclear"
        return "better" if (difference.value > 0) == self.higher_is_better(figure) else "worse"

    def higher_is_better(self, figure: str) -> bool:
        """Return whether higher values of a summary figure are better."""
        _, metric = self.evaluations[self.reference].figures.get(figure, (None, None))
        return figure not in LOWER_IS_BETTER if metric is None else metric.higher_is_better

    def to_dict(self) -> dict[str, Any]:
        """Return the results, ready for JSON."""
        return {
            "reference": self.evaluations[self.reference].name,
            "level": self.level,
            "replicates": self.replicates,
            "clusters": self.clusters,
            "systems": [
                evaluation.to_dict()
                | {
                    "differences": {
                        figure: asdict(difference) | {"verdict": self.verdict(i, figure)}
                        for figure, difference in self.differences[i].items()
                    },
                    "not_compared": self.reasons[i],
                }
                for i, evaluation in enumerate(self.evaluations)
            ],
        }

    def __repr__(self) -> str:
        names = ", ".join(repr(evaluation.name) for evaluation in self.evaluations)
        return f"SystemComparison({names}, compared with {self.evaluations[self.reference].name!r})"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        to_table: ClassVar[Callable[..., None]]
        _repr_html_: ClassVar[Callable[..., str]]


def compare(
    *evaluations: Evaluation,
    reference: int | Literal["best"] = 0,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> SystemComparison:
    """Compare evaluations with one of them, by a paired bootstrap over the examples.

    Examples are matched by id if both evaluations have ids, and otherwise by order; their labels must agree. If
    two evaluations do not match, their numbers are still shown side by side, with the reason. Examples that are in
    clusters, such as the photographs of a burst, are drawn with all others of their cluster. A metric that one of
    them measures in addition is measured for all.

    Parameters
    ----------
    evaluations
        Two or more.
    reference
        The position of the one to compare the others with; "best" for the one with the largest AP.
    replicates, level, seed
        See `hedgerow.measure.bootstrap.differences`; with 0 replicates, no differences are computed.
    progress
        Called to report progress.
    """
    if len(evaluations) < 2:
        raise ParameterError(f"A comparison needs at least two evaluations, not {len(evaluations)}.")
    own = [metric for evaluation in evaluations for metric in evaluation.metrics]
    evaluations = tuple(evaluation.measuring(own) for evaluation in evaluations)
    if reference == "best":
        reference = int(np.argmax([evaluation.summary()["AP"] for evaluation in evaluations]))
    base = evaluations[reference]
    differences: list[Mapping[str, Difference]] = [{} for _ in evaluations]
    reasons = [None if i == reference else mismatch(base, other) for i, other in enumerate(evaluations)]
    matched = {i: _in_order_of(base, evaluations[i]) for i, reason in enumerate(reasons) if reason is None}
    clusters = next(
        (e.examples.clusters for e in (base, *matched.values()) if e.examples.clusters is not None), None
    )
    units = Clusters.resampled(clusters, len(base))
    del matched[reference]
    with progress("Bootstrap", replicates * len(matched)) as advance:
        for i, other in matched.items() if replicates else ():
            apart = other.examples.clusters is not None and not units.same(other.clusters)
            reasons[i] = "its examples are in other clusters." if apart else units.too_few(level)
            if reasons[i] is not None:
                advance(replicates)
                continue
            shared = other.per_example.keys() & base.per_example.keys()
            theirs, ours = ({name: each.per_example[name] for name in sorted(shared)} for each in (other, base))
            differences[i] = bootstrap.differences(
                other.builder,
                base.builder,
                per_example=(theirs, ours),
                clusters=clusters,
                replicates=replicates,
                level=level,
                seed=seed,
                progress=lambda: advance(1),
            )
    return SystemComparison(
        _distinctly_named(evaluations),
        reference,
        tuple(differences),
        tuple(reasons),
        level,
        replicates,
        None if units.unit == "example" else units.number,
    )


def side_by_side(evaluations: Sequence[Evaluation]) -> tuple[tuple[Evaluation, ...], tuple[str | None, ...]]:
    """Return evaluations with distinct names, their examples and nodes in the order of the first one.

    An evaluation whose examples do not match those of the first is not changed; the second result says why, and is
    None where they match.
    """
    base, *others = _distinctly_named(evaluations)
    reasons = [mismatch(base, other) for other in others]
    ordered = [
        other if reason is not None else _in_order_of(base, other)
        for other, reason in zip(others, reasons, strict=True)
    ]
    return (base, *ordered), (None, *reasons)


def _distinctly_named(evaluations: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
    """Return the evaluations, with numbers appended to names that are not unique."""
    number = Counter(evaluation.name for evaluation in evaluations)
    seen: Counter[str] = Counter()
    named = []
    for evaluation in evaluations:
        seen[evaluation.name] += 1
        again = number[evaluation.name] > 1
        named.append(
            replace(evaluation, name=f"{evaluation.name} ({seen[evaluation.name]})") if again else evaluation
        )
    return tuple(named)


def mismatch(base: Evaluation, other: Evaluation) -> str | None:
    """Return why two evaluations cannot be compared example by example; None if they can."""
    if base.hierarchy.fingerprint != other.hierarchy.fingerprint:
        return "it was evaluated with another tree."
    here = other.hierarchy.indices(base.hierarchy.names)  # the position of each node of one tree in the other
    measures = [evaluation.hierarchy.information(evaluation.settings.information) for evaluation in (base, other)]
    if not np.array_equal(measures[0], measures[1][here]):
        return "it was evaluated with another measure of information."
    settings = replace(other.settings, information=base.settings.information)
    if settings != base.settings:
        return f"it was evaluated with other settings: {settings.differences(base.settings)}."
    if len(base) != len(other):
        return f"it has {len(other):,} examples, not {len(base):,}."
    order = _matched_ids(base, other)
    if isinstance(order, str):
        return order
    names, other_names = base.hierarchy.names[base.labels], other.hierarchy.names[other.labels[order]]
    differ = np.flatnonzero(names != other_names)
    if len(differ):
        row = int(differ[0])
        where = f"row {row:,} (counted from 0)" if base.examples.ids is None else f"{base.examples.ids[row]!r}"
        by_id = base.examples.ids is not None and other.examples.ids is not None
        return (
            f"{len(differ):,} labels differ; for {where}, {str(other_names[row])!r} instead of "
            f"{str(names[row])!r}.{'' if by_id else ' If the order differs, give the examples ids.'}"
        )
    return None


def _matched_ids(base: Evaluation, other: Evaluation) -> Indices | str:
    """Return the position in `other` of each example of `base`, or why their ids do not match."""
    mine, theirs = base.examples.ids, other.examples.ids
    if mine is None or theirs is None or np.array_equal(mine, theirs):
        return np.arange(len(base))
    place = {name: row for row, name in enumerate(theirs.tolist())}
    missing = [name for name in mine.tolist() if name not in place]
    if missing:
        return f"its ids differ: {some(missing)} {'is' if len(missing) == 1 else 'are'} not among them."
    if len(place) < len(theirs) or len(set(mine.tolist())) < len(mine):
        return "its ids are not distinct, so that examples cannot be matched."
    return np.fromiter(map(place.__getitem__, mine.tolist()), dtype=np.int64, count=len(mine))


def _in_order_of(base: Evaluation, other: Evaluation) -> Evaluation:
    """Return an evaluation with its examples and nodes in the order of another one."""
    order = _matched_ids(base, other)
    assert not isinstance(order, str)  # noqa: S101  (`mismatch` has found nothing)
    same_nodes = np.array_equal(base.hierarchy.names, other.hierarchy.names)
    if same_nodes and np.array_equal(order, np.arange(len(order))):
        return other
    node = base.hierarchy.indices(other.hierarchy.names).astype(np.int32)
    events, examples = other.events.take(order), other.examples.take(order)
    predictions = {f"prediction:{rule}": node[found] for rule, found in examples.grouped("prediction").items()}
    return replace(
        other,
        hierarchy=base.hierarchy,
        events=replace(events, label=node[events.label], node=node[events.node]),
        examples=examples.join(**predictions),
        settings=base.settings,
    )
