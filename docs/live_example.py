"""The live example of the page on serving: a model, its point and hedgerow.js, in a part of a page.

The model is linear, of 64 pixels and ten digits: 650 weights, which a page can hold. The digits are in a tree of
shapes.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.export import script

TEMPLATE = Path(__file__).with_name("live_example.html")
SHAPES = {"with a loop": "0689", "straight": "147", "curved": "235"}
TREE = hr.Hierarchy.from_paths([f"digit/{shape}/{digit}" for shape, digits in SHAPES.items() for digit in digits])


def fitted() -> tuple[hr.OperatingPoint, dict[str, Any]]:
    """Fit the model and choose the point on examples of its own; return it, and the model with some of these."""
    pixels, digit = load_digits(return_X_y=True)
    train, rest, label, rest_label = train_test_split(pixels, digit, test_size=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=0.1, max_iter=500).fit(train / 16, label)
    order = [int(name) for name in TREE.names[TREE.leaves]]
    weights, bias = np.round(model.coef_, 3)[order], np.round(model.intercept_, 3)[order]
    q = hr.likelihood.flat_softmax(TREE, rest / 16 @ weights.T + bias)
    point = hr.select(TREE, q, rest_label.astype(str), target=("correct", 0.99))
    depth = TREE.depth[point.predict(q)]
    shown = [np.flatnonzero(depth == d)[0] for d in (2, 1, 0)]  # a digit, a shape, and no answer
    examples = rest[shown].astype(int).tolist()
    return point, {"weights": weights.tolist(), "bias": bias.tolist(), "examples": examples}


def live_example() -> str:
    """Return the example as HTML that needs nothing else."""
    point, model = fitted()
    text = TEMPLATE.read_text(encoding="utf-8").replace("SCRIPT\n", script())
    return text.replace("POINT", json.dumps(point.to_dict())).replace("MODEL", json.dumps(model))
