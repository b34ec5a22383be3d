"""Examples as they come in, and signs that they are not what they seem."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.errors import ParameterError, ScoreError, counted
from hedgerow.likelihood import Likelihoods
from hedgerow.score_files import Block, Scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.measure.evaluation import Answers
    from hedgerow.tree import Hierarchy, Names

_CHANCE = 0.01  # how likely a coincidence must be to be taken for one
_ENOUGH_EXAMPLES = 20  # to distinguish accuracy at chance level from bad luck


def example_blocks(
    hierarchy: Hierarchy,
    scores: Scores | Iterable[Block] | Any,
    labels: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    scale: Scale | None = None,
) -> Iterator[Block]:
    """Yield the examples of a score file, of other blocks, or of likelihoods with labels; see `evaluate`."""
    if isinstance(scores, Scores):
        if scores.hierarchy != hierarchy:
            raise ParameterError("The score file was opened with another tree; open it with this one.")
        yield from scores
        return
    if labels is None:
        for block in scores if isinstance(scores, Iterable) else [scores]:
            if not isinstance(block, Block):
                raise ParameterError(
                    "Likelihoods need labels: evaluate(hierarchy, likelihoods, labels). A score file must be "
                    "opened first: hedgerow.open_scores(path, hierarchy)."
                )
            yield block
        return
    q = Likelihoods.of(hierarchy, scores, scale)
    given = np.atleast_1d(as_numpy(labels))
    if given.ndim > 1:
        raise ScoreError(
            f"One label per example is needed; got labels of shape {given.shape}. Of a lineage, give the last "
            f"name that is filled in."
        )
    nodes = hierarchy.nodes(given, classes)
    if classes is None and given.dtype.kind in "iu":
        warn_of_class_numbers(hierarchy, np.bincount(nodes, minlength=len(hierarchy)) > 0)
    named = None if ids is None else np.array([str(i) for i in np.asarray(ids).tolist()], dtype=object)
    if len(q) != len(nodes) or (named is not None and len(named) != len(nodes)):
        got = f"{counted(len(q), 'example', 'examples')} and {counted(len(nodes), 'label', 'labels')}"
        raise ScoreError(f"One label (and id) per example is needed; got {got}.")
    yield Block(0, q, nodes, named)


def signs_of_wrong_order(hierarchy: Hierarchy, labels: NDArray[np.int32], answers: Answers) -> Iterator[str]:
    """Yield a warning if a model is confident but no better than chance, as columns in the wrong order make it."""
    known = hierarchy.is_leaf[labels] & (answers.predictions["leaf"] > 0)  # no leaf is likely, without scores
    answer, label = answers.predictions["leaf"][known], labels[known]
    number = len(label)
    if number < _ENOUGH_EXAMPLES:
        return
    accuracy = float(np.mean(answer == label))
    sure = float(np.mean(answers.confidence["leaf"][known]))
    # The expected agreement of the same answers with the same labels in random order.
    answered, labelled = (np.bincount(nodes, minlength=len(hierarchy)) / number for nodes in (answer, label))
    chance = float(answered @ labelled)
    at_chance = accuracy <= chance + 3 * np.sqrt(chance * (1 - chance) / number)
    if at_chance and sure >= 2 * accuracy and sure >= accuracy + 0.2:
        yield (
            f"The most likely leaf is right for {100 * accuracy:.1f} % of the examples, no more than expected by "
            f"chance ({100 * chance:.1f} %), yet its mean probability is {100 * sure:.1f} %. Are the columns in "
            f"the order you think? Scores are matched to classes by column name, so the names must be in the "
            f"order of the scores. Check also that labels and scores belong to the same rows."
        )


def repeated_ids(ids: Names | None) -> Iterator[str]:
    """Yield a warning if examples share an id.

    >>> import numpy as np
    >>> print(*repeated_ids(np.array(["a", "b", "a"], dtype=object)))
    1 id stands for several examples, such as 'a' (2 of them), and each example counts. Remove rows ...
    """
    hashes = np.sort(np.fromiter(map(hash, () if ids is None else ids), np.int64))
    shared = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if ids is None or not shared:
        return
    counts = Counter(name for name in ids if hash(name) in shared)
    often = [(name, count) for name, count in counts.items() if count > 1]
    if often:
        yield (
            f"{counted(len(often), 'id stands', 'ids stand')} for several examples, such as {often[0][0]!r} "
            f"({often[0][1]:,} of them), and each example counts. Remove rows that were written twice; give "
            f"others, such as crops of one photograph, ids of their own."
        )


def warn_of_class_numbers(hierarchy: Hierarchy, used: NDArray[np.bool_]) -> None:
    """Warn, where the caller's own code stands, if node indices look like numbers of classes.

    Numbers of classes lie below the number of leaves. Node indices rarely all do, the more of them there are;
    and if they all were leaves, there would be nothing to doubt.

    Parameters
    ----------
    hierarchy
        The tree.
    used
        [nodes] Which nodes are labels, according to integers whose meaning nobody stated.
    """
    leaves, count = len(hierarchy.leaves), np.count_nonzero(used)
    if not count or used[leaves:].any() or hierarchy.is_leaf[used].all():
        return
    drawn = np.arange(count)
    chance = float(np.prod((leaves - drawn) / (len(hierarchy) - drawn)))
    if chance < _CHANCE:
        warnings.warn(
            f"The labels are integers and were taken as node indices, but all {count:,} different ones lie below "
            f"{leaves:,}, the number of leaves, as numbers of classes would. If that is what they are, say which "
            f"classes they number: classes=names. If they are node indices, say classes=hierarchy.names.",
            stacklevel=_levels_to_caller(),
        )


def _levels_to_caller() -> int:
    """Count the frames up to the first that is not ours, as `warnings.warn` in the calling function counts."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "hedgerow":
        level, frame = level + 1, frame.f_back
    return level
