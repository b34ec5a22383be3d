"""Score files with one column per class, bound to a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hedgerow.errors import ParameterError, UnknownNameError, argument
from hedgerow.score_files.class_columns import ColumnFit
from hedgerow.score_files.labels import label_nodes
from hedgerow.score_files.score_tables import check_clash
from hedgerow.score_files.source import Block, Source, as_names
from hedgerow.score_files.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.score_files.reader import Reader
    from hedgerow.tree import Hierarchy

_BLOCK_BYTES = 1 << 25  # of likelihoods, or of what the file holds of the same rows


@final
class WideScores(Source):
    """A table or archive with one column per class; the parameters are those of `open_scores`."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        reader: Reader,
        *,
        logits: bool,
        renormalise: bool,
        own: bool,
        outside: Sequence[str],
    ) -> None:
        check_clash(hierarchy, reader)
        if outside and not own:
            raise ParameterError(
                f"{reader.path} has a column per class: classes outside the tree also need "
                f"{argument('columns', 'own')}."
            )
        fit = ColumnFit.of(hierarchy, reader, own=own, outside=outside)
        if fit.kind is None:
            raise UnknownNameError(fit.misfit(hierarchy, reader))
        self.kind = fit.kind
        """What the columns are."""
        self._values = Values(
            hierarchy, reader, fit, logits=logits, renormalise=renormalise, outside=tuple(outside)
        )
        self._reader = reader
        self.hierarchy = hierarchy
        self.path = reader.path
        self.rows = reader.rows
        self.has = reader.has
        self.scale = reader.scale
        self.warnings = []
        self.block_rows = max(1, _BLOCK_BYTES // max(8 * len(hierarchy), reader.row_bytes))

    def blocks(self, rows: int, keys: frozenset[str]) -> Iterator[Block]:
        """Yield the file in blocks of so many rows, with what was asked for about each example."""
        doubts: list[str | None] = []
        for raw in self._reader.read(rows, keys):
            if not len(raw.scores):
                continue
            likelihoods = self._values.likelihoods(raw.scores, raw.start)
            doubts.append(self._values.likely_probabilities(raw.scores))
            labels = raw.texts.get("labels")
            numbers = range(raw.start, raw.start + len(raw.scores))
            yield Block(
                raw.start,
                likelihoods,
                None if labels is None else label_nodes(self.hierarchy, self.path, labels, numbers),
                **{key: as_names(values) for key, values in raw.texts.items() if key != "labels"},
            )
        self.warnings = [doubts[0]] if doubts and doubts[0] is not None and all(doubts) else []
