"""A tour in one minute: a tree of garden life, and how good a few answers are."""

from pathlib import Path

import hedgerow as hr
from hedgerow import metrics

h = hr.Hierarchy.from_lineages(Path(__file__).with_name("garden.csv"), root="Garden life")
print(h)
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

print("\nA label may be any node: if all we know is 'Songbirds', answering 'Robin' is not wrong.")
print("correct:", metrics.correct(h, "Songbirds", "Robin"), " below_label='wrong':", end=" ")
print(metrics.correct(h, "Songbirds", "Robin", below_label="wrong"))
