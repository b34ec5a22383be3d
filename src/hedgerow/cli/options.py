"""What the verbs share: options, progress bars, output files."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final, get_type_hints

import numpy as np
import typer
from rich.console import Console

from hedgerow.errors import FileError, ParameterError, as_options, options
from hedgerow.files import atomic_write, is_pattern, is_remote, is_special, read_text, try_file, try_folder
from hedgerow.score_files import FORMATS as SCORE_FORMATS
from hedgerow.score_files import WIDE
from hedgerow.tree import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hedgerow.measure import Evaluation
    from hedgerow.score_files import Block, Scores
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
class TreeFile:
    """A tree as the options describe it."""

    path: Path
    format: str | None = None
    root: str = "root"
    separator: str | None = None
    disambiguate: bool = False
    na: tuple[str, ...] = ()
    prefixes: str | None = None

    @classmethod
    def given(
        cls,
        path: Path | None,
        tree_format: str | None,
        root: str,
        separator: str | None,
        disambiguate: bool,
        na: Sequence[str] | None,
    ) -> TreeFile | None:
        """Return the tree, or None if none is given."""
        return None if path is None else cls(path, tree_format, root, separator, disambiguate, tuple(na or ()))

    @property
    def reading(self) -> dict[str, Any]:
        """The arguments of `Hierarchy.read`, except the path."""
        return {name: value for name, value in vars(self).items() if name != "path"}

    def read(self) -> Hierarchy:
        """Read the tree; error messages name options."""
        from hedgerow.tree import Hierarchy

        with as_options():
            return Hierarchy.read(self.path, **self.reading)

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that describe this tree."""
        return ["--tree", str(self.path), *options(**self.reading)]


@final
@dataclass(frozen=True)
class ScoreReading:
    """How score files are to be read: the options of every verb that reads them; see `reads_scores`."""

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


def reads_scores(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb the options of `ScoreReading`: its parameter `reading` becomes one option per field.

    Parameters
    ----------
    without
        Fields that the verb does not take as options.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(ScoreReading, include_extras=True)
        shared = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(ScoreReading)
            if field.name not in without
        ]
        own = get_type_hints(verb, include_extras=True)
        others = [
            given.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own[name])
            for name, given in inspect.signature(verb).parameters.items()
            if name != "reading"
        ]

        @wraps(verb)
        def command(**given: Any) -> None:
            reading = ScoreReading(**{option.name: given.pop(option.name) for option in shared})
            verb(reading=reading, **given)

        signature = inspect.Signature([*others, *shared])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {name: given.annotation for name, given in signature.parameters.items()}
        return command

    return decorate


def class_columns(given: str | None) -> list[str] | None:
    """Return the names that --class-columns gives, or that the file has."""
    return None if given is None else _listed(given) or given.split(",")


def _listed(given: str) -> list[str]:
    """Return the names in a file, one a line; nothing if it is not a file."""
    if not Path(given).is_file():
        return []
    return [line.strip() for line in read_text(given).splitlines() if line.strip()]


@final
class Output(Console):
    """Where findings are printed. If the reader stops early, as with `| head`, files are still written."""

    def on_broken_pipe(self) -> None:
        """Discard the rest of the output."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_json(path: Path, data: Any) -> None:
    """Write the findings of a verb as JSON."""
    with atomic_write(path) as file:
        json.dump(data, file, ensure_ascii=False, indent=2)
        file.write("\n")


def open_any_scores(
    path: Path,
    tree: TreeFile | None,
    data: Path | None,
    reading: ScoreReading,
    *,
    labels: bool,
) -> Scores:
    """Open a score file with its tree; or the model of a training run with new data, or its test data."""
    from hedgerow.score_files import open_scores

    if is_run(path):
        from hedgerow.learn.training.new_data import RunScores
        from hedgerow.learn.training.run_folder import RunFolder

        if tree is not None:
            raise ParameterError(f"{path} is a training run, which has its own tree: leave out --tree.")
        refused = replace(reading, single_child=None, trust=None).arguments
        if refused:
            raise ParameterError(f"{path} is a training run, not a table: leave out {refused[0]}.")
        run = RunFolder(path, tuple(reading.trust or ()))
        if data is not None:
            return RunScores(run, data, labels=labels, single_child=reading.keywords["single_child"] or "skip")
        run.metrics()  # an error if the run is not finished
        run.check_digests()
        return open_scores(
            run.scores, run.hierarchy(), labels=labels, single_child=reading.keywords["single_child"]
        )
    if not path.exists():
        raise FileError(f"{path} does not exist. Give a score file, or the folder of a training run.")
    if reading.trust:
        raise ParameterError(f"--trust is for training runs, and {path} is not one: leave it out.")
    if data is not None:
        raise ParameterError(
            f"--data needs the folder of a training run, and {path} is not one. Give such a folder, or leave out "
            f"--data."
        )
    if tree is None:
        raise ParameterError(f"{path} is a score file, which needs a tree: give --tree TREE.")
    return open_scores(path, tree.read(), labels=labels, **reading.keywords)


def any_evaluation(
    path: Path, hierarchy: Hierarchy | None, reading: ScoreReading, options: Mapping[str, Any]
) -> Evaluation:
    """Read an evaluation folder; or evaluate a score file with a tree, or the test data of a training run.

    Parameters
    ----------
    path
        The folder or file.
    hierarchy, reading
        For score files: the tree, and how to read them.
    options
        Keywords of `evaluate`; a folder must have been evaluated with the same.
    """
    from hedgerow.measure import evaluate, read_or_evaluate

    if not is_run(path):
        return read_or_evaluate(path, hierarchy, reading=reading.keywords, progress=bar, **options)
    opened = open_any_scores(path, None, None, ScoreReading(trust=reading.trust), labels=True)
    return evaluate(opened.hierarchy, opened, name=name_of(path), progress=bar, **options)


def check_page(path: Path) -> None:
    """Refuse a page that is not to be an HTML file, or that cannot be made, before a long computation."""
    from hedgerow.show import require_report

    if path.suffix.lower() not in (".html", ".htm") and not is_special(path):
        raise ParameterError(f"{path}: a page is written as .html.")
    require_report()


def command_line() -> str:
    """Return the command as it was given, for the pages that it makes."""
    return shlex.join(["hedgerow", *sys.argv[1:]])


def named_file(given: str | None) -> list[Path]:
    """Return the file that an option names, if it names one."""
    return [Path(given)] if given is not None and Path(given).is_file() else []


def with_temperature(
    scores: Scores, given: str | None, tree: TreeFile | None, reading: ScoreReading
) -> tuple[Scores, float]:
    """Return scores divided by the temperature that --temperature gives, or that fits other scores, and it."""
    from hedgerow.likelihood import Likelihoods, fit_to_likelihoods
    from hedgerow.score_files import TemperedScores

    if given is None:
        return scores, 1.0
    try:
        temperature = float(given)
    except ValueError:
        held_out = open_any_scores(Path(given), tree, None, reading, labels=True)
        parts = [(block.likelihoods, block.labels) for block in _first_blocks(held_out)]
        if not isinstance(parts[0][0], Likelihoods):
            raise ParameterError(
                f"A temperature needs the scores of all classes, and {given} lists only a few."
            ) from None
        values = np.concatenate([np.asarray(q) for q, _ in parts])
        labels = np.concatenate([labels for _, labels in parts if labels is not None])
        fitted = fit_to_likelihoods(Likelihoods.of(held_out.hierarchy, values, parts[0][0].scale), labels)
        # In a few digits, so that it can be given again.
        temperature = float(f"{fitted.value:.4g}")
        losses = f"its mean loss falls from {fitted.before:.4g} to {fitted.after:.4g}"
        typer.echo(f"The temperature {temperature:g} explains {given} best: {losses}.", err=True)
    return TemperedScores(scores, temperature), temperature


def _first_blocks(scores: Scores) -> Iterator[Block]:
    """Yield blocks of scores until there are enough for a temperature."""
    rows = 0
    for block in scores:
        yield block
        rows += len(block)
        if rows >= _ENOUGH:
            return


def usual_single_child(files: Sequence[Path], reading: ScoreReading) -> Any:
    """Return what a node with one child is, as the options say or the format of the first file means."""
    from hedgerow.score_files import find_format

    if reading.single_child is not None:
        return reading.single_child.value
    found = reading.scores_format
    if found == "auto":  # files elsewhere are in a format that need not be named
        found = find_format(str(files[0]), found, reading.delimiter) if files else WIDE
    return "skip" if found == WIDE else SCORE_FORMATS[found].single_child


def is_many(scores: Sequence[str]) -> bool:
    """Tell whether the arguments name several parts, or one that is not a local file or folder."""
    return len(scores) > 1 or is_pattern(scores[0]) or is_remote(scores[0])


def local(scores: Sequence[str]) -> list[Path]:
    """Return the local files among the arguments, which outputs must not overwrite."""
    if not is_many(scores):
        return [Path(scores[0])]
    from hedgerow.cluster import expand

    return [Path(path) for path in expand([score for score in scores if not is_remote(score)])]


def name_of(path: Path) -> str:
    """Return the name of a model: of a file its stem, of a folder its name."""
    return path.resolve().name if path.is_dir() else path.stem


def is_run(path: Path) -> bool:
    """Tell whether a path is the folder of a training run."""
    return (path / "recipe.toml").exists()


def check_outputs(
    *files: Path | None,
    folder: Path | None = None,
    members: Sequence[str] = (),
    inputs: Sequence[Path | None],
) -> None:
    """Refuse outputs that could not be written after a long computation, or that would overwrite an input.

    Parameters
    ----------
    files, folder
        What will be written, if requested; the folder is written first.
    members
        Names of the files in the folder, which no other output may use.
    inputs
        What is read.
    """
    outputs = [path for path in files if path is not None]
    inside = [] if folder is None else [folder / name for name in members]
    for path in [*outputs, *inside]:
        for given in inputs:
            if given is not None and path.exists() and given.exists() and path.samefile(given):
                raise FileError(
                    f"{path} would overwrite {given}, which is an input. Give the output another name."
                )
    taken: set[Path] = set()
    for path in [*inside, *outputs, *([] if folder is None else [folder])]:
        place = path.resolve()
        if place in taken and not is_special(path):
            raise FileError(f"{path} is named for two outputs. Give each output its own name.")
        taken.add(place)
    made: set[Path] = set()  # folders that will exist by the time they are needed
    if folder is not None:
        try_folder(folder)
        made = {place for place in (folder.resolve(), *folder.resolve().parents) if not place.exists()}
    for path in outputs:
        if path.resolve() in made:
            raise FileError(f"{path} will be a folder, needed for {folder}. Give the output another name.")
        if path.resolve().parent not in made:
            try_file(path)


def drawing(path: Path | None, rules: str | None) -> Callable[[Sequence[Any]], None]:
    """Return the function that draws the figure; without matplotlib, print a notice and draw nothing."""
    marked = _rules(rules)
    if path is None:
        if rules is not None:
            raise ParameterError("--rules chooses what to mark in a figure: give --figure FILE too.")
        return lambda _: None
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ParameterError(f"{path}: figures are written as .png, .pdf or .svg.")
    try:
        from hedgerow.show.figures import OperatingCurveDisplay
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        notice = "No figure is drawn: it needs matplotlib. Install it with: pip install 'hedgerow[plot]'"
        Console(stderr=True).print(notice, style="yellow", markup=False)
        return lambda _: None

    def draw(evaluations: Sequence[Any]) -> None:
        OperatingCurveDisplay.from_evaluations(evaluations).save(path, rules=marked)
        typer.echo(f"The figure is in {path}.", err=True)

    return draw


def _rules(given: str | None) -> tuple[str, ...]:
    """Return the rules that --rules names."""
    from hedgerow.infer import RULES
    from hedgerow.show import DEFAULT_RULES

    if given is None or given == "none":
        return DEFAULT_RULES if given is None else ()
    named = tuple(name.strip().replace("-", "_") for name in given.split(","))
    for name in named:
        if name not in RULES:
            known = ", ".join(rule.replace("_", "-") for rule in RULES)
            raise ParameterError(f"--rules: there is no rule {name!r}. Choose from {known}; or 'none'.")
    return named


@contextmanager
def bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar for work that takes longer than a second."""
    from hedgerow.show import live_bar

    progress = live_bar(Console(stderr=True))
    task = progress.add_task(what, total=total)
    waiting = threading.Timer(1, progress.start)
    waiting.start()
    try:
        yield lambda steps: progress.advance(task, steps)
    finally:
        waiting.cancel()
        waiting.join()
        progress.stop()


@contextmanager
def explaining_interrupts(kept: str) -> Iterator[None]:
    """When the work is interrupted, say what is kept and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. {kept}", err=True)
        raise typer.Exit(_INTERRUPTED) from None
