"""Temperature scaling: likelihoods that mean what they say.

Scores are divided by one number, the temperature, chosen so that the labels of held-out examples become as likely
as possible. This keeps the order of an example's scores, and makes the model more or less confident.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import array_api_compat
import numpy as np

from hedgerow.arrays import Array, TreeOnDevice, as_numpy, namespace
from hedgerow.errors import ParameterError, ScoreError, check_number
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.links import flat_softmax
from hedgerow.likelihood.scales import RowSource
from hedgerow.likelihood.treatment import Treatment

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy

Judge = Literal["label", "nodes"]

_COARSE = np.linspace(math.log(0.05), math.log(1000.0), 12)  # logarithms of temperatures that are tried first
_TINY = 1e-30  # a log-likelihood is at least so far below 0
_HOTTEST = 1e6  # the largest temperature; its inverse is the smallest
_LEAST_LOG = -50.0  # of a leaf


@final
@dataclass(frozen=True)
class Temperature:
    """A fitted temperature; above 1, the model was overconfident."""

    value: float
    """The number to divide scores by."""
    before: float
    """Mean loss of the held-out examples at temperature 1."""
    after: float
    """Mean loss of the held-out examples at the fitted temperature."""


def fit_temperature(
    hierarchy: Hierarchy,
    theta: Array,
    labels: ArrayLike,
    log_likelihood: Callable[[Array], Array],
    *,
    judge: Judge = "label",
    block_values: int = 1 << 22,
) -> Temperature:
    """Choose the temperature that explains held-out labels best.

    Parameters
    ----------
    hierarchy
        The tree.
    theta
        Scores [examples, outputs] of any method, an array or a tensor.
    labels
        Node indices, at any depth; a label at the root carries no information.
    log_likelihood
        Function from scores to log-likelihoods [examples, nodes], such as
        ``lambda theta: likelihood.flat_softmax(hierarchy, theta, scale="log")``.
    judge
        The loss to minimise. "label": the negative log-likelihood of the label, for likelihoods where siblings
        compete (softmaxes). "nodes": for each node that is not below the label, the negative log-likelihood of
        whether it is an ancestor of the label, averaged; for likelihoods that can all be large (sigmoids).
    block_values
        How many likelihoods to process at once.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> theta = np.array([[8.0, 0.0], [8.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    >>> labels = [1, 1, 2, 2]  # the model is certain, but right only three times out of four
    >>> fitted = fit_temperature(h, theta, labels, lambda t: likelihood.flat_softmax(h, t, scale="log"))
    >>> round(fitted.value, 1)  # 8 / log 3: now it gives a probability of three in four
    7.3
    """
    if judge not in ("label", "nodes"):
        raise ParameterError(f"judge must be 'label' or 'nodes', not {judge!r}.")
    theta = theta if array_api_compat.is_array_api_obj(theta) else np.asarray(theta)
    theta = theta.detach() if array_api_compat.is_torch_array(theta) else theta
    nodes = hierarchy.nodes(labels)
    if theta.ndim != 2 or nodes.shape != theta.shape[:1] or not len(nodes):
        raise ScoreError(
            f"Scores must be [examples, outputs] with one label per example, and at least one example; got scores "
            f"of shape {tuple(theta.shape)} and labels of shape {nodes.shape}."
        )
    rows = max(1, block_values // len(hierarchy))
    blocks = [slice(start, start + rows) for start in range(0, len(nodes), rows)]

    def loss(log_temperature: float) -> float:
        total = 0.0
        for block in blocks:
            log_q = log_likelihood(theta[block] / math.exp(log_temperature))
            total += _loss(hierarchy, log_q, nodes[block], judge)
        return total / len(nodes)

    best = int(np.argmin([loss(point) for point in _COARSE]))
    around = (_COARSE[max(0, best - 1)], _COARSE[min(len(_COARSE) - 1, best + 1)])
    from scipy import optimize  # takes a while, and few need it

    found = optimize.minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-3})
    before, after = loss(0.0), float(found.fun)
    if not (math.isfinite(before) and math.isfinite(after)):
        raise ScoreError("No temperature can be fitted: the log-likelihoods of some labels are not finite.")
    if after >= before:
        return Temperature(1.0, before, before)
    return Temperature(math.exp(float(found.x)), before, after)


def _loss(hierarchy: Hierarchy, log_q: Array, labels: NDArray[np.int64], judge: Judge) -> float:
    """Return the summed loss of some examples."""
    xp, at = namespace(log_q), TreeOnDevice.of(hierarchy, log_q)
    label = xp.asarray(labels, device=array_api_compat.device(log_q))[:, None]
    if judge == "label":
        return -float(xp.sum(xp.take_along_axis(log_q, label, axis=1), dtype=xp.float64))
    above = (at.nodes <= label) & (label < at.end)
    below = (label < at.nodes) & (at.nodes < at.end[label])
    log_q = xp.clip(log_q, max=-_TINY)  # a wrong likelihood of exactly 1 has a large cost, not an infinite one
    log_not = xp.log(-xp.expm1(log_q))
    log_right = xp.where(above, log_q, xp.where(below, xp.zeros_like(log_q), log_not))
    return -float(xp.sum(log_right[:, 1:], dtype=xp.float64)) / (len(hierarchy) - 1)


def tempered(hierarchy: Hierarchy, q: Any, temperature: float, *, scale: Scale | None = None) -> AnyLikelihoods:
    """Return likelihoods as if the scores behind them had been divided by a temperature.

    On the logit scale, all nodes are divided. Otherwise, the leaves are: their logarithms are divided, made to
    sum to 1 again and summed up the tree. `scale` is that of plain likelihoods, "probability" by default.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> tempered(h, [[1, 0.9, 0.1]], 2.0).values.round(3).tolist()
    [[1.0, 0.75, 0.25]]
    """
    check_number("A temperature", temperature, 1 / _HOTTEST, _HOTTEST)
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    if temperature == 1:
        return given
    if given.treatment != Treatment():
        raise ParameterError("A temperature comes first: before another one, a prior, or the pooling of events.")
    theta = scores_behind(given, "A temperature") / temperature
    values = theta if given.scale == "logit" else flat_softmax(hierarchy, theta, scale=given.scale)
    logits = theta if _logits(given) is not None else None
    return Likelihoods.checked(hierarchy, values, given.scale, Treatment(temperature), logits)


def fit_to_likelihoods(
    hierarchy: Hierarchy, q: Any, labels: ArrayLike, *, scale: Scale | None = None
) -> Temperature:
    """Choose the temperature for `tempered` that explains held-out labels best: see `fit_temperature`.

    `scale` is that of plain likelihoods, "probability" by default.
    """
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    theta = scores_behind(given, "A temperature")
    if given.scale == "logit":
        return fit_temperature(hierarchy, theta, labels, lambda t: -np.logaddexp(0, -as_numpy(t)), judge="nodes")
    # A label with the probability 0 would have an infinite loss at any temperature.
    least = theta.max(axis=1, keepdims=True) + _LEAST_LOG
    theta = np.maximum(theta, least) if _logits(given) is None else np.where(theta == -np.inf, least, theta)
    return fit_temperature(hierarchy, theta, labels, lambda t: flat_softmax(hierarchy, t, scale="log"))


def _logits(q: AnyLikelihoods) -> NDArray[np.float64] | None:
    logits = q.logits if isinstance(q, Likelihoods) else None
    return None if logits is None else as_numpy(logits).astype(np.float64)


def scores_behind(q: AnyLikelihoods, what: str) -> NDArray[np.float64]:
    """Return logits of all nodes, or logarithms of the leaf probabilities, which must sum to 1.

    `what` needs them, such as "A temperature".
    """
    if not isinstance(q, Likelihoods):
        q.require_all(what)
        raise ParameterError(f"{what} needs the likelihoods of all leaves, and these list only some.")
    if (logits := _logits(q)) is not None:
        return logits
    values = as_numpy(q.values).astype(np.float64)
    if q.scale == "logit":
        return values
    leaves = values[:, q.hierarchy.leaves]
    total = np.exp(leaves).sum(axis=1) if q.scale == "log" else leaves.sum(axis=1)
    source = RowSource(where="example {:,} (counted from 0)".format)
    source.check_sums(total, "1", f"{what} is for models whose leaf probabilities sum to 1.")
    with np.errstate(divide="ignore"):
        return leaves if q.scale == "log" else np.log(leaves)
