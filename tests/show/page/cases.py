"""Evaluations to make pages of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hedgerow as hr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.measure import Evaluation

GARDEN = hr.Hierarchy.from_lineages(Path(__file__).parents[3] / "examples" / "garden.csv")
HOSTILE = [
    "<script>alert('owned')</script>",
    '"><img src=x onerror=alert(1)>',
    "<b>bold</b> & <i>it</i> &lt;",
    "</script><script>alert(2)</script>",
    "🦉 owl \u202e reversed",
    "long " + "name " * 59,
    'it\'s "quoted" `${1+1}` {{ 7*7 }} \\u003c',
]


def evaluation(
    hierarchy: hr.Hierarchy = GARDEN,
    rows: int = 300,
    *,
    name: str = "model",
    seed: int = 0,
    sharp: float = 1.5,
    noise: float = 1.5,
    labels: NDArray[Any] | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a made-up model that confuses similar classes."""
    random = np.random.default_rng(seed)
    labels = random.choice(hierarchy.leaves, rows) if labels is None else labels
    shared = hierarchy.information()[hierarchy.lca(labels[:, None], hierarchy.leaves)]
    logits = sharp * (shared + noise * random.standard_normal(shared.shape))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    q = hr.likelihood.from_leaves(hierarchy, p / p.sum(axis=1, keepdims=True))
    return hr.evaluate(hierarchy, q, hierarchy.names[labels], name=name, **options)


def hostile_tree() -> hr.Hierarchy:
    """Return a tree whose names try to be something other than text."""
    return hr.Hierarchy.from_json({HOSTILE[0]: {HOSTILE[1]: HOSTILE[2:4], HOSTILE[4]: HOSTILE[5:]}})
