"""
Your own torch loop
===================

A method of hedgerow is a loss and the likelihoods that belong to it. It needs one thing from your network: as many
outputs as ``method.outputs`` says. Everything else, from the backbone to the optimiser, stays yours.

This needs ``pip install 'hedgerow[torch,plot]'``.
"""

# %%
# Digits, and a tree above them
# -----------------------------
# scikit-learn ships 1,797 pictures of digits, 8 by 8 pixels. The tree groups them by their strokes.

import torch
from sklearn.datasets import load_digits
from torch import nn

import hedgerow as hr
from hedgerow import methods
from hedgerow.show.figures import OperatingCurveDisplay

h = hr.Hierarchy.from_json(
    {"digit": {"with a loop": ["0", "6", "8", "9"], "straight": ["1", "4", "7"], "open": ["2", "3", "5"]}}
)
pictures, classes = load_digits(return_X_y=True)
x = torch.tensor(pictures, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16

# %%
# Labels are node indices, and 0 is the root: translate class numbers once.

node_of_class = torch.tensor(h.indices([str(digit) for digit in range(10)]))
y = node_of_class[torch.tensor(classes)]

torch.set_num_threads(1)  # with tensors this small, threads would only wait for one another
torch.manual_seed(0)
order = torch.randperm(len(x))
train, test = order[:400], order[400:]

# %%
# A backbone that knows nothing of trees
# --------------------------------------


def backbone() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32), nn.ReLU()
    )


# %%
# The loop
# --------
# ``HierarchicalHead`` is a linear layer of the right width; ``nn.Linear(32, len(method.outputs))`` would do, too.


def fit(method: methods.Method) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(backbone(), methods.HierarchicalHead(32, method))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(30):
        total = 0.0
        for batch in train[torch.randperm(len(train))].reshape(8, 50):
            loss = method(model(x[batch]), y[batch]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(batch) / len(train)
        if epoch % 10 == 9:
            print(f"  epoch {epoch + 1:2d}  loss {total:.3f}")
    return model.eval()


evaluations = []
for name in ("flat-softmax", "softmax-margin"):
    print(name)
    method = methods.create(name, h)
    model = fit(method)
    with torch.no_grad():
        # On the method's own scale likelihoods do not round to 1.
        q = method.likelihood(model(x[test]), method.scale)
    evaluations.append(hr.evaluate(h, q, y[test].numpy(), name=name, scale=method.scale))
    print(" ", evaluations[-1])

# %%
# Both curves. One seed on a small test does not tell which loss is better.

OperatingCurveDisplay.from_evaluations(evaluations).plot("correct-recall")

# %%
# Answers are indices; names follow from them. Here are the digits about which the model is least sure.

doubtful = q[:, h.leaves.tolist()].amax(1).argsort()[:5]
answers = hr.infer.threshold(h, q[doubtful], 0.5, scale=method.scale)
for label, answer in zip(y[test][doubtful].tolist(), answers.tolist(), strict=True):
    print(f"a {h.names[label]} is called {h.names[answer]!r}")

# %%
# What to do next
# ---------------
# * Methods take labels at any depth of the tree: give the node that is known.
# * ``hr.select`` chooses the threshold so that a promise holds: :doc:`Promises </promises>`.
# * :doc:`Methods </methods>` lists the losses; :doc:`Training </training>` runs them from recipes.
