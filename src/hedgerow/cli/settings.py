"""What counts as specific and as right, as options of the verbs that measure or answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, final

import typer

from hedgerow.errors import options
from hedgerow.tree import Settings


class Information(StrEnum):
    """Measures of specificity."""

    leaves = "leaves"
    depth = "depth"


class SingleChild(StrEnum):
    """What a node with one child is."""

    skip = "skip"
    answer = "answer"


class BelowLabel(StrEnum):
    """What an answer below its label counts as."""

    label = "label"
    wrong = "wrong"


@final
@dataclass(frozen=True)
class GivenSettings:
    """The settings that were given; the others have their defaults, or are those of an evaluation that is read."""

    panel: ClassVar[str] = "What counts as specific and as right"
    information: Annotated[
        Information | None,
        typer.Option(
            help="How to measure specificity: by the leaves a node rules out, in bits, or by its depth.",
            show_default="leaves",
        ),
    ] = None
    single_child: Annotated[
        SingleChild | None,
        typer.Option(
            help="Whether a node with one child is an answer of its own.",
            show_default="skip; answer for sintax, rdp, qiime2, speciesnet, pybioclip",
        ),
    ] = None
    below_label: Annotated[
        BelowLabel | None,
        typer.Option(
            help="What an answer below its label counts as; use 'wrong' for labels that mean \"none of these\".",
            show_default="label",
        ),
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Those that were given, as keywords of `evaluate` and `select`."""
        return {name: given.value for name, given in vars(self).items() if given is not None}

    def over(self, **usual: Any) -> Settings:
        """Return the settings: those that were given, else the usual ones."""
        return Settings(**usual | self.keywords)

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that give these settings."""
        return options(**self.keywords)
