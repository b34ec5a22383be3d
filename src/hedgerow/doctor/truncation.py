"""Notice scores that were cut before they were written: at a smallest value, or at a number of classes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.score_files import FORMATS, ListedBlock, ListReader, WideReader, column_fit

if TYPE_CHECKING:
    from hedgerow.files import InputFile
    from hedgerow.score_files import ScoreReading
    from hedgerow.tree import Hierarchy

_ROWS, _BLOCKS = 10_000, 10  # that are looked at
_FEWEST = 20  # examples; fewer may be alike by chance
_LEAST = 0.005  # a smaller value is not a cut that matters


def truncation(hierarchy: Hierarchy, file: InputFile, kind: str, how: ScoreReading) -> str | None:
    """Say how scores were cut, and what that does to a curve and to a promise; None if they were not.

    Parameters
    ----------
    hierarchy
        The tree.
    file, kind, how
        The score file, its format, and how to read it.
    """
    reader = FORMATS[kind].open(file, how, frozenset())
    if isinstance(reader, WideReader):
        column_fit(hierarchy, reader, how)  # leaves out columns that are no class
        classes, are_shares = len(reader.classes), reader.content == "probabilities"
    else:
        classes, are_shares = len(hierarchy.leaves), False
    if isinstance(reader, ListReader):
        are_shares = reader.listing != "lineages" and not reader.free_text
    if how.logits or how.votes or not are_shares:
        return None
    counts, smallest = list[np.ndarray](), np.inf
    for raw in islice(reader.read(_ROWS, frozenset()), _BLOCKS):
        if isinstance(raw, ListedBlock):
            row, value = raw.row[raw.value > 0], raw.value[raw.value > 0]
        else:
            row, column = np.nonzero(raw.scores > 0)
            value = raw.scores[row, column]
        counts.append(np.bincount(row, minlength=1))
        smallest = min(smallest, float(value.min(initial=np.inf)))
    count = np.concatenate([np.zeros(0, dtype=np.int64), *counts])
    count = count[count > 0]
    if len(count) < _FEWEST or count.max() >= classes:
        return None
    if 1 < count.min() == count.max():
        how_cut = f"Every example has {count[0]:,} classes of {classes:,}: the others were cut off"
    elif _LEAST <= smallest < 1 and count.max() > 1:
        how_cut = f"No score is below {smallest:.3g}, and no example has all classes: smaller scores were cut off"
    else:
        return None
    return (
        f"{how_cut} ({file.path}). A clade lacks the scores of its members that are not listed, so that curves "
        f"show answers higher up than the model could give, and end where the scores do. A promise holds only for "
        f"new scores that are cut in the same way. Write more classes, if the tool can."
    )
