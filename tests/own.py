"""Metrics and a method as a user would write them, imported by their paths."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hedgerow.measure import Comparison, Metric
from hedgerow.methods import Method, create


def _is_leaf(pairs: Comparison) -> Any:
    return pairs.hierarchy.is_leaf[pairs.answer]


leaf_answers = Metric("leaf_answers", True, _is_leaf, is_fraction=True)
wasted = Metric("wasted", False, lambda pairs: 1.5 * (pairs.depth[pairs.label] - pairs.depth[pairs.answer]) ** 2)


def steps(tree: Any, label: Any, answer: Any) -> Any:
    """A plain function of tree, labels and answers."""
    return np.abs(tree.depth[label] - tree.depth[answer])


class TwiceTheLoss(Method):
    """A flat softmax with twice the loss."""

    title: ClassVar[str] = "Twice the loss"
    scores = "leaves"

    def __init__(self, hierarchy: Any) -> None:
        super().__init__(hierarchy)
        self.flat = create("flat-softmax", hierarchy)
        self.laws = self.flat.laws

    @staticmethod
    def link(hierarchy: Any, theta: Any, **options: Any) -> Any:
        """Turn scores into likelihoods."""
        from hedgerow import likelihood

        return likelihood.flat_softmax(hierarchy, theta, **options)

    def _loss(self, theta: Any, labels: Any) -> Any:
        return 2 * self.flat.loss(theta, labels)
