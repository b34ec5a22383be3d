"""Operating curves and their summaries as torchmetrics, for training loops in one or several processes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from hedgerow.measure import CurveBuilder, Evaluation, Events, OperatingCurve, intercept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from hedgerow.likelihood import Scale
    from hedgerow.tree import BelowLabel, Hierarchy, InformationKind

_EVENT_STATES = {"label": torch.int64, "count": torch.int64, "node": torch.int64, "score": torch.float64}


class EventMetric(Metric):
    """The base of the metrics below: keeps the threshold events of all examples.

    The state sent between processes is threshold events, a handful per example. The result is bit-identical for
    any number of processes.

    Parameters
    ----------
    hierarchy
        The tree.
    metrics, information, below_label, scale
        See `hedgerow.CurveBuilder`.
    **options
        Those of `torchmetrics.Metric`.
    """

    full_state_update = False
    is_differentiable = False

    label: list[Tensor]

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        metrics: Sequence[Any] = (),
        information: InformationKind | ArrayLike = "leaves",
        below_label: BelowLabel = "label",
        scale: Scale = "probability",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.hierarchy = hierarchy
        self._builder = functools.partial(
            CurveBuilder, hierarchy, metrics=metrics, information=information, below_label=below_label, scale=scale
        )
        self._builder()  # an error if a setting is wrong
        for name in _EVENT_STATES:
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(self, q: Tensor, labels: Tensor | ArrayLike) -> None:
        """Add a batch.

        Parameters
        ----------
        q
            [B, nodes] likelihoods on the metric's scale, on any device.
        labels
            B labels: node indices or names, any nodes.
        """
        builder = self._builder()
        builder.update(q, labels)
        for name, dtype in _EVENT_STATES.items():
            array = getattr(builder.events, name)
            getattr(self, name).append(torch.as_tensor(array, dtype=dtype, device=self.device))

    def _filled_builder(self) -> CurveBuilder:
        """Return a builder that holds all examples so far."""
        builder = self._builder()
        if len(self.label):
            kept = (dim_zero_cat(getattr(self, name)).cpu().numpy() for name in _EVENT_STATES)
            builder.add(Events.of_arrays(*kept))
        return builder

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the states of all processes."""
        # Processes without examples must send empty tensors of the same type as the others.
        for name, dtype in _EVENT_STATES.items():
            if not len(getattr(self, name)):
                setattr(self, name, [torch.empty(0, dtype=dtype, device=self.device)])
        super().sync(*args, **kwargs)

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the examples of another metric with the same tree and options."""
        if isinstance(incoming_state, EventMetric):
            self._builder().merge(incoming_state._builder())  # an error if settings differ
        super().merge_state(incoming_state)


@final
class OperatingCurveMetric(EventMetric):
    """The operating curve of the examples of all processes; see `EventMetric` for the parameters.

    Examples
    --------
    >>> import torch
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> metric = OperatingCurveMetric(h)
    >>> metric.update(torch.tensor([[1, 0.75, 0.5, 0.25, 0.25]]), torch.tensor([2]))
    >>> metric.compute().threshold.tolist()
    [0.75, 0.5, 0.0]
    """

    def compute(self) -> OperatingCurve:
        """Return the curve of all examples so far."""
        return self._filled_builder().compute()

    def plot(self, *args: Any, **options: Any) -> Any:
        """Draw the curve of all examples so far: see `OperatingCurve.plot`."""
        return self.compute().plot(*args, **options)

    def _wrap_compute(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        # torchmetrics traverses a result to clone its tensors, which fails for frozen dataclasses.
        boxed = super()._wrap_compute(functools.wraps(compute)(lambda: _Box(compute())))
        return functools.wraps(compute)(lambda: boxed().content)


class _Box:
    def __init__(self, content: OperatingCurve) -> None:
        self.content = content


@final
class SummaryMetric(EventMetric):
    """The summary of the examples of all processes, as in `Evaluation.summary`.

    Examples
    --------
    >>> import torch
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> metric = SummaryMetric(h)
    >>> metric.update(torch.tensor([[1, 0.75, 0.5, 0.25, 0.25]]), torch.tensor([2]))
    >>> metric.compute()["leaf_exact"]
    1.0
    """

    def compute(self) -> dict[str, float]:
        """Return the summary of all examples so far, and their number."""
        evaluation = Evaluation.of_events(self._filled_builder())
        return {**evaluation.summary(), "examples": float(len(evaluation))}


@final
class HierarchicalAP(EventMetric):
    """Average precision (precision over recall) of all examples so far: one number, logged like any other metric.

    Examples
    --------
    >>> import torch
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> metric = HierarchicalAP(h)
    >>> metric.update(torch.tensor([[1, 0.75, 0.5, 0.25, 0.25]]), torch.tensor([2]))
    >>> metric.compute()
    tensor(1., dtype=torch.float64)
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        """Return AP."""
        return torch.tensor(self._filled_builder().compute().summary()["AP"], dtype=torch.float64)


@final
class RecallAtCorrect(EventMetric):
    """The largest recall at which a given share of the answers is correct, such as R@95C.

    Parameters
    ----------
    hierarchy
        The tree.
    level
        The share of answers that must be correct.
    **options
        Those of `EventMetric`.

    Examples
    --------
    >>> import torch
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> metric = RecallAtCorrect(h, level=0.9)
    >>> metric.update(torch.tensor([[1, 0.75, 0.25, 0.5, 0.25]]), torch.tensor([2]))
    >>> round(metric.compute().item(), 2)  # "pet", for a cat that looks like a dog
    0.37
    """

    higher_is_better = True

    def __init__(self, hierarchy: Hierarchy, level: float = 0.95, **options: Any) -> None:
        super().__init__(hierarchy, **options)
        self.level = level

    def compute(self) -> Tensor:
        """Return the recall."""
        curve = self._filled_builder().compute()
        return torch.tensor(intercept(curve.recall, curve.correct, self.level), dtype=torch.float64)
