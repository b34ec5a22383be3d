"""A method in a plain torch loop: noisy points around class centres, some labelled only as "bird" or "fish"."""

import torch

from hedgerow import Hierarchy, methods

tree = Hierarchy.from_paths(["bird/robin", "bird/wren", "bird/crow", "fish/trout", "fish/carp"], root="animal")
torch.manual_seed(0)
centre = torch.randn(len(tree), 16)
centre[1:] += 2 * centre[tree.parent[1:].tolist()]  # relatives look alike


def draw(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    leaves = torch.tensor(tree.leaves)[torch.randint(len(tree.leaves), (count,))]
    return centre[leaves] + 2 * torch.randn(count, 16), leaves


method = methods.create("softmax-margin", tree)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), methods.HierarchicalHead(32, method))
optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)

for step in range(101):
    features, labels = draw(128)
    coarse = torch.rand(128) < 0.3  # known no deeper than the parent
    labels = torch.where(coarse, torch.tensor(tree.parent)[labels], labels)
    loss = method(model(features), labels).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % 25 == 0:
        print(f"step {step:3d}  loss {loss.item():.3f}")

features, labels = draw(2000)
q = method.likelihood(model(features))
right = (q[:, tree.leaves.tolist()].argmax(1) == torch.searchsorted(torch.tensor(tree.leaves), labels)).float()
print(f"most likely leaf right: {right.mean().item():.0%}")
