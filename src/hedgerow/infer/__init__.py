"""Inference rules: from likelihoods to one answer per example.

In come the tree and likelihoods [B, nodes] in node order; out go node indices, int64 [B]: NumPy in, NumPy out;
torch in, torch out. All rules have this in common:

- trivial nodes (see `hedgerow.Hierarchy`) are never answers, and their own likelihood is ignored, unless
  ``single_child="answer"``: they are then nodes like others, and ties by information go to the deeper node;
- a node with likelihood 0 is never an answer; if no node qualifies, the answer is the root;
- ties go to higher information, then higher likelihood, then lower index, unless a rule says otherwise.

Likelihoods may be dense or sparse (`likelihood.SparseLikelihoods`), and on any scale. Thresholds are always
probabilities. All rules take these keywords:

- ``information``: the measure of specificity, "leaves" by default: see `Hierarchy.information`;
- ``single_child``: whether nodes with one child may be answers ("answer") or not ("skip", the default);
- ``scale``: the scale of plain arrays: "probability" (the default), "log" or "logit".

>>> from hedgerow import Hierarchy, infer
>>> h = Hierarchy.from_edges([("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")])
>>> h.names.tolist()
['animal', 'bird', 'robin', 'wren', 'fish']
>>> q = [[1, 0.8, 0.5, 0.3, 0.2], [1, 0.4, 0.3, 0.1, 0.6]]
>>> h.names[infer.majority(h, q)].tolist(), h.names[infer.leaf(h, q)].tolist()
(['bird', 'fish'], ['robin', 'fish'])
"""

from hedgerow.infer.compact import compacted
from hedgerow.infer.decisions import FittedLambda, fit_lambda, most_likely_exclusive, risk_minimising
from hedgerow.infer.pareto import Candidates, ParetoSets, RuleOptions, ordered_pareto_sets
from hedgerow.infer.rules import (
    RULES,
    Rule,
    answering_rule,
    climbing,
    climbing_sets,
    expected_information,
    information_threshold,
    leaf,
    majority,
    map_dense_rows,
    most_likely_tip,
    most_specific_above,
    plurality,
    threshold,
    top_down,
)

__all__ = [
    "RULES",
    "Candidates",
    "FittedLambda",
    "ParetoSets",
    "Rule",
    "RuleOptions",
    "answering_rule",
    "climbing",
    "climbing_sets",
    "compacted",
    "expected_information",
    "fit_lambda",
    "information_threshold",
    "leaf",
    "majority",
    "map_dense_rows",
    "most_likely_exclusive",
    "most_likely_tip",
    "most_specific_above",
    "ordered_pareto_sets",
    "plurality",
    "risk_minimising",
    "threshold",
    "top_down",
]
