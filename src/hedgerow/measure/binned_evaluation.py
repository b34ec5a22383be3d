"""Evaluations in bounded memory: every figure comes with a bracket that holds the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from hedgerow.measure.bins import UNIT
from hedgerow.measure.brackets import mean_bracket
from hedgerow.measure.builder import STANDARD_METRICS
from hedgerow.measure.evaluation import RULE_FIGURES, Measured, Pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.infer import SingleChild
    from hedgerow.measure.brackets import Bracket
    from hedgerow.measure.builder import CurveBuilder
    from hedgerow.measure.curve import OperatingCurve
    from hedgerow.measure.metrics import BelowLabel
    from hedgerow.tree import Hierarchy, InformationKind


@final
@dataclass(frozen=True, eq=False, repr=False)
class BinnedEvaluation(Measured):
    """What the sums of a binned `EvaluationBuilder` say about a model; the examples themselves are not kept."""

    hierarchy: Hierarchy
    curve: OperatingCurve
    means: Mapping[str, Mapping[str, float]]
    """The mean of each metric under each rule: rule -> metric -> mean."""
    brackets: Mapping[str, Bracket]
    """The lowest and the highest value that each summary figure can have; the exact one lies between them."""
    bins: int
    name: str = "scores"
    information: InformationKind | NDArray[np.float64] = "leaves"
    below_label: BelowLabel = "label"
    single_child: SingleChild = "skip"
    warnings: tuple[str, ...] = ()

    @property
    def rules(self) -> Mapping[str, Mapping[str, float]]:
        """The single operating point of each rule: rule -> metric -> mean."""
        return self.means

    def _spread(self) -> dict[str, Any]:
        return {"bins": self.bins, "brackets": {name: list(pair) for name, pair in self.brackets.items()}}

    def __repr__(self) -> str:
        low, high = self.brackets["AP"]
        return f"BinnedEvaluation({self.name!r}, {len(self):,} examples, AP {low:.3f} to {high:.3f})"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        _repr_html_: ClassVar[Callable[..., str]]


@final
class RuleSums:
    """Fixed-point sums of the metrics of each rule, whole numbers of any size, which add up in any order."""

    def __init__(self, rules: Iterable[str]) -> None:
        self.sums = {rule: [0] * len(STANDARD_METRICS) for rule in rules}
        """rule -> the sum of each standard metric, in the units of `bins.UNIT`."""

    def add(self, curve: CurveBuilder, labels: NDArray[Any], predictions: Mapping[str, NDArray[Any]]) -> None:
        """Add the answers to some examples."""
        for rule, nodes in predictions.items():
            measures = curve.measures
            pairs = Pairs.of(
                curve.hierarchy,
                labels,
                nodes,
                below_label=measures.below_label,
                information=measures.information,
            )
            self._add(rule, [pairs.fixed_sum(metric) for metric in STANDARD_METRICS])

    def merge(self, other: RuleSums) -> None:
        """Add the sums of other examples."""
        for rule, sums in other.sums.items():
            self._add(rule, sums)

    def _add(self, rule: str, sums: Iterable[int]) -> None:
        self.sums[rule] = [ours + theirs for ours, theirs in zip(self.sums[rule], sums, strict=True)]

    def means(self, examples: int) -> dict[str, dict[str, float]]:
        """Return the mean of each metric: rule -> metric -> mean."""
        return {
            rule: {
                metric.name: total * UNIT / examples for metric, total in zip(STANDARD_METRICS, sums, strict=True)
            }
            for rule, sums in self.sums.items()
        }


def binned_evaluation(curve: CurveBuilder, rules: RuleSums, **about: Any) -> BinnedEvaluation:
    """Return the evaluation of a binned curve and the sums of the rules.

    Parameters
    ----------
    curve, rules
        The sums.
    about
        `name`, `information`, `below_label`, `single_child` and `warnings` of the evaluation.
    """
    assert curve.bins is not None  # noqa: S101  (builders without bins keep events, not sums)
    assert curve.bin_count is not None  # noqa: S101
    drawn = curve.compute()
    means = rules.means(drawn.examples)
    brackets = curve.brackets() | {
        name: mean_bracket(means[rule][metric.name], curve.bins) for name, (rule, metric) in RULE_FIGURES.items()
    }
    return BinnedEvaluation(curve.hierarchy, drawn, means, brackets, curve.bin_count, **about)
