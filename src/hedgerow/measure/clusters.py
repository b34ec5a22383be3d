"""Clusters: examples that belong together, such as the photographs of one burst."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree import Indices


@final
@dataclass(frozen=True, eq=False)
class Clusters:
    """Which examples belong together; by default, each is a cluster of its own."""

    member: Indices
    """The number of the cluster of each example."""
    size: Indices
    """Its size."""
    number: int
    """The number of clusters."""
    unit: str = "cluster"
    """What one of them is called in messages: "example" if no clusters were given."""
    largest: int | None = None
    """If every example counts once, the size that no cluster exceeds; None if every cluster counts once."""

    @classmethod
    def of(cls, clusters: ArrayLike | None, examples: int, largest: int | None = None) -> Clusters:
        """Count the members of each cluster."""
        if clusters is None:
            return cls(np.arange(examples), np.ones(examples, dtype=np.int64), examples, "example")
        _, member, size = np.unique(np.asarray(clusters), return_inverse=True, return_counts=True)
        return cls(member, size[member], len(size), largest=largest)

    @classmethod
    def resampled(cls, clusters: ArrayLike | None, examples: int) -> Clusters:
        """Return what a replicate of the bootstrap draws: clusters, or examples if each is alone in its own."""
        units = cls.of(clusters, examples)
        return cls.of(None, examples) if units.are_single else units

    @property
    def divisor(self) -> Indices:
        """What the loss of each example is divided by, so that a cluster's losses add up to 1 at most."""
        return self.size if self.largest is None else np.full_like(self.size, self.largest)

    @property
    def are_units(self) -> bool:
        """Whether every cluster is a single example, new ones too: that these happen to be is not enough."""
        return self.unit == "example" or self.largest == 1

    @property
    def mass(self) -> Fraction:
        """What all losses would then add up to if all were 1."""
        return Fraction(self.number) if self.largest is None else Fraction(len(self.member), self.largest)

    @property
    def are_single(self) -> bool:
        """Whether no two examples are in one cluster."""
        return bool((self.size == 1).all())

    def same(self, other: Clusters) -> bool:
        """Return whether the same examples are together in both, whatever the clusters are called."""
        pairs = len(np.unique(self.member * other.number + other.member))
        return pairs == self.number == other.number

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the mean over the clusters of the mean in each: every cluster counts once."""
        return float(values.mean() if self.are_single else np.sum(values / self.size) / self.number)

    def too_few(self, level: float) -> str | None:
        """Return why intervals of this level cannot be drawn from so few clusters; None if they can.

        K clusters can all deviate in the same direction by chance with probability 2^(1 - K): where that is more
        than 1 - level, no result is clear.
        """
        needed = math.ceil(1 - math.log2(1 - level))
        if self.unit == "example" or self.number >= needed:
            return None
        return (
            f"the examples are in {counted(self.number, 'cluster', 'clusters')}, too few to tell what is chance: "
            f"at least {needed} are needed. If the examples are independent of each other, leave out the clusters."
        )
