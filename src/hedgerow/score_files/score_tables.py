"""Score files that are tables: which of their columns are about the examples, and which are scores of a class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, ParameterError, ScoreError, UnknownNameError, argument, closest, some
from hedgerow.files import column_texts, reading
from hedgerow.score_files.reader import LABELS_AS_NUMBERS, PER_EXAMPLE, RawBlock, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.score_files.tables import Table
    from hedgerow.tree import Hierarchy


@final
@dataclass(frozen=True)
class ColumnNames:
    """What the columns of a score file are called, where that is not as usual; see `open_scores`."""

    label_column: str | None = None
    id_column: str | None = None
    class_columns: Sequence[str] | None = None
    class_prefix: str | None = None
    group_column: str | None = None
    cluster_column: str | None = None
    elsewhere: frozenset[str] = frozenset()
    """Keys of columns that the file of labels has: the score file need not have them."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if isinstance(self.class_columns, str):
            raise ParameterError(f"class_columns must be a list of names, not the text {self.class_columns!r}.")
        if self.class_columns is not None and self.class_prefix is not None:
            raise ParameterError(
                f"Give the class columns ({class_columns_argument()}) or the prefix that they share "
                f"({argument('class_prefix', 'PREFIX')}), not both."
            )
        both = set(self.class_columns or ()) & set(self.given.values())
        if both:
            raise ParameterError(f"The column {min(both)!r} cannot be a class and hold labels or ids.")

    @property
    def names_classes(self) -> bool:
        """Whether they say which columns are classes."""
        return self.class_columns is not None or self.class_prefix is not None

    @property
    def given(self) -> dict[str, str]:
        """The columns about the examples that are named here, by their key in `PER_EXAMPLE`."""
        named = {
            "labels": self.label_column,
            "ids": self.id_column,
            "groups": self.group_column,
            "clusters": self.cluster_column,
        }
        return {key: name for key, name in named.items() if name is not None}

    def within(self, columns: Sequence[str]) -> ColumnNames:
        """Return the names for a file with these columns: ids may have their name in the file of labels alone."""
        if "ids" in self.elsewhere and self.id_column not in columns:
            return replace(self, id_column=None)
        return self

    @property
    def required(self) -> dict[str, str]:
        """Those that must be there; a file without labels is refused only where they are needed."""
        return {key: name for key, name in self.given.items() if key not in ("labels", *self.elsewhere)}


def class_columns_argument() -> str:
    """Write the argument that names the class columns."""
    return argument("class_columns", "FILE", python="class_columns=NAMES")


@final
class TableReader(Reader):
    """The rows of a score table."""

    content = "probabilities"
    is_table = True

    def __init__(self, table: Table, names: ColumnNames) -> None:
        self.path = table.path
        self.rows = table.rows
        self._table = table
        names = names.within(table.columns)
        per_example = PER_EXAMPLE | names.given
        classes = _class_places(table, names, set(per_example.values()))
        self._class_places = list(classes)
        self.classes = list(classes.values())
        self._about = _about_places(table, names, per_example, set(self._class_places))
        self.has = frozenset(self._about)
        usual = set() if names.names_classes else self.has - names.given.keys()
        self.taken_by_name = tuple(PER_EXAMPLE[key] for key in sorted(usual))
        label = per_example["labels"]
        near = next((name for name in table.columns if name.casefold() in ("label", "labels")), "NAME")
        self.missing_labels = (
            f"It has no column {label!r}. Its columns: {some(table.columns)}. If one of them holds the labels, "
            f"say {argument('label_column', near)}; if another table does, {argument('labels_file', 'FILE')}."
        )

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores; columns that are not numbers are refused here, once their names are known to fit."""
        return self._table.number_type(self._class_places)

    @property
    def row_bytes(self) -> int:
        """Memory that one row takes, roughly."""
        return self.dtype.itemsize * len(self._class_places) + 8 * len(self._about)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of at most so many rows, with what was asked for about each example."""
        about = {key: self._about[key] for key in sorted(keys)}
        start = self._table.first_row
        # Labels and ids may be one column.
        for count, columns in self._table.batches(rows, list(dict.fromkeys(about.values())), self._class_places):
            for first in range(0, count, rows):
                part = {place: values.slice(first, rows) for place, values in columns.items()}
                texts = {key: self._texts(key, part[place]) for key, place in about.items()}
                scores = self._scores(part, min(rows, count - first))
                yield RawBlock(start, scores, texts)
                start += len(scores)

    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""
        place = self._about["labels"]
        return [
            text
            for _, columns in self._table.batches(1 << 16, [place], [])
            for text in self._texts("labels", columns[place])
        ]

    def _scores(self, part: dict[int, Any], count: int) -> NDArray[Any]:
        """Put the class columns side by side; an empty cell becomes NaN."""
        narrow = self.dtype in (np.float16, np.float32)
        scores = np.empty((len(self._class_places), count), dtype=np.float32 if narrow else np.float64)
        with reading(self.path, "a table"):
            for row, place in enumerate(self._class_places):
                scores[row] = part[place].to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(scores.T)

    def _texts(self, key: str, values: Any) -> list[str]:
        import pyarrow as pa

        if key == "labels" and (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            column = self._table.columns[self._about[key]]
            raise ScoreError(
                f"{self.path}: the column {column!r} must hold names of nodes, not {values.type}. "
                f"{LABELS_AS_NUMBERS}"
            )
        with reading(self.path, "a table"):
            return column_texts(values)


def check_clash(hierarchy: Hierarchy, reader: Reader) -> None:
    """Refuse a table in which a column about the examples, by its usual name, may also be a class."""
    known = set(hierarchy.names.tolist())
    for name in reader.taken_by_name:
        if name in known:
            raise UnknownNameError(
                f"{reader.path} has a column {name!r}, the name of a class and of a column about the examples. "
                f"Say which columns are classes, with {class_columns_argument()} or "
                f"{argument('class_prefix', 'PREFIX')}."
            )


def _class_places(table: Table, names: ColumnNames, per_example: set[str]) -> dict[int, str]:
    """Return the positions of the class columns, and the classes."""
    columns = table.columns
    if names.class_columns is not None:
        wanted = list(names.class_columns)
        absent = [name for name in wanted if name not in set(columns)]
        if absent:
            raise UnknownNameError(
                f"{table.path} has no column {absent[0]!r}, which {class_columns_argument()} lists. Its columns: "
                f"{some(columns)}.{closest(absent[:1], columns)}"
            )
        listed = set(wanted)
        return {i: name for i, name in enumerate(columns) if name in listed}
    if names.class_prefix is not None:
        prefix, given = names.class_prefix, names.given.values()
        found = {
            i: name.removeprefix(prefix)
            for i, name in enumerate(columns)
            if name.startswith(prefix) and name not in given
        }
        if not found:
            raise UnknownNameError(f"{table.path} has no column that begins with {prefix!r}: {some(columns)}.")
        return found
    return {i: name for i, name in enumerate(columns) if name not in per_example}


def _about_places(
    table: Table, names: ColumnNames, per_example: dict[str, str], classes: set[int]
) -> dict[str, int]:
    """Return the positions of the columns about the examples."""
    places = {name: i for i, name in enumerate(table.columns) if i not in classes}
    for key, name in names.required.items():
        if name not in places:
            raise FileError(
                f"{table.path} has no column {name!r} for the {key}. Its columns: "
                f"{some(table.columns)}.{closest([name], table.columns)}"
            )
    found = {key: places[name] for key, name in per_example.items() if name in places}
    count = Counter(table.columns)
    repeated = [per_example[key] for key in found if count[per_example[key]] > 1]
    if repeated:
        raise FileError(f"{table.path} has two columns {repeated[0]!r}. Remove one.")
    return found
