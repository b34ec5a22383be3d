"""Likelihoods with their scale, checked once, when they enter.

Rules and curves depend only on the order of the likelihoods, so any increasing map of them works. Logarithms and
logits distinguish values that round to the same probability: in single precision, σ(β) is 1 above β = 17.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar, final, overload

import numpy as np
from array_api_compat import is_array_api_obj

from hedgerow.arrays import Array, Derives, as_numpy, as_rows, as_scores, namespace, ops_of
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.likelihood.named_columns import ColumnFit, places, split_names
from hedgerow.likelihood.probabilities import from_leaves
from hedgerow.likelihood.scales import BOTTOM, CERTAIN, Bounds, RowSource, Scale, check_scale, to_probability
from hedgerow.likelihood.sparse_likelihoods import SparseLikelihoods
from hedgerow.likelihood.treatment import Treatment
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray


T = TypeVar("T")


@final
class Likelihoods(Derives):
    """Likelihoods of all nodes for some examples, with their scale.

    Use `Likelihoods.of`. Every function that takes likelihoods accepts these, or plain arrays on the scale named
    by ``scale=``. Values are checked when they are first read, and never again; derived values, such as the most
    likely node of every tier, are computed once, so the array must not be changed afterwards.

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> q = Likelihoods.of(h, [[0.0, -0.1, -2.4]], scale="log")
    >>> h.names[infer.majority(h, q)].tolist()
    ['cat']
    """

    treatment: Treatment = Treatment()
    """What was done to them: temperature, prior, pooling."""
    logits: Array | None = None
    """The scores of the leaves [examples, leaves], if known: small likelihoods have lost them to rounding."""

    def __init__(self, hierarchy: Hierarchy, values: Array, scale: Scale) -> None:
        self.hierarchy = hierarchy
        self.scale: Scale = scale
        self._values = values
        self._checked = False

    @overload
    @staticmethod
    def of(
        hierarchy: Hierarchy, q: SparseLikelihoods, scale: Scale | None = None, classes: ArrayLike | None = None
    ) -> SparseLikelihoods: ...

    @overload
    @staticmethod
    def of(
        hierarchy: Hierarchy, q: Any, scale: Scale | None = None, classes: ArrayLike | None = None
    ) -> Likelihoods: ...

    @staticmethod
    def of(
        hierarchy: Hierarchy, q: Any, scale: Scale | None = None, classes: ArrayLike | None = None
    ) -> AnyLikelihoods:
        """Return likelihoods of the nodes of a tree, with their scale.

        Parameters
        ----------
        hierarchy
            The tree.
        q
            [examples, nodes], in node order: an array, a tensor or lists; a table with column names, in any
            order; or `Likelihoods` or `SparseLikelihoods`, which are returned unchanged. A table of the leaves
            holds their probabilities: see `from_leaves`.
        scale
            The scale of plain likelihoods: "probability" (the default), "log" or "logit".
        classes
            The names of the columns, if there are as many, and another number than nodes.
        """
        if scale is not None:
            check_scale(scale)
        if isinstance(q, str | os.PathLike):
            raise ParameterError("A score file must be opened first: hedgerow.open_scores(path, hierarchy).")
        if isinstance(q, Hierarchy):
            raise ParameterError("The tree comes first, and the likelihoods after it: exchange the two.")
        if not isinstance(q, AnyLikelihoods):
            scale = scale or "probability"
            return Likelihoods(hierarchy, as_rows(_in_node_order(hierarchy, q, scale, classes), hierarchy), scale)
        if scale is not None and scale != q.scale:
            raise ParameterError(
                f"These likelihoods are on the scale {q.scale!r}, and {scale!r} is expected here: give "
                f"{argument('scale', q.scale)}."
            )
        if q.hierarchy is not hierarchy and q.hierarchy != hierarchy:
            raise ParameterError("These likelihoods belong to another tree. Pass the tree they were made with.")
        return q

    @classmethod
    def checked(
        cls,
        hierarchy: Hierarchy,
        values: Array,
        scale: Scale,
        treatment: Treatment | None = None,
        logits: Array | None = None,
    ) -> Likelihoods:
        """Return likelihoods [examples, nodes] that need no check."""
        likelihoods = cls(hierarchy, values, scale)
        likelihoods._checked = True
        likelihoods.treatment, likelihoods.logits = treatment or Treatment(), logits
        return likelihoods

    def __getitem__(self, rows: NDArray[Any]) -> Likelihoods:
        """Return the likelihoods of some examples, given by a mask or by positions."""
        logits = None if self.logits is None else self.logits[rows]
        return Likelihoods.checked(self.hierarchy, self.values[rows], self.scale, self.treatment, logits)

    @classmethod
    def concatenate(cls, parts: Sequence[Likelihoods]) -> Likelihoods:
        """Return the likelihoods of the examples of several parts, which are of one tree and scale."""
        values = np.concatenate([as_numpy(part.values) for part in parts])
        known = [as_numpy(part.logits) for part in parts if part.logits is not None]
        logits = np.concatenate(known) if len(known) == len(parts) else None
        return cls.checked(parts[0].hierarchy, values, parts[0].scale, parts[0].treatment, logits)

    def unchecked(self) -> Likelihoods:
        """Return the same likelihoods marked as checked, for work that depends only on their order."""
        return Likelihoods.checked(self.hierarchy, self._values, self.scale)

    @property
    def values(self) -> Array:
        """The values [examples, nodes], checked: a float32 or float64 array or tensor."""
        if not self._checked:
            self._values = RangeCheck(self.hierarchy, self.scale)(self._values, 0)
            self._checked = True
        return self._values

    @property
    def raw(self) -> Array:
        """The values, possibly unchecked: for their type, shape and device."""
        return self._values

    def probabilities(self) -> Array:
        """Return the values as probabilities."""
        return to_probability(self.values, self.scale)

    def at(self, nodes: Array) -> Array:
        """Return the likelihood of one node for each example: [examples] -> same."""
        return namespace(nodes).take_along_axis(self.values, nodes[:, None], axis=1)[:, 0]

    def below_root(self) -> NDArray[np.bool_]:
        """Return which examples have a node below the root that is possible."""
        return np.asarray(
            as_numpy(self.values)[:, 1:].max(axis=1, initial=BOTTOM[self.scale]) > BOTTOM[self.scale]
        )

    def read(self, work: Callable[[Array, RangeCheck], T]) -> T:
        """Call `work` with the values and a check, which `work` must apply to every block of rows.

        Checking during the work saves a separate pass over the values. If `work` returns None, it has not read
        them.
        """
        check = RangeCheck(self.hierarchy, self.scale, done=self._checked)
        result = work(self._values, check)
        if check.lowered:
            self._values = _at_most_1(self._values)
        self._checked = self._checked or result is not None
        return result

    def has(self, key: Hashable) -> bool:
        """Return whether something has been derived under a key."""
        return key in self._derived

    def __len__(self) -> int:
        return int(self._values.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(ops_of(self.values).to_numpy(self.values)[0], dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Likelihoods({len(self):,} examples, {len(self.hierarchy):,} nodes, scale {self.scale!r})"


AnyLikelihoods = Likelihoods | SparseLikelihoods
"""Dense or sparse."""


def _in_node_order(hierarchy: Hierarchy, q: Any, scale: Scale, classes: ArrayLike | None) -> Any:
    """Return the values of a table in node order, by its column names; return anything else unchanged."""
    values, names = split_names(q)
    if names is None and not is_array_api_obj(values):
        values = as_numpy(values)
    width = values.shape[-1] if values.ndim else 0
    if names is None and classes is not None and width != len(hierarchy) and width == np.size(classes):
        names = [str(name) for name in np.asarray(classes, dtype=object).ravel().tolist()]
    leaves = len(hierarchy.leaves)
    if names is None and 1 < width <= leaves < len(hierarchy) and scale == "probability":
        remedy = (
            f"For probabilities of the {width} leaves, use likelihood.from_leaves(hierarchy, probabilities)."
            if width == leaves
            else "For probabilities of some of the leaves, name the columns: classes=[...]."
        )
        raise ScoreError(
            f"Likelihoods need one column per node, {len(hierarchy)} in all; the shape is {tuple(values.shape)}. "
            f"{remedy}"
        )
    if names is None:
        return values
    as_nodes = scale != "probability" or ColumnFit.of(hierarchy, names, leaves=False).kind is not None
    if not as_nodes and ColumnFit.of(hierarchy, names).taken_as == "leaves":
        return from_leaves(hierarchy, values, names)
    nodes = np.arange(len(hierarchy))
    if hierarchy.names[0] in names:
        return np.take(values, places(hierarchy, names, nodes, "nodes"), axis=-1)
    # The root is optional, as in score files.
    others = np.take(values, places(hierarchy, names, nodes[1:], "nodes"), axis=-1)
    others = as_scores(others, len(hierarchy) - 1, "node but the root")
    return np.concatenate([np.full_like(others[..., :1], CERTAIN[scale]), others], axis=-1)


@final
class RangeCheck:
    """Checks rows of likelihoods, block by block.

    Parameters
    ----------
    hierarchy, scale
        The tree, and the scale of the likelihoods.
    done
        Whether they have already been checked: then every row passes.
    """

    def __init__(self, hierarchy: Hierarchy, scale: Scale, *, done: bool = False) -> None:
        self._hierarchy = hierarchy
        self._scale = scale
        self._done = done
        self.lowered = False
        """Whether some likelihoods were lowered to 1."""

    @property
    def usual(self) -> tuple[float, float]:
        """Likelihoods between these two values, inclusive, pass unchanged."""
        return (0.0, 1.0) if self._scale == "probability" and not self._done else (-np.inf, np.inf)

    def __call__(self, q: Array, first_row: int, /) -> Array:
        """Return q [rows, nodes], lowered to 1 where needed; `first_row` is the number of its first row."""
        if self._done:
            return q
        source = RowSource(where=lambda row: f"row {first_row + row:,}")
        names = self._hierarchy.names.__getitem__
        _, highest = source.check_range(q, Bounds.of(self._scale), names, _other_scale)
        if highest <= self.usual[1]:
            return q
        self.lowered = True
        return _at_most_1(q)


def _other_scale(_row: int) -> str:
    return f"For scores on another scale, give {argument('scale', 'log')} or {argument('scale', 'logit')}."


def _at_most_1(q: Array) -> Array:
    return namespace(q).clip(q, max=1.0)
