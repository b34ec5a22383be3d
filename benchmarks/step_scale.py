"""Does one learning rate suit every method? AP at a ladder of rates, with and without `Method.step_scale`.

    python -m benchmarks.step_scale tree --folder FOLDER -o trials.jsonl [--device cuda] [--epochs 20]
    python -m benchmarks.step_scale table -o trials.jsonl

Each trial trains a small network by SGD with plain torch, and adds a line with the AP of its test data; trials
that have a line are not repeated. `tree` and `deep` are Gaussian features on a clade of FOLDER/inat21.csv and on
FOLDER/tiny_imagenet_fiveai.csv (parent,child); `clinc150` and `omniglot` are what `examples/` read; `glyphs` needs
no folder.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from examples import clinc150, omniglot
from torch import Tensor, nn

import hedgerow as hr
from hedgerow import methods
from hedgerow.learn import data, models
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.data.splits import to_float
from hedgerow.study.cells import PAPER_METHODS

if TYPE_CHECKING:
    from hedgerow.methods import Method

SCALES = ("1", "1 / |L(u)|", "1 / (|L(u)| depth)")
"""What the steps of an output are multiplied by."""
DATA = ("tree", "deep", "clinc150", "omniglot", "glyphs")
CNN_RATES, RATES = (0.03, 0.1, 0.3), (0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class Problem:
    """Data, and how to train on it."""

    hierarchy: hr.Hierarchy
    parts: tuple[LabelledInputs, LabelledInputs]
    """For training and for testing."""
    epochs: int
    rates: tuple[float, ...] = RATES

    def model(self) -> nn.Module:
        """Return an untrained network."""
        shape = DataSplits("", self.hierarchy, *self.parts, self.parts[1]).input_shape
        return models.build("mlp", shape, hidden=[128]) if len(shape) == 1 else models.build("cnn", shape, width=8)


def gaussian(hierarchy: hr.Hierarchy, per_leaf: int, noise: float) -> Problem:
    """Every node moves the classes below it by a random vector; examples scatter around their class."""
    random, width = np.random.default_rng(0), 48
    centre = random.normal(size=(len(hierarchy), width)) / np.sqrt(hierarchy.depth[:, None] + 1)
    for node in range(1, len(hierarchy)):
        centre[node] += centre[hierarchy.parent[node]]

    def drawn(number: int) -> LabelledInputs:
        labels = np.repeat(hierarchy.leaves, number)
        return LabelledInputs(centre[labels] + noise * random.normal(size=(len(labels), width)), labels)

    return Problem(hierarchy, standardised(drawn(per_leaf), drawn(8)), epochs=12)


def standardised(train: LabelledInputs, test: LabelledInputs) -> tuple[LabelledInputs, LabelledInputs]:
    """Bring features to mean 0 and variance 1, as measured on the training data."""
    x, y = np.asarray(train.inputs), np.asarray(test.inputs)
    mean, scale = x.mean(0), x.std(0)
    return LabelledInputs((x - mean) / scale, train.labels), LabelledInputs((y - mean) / scale, test.labels)


def some_alphabets(folder: Path, number: int = 6) -> Problem:
    """Return the first alphabets of Omniglot."""
    splits = omniglot.load(folder)
    end = splits.hierarchy.end[splits.hierarchy.children(0)[number - 1]]
    tree, projection = splits.hierarchy.subtree(splits.hierarchy.leaves[splits.hierarchy.leaves < end])
    train, test = (part.subset(np.flatnonzero(part.labels < end)) for part in (splits.train, splits.test))
    parts = train.with_labels(projection[train.labels]), test.with_labels(projection[test.labels])
    return Problem(tree, parts, 8, CNN_RATES)


def problem(name: str, folder: Path) -> Problem:
    """Return the data of a name."""
    if name == "tree":
        life = hr.Hierarchy.from_edges(folder / "inat21.csv")
        clade = np.flatnonzero((life.depth == 3) & (life.leaf_count >= 250) & (life.leaf_count <= 450))[0]
        return gaussian(life.subtree(np.intersect1d(life.leaves, np.arange(clade, life.end[clade])))[0], 12, 1.0)
    if name == "deep":
        return gaussian(hr.Hierarchy.from_edges(folder / "tiny_imagenet_fiveai.csv"), 20, 1.2)
    if name == "omniglot":
        return some_alphabets(folder)
    if name == "glyphs":
        splits = data.load("glyphs", size="quick")
        return Problem(splits.hierarchy, (splits.train, splits.test), 4, CNN_RATES)
    splits = clinc150.load(folder, out_of_scope=False)
    some = np.random.default_rng(0).choice(len(splits.train), 6000, replace=False)
    return Problem(splits.hierarchy, standardised(splits.train.subset(some), splits.test), epochs=8)


def average_precision(given: Problem, name: str, scale: str, rate: float, kind: str, device: str) -> float:
    """Train one network, and return the AP of the test data; 0 if training diverged."""
    torch.manual_seed(0)
    method = methods.create(name, given.hierarchy)
    model = given.model()
    head = head_of(int(model.out_features), method, scale)  # type: ignore[arg-type]
    network = nn.Sequential(model, head).to(device)
    optimiser: torch.optim.Optimizer = torch.optim.AdamW(network.parameters(), rate, weight_decay=0.01)
    if kind == "sgd":
        optimiser = torch.optim.SGD(network.parameters(), rate, momentum=0.9, weight_decay=3e-4)
    inputs, labels = on(device, given.parts[0])
    batches = -(-len(labels) // 64)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, given.epochs * batches)
    for _ in range(given.epochs):
        for rows in torch.randperm(len(labels)).to(device).tensor_split(batches):
            loss = method.loss(network(to_float(inputs[rows])), labels[rows]).mean()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
        if not loss.isfinite():
            return 0.0
    network.eval()
    builder = hr.CurveBuilder(given.hierarchy, scale=method.scale)
    inputs, labels = on(device, given.parts[1])
    with torch.inference_mode():
        for rows in torch.arange(len(labels), device=device).tensor_split(-(-len(labels) // 500)):
            theta = network(to_float(inputs[rows]))
            if not theta.isfinite().all():
                return 0.0
            builder.update(method.likelihood(theta, method.scale).cpu().numpy(), labels[rows].cpu().numpy())
    return builder.compute().summary()["AP"]


def head_of(width: int, method: Method, scale: str) -> methods.HierarchicalHead:
    """Return a head whose steps have one of the `SCALES`, whatever the method declares."""
    head = methods.HierarchicalHead(width, method, even_steps=False)
    if scale != SCALES[0]:
        below = torch.tensor(method.hierarchy.leaf_count[method.outputs], dtype=torch.float32)
        head.step_scale = 1 / (below * float(method.hierarchy.depth.max()) if scale == SCALES[2] else below)
        with torch.no_grad():
            head.linear.weight.mul_(head.step_scale.sqrt()[:, None])
            head.linear.bias.mul_(head.step_scale.sqrt())
    return head


def on(device: str, examples: LabelledInputs) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(np.asarray(examples.inputs)).to(device), torch.from_numpy(examples.labels).to(device)


def run(given: argparse.Namespace) -> None:
    """Run the trials of one data set that have no line yet."""
    chosen = problem(given.data, given.folder)
    if given.epochs:
        chosen = replace(chosen, epochs=given.epochs)
    there = [] if not given.output.exists() else [json.loads(line)["trial"] for line in given.output.open()]
    with given.output.open("a") as file:
        for name in given.methods.split(","):
            uneven = methods.find(name).scores != "leaves"
            for scale in given.scales.split(",") if uneven else ["1"]:
                for rate in given.rates or chosen.rates:
                    trial = [given.data, given.kind, name, scale, rate]
                    if trial not in there:
                        ap = average_precision(chosen, name, scale, rate, given.kind, given.device)
                        print(json.dumps({"trial": trial, "AP": round(ap, 4)}), file=file, flush=True)
                        print(*trial, f"{100 * ap:.1f}", flush=True)


def table(lines: list[str]) -> None:
    """Print, for each data set, the AP at the best rate of flat softmax, and at the method's own best rate."""
    trials = {tuple(found["trial"]): found["AP"] for found in map(json.loads, lines)}
    for which, kind in dict.fromkeys(key[:2] for key in trials):
        of_flat = {key[4]: ap for key, ap in trials.items() if key[:3] == (which, kind, "flat-softmax")}
        rate = max(of_flat, key=lambda each: of_flat[each])
        rows: dict[tuple[str, str], dict[float, float]] = {}
        print(f"\n{which}, {kind}: the best rate of flat softmax is {rate:g}")
        for key, ap in trials.items():
            if key[:2] == (which, kind):
                rows.setdefault(key[2:4], {})[key[4]] = ap
        for (name, scale), found in rows.items():
            best = max(found, key=lambda each: found[each])
            line = " ".join(f"{100 * ap:5.1f}" for _, ap in sorted(found.items()))
            there = f"{100 * found[rate]:5.1f}, best {100 * found[best]:5.1f} at {best:<5g}"
            print(f"{name:20} {scale:19} {there} | {line}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=[*DATA, "table"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--methods", default=",".join(PAPER_METHODS))
    parser.add_argument("--scales", default=",".join(SCALES))
    parser.add_argument("--rates", type=float, nargs="+")
    parser.add_argument("--kind", choices=["sgd", "adamw"], default="sgd")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    if given.data == "table":
        table(given.output.read_text().splitlines())
    else:
        torch.set_num_threads(1)
        run(given)


if __name__ == "__main__":
    main()
