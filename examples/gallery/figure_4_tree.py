"""
A tree coloured by correctness
==============================

Where in the tree is a model right, and where does it stop? Colours show how often the answers to the examples
below a branch are right; a dot shows how many answers stop at its node, instead of going on to a species.
"""

# %%
# The evaluation
# --------------
# With scores of your own, write ``hr.Evaluation.load(folder)``.

import sys
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow.show.figures import TreeDisplay

h = hr.Hierarchy.read(Path(sys.argv[0]).with_name("garden.json"))
random = np.random.default_rng(0)
labels = random.choice(h.leaves, 2000)
shared = h.information()[h.lca(labels[:, None], h.leaves)]
noise = np.where(h.is_ancestor("Insects", labels), 2.6, 1.4)[:, None]  # insects are harder
p = np.exp(1.5 * shared + noise * random.standard_normal(shared.shape))
q = hr.likelihood.from_leaves(h, p / p.sum(axis=1, keepdims=True))
evaluation = hr.evaluate(h, q, labels)
print(f"{evaluation.at_probability(0.8)['correct']:.1%} of the answers are right at the threshold 0.8.")

# %%
# The figure
# ----------
# For the answers of an operating point, write ``TreeDisplay.from_answers(h, point.predict(q), labels)``; for a
# large tree, add ``max_depth=3``.

display = TreeDisplay.from_evaluation(evaluation, tau=0.8).plot()
figure = display.figure_
