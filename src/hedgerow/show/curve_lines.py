"""The geometry of figures of operating curves: points, means over seeds, ticks. Nothing here needs matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.likelihood import from_probability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.measure import OperatingCurve

CurveKind = Literal["precision-recall", "correct-exact", "correct-recall"]

KINDS: dict[CurveKind, tuple[str, str]] = {
    "precision-recall": ("recall", "precision"),
    "correct-exact": ("exact", "correct"),
    "correct-recall": ("recall", "correct"),
}
"""The metrics on the horizontal and the vertical axis of each kind of plot."""

AXIS_NAMES = {
    "recall": "Recall",
    "precision": "Precision",
    "correct": "Correct",
    "exact": "Exactly correct",
}
"""The label of each axis."""

DEFAULT_RULES = ("majority", "leaf")
"""The rules marked by default; the marks of more than two would hide each other."""

_GRID = 4096  # cells per unit of either axis: consecutive points in the same cell are drawn as one
_BAND_POINTS = 400
_TICK_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_TICKS = 7
_PATH_POINTS, _HIDDEN_POINTS = 1500, 300
_TOUCHING = 0.006  # of the width or height: about the width of a line
_HIDDEN = 0.9  # of a line's length


@final
@dataclass(frozen=True, eq=False)
class Line:
    """A line to draw.

    Between two points of a stepped line, the height is that of the second point.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    half: int
    """The index of the last point whose threshold is at least 0.5."""
    stepped: bool

    def path(self) -> NDArray[np.complex128]:
        """Return the corners of the drawn line, as x + iy."""
        if not self.stepped:
            return self.x + 1j * self.y
        return np.repeat(self.x, 2)[:-1] + 1j * np.repeat(self.y, 2)[1:]


@final
@dataclass(frozen=True, eq=False)
class System:
    """A system to draw: its curves, one per seed, and the points of its rules."""

    name: str
    curves: tuple[OperatingCurve, ...]
    rules: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rule -> metric -> mean over examples and seeds."""

    def __post_init__(self) -> None:
        if not self.curves:
            raise ParameterError(f"{self.name!r} has no curve to draw: give at least one.")
        if len({curve.scale for curve in self.curves}) > 1:
            raise ParameterError(f"The curves of {self.name!r} must have thresholds on the same scale.")

    @classmethod
    def of_seeds(
        cls,
        name: str,
        curves: Sequence[OperatingCurve],
        rules: Sequence[Mapping[str, Mapping[str, float]]],
    ) -> System:
        """Return a system of several seeds; the points of each rule are averaged over the seeds."""
        first = rules[0] if rules else {}
        means = {
            rule: {metric: float(np.mean([seed[rule][metric] for seed in rules])) for metric in point}
            for rule, point in first.items()
            if all(rule in seed and point.keys() <= seed[rule].keys() for seed in rules)
        }
        return cls(name, tuple(curves), means)

    def line(self, along: str, up: str, *, grid: int = _GRID) -> Line:
        """Return the line to draw; for several curves, their mean height (see `_mean`).

        Consecutive points of one curve in the same cell of the grid are drawn as one.
        """
        if len(self.curves) > 1:
            x, y, _, half = self._mean(along, up)
            return Line(x, y, half, stepped=False)
        curve = self.curves[0]
        last = curve.index(self._lowest(0.5))
        x, y = curve.values[along], curve.values[up]
        kept = _thinned(x, y, last, grid)
        return Line(x[kept], y[kept], int(np.searchsorted(kept, last)), stepped=True)

    def band(self, along: str, up: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the outline of two standard deviations above and below the mean; None for one curve."""
        if len(self.curves) == 1:
            return None
        x, y, deviation, _ = self._mean(along, up)
        outline = np.concatenate([y - 2 * deviation, (y + 2 * deviation)[::-1]])
        return np.concatenate([x, x[::-1]]), np.clip(outline, 0, 1)

    def at(self, tau: float, along: str, up: str) -> tuple[float, float] | None:
        """Return the point of the line at a threshold; None if a curve ends above it.

        For several curves, it is where their mean x is. `tau` is a probability, whatever the scale of the curves.
        """
        threshold = float(from_probability(tau, self.curves[0].scale))
        if self._lowest(tau) > threshold:
            return None
        points = [curve.at(threshold) for curve in self.curves]
        mean = float(np.mean([point[along] for point in points]))
        if len(points) == 1:
            return mean, points[0][up]
        x, y, *_ = self._mean(along, up)
        return mean, float(np.interp(mean, x, y))

    def extent(self, along: str, up: str, rules: Sequence[str]) -> tuple[float, float]:
        """Return the largest x and the smallest y of anything drawn for this system."""
        outline = self.band(along, up) or tuple(self.curves[0].values[name] for name in (along, up))
        points = [self.rules[rule] for rule in rules if rule in self.rules]
        return (
            max([float(outline[0].max()), *(point[along] for point in points)]),
            min([float(outline[1].min()), *(point[up] for point in points)]),
        )

    def _lowest(self, tau: float) -> float:
        """Return a threshold on the scale of the curves, raised if necessary to one that all of them reach."""
        return max(
            float(from_probability(tau, self.curves[0].scale)),
            *(float(curve.threshold[-1]) for curve in self.curves),
        )

    def _mean(
        self, along: str, up: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
        """Return x, the mean and the standard deviation of the heights there, and the last index at τ >= 0.5.

        Heights are averaged at equal x. At equal thresholds, seeds that are equally good, but not equally sure,
        are at different places of the same curve, and the mean of such places is below the curve. The last point
        is the mean of the ends, unless a curve turns back before.
        """
        lowest = max(float(curve.threshold[-1]) for curve in self.curves)
        parts = []
        for curve in self.curves:
            end = curve.index(lowest) + 1
            parts.append((curve.values[along][:end], curve.values[up][:end]))
        half = float(np.mean([curve.values[along][curve.index(self._lowest(0.5))] for curve in self.curves]))
        reach = min(float(x.max()) for x, _ in parts)
        x = np.unique(np.append(np.linspace(0, reach, _BAND_POINTS), min(half, reach)))
        heights = np.stack([_heights(x, *part) for part in parts])
        last = int(np.searchsorted(x, min(half, reach)))
        end_x, end_y = (np.array([values[-1] for values in metric]) for metric in zip(*parts, strict=True))
        if end_x.mean() > reach:
            last = len(x) if half >= end_x.mean() else last
            x, heights = np.append(x, end_x.mean()), np.column_stack([heights, end_y])
        return x, heights.mean(axis=0), heights.std(axis=0, ddof=1), last


def _heights(at: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the height of a curve at each place, interpolated: studies record curves at some points only.

    >>> _heights(np.array([0, 0.3, 1]), np.array([0, 0, 0.5, 1]), np.array([1, 0.8, 0.6, 0.7])).round(2).tolist()
    [1.0, 0.76, 0.7]
    """
    place, first = np.unique(np.maximum.accumulate(x), return_index=True)
    return np.interp(at, place, y[first])


def height_ticks(lowest: float) -> NDArray[np.float64]:
    """Return a few round heights, ascending, from the first at or below `lowest` up to 1.

    >>> height_ticks(0.83).round(2).tolist()
    [0.8, 0.85, 0.9, 0.95, 1.0]
    """
    step = next((step for step in _TICK_STEPS if 1 - lowest <= _TICKS * step), _TICK_STEPS[-1])
    first = max(0, int(np.floor(lowest / step)))
    return np.arange(first, round(1 / step) + 1) * np.float64(step)


def hidden_levels(paths: Sequence[NDArray[np.complex128]]) -> list[int]:
    """Return, for each line, how many lines drawn after it lie on top of each other and hide it.

    Parameters
    ----------
    paths
        The corners of the lines, as x + iy in units of the width and height of the axes, in drawing order.

    Examples
    --------
    >>> import numpy as np
    >>> steep, flat = np.array([1j, 1]), np.array([1j, 1 + 0.9j])
    >>> hidden_levels([flat, steep, flat, steep, flat])
    [2, 1, 1, 0, 0]
    """
    points = [_resampled(path, _PATH_POINTS) for path in paths]
    levels = [0] * len(paths)
    for i in reversed(range(len(paths))):
        own = points[i][:: -_PATH_POINTS // _HIDDEN_POINTS]  # from the end, which must be hidden too
        for j in range(i + 1, len(paths)):
            near = np.abs(own[:, None] - points[j]).min(axis=1) <= _TOUCHING
            if near[0] and near.mean() >= _HIDDEN:
                levels[i] = max(levels[i], levels[j] + 1)
    return levels


def _resampled(path: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Return equally spaced points along a path."""
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(path)))])
    return np.interp(np.linspace(0, length[-1], count), length, path)


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64], keep: int, grid: int) -> NDArray[np.int64]:
    """Return the indices of the points to draw: the last of consecutive points in the same cell."""
    cell_x, cell_y = (np.floor(values * grid).astype(np.int64) for values in (x, y))
    moves = (np.diff(cell_x) != 0) | (np.diff(cell_y) != 0)
    kept = np.append(moves, True)
    kept[[0, keep]] = True
    return np.flatnonzero(kept)
