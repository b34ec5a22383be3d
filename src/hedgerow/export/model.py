"""A trained classifier that answers with NumPy alone: scaling, weights, link, tree and point, as one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow import infer
from hedgerow.arrays import as_numpy
from hedgerow.choose import OperatingPoint
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.export.portable import named
from hedgerow.files import Document
from hedgerow.likelihood import LINKS, Likelihoods, Scale, column_names, scored_nodes
from hedgerow.tree import Hierarchy, SavedTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from hedgerow.export.portable import Answer
    from hedgerow.tree import Indices

Floats = NDArray[np.float64]
Layer = tuple[Floats, Floats]
"""Weights [inputs, outputs] and biases [outputs]."""

_BLOCK_ENTRIES = 1 << 18  # likelihoods at a time: they stay in the cache


def scaled(X: Any, mean: Floats | None, scale: Floats) -> Any:
    """Return scaled features in double precision; sparse ones stay sparse unless they are centred."""
    if hasattr(X, "tocsr"):
        if mean is None:
            return X.multiply(1 / scale).tocsr()
        X = X.toarray()
    return X / scale if mean is None else (X - mean) / scale


def layer_scores(layers: Sequence[Layer], X: Any) -> Floats:
    """Return the scores θ of scaled features, in double precision: an answer must not depend on the other rows."""
    theta = X
    for i, (weight, bias) in enumerate(layers):
        theta = (np.maximum(theta, 0) if i else theta) @ weight + bias
    return np.asarray(theta)


class _About(msgspec.Struct, forbid_unknown_fields=True):
    """What the file of a model says besides its arrays."""

    link: str
    scale: Scale
    temperature: Annotated[float, msgspec.Meta(gt=0)]
    layers: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    tree: SavedTree
    point: dict[str, Any] | Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    features: list[str] | None


_MODEL = Document("hedgerow model", 2, _About, "a model that hedgerow exported", "Export the model again.")


@final
@dataclass(frozen=True, eq=False)
class Model:
    """A fitted `HedgedClassifier` without its training half; `load_model` reads one."""

    hierarchy: Hierarchy
    """The tree."""
    link: Callable[..., Any]
    """The function of `hedgerow.likelihood` that turns scores into likelihoods."""
    scale: Scale
    """The scale on which the method ranks."""
    mean: Floats | None
    """What is subtracted from each feature."""
    divisor: Floats
    """What each feature is divided by."""
    layers: Sequence[Layer]
    """Weights and biases."""
    temperature: float = 1.0
    """The number that divides all scores."""
    point: Any = None
    """How to answer: an `OperatingPoint`, a threshold, an object with a method `predict`, or None."""
    labels: NDArray[Any] | None = None
    """In a tree made from labels, the label of each node but the root."""
    features: Sequence[str] | None = None
    """The names of the features."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer to each example: the name of a node, or a label of a tree made from labels."""
        return self.named(self.nodes(self.checked(X)))

    def predict_leaf(self, X: Any) -> NDArray[Any]:
        """Return the name of the most likely leaf of each example."""
        return self.named(self.leaves(self.checked(X)))

    def predict_likelihood(self, X: Any, scale: Scale = "probability") -> Floats:
        """Return the likelihood of every node, in node order: [examples, nodes]."""
        return np.concatenate([q.values for q in self.blocks(self.checked(X), scale)])

    def answers(self, X: Any) -> list[Answer]:
        """Return the answer to each example, with its likelihood and lineage."""
        return [each for node, q in self._answered(self.checked(X)) for each in named(self.hierarchy, node, q)]

    # Features in, node indices out; features have been checked ---------------------------------------------------

    def nodes(self, X: Any) -> Indices:
        """Return the answer to each example, as node indices."""
        return np.concatenate([node for node, _ in self._answered(X)])

    def _answered(self, X: Any) -> Iterator[tuple[Indices, Likelihoods]]:
        """Yield the answers to some rows at a time, and the likelihoods behind them."""
        for q in self.blocks(X, getattr(self.point, "scale", None if self._is_number else "probability")):
            yield self._answer(q), q

    @property
    def _is_number(self) -> bool:
        return not callable(getattr(self.point, "predict", None))

    def _answer(self, q: Likelihoods) -> Indices:
        if isinstance(self.point, OperatingPoint):
            return self.point.predict(q)
        if not self._is_number:
            return np.asarray(self.point.predict(q.values))
        if self.point is None and self.labels is not None:  # there is nothing between the root and the leaves
            return np.asarray(infer.leaf(self.hierarchy, q))
        return np.asarray(infer.threshold(self.hierarchy, q, 0.5 if self.point is None else float(self.point)))

    def leaves(self, X: Any) -> Indices:
        """Return the most likely leaf of each example."""
        return np.concatenate([infer.leaf(self.hierarchy, q) for q in self.blocks(X)])

    def blocks(self, X: Any, scale: Scale | None = None) -> Iterator[Likelihoods]:
        """Yield the likelihoods of some rows at a time, by default on the scale of the method."""
        size = max(1, _BLOCK_ENTRIES // len(self.hierarchy))
        scale = scale or self.scale
        for start in range(0, X.shape[0], size):
            theta = layer_scores(self.layers, scaled(X[start : start + size], self.mean, self.divisor))
            if self.temperature != 1:
                theta = theta / self.temperature
            yield Likelihoods.of(self.hierarchy, self.link(self.hierarchy, theta, scale=scale), scale)

    def named(self, node: Indices) -> NDArray[Any]:
        """Return the names of nodes; in a tree made from labels, these."""
        if self.labels is None:
            return self.hierarchy.names[node]
        if node.all():
            return self.labels[node - 1]
        every = np.array([self.hierarchy.names[0], *self.labels.tolist()], dtype=object)
        return every[node]

    def checked(self, X: Any) -> Any:
        """Return features as an array or a sparse matrix, or raise an error."""
        names = None
        if hasattr(X, "tocsr"):
            X = X.tocsr()
            values = X.data
        else:
            X, names = column_names(X)
            X = values = as_numpy(X)
        if values.dtype.kind not in "biuf":
            raise ScoreError(f"Features must be numbers, not {values.dtype}.")
        if X.ndim != 2 or X.shape[1] != len(self.divisor) or not X.shape[0]:
            raise ScoreError(f"Features must be [examples, {len(self.divisor)}], not of shape {X.shape}.")
        if names is not None and self.features is not None and names != list(self.features):
            raise ScoreError("The columns are not the features of the model, in their order.")
        if not np.isfinite(values).all():
            raise ScoreError("Features must be finite numbers.")
        if X is values:
            X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        return X

    # Files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write an `.npz` file that `load_model` reads; nothing in it is pickled."""
        link = self.link.__name__
        if link not in LINKS or LINKS[link].function is not self.link:
            raise ParameterError(
                f"The method has a link of its own, {link!r}: only those of hedgerow can be exported."
            )
        is_point = isinstance(self.point, OperatingPoint)
        if not (is_point or self._is_number):
            raise ParameterError(
                f"The operating point is a {type(self.point).__name__}, which cannot be exported: set a threshold "
                f"or a point that hedgerow.select chose."
            )
        about = {
            "link": link,
            "scale": self.scale,
            "temperature": self.temperature,
            "layers": len(self.layers),
            "tree": self.hierarchy.to_dict(),
            "point": self.point.to_dict() if is_point else None if self.point is None else float(self.point),
            "features": None if self.features is None else [str(name) for name in self.features],
        }
        arrays: dict[str, Any] = {"divisor": self.divisor}
        if self.mean is not None:
            arrays["mean"] = self.mean
        if self.labels is not None:
            arrays["labels"] = self.labels.astype(str) if self.labels.dtype == object else self.labels
        for i, (weight, bias) in enumerate(self.layers):
            arrays |= {f"weight_{i}": weight, f"bias_{i}": bias}
        _MODEL.write_archive(path, about, arrays)


def load_model(path: str | PathLike[str]) -> Model:
    """Read a model that `HedgedClassifier.export` wrote; it answers without torch and scikit-learn.

    The file may come from anyone: everything in it is checked, and nothing is unpickled.
    """
    with _MODEL.reading_archive(path) as (about, arrays):
        tree = Hierarchy.from_dict(about.tree)
        point: Any = about.point
        if isinstance(about.point, dict):
            point = OperatingPoint.from_dict(about.point)
            point.check_tree(tree)
        if about.link not in LINKS:
            raise ValueError(f"it has the link {about.link!r}")
        divisor = arrays.take("divisor", np.float64, None)
        width = len(divisor)
        mean = arrays.take("mean", np.float64, width) if "mean" in arrays else None
        labels = arrays.take("labels", np.generic, len(tree) - 1) if "labels" in arrays else None
        layers = []
        for i in range(about.layers):
            weight = arrays.take(f"weight_{i}", np.float64, width, None)
            width = weight.shape[1]
            layers.append((weight, arrays.take(f"bias_{i}", np.float64, width)))
        named = about.features is None or len(about.features) == len(divisor)
        if width != len(scored_nodes(tree, LINKS[about.link].scored)) or not divisor.all() or not named:
            raise ValueError("its arrays do not fit each other")
        link = LINKS[about.link].function
        return Model(
            tree, link, about.scale, mean, divisor, layers, about.temperature, point, labels, about.features
        )
