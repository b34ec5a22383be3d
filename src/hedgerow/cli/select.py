"""`hedgerow select`: choose an operating point that keeps a promise."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer
from rich.console import Console

from hedgerow.choose import FAMILIES, GUARANTEES
from hedgerow.cli.options import (
    ANSWER,
    PROMISES,
    GivenSettings,
    JsonOption,
    TemperatureOption,
    as_number,
    option,
    verb,
)
from hedgerow.cli.outputs import bar, check_outputs
from hedgerow.cli.score_input import ScoreInput, is_run
from hedgerow.errors import ParameterError, options
from hedgerow.files import is_number, is_remote, stem, write_json
from hedgerow.score_files import read_shares

if TYPE_CHECKING:
    from hedgerow.choose import SelectionSpec
    from hedgerow.score_files import ScoreReading, Scores
    from hedgerow.tree import Settings

_promise = partial(option, panel=PROMISES)


@final
@dataclass(frozen=True, kw_only=True)
class Request:
    """What to promise, and about which examples."""

    target: Annotated[
        str | None,
        option(
            "METRIC=LEVEL",
            "What to promise, such as correct=0.95, with answers as specific as that allows; with recall, exact "
            "or f1 as conservative as that allows.",
        ),
    ] = None
    among: Annotated[
        str | None,
        _promise(
            "answered|RANK|DEPTH",
            "Promise it among the answers below the root, or at a rank (or depth) or below, not among all.",
        ),
    ] = None
    guarantee: Annotated[
        str | None,
        _promise(
            "NAME",
            "; ".join(f"{name}: {each.help}" for name, each in GUARANTEES.items())
            + ". The default is conformal; with --among, pac.",
        ),
    ] = None
    delta: Annotated[str, _promise("X", "With pac, the probability that the promise is broken.", shown=True)] = (
        "0.05"
    )
    unit: Annotated[
        str, _promise("cluster|example", "With --clusters, what counts once in the promise.", shown=True)
    ] = "cluster"
    largest_cluster: Annotated[
        int | None, _promise("M", "With --unit example, the size that no cluster, old or new, exceeds.")
    ] = None
    clades: Annotated[
        str | None,
        _promise("RANK|DEPTH", "A threshold for each clade at this rank or depth, by the most likely tip."),
    ] = None
    pool_small: Annotated[
        bool, _promise(None, "Pool groups or clades that have too few examples for a promise.", "--pool-small")
    ] = False
    pool_sizes: Annotated[
        str | None,
        _promise(
            "FILE",
            "Pool by sizes from elsewhere, a table of name and size (with --clusters, in clusters).",
        ),
    ] = None
    per_rank: Annotated[
        str | None,
        _promise(
            "RANK=LEVEL,...",
            "Instead of a target: the share of examples not answered wrongly at each rank (or depth).",
        ),
    ] = None
    overclassification: Annotated[
        str | None,
        _promise(
            "RANK=SHARE,...",
            "The share of examples of unknown taxa (named by --clusters, labelled above the rank) that may be "
            "given a name at a rank.",
        ),
    ] = None
    expect: Annotated[
        str | None,
        _promise("FILE", "The shares of classes where the point will be used, a table of class and share."),
    ] = None
    like: Annotated[
        str | None,
        _promise("SCORES", "New scores without labels, from which these shares are estimated."),
    ] = None
    rule: Annotated[
        str,
        option("RULE", f"Which answers: {', '.join(FAMILIES)}; the last is (I + λ) q.", shown=True),
    ] = "threshold"
    bounds: Annotated[
        str | None, option("LOW,HIGH", "The smallest and largest value of a metric that is not a fraction.")
    ] = None

    def spec(self, scores: Scores, reading: ScoreReading, settings: Settings) -> SelectionSpec:
        """Read the tables that the request names, and check it."""
        from hedgerow.choose import SelectionSpec

        sizes = self.pool_sizes
        prior_by_group = scores.prior is not None and scores.prior.groups is not None
        return SelectionSpec.of(
            scores.hierarchy,
            target=None if self.target is None else _target(self.target),
            per_rank=_levels("--per-rank", self.per_rank),
            overclassification=_levels("--overclassification", self.overclassification),
            guarantee=self.guarantee,
            delta=self.delta,
            among=self.among,
            unit=self.unit,
            largest_cluster=self.largest_cluster,
            pool_small=self.pool_small if sizes is None else read_shares(sizes, "size", "name"),
            clades=self.clades,
            rule=self.rule,
            bounds=_bounds(self.bounds),
            settings=settings,
            by_group=reading.group_column is not None and not prior_by_group,
            weighted=reading.weight_column is not None,
            expect=None if self.expect is None else read_shares(self.expect),
            like=self.like is not None,
        )

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments for other levels of the same kind."""
        usual = Request()
        names = ("clades", "rule", "unit", "pool_small", "pool_sizes", "expect", "like", "bounds")
        given = {name: value for name in names if (value := getattr(self, name)) != getattr(usual, name)}
        size = None if self.largest_cluster is None else str(self.largest_cluster)
        return options(**given, largest_cluster=size)


@verb(
    "hedgerow select held.npz --tree tree.csv --target correct=0.95 -o point.json",
    "hedgerow select held.csv --tree tree.json --per-rank family=0.9 -o point.json",
    "hedgerow select 'held/*.csv' --tree tree.csv --target recall=0.6 -o p.json",
    "hedgerow select a.npz --tree tree.csv --target correct=0.9 --among 1 -o p.json",
    "hedgerow select runs/quick --target correct=0.95 --guarantee pac -o point.json",
    panel=ANSWER,
    first=("tree", "labels_file", "target", "output"),
    without=("workers", "scheduler"),
)
def select(
    given: ScoreInput,
    settings: GivenSettings,
    request: Request,
    *,
    output: Annotated[Path, option("FILE", "Where to write the point: .json.", "-o", "--output")],
    json_file: JsonOption = None,
    temperature: TemperatureOption = None,
) -> None:
    """Choose how cautious to be, so that a promise holds for new examples.

    Use examples that the model was not trained on.
    """
    from hedgerow import choose
    from hedgerow.show import print_point, print_text

    for remote in filter(is_remote, given.scores):
        raise ParameterError(
            f"{remote} is not on this machine, and select reads its examples twice: copy it first."
        )
    tables = (temperature, request.pool_sizes, request.expect, request.like)
    check_outputs(output, json_file, inputs=given.inputs(*tables))
    opened, divided_by = given.tempered(given.open_parts(), temperature)
    spec = request.spec(opened, given.reading, settings.over(opened.settings))
    examples = choose.gather(
        spec,
        opened,
        None,
        groups=spec.by_group,
        clusters=given.reading.cluster_column is not None or None,
        weights=spec.weighted,
        progress=bar,
    )
    if request.like is not None:
        unlabelled = replace(given, scores=[request.like], data=None, reading=given.unlabelled())
        new = unlabelled.open(labels=False).tempered(divided_by)
        spec = choose.expecting(spec, examples, opened, new)
    point = choose.choose(spec, examples)
    explanation = choose.describe(spec, examples, point, lambda: opened)
    point.save(output)
    for warning in opened.warnings:
        print_text(Console(stderr=True), f"Warning: {warning}\n", "yellow")
    again = [*given.arguments, *given.tree_arguments, *given.reading.arguments, *settings.arguments]
    again += [*request.arguments, *options(temperature=temperature)]
    print_point(
        explanation,
        Console(),
        then=shlex.join(["hedgerow", "predict", *_new(given, output)]),
        select=shlex.join(["hedgerow", "select", *again]),
    )
    typer.echo(f"The point is in {output}.", err=True)
    if json_file is not None:
        content = {key: value for key, value in point.to_dict().items() if key != "tree"}
        write_json(json_file, {"point": content, **explanation.to_dict()})


def _new(given: ScoreInput, point: Path) -> list[str]:
    """Return the arguments of `predict` that answer new files like these at a point."""
    first, many = given.files[0], given.is_many
    reading = replace(given.unlabelled(), group_column=given.reading.group_column)
    facts = (reading.group_column, reading.event_column, reading.weight_column)
    if any(facts) and given.reading.labels_file is not None:
        file = f"NEW-FACTS{_endings(Path(given.reading.labels_file))}"
        reading = replace(reading, labels_file=file, id_column=given.reading.id_column)
    new, answers = ("NEW/*", "answers/*.csv") if many else ("NEW", "answers.csv")
    scores = [given.scores[0], "--data", new] if is_run(first) else [f"{new}{_endings(first)}"]
    return [*scores, *reading.arguments, "--point", str(point), "-o", answers]


def _endings(path: Path) -> str:
    """Return all that follows the stem of a name, such as `.csv.gz`."""
    return path.name[len(stem(path)) :]


def _target(given: str) -> tuple[str, str]:
    name, level = (part.strip() for part in given.partition("=")[::2])
    if is_number(level.replace(",", ".").rstrip("% ")):
        as_number("target", level)
    if not name or not level:
        raise ParameterError(f"--target must be METRIC=LEVEL, such as correct=0.95, not {given!r}.")
    return name, level


def _levels(option: str, given: str | None) -> dict[str, str] | None:
    if given is None:
        return None
    levels = {}
    for part in given.split(","):
        rank, level = (text.strip() for text in part.rpartition("=")[::2])
        if not rank or not level:
            raise ParameterError(f"{option} must be RANK=LEVEL,..., such as genus=0.9,species=0.8, not {given!r}.")
        if rank in levels:
            raise ParameterError(f"{option} has two levels of {rank!r}: {given!r}. Leave out one.")
        levels[rank] = level
    return levels


def _bounds(given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = (float(part) for part in given.split(","))
    except ValueError:
        raise ParameterError(f"--bounds must be two numbers, LOW,HIGH, not {given!r}.") from None
    return low, high
