"""Numbers as people write them, without rounding: in floating-point numbers, ``ceil(100 * 0.55)`` is 56."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.errors import ParameterError
from hedgerow.files import is_number


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
