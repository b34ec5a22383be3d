"""The answers of other tools, from plain loops that follow their documentation, are answers of our rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hedgerow import Hierarchy, infer, likelihood

if TYPE_CHECKING:
    from hedgerow.likelihood import SparseLikelihoods

Lineage = tuple[str, ...]
RANKS = ("class", "order", "family", "genus", "species")


def random_lineages(random: np.random.Generator, count: int) -> list[Lineage]:
    """Distinct lineages of five ranks; many taxa have one child."""
    found: set[Lineage] = set()
    while len(found) < count:
        path: list[str] = []
        for letter in "cofgs":
            path.append(f"{path[-1] if path else ''}{letter}{random.integers(2)}")
        found.add(tuple(path))
    return sorted(found)


def tree_of(classes: list[Lineage]) -> Hierarchy:
    ranks = ("root", *RANKS)
    return Hierarchy.from_lineages([dict(zip(ranks, ("life", *name), strict=True)) for name in classes])


def lineages_of(h: Hierarchy, nodes: Any) -> list[Lineage]:
    return [tuple(h.names[h.lineage(int(node))[1:]]) for node in nodes]


# QIIME 2 ---------------------------------------------------------------------------------------------------


def qiime2(classes: list[Lineage], probabilities: list[float], confidence: float) -> Lineage:
    """q2-feature-classifier: walk down the lineage of the most likely class while the summed probability of all
    classes that share it is at least `confidence`."""
    best = classes[max(range(len(classes)), key=probabilities.__getitem__)]
    kept: Lineage = ()
    for depth in range(1, len(best) + 1):
        total = sum(p for name, p in zip(classes, probabilities, strict=True) if name[:depth] == best[:depth])
        if total < confidence:
            break
        kept = best[:depth]
    return kept


@pytest.mark.parametrize("confidence", [0.25, 0.5, 0.7, 0.75, 0.875])
def test_climbing_gives_the_answer_of_qiime2(confidence: float) -> None:
    random = np.random.default_rng(int(confidence * 8))
    for _ in range(40):
        classes = random_lineages(random, int(random.integers(2, 12)))
        h = tree_of(classes)
        p = random.multinomial(8, random.dirichlet(np.full(len(classes), 0.3)), size=6) / 8  # sums reach τ exactly
        expected = [qiime2(classes, row, confidence) for row in p.tolist()]
        names = [name[-1] for name in classes]
        rule: dict[str, Any] = {"inclusive": True, "single_child": "answer"}
        dense = infer.climbing(h, likelihood.from_leaves(h, p, names), confidence, **rule)
        row = np.repeat(np.arange(len(p)), len(names))
        q = likelihood.from_top(h, row, names * len(p), p.ravel(), rows=len(p))
        # Of equally likely classes, we take the one that comes first in the tree, as the loop does.
        assert lineages_of(h, dense) == expected
        assert lineages_of(h, infer.climbing(h, q, confidence, **rule)) == expected


# vsearch ---------------------------------------------------------------------------------------------------


def vsearch(ranks: list[tuple[str, float]], cutoff: float) -> Lineage:
    """vsearch --sintax_cutoff: the ranks whose support is at least the cutoff."""
    return tuple(name for name, support in ranks if support >= cutoff)


def test_threshold_gives_the_last_rank_that_vsearch_keeps() -> None:
    random = np.random.default_rng(0)
    classes = random_lineages(random, 14)
    h = tree_of(classes)
    listed = [classes[i] for i in random.integers(len(classes), size=300)]
    # Falling support, as vsearch writes it, and support in any order, as bootstraps of other tools may be.
    support = np.round(random.random((300, 5)), 1)
    support[:200] = -np.sort(-support[:200], axis=1)
    row = np.repeat(np.arange(300), 5)
    q = likelihood.from_lineages(h, row, np.array(listed).ravel(), support.ravel(), rows=300)
    for cutoff in (0.5, 0.8, 1.0):
        answers = infer.threshold(h, q, cutoff, inclusive=True, single_child="answer")
        kept = [
            vsearch(list(zip(*pair, strict=True)), cutoff) for pair in zip(listed, support.tolist(), strict=True)
        ]
        assert [h.names[node] for node in answers] == [ranks[-1] if ranks else "life" for ranks in kept]
        # Where support falls, these ranks are the lineage of the answer, and a walk from the top ends there too.
        assert lineages_of(h, answers[:200]) == kept[:200]
        walked = infer.top_down(h, q[:200], cutoff, inclusive=True, single_child="answer")
        assert walked.tolist() == answers[:200].tolist()


TABBED = """\
q4\td:Bacteria(1.00),p:P0(1.00),f:F01(1.00),g:G012(1.00),s:S0122(0.80)\t+\td:Bacteria,p:P0,f:F01,g:G012,s:S0122
q38\td:Bacteria(1.00),p:P2(1.00),f:F20(1.00),g:G200(1.00),s:S2001(0.79)\t+\td:Bacteria,p:P2,f:F20,g:G200
q378\td:Bacteria(1.00),p:P0(1.00),f:F01(1.00),g:G010(0.76),s:S0101(0.69)\t+\td:Bacteria,p:P0,f:F01
"""
"""Lines of vsearch 2.22 with --sintax_cutoff 0.8, for sequences made at random."""


def test_what_vsearch_wrote() -> None:
    lines = [line.split("\t") for line in TABBED.splitlines()]
    ranks = [re.findall(r"(\w:\w+)\(([\d.]+)\)", line[1]) for line in lines]
    h = Hierarchy.from_paths([";".join(name for name, _ in read) for read in ranks], root="life", separator=";")
    entries = [(i, name, float(support)) for i, read in enumerate(ranks) for name, support in read]
    row, names, support = zip(*entries, strict=True)
    q: SparseLikelihoods = likelihood.from_lineages(h, row, names, support, rows=len(lines))
    answers = infer.threshold(h, q, 0.8, inclusive=True, single_child="answer")
    path = [",".join(h.names[h.lineage(int(node))].tolist()) for node in answers]
    assert [text.removeprefix("life,") for text in path] == [line[3] for line in lines]


# SpeciesNet ------------------------------------------------------------------------------------------------


def rolled_up(top: list[tuple[Lineage, float]], threshold: float) -> Lineage:
    """SpeciesNet: at each level from genus up, sum the scores of the best classes below each taxon; answer with
    the best taxon of the first level at which a sum exceeds the threshold."""
    for depth in (4, 3, 2, 1):
        sums: dict[Lineage, float] = {}
        for name, score in top:
            if len(name) >= depth:
                sums[name[:depth]] = sums.get(name[:depth], 0.0) + score
        best = max(sums, key=sums.__getitem__, default=())
        if sums.get(best, 0.0) > threshold:
            return best
    return ()


def test_a_threshold_gives_the_roll_up_of_speciesnet() -> None:
    random = np.random.default_rng(0)
    classes = random_lineages(random, 20)
    h = tree_of(classes)
    taxa = sorted({name[:depth] for name in classes for depth in range(1, 6)})  # species and higher taxa mixed
    images = []
    for _ in range(400):
        best = [taxa[i] for i in random.choice(len(taxa), 4, replace=False)]
        scores = (
            random.multinomial(64, random.dirichlet(np.full(6, 0.4))) / 64
        )  # one more for blank, the rest unknown
        images.append((best, scores.tolist()))
    row = np.repeat(np.arange(400), 5)
    names = [name for best, _ in images for name in (*(taxon[-1] for taxon in best), "blank")]
    listed = [score for _, given in images for score in given[:5]]
    q = likelihood.from_top(h, row, names, listed, rows=400, outside=["blank"])
    answer = infer.threshold(h, q, 0.65, single_child="answer")
    assert h.rank is not None
    answer = np.where(h.rank[answer] == "species", h.parent[answer], answer)  # the roll-up starts at the genus
    expected = [rolled_up(list(zip(best, given[:4], strict=True)), 0.65) for best, given in images]
    assert lineages_of(h, answer) == expected
    assert 50 < sum(map(bool, expected)) < 350


@pytest.mark.parametrize(("tau", "shares"), [(0.9, (3, 3, 3, 1)), (0.9, (6, 6, 6, 2)), (0.8, (9, 9, 10, 7))])
def test_a_sum_of_shares_that_is_exactly_the_threshold_is_enough(tau: float, shares: tuple[int, ...]) -> None:
    """Each share is rounded, and so is their sum."""
    h = Hierarchy.from_edges([("root", "a"), ("root", "x"), ("a", "b"), ("a", "c"), ("a", "d")])
    p = np.array(shares) / sum(shares)
    q = likelihood.from_top(h, [0] * 4, ["b", "c", "d", "x"], p, rows=1)
    assert h.names[infer.climbing(h, q, tau, inclusive=True)].tolist() == ["a"]
    assert h.names[infer.threshold(h, q, tau, inclusive=True)].tolist() == ["a"]
    for above in (tau + 1e-9, tau + 1e-6):
        assert h.names[infer.climbing(h, q, above, inclusive=True)].tolist() == ["root"]
