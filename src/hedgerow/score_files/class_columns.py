"""Class columns bound to the nodes of a tree, by name alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from hedgerow.errors import argument, closest, counted, itemised
from hedgerow.score_files.score_tables import class_columns_argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.score_files.reader import Reader
    from hedgerow.tree import Hierarchy, Indices

ColumnKind = Literal["leaves", "nodes", "own"]
"""What columns are: the leaves, all nodes (their likelihoods), or classes at any depth (the mass of each)."""

_COLUMNS_OF_LONG = 4  # at most, besides those about the examples


@final
@dataclass(frozen=True, eq=False)
class ColumnFit:
    """How class columns stand to the nodes of a tree. Use `ColumnFit.of`."""

    columns: int
    kind: ColumnKind | None
    """What the columns are; None if they are neither exactly the leaves nor exactly all nodes."""
    place: Indices
    """The column of each leaf, or of each node; without a column for the root, of each node below it."""
    taken_as: ColumnKind
    """What they are, or else what they seem to be meant as."""
    repeated: list[str]
    missing: list[str]
    extra: list[str]

    @classmethod
    def of(
        cls, hierarchy: Hierarchy, reader: Reader, *, own: bool = False, outside: Sequence[str] = ()
    ) -> ColumnFit:
        """Compare the columns of a file with a tree; see `open_scores` for `own` and `outside`."""
        if own:
            return cls._own(hierarchy, reader, set(outside))
        classes, leaves = reader.classes, reader.content != "likelihoods"
        classes = hierarchy.canonical(classes)
        column = {name: i for i, name in enumerate(classes)}
        nodes, tips = hierarchy.names.tolist(), hierarchy.names[hierarchy.leaves].tolist()
        kinds: list[tuple[ColumnKind, list[str]]] = [("leaves", tips)] if leaves else []
        for kind, wanted in (*kinds, ("nodes", nodes), ("nodes", nodes[1:])):
            if len(classes) == len(wanted) and column.keys() == set(wanted):
                place = np.fromiter(map(column.__getitem__, wanted), dtype=np.int64, count=len(wanted))
                return cls(len(classes), kind, place, kind, [], [], [])
        # Columns that name an inner node are meant to be all nodes; otherwise leaves are expected.
        as_nodes = not leaves or bool(column.keys() & (set(nodes) - set(tips)))
        wanted = nodes if as_nodes else tips
        return cls(
            columns=len(classes),
            kind=None,
            place=np.empty(0, dtype=np.int64),
            taken_as="nodes" if as_nodes else "leaves",
            repeated=[name for name, count in Counter(classes).items() if count > 1],
            missing=[name for name in wanted if name not in column and name != nodes[0]],
            extra=[name for name in column if name not in set(wanted)],
        )

    @classmethod
    def _own(cls, hierarchy: Hierarchy, reader: Reader, outside: set[str]) -> ColumnFit:
        repeated = [name for name, count in Counter(reader.classes).items() if count > 1]
        extra = [name for name in dict.fromkeys(reader.classes) if name not in hierarchy and name not in outside]
        kind: ColumnKind | None = None if repeated or extra else "own"
        return cls(len(reader.classes), kind, np.empty(0, dtype=np.int64), "own", repeated, [], extra)

    def misfit(self, hierarchy: Hierarchy, reader: Reader) -> str:
        """Say why the columns of a file are neither the leaves nor all nodes."""
        said = itemised((self.repeated, "repeated"), (self.missing, "missing"), (self.extra, "extra"))
        if self.taken_as == "own":
            declare = f" If a class lies outside the tree, say {argument('outside', tuple(self.extra[:1]))}."
            near = closest(self.extra[:3], hierarchy.names.tolist())
            return (
                f"The {counted(self.columns, 'class column', 'class columns')} of {reader.path} must be nodes of "
                f"the tree, each once: {said}.{near}{declare if self.extra else ''}"
            )
        expected = "all nodes (the root is optional)" if self.taken_as == "nodes" else "the leaves"
        return (
            f"The {counted(self.columns, 'class column', 'class columns')} of {reader.path} "
            f"{'is' if self.columns == 1 else 'are'} neither the {len(hierarchy.leaves):,} leaves nor all "
            f"{len(hierarchy):,} nodes of the tree. Taken as {expected}: {said}."
            f"{self._advice(reader.is_table)}"
        )

    def _advice(self, table: bool) -> str:
        unnamed = [name for name in self.extra if not name or name.startswith(("Unnamed:", "__index_level"))]
        if unnamed:
            return (
                f" A column without a name is usually an index. If it holds the ids, say "
                f"{argument('id_column', unnamed[0])}; if not, write the table without it (pandas: index=False; "
                f"R: row.names = FALSE)."
            )
        prefix = self._common_prefix()
        if table and prefix is not None:
            return f" If the class columns begin with {prefix!r}, say {argument('class_prefix', prefix)}."
        near = closest(self.extra[:3], self.missing)
        if not self.extra and not self.repeated:
            return (
                f" If the model knows only these classes, and each column is the probability of its class itself, "
                f"say {argument('columns', 'own')}."
            )
        if table and not near and self.columns == len(self.extra) <= _COLUMNS_OF_LONG:
            return (
                f" If each row holds one class of an example, it is a long table: call its columns 'id', 'class' "
                f"and 'score', and say {argument('scores_format', 'long')}; for numbers of votes, also "
                f"{argument('votes', True)}."
            )
        if table and self.extra and not near:
            return (
                f" If columns are about the examples, say which: {argument('label_column', 'NAME')}, "
                f"{argument('id_column', 'NAME')}; or say which are classes: {class_columns_argument()}."
            )
        return near

    def _common_prefix(self) -> str | None:
        """Return what stands before the names of all missing classes, if anything does."""
        if not self.missing:
            return None
        extra, first = set(self.extra), self.missing[0]
        prefixes = (name.removesuffix(first) for name in self.extra if name != first and name.endswith(first))
        return next((p for p in prefixes if extra.issuperset(p + name for name in self.missing)), None)
