"""How score files are read: the options, and the base class of the readers."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final, get_args

from hedgerow.errors import FileError, ParameterError, ScoreError, argument, closest, in_python, options, some
from hedgerow.files import InputFile, read_lines
from hedgerow.likelihood import Pooling
from hedgerow.score_files.examples import FACTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_FILES = ("labels_file", "prior", "trained_prior")


def _option(help: str, default: Any = None, **more: Any) -> Any:  # noqa: A002
    return field(default=default, metadata={"help": help, **more})


@final
@dataclass(frozen=True)
class ScoreReading:
    """How to read a score file; see `open_scores`.

    Each field is also an option of the command, with the same help.

    Examples
    --------
    >>> ScoreReading(logits=True, outside=("blank",)).arguments
    ['--logits', '--outside', 'blank']
    """

    panel: ClassVar[str] = "How the scores are read"

    scores_format: str = _option(
        "Format of the scores: {formats}; auto: by extension and header.", "auto", metavar="FORMAT"
    )
    logits: bool = _option("The scores are logits of the leaves, not probabilities.", False)
    renormalise: bool = _option("Divide each row by its sum: for rounded numbers, percentages, votes.", False)
    votes: bool = _option("The scores are numbers of votes, which become shares.", False)
    independent: bool = _option(
        "Each score is the probability of its class alone, as of a sigmoid; a clade takes the largest below it.",
        False,
    )
    columns: Literal["own"] | None = _option(
        "Columns of a wide table are classes at any depth, each with the probability of the class itself.",
        metavar="own",
    )
    outside: Sequence[str] = _option(
        "A class that is not in the tree, such as blank; may be repeated. In lists of classes, '*': any.",
        (),
        metavar="NAME",
    )
    only: str | Sequence[str] | None = _option(
        "The classes that are possible: a clade, or a file with one name on each line; others are dropped.",
        metavar="FILE|NAME",
    )
    labels_file: str | os.PathLike[str] | None = _option(  # noqa: RUF009
        "Labels to join by id: a table with columns id and label, or id and a lineage.",
        metavar="FILE",
    )
    label_column: str | None = _option("The column that holds the labels.", metavar="NAME", shown="label")
    drop_label: Sequence[str] = _option(
        "A label that means that it is not known, such as ?; its examples are left out. May be repeated.",
        (),
        metavar="TEXT",
    )
    id_column: str | None = _option("The column that holds the ids.", metavar="NAME", shown="id")
    group_column: str | None = _option(
        "The column of groups, which are known for every example; an operating point may differ by group.",
        metavar="COLUMN",
    )
    cluster_column: str | None = _option(
        "The column of clusters of related examples: bursts, samples, sites.",
        metavar="COLUMN",
    )
    event_column: str | None = _option(
        "The column of events, such as bursts: the likelihoods of an event are pooled, and events are the "
        "examples.",
        metavar="COLUMN",
    )
    pool: Pooling | None = _option(  # noqa: RUF009
        f"With --events, how likelihoods are pooled: {', '.join(get_args(Pooling))}.", metavar="HOW", shown="mean"
    )
    prior: str | os.PathLike[str] | None = _option(  # noqa: RUF009
        "What lives there: a table of class, and optionally prior and group (then --groups says which rows "
        "count).",
        metavar="FILE",
    )
    trained_prior: str | os.PathLike[str] | None = _option(  # noqa: RUF009
        "With --prior, how often classes occurred in training: a table of class and prior.",
        metavar="FILE",
        shown="each leaf equally often",
    )
    weight_column: str | None = _option(
        "The column of weights: how likely each example is among new data, relative to the calibration data.",
        metavar="COLUMN",
    )
    class_columns: str | Sequence[str] | None = _option(
        "The columns of a table that are classes: names, or a file with one name on each line.",
        metavar="FILE|A,B,...",
        shown="all others",
    )
    class_prefix: str | None = _option("Prefix of the names of class columns, to be removed.", metavar="PREFIX")
    delimiter: str | None = _option(
        "What separates the columns of a table, such as ';' or tab.",
        metavar="SIGN",
        shown="a comma; in .tsv files a tab",
    )

    decimal: str = _option(
        "The decimal point of a table: a comma in many spreadsheets.", ".", metavar="SIGN", shown="."
    )

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        for name in ("outside", "drop_label"):
            given: Any = getattr(self, name)
            if isinstance(given, str):
                raise ParameterError(f"{name} must be a list of names, not the text {given!r}.")
            object.__setattr__(self, name, tuple(given))
        if self.decimal not in (".", ","):
            raise ParameterError(f"decimal must be '.' or ',', not {self.decimal!r}.")
        if self.columns not in (None, "own"):
            raise ParameterError(f"columns must be 'own' or left out, not {self.columns!r}.")
        for name, of in (("pool", "event_column"), ("trained_prior", "prior")):
            if getattr(self, name) is not None and getattr(self, of) is None:
                raise ParameterError(
                    f"{argument(name, 'X')} goes with {argument(of, 'X')}: give both, or leave it out."
                )
        if self.pool is not None and self.pool not in get_args(Pooling):
            raise ParameterError(f"pool must be {', '.join(get_args(Pooling))}, not {self.pool!r}.")
        if self.class_columns is not None and self.class_prefix is not None:
            raise ParameterError(
                f"Give the class columns ({class_columns_argument()}) or the prefix that they share "
                f"({argument('class_prefix', 'PREFIX')}), not both."
            )
        named = () if isinstance(self.class_columns, str) else self.class_columns or ()
        if both := set(named) & set(self.named_columns.values()):
            raise ParameterError(f"The column {min(both)!r} cannot be a class and hold labels or ids.")

    @property
    def named_columns(self) -> dict[str, str]:
        """The columns about the examples that are named, by fact."""
        named = {name: getattr(self, fact.option) for name, fact in FACTS.items() if fact.option}
        return {name: column for name, column in named.items() if column is not None}

    @property
    def pooling(self) -> Pooling | None:
        """How the likelihoods of events are pooled; None if there are no events."""
        return None if self.event_column is None else self.pool or "mean"

    def file(self, path: str | os.PathLike[str], row_groups: range | None = None) -> InputFile:
        """Return a file that is read this way."""
        return InputFile(path, self.delimiter, self.decimal, row_groups=row_groups)

    def within(self, columns: Sequence[str], elsewhere: frozenset[str]) -> ScoreReading:
        """Return the reading for a file with these columns; the id column may be that of the label file alone."""
        alone = "ids" in elsewhere and self.id_column not in columns
        return replace(self, id_column=None) if alone else self

    @property
    def names_classes(self) -> bool:
        """Whether the class columns are named."""
        return self.class_columns is not None or self.class_prefix is not None

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that read score files this way."""
        listed = {
            name: value if value is None or isinstance(value, str) else ",".join(value)
            for name, value in (("only", self.only), ("class_columns", self.class_columns))
        }
        files = {name: None if (path := getattr(self, name)) is None else os.fspath(path) for name in _FILES}
        return options(**vars(self) | listed | files)

    @property
    def files(self) -> list[Path]:
        """The files named here, which no output may overwrite."""
        named = [*(getattr(self, name) for name in _FILES), self.only, self.class_columns]
        return [Path(name) for name in named if isinstance(name, str | os.PathLike) and Path(name).is_file()]

    def resolved(self) -> ScoreReading:
        """Return a reading with lists of names instead of files or comma-separated names."""
        classes, only = self.class_columns, self.only
        if isinstance(classes, str):
            classes = _lines(classes) if Path(classes).is_file() else tuple(classes.split(","))
        if isinstance(only, str):
            only = _lines(only) if Path(only).is_file() else (only,)
        return replace(self, class_columns=classes, only=only)

    def single_examples(self) -> ScoreReading:
        """Return how to read the examples alone, as the model gave them, with their labels."""
        plain = replace(self, group_column=None, cluster_column=None, event_column=None, weight_column=None)
        return replace(plain, pool=None, prior=None, trained_prior=None)

    def unlabelled(self, file: InputFile | None) -> ScoreReading:
        """Return how to read new files like this one, without labels, groups and clusters.

        Events, priors and weights remain; so do groups, with a prior.
        """
        groups = None if self.prior is None else self.group_column
        plain = replace(self, labels_file=None, drop_label=(), group_column=groups, cluster_column=None)
        if self.labels_file is None:
            return plain
        columns = [] if file is None or self.id_column is None else file.columns
        has_ids = not columns or self.id_column in columns
        return replace(plain, label_column=None, id_column=self.id_column if has_ids else None)


class ScoreReader(ABC):
    """An open score file: its content is known, its rows have not been read."""

    path: str
    rows: int | None = None
    """Number of examples, if the file states it."""
    has: frozenset[str] = frozenset({"ids"})
    """The facts that the file has about each example: names in `FACTS`."""

    @property
    def missing_labels(self) -> str:
        """The remedy if labels are needed and missing."""
        return f"Give a table of them, with columns 'id' and 'label': {argument('labels_file', 'FILE')}."

    def require_labels(self) -> None:
        """Raise an error if the file has no labels."""
        if "labels" not in self.has:
            without = in_python(" To read scores without labels, use open_scores(..., labels=False).")
            raise ScoreError(f"{self.path} needs labels for this. {self.missing_labels}{without}")

    @abstractmethod
    def rows_at_a_time(self, nodes: int) -> int:
        """Return how many rows to read at a time for a tree with this number of nodes."""

    @abstractmethod
    def read(self, rows: int, keys: frozenset[str]) -> Iterator[Any]:
        """Yield raw blocks of about `rows` rows, with the texts of the requested keys."""


def class_columns_argument() -> str:
    """Write the argument that names the class columns."""
    return argument("class_columns", "FILE", python="class_columns=NAMES")


def about_columns(
    path: str,
    columns: Sequence[str],
    reading: ScoreReading,
    usual: dict[str, str],
    elsewhere: frozenset[str] = frozenset(),
    *,
    classes: Collection[int] = (),
    what: str = "column",
) -> dict[str, str]:
    """Return the columns of a file that are about its examples, by fact.

    Parameters
    ----------
    path, columns
        The file, and its columns.
    reading
        Names of columns. A missing label column is no error here: labels may not be needed.
    usual
        The default names of columns.
    elsewhere
        Keys of columns that the label file has, so that they need not be here.
    classes
        The positions of columns that are classes.
    what
        What to call a column in messages.
    """
    count = Counter(name for place, name in enumerate(columns) if place not in classes)
    found = {}
    for key, given in (usual | reading.named_columns).items():
        name = given if given in count else next((name for name in count if name.strip() == given), given)
        if count[name] > 1:
            raise FileError(f"{path} has two {what}s {name!r}. Remove one.")
        if name in count:
            found[key] = name
        elif key in reading.named_columns and key not in ("labels", *elsewhere):
            raise FileError(
                f"{path} has no {what} {name!r} for the {key}. Its {what}s: {some(columns)}."
                f"{closest([name], columns)}"
            )
    return found


def _lines(path: str) -> tuple[str, ...]:
    """Return the names in a file, one on each line."""
    names = tuple(line.strip() for line in read_lines(path) if line.strip())
    if not names:
        raise FileError(f"{path} holds no names; it needs one on each line.")
    return names
