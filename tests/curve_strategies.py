"""Random evaluation problems: a tree, likelihoods, labels anywhere in the tree, a measure of specificity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tests import oracle, oracle_curve
from tests.strategies import Floats, information_kinds, likelihoods, trees

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn
    from numpy.typing import NDArray

    from hedgerow import Hierarchy, OperatingCurve
    from hedgerow.measure.builder import CurveBuilder


@dataclass
class Problem:
    h: Hierarchy
    q: Floats
    labels: NDArray[np.int64]
    options: dict[str, Any]

    def expected(self, **changed: Any) -> oracle_curve.Curve:
        info = self.h.information(self.options["information"]).tolist()
        tree = oracle.Tree(self.h.parent.tolist())
        below: str = self.options["below_label"]
        return oracle_curve.curve(tree, self.q.tolist(), self.labels.tolist(), info, below, **changed)


@st.composite
def problems(draw: DrawFn, max_rows: int = 5, max_nodes: int = 14) -> Problem:
    h = draw(trees(max_nodes))
    q = draw(likelihoods(h, max_rows=max_rows))
    labels = draw(st.lists(st.integers(0, len(h) - 1), min_size=len(q), max_size=len(q)))
    options = {
        "information": draw(information_kinds(h)),
        "below_label": draw(st.sampled_from(["label", "wrong"])),
    }
    return Problem(h, q, np.array(labels, dtype=np.int64), options)


def raw(curve: OperatingCurve) -> dict[str, bytes]:
    """The very bytes of a curve."""
    arrays = {"threshold": curve.threshold, **curve.values}
    return {"examples": str(curve.examples).encode(), **{name: a.tobytes() for name, a in arrays.items()}}


@st.composite
def in_parts(draw: DrawFn, rows: int) -> list[list[int]]:
    """The row numbers, shuffled and cut anywhere; parts may be empty."""
    order = draw(st.permutations(range(rows)))
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=3)))
    return [list(order[a:b]) for a, b in zip([0, *cuts], [*cuts, rows], strict=True)]


def merged(builders: list[CurveBuilder]) -> CurveBuilder:
    first, *others = builders
    for other in others:
        first.merge(other)
    return first
