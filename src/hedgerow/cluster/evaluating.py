"""Evaluations of many parts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.cluster.engine import Job, PartsError, run, unseen
from hedgerow.cluster.sources import as_sources, divided
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.files import digest
from hedgerow.measure import EvaluationBuilder, State, evaluation_of, evaluation_state, measured
from hedgerow.score_files import LabelFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from hedgerow.cluster.engine import PartsProgress
    from hedgerow.cluster.sources import Source
    from hedgerow.infer import SingleChild
    from hedgerow.measure import BelowLabel, BinnedEvaluation, Evaluation
    from hedgerow.tree import Hierarchy, InformationKind

_NAMED = 5  # parts that a message tells of


@final
@dataclass(frozen=True)
class _Evaluating(Job):
    """Turns a part into the state of a builder."""

    settings: dict[str, Any] = field(default_factory=dict)

    def work(self, hierarchy: Hierarchy, source: Source) -> tuple[State, int]:
        examples = 0

        def count(number: int) -> None:
            nonlocal examples
            examples += number

        with source.opened(hierarchy, labels=True) as scores:
            # As the format of the file means, unless the settings say it.
            usual: dict[str, Any] = {"single_child": getattr(scores, "single_child", "skip")}
            builder = EvaluationBuilder(hierarchy, part=source.name, **(usual | self.settings))
            builder.add(scores, advance=count)
        return evaluation_state(builder), examples

    def merged(self, hierarchy: Hierarchy, results: Sequence[State]) -> State:
        first, *others = (evaluation_of(state, hierarchy) for state in results)
        if not others:
            return results[0]
        for other in others:
            first.merge(other)
        return evaluation_state(first)


def build(
    parts: Iterable[str | os.PathLike[str] | Source],
    hierarchy: Hierarchy,
    client: Any = None,
    *,
    reading: Mapping[str, Any] = MappingProxyType({}),
    progress: PartsProgress = unseen,
    **settings: Any,
) -> EvaluationBuilder:
    """Return a builder that holds the examples of all parts; the parameters are those of `evaluate`."""
    sources = divided(as_sources(parts, reading))
    settings = {name: value for name, value in settings.items() if value is not None}
    job = _Evaluating(settings)
    EvaluationBuilder(hierarchy, **settings).curve_on("probability")  # an error here, not on every part
    try:
        builder = evaluation_of(run(job, hierarchy, sources, client, progress), hierarchy)
    except PartsError as error:
        if error.finished is not None:
            error.finished = evaluation_of(error.finished, hierarchy)
        raise
    _require_examples(builder)
    builder.warnings.update(_unused_labels(hierarchy, builder, reading))
    return builder


def _require_examples(builder: EvaluationBuilder) -> None:
    """Refuse parts without any labelled example, with what is known of them."""
    bins = None if builder.curve is None else builder.curve.bins
    if not (sum(map(len, builder.parts)) if bins is None else bins.sums["examples"]):
        raise ScoreError(" ".join(["There are no examples to evaluate.", *sorted(builder.warnings)[:_NAMED]]))


def _unused_labels(hierarchy: Hierarchy, builder: EvaluationBuilder, reading: Mapping[str, Any]) -> list[str]:
    """Say which labels of a file of labels fit no part; with bins, the ids of the examples are not known."""
    ids = [part.answers.ids for part in builder.parts if part.answers.ids is not None]
    path = reading.get("labels_file")
    if path is None or not ids or not Path(path).is_file():  # perhaps only the workers can see it
        return []
    labels = LabelFile(
        path,
        hierarchy,
        id_column=reading.get("id_column"),
        delimiter=reading.get("delimiter"),
        labels=False,
    )
    labels.mark(np.concatenate(ids))
    return labels.left_over("any part")


def evaluate(
    parts: Iterable[str | os.PathLike[str] | Source],
    hierarchy: Hierarchy,
    client: Any = None,
    *,
    name: str = "scores",
    reading: Mapping[str, Any] = MappingProxyType({}),
    information: InformationKind | ArrayLike = "leaves",
    single_child: SingleChild | None = None,
    below_label: BelowLabel = "label",
    bins: int | None = None,
    progress: PartsProgress = unseen,
) -> Evaluation | BinnedEvaluation:
    """Evaluate the scores of many parts as if they were one file.

    The result does not depend on the number of workers, on how the examples are divided into parts, or on the
    order in which parts are finished: it is the same bit for bit. Its examples are in the order of the parts'
    names.

    Parameters
    ----------
    parts
        Score files, local or in an object store (see `expand` for patterns), or other sources of examples.
    hierarchy
        The tree.
    client
        A Dask client, from `connect` or your own; None works through the parts in this process.
    name
        What to call the model.
    reading
        Keywords of `open_scores`.
    information, single_child, below_label
        As for `hedgerow.evaluate`; for `single_child`, by default what the format of the files means.
    bins
        Keep sums at so many thresholds instead of the examples: memory and states are then bounded, and each
        figure has a bracket that holds the exact value.
    progress
        Called with the number of parts; the `with` block gets a function that is called with the number of
        examples of each part that is done.

    Raises
    ------
    PartsError
        If some parts fail. The others are finished; their builder is the error's `finished`.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         p = np.random.default_rng(part).dirichlet([1, 1, 1], 100)
    ...         np.savez(f"{folder}/part-{part}.npz", classes=["wolf", "cat", "dog"], probabilities=p,
    ...                  labels=["wolf"] * 100)
    ...     hr.cluster.evaluate(hr.cluster.expand([f"{folder}/*.npz"]), h)
    Evaluation('scores', 300 examples, AP ...)
    """
    builder = build(
        parts,
        hierarchy,
        client,
        reading=reading,
        progress=progress,
        information=information,
        single_child=single_child,
        below_label=below_label,
        bins=bins,
    )
    return measured(builder, name=name)


def merge(
    paths: Sequence[str | os.PathLike[str]], *, done: Callable[[], None] = lambda: None
) -> EvaluationBuilder:
    """Return one builder from states that were made anywhere, in any order; see `EvaluationBuilder.save`.

    States of other trees, settings or versions are refused, with the file and the difference named, and so is a
    state that comes twice.

    Parameters
    ----------
    paths
        The states.
    done
        Called after each of them.
    """
    if not paths:
        raise ParameterError("There are no states to merge.")
    seen: dict[str, str] = {}
    whole: EvaluationBuilder | None = None
    for path in [os.fspath(given) for given in paths]:
        builder = EvaluationBuilder.load(path)
        content = digest(path)
        if content in seen:
            raise ParameterError(f"{seen[content]} and {path} are the same state, which would count twice.")
        seen[content] = path
        if whole is None:
            whole = builder
        else:
            _merge_into(whole, builder, os.fspath(paths[0]), path)
        done()
    assert whole is not None  # noqa: S101  (there are paths)
    return whole


def _merge_into(whole: EvaluationBuilder, builder: EvaluationBuilder, first: str, path: str) -> None:
    try:
        whole.merge(builder)
    except ParameterError as error:
        raise ParameterError(f"{first} and {path} do not belong together. {error}") from None
