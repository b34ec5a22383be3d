"""Verbs of the command, and options that several of them have, one by one and in groups.

A group is a dataclass: a verb takes it as one parameter, and gets an option for each field.
"""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from hedgerow.cli.app import app
from hedgerow.errors import ParameterError, option_name, options
from hedgerow.files import is_number
from hedgerow.infer import RULES
from hedgerow.score_files import FORMATS, ScoreReading
from hedgerow.tree import BelowLabel, InformationKind, Settings, SingleChild, TreeReading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def option(
    metavar: str | None, text: str, *names: str, shown: str | bool = False, panel: str | None = None, **more: Any
) -> Any:
    """Return an option of a verb.

    Parameters
    ----------
    metavar
        What to give; None for a flag.
    text
        The help.
    names
        Such as "-o"; by default, the name of the parameter.
    shown
        The default as the help shows it; True for the default itself.
    panel
        The panel of the help, one of `PANELS`.
    more
        Other arguments of `typer.Option`.
    """
    return typer.Option(*names, metavar=metavar, help=text, show_default=shown, rich_help_panel=panel, **more)


def positional(metavar: str, text: str) -> Any:
    """Return a positional argument of a verb."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


def as_number(name: str, given: str | None) -> float | None:
    """Return the value of an option as a number; None if it was not given."""
    try:
        return None if given is None else float(given)
    except ValueError:
        plain = str(given).replace(",", ".").rstrip("% ")
        remedy = ""
        if is_number(plain):
            remedy = f": write {float(plain) / 100:g}" if "%" in str(given) else ": write its decimal point as '.'"
        raise ParameterError(f"--{name} must be a number, such as 0.9, not {given!r}{remedy}.") from None


JsonOption = Annotated[Path | None, option("FILE", "Write the findings to FILE as JSON.", "--json")]
EvaluationOption = Annotated[Path | None, option("DIR", "Save the evaluation in DIR.", "-o", "--output")]
FigureOption = Annotated[Path | None, option("FILE", "Draw the curves to FILE: .png, .pdf or .svg.")]
RulesOption = Annotated[
    str | None,
    option(
        "RULE,...",
        f"Single rules to mark in the figure: {', '.join(RULES)}; or none.",
        shown="majority,leaf",
    ),
]
MetricsOption = Annotated[
    str | None,
    option(
        "METRIC,...",
        "More metrics, such as edge_distance, one of an installed package, or your own as package.module:metric.",
    ),
]
TableOption = Annotated[
    Path | None,
    option("FILE", "Write tables for a paper (also by rank and class): .csv, .md or .tex."),
]
BootstrapOption = Annotated[int, option("N", "Add intervals from N bootstrap replicates, such as 1000.", min=0)]
ImagesOption = Annotated[
    Path | None, option("DIR", "Folder of the images that the scores name; only images inside it are shown.")
]
TemperatureOption = Annotated[
    str | None,
    option("X|FILE", "Divide the scores by X, or by what fits the held-out scores in FILE best."),
]
RecipeArgument = Annotated[str, positional("RECIPE", "A built-in recipe, or a .toml file.")]
ChangesOption = Annotated[
    list[str] | None, option("KEY=VALUE", "Change the recipe, as in optimiser.lr=0.05; may be repeated.", "--set")
]
RUNS, PARTS = "Training runs", "Scores in parts"
WorkersOption = Annotated[int | None, option("N", "Process parts in N processes, with Dask.", min=1, panel=PARTS)]
SchedulerOption = Annotated[
    str | None,
    option("ADDRESS", "Process parts on a Dask cluster, such as tcp://10.0.0.1:8786.", panel=PARTS),
]


def _choice(text: str, choices: Any, default: str) -> dict[str, str]:
    return {"help": text, "metavar": "|".join(get_args(choices)), "shown": default}


_FORMATS = ", ".join(FORMATS.names())  # once: it asks every installed package
_ANSWERED = ", ".join(name for name, known in FORMATS.items() if known.settings != Settings())


@final
@dataclass(frozen=True)
class GivenSettings:
    """The settings that were given; the others have their defaults, or are those of an evaluation that is read."""

    panel: ClassVar[str] = "What counts as specific and as right"
    information: InformationKind | None = field(
        default=None,
        metadata=_choice(
            "Measure specificity by the leaves that a node rules out, in bits, or by its depth.",
            InformationKind,
            "leaves",
        ),
    )
    single_child: SingleChild | None = field(
        default=None,
        metadata=_choice(
            "Whether a node with one child is an answer of its own.",
            SingleChild,
            f"skip; answer for {_ANSWERED}",
        ),
    )
    below_label: BelowLabel | None = field(
        default=None,
        metadata=_choice(
            "What an answer below its label counts as; 'wrong' for labels that mean \"none of these\".",
            BelowLabel,
            "label",
        ),
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Those that were given, as keywords of `evaluate` and `select`."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def over(self, usual: Settings) -> Settings:
        """Return the settings: those that were given, else the usual ones."""
        return usual.updated(**self.keywords)

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that give these settings."""
        return options(**self.keywords)


_call: ContextVar[dict[str, list[str]]] = ContextVar("_call")
"""What was typed for each parameter of the verb that runs."""

TREES, MEASURE = "Look at a tree", "Measure models"
ANSWER, TRAIN = "Answer with a promise", "Train models"
"""The panels of the verbs."""

PROMISES, MORE = "What is promised", "More options"
PANELS = (None, PROMISES, MORE, ScoreReading.panel, TreeReading.panel, GivenSettings.panel, RUNS, PARTS)
"""The panels of the help, in order; None for the first one."""


def verb(
    *examples: str, panel: str, first: Sequence[str], without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the command, with the options of its parameters that are dataclasses.

    A field of a dataclass is an option if its type is annotated with one, or if its metadata hold its `help`; they
    may also hold a `metavar` and the default that is `shown`. It may be a dataclass itself.

    Parameters
    ----------
    examples
        Command lines for the end of its help.
    panel
        Where it stands in the help of the command.
    first
        The parameters that most people need, at most four: they come first in its help.
    without
        Fields that it does not take as options.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
        parameters: list[inspect.Parameter] = []
        for name, given in inspect.signature(function).parameters.items():
            if name in groups:
                parameters += _parameters(groups[name], without)
            else:
                parameters.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))
        parameters = [_in_panel(parameter, first) for parameter in parameters]
        place = {name: number for number, name in enumerate(first)}
        parameters.sort(key=lambda each: (PANELS.index(_about(each).rich_help_panel), place.get(each.name, -1)))

        @wraps(function)
        def command(**given: Any) -> None:
            words = {parameter.name: _words(parameter, given[parameter.name]) for parameter in parameters}
            _call.set({"": ["hedgerow", function.__name__], **words})
            made = {name: _made(group, given) for name, group in groups.items()}
            function(**given, **made)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        epilog = "\n\n".join(["Examples:", *examples])
        return app.command(rich_help_panel=panel, epilog=epilog)(command)

    return decorate


def _about(parameter: inspect.Parameter) -> Any:
    return parameter.annotation.__metadata__[0]


def _in_panel(parameter: inspect.Parameter, first: Sequence[str]) -> inspect.Parameter:
    """Return an option in its panel of the help."""
    about = copy(_about(parameter))
    if isinstance(about, OptionInfo):
        about.rich_help_panel = None if parameter.name in first else about.rich_help_panel or MORE
    return parameter.replace(annotation=Annotated[parameter.annotation.__origin__, about])


def _parameters(group: Any, without: Sequence[str]) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each field of a group."""
    for each in fields(group):
        if each.metadata and "help" not in each.metadata:
            continue  # no option gives it
        hint = _option(each, group.panel) if each.metadata else _hint(group, each)
        if is_dataclass(hint):
            yield from _parameters(hint, without)
        elif each.name not in without:
            text = each.metadata.get("text", each.default)
            default = None if text == () else text
            yield inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=hint,
            )


def _hint(group: Any, given: Field[Any]) -> Any:
    return get_type_hints(group, include_extras=True)[given.name]


def _option(given: Field[Any], panel: str) -> Any:
    """Return the annotated type of the option for a field: a flag, a repeated text or a text."""
    about = given.metadata
    kind: Any = bool if isinstance(given.default, bool) else list[str] if given.default == () else str
    return Annotated[
        kind | None if given.default in (None, ()) else kind,
        option(
            about.get("metavar"),
            about["help"].replace("{formats}", _FORMATS),
            option_name(given.name),
            shown=about.get("shown", given.default not in (None, (), False)),
            panel=about.get("panel", panel),
        ),
    ]


def _made(group: Any, given: dict[str, Any]) -> Any:
    """Make a group of the options that were given, and take them away; one with `of` reads their texts itself."""
    content: dict[str, Any] = {}
    for each in fields(group):
        if each.name in given:
            value = given.pop(each.name)
            content[each.name] = tuple(value or ()) if each.default == () else value
        elif not each.metadata and is_dataclass(kind := _hint(group, each)):
            content[each.name] = _made(kind, given)
    return getattr(group, "of", group)(**content)


def _words(parameter: inspect.Parameter, value: Any) -> list[str]:
    """Return an argument or option as it was typed; nothing if it has its default."""
    about = _about(parameter)
    if value in (None, [], parameter.default):
        return []
    name = [max(about.param_decls or [option_name(parameter.name)], key=len)] * isinstance(about, OptionInfo)
    if value is True:
        return name
    return [word for each in (value if isinstance(value, list) else [value]) for word in (*name, str(each))]


def call_without(*names: str) -> list[str]:
    """Return the command that runs, as it was typed, without some of its options."""
    return [word for name, words in _call.get().items() if name not in names for word in words]
