"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the findings to FILE as JSON.", show_default=False),
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
ImagesOption = Annotated[
    Path | None,
    typer.Option(
        "--images",
        metavar="DIR",
        help="The folder of the images that the scores name; only images inside it are shown.",
        show_default=False,
    ),
]
