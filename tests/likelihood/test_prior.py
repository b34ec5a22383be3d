"""Priors against their definition, for leaf probabilities, logits and listed classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hedgerow import Hierarchy, ScoreReading, likelihood, open_scores
from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.likelihood import Likelihoods, Prior
from hedgerow.score_files import read_prior

if TYPE_CHECKING:
    from pathlib import Path

TREE = Hierarchy.from_json({"r": {"a": ["b", "c"], "d": ["e", "f", "g"]}})
LEAVES = TREE.names[TREE.leaves].tolist()
Array = np.ndarray[Any, Any]


def slow(p: Array, prior: dict[str, float], trained: dict[str, float] | None = None) -> Array:
    """p'(leaf) ∝ p(leaf) π(leaf) / π_train(leaf), a clade's number spread over its leaves, summed up the tree."""

    def spread(given: dict[str, float]) -> Array:
        result = np.zeros(len(LEAVES))
        for name, number in given.items():
            inside = TREE.is_ancestor(TREE.index(name), TREE.leaves)
            result[inside] = number / inside.sum()
        return result

    rows = []
    for row in p:
        mass = row * spread(prior)
        mass = np.divide(mass, spread(trained), out=np.zeros(5), where=mass > 0) if trained else mass
        if mass.sum() == 0:
            rows.append([1.0] + [0.0] * 7)
        else:
            share = mass / mass.sum()
            rows.append([sum(share[TREE.is_ancestor(v, TREE.leaves)]) for v in range(8)])
    return np.array(rows)


P = np.vstack([np.random.default_rng(0).dirichlet(np.ones(5), size=20), [[0, 0, 0, 0.5, 0.5]]])
PRIOR = {"b": 0.5, "c": 2.0, "e": 0.25, "f": 0.0}
TRAINED = {"a": 3.0, "e": 1.0, "f": 1.0, "g": 5.0}


@pytest.mark.parametrize("trained", [None, TRAINED])
@pytest.mark.parametrize("prior", [PRIOR, {"a": 1.0, "d": 3.0}, {"r": 1.0}])
@pytest.mark.parametrize("kind", ["dense", "logits", "listed"])
def test_prior_is_its_definition(kind: str, prior: dict[str, float], trained: dict[str, float] | None) -> None:
    made = Prior.of(TREE, list(prior), list(prior.values()), trained=trained)
    q: Any = Likelihoods.of(TREE, likelihood.from_leaves(TREE, P))
    if kind == "logits":
        with np.errstate(divide="ignore"):
            q.logits = np.log(P) + 3
    if kind == "listed":
        rows = np.repeat(np.arange(len(P)), 5), np.tile(TREE.leaves, len(P)), P.ravel()
        q = likelihood.from_top(TREE, *rows, rows=len(P), renormalise=True)
    found: Any = likelihood.with_prior(TREE, q, made)
    values = found.dense().values if kind == "listed" else np.asarray(found)
    assert np.allclose(values, slow(P, prior, trained), atol=1e-12)
    assert found.treatment.prior == made.digest


def test_a_uniform_prior_changes_nothing() -> None:
    q = likelihood.from_leaves(TREE, P)
    same = likelihood.with_prior(TREE, q, Prior.of(TREE, ["r"], [7.0]))
    assert np.allclose(np.asarray(same), q, atol=1e-15)
    trained = {"a": 3.0, "d": 1.0}
    same = likelihood.with_prior(TREE, q, Prior.of(TREE, list(trained), [6.0, 2.0], trained=trained))
    assert np.allclose(np.asarray(same), q, atol=1e-15)


def test_a_list_keeps_its_classes_like_a_restriction() -> None:
    q = likelihood.from_leaves(TREE, P[:-1])
    kept = likelihood.with_prior(TREE, q, Prior.of(TREE, ["a", "b", "f"]))
    assert np.allclose(np.asarray(kept), np.asarray(likelihood.restrict(TREE, q, ["a", "f"])))


def test_the_mass_of_inner_nodes_stays_there() -> None:
    """Half of what is known to be below "a" is weighed like its leaves together."""
    q = likelihood.from_top(TREE, [0, 0], ["a", "e"], [0.5, 0.5], rows=1)
    weighed: Any = likelihood.with_prior(TREE, q, Prior.of(TREE, ["a", "e"], [0.2, 0.6]))
    found = weighed.dense().values[0]
    mass = {"a": 0.5 * 0.1, "e": 0.5 * 0.6}  # a uniform prior gives "a" two fifths: 0.2 / 2 for each of its leaves
    expected = [1, mass["a"], 0, 0, mass["e"], mass["e"], 0, 0]
    assert found[1:] == pytest.approx(np.array(expected[1:]) / sum(mass.values()))


def test_groups_have_rows_of_their_own() -> None:
    made = Prior.of(TREE, ["b", "c", "d"], [1, 3, 1], ["north", "north", "south"])
    q = likelihood.from_leaves(TREE, P)
    groups = ["south", "north"] * 10 + ["south"]
    found = np.asarray(likelihood.with_prior(TREE, q, made, groups))
    north = slow(P, {"b": 1, "c": 3})
    south = slow(P, {"d": 1})
    assert np.allclose(found, np.where(np.array(groups)[:, None] == "north", north, south))
    with pytest.raises(HedgerowError, match=r"no rows for the group 'nort'. Did you mean 'north'"):
        likelihood.with_prior(TREE, q, made, ["nort"] * 21)
    with pytest.raises(ParameterError, match="needs to know the group"):
        likelihood.with_prior(TREE, q, made)


def test_the_digest_is_that_of_the_numbers() -> None:
    one = Prior.of(TREE, ["b", "c"], [1, 2])
    assert one.digest == Prior.of(TREE, ["c", "b"], [2, 1]).digest
    others = [Prior.of(TREE, ["b", "c"]), Prior.of(TREE, ["b", "c"], [1, 3]), Prior.of(TREE, ["b"], [1])]
    others += [
        Prior.of(TREE, ["b", "c"], [1, 2], trained={"a": 1.0}),
        Prior.of(TREE, ["b", "c"], [1, 2], ["x"] * 2),
    ]
    assert len({one.digest, *(other.digest for other in others)}) == 6


def scores(path: Path) -> Path:
    rows = "\n".join(",".join(map(str, row)) for row in P.tolist())
    path.write_text(",".join(LEAVES) + "\n" + rows + "\n", encoding="utf-8")
    return path


def test_what_is_impossible_is_counted(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("class\na\n", encoding="utf-8")
    file = open_scores(scores(tmp_path / "s.csv"), TREE, ScoreReading(prior=tmp_path / "list.csv"), labels=False)
    (block,) = file
    assert np.allclose(block.q, slow(P, {"a": 1.0}))
    assert file.warnings == ["1 example has no class that the prior allows: the answer there is the root."]
    (half,) = file.tempered(2.0)
    softened = np.sqrt(P) / np.sqrt(P).sum(axis=1, keepdims=True)
    assert np.allclose(half.q, slow(softened, {"a": 1.0}))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("class,prior\nb,-1\n", "'b' has -1. A prior is a number from 0 on"),
        ("class,prior\nb,1\nc,\n", "'c' has no number"),
        ("class,prior\nb,x\n", "line 2 has 'x' for 'prior', which is not a number"),
        ("class,prior\nb,inf\n", "'b' has inf"),
        ("class,prior\nb,0\nc,0\n", "every class has the prior 0"),
        ("class,prior\nbb,1\n", "'bb' is not in the tree"),
        ("class,prior\nb,1\nb,2\n", "'b' is listed twice"),
        ("class,prior\na,1\nb,2\n", "'b' lies below 'a', and both have a number"),
        (
            "class,number\nb,1\n",
            "has the column 'number'; its columns are 'class', and optionally 'prior' and 'group'",
        ),
        ("class,prior,group\nb,1,x\nb,0,y\n", "in the group 'y', every class has the prior 0"),
        ("class\n", "has a header and no rows"),
    ],
)
def test_bad_tables(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "prior.csv").write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match=said) as error:
        read_prior(tmp_path / "prior.csv", TREE)
    assert str(tmp_path / "prior.csv") in str(error.value)


def test_bad_priors_of_training(tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("class\nb\n", encoding="utf-8")
    (tmp_path / "list.csv").write_text("class\nb\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("class,prior\nc,1\n", encoding="utf-8")
    with pytest.raises(FileError, match="has no column 'prior', which holds the prior of each row"):
        read_prior(tmp_path / "prior.csv", TREE, tmp_path / "list.csv")
    with pytest.raises(ParameterError, match="allows 'b', which the prior of training does not have"):
        read_prior(tmp_path / "prior.csv", TREE, tmp_path / "other.csv")


def test_sigmoids_have_no_prior() -> None:
    with pytest.raises(HedgerowError, match="can be given a prior; in row 0, the children of 'r' sum to more"):
        likelihood.with_prior(TREE, [[1.0, 0.9, 0.5, 0.4, 0.9, 0.3, 0.3, 0.3]], Prior.of(TREE, ["b"]))
