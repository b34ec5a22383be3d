"""Score files of two made-up models for the same 400 garden photographs, to try `hedgerow compare` with.

python examples/two_models.py
hedgerow compare keen.csv careful.csv --tree examples/garden.csv --tree-format lineages
"""

import csv
from pathlib import Path

import numpy as np

import hedgerow as hr

h = hr.Hierarchy.from_lineages(Path(__file__).with_name("garden.csv"))
random = np.random.default_rng(0)
labels = random.choice(h.leaves, 400)
shared = h.information()[h.lca(labels[:, None], h.leaves)]  # the more two classes share, the easier to confuse
noise = random.standard_normal(shared.shape)

# Both see the same photographs. The keen one names slightly more species, but is too sure of itself, and its
# mistakes are anywhere in the tree. The careful one is more often in the right part of the tree, and not so sure.
exact = labels[:, None] == h.leaves
models = {"keen": 2 * (2.2 * exact + 0.25 * shared + noise), "careful": 0.8 * exact + 0.7 * shared + noise}
for name, logits in models.items():
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "label", *h.names[h.leaves]])
        rows.writerows([f"photo-{i:03}", h.names[labels[i]], *(f"{x:.6f}" for x in p[i])] for i in range(len(p)))
    right = (h.leaves[p.argmax(axis=1)] == labels).mean()
    print(f"{name}.csv: {len(p)} examples, {100 * right:.0f} % of them named exactly")
