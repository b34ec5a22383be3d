"""Groups of options as dataclasses: a verb takes a group as one parameter, and gets an option for each field."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    final,
    get_args,
    get_type_hints,
)

import typer

from hedgerow.errors import option_name, options
from hedgerow.score_files import FORMATS
from hedgerow.tree import BelowLabel, InformationKind, Settings, SingleChild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@final
@dataclass(frozen=True)
class GivenSettings:
    """The settings that were given; the others have their defaults, or are those of an evaluation that is read."""

    panel: ClassVar[str] = "What counts as specific and as right"
    information: InformationKind | None = field(
        default=None,
        metadata={
            "help": "How to measure specificity: by the leaves a node rules out, in bits, or by its depth.",
            "metavar": "|".join(get_args(InformationKind)),
            "shown": "leaves",
        },
    )
    single_child: SingleChild | None = field(
        default=None,
        metadata={
            "help": "Whether a node with one child is an answer of its own.",
            "metavar": "|".join(get_args(SingleChild)),
            "shown": "skip; answer for "
            + ", ".join(name for name, known in FORMATS.items() if known.settings != Settings()),
        },
    )
    below_label: BelowLabel | None = field(
        default=None,
        metadata={
            "help": "What an answer below its label counts as; 'wrong' for labels that mean \"none of these\".",
            "metavar": "|".join(get_args(BelowLabel)),
            "shown": "label",
        },
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Those that were given, as keywords of `evaluate` and `select`."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def over(self, usual: Settings) -> Settings:
        """Return the settings: those that were given, else the usual ones."""
        return Settings(**vars(usual) | self.keywords)

    @property
    def arguments(self) -> list[str]:
        """The command-line arguments that give these settings."""
        return options(**self.keywords)


def grouped_options(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb the options of its parameters that are dataclasses; a field may be a dataclass itself.

    A field is an option if its type is annotated with one, or if its metadata hold its `help`; they may also hold
    a `metavar` and the default that is `shown`.

    Parameters
    ----------
    without
        Fields that the verb does not take as options.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(verb, include_extras=True)
        own, nested = list[inspect.Parameter](), list[inspect.Parameter]()
        groups: dict[str, Any] = {}
        for name, given in inspect.signature(verb).parameters.items():
            if is_dataclass(hints[name]):
                groups[name] = hints[name]
                for parameter, in_panel in _parameters(hints[name], without):
                    (nested if in_panel else own).append(parameter)
            else:
                own.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))
        own.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)

        @wraps(verb)
        def command(**given: Any) -> None:
            made = {name: _made(group, given) for name, group in groups.items()}
            verb(**given, **made)

        signature = inspect.Signature([*own, *nested])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {name: given.annotation for name, given in signature.parameters.items()}
        return command

    return decorate


def _parameters(
    group: Any, without: Sequence[str], *, inner: bool = False
) -> Iterator[tuple[inspect.Parameter, bool]]:
    """Yield a parameter for each field of a group, and whether it belongs to a group with a panel of its own."""
    panel = getattr(group, "panel", None)
    for each in fields(group):
        hint = _option(each, panel) if "help" in each.metadata else _hint(group, each)
        if is_dataclass(hint):
            yield from _parameters(hint, without, inner=True)
        elif each.name not in without:
            default = None if each.default == () else each.default
            yield (
                inspect.Parameter(
                    each.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if default is MISSING else default,
                    annotation=hint,
                ),
                inner or panel is not None,
            )


def _hint(group: Any, given: Field[Any]) -> Any:
    return get_type_hints(group, include_extras=True)[given.name]


def _option(given: Field[Any], panel: str | None) -> Any:
    """Return the type of an option, a flag, a repeated text or a text, with what the field says about it."""
    about = given.metadata
    kind: Any = bool if isinstance(given.default, bool) else list[str] if given.default == () else str
    return Annotated[
        kind | None if given.default in (None, ()) else kind,
        typer.Option(
            option_name(given.name),
            help=about["help"].replace("{formats}", ", ".join(FORMATS.names())),
            metavar=about.get("metavar"),
            show_default=about.get("shown", given.default not in (None, (), False)),
            rich_help_panel=panel,
        ),
    ]


def _made(group: Any, given: dict[str, Any]) -> Any:
    """Make a group of the options that were given, and take them away."""
    content: dict[str, Any] = {}
    for each in fields(group):
        if each.name in given:
            value = given.pop(each.name)
            content[each.name] = tuple(value or ()) if each.default == () else value
        elif "help" not in each.metadata and is_dataclass(kind := _hint(group, each)):
            content[each.name] = _made(kind, given)
    return group(**content)
