"""What values read from a file must be like: small rules that are put together and called.

A rule takes a value and says where it stands; it raises a ValueError if the value is not as it must be. Call rules
inside `reading`, which names the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Rule: TypeAlias = Callable[[Any, str], None]

_SHOWN = 60  # characters of a value in a message


def text(pattern: str = ".*", *, longest: int = 10_000) -> Rule:
    """Require text that matches a pattern as a whole."""
    wanted = re.compile(pattern, re.DOTALL)

    def rule(value: Any, where: str) -> None:
        if not isinstance(value, str) or len(value) > longest or wanted.fullmatch(value) is None:
            raise _wrong(where, "text" if pattern == ".*" else f"text of the form {pattern}", value)

    return rule


def one_of(*choices: str) -> Rule:
    """Require one of some words."""

    def rule(value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in choices:
            raise _wrong(where, "one of " + ", ".join(choices), value)

    return rule


def whole(low: int, high: int) -> Rule:
    """Require a whole number in a range, both ends included."""

    def rule(value: Any, where: str) -> None:
        if type(value) is not int or not low <= value <= high:
            raise _wrong(where, f"a whole number from {low} to {high}", value)

    return rule


def number(low: float = -math.inf, high: float = math.inf) -> Rule:
    """Require a number in a range, both ends included."""

    def rule(value: Any, where: str) -> None:
        if type(value) not in (int, float) or not low <= value <= high:
            raise _wrong(where, "a number" if math.isinf(low) else f"a number from {low:g} to {high:g}", value)

    return rule


def between(low: float = -math.inf, high: float = math.inf) -> Rule:
    """Require a finite number between two others, both ends excluded."""

    def rule(value: Any, where: str) -> None:
        if type(value) not in (int, float) or not low < float(value) < high:
            ends = [f"{word} {end:g}" for word, end in (("above", low), ("below", high)) if math.isfinite(end)]
            raise _wrong(where, " ".join(["a finite number", " and ".join(ends)]).rstrip(), value)

    return rule


def flag(value: Any, where: str) -> None:
    """Require true or false."""
    if not isinstance(value, bool):
        raise _wrong(where, "true or false", value)


def maybe(other: Rule) -> Rule:
    """Require nothing of null, and another rule of anything else."""

    def rule(value: Any, where: str) -> None:
        if value is not None:
            other(value, where)

    return rule


def listing(each: Rule, *, longest: int = 1_000_000) -> Rule:
    """Require a list in which a rule holds for every entry."""

    def rule(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) > longest:
            raise _wrong(where, f"a list of at most {longest:,} entries", value)
        for place, entry in enumerate(value):
            each(entry, f"{where}[{place}]")

    return rule


def mapping(each: Rule, keys: Rule | None = None) -> Rule:
    """Require an object in which a rule holds for every value, whatever the keys; or a rule for the keys too."""

    def rule(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        for key, entry in value.items():
            if keys is not None:
                keys(key, f"a key of {where}")
            each(entry, f"{where}.{key}"[:_SHOWN])

    return rule


def fields(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """Require an object with certain keys; others are not looked at.

    >>> fields({"seed": whole(0, 9)})({"seed": 10}, "cell")
    Traceback (most recent call last):
    ValueError: cell.seed must be a whole number from 0 to 9, not 10
    """

    def rule(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        for key, each in required.items():
            if key not in value:
                raise ValueError(f"{where} has no {key!r}")
            each(value[key], f"{where}.{key}")
        for key, each in (optional or {}).items():
            if key in value:
                each(value[key], f"{where}.{key}")

    return rule


def exactly(wanted: Mapping[str, Rule]) -> Rule:
    """Require an object with certain keys and no others."""
    there = fields(wanted)

    def rule(value: Any, where: str) -> None:
        there(value, where)
        for key in value:
            if key not in wanted:
                raise ValueError(f"{where} must not have {key[:_SHOWN]!r}")

    return rule


def anything(_: Any, __: str) -> None:
    """Require nothing."""


def _wrong(where: str, wanted: str, value: Any) -> ValueError:
    shown = repr(value) if isinstance(value, str | int | float | bool | None) else f"a {type(value).__name__}"
    return ValueError(f"{where} must be {wanted}, not {shown[:_SHOWN]}")
