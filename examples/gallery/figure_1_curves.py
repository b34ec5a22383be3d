"""
Curves with bands
=================

Two models, five seeds each: the mean, with two standard deviations to either side. To the left, answers are
cautious and almost always right; to the right, they are specific.
"""

# %%
# The evaluations
# ---------------
# With runs of your own, write ``hr.Evaluation.load(folder)`` for each seed.

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import hedgerow as hr
from hedgerow.show.figures import OperatingCurveDisplay

h = hr.Hierarchy.read(Path(sys.argv[0]).with_name("garden.json"))


def evaluation(seed: int, leaf: float, tree: float, noise: float) -> hr.Evaluation:
    """Evaluate a made-up model: the more two classes share, the more it confuses them."""
    random = np.random.default_rng(seed)
    labels = random.choice(h.leaves, 400)
    shared = h.information()[h.lca(labels[:, None], h.leaves)]
    logits = leaf * (labels[:, None] == h.leaves) + tree * shared + noise * random.standard_normal(shared.shape)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return hr.evaluate(h, hr.likelihood.from_leaves(h, p), labels)


models = {
    "flat": [evaluation(seed, leaf=4.4, tree=0.5, noise=2.3) for seed in range(5)],
    "with the tree": [evaluation(seed, leaf=0.8, tree=0.7, noise=1.0) for seed in range(5)],
}
for name, seeds in models.items():
    print(f"{name}: AP {np.mean([seed.summary()['AP'] for seed in seeds]):.3f} on average")

# %%
# The figure
# ----------

plt.rcParams["font.size"] = 8
figure, ax = plt.subplots(figsize=(3.4, 2.6), layout="constrained")
display = OperatingCurveDisplay.from_evaluations(models).plot("correct-recall", ax)
