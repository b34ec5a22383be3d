"""Likelihoods q(θ): what a model says of each node of the tree.

In come a classifier's scores θ or leaf probabilities; out go likelihoods of all nodes, on the scale on which they
rank best. Scores from files come through `score_files`, which is the next room.
"""

from hedgerow.likelihood.links import (
    BOTTOM,
    ROUNDING,
    SUM_TOLERANCE,
    RangeCheck,
    Scale,
    check_likelihoods,
    conditional_sigmoid,
    conditional_softmax,
    deep_rtc,
    flat_softmax,
    from_leaves,
    multilabel,
    ps_softmax,
    softmax_over_nodes,
)
from hedgerow.likelihood.temperature import Judge, Temperature, calibration_error, fit_temperature

__all__ = [
    "BOTTOM",
    "ROUNDING",
    "SUM_TOLERANCE",
    "Judge",
    "RangeCheck",
    "Scale",
    "Temperature",
    "calibration_error",
    "check_likelihoods",
    "conditional_sigmoid",
    "conditional_softmax",
    "deep_rtc",
    "fit_temperature",
    "flat_softmax",
    "from_leaves",
    "multilabel",
    "ps_softmax",
    "softmax_over_nodes",
]
