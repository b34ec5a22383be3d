"""
Reliability
===========

Does "90 % sure" mean right nine times out of ten? Confidence against the share of right answers at each depth of
the tree, for scores as a model gave them and after temperature scaling. The larger a point, the more answers.
"""

# %%
# The scores
# ----------
# A file of scores does as well: ``Reliability.of(h, hr.open_scores("scores.csv", h))``.

import sys
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow.likelihood import fit_temperature, flat_softmax
from hedgerow.measure import Reliability
from hedgerow.show.figures import reliability_figure

h = hr.Hierarchy.read(Path(sys.argv[0]).with_name("garden.json"))
random = np.random.default_rng(0)
labels = random.choice(h.leaves, 6000)
shared = h.information()[h.lca(labels[:, None], h.leaves)]
scores = 3.0 * shared + 4.0 * random.standard_normal(shared.shape)  # of a model that is too sure of itself

# %%
# One number divides all scores; it is chosen on other examples than those of the figure.

fitted, new = slice(2000), slice(2000, None)
temperature = fit_temperature(h, scores[fitted], labels[fitted], lambda s: flat_softmax(h, s, scale="log")).value
print(f"The temperature is {temperature:.2f}.")

# %%
# The figure
# ----------

found = {}
for name, divisor in {"as given": 1.0, f"divided by {temperature:.2f}": temperature}.items():
    q = flat_softmax(h, scores[new] / divisor)
    found[name] = Reliability.of(h, q, labels[new], bins=10)

figure = reliability_figure(found, columns=2)
