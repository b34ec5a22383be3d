"""Likelihoods q(θ): what a model says about each node of the tree.

In come a classifier's scores θ, its probabilities, or a few classes per example; out go likelihoods of all nodes,
on the scale that ranks them best, dense or sparse. Scores from files come through `score_files`.
"""

from hedgerow.likelihood.entries import from_independent, from_lineages, from_top
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.links import (
    LINKS,
    ScoredNodes,
    conditional_sigmoid,
    conditional_softmax,
    deep_rtc,
    flat_softmax,
    multilabel,
    ps_softmax,
    scored_nodes,
    softmax_over_nodes,
)
from hedgerow.likelihood.named_columns import ColumnFit, ColumnKind, column_names, places
from hedgerow.likelihood.pooling import Pooling, numbered, pool
from hedgerow.likelihood.prior import Prior, overlap, with_prior
from hedgerow.likelihood.probabilities import from_columns, from_leaves, in_order
from hedgerow.likelihood.restrict import restrict
from hedgerow.likelihood.scales import (
    BOTTOM,
    CERTAIN,
    POSITIVE,
    PROBABILITIES,
    ROUNDING,
    SUM_TOLERANCE,
    Bounds,
    RowSource,
    Scale,
    check_scale,
    from_logit,
    from_probability,
    sum_tolerance,
    threshold_probability,
    to_probability,
)
from hedgerow.likelihood.sparse_likelihoods import CompactError, SparseLikelihoods
from hedgerow.likelihood.temperature import Judge, Temperature, fit_temperature, fit_to_likelihoods, tempered
from hedgerow.likelihood.treatment import Treatment

__all__ = [
    "BOTTOM",
    "CERTAIN",
    "LINKS",
    "POSITIVE",
    "PROBABILITIES",
    "ROUNDING",
    "SUM_TOLERANCE",
    "AnyLikelihoods",
    "Bounds",
    "ColumnFit",
    "ColumnKind",
    "CompactError",
    "Judge",
    "Likelihoods",
    "Pooling",
    "Prior",
    "RowSource",
    "Scale",
    "ScoredNodes",
    "SparseLikelihoods",
    "Temperature",
    "Treatment",
    "check_scale",
    "column_names",
    "conditional_sigmoid",
    "conditional_softmax",
    "deep_rtc",
    "fit_temperature",
    "fit_to_likelihoods",
    "flat_softmax",
    "from_columns",
    "from_independent",
    "from_leaves",
    "from_lineages",
    "from_logit",
    "from_probability",
    "from_top",
    "in_order",
    "multilabel",
    "numbered",
    "overlap",
    "places",
    "pool",
    "ps_softmax",
    "restrict",
    "scored_nodes",
    "softmax_over_nodes",
    "sum_tolerance",
    "tempered",
    "threshold_probability",
    "to_probability",
    "with_prior",
]
