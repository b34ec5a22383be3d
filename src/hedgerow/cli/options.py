"""Options that several verbs have, one by one and in groups."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final, get_args, get_type_hints

import typer

from hedgerow.errors import as_options, options
from hedgerow.files import read_text
from hedgerow.score_files import FORMATS as SCORE_FORMATS
from hedgerow.score_files import WIDE
from hedgerow.tree import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.tree import Hierarchy

_INTERRUPTED = 130  # as shells count it
_ENOUGH = 50_000  # examples for one number

TreeFormatOption = Annotated[
    str | None,
    typer.Option(
        "--tree-format",
        metavar="FORMAT",
        help=f"Format of the tree: {', '.join(FORMATS)}. By default the extension decides (.csv, .tsv: edges).",
        show_default=False,
    ),
]
RootOption = Annotated[
    str,
    typer.Option(
        "--root",
        metavar="NAME",
        help="Name of the root that is added if several nodes have no parent; not for edge lists.",
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="TEXT",
        help="What separates the names in a path; by default / or ;, whichever is found.",
        show_default=False,
    ),
]
DisambiguateOption = Annotated[
    bool,
    typer.Option("--disambiguate", help="In lineages or paths, call classes that share a name 'parent/name'."),
]
NaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="Text that marks a blank cell in lineages, such as NA; may be repeated.",
        show_default=False,
    ),
]
PrefixesOption = Annotated[
    str | None,
    typer.Option(
        "--prefixes",
        metavar="A,B,...|dots",
        help="Lengths of the prefixes of codes that are levels, such as 2,4,6; or dots.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the findings to FILE as JSON.", show_default=False),
]
ScoresArgument = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES",
        help="The scores (.npz, .csv, .tsv, .parquet, or what a tool wrote), or a training run.",
        show_default=False,
    ),
]
PartsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCORES...",
        help="The scores (.npz, .csv, .tsv, .parquet, or what a tool wrote), or a training run; several files, or "
        "a pattern in quotes, such as 'scores/*.parquet', are one data set in parts.",
        show_default=False,
    ),
]
TreeOption = Annotated[
    Path | None,
    typer.Option("--tree", metavar="TREE", help="The tree; a training run has its own.", show_default=False),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="New data for the model of a training run: a feature file, or a folder of images.",
        show_default=False,
    ),
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="PACKAGE.MODULE:NAME",
        help="A model or method of your own that a training run names and may import; may be repeated.",
        show_default=False,
    ),
]
LogitsOption = Annotated[
    bool, typer.Option("--logits", help="The scores are logits of the leaves, not probabilities.")
]
RenormaliseOption = Annotated[
    bool,
    typer.Option("--renormalise", help="Divide each row by its sum: for rounded numbers, percentages, votes."),
]
LabelColumnOption = Annotated[
    str | None,
    typer.Option("--label-column", metavar="NAME", help="The column that holds the labels.", show_default="label"),
]
IdColumnOption = Annotated[
    str | None,
    typer.Option("--id-column", metavar="NAME", help="The column that holds the ids.", show_default="id"),
]
ClassColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--class-columns",
        metavar="FILE|A,B,...",
        help="The columns of a table that are classes: names, or a file with one name a line.",
        show_default="all others",
    ),
]
ClassPrefixOption = Annotated[
    str | None,
    typer.Option(
        "--class-prefix",
        metavar="PREFIX",
        help="What the names of class columns begin with, in front of the class.",
        show_default=False,
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="SIGN",
        help="What separates the columns of a table, such as ';' or tab.",
        show_default="a comma; in .tsv files a tab",
    ),
]
TemperatureOption = Annotated[
    str | None,
    typer.Option(
        "--temperature",
        metavar="X|FILE",
        help="Divide the scores by X; or by what explains the labels of other held-out scores, in FILE, best.",
        show_default=False,
    ),
]
FigureOption = Annotated[
    Path | None,
    typer.Option(
        "--figure", metavar="FILE", help="Draw the curves to FILE: .png, .pdf or .svg.", show_default=False
    ),
]
RulesOption = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="RULE,...",
        help="Single rules to mark in the figure: leaf, majority, plurality, expected-information; or none.",
        show_default="majority,leaf",
    ),
]


ScoresFormatOption = Annotated[
    str,
    typer.Option(
        "--scores-format",
        metavar="FORMAT",
        help=f"Format of the scores: {', '.join((WIDE, *SCORE_FORMATS))}; auto: by extension and header.",
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="Labels to join by id: a table with columns id and label, or id and a lineage.",
        show_default=False,
    ),
]
OutsideOption = Annotated[
    list[str] | None,
    typer.Option(
        "--outside",
        metavar="NAME",
        help="A class that is not in the tree, such as blank; may be repeated. In lists of classes, '*': any.",
        show_default=False,
    ),
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="FILE|NAME",
        help="The classes that are possible: a clade, or a file with one name a line; others are dropped.",
        show_default=False,
    ),
]
VotesOption = Annotated[
    bool, typer.Option("--votes", help="The scores are numbers of votes, which become shares.")
]


GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="The column of groups that are known of every example; an operating point may differ by group.",
        show_default=False,
    ),
]
ClustersOption = Annotated[
    str | None,
    typer.Option(
        "--clusters",
        metavar="COLUMN",
        help="The column that says which examples belong together: a burst, a sample, a site.",
        show_default=False,
    ),
]
ImagesOption = Annotated[
    Path | None,
    typer.Option(
        "--images",
        metavar="DIR",
        help="The folder of the images that the scores name; only images inside it are shown.",
        show_default=False,
    ),
]


class Columns(StrEnum):
    """What the columns of a wide table are, if that is not clear from their names."""

    own = "own"


class SingleChild(StrEnum):
    """What a node with one child is."""

    skip = "skip"
    answer = "answer"


ColumnsOption = Annotated[
    Columns | None,
    typer.Option(
        "--columns",
        help="Columns of a wide table are classes at any depth, each with the probability of the class itself.",
        show_default=False,
    ),
]
SingleChildOption = Annotated[
    SingleChild | None,
    typer.Option(
        "--single-child",
        help="Whether a node with one child is an answer of its own.",
        show_default="skip; answer for sintax, rdp, qiime2, speciesnet, pybioclip",
    ),
]


class Information(StrEnum):
    """Measures of specificity."""

    leaves = "leaves"
    depth = "depth"


class BelowLabel(StrEnum):
    """What an answer below its label counts as."""

    label = "label"
    wrong = "wrong"


_INFORMATION = "How to measure specificity: by the leaves a node rules out, in bits, or by its depth."
_BELOW_LABEL = "What an answer below its label counts as; use 'wrong' for labels that mean \"none of these\"."
InformationOption = Annotated[Information, typer.Option(help=_INFORMATION)]
BelowLabelOption = Annotated[BelowLabel, typer.Option(help=_BELOW_LABEL)]
# For verbs that also take evaluation folders, which have recorded their own choice.
InformationOfFilesOption = Annotated[Information | None, typer.Option(help=_INFORMATION, show_default="leaves")]
BelowLabelOfFilesOption = Annotated[BelowLabel | None, typer.Option(help=_BELOW_LABEL, show_default="label")]


@final
@dataclass(frozen=True)
class TreeReading:
    """How a tree file is to be read: the options of every verb that reads one; see `grouped_options`."""

    panel: ClassVar[str] = "How the tree is read"
    tree_format: TreeFormatOption = None
    root: RootOption = "root"
    separator: SeparatorOption = None
    disambiguate: DisambiguateOption = False
    na: NaOption = None
    prefixes: PrefixesOption = None

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
    logits: LogitsOption = False
    renormalise: RenormaliseOption = False
    label_column: LabelColumnOption = None
    id_column: IdColumnOption = None
    class_columns: ClassColumnsOption = None
    class_prefix: ClassPrefixOption = None
    delimiter: DelimiterOption = None
    scores_format: ScoresFormatOption = "auto"
    labels_file: LabelsOption = None
    outside: OutsideOption = None
    columns: ColumnsOption = None
    only: OnlyOption = None
    votes: VotesOption = False
    single_child: SingleChildOption = None
    group_column: GroupsOption = None
    cluster_column: ClustersOption = None
    trust: TrustOption = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `open_scores`."""
        given = {name: value for name, value in vars(self).items() if name != "trust"}
        return given | {
            "class_columns": class_columns(self.class_columns),
            "outside": tuple(self.outside or ()),
            "only": None if self.only is None else _listed(self.only) or [self.only],
            "single_child": self.single_child and self.single_child.value,
        }

    @property
    def files(self) -> list[Path]:
        """The files that these options name, which outputs must not overwrite."""
        named = [self.labels_file, self.only, self.class_columns]
        return [Path(name) for name in named if name is not None and Path(name).is_file()]

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
    """Give a verb the options of its parameters of type `TreeReading` and `ScoreReading`: one for each field.

    Parameters
    ----------
    without
        Fields that the verb does not take as options.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(verb, include_extras=True)
        own, groups = [], {}
        for name, given in inspect.signature(verb).parameters.items():
            if hints[name] in (TreeReading, ScoreReading):
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


def _fields(group: type[TreeReading | ScoreReading], without: Sequence[str]) -> list[inspect.Parameter]:
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


def class_columns(given: str | None) -> list[str] | None:
    """Return the names that --class-columns gives, or that the file has."""
    return None if given is None else _listed(given) or given.split(",")


def _listed(given: str) -> list[str]:
    """Return the names in a file, one a line; nothing if it is not a file."""
    if not Path(given).is_file():
        return []
    return [line.strip() for line in read_text(given).splitlines() if line.strip()]
