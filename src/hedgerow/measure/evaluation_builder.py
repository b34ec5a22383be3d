"""From likelihoods and labels to an `Evaluation`, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.infer import RULES
from hedgerow.likelihood import Likelihoods, check_scale, to_probability
from hedgerow.measure import bootstrap
from hedgerow.measure.binned_evaluation import BinnedEvaluation, RuleSums, binned_evaluation
from hedgerow.measure.builder import CurveBuilder
from hedgerow.measure.evaluation import ABOUT, Answers, Evaluation
from hedgerow.measure.examples import example_blocks, repeated_ids, signs_of_wrong_order
from hedgerow.measure.parts import Part, in_order
from hedgerow.measure.settings import differences
from hedgerow.score_files import Block, ScoreFile, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from numpy.typing import ArrayLike

    from hedgerow.infer import Rule, SingleChild
    from hedgerow.likelihood import AnyLikelihoods, Scale
    from hedgerow.measure.metrics import BelowLabel
    from hedgerow.score_files import Progress
    from hedgerow.tree import Hierarchy, InformationKind, Names

_MOST_BINS = 1 << 16


@final
class EvaluationBuilder:
    """Builds an evaluation batch by batch.

    Parameters
    ----------
    hierarchy
        The tree.
    rules
        The rules whose operating points are reported: name -> rule; by default `infer.RULES`.
    information
        The measure of specificity: see `Hierarchy.information`.
    single_child
        Whether nodes with one child may be answers ("answer") or not ("skip").
    below_label
        How to count an answer below its label: as the "label" or as "wrong".
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    bins
        Limit the memory: keep sums at this many thresholds, at most 65,536, instead of the examples. The result is
        then a `BinnedEvaluation`, whose figures have brackets: see `compute_binned`.
    part
        What to call these examples. The examples of merged builders are in the order of these names ("part-9"
        before "part-10"), whichever was merged first, so that the evaluation is always the same.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> builder = EvaluationBuilder(h)
    >>> builder.update([[1, 0.7, 0.5, 0.2, 0.3]], ["cat"])
    >>> builder.update([[1, 0.9, 0.2, 0.7, 0.1]], ["cat"])
    >>> builder.compute().summary["leaf_exact"]
    0.5
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        rules: Mapping[str, Rule] = RULES,
        information: InformationKind | ArrayLike = "leaves",
        single_child: SingleChild = "skip",
        below_label: BelowLabel = "label",
        scale: Scale | None = None,
        bins: int | None = None,
        part: str = "",
    ) -> None:
        if bins is not None and bins > _MOST_BINS:
            raise ParameterError(
                f"bins must be {_MOST_BINS:,} or fewer, to keep states below 10 MB; got {bins:,}."
            )
        for needed in ("leaf", "majority"):
            if needed not in rules:
                raise ParameterError(f"Every evaluation needs the rule {needed!r}: add it from infer.RULES.")
        if scale is not None:
            check_scale(scale)
        self.hierarchy = hierarchy
        self.rules = rules
        self._information = information
        self._single_child: SingleChild = single_child
        self._below_label: BelowLabel = below_label
        self._scale = scale
        self.bins = bins
        self._part = part
        self.curve: CurveBuilder | None = None
        """The curve of the evaluation, created when its scale is known; without bins, it holds no examples."""
        self._own: list[Part] = []  # batches, in the order in which they came
        self._merged: list[Part] = []
        self.sums = None if bins is None else RuleSums(rules)
        """With bins, the sums of the rules."""
        self.warnings: set[str] = set()
        """What was noticed about the scores: sentences that become warnings of the evaluation."""

    def update(
        self,
        q: Any,
        labels: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        ids: Names | None = None,
        groups: Names | None = None,
        clusters: Names | None = None,
        texts: Names | None = None,
        images: Names | None = None,
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
        ids, groups, clusters, texts, images
            What else is known of the examples: one entry each, if given.
        """
        about = {"ids": ids, "groups": groups, "clusters": clusters, "texts": texts, "images": images}
        likelihoods = Likelihoods.of(self.hierarchy, q, self._scale)
        for key, values in about.items():
            if values is not None and len(values) != len(likelihoods):
                raise ScoreError(f"{key} needs one entry per example, {len(likelihoods):,}; got {len(values):,}.")
        curve = self.curve_on(likelihoods.scale)
        # The rules come first: the curve reuses what they derive from the likelihoods.
        answers = self._answers(likelihoods, curve)
        events = curve.events_of(likelihoods, labels, classes)
        self.curve = curve
        if self.sums is None:
            self._own.append(Part(self._part, events, replace(answers, **about)))  # type: ignore[arg-type]
        else:
            curve.add(events)
            self.sums.add(curve, events.label, answers.predictions)

    def add(self, scores: ScoreFile | Iterable[Block], *, advance: Callable[[int], None] = lambda _: None) -> None:
        """Add the examples of a score file, or other blocks, with what was noticed about them.

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
            about = {key: getattr(block, key) for key in ABOUT}
            # Labels are nodes by now.
            self.update(block.likelihoods, block.labels, self.hierarchy.names, **about)
            advance(len(block))
        self.warnings.update(getattr(scores, "warnings", ()))

    def merge(self, other: EvaluationBuilder) -> None:
        """Add the examples of another builder with the same tree and settings."""
        ours, theirs = self.settings, other.settings
        if self.curve is None or other.curve is None:
            del ours["scale"]
        differ = differences(ours, theirs)
        if differ:
            raise ParameterError(
                f"Only builders with the same tree, rules and settings can be merged; these differ in {differ}."
            )
        self.warnings |= other.warnings
        if other.curve is None:
            return
        if self.curve is None:
            self.curve = self.curve_on(other.curve.scale)
        self.curve.merge(other.curve)  # examples only with bins
        self._merged += other.parts
        if self.sums is not None and other.sums is not None:
            self.sums.merge(other.sums)

    @property
    def settings(self) -> dict[str, Any]:
        """What builders must have in common to be merged."""
        return {
            "tree": self.hierarchy,
            "rules": list(self.rules),
            "information": self._about("")["information"],
            "single_child": self._single_child,
            "below_label": self._below_label,
            "bins": self.bins,
            "scale": self._scale if self.curve is None else self.curve.scale,
        }

    def curve_on(self, scale: Scale) -> CurveBuilder:
        """Return the curve builder of this evaluation; it is created when the scale is known."""
        return self.curve or CurveBuilder(
            self.hierarchy,
            information=self._information,
            single_child=self._single_child,
            below_label=self._below_label,
            scale=scale,
            bins=self.bins,
        )

    @property
    def parts(self) -> list[Part]:
        """The examples, part by part, in the order in which they came; none with bins."""
        if len(self._own) > 1:
            self._own = [Part.joined(self._own)]
        return [*self._own, *self._merged]

    def add_parts(self, parts: Iterable[Part]) -> None:
        """Add examples whose events and answers are already known; not for builders with bins."""
        self._merged += parts

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tree, the settings and the state of the builder to a file, an `.npz` archive; see `load`."""
        from hedgerow.measure.state_file import save_evaluation

        save_evaluation(self, path)

    @staticmethod
    def load(path: str | PathLike[str], *, rules: Mapping[str, Rule] = RULES) -> EvaluationBuilder:
        """Read a builder written by `save`; it continues where that one stopped.

        Parameters
        ----------
        path
            The file.
        rules
            The rules with which it was made.
        """
        from hedgerow.measure.state_file import load_evaluation

        return load_evaluation(path, rules)

    def _answers(self, q: AnyLikelihoods, curve: CurveBuilder) -> Answers:
        predictions, confidence = {}, {}
        for name, rule in self.rules.items():
            nodes = rule(self.hierarchy, q, curve.candidates)
            predictions[name] = as_numpy(nodes).astype(np.int32)
            # Log-likelihoods need not be normalised, so some may be above 0.
            chosen = to_probability(as_numpy(q.at(nodes)).astype(np.float64), q.scale)
            confidence[name] = np.minimum(chosen, 1.0)
        return Answers(predictions, confidence)

    def compute(self, *, name: str = "scores", warnings: Iterable[str] = ()) -> Evaluation:
        """Return the evaluation of all examples so far; not for builders with bins.

        Parameters
        ----------
        name
            What to call the model.
        warnings
            Warnings about its scores, in addition to those that the evaluation itself finds.
        """
        if self.bins is not None:
            raise ParameterError("A binned builder keeps no examples: call compute_binned(), or leave out bins=.")
        parts = in_order(self.parts)
        if self.curve is None or not sum(map(len, parts)):
            raise ScoreError("There are no examples to evaluate.")
        whole = Part.joined(parts)
        return Evaluation(
            self.hierarchy,
            whole.events,
            self.curve.holding(whole.events).compute(),
            whole.answers,
            warnings=(
                *self._noticed(warnings),
                *repeated_ids(whole.answers.ids),
                *signs_of_wrong_order(self.hierarchy, whole.events.label, whole.answers),
            ),
            **self._about(name),
        )

    def compute_binned(self, *, name: str = "scores", warnings: Iterable[str] = ()) -> BinnedEvaluation:
        """Return the evaluation of all examples so far, from the sums in the bins; see `compute`."""
        if self.sums is None:
            raise ParameterError("This builder has no bins: call compute(), or give bins=.")
        if self.curve is None:
            raise ScoreError("There are no examples to evaluate.")
        return binned_evaluation(self.curve, self.sums, warnings=self._noticed(warnings), **self._about(name))

    def _about(self, name: str) -> dict[str, Any]:
        named = isinstance(self._information, str)
        return {
            "name": name,
            "information": self._information if named else self.hierarchy.information(self._information),
            "below_label": self._below_label,
            "single_child": self._single_child,
        }

    def _noticed(self, warnings: Iterable[str]) -> tuple[str, ...]:
        given = tuple(warnings)
        return (*given, *sorted(self.warnings.difference(given)))


def evaluate(
    hierarchy: Hierarchy,
    scores: ScoreFile | Iterable[Block] | Any,
    labels: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    name: str = "scores",
    rules: Mapping[str, Rule] = RULES,
    information: InformationKind | ArrayLike = "leaves",
    single_child: SingleChild | None = None,
    below_label: BelowLabel = "label",
    scale: Scale | None = None,
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
        A score file from `hedgerow.open_scores`, or other blocks of examples; or likelihoods [examples, nodes]
        with `labels`: `Likelihoods`, `SparseLikelihoods`, an array, a tensor, or a table with node names as column
        names.
    labels
        Labels of likelihoods: names or integers. Blocks bring their own.
    classes
        Names of nodes in which integer labels are positions; without it, they are node indices.
    ids
        Ids of the examples, for likelihoods; `compare` matches examples by id.
    name
        What to call the model.
    rules
        The rules whose operating points are reported: name -> rule; they must include "leaf" and "majority".
    information
        The measure of specificity: see `Hierarchy.information`.
    single_child
        Whether nodes with one child may be answers ("answer") or not ("skip"); by default what the score file
        says, else "skip".
    below_label
        How to count an answer below its label: as the "label" or as "wrong".
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    replicates
        Number of bootstrap replicates for the intervals of the figures; 0 for no intervals.
    confidence, seed
        The share of replicates inside an interval, and the random seed.
    progress
        Called to report progress.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> evaluation = hr.evaluate(h, q, ["cat", "cat"])
    >>> evaluation.summary["leaf_exact"], evaluation.rules["majority"]["correct"]
    (0.5, 0.5)
    """
    if replicates < 0:
        raise ParameterError(f"replicates must be 0 or more, not {replicates}.")
    usual: SingleChild = getattr(scores, "single_child", "skip")
    builder = EvaluationBuilder(
        hierarchy,
        rules=rules,
        information=information,
        single_child=single_child or usual,
        below_label=below_label,
        scale=scale,
    )
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        builder.add(example_blocks(hierarchy, scores, labels, classes, ids, scale), advance=advance)
    with progress("Drawing the curve", None):
        evaluation = builder.compute(name=name, warnings=getattr(scores, "warnings", ()))
    return _with_intervals(evaluation, replicates, confidence, seed, progress) if replicates else evaluation


def measured(
    builder: EvaluationBuilder, *, name: str = "scores", replicates: int = 0, progress: Progress = silent
) -> Evaluation | BinnedEvaluation:
    """Return the evaluation that a builder gives, binned or not, with bootstrap intervals if asked for."""
    if builder.bins is None:
        evaluation = builder.compute(name=name)
        return _with_intervals(evaluation, replicates, 0.95, 0, progress) if replicates else evaluation
    if replicates:
        raise ParameterError(
            f"Bins keep no examples to draw from: leave out {argument('bootstrap', str(replicates))}."
        )
    return builder.compute_binned(name=name)


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
    return replace(evaluation, intervals=drawn, confidence=confidence, replicates=replicates)
