"""Inference rules: from likelihoods to one answer per example.

Every rule takes the tree and likelihoods [B, nodes] in node order and returns node indices, int64 [B]: NumPy in,
NumPy out; torch in, torch out. They agree on this:

- trivial nodes (see `hedgerow.Hierarchy`) are never answers, and their own likelihood is not looked at;
- a node with likelihood 0 is never an answer; where nothing qualifies, the answer is the root;
- ties go to higher information, then higher likelihood, then lower index, unless a rule says otherwise.

Rules that only compare likelihoods take them on any increasing scale: ``scale="probability"``, ``"log"`` or
``"logit"``, thresholds being on the same scale. `information` is the measure of specificity: see
`Hierarchy.information`.

>>> from hedgerow import Hierarchy, infer
>>> h = Hierarchy.from_edges([("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")])
>>> h.names.tolist()
['animal', 'bird', 'robin', 'wren', 'fish']
>>> q = [[1, 0.8, 0.5, 0.3, 0.2], [1, 0.4, 0.3, 0.1, 0.6]]
>>> h.names[infer.majority(h, q)].tolist(), h.names[infer.leaf(h, q)].tolist()
(['bird', 'fish'], ['robin', 'fish'])
"""

from hedgerow.infer.comparing import (
    climbing,
    information_threshold,
    leaf,
    majority,
    plurality,
    threshold,
    top_down,
)
from hedgerow.infer.pareto import Candidates, ParetoSets, ordered_pareto_sets
from hedgerow.infer.weighing import (
    FittedLambda,
    expected_information,
    fit_lambda,
    most_likely_exclusive,
    risk_minimising,
)

__all__ = [
    "Candidates",
    "FittedLambda",
    "ParetoSets",
    "climbing",
    "expected_information",
    "fit_lambda",
    "information_threshold",
    "leaf",
    "majority",
    "most_likely_exclusive",
    "ordered_pareto_sets",
    "plurality",
    "risk_minimising",
    "threshold",
    "top_down",
]
