"""The table of methods under test: a method enters here once and inherits every test of this folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hedgerow import Hierarchy, methods
from tests import oracle_losses as oracle
from tests.oracle_losses import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.methods.base import Method


def no_params(h: Hierarchy) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Case:
    """A method with some parameters, and the plain loop that says what its loss is."""

    name: str
    expected: Callable[..., float]
    """Of (tree, θ by name, label name) and `oracle_params`."""
    params: Callable[[Hierarchy], dict[str, Any]] = no_params
    """Made for a tree, since some hold one value a node."""
    oracle_params: Callable[[Hierarchy], dict[str, Any]] | None = None
    """Where the loop wants them otherwise, by name."""
    id: str = field(default="")

    def create(self, h: Hierarchy) -> Method:
        return methods.create(self.name, h, **self.params(h))

    def losses(self, h: Hierarchy, theta: Tensor, labels: Tensor, cut: Tensor | None = None) -> list[float]:
        """What the losses must be."""
        method = self.create(h)
        tree = plain(h)
        params = (self.oracle_params or self.params)(h)
        result = []
        for row, (scores, label) in enumerate(zip(theta.tolist(), labels.tolist(), strict=True)):
            named = dict(zip(h.names[method.outputs].tolist(), scores, strict=True))
            if cut is not None:
                params = {"cut": set(h.names[cut[row].numpy()].tolist())}
            result.append(self.expected(tree, named, h.names[label], **params))
        return result


def plain(h: Hierarchy) -> Tree:
    return Tree({h.names[v]: h.names[h.children(v)].tolist() for v in range(len(h))}, h.names[0])


def counts(h: Hierarchy) -> dict[str, float]:
    """Some classes common, some absent: the same by name whatever the order of the nodes."""
    return {name: float(sum(map(ord, name)) % 7) for name in h.names.tolist()}


def leaf_share(h: Hierarchy) -> Callable[[Any], Any]:
    return lambda lca: h.leaf_count[lca] / len(h.leaves)


def leaf_share_by_name(h: Hierarchy) -> Callable[[str], float]:
    tree = plain(h)
    return lambda lca: len(tree.leaves_below(lca)) / len(tree.leaves)


CASES = [
    Case("flat-softmax", oracle.flat_softmax),
    Case("flat-softmax", oracle.flat_softmax, lambda _: {"label_smoothing": 0.2}, id="flat-softmax, smoothed"),
    Case("hxe", oracle.hxe),
    Case("hxe", oracle.hxe, lambda _: {"alpha": 0.7}, id="hxe, strong"),
    Case("multilabel-focal", oracle.multilabel_focal),
    Case(
        "multilabel-focal",
        oracle.multilabel_focal,
        lambda _: {"alpha": None, "gamma": 0.0},
        id="multilabel-focal, plain",
    ),
    Case("multilabel-focal", oracle.multilabel_focal, lambda _: {"gamma": 0.5}, id="multilabel-focal, root"),
    Case("conditional-softmax", oracle.conditional_softmax),
    Case("conditional-sigmoid", oracle.conditional_sigmoid),
    Case("deep-rtc", oracle.deep_rtc, lambda _: {"cut_probability": 0.3}),
    Case("ps-softmax", oracle.ps_softmax),
    Case("softmax-descendant", oracle.softmax_descendant),
    Case("softmax-margin", oracle.softmax_margin),
    Case(
        "softmax-margin", oracle.softmax_margin, lambda _: {"hard": True, "alpha": 0.3}, id="softmax-margin, hard"
    ),
    Case(
        "softmax-margin",
        oracle.softmax_margin,
        lambda _: {"margin": "depth", "alpha": 0.5},
        lambda _: {"kind": "depth", "alpha": 0.5},
        id="softmax-margin, depth",
    ),
    Case(
        "softmax-margin",
        oracle.softmax_margin,
        lambda _: {"margin": "information"},
        lambda _: {"kind": "information"},
        id="softmax-margin, information",
    ),
    Case(
        "softmax-margin",
        oracle.softmax_margin,
        lambda h: {"margin": leaf_share(h)},
        lambda h: {"kind": leaf_share_by_name(h)},
        id="softmax-margin, own",
    ),
    Case("soft-labels", oracle.soft_labels),
    Case(
        "logit-adjusted-conditional-softmax",
        oracle.logit_adjusted,
        lambda h: {"counts": list(counts(h).values()), "tau": 1.5},
        lambda h: {"counts": counts(h), "tau": 1.5},
    ),
]

EVERY_LABEL_MIXED = ["a,b", "b,b1", "b,b2", "b2,b2x", "b2,b2y", "b2,b2z", "a,c", "a,d", "d,e", "e,f", "f,g", "a,k"]


def tree_of(edges: list[str]) -> Hierarchy:
    return Hierarchy.from_edges([(edge.split(",")[0], edge.split(",")[1]) for edge in edges])


TREES = {
    "mixed": tree_of(EVERY_LABEL_MIXED),
    "star": tree_of([f"r,{i}" for i in range(6)]),
    "chain": tree_of(["r,s", "s,t", "t,u", "u,v"]),
    "one leaf": tree_of(["r,s"]),
    "comb": tree_of(["r,a", "r,b", "a,c", "a,d", "c,e", "c,f"]),
}
"""Leaves and chains at several depths; one level; no choice at all; a single leaf; a choice at each level."""


def ident(case: Case) -> str:
    return case.id or case.name


def scores(method: Method, rows: int, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    random = np.random.default_rng(seed)
    return torch.tensor(random.normal(size=(rows, len(method.outputs))) * 3, dtype=dtype)


def every_label(h: Hierarchy) -> Tensor:
    return torch.arange(len(h))


def given_cut(method: Method, rows: int, seed: int = 0) -> dict[str, Tensor]:
    """What else a loss is given, so that nothing is random."""
    if not isinstance(method, methods.METHODS["deep-rtc"]):
        return {}
    return {"cut": method.sample_cut(rows, torch.Generator().manual_seed(seed))}  # type: ignore[operator]
