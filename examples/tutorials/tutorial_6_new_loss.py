"""
A new loss
==========

Cross-entropy punishes a label that the model finds unlikely without limit, even where the label is wrong. The
generalised cross-entropy of Zhang and Sabuncu (2018) bounds that punishment:

    ``ℓ(y, θ) = (1 - q_y^k) / k``

It is -log q at k = 0 and the share of wrong answers at k = 1. Here is a version for labels at any node, and all
the tests of the built-in methods for it.

This needs a checkout of hedgerow, for its tests.
"""

# %%
# The method
# ----------
# A method says which nodes have a score, how scores become likelihoods, what it promises, and what the loss is.
# Scores and labels have been checked when ``_loss`` is called.

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt

import hedgerow
from hedgerow import Hierarchy, likelihood, methods


class BoundedLoss(methods.Method):
    """Generalised cross-entropy over the leaves: ``(1 - q_y^k) / k``.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    k
        From 0, which is cross-entropy, to 1.
    """

    scores = "leaves"
    link = staticmethod(likelihood.flat_softmax)
    laws = frozenset({"parent covers child", "parent covers children", "leaves sum to 1", "ignores shifts"})

    def __init__(self, hierarchy: Hierarchy, *, k: float = 0.7) -> None:
        super().__init__(hierarchy)
        self.k = k
        self.flat = methods.create("flat-softmax", hierarchy)

    def _loss(self, theta: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        log_q = -self.flat.loss(theta, labels)
        return -torch.expm1(self.k * log_q) / self.k


methods.register("bounded", BoundedLoss)

h = Hierarchy.from_paths(["bird/robin", "bird/wren", "fish"], root="animal")
method = methods.create("bounded", h)
labels = torch.tensor(h.indices(["wren", "bird", "animal"]))
print(method.loss(torch.zeros(3, 3), labels))

# %%
# A wren costs most, "some bird" less, and "some animal" nothing: with all scores equal, their likelihoods are 1/3,
# 2/3 and 1. However unlikely a label is, it costs at most 1 / k.

q = np.linspace(0.002, 1, 500)
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
axes.plot(q, -np.log(q), label="cross-entropy", color="grey")
for k in (0.4, 0.7, 1.0):
    axes.plot(q, (1 - q**k) / k, label=f"k = {k}")
axes.set(xlabel="likelihood of the label", ylabel="loss", ylim=(0, 4))
axes.legend()

# %%
# Its tests
# ---------
# The tests of the built-in methods need one thing: the loss once more, as a plain loop over sets of names, written
# from the equation. The line that adds a ``Case`` then inherits every test: the value on random trees, the
# gradient against finite differences, the promised laws, extreme scores, labels at the root, and
# the order of the input.

os.chdir(Path(hedgerow.__file__).parents[2])  # the checkout
sys.path.insert(0, "")

from tests import oracle_losses as oracle  # noqa: E402
from tests.methods import cases  # noqa: E402


def bounded(tree: oracle.Tree, theta: dict[str, float], label: str, *, k: float = 0.7) -> float:
    nll = oracle.flat_softmax(tree, theta, label)
    return (1 - math.exp(-k * nll)) / k


cases.CASES.append(cases.Case("bounded", bounded))

chosen = ["tests/methods/test_values.py", "tests/methods/test_laws.py", "-k", "bounded or table"]
status = pytest.main(
    [*chosen, "--quiet", "--override-ini=addopts=", "-p", "no:cacheprovider", "--disable-plugin-autoload"]
)
assert status == 0

# %%
# From here on the method works wherever a name of a method does, in this process:
# ``hr.HedgedClassifier(h, method="bounded")``. :doc:`Extending </extending>` shows how recipes and the command
# find it.
