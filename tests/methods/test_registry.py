"""Names, parameters and errors."""

from __future__ import annotations

import copy
import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
import torch

from hedgerow import Hierarchy, likelihood, methods
from hedgerow.errors import HedgerowError, ParameterError, ScoreError
from tests.methods.cases import CASES, TREES, Case, ident

H = TREES["mixed"]
OF_THE_PAPER = {
    "flat-softmax": ("leaves", {"label_smoothing": 0.0}),
    "hxe": ("leaves", {"alpha": 0.1}),
    "multilabel-focal": ("nodes but the root", {"alpha": 0.9, "gamma": 1.0}),
    "conditional-softmax": ("nodes but the root", {}),
    "conditional-sigmoid": ("nodes but the root", {}),
    "deep-rtc": ("nodes but the root", {"cut_probability": 0.1}),
    "ps-softmax": ("nodes but the root", {}),
    "softmax-descendant": ("nodes", {}),
    "softmax-margin": ("nodes", {"alpha": 5.0, "margin": "correct", "hard": False}),
}


def columns(h: Hierarchy, which: str) -> list[int]:
    every = list(range(len(h)))
    if which == "leaves":
        return [v for v in every if h.is_leaf[v]]
    return every if which == "nodes" else every[1:]


def test_the_nine_methods_of_the_paper_come_first() -> None:
    assert methods.available()[:9] == list(OF_THE_PAPER)


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_outputs_and_defaults(name: str) -> None:
    which, defaults = OF_THE_PAPER[name]
    method = methods.create(name, H)
    assert method.outputs.dtype == np.int64
    assert method.outputs.tolist() == columns(H, which)
    assert methods.parameters(name) == defaults
    assert all(getattr(method, key, value) == value for key, value in defaults.items())


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(
        ParameterError, match=r"no method 'softmax'. There are flat-softmax, hxe, multilabel-focal"
    ):
        methods.create("softmax", H)


def test_an_unknown_parameter_lists_what_there_is() -> None:
    with pytest.raises(
        ParameterError, match="'softmax-margin' has no parameter 'beta'; it has alpha, margin, hard"
    ):
        methods.create("softmax-margin", H, beta=1.0)
    with pytest.raises(ParameterError, match="'ps-softmax' has no parameter 'alpha'; it has none"):
        methods.create("ps-softmax", H, alpha=1.0)


@pytest.mark.parametrize(
    ("name", "params", "match"),
    [
        ("flat-softmax", {"label_smoothing": 1.5}, "label_smoothing must lie between 0 and 1, not 1.5"),
        ("hxe", {"alpha": -1.0}, "alpha must be 0 or more"),
        ("hxe", {"alpha": float("nan")}, "alpha must be 0 or more"),
        (
            "multilabel-focal",
            {"gamma": 1e308},
            "gamma of 'multilabel-focal' must be at most 1e[+]06, not 1e[+]308",
        ),
        ("hxe", {"alpha": None}, "The method 'hxe': alpha must be a number, not None"),
        ("hxe", {"alpha": "0.1"}, "The method 'hxe': alpha must be a number, not '0.1'"),
        ("softmax-margin", {"hard": "no"}, "The method 'softmax-margin': hard must be true or false, not 'no'"),
        ("multilabel-focal", {"alpha": 2.0}, "alpha must lie between 0 and 1"),
        (
            "multilabel-focal",
            {"gamma": float("inf")},
            "gamma of 'multilabel-focal' must be at most 1e[+]06, not inf",
        ),
        ("deep-rtc", {"cut_probability": -0.1}, "cut_probability must lie between 0 and 1"),
        ("softmax-margin", {"alpha": -5.0}, "alpha must be 0 or more"),
        ("softmax-margin", {"margin": "edges"}, "margin must be 'correct', 'depth', 'information' or a function"),
        ("softmax-margin", {"margin": lambda lca: lca[:1]}, "one finite value for each"),
        ("soft-labels", {"beta": -1.0}, "beta must be 0 or more"),
        ("logit-adjusted-conditional-softmax", {"tau": -1.0}, "tau must be 0 or more"),
        (
            "logit-adjusted-conditional-softmax",
            {"counts": [1.0, 2.0]},
            "counts must hold a number, 0 or more, for each",
        ),
        (
            "logit-adjusted-conditional-softmax",
            {"counts": -np.ones(len(H))},
            "counts must hold a number, 0 or more",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, params: dict[str, Any], match: str) -> None:
    with pytest.raises(HedgerowError, match=match):
        methods.create(name, H, **params)


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_wrong_shapes_and_labels_are_refused(case: Case) -> None:
    method = case.create(H)
    width = len(method.outputs)
    theta, labels = torch.zeros(2, width), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ScoreError, match=rf"Scores must be \[batch, {width}\], one column for each of the"):
        method.loss(torch.zeros(2, width + 1), labels)
    with pytest.raises(ScoreError, match="One label per row is needed; got 2 rows and labels of shape"):
        method.loss(theta, torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ScoreError, match=r"a tensor of node indices, such as torch.tensor\(h.indices\(names\)\)"):
        method.loss(theta, [0, 1])  # type: ignore[arg-type]
    with pytest.raises(ScoreError, match="Labels must be integer node indices, not torch"):
        method.loss(theta, torch.zeros(2))
    for outside in (-1, len(H)):
        with pytest.raises(ScoreError, match=f"{outside} is not a node index"):
            method.loss(theta, torch.tensor([0, outside]))
    assert method.loss(theta, labels.to(torch.int32)).shape == (2,)
    assert method.loss(torch.zeros(0, width), labels[:0]).shape == (0,)


def test_numbers_of_any_kind_are_taken() -> None:
    assert methods.create("multilabel-focal", H, alpha=None, gamma=np.float32(2)).gamma == 2
    assert methods.create("hxe", H, alpha=1).alpha == 1


def test_a_cut_of_the_wrong_kind_is_refused() -> None:
    method = methods.create("deep-rtc", H)
    theta, labels = torch.zeros(2, len(method.outputs)), torch.zeros(2, dtype=torch.int64)
    for cut in (torch.zeros(2, 3, dtype=torch.bool), torch.zeros(2, len(H))):
        with pytest.raises(ScoreError, match="A cut must be bool"):
            method.loss(theta, labels, cut=cut)


def test_torch_stays_out_until_methods_are_asked_for() -> None:
    code = "import sys, hedgerow; assert 'torch' not in sys.modules; from hedgerow import methods; methods.create"
    subprocess.run([sys.executable, "-c", code], check=True)


class Halved(methods.Method):
    """A method of somebody else's: half of a flat softmax."""

    scores = "leaves"
    link = staticmethod(likelihood.flat_softmax)
    laws: frozenset[methods.Law] = frozenset()

    def _loss(self, theta: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return methods.create("flat-softmax", self.hierarchy).loss(theta, labels) / 2


def test_methods_of_ones_own_by_name_and_by_path(monkeypatch: pytest.MonkeyPatch) -> None:
    h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    theta, labels = torch.tensor([[1.0, 3.0]]), torch.tensor([1])
    expected = methods.create("flat-softmax", h).loss(theta, labels) / 2
    by_path = methods.create("tests.methods.test_registry:Halved", h)
    assert torch.equal(by_path.loss(theta, labels), expected)
    monkeypatch.setattr(methods, "METHODS", copy.copy(methods.METHODS))
    methods.register("halved", Halved)
    assert "halved" in methods.available()
    assert torch.equal(methods.create("halved", h).loss(theta, labels), expected)
    with pytest.raises(ParameterError, match="already"):
        methods.register("hxe", Halved)
    with pytest.raises(ParameterError, match="not a method"):
        methods.create("tests.methods.test_registry:torch", h)
    with pytest.raises(ParameterError, match=r"cannot be imported.*package\.module:object.*python -m hedgerow"):
        methods.create("tests.methods.nowhere:Halved", h)


def test_methods_of_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("thirds", "tests.methods.test_registry:Halved", "hedgerow.methods")

    def found(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point] if group == "hedgerow.methods" and name in (None, "thirds") else []

    monkeypatch.setattr(methods, "METHODS", copy.copy(methods.METHODS))
    monkeypatch.setattr("hedgerow.registry.entry_points", found)
    assert methods.find("thirds").__name__ == "Halved"
    assert methods.available()[-1] == "thirds"


def test_a_link_of_ones_own_needs_its_nodes() -> None:
    def flat_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Any = "probability") -> Any:
        return likelihood.softmax_over_nodes(hierarchy, theta, scale=scale)

    tree = next(iter(TREES.values()))
    own: Any = type("Own", (Halved,), {"scores": None, "link": staticmethod(flat_softmax)})
    with pytest.raises(ParameterError, match=r"Own has a link of its own: say which nodes have a score"):
        own(tree)
    named: Any = type("Named", (Halved,), {"scores": "nodes", "link": staticmethod(flat_softmax)})
    assert named(tree).width == len(tree)
    known: Any = type("Known", (Halved,), {"scores": None})
    assert known(tree).width == len(tree.leaves)
