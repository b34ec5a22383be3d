"""The command `hedgerow`: one verb per job, no logic of its own.

A verb is a function with `@app.command()` that parses, calls the library and prints. It imports what it needs
inside the function, so that `hedgerow --help` stays quick.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from hedgerow import __version__
from hedgerow._atomic import atomic_write
from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.tree_files import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.evaluation import Evaluation

app = typer.Typer(
    name="hedgerow",
    help="Answers from a tree of classes: as specific as they can be, as sure as they must be.",
    epilog="Example: hedgerow doctor tree.csv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

BAD_INPUT = 2
"""Exit status where the input cannot be used at all."""

TreeFormatOption = Annotated[
    str | None,
    typer.Option(
        "--tree-format",
        metavar="FORMAT",
        help=f"Format of the tree: {', '.join(FORMATS)}. By default by extension (.csv, .tsv: edges).",
        show_default=False,
    ),
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the findings to FILE as JSON.", show_default=False),
]
ScoresArgument = Annotated[
    Path, typer.Argument(metavar="SCORES", help="The scores: .npz, .csv, .tsv or .parquet.", show_default=False)
]
TreeOption = Annotated[Path, typer.Option("--tree", metavar="TREE", help="The tree.", show_default=False)]
LogitsOption = Annotated[
    bool, typer.Option("--logits", help="The scores are logits of the leaves, not probabilities.")
]
FigureOption = Annotated[
    Path | None,
    typer.Option(
        "--figure", metavar="FILE", help="Draw the curves to FILE: .png, .pdf or .svg.", show_default=False
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


class Rule(StrEnum):
    """Rules that need no threshold."""

    leaf = "leaf"
    majority = "majority"
    plurality = "plurality"
    expected_information = "expected-information"


class Against(StrEnum):
    """What to compare with."""

    first = "first"
    best = "best"


InformationOption = Annotated[
    Information,
    typer.Option(help="How to measure specificity: by the leaves a node rules out, in bits, or by its depth."),
]
BelowLabelOption = Annotated[
    BelowLabel,
    typer.Option(help="What an answer below its label counts as: 'wrong' for labels that mean \"none of these\"."),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that stand before the verb."""


def write_json(path: Path, data: Any) -> None:
    """Write the findings of a verb as JSON."""
    with atomic_write(path) as file:
        json.dump(data, file, ensure_ascii=False, indent=2)
        file.write("\n")


@app.command(
    epilog="Examples:\n\nhedgerow doctor tree.csv\n\n"
    "hedgerow doctor lineages.csv --tree-format lineages --labels labels.txt\n\n"
    "hedgerow doctor tree.csv --scores model.npz --json findings.json"
)
def doctor(
    tree: Annotated[Path, typer.Argument(metavar="TREE", help="The tree.", show_default=False)],
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Scores whose classes should fit the tree (.npz, .csv, .parquet)."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels that should be in the tree: .txt, one a line; or .csv, .parquet with a column 'label'.",
        ),
    ] = None,
    titles: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Display names to show: a JSON object {"n02084071": "dog"}.'),
    ] = None,
    tree_format: TreeFormatOption = None,
    json_file: JsonOption = None,
) -> None:
    """Explain a tree in plain words, and everything that is wrong with it.

    Exit status 0 if all is well, 1 if there are problems.
    """
    from hedgerow.doctor import examine

    diagnosis = examine(tree, tree_format, scores=scores, labels=labels, titles=titles)
    diagnosis.print(Console())
    if json_file is not None:
        write_json(json_file, diagnosis.to_dict())
    raise typer.Exit(0 if diagnosis.ok else 1)


@app.command(
    epilog="Examples:\n\nhedgerow evaluate scores.npz --tree tree.csv\n\n"
    "hedgerow evaluate scores.csv --tree tree.csv --logits -o results/model-a --figure curves.pdf\n\n"
    "hedgerow evaluate scores.parquet --tree tree.csv --bootstrap 1000 --json figures.json"
)
def evaluate(
    scores: ScoresArgument,
    tree: TreeOption,
    tree_format: TreeFormatOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Save the evaluation in DIR.", show_default=False),
    ] = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    logits: LogitsOption = False,
    information: InformationOption = Information.leaves,
    below_label: BelowLabelOption = BelowLabel.label,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add intervals from N bootstrap replicates, such as 1000.")
    ] = 0,
) -> None:
    """Measure a model's scores at every balance between being right and being specific."""
    from hedgerow.evaluation import read_or_evaluate
    from hedgerow.evaluation.words import print_evaluation
    from hedgerow.hierarchy import Hierarchy

    _require_folders(json_file, figure)
    draw = _drawing(figure)
    found = read_or_evaluate(
        scores,
        Hierarchy.read(tree, tree_format),
        logits=logits,
        information=information.value,
        below_label=below_label.value,
        replicates=bootstrap,
        progress=_bar,
    )
    print_evaluation(found, Console())
    if output is not None:
        found.save(output)
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw([found])


@app.command(
    epilog="Examples:\n\nhedgerow compare results/model-a results/model-b --figure curves.pdf\n\n"
    "hedgerow compare a.npz b.npz c.npz --tree tree.csv --against best --json comparison.json"
)
def compare(
    systems: Annotated[
        list[Path],
        typer.Argument(
            metavar="A B [C ...]", help="Evaluation folders, or score files with --tree.", show_default=False
        ),
    ],
    tree: Annotated[
        Path | None, typer.Option("--tree", metavar="TREE", help="The tree, for score files.", show_default=False)
    ] = None,
    tree_format: TreeFormatOption = None,
    json_file: JsonOption = None,
    figure: FigureOption = None,
    logits: LogitsOption = False,
    information: InformationOption = Information.leaves,
    below_label: BelowLabelOption = BelowLabel.label,
    against: Annotated[
        Against, typer.Option(help="Compare with the first, or with the best by AP.")
    ] = Against.first,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of paired bootstrap replicates; 0 for none.")
    ] = 1000,
) -> None:
    """Set several models side by side, and say whether their differences are real."""
    from hedgerow.evaluation import compare, read_or_evaluate
    from hedgerow.evaluation.words import print_comparison
    from hedgerow.hierarchy import Hierarchy

    _require_folders(json_file, figure)
    draw = _drawing(figure)
    hierarchy = None if tree is None else Hierarchy.read(tree, tree_format)
    options: dict[str, Any] = {"information": information.value, "below_label": below_label.value}
    found = compare(
        [read_or_evaluate(path, hierarchy, logits=logits, progress=_bar, **options) for path in systems],
        reference="best" if against is Against.best else 0,
        replicates=bootstrap,
        progress=_bar,
    )
    print_comparison(found, Console())
    if json_file is not None:
        write_json(json_file, found.to_dict())
    draw(found.evaluations)


@app.command(
    epilog="Examples:\n\nhedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv\n\n"
    "hedgerow predict scores.parquet --tree tree.csv --rule majority -o answers.parquet"
)
def predict(
    scores: ScoresArgument,
    tree: TreeOption,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write: .csv, .tsv, .parquet.", show_default=False
        ),
    ],
    tau: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Answer with the most specific node more likely than X, from 0 to 1.",
            show_default=False,
        ),
    ] = None,
    rule: Annotated[
        Rule | None, typer.Option(help="Answer by a rule that needs no threshold.", show_default=False)
    ] = None,
    tree_format: TreeFormatOption = None,
    json_file: JsonOption = None,
    logits: LogitsOption = False,
    information: InformationOption = Information.leaves,
) -> None:
    """Answer every example: name, rank or depth, confidence, lineage."""
    from hedgerow.evaluation import answering_rule
    from hedgerow.evaluation.words import print_written
    from hedgerow.hierarchy import Hierarchy
    from hedgerow.predictions_io import open_scores, write_predictions

    _require_folders(json_file)
    answer = answering_rule(tau, None if rule is None else rule.value.replace("-", "_"), information.value)
    file = open_scores(scores, Hierarchy.read(tree, tree_format), logits=logits, labels=False)
    written = write_predictions(output, file, answer, progress=_bar)
    print_written(written, str(output), file.warnings, Console())
    if json_file is not None:
        write_json(json_file, {"output": str(output), "tau": tau, "rule": rule, **written.to_dict()})


@app.command(
    epilog="Examples:\n\nhedgerow train glyphs-quick -o runs/quick\n\n"
    "hedgerow train features-linear --set data.path=features.npz --set method.name=ps-softmax -o runs/ps\n\n"
    "hedgerow train features-linear --show"
)
def train(
    recipe: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="A recipe that ships, or a .toml file.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder of the run: new, or empty.", show_default=False
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change the recipe: optimiser.lr=0.05.", show_default=False
        ),
    ] = None,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Number of devices, as --set run.devices.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in DIR.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print the recipe, every field explained, and stop.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Train a model that can answer with any node of the tree.

    Recipes that ship: glyphs-quick, glyphs, features-linear, inat21mini-resnet18, imagenet-resnet50.
    """
    from hedgerow.training.recipe import Recipe

    chosen = Recipe.load(recipe, [*(changes or []), *([] if devices is None else [f"run.devices={devices}"])])
    if show:
        typer.echo(chosen.explained())
        return
    from hedgerow.training.run import train
    from hedgerow.training.words import print_run

    folder = Path("runs", Path(recipe).stem) if output is None else output
    _require_folders(json_file)
    run = train(chosen, folder, resume=resume, progress=sys.stderr.isatty())
    print_run(run, Console())
    if json_file is not None:
        write_json(json_file, run.metrics())


def _require_folders(*files: Path | None) -> None:
    """Refuse early what could not be written after a long computation."""
    for path in files:
        if path is not None and not path.parent.is_dir():
            raise FileError(f"{path} cannot be written: the folder {path.parent} does not exist. Create it first.")


def _drawing(path: Path | None) -> Callable[[Sequence[Evaluation]], None]:
    """Return what draws the figure; without matplotlib, say so and draw nothing."""
    if path is None:
        return lambda _: None
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ParameterError(f"{path}: figures are written as .png, .pdf or .svg.")
    try:
        from hedgerow.display import OperatingCurveDisplay
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        notice = "No figure is drawn: that needs matplotlib. Install it with: pip install 'hedgerow[plot]'"
        Console(stderr=True).print(notice, style="yellow", markup=False)
        return lambda _: None
    return lambda evaluations: OperatingCurveDisplay.from_evaluations(evaluations).save(path)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how far long work is, once it has taken a second."""
    from rich.progress import Progress

    console = Console(stderr=True)
    progress = Progress(console=console, transient=True, disable=not console.is_terminal)
    task = progress.add_task(what, total=total)
    begun, lock = time.monotonic(), threading.Lock()

    def advance(steps: int) -> None:
        progress.advance(task, steps)
        with lock:
            if not progress.live.is_started and time.monotonic() - begun > 1:
                progress.start()

    try:
        yield advance
    finally:
        if progress.live.is_started:
            progress.stop()


def main() -> None:
    """Run the command; a mistake in the input is one message, not a traceback."""
    try:
        app()
    except HedgerowError as error:
        console = Console(stderr=True, highlight=False)
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        sys.exit(BAD_INPUT)
