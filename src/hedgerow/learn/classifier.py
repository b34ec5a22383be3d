"""A scikit-learn classifier that answers with any node of a tree."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from hedgerow import methods
from hedgerow.choose import OperatingPoint, Request, select
from hedgerow.errors import ParameterError, check_number
from hedgerow.export import Layer, Model, classifier_onnx, save_onnx
from hedgerow.learn import penalty, targets
from hedgerow.learn.network import Network, SharedOutputs
from hedgerow.learn.scaling import Scaling
from hedgerow.learn.solver import EPOCHS, Fitting, Schedule, TrainingSet
from hedgerow.likelihood import Scale, check_scale
from hedgerow.measure import metrics
from hedgerow.methods import Method
from hedgerow.tree import Hierarchy, Indices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from hedgerow.learn.momentum import State

Floats = NDArray[np.float64]

_STREAM_BATCH = 64  # smaller steps for data that arrives in pieces, since each piece is seen once
_OWN_POINT = object()


class HedgedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model, or a small network, over a tree of classes, trained with one of the methods of the paper.

    Labels may be nodes at any depth, and so may answers: the most specific node that is likely enough. Made for
    embeddings; takes any numeric features: dense ones on any scale, sparse ones if they are on one scale.

    Parameters
    ----------
    hierarchy
        The tree of classes. By default, `fit` builds it: from lineages, or as root > classes.
    method
        A name in `hedgerow.methods.available`, a subclass of `hedgerow.methods.Method`, or a function that takes
        the hierarchy and the parameters and returns such a method.
    method_params
        Parameters of the method, such as ``{"alpha": 5.0}``.
    hidden
        Widths of hidden layers; without any, the model is linear.
    C
        Inverse strength of the L2 penalty, as in scikit-learn's LogisticRegression on features whose mean squared
        norm is 1. "auto" tries values on held-out examples, and takes the smallest, 32 or more, whose AP and leaf
        accuracy the best does not beat by a standard error; below 32 only if that is better. If fewer than 20
        examples can be held out, and in `partial_fit`, it is 30.
    class_weight
        "balanced", or a weight for each label in `y` (1 for labels not listed).
    operating_point
        How `predict` answers: a threshold, or an object with a method ``predict``; see `set_operating_point`. None
        uses the point chosen for `target`, if there is one; otherwise the threshold 0.5 or, in a tree
        root > classes made from `y`, which has nothing in between, the most likely class.
    target
        What `predict` promises about new examples, such as ("correct", 0.95): see `hedgerow.select`. A share of
        the examples is then held out from learning to choose the operating point. If examples belong together,
        pass ``clusters`` to `fit`: what scikit-learn calls ``groups`` is called ``clusters`` here.
    guarantee
        The kind of promise: "conformal", "pac" or "empirical".
    calibration_fraction
        The share to hold out for `target`.
    epochs
        Passes over the data; an epoch goes through small data several times. A linear model goes on in rounds of
        as many, until the loss no longer falls, four at most; if it still does, a warning says so.
    batch_size
        Mini-batch size. None means a 60th of the examples, from 128 to 512; up to 512 examples are one batch.
    learning_rate
        Size of the first steps, for inputs of mean squared norm 1; it falls to 0 along a cosine. None means 0.3,
        or 0.1 with hidden layers, or 0.03 for sparse features, in batches of 512, and less in smaller ones, as the
        square root of their size.
    early_stopping
        Whether to hold out examples, stop when their loss has not fallen for 5 epochs, and keep the best weights.
        For large `epochs`.
    validation_fraction
        The share to hold out for `early_stopping`.
    device
        Where to train, such as "cuda"; answers are computed on the CPU.
    random_state
        Random seed. On one CPU, the same seed gives the same model.
    verbose
        Whether to show a progress bar.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The tree.
    classes_ : array
        The leaves, sorted: names, or the labels in `y` if the tree was made from them.
    method_ : hedgerow.methods.Method
        The method.
    coefs_, intercepts_ : list of arrays
        Weights and biases of each layer, for scaled features.
    C_ : float
        The C in use.
    operating_point_ : object
        What `predict` uses: `operating_point`, or the `hedgerow.OperatingPoint` chosen for `target`, until
        `set_operating_point` changes it.
    temperature_ : float
        The number that divides all scores, so that likelihoods mean what they say: fitted to held-out examples,
        which are learnt from afterwards. If too few can be held out, and in `partial_fit`, it is 1.
    path_ : dict of lists
        What was tried ("C") and how it scored on held-out examples ("AP" and the accuracy of leaves, "leaf");
        empty if nothing could be held out.
    loss_curve_, validation_loss_curve_ : list of float
        Mean loss in each epoch of the last training, with all examples; the second with `early_stopping` only.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import HedgedClassifier, Hierarchy
    >>> h = Hierarchy.from_edges([("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")])
    >>> X = np.array([[0, 0], [0, 1], [0, 0.1], [0, 0.9], [5, 0], [5, 0.1]])
    >>> clf = HedgedClassifier(h, operating_point=0.7, random_state=0)
    >>> clf = clf.fit(X, ["robin", "wren", "robin", "wren", "fish", "fish"])
    >>> clf.predict([[0, 0.02], [0, 0.5], [5, 0.3]]).tolist()
    ['robin', 'bird', 'fish']
    >>> clf.classes_.tolist()
    ['fish', 'robin', 'wren']
    """

    _momentum: list[State] | None
    _seen: Floats
    C_: float
    operating_point_: Any

    def __init__(
        self,
        hierarchy: Hierarchy | None = None,
        *,
        method: str | Callable[..., Method] = "ps-softmax",
        method_params: Mapping[str, Any] | None = None,
        hidden: Sequence[int] = (),
        C: float | str = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
        operating_point: Any = None,
        target: tuple[Any, Any] | None = None,
        guarantee: str = "conformal",
        calibration_fraction: float = 0.2,
        epochs: int = EPOCHS,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.hierarchy = hierarchy
        self.method = method
        self.method_params = method_params
        self.hidden = hidden
        self.C = C
        self.class_weight = class_weight
        self.operating_point = operating_point
        self.target = target
        self.guarantee = guarantee
        self.calibration_fraction = calibration_fraction
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, clusters: Any = None) -> Self:
        """Learn from examples.

        Parameters
        ----------
        X
            Features [examples, features]: an array, a DataFrame or a sparse matrix.
        y
            Names of nodes at any depth, one per example; or lineages, coarsest name first, blank where unknown:
            tuples, a two-dimensional array, or a DataFrame with one rank per column. Nothing is learnt from a
            label at the root.
        sample_weight
            Optional weight of each example.
        clusters
            The cluster of each example (``groups`` in scikit-learn), for `target`: clusters are held out whole,
            and the promise is about new clusters.
        """
        self._check_parameters()
        X = self._features(X, y, reset=True)
        self._take_tree(y)
        self._check_point(self.operating_point)
        node = self._nodes(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        random = check_random_state(self.random_state)
        learnt, calibration = self._hold_out(node, weight, clusters, random)
        weight = self._weights(y, node, weight * learnt)
        rows, stopping = np.flatnonzero(weight), np.zeros(0, dtype=np.int64)
        if self.early_stopping:
            rows, stopping = _split_off(rows, self.validation_fraction, random)
        examples = _some(X, rows), node[rows], weight[rows]
        self._start(*examples, random)
        self._seen = self._seen + np.bincount(node[rows], weight[rows], minlength=len(self._seen))
        schedule = self._schedule(node[rows], self.batch_size)
        # Data that fit in one batch are cheap in double precision, in which a weight acts exactly like repetition.
        dtype = np.float64 if len(rows) <= schedule.batch_size else np.float32
        shared = SharedOutputs.of(self.method_, node[rows])
        fitting = Fitting(self.method_, self._scaling, schedule, self.device, dtype, shared)
        given = None if self.C == "auto" else float(self.C)
        with _progress("choosing C", penalty.LONGEST, self.verbose) as done:
            choice = penalty.choose(fitting, self._layers(), *examples, random, done, given)
            done(f"{choice.C:.3g} chosen")
        self.C_, self.path_, self.temperature_ = choice.C, choice.path, choice.temperature
        if choice.layers is not None:
            self._keep(choice.layers)
        validation = fitting.examples(X[stopping], node[stopping], weight[stopping]) if len(stopping) else None
        self._train(fitting, fitting.examples(*examples), validation, choice.reached)
        self._momentum = None  # the schedule has ended
        self._fitted_point = self._choose_point(X, node, calibration, clusters)
        self.operating_point_ = self._fitted_point
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue learning with more examples, each seen once.

        Parameters
        ----------
        X, y, sample_weight
            See `fit`. The first call also fixes the scale of the features: pass a typical piece of the data.
            ``C="auto"`` cannot be chosen from pieces: it is 30, or what `fit` chose before.
        classes
            All labels (or lineages) that will occur; required in the first call unless a hierarchy is given.
        """
        self._check_parameters()
        if self.target is not None:
            raise ParameterError(
                "partial_fit learns from every example, so it cannot hold any out for target. Leave out target, "
                "and choose a point with hedgerow.select and other examples."
            )
        first = not hasattr(self, "coefs_")
        X = self._features(X, y, reset=first)
        if first or self.operating_point_ is self._fitted_point:  # a point that was set stays
            self.operating_point_ = self.operating_point
        self._fitted_point = self.operating_point
        if first:
            if self.hierarchy is None and classes is None:
                raise ParameterError("classes must be passed on the first call to partial_fit, or a hierarchy.")
            self._take_tree(classes)
        self._check_point(self.operating_point)
        node = self._nodes(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = self._weights(y, node, weight)
        rows = np.flatnonzero(weight)
        examples = _some(X, rows), node[rows], weight[rows]
        if first:
            self._start(*examples, check_random_state(self.random_state))
        self._seen = self._seen + np.bincount(node, weight, minlength=len(self._seen))
        if first or self.C != "auto":
            choice = self._given_penalty()
            self.C_, self.path_ = choice.C, choice.path
        schedule = self._schedule(node[rows], min(self.batch_size or _STREAM_BATCH, _STREAM_BATCH))
        schedule = replace(schedule, epochs=1, rounds=1, anneal=False, least_steps=1)
        fitting = Fitting(self.method_, self._scaling, schedule, self.device)
        self._train(fitting, fitting.examples(*examples))
        return self

    def _check_parameters(self) -> None:
        if not (self.hierarchy is None or isinstance(self.hierarchy, Hierarchy)):
            raise ParameterError(f"hierarchy must be a Hierarchy or None, not {type(self.hierarchy).__name__}.")
        if not _is_count(self.epochs):
            raise ParameterError(f"epochs must be a whole number, 1 or more, not {self.epochs!r}.")
        if not (self.batch_size is None or _is_count(self.batch_size)):
            raise ParameterError(
                f"batch_size must be a whole number, 1 or more, or None, not {self.batch_size!r}."
            )
        if isinstance(self.hidden, Integral) or not all(map(_is_count, self.hidden)):
            raise ParameterError(f"hidden must be widths of layers, such as (512,), not {self.hidden!r}.")
        if not (self.C == "auto" or _is_positive(self.C)):
            raise ParameterError(f"C must be a positive number or 'auto', not {self.C!r}.")
        if not (self.learning_rate is None or _is_positive(self.learning_rate)):
            raise ParameterError(f"learning_rate must be a positive number or None, not {self.learning_rate!r}.")
        for name in ("validation_fraction", "calibration_fraction"):
            check_number(name, getattr(self, name), 0, 1, with_ends=False)

    def _check_point(self, point: Any) -> None:
        number = not isinstance(point, bool) and isinstance(point, Real) and 0 <= float(point) <= 1
        if not (point is None or number or callable(getattr(point, "predict", None))):
            raise ParameterError(
                f"An operating point is a threshold from 0 to 1 or an object with a method predict, not {point!r}."
            )
        if isinstance(point, OperatingPoint):
            point.check_tree(self.hierarchy_)

    def _features(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        numbers = [np.float64, np.float32]
        if reset and y is None:
            raise ParameterError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = validate_data(self, X, accept_sparse="csr", dtype=numbers, order="C", reset=reset)
        if y is not None:
            check_consistent_length(X, y)
        return X

    def _take_tree(self, labels: Any) -> None:
        """Use the given tree, or build one from labels."""
        self._flat = self.hierarchy is None and not targets.is_lineages(labels)
        if self._flat:
            self.hierarchy_, self.classes_ = targets.flat_tree(targets.names_of(labels))
        else:
            self.hierarchy_ = targets.lineage_tree(labels) if self.hierarchy is None else self.hierarchy
            # scikit-learn's scorers expect columns of probabilities in the order of sorted labels.
            self.classes_ = np.sort(self.hierarchy_.names[self.hierarchy_.leaves])

    def _nodes(self, y: Any) -> Indices:
        if self._flat and not targets.is_lineages(y):
            found = targets.flat_nodes(self.classes_, labels := targets.names_of(y))
            return targets.nodes_of(self.hierarchy_, labels) if found is None else found
        return targets.nodes_of(self.hierarchy_, y)

    def _hold_out(
        self, node: Indices, weight: Floats, clusters: Any, random: np.random.RandomState
    ) -> tuple[NDArray[np.bool_], Indices]:
        """Return a mask of the examples to learn from, and those to choose the operating point with.

        Clusters are held out whole. Examples without weight, or with a label at the root, are used for neither.
        """
        if self.target is None:
            if clusters is not None:
                raise ParameterError(
                    "clusters are held out together for target, but there is no target: set target too."
                )
            return np.ones(len(node), dtype=bool), np.zeros(0, dtype=np.int64)
        # Refuse a bad target before a long training.
        Request.of(target=self.target, guarantee=self.guarantee).promises(self.hierarchy_)
        names = np.arange(len(node)) if clusters is None else np.asarray(clusters)
        check_consistent_length(node, names)
        distinct, member = np.unique(names.astype(str), return_inverse=True)
        if len(distinct) < 2:
            raise ParameterError(
                "target needs at least two examples, or clusters: some to learn from, some held out."
            )
        _, chosen = _split_off(np.arange(len(distinct)), self.calibration_fraction, random)
        held_out = np.isin(member, chosen)
        rows = np.flatnonzero(held_out & (weight > 0) & (node > 0))
        if not len(rows):
            raise ParameterError("No example with a label below the root was held out: target cannot be met.")
        return ~held_out, rows

    def _choose_point(self, X: Any, node: Indices, rows: Indices, clusters: Any) -> Any:
        if self.target is None or self.operating_point is not None:
            return self.operating_point
        return select(
            self.hierarchy_,
            np.concatenate([q.values for q in self._model(None).blocks(X[rows])]),
            node[rows],
            target=self.target,
            guarantee=self.guarantee,
            clusters=None if clusters is None else np.asarray(clusters)[rows],
            classes=self.hierarchy_.names,
            scale=self.method_.scale,
        )

    def _weights(self, y: Any, node: Indices, weight: Floats) -> Floats:
        """Return the weights of examples times those of their classes; 0 if an example is not learnt from."""
        if not weight.any():
            raise ParameterError("sample_weight is 0 for every example; some must count.")
        if self.class_weight is None:
            return weight
        if self.class_weight == "balanced":
            total = np.bincount(node, weight)
            balanced = weight.sum() / np.count_nonzero(total) / np.where(total > 0, total, 1)
            return np.asarray(weight * balanced[node])
        if isinstance(self.class_weight, str):
            raise ParameterError(f"class_weight must be 'balanced', a dict or None, not {self.class_weight!r}.")
        for label, value in self.class_weight.items():
            check_number(f"class_weight of {label!r}", value, 0)
        labels = self.hierarchy_.names[node] if targets.is_lineages(y) else targets.names_of(y)
        self._nodes(np.array(list(self.class_weight)))  # an error if a label is not in the tree
        weight = weight * np.array([self.class_weight.get(label, 1.0) for label in labels.tolist()])
        if not weight.any():
            raise ParameterError("class_weight is 0 for every example that counts; some must count.")
        return weight

    def _start(self, X: Any, node: Indices, weight: Floats, random: np.random.RandomState) -> None:
        """Measure the features, make the method and draw the initial weights."""
        self.method_ = self._make_method(node, weight)
        self._scaling = Scaling.of(X, node, weight)
        self.temperature_ = 1.0
        self._seed = int(random.randint(2**31 - 1))
        self._keep(Network.start([X.shape[1], *self.hidden, len(self.method_.outputs)], random))
        self.loss_curve_: list[float] = []
        self._seen = np.zeros(len(self.hierarchy_))
        self._momentum = None

    def _make_method(self, node: Indices, weight: Floats) -> Method:
        params = dict(self.method_params or {})
        if not isinstance(self.method, str):
            kinds = "method must be a name, a subclass of hedgerow.methods.Method or a function that returns one"
            if not callable(self.method):
                raise ParameterError(f"{kinds}, not {self.method!r}.")
            made = self.method(self.hierarchy_, **params)
            if not isinstance(made, Method):
                raise ParameterError(f"{kinds}; {self.method!r} made a {type(made).__name__}.")
            return made
        if "counts" in methods.parameters(self.method):
            params.setdefault("counts", np.bincount(node, weight, minlength=len(self.hierarchy_)))
        return methods.create(self.method, self.hierarchy_, **params)

    def _given_penalty(self) -> penalty.Choice:
        return penalty.Choice() if isinstance(self.C, str) else penalty.Choice(float(self.C))

    def _schedule(self, label: Indices, batch_size: int | None) -> Schedule:
        usual = Schedule.usual(
            label,
            seed=self._seed + len(self.loss_curve_),  # every piece of a stream is shuffled differently
            batch_size=batch_size,
            hidden=len(self.hidden) > 0,
            sparse=self._scaling.mean is None,
        )
        rate = self.learning_rate or usual.learning_rate
        rounds = 1 if self.early_stopping else usual.rounds
        return replace(usual, epochs=self.epochs, learning_rate=rate, rounds=rounds)

    def _train(
        self,
        fitting: Fitting,
        examples: TrainingSet,
        validation: TrainingSet | None = None,
        reached: float | None = None,
    ) -> None:
        """Train and keep the weights."""
        network = fitting.network(self._layers())
        strength = 1 / (self.C_ * self._seen.sum())
        with _progress("training", fitting.schedule.epochs, self.verbose) as done:
            solver = fitting.train(
                network,
                examples,
                strength,
                held_out=validation,
                reached=reached,
                state=self._momentum,
                done=lambda loss: done(f"loss {loss:.4f}"),
            )
        if solver.falling:
            warnings.warn(
                f"The loss was still falling, {solver.falling} in the last round. Raise epochs, which is "
                f"{self.epochs}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._keep(network.layers())
        self.loss_curve_ = [*self.loss_curve_, *solver.losses]
        if validation is not None:
            self.validation_loss_curve_ = solver.held_out_losses
        self._momentum = solver.state()

    def _layers(self) -> list[Layer]:
        return list(zip(self.coefs_, self.intercepts_, strict=True))

    def _keep(self, layers: Sequence[Layer]) -> None:
        self.coefs_, self.intercepts_ = map(list, zip(*layers, strict=True))

    # Answering ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer to each example at the operating point: the name of a node.

        In a tree made from one-dimensional `y`, answers are labels in `y`, or the name of the root.
        """
        X = self._checked(X)
        model = self._model()
        return model.named(model.nodes(X))

    def predict_leaf(self, X: Any) -> NDArray[Any]:
        """Return the name of the most likely leaf of each example."""
        X = self._checked(X)
        model = self._model()
        return model.named(model.leaves(X))

    def predict_likelihood(self, X: Any, scale: Scale = "probability") -> Floats:
        """Return the likelihood of every node, in node order: [examples, nodes].

        To rank by likelihoods, use ``scale=clf.method_.scale``: probabilities close to 1 can round to 1, which
        makes ties. Pass the same ``scale=`` to `hedgerow.infer`, `evaluate` or `operating_curve`.
        """
        check_scale(scale)
        X = self._checked(X)
        return np.concatenate([q.values for q in self._model().blocks(X, scale)])

    def predict_proba(self, X: Any) -> Floats:
        """Return the likelihoods of the leaves, in the order of `classes_`, normalised to sum to 1.

        For methods that rank by logits these are normalised odds, so that the order of the leaves is kept.
        """
        X = self._checked(X)
        leaves = self.hierarchy_.leaves if self._flat else self.hierarchy_.indices(self.classes_)
        return np.concatenate([special.softmax(q.values[:, leaves], axis=1) for q in self._model().blocks(X)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean information F1 of `predict`; see `hedgerow.metrics`."""
        answers = self._model().nodes(self._checked(X))
        check_consistent_length(answers, y)
        value = metrics.f1(self.hierarchy_, self._nodes(y), answers)
        return float(np.average(value, weights=sample_weight))

    def set_operating_point(self, point: Any) -> Self:
        """Set `operating_point_`, which `predict` uses, on a fitted classifier; `fit` sets it anew.

        Parameters
        ----------
        point
            A threshold τ from 0 to 1: the answer is the most specific node with a likelihood above τ. Or an object
            such as a `hedgerow.OperatingPoint`, whose ``predict`` maps likelihoods [examples, nodes] to node
            indices, on the scale that its attribute ``scale`` names (default probability). None restores what
            `fit` set.
        """
        check_is_fitted(self)
        self._check_point(point)
        self.operating_point_ = self._fitted_point if point is None else point
        return self

    def to_onnx(self, point: OperatingPoint | None = None, path: str | PathLike[str] | None = None) -> Any:
        """Return the classifier with its decision as a model of ONNX, and write it if a path is given.

        Its input is `features`, in double precision; its outputs are `node`, `name` and `likelihood`.

        Parameters
        ----------
        point
            How to answer: a `hedgerow.OperatingPoint`; by default that of the classifier.
        path
            The file to write.
        """
        check_is_fitted(self)
        model = classifier_onnx(self._model(self.operating_point_ if point is None else point))
        if path is not None:
            save_onnx(model, path)
        return model

    def export(self, path: str | PathLike[str]) -> None:
        """Write a file from which `hedgerow.load_model` answers exactly like `predict`, without torch.

        The operating point in use goes with it.
        """
        check_is_fitted(self)
        self._model().save(path)

    def _model(self, point: Any = _OWN_POINT) -> Model:
        """Return what answers: the fitted arrays and the operating point."""
        return Model(
            self.hierarchy_,
            self.method_.link,
            self.method_.scale,
            self._scaling.mean,
            self._scaling.scale,
            self._layers(),
            self.temperature_,
            self.operating_point_ if point is _OWN_POINT else point,
            self.classes_ if self._flat else None,
            getattr(self, "feature_names_in_", None),
        )

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._features(X, reset=False)


def _split_off(rows: Indices, share: float, random: np.random.RandomState) -> tuple[Indices, Indices]:
    """Divide rows at random into those to learn from and a share held out; nothing is held out of a single row."""
    if len(rows) < 2:
        return rows, rows[:0]
    count = min(max(round(len(rows) * share), 1), len(rows) - 1)
    held_out = np.sort(random.choice(rows, count, replace=False))
    return np.setdiff1d(rows, held_out), held_out


def _some(X: Any, rows: Indices) -> Any:
    """Return some rows, ascending; without a copy if they are all."""
    return X if len(rows) == X.shape[0] else X[rows]


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) >= 1


@contextmanager
def _progress(task: str, steps: int, verbose: bool) -> Iterator[Callable[[str], None]]:
    """Yield a callback for each step, which takes a description; there may be fewer than `steps` steps."""
    if not verbose:
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress() as bar:
        number = bar.add_task(task, total=steps)
        yield lambda text: bar.update(number, advance=1, description=f"{task}, {text}")
        bar.update(number, completed=steps)
