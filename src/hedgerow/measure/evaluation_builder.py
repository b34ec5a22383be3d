"""From likelihoods and labels to an `Evaluation`, in one pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.errors import ParameterError, ScoreError, argument, check_number, counted, refuse_keywords
from hedgerow.infer import RULES, Rule
from hedgerow.likelihood import (
    AnyLikelihoods,
    CompactError,
    Likelihoods,
    Scale,
    Treatment,
    check_scale,
    to_probability,
)
from hedgerow.measure import bootstrap
from hedgerow.measure.builder import CurveBuilder, require_same, warn_of_class_numbers
from hedgerow.measure.evaluation import Evaluation
from hedgerow.measure.events import Part
from hedgerow.score_files import KEPT, Block, Examples, Progress, Scores, silent
from hedgerow.tree import Hierarchy, Names, SettingKeywords, Settings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.measure.events import Events
    from hedgerow.measure.metrics import CustomMetric, Metric

_NEEDED = ("leaf", "majority")  # rules
_ENOUGH_EXAMPLES = 20  # to distinguish accuracy at chance level from bad luck


@final
class EvaluationBuilder:
    """Builds an evaluation batch by batch.

    Parameters
    ----------
    hierarchy
        The tree.
    rules
        The rules whose operating points are reported: name -> rule; by default `infer.RULES`.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    part
        The name of these examples. The examples of merged builders are in the order of these names ("part-9"
        before "part-10"), whichever was merged first, so that the evaluation is always the same.
    **settings
        What counts as specific and as right: the fields of `hedgerow.tree.Settings`.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> builder = EvaluationBuilder(h)
    >>> builder.update([[1, 0.7, 0.5, 0.2, 0.3]], ["cat"])
    >>> builder.update([[1, 0.9, 0.2, 0.7, 0.1]], ["cat"])
    >>> builder.compute().summary()["leaf_exact"]
    0.5
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        rules: Mapping[str, Rule] = RULES,
        scale: Scale | None = None,
        part: str = "",
        **settings: Unpack[SettingKeywords],
    ) -> None:
        for needed in _NEEDED:
            if needed not in rules:
                raise ParameterError(f"Every evaluation needs the rule {needed!r}: add it from infer.RULES.")
        if scale is not None:
            check_scale(scale)
        self.hierarchy = hierarchy
        self.rules = rules
        self.settings = Settings().updated(**settings)
        if not isinstance(self.settings.information, str):
            self.settings = self.settings.updated(information=hierarchy.information(self.settings.information))
        self._scale = scale
        self._part = part
        self.curve: CurveBuilder | None = None
        """The curve of the evaluation, created when its scale is known; it holds no examples itself."""
        self.treatment: Treatment | None = None
        """What was done to the likelihoods; None as long as there are none."""
        self._own: list[Part] = []  # batches, in order of arrival
        self._merged: list[Part] = []
        self.warnings: set[str] = set()
        """Warnings about the scores, which become warnings of the evaluation."""

    def update(
        self, q: Any, labels: ArrayLike, classes: ArrayLike | None = None, **about: ArrayLike | None
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        q
            [B, nodes] likelihoods: `Likelihoods`, `SparseLikelihoods`, an array, a tensor, or a table with node
            names as column names.
        labels
            B labels: names or integers, any nodes.
        classes
            Names of nodes in which integer labels are positions; without it, they are node indices.
        **about
            What else is known about the examples: `ids`, `groups`, `clusters`, `texts`, `images`; one entry per
            example each.
        """
        refuse_keywords(about, KEPT)
        likelihoods = Likelihoods.of(self.hierarchy, q, self._scale, classes)
        self._add(likelihoods, labels, classes, Examples.of(len(likelihoods), **about))

    def _add(
        self, likelihoods: AnyLikelihoods, labels: ArrayLike, classes: ArrayLike | None, examples: Examples
    ) -> None:
        treatment = likelihoods.treatment
        if self.treatment is not None and (differ := self.treatment.difference(treatment)):
            raise ParameterError(
                f"All examples of an evaluation must be treated alike: {differ.what}. {differ.remedy}."
            )
        curve = self.curve_on(likelihoods.scale)
        # The rules come first: the curve reuses what they derive from the likelihoods.
        answers = self._answers(likelihoods, curve)
        events = curve.events_of(likelihoods, labels, classes)
        self.curve, self.treatment = curve, treatment
        self._own.append(Part(self._part, events, examples.join(**answers)))

    def add(self, scores: Scores | Iterable[Block], *, advance: Callable[[int], None] = lambda _: None) -> None:
        """Add the examples of a score file, or other blocks, with the warnings about them.

        Parameters
        ----------
        scores
            A score file from `hedgerow.open_scores`, or blocks of examples with labels.
        advance
            Called with the number of examples in each block.
        """
        for block in scores:
            if block.labels is None:
                raise ScoreError("An evaluation needs labels; these blocks have none.")
            likelihoods = Likelihoods.of(self.hierarchy, block.likelihoods, self._scale)
            # Labels are already nodes.
            self._add(likelihoods, block.labels, self.hierarchy.names, block.examples.kept)
            advance(len(block))
        self.warnings.update(getattr(scores, "warnings", ()))

    def merge(self, other: EvaluationBuilder) -> None:
        """Add the examples of another builder with the same tree and settings."""
        ours, theirs = self.identity, other.identity
        if self.curve is None or other.curve is None:
            for name in ("scale", *vars(Treatment())):
                del ours[name]
        require_same(ours, theirs)
        self.warnings |= other.warnings
        if other.curve is None:
            return
        if self.curve is None:
            self.curve, self.treatment = self.curve_on(other.curve.scale), other.treatment
        self.curve.merge(other.curve)
        self._merged += other.parts

    @property
    def identity(self) -> dict[str, Any]:
        """What builders must have in common to be merged."""
        return {
            "tree": self.hierarchy,
            "rules": list(self.rules),
            "settings": self.settings,
            "scale": self._scale if self.curve is None else self.curve.scale,
            **vars(self.treatment or Treatment()),
        }

    def curve_on(self, scale: Scale) -> CurveBuilder:
        """Return the curve builder of this evaluation, or make one for a scale."""
        return self.curve or CurveBuilder(self.hierarchy, **vars(self.settings), scale=scale)

    @property
    def parts(self) -> list[Part]:
        """The examples, part by part, in order of arrival."""
        if len(self._own) > 1:
            self._own = [Part.concatenate(self._own)]
        return [*self._own, *self._merged]

    @classmethod
    def of(cls, evaluation: Evaluation) -> EvaluationBuilder:
        """Return a builder that holds the examples of an evaluation, to merge it with others."""
        doubts = _doubts(evaluation.hierarchy, evaluation.events, evaluation.examples, evaluation.settings)
        few = evaluation.clusters.too_few(evaluation.level)
        return cls.holding(
            evaluation.hierarchy,
            evaluation.settings,
            evaluation.scale,
            evaluation.parts,
            evaluation.treatment,
            # These are checked again for all examples.
            warnings=set(evaluation.warnings).difference(doubts, [_no_intervals(few)]),
        )

    @property
    def content(self) -> dict[str, Any]:
        """The arguments of `holding` that make this builder again, without the tree."""
        return {
            "settings": self.settings,
            "scale": None if self.curve is None else self.curve.scale,
            "parts": self.parts,
            "treatment": self.treatment,
            "warnings": self.warnings,
        }

    @classmethod
    def holding(
        cls,
        hierarchy: Hierarchy,
        settings: Settings,
        scale: Scale | None,
        parts: list[Part],
        treatment: Treatment | None = None,
        warnings: Iterable[str] = (),
    ) -> EvaluationBuilder:
        """Return a builder that holds examples whose events and answers are already known."""
        names = parts[0].examples.grouped("prediction") if parts else RULES
        builder = cls(hierarchy, rules={name: RULES.get(name, _unknown_rule) for name in names}, **vars(settings))
        builder.warnings.update(warnings)
        if scale is not None:
            builder.curve, builder.treatment = builder.curve_on(scale), treatment
            builder._merged = parts
        return builder

    def _answers(self, q: AnyLikelihoods, curve: CurveBuilder) -> dict[str, NDArray[Any]]:
        """Return what each rule answers, and the likelihood of it, as columns."""
        found: dict[str, NDArray[Any]] = {}
        for name, rule in list(self.rules.items()):
            try:
                nodes = rule(self.hierarchy, q, information=curve.candidates)
            except CompactError as error:
                if name in _NEEDED:
                    raise
                self.rules = {key: each for key, each in self.rules.items() if key != name}
                self.warnings.add(f"The rule {name!r} is left out: {error}")
                continue
            found[f"prediction:{name}"] = as_numpy(nodes).astype(np.int32)
            # Log-likelihoods need not be normalised, so some may be above 0.
            chosen = to_probability(as_numpy(q.at(nodes)).astype(np.float64), q.scale)
            found[f"confidence:{name}"] = np.minimum(chosen, 1.0)
        return found

    def compute(self, *, name: str = "scores", warnings: Iterable[str] = ()) -> Evaluation:
        """Return the evaluation of all examples so far.

        Parameters
        ----------
        name
            The name of the model.
        warnings
            Warnings about its scores, in addition to those that the evaluation itself finds.
        """
        parts = in_order(self.parts)
        if self.curve is None or not sum(map(len, parts)):
            raise ScoreError("There are no examples to evaluate.")
        whole, given = Part.concatenate(parts), tuple(warnings)
        found = (
            *given,
            *sorted(self.warnings.difference(given)),
            *_doubts(self.hierarchy, whole.events, whole.examples, self.settings),
        )
        return Evaluation(
            self.hierarchy,
            whole.events,
            self.curve.holding(whole.events).compute(),
            whole.examples,
            name=name,
            settings=self.settings,
            sizes=tuple((part.name, len(part)) for part in parts if len(part)),
            warnings=tuple(dict.fromkeys(found)),
            treatment=self.treatment or Treatment(),
        )


def _doubts(hierarchy: Hierarchy, events: Events, examples: Examples, settings: Settings) -> list[str]:
    """Return signs that the examples are not what they seem, as sentences."""
    return [
        *repeated_ids(examples.ids),
        *signs_of_wrong_order(hierarchy, events.label, examples),
        *labels_at_the_root(events.label, settings),
    ]


def labels_at_the_root(labels: NDArray[np.integer[Any]], settings: Settings) -> Iterator[str]:
    """Yield a warning if some labels are the root, so that no answer is wrong."""
    number = int(np.sum(labels == 0))
    if number and settings.below_label != "wrong":
        has = counted(number, "example has", "examples have")
        remedy = f"To count answers below it as wrong, use {argument('below_label', 'wrong')}."
        yield f"{has} the root as label, and any answer is right there. {remedy}"


def _unknown_rule(*_: Any, **__: Any) -> Any:
    raise ParameterError("This evaluation was made with a rule of your own: add it with infer.RULES.register.")


def natural(name: str) -> tuple[Any, ...]:
    """Return a key that sorts names with numbers in them as people count: "part-9" before "part-10"."""
    pieces = re.split(r"0*([0-9]+)", name)
    return tuple((len(piece), piece) if i % 2 else piece for i, piece in enumerate(pieces)), name


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Sort parts by name; parts of the same name by content, so that the order of arrival does not matter.

    A named part that occurs twice with the same content is an error, since it would count twice.
    """
    by_name: dict[str, list[Part]] = {}
    for part in parts:
        by_name.setdefault(part.name, []).append(part)
    ordered: list[Part] = []
    for name in sorted(by_name, key=natural):
        same = by_name[name]
        if len(same) > 1:
            same.sort(key=lambda part: part.digest)
            if name and any(a.digest == b.digest for a, b in pairwise(same)):
                raise ParameterError(f"The part {name!r} occurs twice with the same examples. Merge it once.")
        ordered += same
    return ordered


def merge(evaluations: Sequence[Evaluation], *, name: str | None = None) -> Evaluation:
    """Merge evaluations of different examples; their order does not matter.

    Evaluations with different trees, settings or rules are refused, and so are parts that occur twice.

    Parameters
    ----------
    evaluations
        One or more, as `evaluate` returns them or `Evaluation.load` reads them.
    name
        The name of the result; by default that of the first evaluation.
    """
    if not evaluations:
        raise ParameterError("There are no evaluations to merge.")
    whole = EvaluationBuilder.of(evaluations[0])
    for other in evaluations[1:]:
        whole.merge(EvaluationBuilder.of(other))
    merged = whole.compute(name=evaluations[0].name if name is None else name)
    return merged.measuring(metric for evaluation in evaluations for metric in evaluation.metrics)


def evaluate(
    hierarchy: Hierarchy,
    scores: Scores | Iterable[Block] | Any,
    labels: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    name: str = "scores",
    rules: Mapping[str, Rule] = RULES,
    metrics: Iterable[str | Metric | CustomMetric] = (),
    scale: Scale | None = None,
    replicates: int = 0,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
    **settings: Unpack[SettingKeywords],
) -> Evaluation:
    """Evaluate a model's scores at every operating point.

    Parameters
    ----------
    hierarchy
        The tree.
    scores
        A score file from `hedgerow.open_scores`, or other blocks of examples; or likelihoods [examples, nodes]
        with `labels`: `Likelihoods`, `SparseLikelihoods`, an array, a tensor, or a table with node names as column
        names.
    labels
        Labels of likelihoods: names or integers. Blocks bring their own.
    classes
        Names of nodes in which integer labels are positions; without it, they are node indices. If a plain array
        has one column for each of them, and they are leaves, it holds their probabilities.
    ids
        Ids of the examples, for likelihoods; `compare` matches examples by id.
    clusters
        The cluster of related examples to which each belongs, for likelihoods: replicates of the bootstrap, here
        and in `compare`, draw clusters whole.
    name
        The name of the model.
    rules
        The rules whose operating points are reported: name -> rule; they must include "leaf" and "majority".
    metrics
        Metrics in addition to the standard ones: see `Evaluation.measuring`.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    replicates
        Number of bootstrap replicates for the intervals of the figures; 0 for no intervals.
    level, seed
        The share of replicates inside an interval, and the random seed.
    progress
        Called to report progress.
    **settings
        What counts as specific and as right: the fields of `hedgerow.tree.Settings`. Where one is left out, that
        of the format of the score file counts.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> evaluation = hr.evaluate(h, q, ["cat", "cat"])
    >>> evaluation.summary()["leaf_exact"], evaluation.rules["majority"]["correct"]
    (0.5, 0.5)
    """
    check_number("replicates", replicates, 0)
    used = getattr(scores, "settings", Settings()).updated(**settings)
    builder = EvaluationBuilder(hierarchy, rules=rules, scale=scale, part=name, **vars(used))
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        builder.add(example_blocks(hierarchy, scores, labels, classes, ids, scale, clusters), advance=advance)
    with progress("Drawing the curve", None):
        evaluation = builder.compute(name=name, warnings=getattr(scores, "warnings", ())).measuring(metrics)
    return with_intervals(evaluation, replicates, level, seed, progress) if replicates else evaluation


def _no_intervals(reason: str | None) -> str:
    return f"There are no intervals: {reason}"


def with_intervals(
    evaluation: Evaluation, replicates: int, level: float = 0.95, seed: int = 0, progress: Progress = silent
) -> Evaluation:
    """Return the evaluation with bootstrap intervals of its figures, or a warning of too few clusters."""
    if reason := evaluation.clusters.too_few(level):
        return replace(evaluation, level=level, warnings=(*evaluation.warnings, _no_intervals(reason)))
    with progress("Bootstrap", replicates) as advance:
        drawn = bootstrap.intervals(
            evaluation.builder,
            per_example=evaluation.per_example,
            clusters=evaluation.examples.clusters,
            replicates=replicates,
            level=level,
            seed=seed,
            progress=lambda: advance(1),
        )
    return replace(evaluation, intervals=drawn, level=level, replicates=replicates)


# Input, and signs that it is not what it seems -----------------------------------------------------------------


def example_blocks(
    hierarchy: Hierarchy,
    scores: Scores | Iterable[Block] | Any,
    labels: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    scale: Scale | None = None,
    clusters: ArrayLike | None = None,
) -> Iterator[Block]:
    """Yield the examples of a score file, of other blocks, or of likelihoods with labels; see `evaluate`."""
    about = {"ids": ids, "clusters": clusters}
    known = " and ".join(key for key, values in about.items() if values is not None)
    if labels is None and known:
        raise ParameterError(f"{known} are for likelihoods with labels; score files have their own.")
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
    q = Likelihoods.of(hierarchy, scores, scale, classes)
    given = np.atleast_1d(as_numpy(labels))
    if given.ndim > 1:
        raise ScoreError(
            f"One label per example is needed; got labels of shape {given.shape}. For lineages, give the "
            f"last name of each that is filled in."
        )
    nodes = hierarchy.nodes(given, classes)
    if classes is None and given.dtype.kind in "iu":
        warn_of_class_numbers(hierarchy, np.bincount(nodes, minlength=len(hierarchy)) > 0)
    if len(q) != len(nodes):
        got = f"{counted(len(q), 'example', 'examples')} and {counted(len(nodes), 'label', 'labels')}"
        raise ScoreError(f"One label per example is needed; got {got}.")
    yield Block(0, q, Examples.of(len(q), **about).join(labels=nodes))


def signs_of_wrong_order(hierarchy: Hierarchy, labels: NDArray[np.int32], examples: Examples) -> Iterator[str]:
    """Yield a warning if a model is confident but no better than chance: the columns may be in the wrong order."""
    leaf = examples["prediction:leaf"]
    known = hierarchy.is_leaf[labels] & (leaf > 0)  # 0: no leaf has a likelihood
    answer, label = leaf[known], labels[known]
    number = len(label)
    if number < _ENOUGH_EXAMPLES:
        return
    accuracy = float(np.mean(answer == label))
    sure = float(np.mean(examples["confidence:leaf"][known]))
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
    1 id is shared by several examples, such as 'a' (2 of them), and each example counts. Remove ...
    """
    hashes = np.sort(np.fromiter(map(hash, () if ids is None else ids), np.int64))
    shared = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if ids is None or not shared:
        return
    counts = Counter(name for name in ids if hash(name) in shared)
    often = [(name, count) for name, count in counts.items() if count > 1]
    if often:
        yield (
            f"{counted(len(often), 'id is', 'ids are')} shared by several examples, such as {often[0][0]!r} "
            f"({often[0][1]:,} of them), and each example counts. Remove duplicate rows; give other examples, "
            f"such as crops of one photograph, ids of their own."
        )
