"""Tables with a row for each class: priors, and shares of classes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import column_texts, open_table, reading
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
    def read(cls, path: str | os.PathLike[str], number: str) -> ClassTable:
        """Read a table with a column `class`, and optionally `group` and the column `number`."""
        shown = os.fspath(path)
        table = open_table(shown, None)
        known = ("class", number, "group")
        if other := [name for name in table.columns if name not in known]:
            raise FileError(
                f"{shown} has the column {other[0]!r}; its columns are 'class', and optionally {number!r} and "
                f"'group'. "
                f"Rename or remove it."
            )
        names = [name for name in known if name in table.columns or name == "class"]
        places = {name: table.column(name, f"the {name} of each row") for name in names}
        with reading(shown, "a table"):
            columns = table.texts(list(places.values()))
            texts = {name: column_texts(columns[place]) for name, place in places.items()}
        if not texts["class"]:
            raise FileError(f"{shown} has a header and no rows; it needs a row for each class.")
        numbers = None
        if number in texts:
            try:
                numbers = np.array([float(text) if text.strip() else np.nan for text in texts[number]])
            except ValueError as error:
                raise FileError(f"{shown}: the column {number!r} must hold numbers: {error}.") from None
        return cls(texts["class"], numbers, texts.get("group"))


def read_shares(path: str | os.PathLike[str], number: str = "share") -> dict[str, float]:
    """Read the shares of classes where a model is used: a table with the column `class`, and one of numbers."""
    table = ClassTable.read(path, number)
    if table.numbers is None or table.groups is not None:
        raise FileError(f"{os.fspath(path)} must have the columns 'class' and {number!r}, and no others.")
    shares = dict(zip(table.classes, table.numbers.tolist(), strict=True))
    if len(shares) < len(table.classes):
        raise FileError(f"{os.fspath(path)} lists a class twice. Keep one of its rows.")
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
