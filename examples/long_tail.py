"""A long tail hides in means over examples: four classifiers, averaged over examples and over classes.

python examples/long_tail.py
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr

h = hr.Hierarchy.from_lineages(Path(__file__).with_name("garden.csv"))
random = np.random.default_rng(0)
centre = np.zeros((len(h), 12))
for node in range(1, len(h)):  # similar classes have similar features
    centre[node] = centre[h.parent[node]] + random.normal(size=12)
order = random.permutation(h.leaves)
share = 1 / np.arange(1, len(order) + 1)  # the second class is half as frequent as the first, and so on


def draw(count: int) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    labels = random.choice(order, count, p=share / share.sum())
    return centre[labels] + 2.5 * random.normal(size=(count, 12)), h.names[labels]


X, y = draw(1500)
X_new, y_new = draw(3000)
classifiers = {
    "default": hr.HedgedClassifier(h, random_state=0, C=20),
    '`method="softmax-margin"`': hr.HedgedClassifier(h, method="softmax-margin", random_state=0, C=20),
    '`class_weight="balanced"`': hr.HedgedClassifier(h, class_weight="balanced", random_state=0, C=20),
    '`method="logit-adjusted-conditional-softmax"`': hr.HedgedClassifier(
        h, method="logit-adjusted-conditional-softmax", random_state=0, C=20
    ),
}
for name, clf in classifiers.items():
    clf.fit(X, y)
    found = hr.evaluate(h, clf.predict_likelihood(X_new), y_new)
    mean, macro = found.rules["majority"], found.macro["majority"]
    numbers = mean["correct"], macro["correct"], mean["exact"], macro["exact"]
    print("|", name, "|", " | ".join(f"{number:.2f}" for number in numbers), "|")
