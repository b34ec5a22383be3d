"""
One curve per clade
===================

One model, and three parts of the tree: is it as good with insects as with birds? ``subset`` evaluates some of the
examples again, here those whose label lies in a clade.
"""

# %%
# The evaluation
# --------------
# With scores of your own, write ``hr.Evaluation.load(folder)``.

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import hedgerow as hr
from hedgerow.show.figures import OperatingCurveDisplay

h = hr.Hierarchy.read(Path(sys.argv[0]).with_name("garden.json"))
random = np.random.default_rng(0)
labels = random.choice(h.leaves, 2000)
shared = h.information()[h.lca(labels[:, None], h.leaves)]
noise = np.where(h.is_ancestor("Insects", labels), 2.6, 1.4)[:, None]  # insects are harder
p = np.exp(1.5 * shared + noise * random.standard_normal(shared.shape))
q = hr.likelihood.from_leaves(h, p / p.sum(axis=1, keepdims=True))
evaluation = hr.evaluate(h, q, labels)

# %%
# The figure
# ----------

clades = {
    clade: evaluation.subset(h.is_ancestor(clade, evaluation.labels)) for clade in ("Birds", "Insects", "Plants")
}
for clade, part in clades.items():
    print(f"{clade}: {len(part)} examples, AP {part.summary()['AP']:.3f}")

plt.rcParams["font.size"] = 8
figure, ax = plt.subplots(figsize=(3.4, 2.6), layout="constrained")
display = OperatingCurveDisplay.from_evaluations(clades).plot("correct-recall", ax)
