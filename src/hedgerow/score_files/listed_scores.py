"""From a file that lists classes to sparse likelihoods, checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NoReturn, final

import numpy as np

from hedgerow import likelihood
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, argument, counted
from hedgerow.score_files.binding import ANYTHING, Binder
from hedgerow.score_files.labels import label_nodes
from hedgerow.score_files.listed import SeenIds
from hedgerow.score_files.source import Block, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.likelihood import SparseLikelihoods
    from hedgerow.score_files.binding import Bound, Unbound
    from hedgerow.score_files.listed import Entries, ListReader
    from hedgerow.tree import Hierarchy, Indices

_BLOCK_ROWS = 1 << 17
_MOST = 1 + likelihood.SUM_TOLERANCE  # what the scores of an example may sum to, because they were rounded


@final
class ListedScores(Source):
    """A file that lists a few classes for each example, bound to a tree.

    Parameters
    ----------
    hierarchy
        The tree.
    reader
        The file.
    outside
        Names of classes that need not be in the tree; see `Binder`.
    votes
        Whether scores are numbers of votes, of which an example's own sum is the whole.
    """

    block_rows = _BLOCK_ROWS

    def __init__(
        self, hierarchy: Hierarchy, reader: ListReader, *, outside: Sequence[str] = (), votes: bool = False
    ) -> None:
        if votes and reader.listing == "lineages":
            raise ParameterError(
                f"{reader.path} holds the confidence of each rank, not votes: leave out {argument('votes', True)}."
            )
        self.hierarchy = hierarchy
        self.path = reader.path
        self.rows = reader.rows
        self.has = reader.has
        self.warnings = []
        self._reader = reader
        self._votes = votes
        self._bound = _BoundLineages(Binder(hierarchy, outside), reader)

    def blocks(self, rows: int, keys: frozenset[str]) -> Iterator[Block]:
        """Yield the file in blocks of about so many rows, with what was asked for about each example."""
        seen = SeenIds()
        start = unclassified = growing = 0
        read = self._reader.read(rows)
        for entries in read:
            seen.add(entries)
            if not self._bound.add(entries):
                self._bound.refuse(read, start + len(entries))
            likelihoods = self._likelihoods(entries)
            growing += int(likelihoods.growing().sum())
            unclassified += int((likelihoods.count == 0).sum())
            texts = {key: entries.texts[key].to_numpy(zero_copy_only=False) for key in keys}
            labels = texts.pop("labels", None)
            if labels is not None:
                labels = label_nodes(self.hierarchy, self.path, labels.tolist(), entries.place.tolist())
            yield Block(start, likelihoods, labels, **texts)
            start += len(entries)
        seen.check(self._reader)
        self.warnings[:] = self._remarks(start, unclassified, growing)

    def _likelihoods(self, entries: Entries) -> SparseLikelihoods:
        node = self._bound.nodes(entries)
        if self._reader.listing == "lineages":
            self._check(entries, 0, 1, "A confidence lies between 0 and 1")
            below = node > 0
            return likelihood.from_lineages(
                self.hierarchy, entries.row[below], node[below], entries.value[below], rows=len(entries)
            )
        self._check_once(entries)
        if self._votes:
            self._check(entries, 0, np.inf, "A number of votes is 0 or more")
        else:
            votes = f"for numbers of votes, say {argument('votes', True)}"
            self._check(entries, 0, _MOST, f"A score is a probability, between 0 and 1; {votes}")
            self._check_sums(entries)
        row, node, value = _added_up(entries.row, node, entries.value, len(self.hierarchy))
        return likelihood.from_top(self.hierarchy, row, node, value, rows=len(entries), renormalise=self._votes)

    def _check(self, entries: Entries, lowest: float, highest: float, rule: str) -> None:
        value = entries.value
        good = (value >= lowest) & (value <= highest) & (value < np.inf)  # NaN fails
        if not good.all():
            wrong = int(np.argmin(good))
            found = "no number" if np.isnan(value[wrong]) else f"{value[wrong]:.6g}"
            self._refuse(entries, wrong, f"has {found} for {self._class(entries, wrong)!r}. {rule}.")

    def _check_once(self, entries: Entries) -> None:
        key = entries.row * len(self._reader.lineages.steps) + entries.lineage
        ordered = np.sort(key)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            wrong = int(np.flatnonzero(key == ordered[again[0]])[1])
            remedy = "Add up its scores, or remove the wrong one."
            self._refuse(entries, wrong, f"lists {self._class(entries, wrong)!r} twice. {remedy}")

    def _check_sums(self, entries: Entries) -> None:
        total = np.bincount(entries.row, weights=entries.value, minlength=len(entries))
        if total.max(initial=0) > _MOST:
            example = int(np.argmax(total > _MOST))
            wrong = int(np.searchsorted(entries.row, example))
            remedy = f"Scores sum to at most 1; if they are numbers of votes, say {argument('votes', True)}."
            self._refuse(entries, wrong, f"has scores that sum to {total[example]:.6g}. {remedy}")

    def _refuse(self, entries: Entries, entry: int, problem: str) -> NoReturn:
        example = int(entries.row[entry])
        name, where = entries.texts["ids"][example].as_py(), self._reader.where(int(entries.place[example]))
        raise ScoreError(f"{self.path}: {name!r} in {where} {problem}")

    def _class(self, entries: Entries, entry: int) -> str:
        steps = self._reader.lineages.steps[entries.lineage[entry]]
        return steps[-1 if entries.step is None else entries.step[entry]].names[0] if steps else "(nothing)"

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


def _added_up(
    row: Indices, node: Indices, value: NDArray[np.float64], nodes: int
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Add up what an example has at one node: classes that are finer than the tree, or outside it."""
    key, place = np.unique(row * nodes + node, return_inverse=True)
    if len(key) == len(row):
        return row, node, value
    return key // nodes, key % nodes, np.bincount(place, weights=value).astype(np.float64)


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
        self._examples = np.empty(0, dtype=np.int64)  # with a lineage that cannot be bound

    def add(self, entries: Entries) -> bool:
        """Bind the new lineages of some examples; return whether all of theirs could be bound."""
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
        wrong = self._problem[entries.lineage]
        if not wrong.any():
            return True
        pairs = np.unique(np.stack([entries.row[wrong], entries.lineage[wrong]]), axis=1)
        self._examples += np.bincount(pairs[1], minlength=len(self._examples))
        return False

    def nodes(self, entries: Entries) -> Indices:
        """Return the node of each entry; `NO_NODE` if it has none."""
        if entries.step is None:
            ends: Indices = self._last[entries.lineage]
            return ends
        nodes: Indices = self._nodes[self._start[entries.lineage] + entries.step]
        return nodes

    def refuse(self, rest: Iterable[Entries], examples: int) -> NoReturn:
        """Count what else in the file cannot be bound, and raise an error that names it."""
        for entries in rest:
            examples += len(entries)
            self.add(entries)
        counts: Counter[Unbound] = Counter()
        for bound, count in zip(self._bound, self._examples.tolist(), strict=True):
            if bound.unbound is not None and count:
                counts[bound.unbound] += count
        first = counts.most_common(1)[0][0].name
        raise UnknownNameError(
            f"{self._reader.path}: {counted(len(counts), 'class', 'classes')} of its {examples:,} examples cannot "
            f"be found in the tree: {self._binder.explained(counts)} Correct the names or the tree. If a class is "
            f"outside it, say {argument('outside', (first,))}; {argument('outside', (ANYTHING,))} means "
            f"whatever cannot be found."
        )
