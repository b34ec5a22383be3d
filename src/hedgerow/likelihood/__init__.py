"""Likelihoods q(θ): what a model says about each node of the tree.

In come a classifier's scores θ or leaf probabilities; out go likelihoods of all nodes, on the scale that ranks
them best. Scores from files come through `score_files`, which is the next room.
"""

from hedgerow.likelihood.leaves import SUM_TOLERANCE, from_leaves
from hedgerow.likelihood.likelihoods import (
    BOTTOM,
    ROUNDING,
    Likelihoods,
    Scale,
    check_scale,
    from_probability,
    to_probability,
)
from hedgerow.likelihood.links import (
    conditional_sigmoid,
    conditional_softmax,
    deep_rtc,
    flat_softmax,
    multilabel,
    ps_softmax,
    softmax_over_nodes,
)
from hedgerow.likelihood.temperature import Judge, Temperature, fit_temperature, fit_to_likelihoods, tempered

__all__ = [
    "BOTTOM",
    "ROUNDING",
    "SUM_TOLERANCE",
    "Judge",
    "Likelihoods",
    "Scale",
    "Temperature",
    "check_scale",
    "conditional_sigmoid",
    "conditional_softmax",
    "deep_rtc",
    "fit_temperature",
    "fit_to_likelihoods",
    "flat_softmax",
    "from_leaves",
    "from_probability",
    "multilabel",
    "ps_softmax",
    "softmax_over_nodes",
    "tempered",
    "to_probability",
]
