"""`select`: the boldest operating point that keeps a promise."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from hedgerow.choose.calibration import CalibrationSet, gather
from hedgerow.choose.point import OperatingPoint
from hedgerow.choose.request import Request
from hedgerow.choose.thresholds import thresholds_of
from hedgerow.choose.tips import BINS, bins_of, cluster_means
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.measure import labels_at_the_root, repeated_ids
from hedgerow.score_files import Progress, silent
from hedgerow.tree import Hierarchy, SettingKeywords, Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from hedgerow.likelihood import Scale

    Table = Mapping[str, Any] | str | os.PathLike[str]


def select(
    hierarchy: Hierarchy,
    scores: Any,
    labels: ArrayLike | None = None,
    *,
    target: tuple[Any, Any] | str | None = None,
    per_rank: Mapping[str, Any] | str | None = None,
    overclassification: Mapping[str, Any] | str | None = None,
    guarantee: str | None = None,
    delta: float | str = 0.05,
    among: str | int | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    weights: ArrayLike | bool | None = None,
    expect: Table | None = None,
    unit: str = "cluster",
    largest_cluster: int | None = None,
    clades: int | str | None = None,
    merge_small: Table | bool | None = None,
    rule: str = "threshold",
    bounds: tuple[float, float] | str | None = None,
    classes: ArrayLike | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
    **settings: Unpack[SettingKeywords],
) -> OperatingPoint:
    """Choose the boldest operating point that keeps a promise on new examples.

    For metrics that are perfect at the root (correct, precision), its answers are as specific as the target
    allows. For others (recall, exact, f1), they are as conservative as it allows: "as right as possible with
    recall >= 0.6".

    The examples must not have been used to train the model, to choose its settings or to fit a temperature.

    Parameters
    ----------
    hierarchy
        The tree.
    scores, labels
        A score file from `hedgerow.open_scores`, or likelihoods [examples, nodes] with labels, as in `evaluate`.
    target
        A metric and its level on new examples, such as ("correct", 0.95) or "correct=0.95": a name from
        `hedgerow.metrics`, a `Metric`, or a function (tree, label, prediction).
    per_rank
        Instead of a target: for each rank, the share of new examples that are not wrong there, such as
        ``{"family": 0.99, "species": 0.9}``. An answer that does not reach a rank is not wrong there. In a tree
        without ranks, use depths: ``{"1": 0.99}``.
    overclassification
        For each rank, the share of examples of unknown taxa that may get a name there, such as
        ``{"genus": 0.05}``. All examples whose label has nodes of that rank below it must be of unknown taxa;
        `clusters` says of which.
    guarantee
        "conformal" (the default without `among`): the level is reached on average over calibration sets. "pac":
        it is reached with probability 1 - delta. "empirical": it is reached on these examples, and nothing is
        promised for new ones.
    delta
        For "pac", the probability over calibration sets of breaking the promise.
    among
        Which answers the promise covers: "answered", those below the root; or a rank or depth, those at or below
        it. By default it covers all examples, and the root counts as right.
    groups
        The group of each example, which must be known for new examples too; True: those of the score file. Each
        group gets its own threshold and promise.
    clusters
        Which examples belong together (``groups`` in scikit-learn), such as the photographs of one burst; True:
        those of the score file. The promise is then for an example of a new cluster.
    weights
        For new data that differ from these: how much more likely each example is among new data than here; True:
        those of the score file. New examples need weights too: ``point.predict(q, weights=w)``.
    expect
        For new data with other shares of classes: the shares there, in any unit, by the name of a class or clade,
        or as a table of class and share. Within each class, examples must be like the new ones. Classes that are
        not listed are assumed not to occur.
    unit, largest_cluster
        With clusters, what counts once: each "cluster" or each "example". For "example", `largest_cluster` is the
        size of the largest cluster, old or new.
    clades
        A depth or rank: each clade there gets its own threshold and promise, for the examples whose most likely
        tip lies in it. The tip is the most likely leaf or, where no leaf is listed, the most likely node with
        nothing listed below it. A tip above that depth is a clade of its own.
    merge_small
        Groups or clades with too few examples for a promise share a threshold and a promise with others: clades
        with those near them in the tree. With True the promise is approximate, since the same examples say which
        are small. Sizes by name from other data, a mapping or a table of name and size, keep it exact.
    rule
        The family of rules: "threshold", "climbing" or "expected-information".
    bounds
        For a metric that is not a fraction, its smallest and largest possible value.
    classes
        The names that integer labels are positions in; by default, they are node indices.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    progress
        Called to report progress.
    **settings
        What counts as specific and as right, as in `evaluate`; `information` must be "leaves" or "depth".

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.9, 0.6, 0.3, 0.1]] * 15 + [[1, 0.6, 0.5, 0.1, 0.4]] * 5
    >>> point = hr.select(h, q, ["cat"] * 15 + ["dog"] * 5, target=("correct", 0.9))
    >>> point.threshold
    0.5
    >>> hr.select(h, q, ["cat"] * 15 + ["dog"] * 5, target=("recall", 0.6), guarantee="empirical").threshold
    0.599...
    """
    request = Request.of(
        target=target,
        per_rank=per_rank,
        overclassification=overclassification,
        guarantee=guarantee,
        delta=delta,
        among=among,
        groups=groups is not None and groups is not False,
        clusters=clusters is not None and clusters is not False,
        weights=weights is not None and weights is not False,
        expect=expect,
        unit=unit,
        largest_cluster=largest_cluster,
        clades=clades,
        merge_small=None if merge_small is False else merge_small,
        rule=rule,
        bounds=bounds,
        settings=getattr(scores, "settings", Settings()).updated(**settings),
    )
    about: dict[str, Any] = {"groups": groups, "clusters": clusters, "weights": weights}
    about |= {"classes": classes, "scale": scale, "progress": progress}
    examples = gather(request, hierarchy, scores, labels, answers=False, **about)
    point = choose(request, examples)
    for note in point.notes:
        warnings.warn(note, stacklevel=2)
    return point


def choose(request: Request, examples: CalibrationSet) -> OperatingPoint:
    """Choose the boldest point that keeps the promise of a request, with a calibration set."""
    doubts = _doubts(request, examples)
    tree = examples.hierarchy
    promises = request.promises(tree)
    found, losses = thresholds_of(request, promises, examples), [promise.loss for promise in promises]
    from importlib import metadata  # takes a while, and few need it

    return OperatingPoint(
        tree if tree.title is None else Hierarchy(tree.names, tree.parent, tree.rank),
        request,
        thresholds=found.thresholds,
        scale=examples.scale,
        at_most=any(loss.at_most for loss in losses),
        root_is_safe=all(loss.is_0_at_root for loss in losses),
        weight_steps=found.weight_steps,
        merged=found.merged,
        **vars(examples.treatment),
        examples=len(examples),
        clusters=None if examples.known.clusters is None else examples.units(request).number,
        calibrated_on=found.calibrated_on,
        tip_counts=_tip_counts(request, examples),
        notes=(*doubts, *found.notes),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=metadata.version("hedgerow"),
    )


def _tip_counts(request: Request, examples: CalibrationSet) -> tuple[int, ...]:
    """Return how many units are in each bin of tip likelihoods; nothing if new data are expected to differ."""
    if "tip" not in examples.known or request.is_shifted:
        return ()
    tips = cluster_means(examples.known["tip"], examples.known.clusters)
    return tuple(np.bincount(bins_of(tips), minlength=BINS).tolist())


def _doubts(request: Request, examples: CalibrationSet) -> list[str]:
    """Return reasons to doubt the promise, as sentences; a single cluster is an error."""
    doubts = []
    _check_largest(request, examples)
    if examples.unused_clusters:
        doubts.append(
            "The clusters of the examples are ignored: the promise holds only if all examples are independent. To "
            f"promise something for new clusters, give {argument('clusters', 'cluster', python='clusters=True')}."
        )
    if examples.known.clusters is None:
        remedy = f"give {argument('clusters', 'COLUMN', python='clusters=')}"
        doubts += [f"{doubt} If these belong together, {remedy}." for doubt in repeated_ids(examples.known.ids)]
    if request.overclassification and not request.per_rank:
        doubts.append(
            "Nothing is promised for examples of known classes, whose answers may be wrong at any rank. To promise"
            f" something for them too, give {argument('per_rank', 'RANK=LEVEL', python='per_rank={...}')}."
        )
    if request.target is not None or request.per_rank:
        doubts += labels_at_the_root(examples.labels, request.settings)
    distinct = np.unique(examples.labels)
    if len(distinct) == 1:
        doubts.append(
            f"All labels are {examples.hierarchy.names[distinct[0]]!r}: nothing is known about other classes."
        )
    if examples.known.clusters is not None and len(set(examples.known.clusters.tolist())) == 1:
        raise ScoreError(
            f"All {len(examples):,} examples are in one cluster, {examples.known.clusters[0]!r}. A promise for "
            f"new clusters needs several: is this the right column?"
        )
    return doubts


def _check_largest(request: Request, examples: CalibrationSet) -> None:
    """Raise an error if a cluster is larger than the declared largest one."""
    if request.largest_cluster is None or examples.known.clusters is None:
        return
    names, size = np.unique(examples.known.clusters.astype(str), return_counts=True)
    if (largest := size.max()) > request.largest_cluster:
        raise ParameterError(
            f"The cluster {str(names[np.argmax(size)])!r} has {largest:,} examples, more than the declared "
            f"{request.largest_cluster:,}: give {argument('largest_cluster', str(largest))} or more."
        )
