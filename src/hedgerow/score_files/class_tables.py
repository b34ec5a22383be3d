"""Tables with a row for each class or group: priors, shares of classes, sizes of groups."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import column_texts, is_number, open_table, reading, row_name
from hedgerow.likelihood import Prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy


@final
@dataclass(frozen=True, eq=False)
class ClassTable:
    """The columns of a table of classes."""

    classes: list[str]
    numbers: NDArray[np.float64] | None
    """NaN where a cell is empty."""
    groups: list[str] | None

    @classmethod
    def read(cls, path: str | os.PathLike[str], number: str, name: str = "class") -> ClassTable:
        """Read a table with a column of names, and optionally `group` and a column of numbers."""
        shown = os.fspath(path)
        table = open_table(shown, None)
        known = (name, number, "group")
        if other := [column for column in table.columns if column not in known]:
            raise FileError(
                f"{shown} has the column {other[0]!r}; its columns are {name!r}, and optionally {number!r} and "
                f"'group'. Rename or remove it."
            )
        there = [column for column in known if column in table.columns or column == name]
        places = {column: table.column(column, f"the {column} of each row") for column in there}
        with reading(shown, "a table"):
            columns = table.texts(list(places.values()))
            texts = {column: column_texts(columns[place]) for column, place in places.items()}
        if not texts[name]:
            raise FileError(f"{shown} has a header and no rows; it needs a row for each {name}.")
        numbers = None
        if number in texts:
            for row, text in enumerate(texts[number]):
                if text.strip() and not is_number(text):
                    where = row_name(shown, row)
                    raise FileError(f"{shown}: {where} has {text!r} for {number!r}, which is not a number.")
            numbers = np.array([float(text) if text.strip() else np.nan for text in texts[number]])
        return cls(texts[name], numbers, texts.get("group"))


def read_shares(path: str | os.PathLike[str], number: str = "share", name: str = "class") -> dict[str, float]:
    """Read a table with two columns: the shares of classes where a model will be used, or the sizes of groups."""
    table = ClassTable.read(path, number, name)
    if table.numbers is None or table.groups is not None:
        raise FileError(f"{os.fspath(path)} must have the columns {name!r} and {number!r}, and no others.")
    shares = dict(zip(table.classes, table.numbers.tolist(), strict=True))
    if len(shares) < len(table.classes):
        twice = next(name for i, name in enumerate(table.classes) if name in table.classes[:i])
        raise FileError(f"{os.fspath(path)} lists {twice!r} twice. Keep one of its rows.")
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
    table = ClassTable.read(path, "prior")
    return Prior.of(hierarchy, table.classes, table.numbers, table.groups, shares, os.fspath(path))
