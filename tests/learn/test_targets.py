"""Labels as people have them, as nodes of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict

from hedgerow import Hierarchy
from hedgerow.errors import TreeError, UnknownNameError
from hedgerow.learn.classifier import HedgedClassifier
from hedgerow.learn.targets import is_lineages, nodes_of


def test_a_lineage_tells_apart_classes_that_share_a_name() -> None:
    rows = [("plants", "Morus", "alba"), ("birds", "Morus", "bassanus"), ("birds", "birds"), ("plants", "Rosa")]
    h = Hierarchy.from_lineages(rows, ranks=None, disambiguate=True)
    expected = ["alba", "root/birds/Morus", "plants/Morus", "bassanus", "root/birds", "root/birds/birds", "Rosa"]
    given = [rows[0], rows[1][:2], rows[0][:2], rows[1], ("birds",), rows[2], rows[3]]
    trees = [h, Hierarchy.from_edges([(h.names[h.parent[v]], h.names[v]) for v in range(1, len(h))])]
    for tree in trees:  # the second has no aliases
        assert tree.names[nodes_of(tree, given)].tolist() == expected
        with pytest.raises(UnknownNameError, match="'Morus'"):
            nodes_of(tree, [("", "Morus")])
    single = Hierarchy.from_lineages([("a", "a", "b"), ("a", "c")], ranks=None, disambiguate=True)
    assert single.names[nodes_of(single, [("a",), ("a", "a")])].tolist() == ["a", "a/a"]


def test_a_class_within_another_of_the_same_name() -> None:
    rows = [("A", "A", "a1"), ("A", "A", "a2"), ("B", "A", "b1"), ("A", "", ""), ("A", "A", ""), ("B", "A", "")]
    h = Hierarchy.from_lineages(rows, ranks=None, disambiguate=True)
    assert h.names[nodes_of(h, rows)].tolist() == ["a1", "a2", "b1", "root/A", "root/A/A", "B/A"]
    frame = pd.DataFrame(rows)
    clf = HedgedClassifier(h, C=1).fit(np.eye(6), frame)
    assert clf.classes_.tolist() == ["a1", "a2", "b1"]


def test_lineages_may_stand_in_one_column() -> None:
    h = Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": {}}})
    paths = pd.Series(["bird/robin", "fish", "bird/wren"])
    for labels in (paths.str.split("/"), paths.str.split("/").to_numpy(), paths.str.split("/").tolist()):
        assert h.names[nodes_of(h, labels)].tolist() == ["robin", "fish", "wren"]
        assert is_lineages(labels)
    missing = pd.Series([None, "bird/wren", np.nan]).str.split("/")
    assert h.names[nodes_of(h, missing)].tolist() == ["animal", "wren", "animal"]
    for blank in (np.float32("nan"), pd.NaT, pd.NA, None):
        assert h.names[nodes_of(h, [("bird", blank), blank])].tolist() == ["bird", "animal"]
    assert h.names[nodes_of(h, [("bird", "wren"), "fish"])].tolist() == ["wren", "fish"]
    plain: list[Any] = [paths, paths.astype("category"), paths.to_numpy(), np.arange(3), "robin", None, []]
    assert not any(map(is_lineages, plain))


def test_lineages_that_span_no_tree() -> None:
    X = np.eye(2)
    for rows in ([("plants", "Morus"), ("birds", "Morus")], [("root", "a"), ("b", "c")]):
        with pytest.raises(TreeError, match=r"Build the tree first, with Hierarchy\.from_lineages"):
            HedgedClassifier().fit(X, rows)


def test_scikit_learn_replaces_names_by_numbers() -> None:
    h = Hierarchy.from_edges([("animal", "bird"), ("animal", "fish")])
    X, y = np.random.default_rng(0).normal(size=(40, 2)), ["bird", "fish"] * 20
    with pytest.raises(UnknownNameError, match="numbers before they fit: fit in a loop"):
        cross_val_predict(HedgedClassifier(h, C=1), X, y, method="predict_proba")
    with pytest.raises(UnknownNameError, match=r"'0'.$"):
        nodes_of(h, ["0"])
