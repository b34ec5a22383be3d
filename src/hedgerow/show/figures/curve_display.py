"""Operating curves of one or more systems, drawn with matplotlib."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.measure import Evaluation, OperatingCurve, evaluate
from hedgerow.show.curve_lines import DEFAULT_RULES, KINDS, CurveKind, System
from hedgerow.show.figures.curve_axes import Style, draw
from hedgerow.show.figures.style import literal, save_figure

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy

_PANEL_WIDTH, _PANEL_HEIGHT = 3.7, 3.1  # inches


@final
class OperatingCurveDisplay:
    """Operating curves of one or more systems, ready to be drawn.

    Lines are exact steps: between two points, the height is that of the more specific one, as in the integrals.
    They are dashed where the threshold is below 0.5. A line hidden by others is drawn wider, so that it shows on
    both sides. Markers show what single rules achieve: the shape shows the system, the fill shows the rule.
    Several curves of one system, such as seeds, are drawn as their mean height at each place of the horizontal
    axis, with two standard deviations above and below.

    The `from_` methods only collect what to draw; `plot`, `figure` and `save` draw it.

    Parameters
    ----------
    systems
        What to draw.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of the last call of `plot`.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.show.figures import OperatingCurveDisplay
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> display = OperatingCurveDisplay.from_predictions(h, q, ["cat", "cat"], name="my model")
    >>> figure = display.figure(["precision-recall"])
    >>> [line.get_label() for line in figure.axes[0].lines][:1]
    ['my model']
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, systems: Sequence[System]) -> None:
        if not systems:
            raise ParameterError("There is nothing to draw: give at least one system.")
        self.systems = tuple(systems)

    def __repr__(self) -> str:
        return f"OperatingCurveDisplay({', '.join(repr(system.name) for system in self.systems)})"

    @classmethod
    def from_curves(
        cls,
        curves: Mapping[str, OperatingCurve | Sequence[OperatingCurve]] | OperatingCurve,
        *,
        rules: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    ) -> OperatingCurveDisplay:
        """Show curves: one, or name -> one, or name -> several (seeds).

        `rules` gives the points to mark: name -> rule -> metric -> value.
        """
        named = {"": curves} if isinstance(curves, OperatingCurve) else curves
        points = rules or {}
        return cls(
            [
                System(name, (one,) if isinstance(one, OperatingCurve) else tuple(one), points.get(name, {}))
                for name, one in named.items()
            ]
        )

    @classmethod
    def from_evaluations(
        cls, evaluations: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation | Sequence[Evaluation]]
    ) -> OperatingCurveDisplay:
        """Show evaluations: one or several, with their own names, or name -> one, or name -> several (seeds)."""
        if isinstance(evaluations, Evaluation):
            evaluations = [evaluations]
        if not isinstance(evaluations, Mapping):
            return cls([System(e.name, (e.curve,), e.rules) for e in evaluations])
        several = {
            name: [given] if isinstance(given, Evaluation) else list(given) for name, given in evaluations.items()
        }
        return cls(
            [System.of_seeds(name, [e.curve for e in es], [e.rules for e in es]) for name, es in several.items()]
        )

    @classmethod
    def from_predictions(
        cls,
        hierarchy: Hierarchy,
        q: Any,
        labels: ArrayLike,
        **options: Any,
    ) -> OperatingCurveDisplay:
        """Show likelihoods: their curve, and the points of single rules.

        Parameters
        ----------
        hierarchy
            The tree.
        q
            [examples, nodes] likelihoods, as `hedgerow.evaluate` takes them.
        labels
            Names or indices of nodes, one per example.
        options
            Options of `hedgerow.evaluate`, such as `name` and `scale`.
        """
        return cls.from_evaluations(evaluate(hierarchy, q, labels, **{"name": "", **options}))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803  (scikit-learn's name)
        y: ArrayLike,
        **options: Any,
    ) -> OperatingCurveDisplay:
        """Show a fitted classifier: its curve on examples, and the points of single rules.

        Parameters
        ----------
        estimator
            A fitted `HedgedClassifier`, or anything with its `hierarchy_` and `predict_likelihood`.
        X
            Features, as the estimator takes them.
        y
            The labels: classes of the estimator, or names of nodes at any depth.
        options
            Options of `hedgerow.evaluate`. The default `name` is the name of the estimator's class.
        """
        missing = [a for a in ("hierarchy_", "predict_likelihood") if not hasattr(estimator, a)]
        if missing:
            raise ParameterError(
                f"{type(estimator).__name__} has no {missing[0]}. Give a fitted HedgedClassifier (for a Pipeline, "
                "its last step, with features transformed by the other steps), or pass likelihoods to "
                "from_predictions."
            )
        scale = _ranking_scale(estimator)
        q = estimator.predict_likelihood(X) if scale is None else estimator.predict_likelihood(X, scale=scale)
        options = {"name": type(estimator).__name__, "scale": scale, **options}
        return cls.from_predictions(estimator.hierarchy_, q, _nodes(estimator, y), **options)

    def plot(
        self,
        kind: CurveKind = "precision-recall",
        ax: Axes | None = None,
        *,
        rules: Sequence[str] = DEFAULT_RULES,
        thresholds: Sequence[float] | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw into one set of axes, and return the display; see `ax_` and `figure_`.

        Parameters
        ----------
        kind
            "precision-recall", "correct-exact" or "correct-recall".
        ax
            Where to draw; by default, in a new pyplot figure.
        rules
            The rules to mark, if the systems have them: see `RULE_STYLES`.
        thresholds
            The thresholds to mark on every line, as probabilities; those whose labels would overlap are left out.
            By default, 0.5, 0.9 and 0.99 if there are at most two systems.
        legend
            Whether to explain colours, shapes and fills.
        """
        style = Style(self.systems, rules, thresholds)
        own = ax is None
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(figsize=(6.6 if legend else 4.8, 4.2), layout="constrained")[1]
        draw(ax, kind, style)
        if legend:
            place: Any = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if own else {"loc": "best"}
            entries = [*style.name_entries(), *style.key_entries()]
            ax.legend(handles=entries, fontsize="small", framealpha=0.85, edgecolor="none", **place)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def figure(self, kinds: Sequence[CurveKind] = tuple(KINDS), **options: Any) -> Figure:
        """Return a figure with one panel per kind and a common legend below; the options are `panel_figure`'s."""
        return panel_figure([Panel(self, kind) for kind in kinds], **{"columns": len(kinds), **options})

    def save(self, path: str | PathLike[str], kinds: Sequence[CurveKind] = tuple(KINDS), **options: Any) -> None:
        """Write the figure as PNG, PDF or SVG, depending on the extension; the options are those of `figure`."""
        save_figure(self.figure(kinds, **options), path)


@final
@dataclass(frozen=True)
class Panel:
    """One set of axes of a figure."""

    display: OperatingCurveDisplay
    kind: CurveKind
    title: str = ""


def panel_figure(
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    rules: Sequence[str] = DEFAULT_RULES,
    thresholds: Sequence[float] | None = None,
    title: str | None = None,
) -> Figure:
    """Return a figure of several panels with a legend below; if names differ by panel, each panel lists its own.

    Parameters
    ----------
    panels
        What to draw, row by row.
    columns
        The largest number of panels in a row.
    rules, thresholds
        What to mark: see `OperatingCurveDisplay.plot`.
    title
        What to write above all panels.
    """
    if not panels:
        raise ParameterError("There is nothing to draw: give at least one kind or panel.")
    styles = [Style(panel.display.systems, rules, thresholds) for panel in panels]
    common = len({style.names for style in styles}) == 1
    across = min(columns, len(panels))
    down = math.ceil(len(panels) / across)
    width = 0.4 + _PANEL_WIDTH * across
    # The legend explains every mark, even if it appears in only one panel.
    key = {str(entry.get_label()): entry for style in styles for entry in style.key_entries()}
    entries = [*(styles[0].name_entries() if common else []), *key.values()]
    widths = [0.55 + 0.068 * len(str(entry.get_label())) for entry in entries]  # inches, roughly
    in_row = len(entries) if sum(widths) <= width else max(1, int(width / max(widths)))
    height = _PANEL_HEIGHT * down + 0.2 * math.ceil(len(entries) / in_row) + 0.2
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.04, hspace=0.04))
    axes: list[Axes] = list(np.ravel(figure.subplots(down, across)))
    for ax, panel, style in zip(axes, panels, styles, strict=False):
        draw(ax, panel.kind, style)
        ax.set_title(literal(panel.title), fontsize="medium")
        if not common:
            names = style.name_entries()
            ax.legend(handles=names, fontsize="x-small", framealpha=0.85, edgecolor="none", loc="best")
    for ax in axes[len(panels) :]:
        ax.remove()
    figure.legend(handles=entries, loc="outside lower center", ncols=in_row, fontsize="small", frameon=False)
    if title is not None:
        figure.suptitle(title, fontsize="medium")
    return figure


def _ranking_scale(estimator: Any) -> Scale | None:
    """Return the scale on which an estimator's method ranks best; None if it has only one scale."""
    if "scale" not in inspect.signature(estimator.predict_likelihood).parameters:
        return None
    return getattr(getattr(estimator, "method_", None), "scale", None)


def _nodes(estimator: Any, y: ArrayLike) -> NDArray[np.int64]:
    """Return the nodes of labels, which are names of nodes; numbers, in a tree that was made from numbers."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ScoreError(f"y must have one label per example, not shape {labels.shape}. Give names of nodes.")
    names = {label: str(label) for label in np.asarray(getattr(estimator, "classes_", ())).tolist()}  # 2 is 2.0
    found = estimator.hierarchy_.indices([names.get(label, str(label)) for label in labels.tolist()])
    return cast("NDArray[np.int64]", found)
