"""A scikit-learn classifier over a tree: labels at any depth in, the most specific likely answer out."""

from pathlib import Path

import numpy as np

import hedgerow as hr

h = hr.Hierarchy.from_lineages(Path(__file__).with_name("garden.csv"), root="Garden life")

# Made-up embeddings: every class lies near its parent.
random = np.random.default_rng(0)
centre = np.zeros((len(h), 16))
for node in range(1, len(h)):
    centre[node] = centre[h.parent[node]] + random.standard_normal(16) / h.depth[node]


def look_at(nodes: np.ndarray) -> np.ndarray:
    return np.asarray(centre[nodes] + 0.5 * random.standard_normal((len(nodes), 16)))


seen = random.choice(h.leaves, 1500)
X = look_at(seen)
labels = np.where(random.random(1500) < 0.3, h.parent[seen], seen)  # three in ten were not told apart
clf = hr.HedgedClassifier(h, random_state=0).fit(X, h.names[labels])

truth = random.choice(h.leaves, 500)
looks = look_at(truth)
print(f"mean information F1 at the majority rule: {clf.score(looks, h.names[truth]):.3f}\n")
for tau in (0.5, 0.95):
    answers = clf.set_operating_point(tau).predict(looks)
    correct = hr.metrics.correct(h, h.names[truth], answers).mean()
    print(f"threshold {tau}: right {correct:.1%}, for example")
    for name, answer in zip(h.names[truth[:5]], answers[:5], strict=True):
        print(f"  a {name} is called {answer}")
