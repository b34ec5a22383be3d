"""The table of examples: what is known of each, in typed columns that are declared once; blocks of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ScoreError, check_each
from hedgerow.likelihood import AnyLikelihoods, Scale, SparseLikelihoods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.tree import Indices, Names


@final
@dataclass(frozen=True)
class Fact:
    """A fact about examples: how it is called in files, and who else needs it."""

    column: str | None = None
    """The default column of a table; None if there is none."""
    option: str | None = None
    """The field of `ScoreReading` that names another column; None if none does."""
    dtype: type[Any] = object
    """The type of its column; object for text."""
    shared: bool = False
    """Whether it is about several examples at once: those of an event agree, and no entry may be blank."""
    least: float = -np.inf
    """The smallest of its numbers, all of which are finite."""
    kept: bool = True
    """Whether an evaluation keeps it."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """What is known of each of some examples: columns of one length, None where something is not known.

    Examples
    --------
    >>> examples = Examples.of(3, ids=["a", "b", "c"], clusters=["x", "x", "y"], margin=[0.5, 0.25, 0.125])
    >>> examples.take([2, 0]).ids.tolist(), examples["margin"].dtype
    (['c', 'a'], dtype('float64'))
    >>> examples
    Examples(3: ids, clusters, margin)
    >>> examples.groups is None
    True
    """

    count: int
    """The number of examples."""
    labels: Indices | None = field(
        default=None, metadata={"fact": Fact("label", "label_column", np.int64, kept=False)}
    )
    """The label of each example, as the index of a node; negative where there is none."""
    ids: Names | None = field(default=None, metadata={"fact": Fact("id", "id_column")})
    groups: Names | None = field(default=None, metadata={"fact": Fact("group", "group_column", shared=True)})
    clusters: Names | None = field(default=None, metadata={"fact": Fact("cluster", "cluster_column", shared=True)})
    """The cluster of each example, such as a burst of photographs."""
    events: Names | None = field(default=None, metadata={"fact": Fact(None, "event_column", kept=False)})
    """The event of each example, as long as the examples of an event are not pooled."""
    weights: NDArray[np.float64] | None = field(
        default=None, metadata={"fact": Fact(None, "weight_column", np.float64, shared=True, least=0, kept=False)}
    )
    """How likely each example is among new data, relative to the calibration data."""
    texts: Names | None = field(default=None, metadata={"fact": Fact("text")})
    images: Names | None = field(default=None, metadata={"fact": Fact("image")})
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns, by name."""

    @classmethod
    def of(cls, count: int, /, **given: Any) -> Examples:
        """Return columns given by a user, with the types of their facts; text may be anything that prints."""
        there = {name: values for name, values in given.items() if values is not None}
        return cls.holding(count, {name: as_column(name, values, count) for name, values in there.items()})

    @classmethod
    def holding(cls, count: int, columns: Mapping[str, NDArray[Any] | None]) -> Examples:
        """Return the table of columns that have their types already; those that are None are left out."""
        there = {name: column for name, column in columns.items() if column is not None}
        return cls(count, **{name: there.pop(name) for name in FACTS if name in there}, more=there)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns that are known, by name."""
        facts = {name: getattr(self, name) for name in FACTS}
        return {name: column for name, column in facts.items() if column is not None} | dict(self.more)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"Examples({self.count:,}: {', '.join(self.columns) or 'nothing is known'})"

    def grouped(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the columns that are called `name:KEY`, by key."""
        found = ((key.partition(":"), column) for key, column in self.more.items())
        return {key: column for (start, _, key), column in found if start == name}

    @property
    def kept(self) -> Examples:
        """What evaluations keep: ids, groups, clusters, texts and images."""
        return Examples.holding(self.count, {name: getattr(self, name) for name in KEPT})

    def take(self, rows: Any) -> Examples:
        """Return some of the examples: a mask, positions or a slice."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Examples.holding(len(np.empty(self.count, dtype=bool)[rows]), columns)

    def join(self, **columns: NDArray[Any] | None) -> Examples:
        """Return the table with more columns, or others in their place; None takes one away."""
        return Examples.holding(self.count, self.columns | columns)

    @classmethod
    def concatenate(cls, parts: Sequence[Examples]) -> Examples:
        """Return the examples of all parts, with the columns that all of them have."""
        filled = [part for part in parts if len(part)] or list(parts[:1])
        if len(filled) == 1:
            return filled[0]
        shared = [name for name in filled[0].columns if all(name in part for part in filled)]
        columns = {name: np.concatenate([part[name] for part in filled]) for name in shared}
        return cls.holding(sum(map(len, filled)), columns)


FACTS: dict[str, Fact] = {each.name: each.metadata["fact"] for each in fields(Examples) if "fact" in each.metadata}
"""The facts about examples, by name. A new one is a field of `Examples`."""
COLUMNS = {name: fact.column for name, fact in FACTS.items() if fact.column is not None}
"""The default column of each fact that has one."""
KEPT = [name for name, fact in FACTS.items() if fact.kept]
"""The facts that evaluations keep."""


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive examples."""

    start: int
    """Row of the first example in the file, counted from 0."""
    likelihoods: AnyLikelihoods
    """Likelihoods of the rows, with their scale."""
    examples: Examples
    """What is known of the examples; `labels`, `ids`, `clusters` and so on are attributes of the block too."""

    @classmethod
    def of(cls, start: int, likelihoods: AnyLikelihoods, **columns: NDArray[Any] | None) -> Block:
        """Return a block with what is known of its examples."""
        return cls(start, likelihoods, Examples.holding(len(likelihoods), columns))

    def __getattr__(self, name: str) -> Any:
        if name not in FACTS:
            raise AttributeError(f"A block has no attribute {name!r}. What is known: {', '.join(FACTS)}.")
        return getattr(self.examples, name)

    @property
    def q(self) -> NDArray[Any]:
        """The likelihoods as an array [rows, nodes], in node order; float32 or float64."""
        given = self.likelihoods
        values: NDArray[Any] = (given.dense() if isinstance(given, SparseLikelihoods) else given).values
        return values

    @property
    def scale(self) -> Scale:
        """The scale of the likelihoods: "probability", "log" or "logit"."""
        return self.likelihoods.scale

    def __len__(self) -> int:
        return len(self.likelihoods)

    def at(self, nodes: Indices) -> NDArray[Any]:
        """Return the likelihood of one node for each example."""
        values: NDArray[Any] = self.likelihoods.at(nodes)
        return values

    def take(self, rows: NDArray[np.bool_]) -> Block:
        """Return the examples that a mask selects."""
        return replace(self, likelihoods=self.likelihoods[rows], examples=self.examples.take(rows))

    def join(self, **columns: NDArray[Any] | None) -> Block:
        """Return the block with more columns, or others in their place: see `Examples.join`."""
        return replace(self, examples=self.examples.join(**columns))

    @classmethod
    def concatenate(cls, parts: Sequence[Block]) -> Block:
        """Return the examples of several blocks as one."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        given: Any = [part.likelihoods for part in parts]
        examples = Examples.concatenate([part.examples for part in parts])
        return cls(parts[0].start, type(given[0]).concatenate(given), examples)


# Columns -----------------------------------------------------------------------------------------------------


def as_column(name: str, given: Any, count: int) -> NDArray[Any]:
    """Return a column given by a user, checked: one entry for each example, of the type of its fact, if any."""
    return typed_column(name, given, count, FACTS.get(name))


def typed_column(name: str, given: Any, count: int, fact: Fact | None = None) -> NDArray[Any]:
    """Return a column of the type of a fact; without one, of numbers, of which some may be missing, or of text."""
    if isinstance(given, str) or not (hasattr(given, "shape") or isinstance(given, Iterable)):
        check_each(name, (), count)
    values = given if hasattr(given, "shape") else list(given)
    check_each(name, tuple(getattr(values, "shape", (len(values),))), count)
    listed = values.tolist() if hasattr(values, "tolist") else values
    if fact is None:
        return _numbers_or_text(values, listed)
    if fact.dtype is not object:
        return _checked_numbers(name, listed, fact)
    if fact.shared:
        _check_filled(name, listed)
    return _as_text(listed)


def as_names(texts: Iterable[str], count: int) -> Names:
    """Return texts as an array of objects."""
    return np.fromiter(texts, dtype=object, count=count)


def _as_text(listed: list[Any]) -> Names:
    return as_names(("" if each is None else str(each) for each in listed), len(listed))


def _numbers_or_text(values: Any, listed: list[Any]) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    known = [each for each in listed if each is not None]
    if not known or not all(isinstance(each, Real) for each in known):
        return _as_text(listed)
    return np.array(listed if len(known) == len(listed) else [np.nan if each is None else each for each in listed])


def _checked_numbers(name: str, listed: list[Any], fact: Fact) -> NDArray[Any]:
    try:
        numbers: NDArray[Any] = np.array(listed, dtype=fact.dtype)
        if fact.dtype is np.int64 and not np.array_equal(numbers, listed):
            raise ValueError("these are no whole numbers")
    except (TypeError, ValueError):
        raise ScoreError(f"{name} needs one number per example, not {listed!r:.80}.") from None
    if (bad := ~((numbers >= fact.least) & (numbers < np.inf))).any():
        row = int(np.argmax(bad))
        raise ScoreError(
            f"{name} must be finite and {fact.least:g} or more; that of example {row:,} is {numbers[row]:g}."
        )
    return numbers


def _check_filled(name: str, values: Sequence[Any]) -> None:
    """Raise an error if an entry is blank."""
    blank = [i for i, value in enumerate(values) if value is None or value != value or not str(value).strip()]
    if blank:
        raise ScoreError(
            f"{name} is blank for {len(blank):,} of {len(values):,} examples, the first in row {blank[0]:,} "
            f"(counted from 0). Give every example an entry: one of its own if it belongs with no other."
        )
