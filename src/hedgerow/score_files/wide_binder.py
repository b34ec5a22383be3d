"""Turn raw blocks with one column per class into blocks of likelihoods in node order, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow import likelihood
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, argument, closest, counted, some
from hedgerow.files import row_name
from hedgerow.likelihood import ROUNDING, SUM_TOLERANCE, ColumnFit, Likelihoods, RowSource, in_order
from hedgerow.score_files.examples import Block, as_names
from hedgerow.score_files.labels import label_nodes
from hedgerow.score_files.score_reading import ScoreReading, class_columns_argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.likelihood import SparseLikelihoods
    from hedgerow.score_files.wide_files import WideBlock, WideReader
    from hedgerow.tree import Hierarchy

_NODE_LOGITS = (
    "its columns are all nodes of the tree, and what logits of nodes mean depends on how the model was trained. "
    "Turn them into likelihoods first (hedgerow.likelihood has one function for each kind of model), or give "
    "logits of the leaves only."
)
_NEARLY = 0.05  # relative tolerance for sums of rounded numbers
_COLUMNS_OF_LONG = 4  # at most, besides those about the examples


@final
class WideBinder:
    """Binds the columns of a file to the nodes of a tree."""

    def __init__(self, hierarchy: Hierarchy, reader: WideReader, how: ScoreReading) -> None:
        self._hierarchy = hierarchy
        self._reader = reader
        self._how = how
        check_clash(hierarchy, reader)
        if how.outside and how.columns != "own" and not how.independent:
            raise ParameterError(
                f"{reader.path} has a column per class: classes outside the tree also need "
                f"{argument('columns', 'own')}."
            )
        self.fit = column_fit(hierarchy, reader, how)
        if self.fit.kind is None:
            raise UnknownNameError(misfit(hierarchy, reader, self.fit))
        self._content = "logits" if how.logits and reader.content == "probabilities" else reader.content
        self._renormalise = how.renormalise or how.votes
        self._refuse_undefined()

    def _refuse_undefined(self) -> None:
        path, kind = self._reader.path, self.fit.kind
        if self._how.independent and (self._content != "probabilities" or self._renormalise):
            other = argument("logits", True) if self._how.logits else "other options about the scores"
            raise ParameterError(
                f"{argument('independent', True)} is for probabilities of single classes: leave it out, or "
                f"{other}."
            )
        if self._content == "logits" and kind == "nodes":
            raise ScoreError(f"{path} holds logits, but {_NODE_LOGITS}")
        if self._content == "likelihoods" and kind == "own":
            raise ParameterError(
                f"{path} holds likelihoods of nodes, not probabilities of classes: leave out "
                f"{argument('columns', 'own')}."
            )
        if self._renormalise and (self._content != "probabilities" or kind == "nodes"):
            what = self._content if self._content != "probabilities" else "likelihoods of all nodes"
            raise ParameterError(
                f"{path} holds {what}, and {argument('renormalise', True)} is for probabilities of the leaves: "
                f"leave it out."
            )

    def blocks(self, raw_blocks: Iterable[WideBlock], warnings: list[str]) -> Iterator[Block]:
        """Yield the likelihoods of each raw block, with labels; append warnings at the end."""
        doubts: list[str | None] = []
        for raw in raw_blocks:
            if not len(raw.scores):
                continue
            likelihoods = self._likelihoods(raw.scores, raw.start)
            doubts.append(self._likely_probabilities(raw.scores))
            count = len(raw.scores)
            about: dict[str, Any] = {
                key: as_names(values, count) for key, values in raw.texts.items() if key != "labels"
            }
            if "labels" in raw.texts:
                rows = range(raw.start, raw.start + count)
                about["labels"] = label_nodes(
                    self._hierarchy, self._reader.path, raw.texts["labels"], rows, self._how
                )
            yield Block.of(raw.start, likelihoods, **about)
        if self.fit.notice:
            warnings.append(f"{self._reader.path}: {self.fit.notice}")
        if doubts and doubts[0] is not None and all(doubts):
            warnings.append(doubts[0])

    def _likelihoods(self, scores: NDArray[Any], start: int) -> Likelihoods | SparseLikelihoods:
        tree, reader, kind = self._hierarchy, self._reader, self.fit.kind
        names, outside, divide = reader.classes, self._how.outside, self._renormalise
        tolerance = likelihood.sum_tolerance(reader.dtype)
        source = RowSource(
            reader.path, lambda row: row_name(reader.path, start + row), _if_logits(), self._if_less(), tolerance
        )
        scores = _as_floats(scores)
        if self._how.independent:
            return self._independent_likelihoods(scores, source)
        logits: NDArray[Any] | None = None
        if self._content == "logits":
            source.check_logits(scores, names.__getitem__)
            if kind == "own":
                from scipy import special

                q = likelihood.from_columns(tree, special.softmax(scores, axis=1), names, outside)
            else:
                logits = self._ordered(scores, -np.inf)
                q = likelihood.flat_softmax(tree, logits)
        elif kind == "own":
            q = likelihood.from_columns(tree, scores, names, outside, renormalise=divide, source=source)
        elif kind == "leaves":
            q = likelihood.from_leaves(tree, self._ordered(scores), renormalise=divide, source=source)
        else:
            q = self._node_likelihoods(scores, source)
        return Likelihoods.checked(tree, q, reader.scale, logits=logits)

    def _independent_likelihoods(self, scores: NDArray[Any], source: RowSource) -> SparseLikelihoods:
        """Return the likelihoods of classes at any depth, each with a probability of its own."""
        source.check_range(scores, likelihood.PROBABILITIES, self._reader.classes.__getitem__)
        nodes = np.flatnonzero(self.fit.place < scores.shape[1])
        values = scores[:, self.fit.place[nodes]]
        row = np.repeat(np.arange(len(scores)), len(nodes))
        return likelihood.from_independent(
            self._hierarchy, row, np.tile(nodes, len(scores)), values.ravel(), rows=len(scores)
        )

    def _node_likelihoods(self, scores: NDArray[Any], source: RowSource) -> NDArray[Any]:
        """Return columns in node order, checked; a root without a column is certain."""
        tree, scale = self._hierarchy, self._reader.scale
        bounds = likelihood.Bounds.of(scale, source.tolerance if source.tolerance > SUM_TOLERANCE else ROUNDING)
        advice = f"If they are logits ({argument('logits', True)} is for leaves): {_NODE_LOGITS}"
        source.check_range(scores, bounds, self._reader.classes.__getitem__, advice)
        certain = likelihood.CERTAIN[scale]
        q = np.full((len(scores), len(tree)), certain, dtype=scores.dtype)
        q[:, len(tree) - len(self.fit.place) :] = np.minimum(self._ordered(scores), certain)
        return q

    def _ordered(self, scores: NDArray[Any], missing: float = 0.0) -> NDArray[Any]:
        place = self.fit.place
        return scores if np.array_equal(place, np.arange(scores.shape[1])) else in_order(scores, place, missing)

    def _if_less(self) -> str:
        if not self.fit.missing:
            return ""
        own = argument("columns", "own")
        return f"{self.fit.notice} If each column is the probability of its class itself, use {own}."

    def _likely_probabilities(self, scores: NDArray[Any]) -> str | None:
        """Return a warning if scores that are read as logits look like probabilities."""
        if self._content != "logits" or scores.shape[1] < 2 or scores.min() < 0:
            return None
        total = scores.sum(axis=1, dtype=np.float64)
        for whole, what in ((1, "probabilities: 0 or more, summing to 1"), (100, "percentages: summing to 100")):
            if np.abs(total - whole).max() <= _NEARLY * whole:
                remedy = (
                    f"leave out {argument('logits', True)}" if self._how.logits else "save them as 'probabilities'"
                ) + ("" if whole == 1 else f" and use {argument('renormalise', True)}")
                return (
                    f"The scores were read as logits, but every row looks like {what}, or nearly. If that is what "
                    f"they are, {remedy}."
                )
        return None


def _if_logits() -> str:
    return f"If these are logits, use {argument('logits', True)}, or save them in the .npz file as 'logits'."


def _as_floats(scores: NDArray[Any]) -> NDArray[Any]:
    if scores.dtype in (np.float32, np.float64):
        return scores
    return scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)


# Columns -------------------------------------------------------------------------------------------------------


def column_fit(hierarchy: Hierarchy, reader: WideReader, how: ScoreReading) -> ColumnFit:
    """Compare the columns of a file with a tree.

    If all leaves, or all nodes, have a column, the reader leaves out those that are no class.
    """

    def fit() -> ColumnFit:
        if how.columns == "own" or how.independent:
            return ColumnFit.own(hierarchy, reader.classes, how.outside)
        return ColumnFit.of(hierarchy, reader.classes, leaves=reader.content != "likelihoods")

    found = fit()
    extra = set(found.extra)
    if found.kind is not None or not extra or not reader.is_table or how.names_classes:
        return found
    if found.missing or set(found.repeated) - extra or not _has_leaves(hierarchy, reader.classes):
        return found
    ids, said = reader.ignore(extra), []
    if ids is not None:
        said.append(f"The ids are in the {f'column {ids!r}' if ids.strip() else 'unnamed first column'}")
    if rest := [name for name in found.extra if name != ids]:
        said.append(f"{counted(len(rest), 'column is', 'columns are')} no class and left out: {some(rest)}")
    return replace(fit(), ignored=f"{'; '.join(said)}.")


def _has_leaves(hierarchy: Hierarchy, names: Sequence[str]) -> bool:
    """Return whether all leaves are among some names."""
    known = set(hierarchy.canonical(name if name in hierarchy else name.strip() for name in names))
    return known.issuperset(hierarchy.names[hierarchy.leaves].tolist())


def check_clash(hierarchy: Hierarchy, reader: WideReader) -> None:
    """Refuse a table in which the default name of a column about the examples is also a class."""
    known = set(hierarchy.names.tolist())
    for name in reader.taken_by_name:
        if name in known:
            raise UnknownNameError(
                f"{reader.path} has a column {name!r}, the name of a class and of a column about the examples. "
                f"Name the class columns with {class_columns_argument()} or {argument('class_prefix', 'PREFIX')}."
            )


def misfit(hierarchy: Hierarchy, reader: WideReader, fit: ColumnFit) -> str:
    """Explain why the columns of a file fit neither the leaves nor all nodes."""
    columns = counted(fit.columns, "class column", "class columns")
    if fit.taken_as == "own":
        declare = f" If a class lies outside the tree, use {argument('outside', tuple(fit.extra[:1]))}."
        near = closest(fit.extra[:3], hierarchy.names.tolist())
        return (
            f"The {columns} of {reader.path} must be nodes of the tree, each once: {fit.problems}.{near}"
            f"{_index(fit) or (declare if fit.extra else '')}"
        )
    expected = "all nodes (the root is optional)" if fit.taken_as == "nodes" else "the leaves"
    return (
        f"The {columns} of {reader.path} {'is' if fit.columns == 1 else 'are'} neither the "
        f"{len(hierarchy.leaves):,} leaves nor all {len(hierarchy):,} nodes of the tree. Taken as {expected}: "
        f"{fit.problems}.{_own(fit, reader) or _advice(fit, table=reader.is_table)}"
    )


def _own(fit: ColumnFit, reader: WideReader) -> str:
    if fit.extra or fit.repeated or reader.content == "likelihoods":
        return ""
    return f" If each column is the probability of its class itself, use {argument('columns', 'own')}."


def _index(fit: ColumnFit) -> str:
    """Say what a column without a name may be."""
    unnamed = [name for name in fit.extra if not name or name.startswith(("Unnamed:", "__index_level"))]
    if not unnamed:
        return ""
    return (
        f" A column without a name is usually an index. If it holds the ids, use "
        f"{argument('id_column', unnamed[0])}; if not, write the table without it (pandas: index=False; "
        f"R: row.names = FALSE)."
    )


def _advice(fit: ColumnFit, *, table: bool) -> str:
    if unnamed := _index(fit):
        return unnamed
    prefix = _common_prefix(fit)
    if table and prefix is not None:
        return f" If the class columns begin with {prefix!r}, use {argument('class_prefix', prefix)}."
    near = closest(fit.extra[:3], fit.missing)
    if table and not near and fit.columns == len(fit.extra) <= _COLUMNS_OF_LONG:
        return (
            f" If each row holds one class of an example, it is a long table: call its columns 'id', 'class' "
            f"and 'score', and use {argument('scores_format', 'long')}; for numbers of votes, also "
            f"{argument('votes', True)}."
        )
    if table and fit.extra and not near:
        return (
            f" If columns are about the examples, name them: {argument('label_column', 'NAME')}, "
            f"{argument('id_column', 'NAME')}, {argument('clusters', 'NAME', python='cluster_column=')}; or "
            f"name the classes: {class_columns_argument()}."
        )
    return near


def _common_prefix(fit: ColumnFit) -> str | None:
    """Return the prefix with which columns have the names of all missing classes; None if there is none."""
    if not fit.missing:
        return None
    extra, first = set(fit.extra), fit.missing[0]
    prefixes = (name.removesuffix(first) for name in fit.extra if name != first and name.endswith(first))
    return next((p for p in prefixes if extra.issuperset(p + name for name in fit.missing)), None)
