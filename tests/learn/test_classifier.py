"""HedgedClassifier: what scikit-learn expects, and what the tree adds."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow as hr
from hedgerow import methods, metrics
from hedgerow.errors import HedgerowError, ParameterError, TreeError, UnknownNameError
from hedgerow.learn import solver
from hedgerow.learn.classifier import HedgedClassifier
from hedgerow.learn.network import Network, SharedOutputs
from hedgerow.learn.solver import Schedule

if TYPE_CHECKING:
    from pathlib import Path

H = hr.Hierarchy.from_edges(
    [
        ("animal", "bird"),
        ("animal", "fish"),
        ("bird", "robin"),
        ("bird", "wren"),
        ("fish", "cod"),
        ("fish", "pike"),
    ]
)
LINEAGE = {
    "robin": ("bird", "robin"),
    "wren": ("bird", "wren"),
    "cod": ("fish", "cod"),
    "pike": ("fish", "pike"),
    "bird": ("bird", ""),
    "fish": ("fish", ""),
}
THREADS = torch.get_num_threads()

# Most tests train for a moment only.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
EXPECTED_FAILURES: dict[str, str] = {}  # of scikit-learn's checks, with the reason


def sample(count: int = 200, seed: int = 0, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Clouds around four points: fish far from birds, siblings near each other."""
    random = np.random.default_rng(seed)
    centre = {"robin": (0, 0, 1), "wren": (0, 1, 1), "cod": (3, 0, 1), "pike": (3, 1, 1)}
    names = random.choice(list(centre), count)
    X = np.array([centre[name] for name in names]) + noise * random.standard_normal((count, 3))
    return X, names.astype(object)


def fitted(**params: Any) -> HedgedClassifier:
    X, y = sample()
    return HedgedClassifier(H, **{"random_state": 0, "epochs": 5} | params).fit(X, y)


@parametrize_with_checks(
    [HedgedClassifier(epochs=5, random_state=0)], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_scikit_learn_checks(estimator: HedgedClassifier, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("method", methods.available())
@pytest.mark.parametrize("hidden", [(), (8,)])
def test_every_method_learns(method: str, hidden: tuple[int, ...]) -> None:
    X, y = sample()
    new_X, new_y = sample(seed=1)
    clf = HedgedClassifier(H, method=method, hidden=hidden, random_state=0).fit(X, y)
    assert np.mean(clf.predict_leaf(new_X) == new_y) > 0.85
    q = clf.predict_likelihood(new_X)
    assert q.shape == (len(new_X), len(H))
    assert (q[:, 0] == 1).all()
    assert q.min() >= 0
    assert q.max() <= 1
    np.testing.assert_allclose(clf.predict_proba(new_X).sum(axis=1), 1)


def test_attributes() -> None:
    clf = fitted()
    assert clf.classes_.tolist() == ["cod", "pike", "robin", "wren"]
    assert clf.hierarchy_ is H
    assert clf.n_features_in_ == 3
    assert len(clf.loss_curve_) in (5, 10, 15, 20), "rounds of 5 epochs follow those without the held-out examples"
    hidden = fitted(hidden=(8,))
    assert len(hidden.loss_curve_) == 5
    assert hidden.loss_curve_[-1] < hidden.loss_curve_[0]
    assert clf.coefs_[0].shape == (3, len(clf.method_.outputs))


def test_scorers_of_scikit_learn_find_the_columns() -> None:
    X, y = sample()
    clf, plain = fitted(), LogisticRegression().fit(X, y)
    for scoring in ("neg_log_loss", "roc_auc_ovr", "top_k_accuracy", "neg_brier_score"):
        score = get_scorer(scoring)
        assert score(clf, X, y) == pytest.approx(score(plain, X, y), abs=0.1)


def test_predict_is_the_majority_rule() -> None:
    clf = fitted(C=1)
    X, _ = sample(seed=1, noise=1.2)
    q = clf.predict_likelihood(X)
    assert clf.predict(X).tolist() == H.names[hr.infer.majority(H, q)].tolist()
    assert set(clf.predict(X)) & {"bird", "fish"}, "some of these are unclear"


def test_score_is_mean_information_f1() -> None:
    clf = fitted()
    X, y = sample(seed=1)
    expected = metrics.f1(H, y, clf.predict(X))
    assert clf.score(X, y) == pytest.approx(expected.mean())
    weight = np.arange(len(X))
    assert clf.score(X, y, weight) == pytest.approx(np.average(expected, weights=weight))


def test_operating_points() -> None:
    clf = fitted()
    X, _ = sample(seed=1, noise=0.6)
    q = clf.predict_likelihood(X)
    for tau in (0.0, 0.3, 0.8, 1.0):
        clf.set_operating_point(tau)
        assert clf.predict(X).tolist() == H.names[hr.infer.threshold(H, q, tau)].tolist()
    assert set(clf.predict(X)) == {"animal"}

    class LogPoint:
        scale = "log"

        def predict(self, q: np.ndarray) -> np.ndarray:
            assert (q <= 0).all()
            return np.asarray(hr.infer.threshold(H, q, 0.8, scale="log"))

    assert clf.set_operating_point(LogPoint()) is clf
    assert clf.predict(X).tolist() == H.names[hr.infer.threshold(H, q, 0.8)].tolist()
    assert clf.set_operating_point(None).predict(X).tolist() == H.names[hr.infer.majority(H, q)].tolist()
    for point in (1.5, -0.1, "high", True):
        with pytest.raises(ParameterError, match="operating point"):
            clf.set_operating_point(point)


@pytest.mark.parametrize("method", methods.available())
def test_answers_do_not_suffer_from_saturation(method: str) -> None:
    X, y = sample(300)
    clf = HedgedClassifier(H, method=method, C=1e9, epochs=3, random_state=0).fit(X, y)
    clf.coefs_ = [1000 * weight for weight in clf.coefs_]  # as sure as a model can be
    scale = clf.method_.scale
    q = clf.predict_likelihood(X, scale=scale)
    assert clf.predict_leaf(X).tolist() == H.names[hr.infer.leaf(H, q, scale=scale)].tolist()
    assert clf.classes_[clf.predict_proba(X).argmax(axis=1)].tolist() == clf.predict_leaf(X).tolist()
    assert clf.set_operating_point(0.7).predict(X).tolist() == (
        H.names[hr.infer.threshold(H, q, 0.7, scale=scale)].tolist()
    )
    assert np.mean(clf.predict_leaf(X) == y) > 0.8
    with pytest.raises(ParameterError, match="scale must be"):
        clf.predict_likelihood(X, scale="odds")  # type: ignore[arg-type]


def test_thresholds_can_be_searched() -> None:
    X, y = sample(noise=0.6)
    search = GridSearchCV(HedgedClassifier(H, epochs=3, random_state=0), {"operating_point": [0.2, 0.99]}, cv=2)
    assert search.fit(X, y).best_params_ == {"operating_point": 0.2}


def test_labels_at_any_depth() -> None:
    X, y = sample(400)
    coarse = np.random.default_rng(1).random(len(y)) < 0.5
    mixed = np.where(coarse, [LINEAGE[name][0] for name in y], y)
    clf = HedgedClassifier(H, random_state=0).fit(X, mixed)
    assert np.mean(clf.predict_leaf(X) == y) > 0.9
    assert clf.score(X, mixed) > 0.9


def test_lineages_are_the_same_as_names() -> None:
    X, y = sample()
    y[::3] = [LINEAGE[name][0] for name in y[::3]]
    rows = [LINEAGE[name] for name in y]
    frame = pd.DataFrame(rows, columns=["class", "species"]).replace("", None)
    ragged = [tuple(filter(None, row)) for row in rows]
    expected = HedgedClassifier(H, epochs=3, random_state=0).fit(X, y).predict_likelihood(X)
    for labels in (rows, ragged, np.array(rows), np.array(rows, dtype=object), frame, pd.Series(y), list(y)):
        clf = HedgedClassifier(H, epochs=3, random_state=0).fit(X, labels)
        np.testing.assert_array_equal(clf.predict_likelihood(X), expected)
        assert 0 <= clf.score(X, labels) <= 1


def test_a_tree_is_built_from_lineages() -> None:
    X, y = sample()
    frame = pd.DataFrame([LINEAGE[name] for name in y], columns=["class", "species"])
    h = HedgedClassifier(epochs=1).fit(X, frame).hierarchy_
    assert h.names[0] == "root"
    assert h.rank is not None
    assert h.rank[h.index("robin")] == "species"
    assert sorted(h.names[h.children(h.index("bird"))]) == ["robin", "wren"]
    assert HedgedClassifier(epochs=1).fit(X, frame.to_numpy()).hierarchy_.names.tolist() == h.names.tolist()


def test_an_empty_lineage_teaches_nothing() -> None:
    X, y = sample(50)
    labels = [LINEAGE[name] for name in y]
    unknown = [("", "")] * len(y)
    clf = HedgedClassifier(H, epochs=2, random_state=0).fit(X, unknown)
    assert not clf.coefs_[0].any()
    clf = HedgedClassifier(H, epochs=2, random_state=0).fit(np.r_[X, X], labels + unknown)
    assert clf.score(X, labels) > 0.5


def test_lineages_that_contradict_the_tree() -> None:
    X, _ = sample(2)
    message = "puts 'robin' below 'fish', but in the tree it is at animal > bird > robin"
    with pytest.raises(TreeError, match=message):
        HedgedClassifier(H).fit(X, [("fish", "robin"), ("fish", "cod")])
    with pytest.raises(UnknownNameError, match="'dragon'"):
        HedgedClassifier(H).fit(X, ["dragon", "robin"])


def test_without_a_tree_labels_stay_what_they_are() -> None:
    X, names = sample()
    y = np.unique(names, return_inverse=True)[1] * 10
    clf = HedgedClassifier(epochs=5, random_state=0).fit(X, y)
    assert clf.classes_.tolist() == [0, 10, 20, 30]
    assert clf.hierarchy_.names.tolist() == ["root", "0", "10", "20", "30"]
    assert clf.predict(X).dtype == y.dtype
    assert clf.predict(X).tolist() == clf.predict_leaf(X).tolist()
    assert set(clf.set_operating_point(0.999).predict(X)) <= {"root", 0, 10, 20, 30}
    with pytest.raises(UnknownNameError, match="'40'"):
        clf.score(X[:1], [40])


def test_a_class_may_be_called_root() -> None:
    X, y = sample()
    y[y == "robin"] = "root"
    clf = HedgedClassifier(epochs=2).fit(X, y)
    assert clf.hierarchy_.names[0] == "root_"
    assert "root" in clf.classes_


def test_classes_without_data() -> None:
    X, y = sample()
    kept = y != "pike"
    clf = HedgedClassifier(H, random_state=0).fit(X[kept], y[kept])
    assert clf.predict_proba(X).shape == (len(X), 4)
    assert "pike" not in clf.predict_leaf(X)


@pytest.mark.parametrize("widths", [[9, 4], [9, 5, 4]])
def test_sparse_features_have_the_gradients_of_dense_ones(widths: list[int]) -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(7, 9)) * (random.uniform(size=(7, 9)) < 0.3)
    network = Network([(random.normal(size=pair), np.zeros(pair[1])) for pair in pairwise(widths)], np.float64)
    slope = torch.from_numpy(random.normal(size=(7, 4)))
    dense, thin = (network(x) for x in (torch.from_numpy(X), sparse.csr_matrix(X)))
    torch.testing.assert_close(thin, dense)
    for found, expected in zip(
        *(torch.autograd.grad(scores, list(network.parameters()), slope) for scores in (thin, dense)), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_kinds_of_features() -> None:
    X, y = sample()
    X[X < 0] = 0
    expected = HedgedClassifier(H, epochs=3, random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = HedgedClassifier(H, epochs=3, random_state=0).fit(frame, y)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(clf.predict_likelihood(frame), expected.predict_likelihood(X))
    np.testing.assert_allclose(expected.predict_proba(sparse.csr_matrix(X)), expected.predict_proba(X))
    for hidden in ((), (8,)):
        thin = HedgedClassifier(H, hidden=hidden, random_state=0).fit(sparse.csr_array(X), y)
        assert np.mean(thin.predict_leaf(sparse.csc_matrix(X)) == y) > 0.85
        np.testing.assert_allclose(thin.predict_proba(X), thin.predict_proba(sparse.coo_array(X)), atol=1e-12)


def test_smaller_batches_take_smaller_steps() -> None:
    label = np.zeros(600, dtype=np.int64)
    small, large = (Schedule.usual(label, seed=0, batch_size=size) for size in (64, 256))
    assert (small.batch_size, large.batch_size) == (64, 256)
    assert small.learning_rate == pytest.approx(large.learning_rate / 2)
    assert Schedule.usual(label, seed=0).batch_size == 128
    assert Schedule.usual(label[:500], seed=0).batch_size == 512


def test_partial_fit_keeps_what_fit_chose() -> None:
    X, y = sample(noise=0.6)
    clf = HedgedClassifier(H, random_state=0).fit(X, y)
    before = clf.C_, clf.temperature_
    assert (clf.partial_fit(X, y).C_, clf.temperature_) == before


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6, (1e-3, 1.0, 1e4)])
def test_units_of_features_do_not_matter(scale: Any) -> None:
    X, y = sample()
    X = (X + 1e3) * scale
    assert np.mean(HedgedClassifier(H, random_state=0).fit(X, y).predict_leaf(X) == y) > 0.9


def test_the_same_seed_gives_the_same_model() -> None:
    X, y = sample(700)
    state = torch.random.get_rng_state()
    for params in ({}, {"hidden": (8,)}, {"method": "deep-rtc"}, {"early_stopping": True}):
        first, second, other = (
            HedgedClassifier(H, epochs=2, random_state=seed, **params).fit(X, y).coefs_[-1] for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)
    assert torch.equal(state, torch.random.get_rng_state())


def test_answers_do_not_depend_on_the_other_rows() -> None:
    clf = fitted()
    X, _ = sample(50, seed=1)
    alone = np.concatenate([clf.predict_likelihood(row[None]) for row in X])
    np.testing.assert_allclose(clf.predict_likelihood(X), alone, rtol=1e-12)


def test_weights() -> None:
    X, y = sample(100)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = HedgedClassifier(H, random_state=0).fit(X, y, sample_weight=weight)
    repeated = HedgedClassifier(H, random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_likelihood(X), repeated.predict_likelihood(X), atol=1e-9)
    with pytest.raises(ValueError, match=r"non-zero|0 for every example"):
        HedgedClassifier(H).fit(X, y, sample_weight=np.zeros(len(y)))


def test_class_weights() -> None:
    X, y = sample(noise=0.8)
    y[np.flatnonzero(y == "wren")[5:]] = "robin"
    plain = HedgedClassifier(H, random_state=0).fit(X, y)
    count = pd.Series(y).value_counts()
    by_hand = {name: len(y) / len(count) / number for name, number in count.items()}
    balanced = HedgedClassifier(H, class_weight="balanced", random_state=0).fit(X, y)
    given = HedgedClassifier(H, class_weight=by_hand, random_state=0).fit(X, y)
    np.testing.assert_allclose(balanced.coefs_[0], given.coefs_[0], atol=1e-9)
    assert np.sum(balanced.predict_leaf(X) == "wren") > np.sum(plain.predict_leaf(X) == "wren")
    with pytest.raises(UnknownNameError, match="dragon"):
        HedgedClassifier(H, class_weight={"dragon": 2}).fit(X, y)
    with pytest.raises(ParameterError, match="class_weight"):
        HedgedClassifier(H, class_weight="fair").fit(X, y)
    unsuited: list[Any] = [-1, np.nan, "2"]
    for bad in unsuited:
        with pytest.raises(ParameterError, match="class_weight of 'cod' must be"):
            HedgedClassifier(H, class_weight={"cod": bad}).fit(X, y)
    with pytest.raises(ParameterError, match="class_weight is 0 for every example"):
        HedgedClassifier(H, class_weight=dict.fromkeys(y.tolist(), 0)).fit(X, y)


def test_early_stopping_keeps_the_best_weights() -> None:
    X, y = sample(60, noise=1.0)
    clf = HedgedClassifier(
        H,
        hidden=(64,),
        C=1e6,
        epochs=60,
        learning_rate=0.3,
        early_stopping=True,
        validation_fraction=0.3,
        random_state=0,
    ).fit(X, y)
    curve = clf.validation_loss_curve_
    assert len(curve) < 60
    assert len(curve) == len(clf.loss_curve_) == int(np.argmin(curve)) + 6


def test_the_penalty_is_chosen_on_held_out_examples() -> None:
    X, y = sample(noise=0.6)
    chosen = HedgedClassifier(H, random_state=0).fit(X, y)
    assert len(chosen.path_["C"]) == len(chosen.path_["AP"]) == len(chosen.path_["leaf"]) >= 2
    assert chosen.C_ in chosen.path_["C"]
    given = HedgedClassifier(H, C=chosen.C_, random_state=0).fit(X, y)
    assert given.C_ == chosen.C_
    assert given.path_["C"] == [chosen.C_]
    assert np.abs(given.predict_likelihood(X) - chosen.predict_likelihood(X)).mean() < 0.02


def test_a_penalty_that_is_given_has_a_temperature_too() -> None:
    """A strong penalty makes likelihoods timid; the temperature undoes that."""
    X, y = sample(noise=0.6)
    new_X, new_y = sample(noise=0.6, seed=1)
    strong, usual = (HedgedClassifier(H, C=C, random_state=0).fit(X, y) for C in (0.1, 30))
    assert strong.temperature_ < 0.7 * usual.temperature_
    right = np.mean(strong.predict_leaf(new_X) == new_y)
    assert strong.predict_proba(new_X).max(axis=1).mean() == pytest.approx(right, abs=0.05)


def test_the_usual_penalty_where_none_can_be_chosen() -> None:
    X, y = sample(400)
    _, one_each = np.unique(y, return_index=True)
    few = HedgedClassifier(H, random_state=0).fit(X[one_each], y[one_each])
    assert (few.C_, few.path_["C"], few.temperature_) == (30.0, [], 1.0)
    stream = HedgedClassifier(H, random_state=0).partial_fit(X, y)
    assert (stream.C_, stream.path_["C"], stream.temperature_) == (30.0, [], 1.0)


@pytest.mark.parametrize("method", ["softmax-margin", "multilabel-focal"])
def test_the_temperature_divides_all_scores(method: str) -> None:
    X, y = sample(noise=1.5)
    clf = HedgedClassifier(H, method=method, random_state=0).fit(X, y)
    assert clf.temperature_ != 1
    theta = clf._scaling.apply(X) @ clf.coefs_[0] + clf.intercepts_[0]
    expected = clf.method_.likelihood(torch.from_numpy(theta / clf.temperature_)).numpy()
    np.testing.assert_allclose(clf.predict_likelihood(X), expected)
    np.testing.assert_array_equal(clf.predict(X), H.names[hr.infer.threshold(H, expected, 0.5)])


def test_convergence_does_not_depend_on_which_examples_come_first() -> None:
    random = np.random.RandomState(0)
    leaf = random.randint(4, size=600)
    X = random.normal(size=(4, 20))[leaf] + random.normal(size=(600, 20))
    y = H.names[H.leaves[leaf]]
    y[:128] = "animal"  # nothing is learnt from the root
    assert len(HedgedClassifier(H, C=1e5, random_state=0).fit(X, y).loss_curve_) < 20


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_a_loss_that_is_still_falling_is_a_warning() -> None:
    X, y = sample(noise=0.6)
    with pytest.warns(
        ConvergenceWarning, match=r"still falling, from \S+ to \S+ in the last round\. Raise epochs, which is 1"
    ) as found:
        HedgedClassifier(H, C=1e6, epochs=1, learning_rate=0.002, random_state=0).fit(X, y)
    assert len(found) == 1, "choosing the temperature says nothing"
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = HedgedClassifier(H, C=1, random_state=0).fit(X, y)
    assert len(clf.loss_curve_) % 5 == 0, "rounds of 5 epochs follow those without the held-out examples"


@pytest.mark.parametrize("method", methods.available())
def test_leaves_without_examples_share_a_column_exactly(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample(100)
    wide = hr.Hierarchy.from_edges(
        [*zip(H.names[H.parent[1:]], H.names[1:], strict=True), *(("bird", f"bird {i}") for i in range(4))]
    )
    y[y == "pike"] = "fish"
    y[::5] = [LINEAGE[name][0] for name in y[::5]]
    clf = HedgedClassifier(wide, method=method, C=10, epochs=2, random_state=0)
    labels = wide.indices(y)
    columns = SharedOutputs.of(clf.fit(X, y).method_, labels)
    assert columns is not None
    assert len(columns.kept) == len(columns.place) - 3
    shared = clf.predict_likelihood(X)
    monkeypatch.setattr(SharedOutputs, "of", lambda *_: None)
    np.testing.assert_allclose(clf.fit(X, y).predict_likelihood(X), shared, atol=1e-7)


@pytest.mark.parametrize("method", ["flat-softmax", "hxe", "softmax-margin", "soft-labels"])
def test_without_evidence_classes_are_equally_likely(method: str) -> None:
    tree = hr.Hierarchy.from_json(
        {"life": {"animal": {"bird": ["robin", "wren"], "fish": {"ray": ["skate"]}}, "plant": ["oak", "fern"]}}
    )
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, "animal", "oak")
    clf = HedgedClassifier(tree, method=method, C=1e4, epochs=40, random_state=0).fit(X, y)
    q = dict(zip(tree.names, clf.predict_likelihood([[1.0, 0.0, 0.0]])[0], strict=True))
    assert q["animal"] > 0.99
    assert q["robin"] == pytest.approx(q["wren"], abs=1e-12) == pytest.approx(q["skate"], abs=1e-12)
    shared = SharedOutputs.of(clf.method_, tree.indices(y))
    assert shared is not None
    assert len(shared.kept) == (3 if len(clf.method_.outputs) == 5 else 5)  # oak, fern, below animal; life, plant


@pytest.mark.parametrize("method", methods.available())
@pytest.mark.parametrize("others", [3, 300])
def test_every_label_is_asked_before_columns_are_shared(method: str, others: int) -> None:
    names = [f"a{i:03}" for i in range(others)]
    edges = [("root", "A"), ("root", "B"), ("B", "P"), ("B", "Q"), ("P", "p1"), ("P", "p2")]
    tree = hr.Hierarchy.from_edges([*edges, *(("A", name) for name in names)])
    label = tree.indices([*names, "P", "Q"])  # P comes after the others
    counts = {"counts": np.ones(len(tree))} if "counts" in methods.parameters(method) else {}
    made = methods.create(method, tree, **counts)
    shared = SharedOutputs.of(made, label)
    assert shared is not None
    columns = dict(zip(tree.names[made.outputs].tolist(), shared.place.tolist(), strict=True))
    assert columns["p1"] == columns["p2"]
    if "P" in columns:
        assert (columns["P"] == columns["p1"]) == (method == "softmax-margin")


def test_all_labels_at_the_root_are_no_obstacle() -> None:
    X, _ = sample(60)
    for method in ("softmax-margin", "flat-softmax"):
        clf = HedgedClassifier(H, method=method, random_state=0).fit(X, [H.names[0]] * 60)
        assert clf.predict_likelihood(X)[:, 0] == pytest.approx(1)


def test_a_loss_that_tells_leaves_apart_shares_no_column() -> None:
    bare = hr.Hierarchy.from_edges([("r", "a"), ("r", "b"), ("r", "c"), ("r", "d")])
    label = bare.indices(["a", "b"])
    assert SharedOutputs.of(methods.create("softmax-margin", bare), label) is not None
    assert SharedOutputs.of(LeafOrder(bare), label) is None


class LeafOrder(methods.Method):
    """A loss that no name stands for: later leaves weigh more."""

    scores = "leaves"
    link = staticmethod(hr.likelihood.flat_softmax)
    laws = frozenset()

    def _loss(self, theta: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        order = torch.arange(theta.shape[1], dtype=theta.dtype)
        chosen = torch.from_numpy(self.hierarchy.leaves.copy()) == labels[:, None]
        return (theta + order).logsumexp(1) - (theta + order)[chosen]


def test_parts_of_a_step_do_not_depend_on_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample(600)
    monkeypatch.setattr(solver, "_TWO_PARTS", 1)
    for method in ("softmax-margin", "deep-rtc"):
        weights = []
        for cores in (1, 2):
            monkeypatch.setattr(solver, "available_cores", lambda cores=cores: cores)
            clf = HedgedClassifier(H, method=method, C=10, epochs=2, random_state=0).fit(X, y)
            weights.append(clf.coefs_[0])
        np.testing.assert_array_equal(*weights)
    assert torch.get_num_threads() == THREADS


def test_a_method_of_ones_own() -> None:
    X, y = sample()
    named = HedgedClassifier(H, method="hxe", method_params={"alpha": 0.2}, C=10, epochs=2, random_state=0)
    made = clone(named).set_params(method=methods.METHODS["hxe"])
    np.testing.assert_array_equal(named.fit(X, y).coefs_[0], made.fit(X, y).coefs_[0])
    own = HedgedClassifier(H, method=LeafOrder, random_state=0).fit(X, y)
    assert np.mean(own.predict_leaf(X) == y) > 0.85
    with pytest.raises(ParameterError, match="made a int"):
        HedgedClassifier(H, method=len).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="method must be a name"):
        HedgedClassifier(H, method=3).fit(X, y)  # type: ignore[arg-type]


def test_partial_fit() -> None:
    X, y = sample(2000)
    stream = HedgedClassifier(H, random_state=0)
    for start in range(0, 2000, 100):
        stream.partial_fit(X[start : start + 100], y[start : start + 100])
    assert np.mean(stream.predict_leaf(X) == y) > 0.9
    assert len(stream.loss_curve_) == 20
    again = pickle.loads(pickle.dumps(stream)).partial_fit(X[:100], y[:100])  # noqa: S301
    np.testing.assert_array_equal(again.coefs_[0], stream.partial_fit(X[:100], y[:100]).coefs_[0])


def test_partial_fit_needs_to_know_the_classes() -> None:
    X, y = sample()
    with pytest.raises(ParameterError, match="classes must be passed on the first call to partial_fit"):
        HedgedClassifier().partial_fit(X, y)
    flat = HedgedClassifier().partial_fit(X[:3], y[:3], classes=np.unique(y))
    assert flat.classes_.tolist() == sorted(set(y))
    grown = HedgedClassifier().partial_fit(X[:3], y[:3], classes=list(LINEAGE.values()))
    assert "bird" in grown.hierarchy_.names
    with pytest.raises(UnknownNameError):
        flat.partial_fit(X[:1], ["dragon"])
    tuned = fitted()
    before = tuned.score(X, y)
    assert tuned.partial_fit(X, y).score(X, y) > before - 0.1


def test_clone_pickle_and_joblib(tmp_path: Path) -> None:
    X, _ = sample()
    clf = fitted(hidden=(8,), operating_point=0.3).set_operating_point(0.7)
    copy = clone(clf)
    assert copy.get_params() == clf.get_params()
    assert clf.get_params()["operating_point"] == 0.3  # a parameter of the constructor is never changed
    with pytest.raises(NotFittedError):
        copy.predict(X)
    joblib.dump(clf, tmp_path / "clf.joblib")
    for other in (pickle.loads(pickle.dumps(clf)), joblib.load(tmp_path / "clf.joblib", mmap_mode="r")):  # noqa: S301
        np.testing.assert_array_equal(other.predict_likelihood(X), clf.predict_likelihood(X))
        assert other.predict(X).tolist() == clf.predict(X).tolist()
        assert (other.operating_point, other.operating_point_) == (0.3, 0.7)
        assert other.set_operating_point(None).operating_point_ == 0.3


def test_a_point_that_was_set_is_of_a_fitted_classifier() -> None:
    X, y = sample()
    with pytest.raises(NotFittedError):
        HedgedClassifier(H).set_operating_point(0.7)
    clf = fitted().set_operating_point(0.7)
    assert clf.partial_fit(X, y).operating_point_ == 0.7
    assert clf.fit(X, y).operating_point_ is None


def test_in_a_pipeline_and_a_search() -> None:
    X, y = sample()
    pipeline = make_pipeline(StandardScaler(), HedgedClassifier(H, epochs=2, random_state=0))
    search = GridSearchCV(pipeline, {"hedgedclassifier__C": [1e-4, 10.0]}, cv=2, n_jobs=1).fit(X, y)
    assert search.best_params_ == {"hedgedclassifier__C": 10.0}
    lineages = np.array([LINEAGE[name] for name in y], dtype=object)
    assert cross_val_score(pipeline, X, lineages, cv=2).mean() > 0.5


def test_verbose_shows_progress(capsys: pytest.CaptureFixture[str]) -> None:
    fitted(epochs=2)
    assert capsys.readouterr().out == ""
    clf = fitted(epochs=2, verbose=True)
    shown = capsys.readouterr().out
    assert f"choosing C, {clf.C_:.3g} chosen" in shown
    assert f"training, loss {clf.loss_curve_[-1]:.4f}" in shown


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hierarchy": "tree.csv"}, "hierarchy must be a Hierarchy"),
        ({"method": "magic"}, "There is no method 'magic'"),
        ({"method_params": {"beta": 1}}, "has no parameter 'beta'"),
        ({"hidden": 512}, "hidden"),
        ({"hidden": (0,)}, "hidden"),
        ({"C": 0}, "C must be a positive number"),
        ({"C": "strong"}, "C must be a positive number or 'auto'"),
        ({"C": None}, "C must be a positive number or 'auto'"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"operating_point": 2}, "operating point"),
    ],
)
def test_parameters_are_checked(params: dict[str, Any], message: str) -> None:
    X, y = sample(10)
    with pytest.raises(ParameterError, match=message):
        HedgedClassifier(**{"hierarchy": H} | params).fit(X, y)


def test_a_loss_that_explodes_says_so() -> None:
    X, y = sample()
    with pytest.raises(HedgerowError, match="smaller learning_rate"):
        HedgedClassifier(H, hidden=(8, 8, 8), learning_rate=1e12, epochs=2, random_state=0).fit(X, y)


def test_the_package_loads_no_torch() -> None:
    code = (
        "import sys, hedgerow; assert {'HedgedClassifier', 'Hierarchy'} <= set(dir(hedgerow)); "
        "assert not {'torch', 'sklearn'} & set(sys.modules); hedgerow.HedgedClassifier"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "hedgerow.learn.classifier")
    monkeypatch.delitem(sys.modules, "hedgerow.learn.solver")
    with pytest.raises(ImportError, match=r"pip install 'hedgerow\[torch\]'"):
        _ = hr.HedgedClassifier
    with pytest.raises(AttributeError, match="no attribute 'Classifier'"):
        _ = hr.Classifier  # type: ignore[attr-defined]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_training_on_a_gpu() -> None:
    X, y = sample()
    for params in ({}, {"hidden": (8,), "early_stopping": True}, {"method": "deep-rtc"}):
        clf = HedgedClassifier(H, device="cuda", random_state=0, **params).fit(X, y)
        assert np.mean(clf.predict_leaf(X) == y) > 0.85
        pickle.dumps(clf.partial_fit(X, y))
    thin = HedgedClassifier(H, device="cuda", random_state=0).fit(sparse.csr_array(X), y)
    assert np.mean(thin.predict_leaf(X) == y) > 0.85
