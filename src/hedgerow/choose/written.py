"""What people write: numbers without rounding, texts as options have them, tables.

In floating-point numbers, ``ceil(100 * 0.55)`` is 56.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError, argument
from hedgerow.files import is_number
from hedgerow.score_files import read_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def exactly(number: object) -> Fraction:
    """Return a number as the decimal that the user wrote.

    >>> exactly(0.1), Fraction(0.1) == exactly(0.1)
    (Fraction(1, 10), False)
    """
    return number if isinstance(number, Fraction) else Fraction(str(number))


def exact_number(name: str, value: object) -> Fraction:
    """Return a number as the user wrote it; anything else is an error that names it.

    >>> exact_number("delta", "5 %")
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: delta must be a number, not '5 %': write 0.05.
    """
    try:
        return exactly(value)
    except (ValueError, ZeroDivisionError):
        plain, remedy = str(value).replace(",", ".").rstrip("% "), ""
        if is_number(plain):
            remedy = f": write {float(plain) / 100 if '%' in str(value) else float(plain):g}"
        raise ParameterError(f"{name} must be a number, not {value!r}{remedy}.") from None


def read_target(given: Any) -> tuple[Any, Fraction]:
    """Read a metric and its level: a pair, or METRIC=LEVEL."""
    pair = [part.strip() for part in given.partition("=")[::2]] if isinstance(given, str) else given
    if not isinstance(pair, tuple | list) or len(pair) != 2 or "" in map(str, pair):
        example = argument("target", "correct=0.95", python="target=('correct', 0.95)")
        raise ParameterError(f"A target is a metric and its level, such as {example}, not {given!r}.")
    return pair[0], exact_number("The level of the target", pair[1])


def read_levels(name: str) -> Callable[[Any], dict[str, Fraction]]:
    """Return a function that reads levels by rank: a mapping, or RANK=LEVEL,..."""

    def read(given: Any) -> dict[str, Fraction]:
        if isinstance(given, str):
            parts = (part.rpartition("=") for part in given.split(","))
            pairs = [(rank.strip(), level.strip()) for rank, _, level in parts]
        else:
            pairs = [(str(rank), level) for rank, level in getattr(given, "items", dict)()]
        if given and (not pairs or any("" in pair for pair in pairs)):
            example = argument(name, "genus=0.9,species=0.8", python=f"{name}={{'genus': 0.9}}")
            raise ParameterError(f"{name} gives a level for each rank, such as {example}, not {given!r}.")
        levels = {rank: exact_number(f"{name}[{rank!r}]", level) for rank, level in pairs}
        if len(levels) < len(pairs):
            twice = next(rank for i, (rank, _) in enumerate(pairs) if rank in dict(pairs[:i]))
            raise ParameterError(f"{name} has two levels of {twice!r}: {given!r}. Leave out one.")
        return levels

    return read


def read_bounds(given: Any) -> tuple[float, float]:
    """Read the smallest and the largest value of a metric: a pair, or LOW,HIGH."""
    try:
        low, high = (float(bound) for bound in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        low = high = 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        example = argument("bounds", "0,6", python="bounds=(0, 6)")
        raise ParameterError(
            f"bounds must be two finite numbers, the smaller one first, such as {example}, not {given!r}."
        )
    return low, high


def read_table(name: str, what: str, columns: tuple[str, str]) -> Callable[[Any], dict[str, Fraction]]:
    """Return a function that reads numbers by name: a mapping, or the path of a table with these columns."""

    def read(given: Any) -> dict[str, Fraction]:
        pairs: Mapping[Any, Any] = given if hasattr(given, "items") else read_shares(given, *columns)
        found = {}
        for key, value in pairs.items():
            try:
                found[str(key)] = exact_number(name, value)
            except ParameterError:
                found[str(key)] = Fraction(-1)
            if found[str(key)] < 0:
                raise ParameterError(f"{what} of {key!r} must be a number from 0 on, not {value!s}.")
        if not found:
            raise ParameterError(f"{name} lists nothing: give at least one {columns[1]}.")
        return found

    return read


def read_unit(given: Any) -> str:
    """Read what counts once in a promise."""
    if given not in ("cluster", "example"):
        raise ParameterError(f"unit must be 'cluster' or 'example', not {given!r}.")
    return str(given)


def read_size(given: Any) -> int:
    """Read the size that no cluster exceeds."""
    whole = isinstance(given, int | np.integer) or (isinstance(given, str) and given.isdecimal())
    if not whole or int(given) < 1:
        raise ParameterError(f"largest_cluster must be a whole number, 1 or more, not {given!r}.")
    return int(given)


def read_number(name: str) -> Callable[[Any], Fraction]:
    """Return a function that reads a number, and calls it by its name in errors."""
    return lambda given: exact_number(name, given)
