"""Turn raw blocks that list a few classes per example into blocks of sparse likelihoods, checked."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from hedgerow import likelihood
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, argument, counted
from hedgerow.likelihood import POSITIVE, PROBABILITIES, RowSource
from hedgerow.score_files.examples import Block
from hedgerow.score_files.labels import label_nodes
from hedgerow.score_files.lineage_binding import ANYTHING, Binder, Bound, Unbound, beside
from hedgerow.score_files.listed import ListedBlock, ListReader, repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from hedgerow.likelihood import SparseLikelihoods
    from hedgerow.score_files.score_reading import ScoreReading
    from hedgerow.tree import Hierarchy, Indices


_CONFIDENCES = PROBABILITIES._replace(rule="Confidences must lie between 0 and 1")
_SCORES = PROBABILITIES._replace(highest=1 + likelihood.SUM_TOLERANCE)  # they may be rounded


@final
class ListedBinder:
    """Binds the lineages of a file to the nodes of a tree."""

    def __init__(self, hierarchy: Hierarchy, reader: ListReader, how: ScoreReading) -> None:
        given = {
            argument("logits", True): how.logits,
            argument("renormalise", True): how.renormalise,
            argument("columns", "own"): how.columns is not None,
            "the class columns": how.names_classes,
        }
        for said, is_given in given.items():
            if is_given:
                raise ParameterError(f"{reader.path} lists classes, and {said} is for wide files: leave it out.")
        listing = "independent" if how.independent and reader.listing == "top" else reader.listing
        if listing != "top":
            what = "the confidence of each rank" if listing == "lineages" else "probabilities of single classes"
            for option in ("votes", "independent"):
                if getattr(how, option) and option != listing:
                    raise ParameterError(f"{reader.path} holds {what}: leave out {argument(option, True)}.")
        self._listing = listing
        self._hierarchy = hierarchy
        self._reader = reader
        self._how = how
        self._bound = _BoundLineages(Binder(hierarchy, how.outside), reader)

    def blocks(self, raw_blocks: Iterator[ListedBlock], warnings: list[str]) -> Iterator[Block]:
        """Yield the likelihoods of each raw block, with labels; append warnings at the end."""
        ids, places = list[Any](), list[Any]()
        start = unclassified = growing = 0
        for raw in raw_blocks:
            ids.append(raw.texts["ids"])
            places.append(raw.place)
            if not self._bound.add(raw) and not self._reader.free_text:
                self._bound.refuse(raw_blocks, start + len(raw))
            likelihoods = self._likelihoods(raw)
            growing += int(likelihoods.growing().sum())
            unclassified += int((likelihoods.count == 0).sum())
            texts = {key: values.to_numpy(zero_copy_only=False) for key, values in raw.texts.items()}
            if "labels" in texts:
                labels, rows = texts["labels"].tolist(), raw.place.tolist()
                texts["labels"] = label_nodes(self._hierarchy, self._reader.path, labels, rows, self._how)
            yield Block.of(start, likelihoods, **texts)
            start += len(raw)
        _check_ids(self._reader, ids, places)
        warnings += self._remarks(start, unclassified, growing)
        if self._reader.free_text and (unbound := self._bound.unbound()):
            warnings.append(
                f"{self._bound.described(unbound, start)} They stay at the root, or above what is unknown."
            )

    def _likelihoods(self, raw: ListedBlock) -> SparseLikelihoods:
        node, source = self._bound.nodes(raw), RowSource(self._reader.path, partial(self._where, raw))
        check = partial(source.check_range, raw.value, name=partial(self._class, raw), row=raw.row.__getitem__)
        if self._listing == "lineages":
            check(_CONFIDENCES)
            below = node > 0
            return likelihood.from_lineages(
                self._hierarchy, raw.row[below], node[below], raw.value[below], rows=len(raw)
            )
        self._check_once(raw, source)
        if self._listing == "independent":
            check(PROBABILITIES)
            row, node, value = _together(raw.row, node, raw.value, len(self._hierarchy), np.maximum)
            return likelihood.from_independent(self._hierarchy, row, node, value, rows=len(raw))
        if self._how.votes:
            check(POSITIVE)
        else:
            votes = f"If they are numbers of votes, use {argument('votes', True)}"
            check(_SCORES, advice=f"{votes}.")
            total = np.bincount(raw.row, weights=raw.value, minlength=len(raw))
            alone = f"if each is the probability of its class alone, {argument('independent', True)}"
            source.check_sums(total, "at most 1", f"{votes}; {alone}.")
        row, node, value = _together(raw.row, node, raw.value, len(self._hierarchy), np.add)
        q = likelihood.from_top(self._hierarchy, row, node, value, rows=len(raw), renormalise=self._how.votes)
        return q if raw.call is None else q.called(self._bound.last(raw.call))

    def _check_once(self, raw: ListedBlock, source: RowSource) -> None:
        key = raw.row * len(self._reader.lineages.steps) + raw.lineage
        ordered = np.sort(key)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            wrong = int(np.flatnonzero(key == ordered[again[0]])[1])
            rule, remedy = "Each class has one score", "Add up its scores, or remove the wrong one."
            raise source.error(rule, int(raw.row[wrong]), f"lists {self._class(raw, wrong)!r} twice", remedy)

    def _where(self, raw: ListedBlock, example: int) -> str:
        return f"{raw.texts['ids'][example].as_py()!r} in {self._reader.where(int(raw.place[example]))}"

    def _class(self, raw: ListedBlock, entry: int) -> str:
        steps = self._reader.lineages.steps[raw.lineage[entry]]
        names = [step.names[0] for step in (steps if raw.step is None else steps[: raw.step[entry] + 1])]
        return next(filter(None, reversed(names)), "(nothing)")

    def _remarks(self, examples: int, unclassified: int, growing: int) -> Iterator[str]:
        if unclassified:
            yield (
                f"{unclassified:,} of {examples:,} examples {'is' if unclassified == 1 else 'are'} unclassified, "
                f"or classified only outside the tree: the answer is the root."
            )
        if growing:
            yield (
                f"In {growing:,} of {examples:,} examples the confidence grows towards the leaves. The answer is "
                f"then the most specific class whose own confidence suffices."
            )


def _check_ids(reader: ListReader, ids: list[Any], places: list[Indices]) -> None:
    """Refuse ids that are empty or repeated; at the end, since a set of those seen would take more memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    joined = pa.chunked_array(ids, pa.string()).cast(pa.large_string()).combine_chunks()

    def where(number: int) -> str:
        return reader.where(int(np.concatenate(places)[number]))

    empty, twice = pc.index(joined, "").as_py(), repeated(joined)
    if empty >= 0:
        raise ScoreError(f"{reader.path}: {where(empty)} has no id. Give every example one.")
    if twice is not None:
        raise ScoreError(
            f"{reader.path}: duplicate id {joined[twice[1]].as_py()!r}; first in {where(twice[0])}, again in "
            f"{where(twice[1])}. Remove one of them; in a table with several rows per example, put these next to "
            f"each other."
        )


def _together(
    row: Indices, node: Indices, value: NDArray[np.float64], nodes: int, combine: np.ufunc
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Combine the entries of an example at one node: classes finer than the tree, or outside it."""
    key, place = np.unique(row * nodes + node, return_inverse=True)
    if len(key) == len(row):
        return row, node, value
    combined = np.zeros(len(key))
    combine.at(combined, place, value)
    return key // nodes, key % nodes, combined


@final
class _BoundLineages:
    """The nodes of the lineages of a file, each bound once."""

    def __init__(self, binder: Binder, reader: ListReader) -> None:
        self._binder = binder
        self._reader = reader
        self._bound: list[Bound] = []
        self._nodes = np.empty(0, dtype=np.int64)  # of all lineages, one after another
        self._start = np.empty(0, dtype=np.int64)
        self._last = np.empty(0, dtype=np.int64)
        self._problem = np.empty(0, dtype=bool)
        self._examples = np.empty(0, dtype=np.int64)  # number per lineage that cannot be bound

    def add(self, raw: ListedBlock) -> bool:
        """Bind the new lineages of a block; return whether all lineages of the block could be bound."""
        new = self._reader.lineages.steps[len(self._bound) :]
        if new:
            bound = [self._binder.bind(lineage) for lineage in new]
            length = np.array([len(one.nodes) for one in bound], dtype=np.int64)
            self._bound += bound
            self._start = np.append(self._start, len(self._nodes) + np.cumsum(length) - length)
            self._nodes = np.append(self._nodes, [node for one in bound for node in one.nodes]).astype(np.int64)
            self._last = np.append(self._last, [one.last for one in bound])
            self._problem = np.append(self._problem, [one.unbound is not None for one in bound])
            self._examples = np.append(self._examples, np.zeros(len(new), dtype=np.int64))
        wrong = self._problem[raw.lineage]
        if not wrong.any():
            return True
        pairs = np.unique(np.stack([raw.row[wrong], raw.lineage[wrong]]), axis=1)
        self._examples += np.bincount(pairs[1], minlength=len(self._examples))
        return False

    def nodes(self, raw: ListedBlock) -> Indices:
        """Return the node of each entry; `NO_NODE` if it has none."""
        if raw.step is None:
            return self.last(raw.lineage)
        nodes: Indices = self._nodes[self._start[raw.lineage] + raw.step]
        return nodes

    def last(self, lineage: Indices) -> Indices:
        """Return the deepest node of each lineage."""
        ends: Indices = self._last[lineage]
        return ends

    def unbound(self) -> Counter[Unbound]:
        """Return what cannot be bound, with the number of examples."""
        counts: Counter[Unbound] = Counter()
        for bound, count in zip(self._bound, self._examples.tolist(), strict=True):
            if bound.unbound is not None and count:
                counts[bound.unbound] += count
        return counts

    def described(self, counts: Counter[Unbound], examples: int) -> str:
        """Describe what cannot be bound."""
        return (
            f"{self._reader.path}: {counted(len(counts), 'class', 'classes')} of its {examples:,} examples cannot "
            f"be found in the tree: {self._binder.explained(counts)}"
        )

    def refuse(self, rest: Iterable[ListedBlock], examples: int) -> NoReturn:
        """Read the rest of the file, and raise an error that names all lineages that cannot be bound."""
        for raw in rest:
            examples += len(raw)
            self.add(raw)
        counts = self.unbound()
        unknown = self._binder.unknown(counts)
        remedy = (
            f" {beside(unknown[0])} If it shall be no answer, use {argument('outside', (unknown[0],))}; "
            f"{argument('outside', (ANYTHING,))} means whatever cannot be found."
            if unknown
            else ""
        )
        raise UnknownNameError(f"{self.described(counts, examples)} Correct the names or the tree.{remedy}")
