"""Priors: what lives where and when, as a factor of the probability of each class."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, argument, check_each, closest, some
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.links import softmax_or_root
from hedgerow.likelihood.own_mass import reweighted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy, Indices

    Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Prior:
    """How often classes occur where a model is used, relative to how often they did in training.

    A node's own mass is multiplied by π(node) / π_train(node), where a node has what its leaves have together.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> rare = likelihood.Prior.of(h, ["pet", "wolf"], [0.9, 0.1])
    >>> likelihood.with_prior(h, [[1, 0.5, 0.25, 0.25, 0.5]], rare).values.round(3).tolist()
    [[1.0, 0.818, 0.409, 0.409, 0.182]]
    """

    factor: Floats
    """[groups, nodes] What the own mass of each node is multiplied by."""
    groups: tuple[str, ...] | None
    """The places, seasons or cameras that have a row each; None if there is one row for all."""
    digest: str
    """The SHA-256 of all its numbers."""

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        classes: Sequence[str],
        numbers: ArrayLike | None = None,
        groups: Sequence[str] | None = None,
        trained: Mapping[str, float] | None = None,
        source: str = "The prior",
    ) -> Prior:
        """Make a prior.

        Parameters
        ----------
        hierarchy
            The tree.
        classes
            Leaves, or clades, which stand for their leaves. What is not listed does not occur.
        numbers
            How often each class occurs, in any unit; that of a clade is spread equally over its leaves. Without
            numbers, the listed leaves are possible, and nothing more is known.
        groups
            The place, season or camera that each entry is for; None if all are for every example.
        trained
            How often the classes occurred in training; by default, each leaf equally often.
        source
            Where the entries come from, for messages.
        """
        names = [str(name) for name in classes]
        given = None if numbers is None else as_numpy(np.asarray(numbers, dtype=np.float64))
        where = None if groups is None else [str(name) for name in groups]
        kinds = ("",) if where is None else tuple(dict.fromkeys(where))
        place = {name: row for row, name in enumerate(kinds)}
        entries = np.array([place[name] for name in where or [""] * len(names)], dtype=np.int64)
        leaves = np.stack(
            [
                _of_leaves(hierarchy, names, given, np.flatnonzero(entries == row), source, kinds[row])
                for row in range(len(kinds))
            ]
        )
        before = np.ones(len(hierarchy.leaves))
        if trained is not None:
            said = list(map(float, trained.values()))
            everything = np.arange(len(said))
            before = _of_leaves(hierarchy, list(trained), np.array(said), everything, "The prior of training", "")
            if (absent := (leaves.max(axis=0) > 0) & (before == 0)).any():
                raise ParameterError(
                    f"{source} allows {some(hierarchy.names[hierarchy.leaves[absent]])}, which the prior of "
                    f"training does not have, so nothing is known about how to weigh them. Add them to it."
                )
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = _up(hierarchy, leaves) / _up(hierarchy, before[None])
        factor[~np.isfinite(factor)] = 0.0
        listed = [""] * len(names) if where is None else where
        counts = [None] * len(names) if given is None else given.tolist()
        content = [sorted(zip(listed, names, map(repr, counts), strict=True)), sorted((trained or {}).items())]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return cls(factor / factor.max(axis=1, keepdims=True), None if where is None else kinds, digest)

    def rows_of(self, groups: ArrayLike | None, examples: int) -> Indices:
        """Return the row of each example, by its group."""
        if self.groups is None:
            return np.zeros(examples, dtype=np.int64)
        if groups is None:
            raise ParameterError(
                f"The prior has rows for each group ({some(self.groups)}), so it needs to know the group of each "
                f"example: give {argument('group_column', 'COLUMN', python='ScoreReading(group_column=COLUMN)')}."
            )
        place = {name: row for row, name in enumerate(self.groups)}
        given = [str(name) for name in np.asarray(groups).ravel().tolist()]
        if unknown := list(dict.fromkeys(name for name in given if name not in place)):
            raise UnknownNameError(
                f"The prior has no rows for the group {some(unknown)}.{closest(unknown[:3], place)} Add them, or "
                f"leave out these examples."
            )
        return np.fromiter(map(place.__getitem__, given), np.int64, len(given))


def _of_leaves(
    hierarchy: Hierarchy, names: list[str], numbers: Floats | None, entries: Indices, source: str, group: str
) -> Floats:
    """Return the number of each leaf that some entries give."""
    there = f"{source}: in the group {group!r}, " if group else f"{source}: "
    listed = [names[entry] for entry in entries.tolist()]
    if unknown := [name for name in listed if name not in hierarchy]:
        raise UnknownNameError(f"{there}{some(unknown)} is not in the tree.{closest(unknown[:3], hierarchy)}")
    if twice := [name for name, count in Counter(listed).items() if count > 1]:
        raise ParameterError(f"{there}{some(twice)} is listed twice. Keep one of them.")
    nodes = np.array([hierarchy.index(name) for name in listed], dtype=np.int64)
    size = hierarchy.leaf_count[nodes]
    value = np.ones(len(nodes)) if numbers is None else numbers[entries] / size
    if (bad := ~((value >= 0) & np.isfinite(value))).any():
        entry = int(np.argmax(bad))
        number = value[entry] * size[entry]
        found = "no number" if np.isnan(number) else f"{number:g}"
        raise ScoreError(f"{there}{listed[entry]!r} has {found}. A prior is a number from 0 on.")
    if numbers is not None and (pair := overlap(hierarchy, nodes)):
        raise ParameterError(
            f"{there}{pair[1]!r} lies below {pair[0]!r}, and both have a number. Keep one of them."
        )
    result = np.zeros(len(hierarchy.leaves))
    first = np.searchsorted(hierarchy.leaves, nodes)
    inside = np.arange(size.sum()) + np.repeat(first - np.cumsum(size) + size, size)
    result[inside] = np.repeat(value, size)
    if not result.any():
        raise ScoreError(f"{there}every class has the prior 0. Give at least one class a number above 0.")
    return result


def overlap(hierarchy: Hierarchy, nodes: Indices) -> tuple[str, str] | None:
    """Return the names of two of some distinct nodes of which the second lies below the first; None if none does.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> overlap(h, np.array([4, 3, 1])), overlap(h, np.array([4, 3, 2]))
    (('pet', 'dog'), None)
    """
    ordered = np.sort(nodes)
    reach = np.maximum.accumulate(hierarchy.end[ordered])
    below = np.flatnonzero(ordered[1:] < reach[:-1])
    if not len(below):
        return None
    node = int(ordered[below[0] + 1])
    above = ordered[(ordered < node) & (node < hierarchy.end[ordered])][0]
    return str(hierarchy.names[above]), str(hierarchy.names[node])


def _up(hierarchy: Hierarchy, leaves: Floats) -> Floats:
    """Return for each node the sum over its leaves: [groups, leaves] -> [groups, nodes]."""
    first = np.searchsorted(hierarchy.leaves, np.arange(len(hierarchy)))
    last = first + hierarchy.leaf_count
    sums, there = (
        np.cumsum(np.pad(each, ((0, 0), (1, 0))), axis=1) for each in (leaves, (leaves > 0).astype(int))
    )
    total = np.where(there[:, last] > there[:, first], sums[:, last] - sums[:, first], 0.0)
    total[:, hierarchy.leaves] = leaves  # not rounded
    return np.asarray(total)


def with_prior(
    hierarchy: Hierarchy,
    q: Any,
    prior: Prior,
    groups: ArrayLike | None = None,
    *,
    scale: Scale | None = None,
) -> AnyLikelihoods:
    """Return the likelihoods where classes occur as a prior says, and not as in training.

    ``p'(leaf) ∝ p(leaf) π(leaf) / π_train(leaf)``, summed up the tree. The mass that is an inner node's own is
    treated likewise, and stays there. Where no mass is left, only the root remains.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        Likelihoods in which children share the likelihood of their parent, as for `restrict`.
    prior
        The prior.
    groups
        [examples] The group of each example, if the prior depends on it.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".

    Returns
    -------
    Likelihoods or SparseLikelihoods
        On the scale "probability"; sparse if q is.
    """
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    if given.treatment.prior is not None or given.treatment.pool is not None:
        raise ParameterError("A prior comes before another one, and before the pooling of events.")
    member = prior.rows_of(groups, len(given))
    check_each("groups", member.shape, len(given))
    result: AnyLikelihoods
    if isinstance(given, Likelihoods) and given.logits is not None:
        result = _of_logits(hierarchy, as_numpy(given.logits), prior.factor[member][:, hierarchy.leaves])
    else:
        result = reweighted(hierarchy, given, prior.factor, member, "given a prior")
    result.treatment = replace(given.treatment, prior=prior.digest)
    return result


def _of_logits(hierarchy: Hierarchy, logits: NDArray[Any], factor: Floats) -> Likelihoods:
    """Return likelihoods of weighted leaves from logits: small probabilities are not lost."""
    with np.errstate(divide="ignore"):
        theta = logits.astype(np.float64) + np.log(factor)
    return Likelihoods.checked(hierarchy, softmax_or_root(hierarchy, theta), "probability")
