"""Reading what users write: exact numbers, texts of options, and tables.

Numbers are read as fractions, because in floating point ``ceil(100 * 0.55)`` is 56. A file has the float that
means the same decimal, or else the fraction as a text: "2/3".
"""

from __future__ import annotations

import math
import os
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError, argument
from hedgerow.files import is_number
from hedgerow.measure import Metric, metrics
from hedgerow.score_files import read_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DIGITS = 100  # of a number, before and behind its point
_MOST = 1 << 40
_QUOTIENT = rf"-?[0-9]{{1,{2 * _DIGITS}}}/[1-9][0-9]{{0,{2 * _DIGITS}}}"
FRACTION = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_QUOTIENT}$"}]}
"""The JSON Schema of a fraction in a file."""


def exactly(number: object) -> Fraction:
    """Return the exact decimal that the user wrote.

    >>> exactly(0.1), Fraction(0.1) == exactly(0.1)
    (Fraction(1, 10), False)
    """
    return number if isinstance(number, Fraction) else Fraction(str(number))


def exact_number(name: str, value: object) -> Fraction:
    """Return the exact decimal that the user wrote; anything but a number is an error that names the argument.

    >>> exact_number("delta", "5 %")
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: delta must be a number, not '5 %': write 0.05.
    """
    try:
        if re.search(r"e[+-]?[0-9_]{4,}$", str(value).strip(), re.IGNORECASE):  # it would fill the memory
            raise ValueError
        number = exactly(value)
    except (ValueError, ZeroDivisionError):
        plain, remedy = str(value).replace(",", ".").rstrip("% "), ""
        if plain != str(value) and is_number(plain) and math.isfinite(float(plain)):
            remedy = f": write {float(plain) / 100 if '%' in str(value) else float(plain):g}"
        raise ParameterError(f"{name} must be a number, not {value!r}{remedy}.") from None
    if max(abs(number.numerator), number.denominator) >= 10**_DIGITS:
        raise ParameterError(f"{name} must be a number of at most {_DIGITS} digits, not {str(value)[:20]!r}.")
    return number


def plain_number(number: Fraction) -> float | str:
    """Return a fraction as a file has it.

    >>> plain_number(Fraction(19, 20)), plain_number(Fraction(2, 3))
    (0.95, '2/3')
    """
    return float(number) if exactly(float(number)) == number else f"{number.numerator}/{number.denominator}"


def from_number(kind: type, given: Any) -> Fraction:
    """Return the fraction that a file has as a number or a text; the reverse of `plain_number`."""
    is_float = isinstance(given, int | float) and not isinstance(given, bool)
    if kind is not Fraction or not (is_float or (isinstance(given, str) and re.fullmatch(_QUOTIENT, given))):
        raise TypeError(f"Expected `float`, got `{type(given).__name__}`")
    return exactly(given)


def read_target(given: Any) -> tuple[Any, Fraction]:
    """Read a metric and its level from a pair or from METRIC=LEVEL."""
    pair = [part.strip() for part in given.partition("=")[::2]] if isinstance(given, str) else given
    if not isinstance(pair, tuple | list) or len(pair) != 2 or "" in map(str, pair):
        example = argument("target", "correct=0.95", python="target=('correct', 0.95)")
        raise ParameterError(f"A target is a metric and its level, such as {example}, not {given!r}.")
    metric = pair[0]
    if isinstance(metric, Metric) and metrics.METRICS.get(metric.name) is metric:
        metric = metric.name
    return metric, exact_number("The level of the target", pair[1])


def read_levels(name: str) -> Callable[[Any], dict[str, Fraction]]:
    """Return a function that reads levels by rank from a mapping or from RANK=LEVEL,..."""

    def read(given: Any) -> dict[str, Fraction]:
        if isinstance(given, str):
            parts = (part.rpartition("=") for part in given.split(","))
            pairs = [(rank.strip(), level.strip()) for rank, _, level in parts]
        else:
            pairs = (
                [(str(rank), level) for rank, level in given.items()] if hasattr(given, "items") else [("", "")]
            )
        if any("" in pair for pair in pairs):
            example = argument(name, "genus=0.9,species=0.8", python=f"{name}={{'genus': 0.9}}")
            raise ParameterError(f"{typed(name)} needs a level for each rank, such as {example}, not {given!r}.")
        levels = {rank: exact_number(f"{typed(name)}: the level of {rank!r}", level) for rank, level in pairs}
        if len(levels) < len(pairs):
            twice = next(rank for i, (rank, _) in enumerate(pairs) if rank in dict(pairs[:i]))
            raise ParameterError(f"{typed(name)} has two levels of {twice!r}: {given!r}. Leave out one.")
        return levels

    return read


def read_bounds(given: Any) -> tuple[float, float]:
    """Read the smallest and largest value of a metric from a pair or from LOW,HIGH."""
    try:
        low, high = (float(bound) for bound in (given.split(",") if isinstance(given, str) else given))
    except (OverflowError, TypeError, ValueError):
        low = high = 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        example = argument("bounds", "0,6", python="bounds=(0, 6)")
        raise ParameterError(
            f"{typed('bounds')} must be two finite numbers, the smaller one first, such as {example}, not "
            f"{given!r}."
        )
    return low, high


def read_table(
    name: str, what: str, columns: tuple[str, str], *, counted: bool = False
) -> Callable[[Any], dict[str, Fraction]]:
    """Return a function that reads numbers by name from a mapping or from the path of a table.

    Parameters
    ----------
    name
        The argument, for error messages.
    what
        What a number is, for error messages: "The size".
    columns
        The columns of the numbers and of the names.
    counted
        Whether True, or "counted", is possible too: no numbers, since they are to be counted.
    """

    def read(given: Any) -> dict[str, Fraction]:
        nothing = hasattr(given, "items") and not len(given)  # as a request that was saved has it
        if counted and (given is True or nothing or (isinstance(given, str) and given == "counted")):
            return {}
        if not hasattr(given, "items") and not (given and isinstance(given, str | os.PathLike)):
            raise ParameterError(
                f"{typed(name)} needs numbers by name, or a table with the columns {columns[1]} and {columns[0]}, "
                f"not {given!r}."
            )
        pairs: Mapping[Any, Any] = given if hasattr(given, "items") else read_shares(given, *columns)
        found = {}
        for key, value in pairs.items():
            found[str(key)] = exact_number(f"{what} of {key!r}", value)
            if found[str(key)] < 0:
                raise ParameterError(f"{what} of {key!r} must be 0 or more, not {value!s}.")
        if not found:
            raise ParameterError(f"{typed(name)} is empty: give at least one {columns[1]}.")
        return found

    return read


def read_unit(given: Any) -> str:
    """Read what counts once in a promise: "cluster" or "example"."""
    if given not in ("cluster", "example"):
        raise ParameterError(f"{typed('unit')} must be 'cluster' or 'example', not {given!r}.")
    return str(given)


def read_size(given: Any) -> int:
    """Read the size of the largest cluster."""
    whole = isinstance(given, int | np.integer) or (isinstance(given, str) and given.strip().isdecimal())
    if not whole or not 1 <= int(given) <= _MOST:
        name = typed("largest_cluster")
        raise ParameterError(f"{name} must be a whole number, 1 or more, not {given!r}.")
    return int(given)


def read_number(name: str) -> Callable[[Any], Fraction]:
    """Return a function that reads a number, and names it in errors."""
    return lambda given: exact_number(typed(name), given)


def check_delta(delta: Fraction) -> None:
    """Refuse a δ that is no probability between 0 and 1."""
    if not 0 < delta < 1:
        raise ParameterError(
            f"{typed('delta')} is the probability of breaking the promise: it must lie between 0 and 1, not "
            f"{float(delta):g}. Give {argument('delta', '0.05')}, for example."
        )


def typed(name: str) -> str:
    """Return the name of an argument as it is typed, in Python or as an option."""
    return argument(name, True, python=name)
