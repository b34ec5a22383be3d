"""Errors, named by cause, and functions that build their messages.

In come an offender, its location and a remedy; out goes a `HedgerowError`, which the command prints without a
traceback. Every other package raises these.
"""

from __future__ import annotations

import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import SequenceMatcher, get_close_matches
from numbers import Integral, Real
from types import FrameType  # noqa: TC003
from typing import Any


class HedgerowError(ValueError):
    """An error in the input; the message says what is wrong, where, and what to do."""


def warn(message: str) -> None:
    """Warn at the line of the caller's own code: the first frame outside hedgerow."""
    level, _ = _outermost()
    warnings.warn(message, stacklevel=level + 1)


def _outermost() -> tuple[int, FrameType]:
    """Return the function of hedgerow that the user's own code called, and how many frames it is up from here."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_back):
        level, frame = level + 1, frame.f_back
    return level, frame


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "hedgerow"


def refuse_keywords(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a TypeError about keywords that the function which the user called does not have."""
    listed = list(known)
    unknown = next((name for name in given if name not in listed), None)
    if unknown is not None:
        code = _outermost()[1].f_code
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        known_here = [*(name for name in own if name not in ("self", "cls")), *listed]
        near = closest([unknown], known_here)
        raise TypeError(
            f"{code.co_qualname}() has no keyword {unknown!r}.{near} Its keywords: {', '.join(known_here)}."
        )


class TreeError(HedgerowError):
    """The tree is not a tree: several roots or parents, a cycle, an empty or repeated name."""


class UnknownNameError(HedgerowError):
    """A name is not in the tree, or a required name is missing."""


class ScoreError(HedgerowError):
    """Scores, labels or weights have the wrong shape or impossible values."""


class FileError(HedgerowError):
    """A file cannot be read or written: it is missing, truncated, not UTF-8, or in another format."""


class ParameterError(HedgerowError):
    """An argument has a value that is not allowed."""


# Numbers and lists of names -----------------------------------------------------------------------------


def some(names: Iterable[str], limit: int = 5) -> str:
    """Quote the first few names: "'a', 'b' and 7 more"."""
    listed = list(names)
    shown = ", ".join(map(repr, listed[:limit]))
    if len(listed) > limit:
        return f"{shown} and {len(listed) - limit:,} more"
    head, _, last = shown.rpartition(", ") if len(listed) == 2 else ("", "", shown)
    return f"{head} and {last}" if head else last


def itemised(*kinds: tuple[list[str], str]) -> str:
    """Count names of several kinds, and quote some of each; empty kinds are left out.

    >>> itemised((["robin"], "repeated"), ([], "missing"), (["a", "b"], "not in the tree"))
    "1 repeated ('robin'); 2 not in the tree ('a' and 'b')"
    """
    return "; ".join(f"{len(names):,} {kind} ({some(names)})" for names, kind in kinds if names)


def counted(count: int, one: str, many: str) -> str:
    """Return a count with the singular or plural of a word."""
    return f"{count:,} {one if count == 1 else many}"


def a_number(value: Any, name: str) -> float:
    """Return the value of an argument as a float; raise an error if it is not a number."""
    try:
        if not isinstance(value, str):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ParameterError(f"{name} must be a number, not {value!r}.")


def check_number(name: str, value: Any, least: float, most: float = math.inf, *, with_ends: bool = True) -> None:
    """Raise an error unless the value of an argument is a finite number in a range, with or without its ends.

    >>> check_number("tau", 80, 0, 1)
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: tau must lie between 0 and 1, not 80. For 80 %, write 0.8.
    """
    number = a_number(value, name)
    if not (least <= number <= most if with_ends else least < number < most) or math.isinf(number):
        wanted = f"be {least:g} or more" if math.isinf(most) else f"lie between {least:g} and {most:g}"
        raise ParameterError(f"{name} must {wanted}, not {number:.12g}.{of_per_cent(number) if most == 1 else ''}")


def check_each(name: str, shape: tuple[int, ...], examples: int) -> None:
    """Raise an error unless an argument has one entry per example."""
    if shape != (examples,):
        got = f"{shape[0]:,}" if len(shape) == 1 else f"shape {shape}"
        raise ScoreError(f"{name} needs one entry per example, {examples:,}; got {got}.")


def check_kinds(owner: str, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise an error if a parameter does not have the type of its default: bool, number, whole number.

    >>> check_kinds("The model 'mlp'", {"dropout": 0.1, "scale_inputs": False}, {"scale_inputs": "False"})
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: The model 'mlp': scale_inputs must be true or false, not 'False'.
    """
    for key, value in given.items():
        default = defaults.get(key)
        if isinstance(default, bool):
            wanted, good = "true or false", isinstance(value, bool)
        elif isinstance(default, int):
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            wanted, good = "a whole number, 0 or more", whole and value >= 0
        else:
            number = isinstance(value, Real) and not isinstance(value, bool)
            wanted, good = "a number", number or not isinstance(default, float)
        if not good:
            raise ParameterError(f"{owner}: {key} must be {wanted}, not {value!r}.")


# Suggestions for misspelt names --------------------------------------------------------------------------

_COMPARED = 1_000  # a comparison takes about 20 microseconds
_MISSPELT = 5  # how many names get a suggestion
_CUTOFF = 0.75


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` known names spelt like `name`, closest first, in bounded time.

    >>> nearest("robbin", ["robin", "wren", "Robinia"])
    ['robin', 'Robinia']
    """
    folded = _folded(name)
    reach = max(2, len(name) // 4)
    others = [other for other in known if abs(len(other) - len(name)) <= reach]
    same = [other for other in others if _folded(other) == folded] if len(others) <= 100_000 else []
    if len(others) > _COMPARED:
        # A name with a typo in one place keeps its beginning or its end.
        others = list(dict.fromkeys(_narrowed(others, name, end=False) + _narrowed(others, name, end=True)))
    spellings: dict[str, list[str]] = {}
    for other in others:
        spellings.setdefault(_folded(other), []).append(other)
    near = [other for match in get_close_matches(folded, spellings, count, _CUTOFF) for other in spellings[match]]
    ranked = sorted(dict.fromkeys(same + near), key=lambda other: -SequenceMatcher(None, name, other).ratio())
    return ranked[:count]


def _narrowed(others: list[str], name: str, *, end: bool) -> list[str]:
    """Return at most `_COMPARED` names that share the longest beginning (or end) with a name."""
    low, high = 0, len(name)  # some names share `low` letters, none share more than `high`
    while low < high and len(others) > _COMPARED:
        middle = (low + high + 1) // 2
        part = name[len(name) - middle :] if end else name[:middle]
        sharing = [other for other in others if (other.endswith(part) if end else other.startswith(part))]
        if sharing:
            others, low = sharing, middle
        else:
            high = middle - 1
    return others[:_COMPARED]


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def closest(names: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence to append to an error about unknown names; '' if no known name is close.

    >>> closest(["robbin"], ["robin", "wren"])
    " Did you mean 'robin'?"
    >>> closest(["robbin", "wrn", "xyzzy"], ["robin", "wren"])
    " Did you mean 'robin' for 'robbin', 'wren' for 'wrn'?"
    """
    asked = [str(name) for name in names][:_MISSPELT]
    others = list(known)
    if len(asked) == 1:
        return _did_you_mean(list(map(repr, nearest(asked[0], others))))
    return _did_you_mean(
        [f"{near[0]!r} for {name!r}" for name in asked if (near := nearest(name, others, 1))], ", "
    )


def no_such(what: str, name: str, choices: Iterable[str]) -> str:
    """Return a message about an unknown name: the choices, and which is probably meant.

    >>> no_such("method", "softmax", ["hxe", "ps-softmax"])
    "There is no method 'softmax'. There are hxe, ps-softmax. Did you mean 'ps-softmax'?"
    """
    spellings = {_folded(choice): choice for choice in choices}
    near = [repr(spellings[match]) for match in get_close_matches(_folded(name), spellings)]
    return f"There is no {what} {name!r}. There are {', '.join(spellings.values())}.{_did_you_mean(near)}"


def _did_you_mean(suggestions: list[str], last: str = " or ") -> str:
    if not suggestions:
        return ""
    *before, final = suggestions
    return f" Did you mean {', '.join(before) + last if before else ''}{final}?"


# Arguments, written as in Python or as options of the command ------------------------------------------------

Value = str | bool | tuple[str, ...]
"""The value of an option: a string, a flag, or several strings (the option is repeated)."""

_in_command = ContextVar("_in_command", default=False)
_settings = ContextVar[Mapping[str, str] | None]("_settings", default=None)
_OPTIONS = {
    "format": "--tree-format",
    "labels_file": "--labels",
    "group_column": "--groups",
    "cluster_column": "--clusters",
    "event_column": "--events",
    "weight_column": "--weights",
}  # options whose name differs from that of the argument
_DEFAULTS = (None, False, "root", "auto", ".", ())


@contextmanager
def as_options() -> Iterator[None]:
    """Within this block, messages write arguments as command-line options; other threads are not affected."""
    token = _in_command.set(True)
    try:
        yield
    finally:
        _in_command.reset(token)


@contextmanager
def as_settings(keys: Mapping[str, str]) -> Iterator[None]:
    """Within this block, arguments for reading a tree are settings of a recipe, or else options of `tree`.

    Parameters
    ----------
    keys
        The key that an argument has in a recipe.

    >>> with as_settings({"format": "data.tree_format"}), as_options():
    ...     argument("format", "lineages"), argument("na", "NA")
    ('--set data.tree_format=lineages', '--na NA (of `hedgerow tree`, whose output can be data.tree)')
    """
    token = _settings.set(keys)
    try:
        yield
    finally:
        _settings.reset(token)


def of_per_cent(share: float) -> str:
    """Return how to write what looks like a percentage.

    >>> of_per_cent(80), of_per_cent(0.8), of_per_cent(101)
    (' For 80 %, write 0.8.', '', '')
    """
    return f" For {share:g} %, write {share / 100:g}." if 1 < share <= 100 else ""


def argument(name: str, value: Value, *, python: str | None = None, verb: str | None = None) -> str:
    """Write an argument as the user would type it, in Python or on the command line.

    Parameters
    ----------
    name, value
        The argument. The option has the same name, with hyphens for underscores.
    python
        What to write in Python instead.
    verb
        The verb of the command that has the option, if it need not be the one that runs.

    >>> argument("root", "NAME"), argument("disambiguate", True), argument("na", ("NA", "-"))
    ("root='NAME'", 'disambiguate=True', "na=('NA', '-')")
    >>> with as_options():
    ...     argument("root", "NAME"), argument("disambiguate", True), argument("na", ("NA", "-"))
    ('--root NAME', '--disambiguate', "--na NA --na '-'")
    """
    keys = _settings.get()
    if keys is not None and name in keys:
        return _setting(keys[name], value)
    option = " ".join(map(_quoted, _option(name, value)))
    if keys is not None:
        return f"{option} (of `hedgerow tree`, whose output can be data.tree)"
    if _in_command.get():
        return option if verb is None else f"hedgerow {verb} {option}"
    return f"{name}={value!r}" if python is None else python


def in_python(text: str) -> str:
    """Return a part of a message that is not for the command."""
    return "" if _in_command.get() else text


def _setting(key: str, value: Value) -> str:
    if _in_command.get():
        return f"--set {_quoted(f'{key}={value}')}"
    return f"{key.rpartition('.')[2]}={value!r}"


def _quoted(word: str) -> str:
    """Quote a word for a shell, and one without letters or digits so that it is not read as punctuation."""
    safe = shlex.quote(word)
    return safe if safe != word or any(map(str.isalnum, word)) else f"'{word}'"


def option_name(name: str) -> str:
    """Return the command-line option of an argument.

    >>> option_name("group_column"), option_name("id_column")
    ('--groups', '--id-column')
    """
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def _option(name: str, value: Value) -> list[str]:
    option = option_name(name)
    if isinstance(value, bool):
        return [option]
    return [word for text in ([value] if isinstance(value, str) else value) for word in (option, text)]


def options(**given: Value | None) -> list[str]:
    """Write arguments as command-line options, except those at their defaults.

    >>> options(format="lineages", root="root", separator=None, disambiguate=True, na=())
    ['--tree-format', 'lineages', '--disambiguate']
    """
    chosen = {name: value for name, value in given.items() if value is not None and value not in _DEFAULTS}
    return [word for name, value in chosen.items() for word in _option(name, value)]
