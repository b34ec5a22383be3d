"""From scores and labels to an `Evaluation`, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import array_api_compat
import numpy as np
from scipy import special

from hedgerow import infer
from hedgerow.arrays import as_numpy
from hedgerow.errors import ParameterError, ScoreError, counted
from hedgerow.measure import bootstrap
from hedgerow.measure.curve import CurveBuilder
from hedgerow.measure.evaluation import Evaluation, Examples
from hedgerow.score_files import Block, Progress, ScoreFile, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.measure.metrics import BelowLabel
    from hedgerow.tree import Hierarchy, InformationKind, Names

_PER_EXAMPLE = ("ids", "groups", "texts", "images")
_ENOUGH_EXAMPLES = 20  # to tell an accuracy at chance level from bad luck


def _leaf(hierarchy: Hierarchy, q: Any, information: Any, scale: Scale) -> Any:  # noqa: ARG001
    return infer.leaf(hierarchy, q, scale=scale)


def _majority(hierarchy: Hierarchy, q: Any, information: Any, scale: Scale) -> Any:
    return infer.majority(hierarchy, q, information=information, scale=scale)


def _plurality(hierarchy: Hierarchy, q: Any, information: Any, scale: Scale) -> Any:
    return infer.plurality(hierarchy, q, information=information, scale=scale)


def _expected_information(hierarchy: Hierarchy, q: Any, information: Any, scale: Scale) -> Any:
    return infer.expected_information(hierarchy, _probabilities(q, scale), information=information)


RULES: dict[str, Callable[[Hierarchy, Any, Any, Scale], Any]] = {
    "leaf": _leaf,
    "majority": _majority,
    "plurality": _plurality,
    "expected_information": _expected_information,
}
"""The rules whose operating points every evaluation states: functions of tree, likelihoods, information, scale."""


def answering_rule(
    tau: float | None, rule: str | None, information: InformationKind
) -> Callable[[Hierarchy, NDArray[Any]], Any]:
    """Return the function of tree and likelihoods that a threshold, or the name of one of `RULES`, stands for."""
    if (tau is None) == (rule is None):
        raise ParameterError("Give either a threshold (--tau X) or a rule (--rule NAME).")
    if rule is not None:
        if rule not in RULES:
            raise ParameterError(f"There is no rule {rule!r}; there are {', '.join(map(repr, RULES))}.")
        return lambda hierarchy, q: RULES[rule](hierarchy, q, information, "probability")
    threshold = tau
    if threshold is None or not 0 <= threshold <= 1:
        raise ParameterError(f"The threshold must lie between 0 and 1, not {threshold}.")
    return lambda hierarchy, q: infer.threshold(hierarchy, q, threshold, information=information)


def evaluate(
    hierarchy: Hierarchy,
    scores: ScoreFile | Iterable[Block] | Any,
    labels: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    name: str = "scores",
    information: InformationKind | ArrayLike = "leaves",
    below_label: BelowLabel = "label",
    scale: Scale = "probability",
    replicates: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate a model's scores at every operating point.

    Parameters
    ----------
    hierarchy
        The tree.
    scores
        A score file from `hedgerow.score_files.open_scores`, or any blocks of examples; or likelihoods
        [examples, nodes], an array or a tensor, with `labels`.
    labels
        Labels of likelihoods: names or node indices. Blocks bring their own.
    ids
        Names of the examples of likelihoods, by which evaluations are compared.
    name
        What to call the model.
    information
        The measure of specificity: see `Hierarchy.information`.
    below_label
        What an answer below its label counts as: "label" or "wrong".
    scale
        What the likelihoods are: "probability", "log" or "logit".
    replicates
        Number of bootstrap replicates for the intervals of the figures; 0 for no intervals.
    confidence, seed
        The share of replicates that an interval holds, and the seed they are drawn from.
    progress
        Told how far the work is.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.measure import evaluate
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> evaluation = evaluate(h, q, ["cat", "cat"])
    >>> evaluation.summary["leaf_exact"], evaluation.rules["majority"]["correct"]
    (0.5, 0.5)
    """
    if replicates < 0:
        raise ParameterError(f"replicates must be 0 or more, not {replicates}.")
    builder = CurveBuilder(hierarchy, information=information, below_label=below_label, scale=scale)
    kept = _Kept()
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        for block in _blocks(hierarchy, scores, labels, ids):
            if block.labels is None:
                raise ScoreError("Labels are needed to evaluate; these blocks have none.")
            builder.update(block.q, block.labels)
            kept.add(hierarchy, block, information, scale)
            advance(len(block))
    examples = kept.examples()
    with progress("Drawing the curve", None):
        curve = builder.compute()
    named = isinstance(information, str)
    found = [*getattr(scores, "warnings", ()), *_doubts(hierarchy, builder.events.label, examples, scale)]
    evaluation = Evaluation(
        hierarchy,
        builder.events,
        curve,
        examples,
        name=name,
        information=cast("InformationKind", information) if named else builder.measures.information,
        below_label=below_label,
        warnings=tuple(found),
    )
    return _with_intervals(evaluation, replicates, confidence, seed, progress) if replicates else evaluation


def _with_intervals(
    evaluation: Evaluation, replicates: int, confidence: float, seed: int, progress: Progress
) -> Evaluation:
    with progress("Bootstrap", replicates) as advance:
        drawn = bootstrap.intervals(
            evaluation.builder,
            per_example=evaluation.per_example,
            replicates=replicates,
            confidence=confidence,
            seed=seed,
            progress=lambda: advance(1),
        )
    return evaluation.with_intervals(drawn, confidence, replicates)


class _Kept:
    """What is remembered of each example besides its events."""

    def __init__(self) -> None:
        self._predictions: dict[str, list[NDArray[np.int32]]] = {rule: [] for rule in RULES}
        self._confidence: dict[str, list[NDArray[np.float64]]] = {rule: [] for rule in RULES}
        self._texts: dict[str, list[Names | None]] = {key: [] for key in _PER_EXAMPLE}

    def add(self, hierarchy: Hierarchy, block: Block, information: Any, scale: Scale) -> None:
        for rule, answer in RULES.items():
            nodes = answer(hierarchy, block.q, information, scale)
            xp = array_api_compat.array_namespace(nodes)
            chosen = xp.take_along_axis(block.q, nodes[:, None], axis=1)[:, 0]
            self._predictions[rule].append(as_numpy(nodes).astype(np.int32))
            self._confidence[rule].append(as_numpy(chosen).astype(np.float64))
        for key, parts in self._texts.items():
            parts.append(getattr(block, key))

    def examples(self) -> Examples:
        if not self._predictions["leaf"]:
            raise ScoreError("There are no examples to evaluate.")
        texts = {}
        for key, parts in self._texts.items():
            given = [part for part in parts if part is not None]
            texts[key] = np.concatenate(given) if len(given) == len(parts) else None
        return Examples(
            {rule: np.concatenate(parts) for rule, parts in self._predictions.items()},
            {rule: np.concatenate(parts) for rule, parts in self._confidence.items()},
            **texts,
        )


def _blocks(
    hierarchy: Hierarchy,
    scores: ScoreFile | Iterable[Block] | Any,
    labels: ArrayLike | None,
    ids: ArrayLike | None,
) -> Iterator[Block]:
    if isinstance(scores, ScoreFile):
        if scores.hierarchy != hierarchy:
            raise ParameterError("The score file was opened with another tree; open it with this one.")
        yield from scores
        return
    if labels is None:
        for block in scores if isinstance(scores, Iterable) else [scores]:
            if not isinstance(block, Block):
                raise ParameterError(
                    "Likelihoods need labels: evaluate(hierarchy, likelihoods, labels). A score file is to be "
                    "opened first: hedgerow.score_files.open_scores."
                )
            yield block
        return
    q: Any = scores if array_api_compat.is_array_api_obj(scores) else np.atleast_1d(np.asarray(scores))
    nodes = np.atleast_1d(hierarchy.nodes(as_numpy(labels)))
    named = None if ids is None else np.array([str(i) for i in np.asarray(ids).tolist()], dtype=object)
    if len(q) != len(nodes) or (named is not None and len(named) != len(nodes)):
        got = f"{counted(len(q), 'example', 'examples')} and {counted(len(nodes), 'label', 'labels')}"
        raise ScoreError(f"One label (and id) an example is needed; got {got}.")
    yield Block(0, q, nodes, named)


def _doubts(hierarchy: Hierarchy, labels: NDArray[np.int32], examples: Examples, scale: Scale) -> Iterator[str]:
    """Warn if a model is sure of itself and no better than chance: that is how wrongly ordered columns look."""
    known = hierarchy.is_leaf[labels]
    answer, label = examples.predictions["leaf"][known], labels[known]
    number = len(label)
    if number < _ENOUGH_EXAMPLES:
        return
    accuracy = float(np.mean(answer == label))
    sure = float(np.mean(_probabilities(examples.confidence["leaf"][known], scale)))
    # What agreement the same answers would have with the same labels in any other order.
    answered, labelled = (np.bincount(nodes, minlength=len(hierarchy)) / number for nodes in (answer, label))
    chance = float(answered @ labelled)
    at_chance = accuracy <= chance + 3 * np.sqrt(chance * (1 - chance) / number)
    if at_chance and sure >= 2 * accuracy and sure >= accuracy + 0.2:
        yield (
            f"The most likely leaf is right for {accuracy:.1%} of the examples, no more than by chance "
            f"({chance:.1%}), yet its mean probability is {sure:.1%}. Are the columns in the order you think? "
            f"Names bind them, so the names must stand in the order of the scores; check also that labels and "
            f"scores belong to the same rows."
        )


def _probabilities(q: Any, scale: Scale) -> Any:
    if scale == "probability":
        return q
    if array_api_compat.is_torch_array(q):
        return q.exp() if scale == "log" else q.sigmoid()
    return np.exp(q) if scale == "log" else special.expit(q)
