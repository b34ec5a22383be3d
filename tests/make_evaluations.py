"""Small evaluations of made-up models, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import hedgerow as hr
from tests.make_scores import H

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.measure import Evaluation

LABELS = np.random.default_rng(9).choice(H.leaves, size=300)


def sample(rows: int = 60, seed: int = 0, tree: hr.Hierarchy = H) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return likelihoods and labels of any depth that have something to do with each other."""
    random = np.random.default_rng(seed)
    theta = random.normal(size=(rows, len(tree.leaves))) * 2
    q = np.asarray(hr.likelihood.flat_softmax(tree, theta))
    drawn = [random.choice(tree.leaves, p=row[tree.leaves] / row[tree.leaves].sum()) for row in q]
    labels = np.array([random.choice(tree.lineage(leaf)[1:]) for leaf in drawn], dtype=np.int64)
    return q, labels


def model(
    labels: NDArray[np.int64], strength: float, ids: Any = None, seed: int = 0, **options: Any
) -> Evaluation:
    theta = np.random.default_rng(seed).normal(size=(len(labels), 4))
    theta[np.arange(len(labels)), np.searchsorted(H.leaves, labels)] += strength
    q = np.asarray(hr.likelihood.flat_softmax(H, theta))
    return hr.evaluate(H, q, labels, ids=ids, name=f"strength {strength}", **options)
