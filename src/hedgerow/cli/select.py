"""`hedgerow select`: choose an operating point that keeps a promise."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hedgerow.choose import FAMILIES, GUARANTEES
from hedgerow.cli.app import app
from hedgerow.cli.options import GivenSettings, JsonOption, TemperatureOption, as_number, grouped_options, option
from hedgerow.cli.outputs import bar, check_outputs
from hedgerow.cli.score_input import ScoreInput, is_run
from hedgerow.errors import ParameterError, options
from hedgerow.files import is_number, is_remote, stem, write_json
from hedgerow.score_files import read_shares


@app.command(
    epilog="Examples:\n\nhedgerow select held.npz --tree tree.csv --target correct=0.95 -o point.json\n\n"
    "hedgerow select held.csv --tree tree.json --per-rank family=0.9 -o point.json\n\n"
    "hedgerow select 'held/*.csv' --tree tree.csv --target recall=0.6 -o p.json\n\n"
    "hedgerow select a.npz --tree tree.csv --target correct=0.9 --among 1 -o p.json\n\n"
    "hedgerow select runs/quick --target correct=0.95 --guarantee pac -o point.json"
)
@grouped_options(without=("workers", "scheduler"))
def select(
    given: ScoreInput,
    settings: GivenSettings,
    *,
    target: Annotated[
        str | None,
        option(
            "METRIC=LEVEL",
            "What to promise, such as correct=0.95: the answers are as specific as that allows. With recall, "
            "exact or f1 they are as conservative as that allows.",
        ),
    ] = None,
    output: Annotated[Path, option("FILE", "Where to write the point: .json.", "-o", "--output")],
    json_file: JsonOption = None,
    among: Annotated[
        str | None,
        option(
            "answered|RANK|DEPTH",
            "Promise it among the answers below the root, or at a rank or depth or below it, instead of all.",
        ),
    ] = None,
    guarantee: Annotated[
        str | None,
        option(
            "NAME",
            "; ".join(f"{name}: {each.help}" for name, each in GUARANTEES.items())
            + ". The default is conformal; with --among, pac.",
        ),
    ] = None,
    delta: Annotated[
        str, option("X", "With pac, the probability that the promise is broken.", shown=True)
    ] = "0.05",
    unit: Annotated[
        str,
        option("cluster|example", "With --clusters, what counts once in the promise.", shown=True),
    ] = "cluster",
    largest_cluster: Annotated[
        int | None, option("M", "With --unit example, the size that no cluster, old or new, exceeds.")
    ] = None,
    clades: Annotated[
        str | None,
        option("RANK|DEPTH", "A threshold for each clade at this rank or depth, by the most likely tip."),
    ] = None,
    pool_small: Annotated[
        bool,
        option(None, "Pool groups or clades that have too few examples for a promise.", "--pool-small"),
    ] = False,
    pool_sizes: Annotated[
        Path | None,
        option(
            "FILE",
            "Pool by sizes from elsewhere: a table with the columns name, size (with --clusters, in clusters).",
        ),
    ] = None,
    per_rank: Annotated[
        str | None,
        option(
            "RANK=LEVEL,...",
            "Instead of a target: the share of examples not answered wrongly at each rank (or depth).",
        ),
    ] = None,
    overclassification: Annotated[
        str | None,
        option(
            "RANK=SHARE,...",
            "The share of examples of unknown taxa that may be given a name at a rank. Their labels lie "
            "above nodes of that rank; --clusters says which taxon each is.",
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        option("FILE", "The shares of classes where the point will be used: a table of class and share."),
    ] = None,
    like: Annotated[
        Path | None,
        option("SCORES", "New scores without labels, from which these shares are estimated."),
    ] = None,
    rule: Annotated[
        str,
        option(
            "RULE",
            f"Which answers: {', '.join(FAMILIES)}; the last is (I + λ) q.",
            shown=True,
        ),
    ] = "threshold",
    bounds: Annotated[
        str | None, option("LOW,HIGH", "The smallest and largest value of a metric that is not a fraction.")
    ] = None,
    temperature: TemperatureOption = None,
) -> None:
    """Choose how cautious to be, so that a promise holds for new examples.

    The examples must not have been used to train the model.
    """
    from hedgerow import choose
    from hedgerow.show import print_point, print_text

    for remote in filter(is_remote, given.scores):
        raise ParameterError(
            f"{remote} is not on this machine, and select reads its examples twice: copy it first."
        )
    reading, answers = given.reading, "answers/*.csv" if given.is_many else "answers.csv"
    check_outputs(output, json_file, inputs=given.inputs(temperature, pool_sizes, expect, like))
    opened, divided_by = given.tempered(given.open_parts(), temperature)
    clusters, groups = reading.cluster_column is not None, reading.group_column is not None
    if opened.prior is not None and opened.prior.groups is not None:
        groups = False  # they are those of the prior
    spec = choose.SelectionSpec.of(
        opened.hierarchy,
        target=None if target is None else _target(target),
        per_rank=_levels("--per-rank", per_rank),
        overclassification=_levels("--overclassification", overclassification),
        guarantee=guarantee,
        delta=delta,
        among=among,
        unit=unit,
        largest_cluster=largest_cluster,
        pool_small=pool_small if pool_sizes is None else read_shares(pool_sizes, "size", "name"),
        clades=clades,
        rule=rule,
        bounds=_bounds(bounds),
        settings=settings.over(opened.settings),
        by_group=groups,
        weighted=reading.weight_column is not None,
        expect=None if expect is None else read_shares(expect),
        like=like is not None,
    )
    wanted: dict[str, Any] = {"groups": groups, "clusters": clusters or None, "weights": spec.weighted}
    examples = choose.gather(spec, opened, None, **wanted, progress=bar)
    if like is not None:
        unlabelled = replace(given, scores=[str(like)], data=None, reading=given.unlabelled()).open(labels=False)
        spec = choose.expecting(spec, examples, opened, unlabelled.tempered(divided_by))
    point = choose.choose(spec, examples)
    explanation = choose.describe(spec, examples, point, lambda: opened)
    point.save(output)
    others = {
        "clades": clades,
        "rule": None if rule == "threshold" else rule,
        "unit": None if unit == "cluster" else unit,
        "largest_cluster": largest_cluster,
        "pool_sizes": pool_sizes,
        "expect": expect,
        "like": like,
        "bounds": bounds,
        "temperature": temperature,
    }
    other = [*given.arguments, *given.tree_arguments, *reading.arguments, *settings.arguments]
    other += options(
        pool_small=pool_small, **{name: str(each) for name, each in others.items() if each is not None}
    )
    for warning in opened.warnings:
        print_text(Console(stderr=True), f"Warning: {warning}\n", "yellow")
    print_point(
        explanation,
        Console(),
        then=shlex.join(["hedgerow", "predict", *_next(given), "--point", str(output), "-o", answers]),
        select=shlex.join(["hedgerow", "select", *other]),
    )
    typer.echo(f"The point is in {output}.", err=True)
    if json_file is not None:
        content = {key: value for key, value in point.to_dict().items() if key != "tree"}
        write_json(json_file, {"point": content, **explanation.to_dict()})


def _next(given: ScoreInput) -> list[str]:
    """Return the words that name new scores, and how they are read: like those of the calibration examples."""
    reading, first = given.reading, given.files[0]
    later = replace(given.unlabelled(), group_column=reading.group_column)
    facts = (later.group_column, later.event_column, later.weight_column)
    if any(facts) and reading.labels_file is not None:
        facts_file = f"NEW-FACTS{_endings(Path(reading.labels_file))}"
        later = replace(later, labels_file=facts_file, id_column=reading.id_column)
    if is_run(first):
        return [given.scores[0], "--data", "NEW", *later.arguments]
    return [f"{'NEW/*' if given.is_many else 'NEW'}{_endings(first)}", *later.arguments]


def _endings(path: Path) -> str:
    """Return all that follows the stem of a name, such as `.csv.gz`."""
    return path.name[len(stem(path)) :]


def _target(given: str) -> tuple[str, str]:
    name, level = (part.strip() for part in given.partition("=")[::2])
    if is_number(level.replace(",", ".")):
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
