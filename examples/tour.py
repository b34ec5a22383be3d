"""A tour in one minute: a tree of garden life, how good an answer is, and the trade-off a threshold gives."""

from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow import metrics

h = hr.Hierarchy.from_lineages(Path(__file__).with_name("garden.csv"), root="Garden life")
print(h.pretty(max_depth=2))

truth = "Robin"
answers = ["Garden life", "Birds", "Songbirds", "Robin", "Spotted flycatcher", "Blackbird", "Dandelion"]
shown = [metrics.correct, metrics.exact, metrics.precision, metrics.recall, metrics.edge_distance]

print(f"\nThe truth is {truth!r}. How good is each answer?\n")
print(f"{'answer':20}{'bits':>6}" + "".join(f"  {metric.name}" for metric in shown))
bits = h.information()[h.indices(answers)]
columns = {metric.name: metric(h, truth, answers) for metric in shown}
for i, answer in enumerate(answers):
    values = "".join(f"  {column[i]:{len(name)}.2f}" for name, column in columns.items())
    print(f"{answer:20}{bits[i]:6.2f}{values}")

print("\nA made-up model looks at 1,000 things: the more two classes share, the more it confuses them.\n")
random = np.random.default_rng(0)
labels = random.choice(h.leaves, 1000)
shared = h.information()[h.lca(labels[:, None], h.leaves)]
scores = np.exp(1.5 * shared + 2 * random.standard_normal(shared.shape))
q = hr.likelihood.from_leaves(h, scores / scores.sum(axis=1, keepdims=True))
curve = hr.operating_curve(h, q, labels)

print("threshold  correct  precision  recall")
for tau in (0.99, 0.95, 0.9, 0.8, 0.6, 0.4, 0.0):
    point = curve.at(tau)
    print(f"{tau:9.2f}  {point['correct']:7.3f}  {point['precision']:9.3f}  {point['recall']:6.3f}")
print("\nThe whole curve in figures:", {name: round(value, 3) for name, value in curve.summary().items()})
