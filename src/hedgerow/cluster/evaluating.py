"""Evaluate data in many parts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.cluster.data_parts import DataPart, as_parts, divided
from hedgerow.cluster.engine import PartsError, PartsProgress, no_progress, run
from hedgerow.errors import ScoreError
from hedgerow.measure import Evaluation, EvaluationBuilder, Part
from hedgerow.score_files import LabelFile, ScoreReading
from hedgerow.tree import BelowLabel, Hierarchy, InformationKind, Settings, SingleChild

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike


_SHOWN = 5  # warnings


def _evaluated(
    hierarchy: Hierarchy, part: DataPart, single_child: SingleChild | None, **keywords: Any
) -> tuple[dict[str, Any], int]:
    """Evaluate a part; return the arguments of `EvaluationBuilder.holding`, and the number of examples."""
    with part.opened(hierarchy, labels=True) as scores:
        usual = getattr(scores, "settings", Settings()).single_child
        builder = EvaluationBuilder(hierarchy, part=part.name, single_child=single_child or usual, **keywords)
        builder.add(scores)
    return builder.content, sum(map(len, builder.parts))


def evaluate(
    parts: Iterable[str | os.PathLike[str] | DataPart],
    hierarchy: Hierarchy,
    client: Any = None,
    *,
    name: str = "scores",
    reading: ScoreReading | None = None,
    information: InformationKind | ArrayLike = "leaves",
    single_child: SingleChild | None = None,
    below_label: BelowLabel = "label",
    progress: PartsProgress = no_progress,
) -> Evaluation:
    """Evaluate the scores of many parts as if they were one file.

    The result does not depend on the number of workers, on how the examples are divided into parts, or on the
    order in which parts are finished: it is the same bit for bit. Its examples are in the order of the parts'
    names.

    Parameters
    ----------
    parts
        Score files, local or in an object store (see `expand` for patterns), or a `FilePart` or `ComputedPart`.
    hierarchy
        The tree.
    client
        A Dask client, from `connect` or your own; None to process the parts in this process.
    name
        The name of the model.
    reading
        How to read score files.
    information, single_child, below_label
        As for `hedgerow.evaluate`; for `single_child`, by default what the format of the files means.
    progress
        Called with the number of parts; yields a callback for the number of examples of each finished part.

    Raises
    ------
    PartsError
        If parts fail. The others are finished; their evaluation is the error's `finished`.

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
    Settings(information, single_child or "skip", below_label)  # an error here, not on every part
    divided_parts = divided(as_parts(parts, reading))
    work = partial(_evaluated, single_child=single_child, information=information, below_label=below_label)
    try:
        builder = _merged(hierarchy, run(work, hierarchy, divided_parts, client, progress))
    except PartsError as error:
        if error.finished is not None:
            error.finished = _merged(hierarchy, error.finished).compute(name=name)
        raise
    if not sum(map(len, builder.parts)):
        noticed = sorted(builder.warnings)[:_SHOWN]
        raise ScoreError(" ".join(["There are no examples to evaluate.", *noticed]))
    builder.warnings.update(_unused_labels(hierarchy, builder.parts, reading))
    return builder.compute(name=name)


def _merged(hierarchy: Hierarchy, results: list[dict[str, Any]]) -> EvaluationBuilder:
    """Return one builder with the examples of all parts."""
    first, *others = (EvaluationBuilder.holding(hierarchy, **result) for result in results)
    for other in others:
        first.merge(other)
    return first


def _unused_labels(hierarchy: Hierarchy, parts: Sequence[Part], reading: ScoreReading | None) -> list[str]:
    """Return warnings about labels in the file of labels that fit no part."""
    ids = [part.examples.ids for part in parts if part.examples.ids is not None]
    path = None if reading is None else reading.labels_file
    if reading is None or path is None or not ids or not Path(path).is_file():  # only the workers may see it
        return []
    labels = LabelFile(path, hierarchy, reading, labels=False)
    labels.mark(np.concatenate(ids))
    return labels.left_over("any part")
