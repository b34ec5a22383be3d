"""Classifiers that travel: as a file for NumPy alone, and as ONNX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow import methods
from hedgerow.learn.classifier import HedgedClassifier
from tests.own import TwiceTheLoss

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TREE = hr.Hierarchy.from_lineages(
    [(f"order {i // 6}", f"family {i // 3}", f"species {i}") for i in range(18)],
    ranks=["order", "family", "species"],
)
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.choice(TREE.leaves, 400)
CENTRES = RANDOM.normal(size=(len(TREE), 6))
X = (CENTRES[LABELS] + CENTRES[TREE.parent[LABELS]] + RANDOM.normal(size=(400, 6))) * [1, 10, 0.1, 1, 1, 1]
NAMES = TREE.names[LABELS]


def fitted(**options: Any) -> HedgedClassifier:
    given = {"C": 20.0, "epochs": 2, "random_state": 0} | options
    return HedgedClassifier(TREE, **given).fit(X, NAMES)


def same(clf: HedgedClassifier, path: Path, features: Any = X) -> hr.export.Model:
    """Export, read again, and compare everything that both can do."""
    clf.export(path)
    model = hr.load_model(path)
    answers = clf.predict(features)
    assert np.array_equal(model.predict(features), answers)
    assert np.array_equal(model.predict_leaf(features), clf.predict_leaf(features))
    assert np.array_equal(model.predict_likelihood(features), clf.predict_likelihood(features))
    assert [str(each.name) for each in model.answers(features)] == [str(answer) for answer in answers]
    return model


@pytest.mark.parametrize("method", methods.available())
def test_every_method(method: str, tmp_path: Path) -> None:
    model = same(fitted(method=method, operating_point=0.6), tmp_path / "model.npz")
    assert 1 < len(set(model.predict(X).tolist())) <= len(TREE)


@pytest.mark.parametrize(
    "options",
    [
        {"target": ("correct", 0.8)},
        {"hidden": (7, 5)},
        {"C": "auto"},
        {},
        {"target": ("correct", 0.8), "method": "multilabel-focal"},
    ],
)
def test_points_layers_and_temperatures(options: dict[str, Any], tmp_path: Path) -> None:
    clf = fitted(**options)
    model = same(clf, tmp_path / "model.npz")
    assert (model.point is None) == ("target" not in options)
    assert len(model.layers) == 1 + len(options.get("hidden", ()))
    assert model.temperature == clf.temperature_
    same(clf, tmp_path / "again.npz", X.astype(np.float32))
    same(clf, tmp_path / "again.npz", np.asfortranarray(X))


def test_sparse_features_and_frames(tmp_path: Path) -> None:
    counts = sparse.csr_matrix(RANDOM.poisson(0.3, size=(400, 30)).astype(np.float64))
    clf = HedgedClassifier(TREE, C=20.0, epochs=1, random_state=0).fit(counts, NAMES)
    same(clf, tmp_path / "model.npz", counts)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = HedgedClassifier(TREE, C=20.0, epochs=1, random_state=0).fit(frame, NAMES)
    model = same(clf, tmp_path / "model.npz", frame)
    with pytest.raises(hr.HedgerowError, match="not the features"):
        model.predict(frame[["b", "a", "c", "d", "e", "f"]])


@pytest.mark.parametrize("labels", [LABELS % 3, np.array(["x", "yy", "z"])[LABELS % 3]])
def test_trees_made_from_labels(labels: Any, tmp_path: Path) -> None:
    clf = HedgedClassifier(C=20.0, epochs=1, random_state=0).fit(X, labels)
    model = same(clf, tmp_path / "model.npz")
    assert model.predict(X).dtype.kind == labels.dtype.kind
    clf.set_operating_point(0.9)
    assert "root" in set(map(str, same(clf, tmp_path / "model.npz").predict(X)))


def test_it_answers_without_torch_and_scikit_learn(tmp_path: Path) -> None:
    clf = fitted(target=("correct", 0.8))
    clf.export(tmp_path / "model.npz")
    np.save(tmp_path / "X.npy", X)
    source = Path(hr.__file__).parents[1]
    code = f"""
import sys
sys.path.insert(0, {str(source)!r})
import numpy as np
import hedgerow as hr
print("\\n".join(hr.load_model("model.npz").predict(np.load("X.npy"))))
assert not {{"torch", "sklearn", "scipy.special"}} & set(sys.modules)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == clf.predict(X).tolist()


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(hr.HedgerowError, match="a link of its own"):
        HedgedClassifier(TREE, method=TwiceTheLoss, C=20.0, epochs=1).fit(X, NAMES).export(tmp_path / "m.npz")
    clf = fitted()
    clf.set_operating_point(SimpleNamespace(predict=lambda q: np.zeros(len(q), dtype=np.int64)))
    assert set(clf.predict(X).tolist()) == {TREE.names[0]}
    with pytest.raises(hr.HedgerowError, match="SimpleNamespace, which cannot be exported"):
        clf.export(tmp_path / "m.npz")


@pytest.mark.parametrize("wrong", [X[:, :5], X[0], np.full((2, 6), np.nan), np.full((2, 6), np.inf)])
def test_bad_features_are_refused(wrong: Any, tmp_path: Path) -> None:
    clf = fitted(epochs=1)
    clf.export(tmp_path / "m.npz")
    with pytest.raises(hr.HedgerowError, match="Features must be"):
        hr.load_model(tmp_path / "m.npz").predict(wrong)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("divisor", np.zeros(6)),
        ("divisor", np.ones((6, 1))),
        ("mean", np.ones(5)),
        ("weight_0", np.full((6, 26), np.nan)),
        ("weight_0", np.ones((6, 3))),
        ("bias_0", np.ones(26, dtype=np.float32)),
        ("labels", np.array(["x"])),
        ("about", np.zeros(3, dtype=np.uint8)),
        ("about", np.array(["text"])),
    ],
)
def test_files_are_checked(name: str, changed: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    fitted(epochs=1).export(path)
    with np.load(path) as archive:
        content = dict(archive)
    np.savez(path, **content | {name: changed})
    with pytest.raises(hr.HedgerowError, match=r"m\.npz cannot be read as a model"):
        hr.load_model(path)
    np.savez(path, **{key: value for key, value in content.items() if key != "weight_0"})
    with pytest.raises(hr.HedgerowError, match=r"m\.npz cannot be read as a model"):
        hr.load_model(path)


# ONNX ----------------------------------------------------------------------------------------------------------


def run(model: Any, **feed: Any) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)


@pytest.mark.parametrize("method", methods.available())
def test_classifiers_as_onnx(method: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    clf = fitted(method=method, target=("correct", 0.8), hidden=(9,) if method == "hxe" else ())
    node, name, q = run(clf.to_onnx(path=tmp_path / "model.onnx"), features=X)
    assert (tmp_path / "model.onnx").stat().st_size > 0
    likelihoods = clf.predict_likelihood(X, clf.method_.scale)
    expected = clf.predict(X)
    differ = name != expected
    near = np.abs(likelihoods - clf.operating_point_.threshold).min(axis=1) < 1e-6
    assert not (differ & ~near).any()
    assert np.array_equal(TREE.names[node], name)
    p = clf.predict_likelihood(X)
    assert np.allclose(q[~differ], p[np.arange(len(X)), node][~differ], atol=1e-9)


def test_a_point_of_the_same_tree_in_another_order() -> None:
    pytest.importorskip("onnx")
    clf = fitted()
    turned = hr.Hierarchy.from_lineages(
        [(f"order {i // 6}", f"family {i // 3}", f"species {i}") for i in range(17, -1, -1)],
        ranks=["order", "family", "species"],
    )
    q = np.exp(clf.predict_likelihood(X, "log"))[:, TREE.indices(turned.names)]
    for rule in ("threshold", "climbing"):
        clf.set_operating_point(
            hr.select(turned, np.log(q), NAMES, scale="log", target=("correct", 0.8), rule=rule)
        )
        others = X + 0.1  # no likelihood of theirs is a threshold
        assert run(clf.to_onnx(), features=others)[1].tolist() == clf.predict(others).tolist()


def test_onnx_needs_a_point_for_all_examples_or_by_group() -> None:
    clf = fitted(epochs=1)
    with pytest.raises(hr.HedgerowError, match="needs a point"):
        clf.to_onnx()
    point = hr.select(TREE, clf.predict_likelihood(X), NAMES, target=("correct", 0.8), clades=1)
    with pytest.raises(hr.HedgerowError, match="a threshold for each clade"):
        clf.to_onnx(point)
