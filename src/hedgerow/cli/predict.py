"""`hedgerow predict`: answer every example."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

from hedgerow.cli.options import ANSWER, GivenSettings, JsonOption, TemperatureOption, as_number, option, verb
from hedgerow.cli.outputs import bar, check_outputs
from hedgerow.cli.score_input import ScoreInput, connected, end_with_failures, parts_bar, standard_input
from hedgerow.errors import ParameterError, options
from hedgerow.files import write_json
from hedgerow.infer import RULES, answering_rule
from hedgerow.score_files import PREDICTION_FORMATS, STDOUT, Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.choose import OperatingPoint


@verb(
    "hedgerow predict scores.npz --tree tree.csv --tau 0.8 -o answers.csv",
    "hedgerow predict new.npz --point point.json -o answers.csv",
    "hedgerow predict scores.csv --tree tree.csv --rule majority -o answers.parquet",
    "hedgerow predict 'scores/*.npz' --tree tree.csv --tau 0.8 -o 'answers/*.csv'",
    "hedgerow predict runs/quick --tau 0.8 -o answers.csv",
    "hedgerow predict - --point point.json -o - < new.csv",
    panel=ANSWER,
    first=("tree", "tau", "point", "output"),
    without=("below_label",),
)
def predict(
    given: ScoreInput,
    settings: GivenSettings,
    output: Annotated[
        Path,
        option(
            "FILE",
            "Where to write: .csv, .tsv, .parquet, .json, .jsonl; - for lines of JSON on standard output; "
            "'answers/*.csv' for parts.",
            "-o",
            "--output",
        ),
    ],
    json_file: JsonOption = None,
    tau: Annotated[
        str | None, option("X", "Answer with the most specific class that is more likely than X, from 0 to 1.")
    ] = None,
    rule: Annotated[
        str | None,
        option(
            "NAME",
            "Another rule: climbing (with --tau) goes up from the most likely class, or a tool's own answer; "
            f"{', '.join(RULES)} need no threshold.",
        ),
    ] = None,
    point: Annotated[
        Path | None, option("FILE", "Answer at the operating point that hedgerow select wrote.")
    ] = None,
    temperature: TemperatureOption = None,
    layout: Annotated[
        str,
        option(
            "FORMAT",
            f"What to write: {', '.join(PREDICTION_FORMATS)} (a table, a taxonomy.tsv, or observations).",
            "--as",
            shown=True,
        ),
    ] = "table",
    spreadsheet_safe: Annotated[
        bool,
        option(
            None,
            "In CSV, write ' before texts that look like formulas.",
            "--spreadsheet-safe",
        ),
    ] = False,
) -> None:
    """Write an answer for every example: name, rank or depth, confidence, lineage.

    SCORES may be -, for a table on standard input.
    """
    with standard_input(given) as scores:
        _predict(scores, settings, output, json_file, tau, rule, point, temperature, layout, spreadsheet_safe)


def _predict(
    given: ScoreInput,
    settings: GivenSettings,
    output: Path,
    json_file: Path | None,
    tau: str | None,
    rule: str | None,
    point: Path | None,
    temperature: str | None,
    layout: str,
    spreadsheet_safe: bool,
) -> None:
    from hedgerow.choose import OperatingPoint
    from hedgerow.score_files import check_layout, write_predictions
    from hedgerow.show.printed_evaluation import print_written
    from hedgerow.show.printed_point import meaning, promises
    from hedgerow.show.terminal import print_text

    threshold, to_stdout = as_number("tau", tau), str(output) == STDOUT
    console = Console(stderr=to_stdout)
    if to_stdout and given.is_many:
        raise ParameterError("Parts are written to files: give -o 'answers/*.csv'.")
    if not given.is_many:
        output = output.parent / output.name.replace("*", given.name)  # as for parts
        outputs = [json_file] if to_stdout else [output, json_file]
        check_outputs(*outputs, inputs=given.inputs(point, temperature))
    check_layout(output, layout, spreadsheet_safe)
    if (point, tau, rule) == (None, None, None):
        raise ParameterError(
            "Choose how to answer: with --point FILE, a point that hedgerow select wrote; with a threshold, such "
            "as --tau 0.8; or by a rule, such as --rule majority."
        )
    if point is None:
        answering_rule(threshold, rule)  # refuse a bad threshold or rule before anything is read
        if given.reading.group_column is not None and given.reading.prior is None:
            raise ParameterError(
                "--groups is for operating points and priors that depend on them: give --point or --prior FILE "
                "too."
            )
    else:
        if fixed := options(tau=tau, rule=rule, temperature=temperature) + settings.arguments:
            raise ParameterError(
                f"A point has its own threshold, settings and temperature: leave out {fixed[0]}, or --point."
            )
    chosen = None if point is None else OperatingPoint.load(point)
    if chosen is not None:  # without events, their column would be taken for a class
        chosen.check_treatment(replace(chosen.treatment, pool=given.reading.pooling))
    written_as: dict[str, Any] = {"layout": layout, "spreadsheet_safe": spreadsheet_safe}
    if given.is_many:
        if temperature is not None:
            raise ParameterError("--temperature is for one file, not for parts: leave it out.")
        used = chosen.settings if chosen else settings.over(given.usual_settings())
        answering = chosen or answering_rule(threshold, rule, used)
        written = _write_parts(given, output, json_file, answering, written_as, point)
    else:
        opened, _ = given.tempered(given.open(labels=False, known=chosen and chosen.hierarchy), temperature)
        used = chosen.settings if chosen else settings.over(opened.settings)
        if chosen is not None:
            opened = chosen.prepared(opened)
        answers = chosen.answer if chosen else answering_rule(threshold, rule, used)
        more = None if chosen is None else chosen.columns
        written = write_predictions(output, opened, answers, more=more, progress=bar, **written_as)
    if chosen is not None:
        for line in (*promises(chosen), meaning(chosen)):
            print_text(console, line)
    print_written(written, "standard output" if to_stdout else str(output), console, used)
    if json_file is not None:
        write_json(
            json_file,
            {
                "output": str(output),
                "tau": threshold,
                "rule": rule,
                "point": None if chosen is None else chosen.promise,
                **written.to_dict(),
            },
        )


def _write_parts(
    given: ScoreInput,
    output: Path,
    json_file: Path | None,
    answering: Callable[..., Any] | OperatingPoint,
    written_as: dict[str, Any],
    point: Path | None,
) -> Written:
    """Write the answers to every part; if some fail, finish the others and end."""
    from hedgerow import cluster
    from hedgerow.choose import OperatingPoint

    known = answering.hierarchy if isinstance(answering, OperatingPoint) else None
    hierarchy, parts = given.tree_of_parts(known), cluster.expand(given.scores)
    outputs = [Path(path) for path in cluster.output_names(parts, str(output)).values()]
    check_outputs(json_file, *outputs, folder=output.parent, inputs=given.inputs(point))
    try:
        with connected(given.workers, given.scheduler) as client:
            return cluster.predict(
                parts,
                hierarchy,
                answering,
                output,
                client,
                reading=given.reading,
                progress=parts_bar,
                **written_as,
            )
    except cluster.PartsError as error:
        end_with_failures(error, f"The answers to the other parts are in {output}.")
