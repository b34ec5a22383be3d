"""Tables with a row for each class or group: priors, shares of classes, sizes of groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import InputFile, column_texts, is_number, reading, row_name
from hedgerow.likelihood import Prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy


def _columns(path: str, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, list[str]]:
    """Read a table with the needed columns, the first of names, and perhaps the optional ones, but no others."""
    table = InputFile(path).table
    if other := [column for column in table.columns if column not in (*needed, *optional)]:
        listed, more = (" and ".join(map(repr, names)) for names in (needed, optional))
        raise FileError(
            f"{path} has the column {other[0]!r}; its columns are {listed}{more and f', and optionally {more}'}. "
            f"Rename or remove it."
        )
    there = (*needed, *(column for column in optional if column in table.columns))
    places = {column: table.column(column, f"the {column} of each row") for column in there}
    with reading(path, "a table"):
        columns = table.texts(list(places.values()))
        texts = {column: column_texts(columns[place]) for column, place in places.items()}
    if not texts[needed[0]]:
        raise FileError(f"{path} has a header and no rows; it needs a row for each {needed[0]}.")
    return texts


def _numbers(path: str, column: str, texts: list[str]) -> NDArray[np.float64]:
    """Convert the cells of a column to numbers; NaN where one is empty."""
    for row, text in enumerate(texts):
        if text.strip() and not is_number(text):
            raise FileError(
                f"{path}: {row_name(path, row)} has {text!r} for {column!r}, which is not a number. Correct it."
            )
    return np.array([float(text) if text.strip() else np.nan for text in texts])


def read_shares(path: str | os.PathLike[str], number: str = "share", name: str = "class") -> dict[str, float]:
    """Read a table with two columns: the shares of classes where a model will be used, or the sizes of groups."""
    shown = os.fspath(path)
    texts = _columns(shown, (name, number))
    shares = dict(zip(texts[name], _numbers(shown, number, texts[number]).tolist(), strict=True))
    if len(shares) < len(texts[name]):
        twice = next(each for i, each in enumerate(texts[name]) if each in texts[name][:i])
        raise FileError(f"{shown} lists {twice!r} twice. Keep one of its rows.")
    return shares


def read_prior(
    path: str | os.PathLike[str], hierarchy: Hierarchy, trained: str | os.PathLike[str] | None = None
) -> Prior:
    """Read what lives where: a table with the columns `class`, and optionally `prior` and `group`.

    Parameters
    ----------
    path
        The table. A list without numbers keeps the listed classes; a clade stands for its leaves.
    hierarchy
        The tree.
    trained
        A table of how often the classes occurred in training, with the columns `class` and `prior`.
    """
    shares = None if trained is None else read_shares(trained, "prior")
    shown = os.fspath(path)
    texts = _columns(shown, ("class",), ("prior", "group"))
    numbers = _numbers(shown, "prior", texts["prior"]) if "prior" in texts else None
    return Prior.of(hierarchy, texts["class"], numbers, texts.get("group"), shares, shown)
