"""What verbs read: score files with their tree, in one file or in parts; training runs; evaluation folders."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os.path import commonprefix
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, final

import numpy as np
import typer
from rich.console import Console

from hedgerow.cli.options import RUNS, SchedulerOption, WorkersOption, as_number, option, positional
from hedgerow.cli.outputs import after_a_second, bar
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.files import is_number, is_pattern, is_remote, require_file, stem
from hedgerow.score_files import (
    FORMATS,
    WIDE,
    Block,
    ScoreReading,
    Scores,
    find_format,
    open_parts,
    open_scores,
)
from hedgerow.tree import Hierarchy, Settings, TreeReading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.cluster import PartsError
    from hedgerow.measure import Evaluation

PARTS_FAILED = 1
"""Exit status if some parts failed."""
_FITTED = 50_000  # examples that a temperature is fitted to


@dataclass(frozen=True, kw_only=True)
class FileReading:
    """A tree, and how it and score files are read: what every verb that reads scores takes."""

    tree: Annotated[Path | None, option("TREE", "The tree; a training run has its own.")] = None
    tree_reading: TreeReading = field(default_factory=TreeReading)
    reading: ScoreReading = field(default_factory=ScoreReading)
    trust: Annotated[
        list[str] | None,
        option(
            "PACKAGE.MODULE:NAME",
            "A model or method of your own that a training run may import; may be repeated.",
            panel=RUNS,
        ),
    ] = None

    def hierarchy(self) -> Hierarchy | None:
        """Read the tree, if one is given."""
        return None if self.tree is None else Hierarchy.read(self.tree, self.tree_reading)

    def required_tree(self, scores: str, known: Hierarchy | None = None) -> Hierarchy:
        """Read the tree that score files need; without --tree, it is the one that is known."""
        if (hierarchy := self.hierarchy() or known) is None:
            raise ParameterError(f"{scores} needs a tree: give --tree TREE.")
        return hierarchy

    @property
    def tree_arguments(self) -> list[str]:
        """The command-line arguments that describe the tree."""
        return [] if self.tree is None else ["--tree", str(self.tree), *self.tree_reading.arguments]

    def evaluation(self, path: Path, hierarchy: Hierarchy | None, settings: dict[str, Any]) -> Evaluation:
        """Read an evaluation folder; or evaluate a score file with a tree, or the test data of a training run.

        Parameters
        ----------
        path
            The folder or file.
        hierarchy
            The tree, for score files.
        settings
            Keywords of `evaluate`; a folder must have been evaluated with the same.
        """
        from hedgerow.measure import evaluate, read_or_evaluate

        if not is_run(path):
            return read_or_evaluate(path, hierarchy, reading=self.reading, progress=bar, **settings)
        run = ScoreInput(scores=[str(path)], trust=self.trust).open(labels=True)
        return evaluate(run.hierarchy, run, name=name_of(path), progress=bar, **settings)

    def evaluation_of_parts(
        self, scores: Sequence[str], hierarchy: Hierarchy, client: Any, settings: dict[str, Any]
    ) -> Evaluation:
        """Evaluate score files as one data set."""
        from hedgerow import cluster

        return cluster.evaluate(
            cluster.expand(scores),
            hierarchy,
            client,
            name=name_of_parts(scores),
            reading=self.reading,
            progress=parts_bar,
            **settings,
        )


@final
@dataclass(frozen=True, kw_only=True)
class ScoreInput(FileReading):
    """The scores that a verb reads."""

    scores: Annotated[
        list[str],
        positional(
            "SCORES",
            "Scores (.npz, .csv, .tsv, .parquet, the output of a tool), or a training run. Several files, or a "
            "pattern in quotes such as 'scores/*.parquet', are one data set.",
        ),
    ]
    data: Annotated[
        Path | None,
        option("PATH", "New data for the model of a run: a feature file, or a folder of images.", panel=RUNS),
    ] = None
    workers: WorkersOption = None
    scheduler: SchedulerOption = None

    @property
    def is_many(self) -> bool:
        """Whether there are parts, or workers for them."""
        return is_many(self.scores) or self.workers is not None or self.scheduler is not None

    @property
    def files(self) -> list[Path]:
        """The local score files."""
        if not is_many(self.scores):
            return [Path(self.scores[0])]
        from hedgerow.cluster import expand

        return [Path(path) for path in expand([score for score in self.scores if not is_remote(score)])]

    @property
    def name(self) -> str:
        """The name of the model."""
        return name_of_parts(self.scores) if self.is_many else name_of(Path(self.scores[0]))

    def inputs(self, *more: str | Path | None) -> list[Path | None]:
        """Return everything that is read, which outputs must not overwrite; `more` may name further files."""
        others = [Path(path) for path in more if path is not None and Path(path).is_file()]
        return [*self.files, self.tree, self.data, *self.reading.files, *others]

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that give the same examples, without how they are read."""
        return [*self.scores, *([] if self.data is None else ["--data", str(self.data)])]

    def unlabelled(self) -> ScoreReading:
        """Return how to read new files like these, without labels."""
        return self.reading.unlabelled(self.reading.file(self.files[0]) if self.files else None)

    def open(self, *, labels: bool, known: Hierarchy | None = None) -> Scores:
        """Open a score file with its tree; or the model of a training run with new data, or its test data.

        Without --tree, the tree is the one that is `known`.
        """
        from hedgerow.measure import MEMBERS

        path = Path(self.scores[0])
        if is_run(path):
            return self._open_run(path, labels)
        if path == Path("-"):
            raise ParameterError("Only `hedgerow predict` reads standard input: write the scores to a file first.")
        if all((path / name).exists() for name in MEMBERS):
            raise ParameterError(
                f"{path} is an evaluation, which holds no scores: give the scores. `hedgerow compare` and "
                f"`hedgerow report` read evaluations."
            )
        if not path.exists():
            require_file(path)
        for name, given in (("trust", self.trust), ("data", self.data)):
            if given:
                raise ParameterError(f"--{name} is for training runs, and {path} is not one: leave out --{name}.")
        return open_scores(path, self.required_tree(str(path), known), self.reading, labels=labels)

    def _open_run(self, path: Path, labels: bool) -> Scores:
        from hedgerow.learn.training.new_data import run_scores
        from hedgerow.learn.training.run_folder import RunFolder

        if self.tree is not None:
            raise ParameterError(f"{path} is a training run, which has its own tree: leave out --tree.")
        if self.reading.arguments:
            raise ParameterError(f"{path} is a training run, not a table: leave out {self.reading.arguments[0]}.")
        run = RunFolder(path, tuple(self.trust or ()))
        if self.data is not None:
            return run_scores(run, self.data, labels=labels)
        run.metrics()  # an error if the run is not finished
        run.check_digests()
        return run.open_scores(labels=labels)

    def open_parts(self) -> Scores:
        """Open one file, or several as one, with their labels."""
        if not self.is_many:
            return self.open(labels=True)
        return open_parts(self.files, self.tree_of_parts(), self.reading)

    def tree_of_parts(self, known: Hierarchy | None = None) -> Hierarchy:
        """Read the tree of parts, and refuse what only single files and training runs have."""
        if self.data is not None:
            raise ParameterError("--data is for the folder of one training run, not for parts: leave it out.")
        for score in self.scores:
            if Path(score).is_dir():
                raise ParameterError(f"{score} is a folder. Give its files, as in '{score}/*.npz'.")
        return self.required_tree(self.scores[0], known)

    def usual_settings(self) -> Settings:
        """Return the default settings for the format of the first file."""
        if not self.files and self.reading.scores_format == "auto":
            return FORMATS[WIDE].settings  # remote files, in a format that need not be named
        first = self.reading.file(self.files[0] if self.files else "")
        return FORMATS[find_format(first, self.reading)].settings

    def tempered(self, scores: Scores, given: str | None) -> tuple[Scores, float]:
        """Return scores divided by a temperature, and the temperature.

        Parameters
        ----------
        scores
            The scores.
        given
            A number, or held-out scores to fit the temperature to; None for 1.
        """
        from hedgerow.likelihood import Likelihoods, fit_to_likelihoods

        if given is None:
            return scores, 1.0
        try:
            temperature = float(given)
        except ValueError:
            if is_number(given.replace(",", ".")):
                as_number("temperature", given)
            plain = self.reading.single_examples()
            held_out = replace(self, scores=[given], data=None, reading=plain).open(labels=True)
            blocks = list(_first_blocks(held_out))
            parts = [block.likelihoods for block in blocks if isinstance(block.likelihoods, Likelihoods)]
            if not parts:
                raise ParameterError(
                    f"A temperature needs the scores of all classes, and {given} lists only a few."
                ) from None
            labels = np.concatenate([block.labels for block in blocks if block.labels is not None])
            fitted = fit_to_likelihoods(held_out.hierarchy, Likelihoods.concatenate(parts), labels)
            # In a few digits, so that it can be given again.
            temperature = float(f"{fitted.value:.4g}")
            losses = f"its mean loss falls from {fitted.before:.4g} to {fitted.after:.4g}"
            typer.echo(f"The temperature {temperature:g} fits {given} best: {losses}.", err=True)
        return scores.tempered(temperature), temperature


@contextmanager
def standard_input(given: ScoreInput) -> Iterator[ScoreInput]:
    """Yield the scores to read: "-" is what comes in on standard input, a table or an .npz file."""
    if given.scores != ["-"]:
        yield given
        return
    with TemporaryDirectory() as folder:
        content = sys.stdin.buffer.read()
        endings = {b"PK": ".npz", b"PA": ".parquet", b"\x1f\x8b": ".csv.gz", b'{"': ".jsonl"}
        path = Path(folder, f"standard-input{endings.get(content[:2], '.csv')}")
        path.write_bytes(content)
        try:
            yield replace(given, scores=[str(path)])
        except HedgerowError as error:
            raise type(error)(str(error).replace(str(path), "standard input")) from None


def _first_blocks(scores: Scores) -> Iterator[Block]:
    """Yield blocks of scores until there are enough for a temperature."""
    rows = 0
    for block in scores:
        yield block
        rows += len(block)
        if rows >= _FITTED:
            return


def name_of(path: Path) -> str:
    """Return the name of a model: of a file its stem, of a folder its name."""
    return path.resolve().name if path.is_dir() else stem(path)


def is_run(path: Path) -> bool:
    """Tell whether a path is the folder of a training run."""
    return (path / "recipe.toml").exists()


# Parts ---------------------------------------------------------------------------------------------------------


def is_many(scores: Sequence[str]) -> bool:
    """Tell whether the arguments name several parts, or one that is not a local file or folder."""
    return len(scores) > 1 or is_pattern(scores[0]) or is_remote(scores[0])


def name_of_parts(scores: Sequence[str]) -> str:
    """Return the name of a model whose scores are parts: what their names share, or else their folder.

    >>> name_of_parts(["runs/keen-*.npz"]), name_of_parts(["keen-1.csv", "keen-2.csv"])
    ('keen-*', 'keen-*')
    >>> name_of_parts(["runs/*.npz"]), name_of_parts(["runs/a.npz", "runs/b.npz"])
    ('runs', 'runs')
    """
    stems = [stem(score) for score in scores]
    shared = stems[0] if len(stems) == 1 else f"{commonprefix(stems)}*"  # noqa: RUF071  (characters are meant)
    folders = {Path(score).parent.name or Path.cwd().name for score in scores}
    candidates = [shared, *(folders if len(folders) == 1 else ())]
    return next((name for name in candidates if name.strip("*")), "scores")


@contextmanager
def connected(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Connect to workers, if any are requested, and print the address of their dashboard."""
    from hedgerow.cluster import connect

    with connect(workers=workers, scheduler=scheduler) as client:
        if client is not None:
            typer.echo(f"Dashboard: {client.dashboard_link}", err=True)
        yield client


@contextmanager
def parts_bar(total: int) -> Iterator[Callable[[int], None]]:
    """Show how many parts are done, and the examples per second, for work that takes longer than a second."""
    from hedgerow.show.terminal import live_bar

    progress = live_bar(Console(stderr=True), counted=True)
    task = progress.add_task("Parts", total=total)
    start, examples = time.monotonic(), 0

    def advance(number: int) -> None:
        nonlocal examples
        examples += number
        rate = examples / (time.monotonic() - start)
        progress.update(task, advance=1, description=f"Parts, {rate:,.0f} examples/s")

    with after_a_second(progress):
        yield advance


def end_with_failures(error: PartsError, kept: str) -> NoReturn:
    """Print which parts failed, and what is kept of the others."""
    console = Console(stderr=True, highlight=False)
    console.print(str(error), style="red", markup=False, soft_wrap=True)
    console.print(kept, markup=False, soft_wrap=True)
    raise typer.Exit(PARTS_FAILED)
