"""How trees and score files are to be read: groups of options, which verbs take as one parameter."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final, get_args, get_type_hints

import typer

from hedgerow.cli.settings import GivenSettings
from hedgerow.errors import as_options, options
from hedgerow.files import read_lines
from hedgerow.score_files import FORMATS as SCORE_FORMATS
from hedgerow.score_files import WIDE, column_names
from hedgerow.tree import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.tree import Hierarchy


class Columns(StrEnum):
    """What the columns of a wide table are, if that is not clear from their names."""

    own = "own"


@final
@dataclass(frozen=True)
class TreeReading:
    """How a tree file is to be read: the options of every verb that reads one; see `grouped_options`."""

    panel: ClassVar[str] = "How the tree is read"
    tree_format: Annotated[
        str | None,
        typer.Option(
            "--tree-format",
            metavar="FORMAT",
            help=f"Format of the tree: {', '.join(FORMATS)}. By default the extension decides (.csv, .tsv: "
            "edges).",
            show_default=False,
        ),
    ] = None
    root: Annotated[
        str,
        typer.Option(
            "--root",
            metavar="NAME",
            help="Name of the root that is added if several nodes have no parent; not for edge lists.",
        ),
    ] = "root"
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="TEXT",
            help="What separates the names in a path; by default / or ;, whichever is found.",
            show_default=False,
        ),
    ] = None
    disambiguate: Annotated[
        bool,
        typer.Option("--disambiguate", help="In lineages or paths, call classes that share a name 'parent/name'."),
    ] = False
    na: Annotated[
        list[str] | None,
        typer.Option(
            "--na",
            metavar="TEXT",
            help="Text that marks a blank cell in lineages, such as NA; may be repeated.",
            show_default=False,
        ),
    ] = None
    prefixes: Annotated[
        str | None,
        typer.Option(
            "--prefixes",
            metavar="A,B,...|dots",
            help="Lengths of the prefixes of codes that are levels, such as 2,4,6; or dots.",
            show_default=False,
        ),
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `Hierarchy.read`."""
        given = {"format": self.tree_format} | vars(self) | {"na": tuple(self.na or ())}
        del given["tree_format"]
        return given

    def file(self, path: Path | None) -> TreeFile | None:
        """Return the tree in a file, or None if none is given."""
        return None if path is None else TreeFile(path, self)


@final
@dataclass(frozen=True)
class TreeFile:
    """A tree as the options describe it."""

    path: Path
    reading: TreeReading

    def read(self) -> Hierarchy:
        """Read the tree; error messages name options."""
        from hedgerow.tree import Hierarchy

        with as_options():
            return Hierarchy.read(self.path, **self.reading.keywords)

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that describe this tree."""
        return ["--tree", str(self.path), *options(**self.reading.keywords)]


@final
@dataclass(frozen=True)
class ScoreReading:
    """How score files are to be read: the options of every verb that reads them; see `grouped_options`."""

    panel: ClassVar[str] = "How the scores are read"
    logits: Annotated[
        bool, typer.Option("--logits", help="The scores are logits of the leaves, not probabilities.")
    ] = False
    renormalise: Annotated[
        bool,
        typer.Option("--renormalise", help="Divide each row by its sum: for rounded numbers, percentages, votes."),
    ] = False
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column", metavar="NAME", help="The column that holds the labels.", show_default="label"
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", metavar="NAME", help="The column that holds the ids.", show_default="id"),
    ] = None
    class_columns: Annotated[
        str | None,
        typer.Option(
            "--class-columns",
            metavar="FILE|A,B,...",
            help="The columns of a table that are classes: names, or a file with one name a line.",
            show_default="all others",
        ),
    ] = None
    class_prefix: Annotated[
        str | None,
        typer.Option(
            "--class-prefix",
            metavar="PREFIX",
            help="What the names of class columns begin with, in front of the class.",
            show_default=False,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="SIGN",
            help="What separates the columns of a table, such as ';' or tab.",
            show_default="a comma; in .tsv files a tab",
        ),
    ] = None
    scores_format: Annotated[
        str,
        typer.Option(
            "--scores-format",
            metavar="FORMAT",
            help=f"Format of the scores: {', '.join((WIDE, *SCORE_FORMATS))}; auto: by extension and header.",
        ),
    ] = "auto"
    labels_file: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Labels to join by id: a table with columns id and label, or id and a lineage.",
            show_default=False,
        ),
    ] = None
    outside: Annotated[
        list[str] | None,
        typer.Option(
            "--outside",
            metavar="NAME",
            help="A class that is not in the tree, such as blank; may be repeated. In lists of classes, '*': any.",
            show_default=False,
        ),
    ] = None
    columns: Annotated[
        Columns | None,
        typer.Option(
            "--columns",
            help="Columns of a wide table are classes at any depth, each with the probability of the class "
            "itself.",
            show_default=False,
        ),
    ] = None
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="FILE|NAME",
            help="The classes that are possible: a clade, or a file with one name a line; others are dropped.",
            show_default=False,
        ),
    ] = None
    votes: Annotated[
        bool, typer.Option("--votes", help="The scores are numbers of votes, which become shares.")
    ] = False
    group_column: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN",
            help="The column of groups that are known of every example; an operating point may differ by group.",
            show_default=False,
        ),
    ] = None
    cluster_column: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="COLUMN",
            help="The column that says which examples belong together: a burst, a sample, a site.",
            show_default=False,
        ),
    ] = None
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="PACKAGE.MODULE:NAME",
            help="A model or method of your own that a training run names and may import; may be repeated.",
            show_default=False,
        ),
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `open_scores`."""
        given = {name: value for name, value in vars(self).items() if name != "trust"}
        classes = self.class_columns
        return given | {
            "class_columns": None if classes is None else _listed(classes) or classes.split(","),
            "outside": tuple(self.outside or ()),
            "only": None if self.only is None else _listed(self.only) or [self.only],
        }

    @property
    def files(self) -> list[Path]:
        """The files that these options name, which outputs must not overwrite."""
        named = [self.labels_file, self.only, self.class_columns]
        return [Path(name) for name in named if name is not None and Path(name).is_file()]

    def unlabelled(self, scores: Sequence[Path]) -> ScoreReading:
        """Return how to read files like these without labels; a file of labels may have columns of its own."""
        plain = replace(self, labels_file=None, group_column=None, cluster_column=None)
        if self.labels_file is None:
            return plain
        there = not scores or self.id_column in column_names(str(scores[0]), self.delimiter)
        return replace(plain, label_column=None, id_column=self.id_column if there else None)

    @property
    def arguments(self) -> list[str]:
        """What to write on the command line to read score files this way again."""
        written = {
            "outside": tuple(self.outside or ()),
            "trust": tuple(self.trust or ()),
            "labels_file": None if self.labels_file is None else str(self.labels_file),
        }
        return options(**vars(self) | written)


def grouped_options(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb the options of its parameters of type `TreeReading`, `ScoreReading`, `GivenSettings`.

    Parameters
    ----------
    without
        Fields that the verb does not take as options.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(verb, include_extras=True)
        own, groups = [], {}
        for name, given in inspect.signature(verb).parameters.items():
            if hints[name] in (TreeReading, ScoreReading, GivenSettings):
                groups[name] = hints[name], _fields(hints[name], without)
            else:
                own.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))

        @wraps(verb)
        def command(**given: Any) -> None:
            made = {
                name: kind(**{option.name: given.pop(option.name) for option in shared})
                for name, (kind, shared) in groups.items()
            }
            verb(**given, **made)

        signature = inspect.Signature([*own, *(option for _, shared in groups.values() for option in shared)])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {name: given.annotation for name, given in signature.parameters.items()}
        return command

    return decorate


def _fields(group: Any, without: Sequence[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        get_args(hints[field.name])[1].rich_help_panel = group.panel
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
        if field.name not in without
    ]


def _listed(given: str) -> list[str]:
    """Return the names in a file, one a line; nothing if it is not a file."""
    if not Path(given).is_file():
        return []
    return [line.strip() for line in read_lines(given) if line.strip()]
