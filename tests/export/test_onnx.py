"""Decisions as ONNX: the test vectors, random rows, links, classifiers and the command; run by onnxruntime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import likelihood
from hedgerow.choose import FAMILIES
from hedgerow.errors import ParameterError
from hedgerow.export import onnx_links, onnx_model
from hedgerow.export.onnx_graph import Graph
from hedgerow.export.onnx_links import linked
from hedgerow.export.onnx_model import _Decision
from tests.choose.test_point import KINDS
from tests.export.vectors import CASES
from tests.export.write_vectors import CHAINS, UNEVEN, made_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

WIDE = hr.Hierarchy.from_edges(
    [("r", f"a{i}") for i in range(30)] + [(f"a{i}", f"b{i}.{j}") for i in range(30) for j in range(i % 6)]
)


def session(model: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # refused rows are not news
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def has_no_model(point: hr.OperatingPoint) -> bool:
    """Check that points with thresholds by clade or rank are refused, and tell whether this is one."""
    if point.by in ("all", "group"):
        return False
    with pytest.raises(ParameterError, match=rf"for each {point.by}, .* use hedgerow\.js .* or Python"):
        onnx_model(point)
    return True


@pytest.mark.parametrize("rule", FAMILIES)
def test_every_rule_can_be_exported(rule: str) -> None:
    assert rule in _Decision.RULES, f"_Decision.RULES in src/hedgerow/export/onnx_model.py: add {rule!r}"


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_vectors(name: str, double: bool) -> None:
    case = CASES[name]
    if case.content["point"]["by"] in ("clade", "rank"):
        assert has_no_model(case.point())
        return

    def answers(chosen: list[int]) -> list[str]:
        nodes = case.content["input"] == "likelihoods"
        run = session(onnx_model(case.point(), logits=case.logits, nodes=nodes, double=double))
        rows = np.array([case.rows[i] for i in chosen], dtype=np.float64 if double else np.float32)
        feed: dict[str, Any] = {case.content["input"]: rows}
        if case.groups is not None:
            feed["group"] = np.array([case.groups[i] for i in chosen], dtype=object)
        found: list[str] = run.run(["name"], feed)[0].tolist()
        return found

    good = [i for i, expected in enumerate(case.answers) if expected is not None]
    if good:
        assert answers(good) == [case.answers[i] for i in good]
    for i in set(range(len(case.rows))) - set(good):
        with pytest.raises(Exception, match=r"row is refused|invalid dimensions|more than scores|another version"):
            answers([i])


def test_a_leaf_that_is_as_specific_as_the_root_answers_only_above_the_threshold() -> None:
    tree = hr.Hierarchy.from_edges([("root", "only")])
    run = session(onnx_model(made_point(tree, 0.5), nodes=True))
    q = [[1.0, 0.5], [1.0, 0.75], [0.5, 0.75], [0.25, 0.25]]
    names = run.run(["name"], {"likelihoods": np.array(q, dtype=np.float32)})[0]
    assert names.tolist() == [row.name for row in hr.export.answers(made_point(tree, 0.5), q)]


def random_rows(count: int, leaves: int, seed: int) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, leaves)) * random.choice([1, 3, 6], size=(count, 1))
    p = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("tree", "dtype", "about"),
    [
        (CHAINS, np.float32, {}),
        (UNEVEN, np.float64, {}),
        (WIDE, np.float32, {"rule": "climbing"}),
    ],
)
def test_random_rows_have_the_answers_of_python(tree: hr.Hierarchy, dtype: Any, about: dict[str, Any]) -> None:
    point = made_point(tree, 0.3, **about)
    run = session(onnx_model(point, double=dtype is np.float64))
    p = random_rows(20_000, len(tree.leaves), 0).astype(dtype)
    node, name, q = run.run(None, {"probabilities": p})
    expected = likelihood.from_leaves(tree, p.astype(np.float64))
    answers = point.predict(expected)
    assert np.array_equal(node, answers)
    assert name.tolist() == tree.names[answers].tolist()
    assert np.array_equal(q, expected[np.arange(len(p)), answers])
    assert len(set(answers.tolist())) > len(tree) / 3


@pytest.mark.parametrize("kind", KINDS)
def test_points_that_select_chose_can_be_exported(kind: str) -> None:
    point = KINDS[kind]()
    if has_no_model(point):
        return
    run = session(onnx_model(point))
    p = random_rows(200, len(point.hierarchy.leaves), 1)
    feed: dict[str, Any] = {"probabilities": p.astype(np.float32)}
    groups = ["a", "ü", "c", "a"] * 50 if kind == "groups" else None
    if groups is not None:
        feed["group"] = np.array(groups, dtype=object)
    rows = hr.export.answers(point, p.astype(np.float32), groups=groups)
    assert run.run(["name"], feed)[0].tolist() == [row.name for row in rows]


def test_what_the_file_says_about_itself() -> None:
    point = KINDS["pac, clusters"]()
    about = session(onnx_model(point)).get_modelmeta().custom_metadata_map
    assert about["hedgerow_tree"] == point.hierarchy.fingerprint
    assert about["hedgerow_promise"] == "correct >= 0.9"
    assert about["hedgerow_version"] == point.version
    assert json.loads(about["hedgerow_classes"]) == point.hierarchy.names[point.hierarchy.leaves].tolist()
    content = {name: value for name, value in point.to_dict().items() if name != "tree"}
    assert json.loads(about["hedgerow_point"]) == json.loads(json.dumps(content))


def test_a_big_tree_makes_a_small_file() -> None:
    tree = hr.Hierarchy.from_lineages(
        [(f"order {i // 400}", f"family {i // 40}", f"genus {i // 4}", f"species {i}") for i in range(10_000)],
        ranks=["order", "family", "genus", "species"],
    )
    assert len(onnx_model(made_point(tree, 0.5)).SerializeToString()) < 2_000_000


@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
@pytest.mark.parametrize("link", likelihood.LINKS)
@pytest.mark.parametrize("tree", [CHAINS, UNEVEN, WIDE], ids=["chains", "uneven", "wide"])
def test_links(tree: hr.Hierarchy, link: str, scale: Any) -> None:
    assert link in onnx_links._LINKS, f"_LINKS in src/hedgerow/export/onnx_links.py: add {link!r}"
    width = len(likelihood.scored_nodes(tree, likelihood.LINKS[link].scored))
    theta = np.random.default_rng(0).normal(size=(50, width)) * 3
    graph = Graph()
    x = graph.input("theta", "float64", width)
    if scale == "logit" and link not in ("multilabel", "deep_rtc"):
        with pytest.raises(hr.HedgerowError, match="the model has none"):
            linked(graph, tree, scale, link, x)
        return
    distribution = link in ("flat_softmax", "ps_softmax", "conditional_softmax")
    for temperature in (1.0, 2.0) if distribution or scale == "logit" else (1.0,):
        graph = Graph()
        x = graph.input("theta", "float64", width)
        q = linked(graph, tree, scale, link, x, temperature)
        nodes = np.arange(len(tree))
        values = q.at(nodes)
        for place in nodes.tolist():
            column = graph("Squeeze", graph.columns(values, nodes[place : place + 1]), graph.integers([1]))
            graph.output(f"q{place}", column, "float64")
        found = np.stack(session(graph.model({})).run(None, {"theta": theta}), axis=1)
        one = getattr(likelihood, link)(tree, theta, scale=scale)
        expected = likelihood.tempered(tree, one, temperature, scale=scale).values  # type: ignore[union-attr]
        if scale == "log":  # likelihoods below 2**-62 are 0
            found, expected = np.exp(found), np.exp(expected)
        assert np.allclose(found, expected, rtol=0, atol=1e-12)


def test_what_cannot_be_exported() -> None:
    point = made_point(UNEVEN, 0.0, scale="logit")
    with pytest.raises(hr.HedgerowError, match=r"likelihoods of all nodes, .* leave out logits=True"):
        onnx_model(point, logits=True)
