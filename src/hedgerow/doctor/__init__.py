"""Describe a tree in plain words, and explain what is wrong with it."""

from __future__ import annotations

import os

from hedgerow.doctor.data import LabelFacts, ScoreFacts, examine_data
from hedgerow.doctor.diagnosis import Diagnosis
from hedgerow.doctor.tree_facts import Level, TreeFacts, remarks, tree_facts
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.score_files import ScoreReading
from hedgerow.tree import (
    FlawedTreeError,
    Hierarchy,
    Problem,
    TreeReading,
    format_of,
    read_titles,
    require_source,
)


def examine(
    path: str | os.PathLike[str],
    tree_reading: TreeReading | None = None,
    *,
    scores: str | os.PathLike[str] | None = None,
    reading: ScoreReading | None = None,
    titles: str | os.PathLike[str] | None = None,
) -> Diagnosis:
    """Describe a tree, and find what is wrong with it or with the data that should fit it.

    Parameters
    ----------
    path, tree_reading
        A tree file, and how to read it.
    scores
        A score file. Of a wide one, the classes are read, some of the scores, and the labels if no file has
        them.
    reading
        How to read the scores. Its `labels_file` may be a `.txt` file with one label on each line, a `.csv`,
        `.tsv` or `.parquet` table with a column `label`, or an `.npz` file with a member `labels`.
    titles
        A JSON file of display names, ``{"n02084071": "dog", ...}``.

    Raises
    ------
    FileError
        If a file is absent or cannot be opened. A flaw inside a file is a problem, not an error.
    """
    shown, tree_reading = os.fspath(path), tree_reading or TreeReading()
    how = (reading or ScoreReading()).resolved()
    found_format = format_of(path, tree_reading.format)
    kind = found_format.name
    require_source(path, found_format)
    try:
        hierarchy = Hierarchy.read(path, tree_reading)
    except ParameterError:
        raise
    except FlawedTreeError as error:
        return Diagnosis(shown, kind, list(error.problems))
    except HedgerowError as error:
        return Diagnosis(shown, kind, [Problem("unreadable", str(error), "")])
    if titles is not None:
        hierarchy = hierarchy.with_titles(read_titles(titles))
    facts = tree_facts(hierarchy)
    labels, of_scores, problems, more = examine_data(hierarchy, None if scores is None else os.fspath(scores), how)
    found = [*remarks(facts, kind), *more]
    return Diagnosis(shown, kind, problems, found, facts, labels, of_scores, tree_reading, reading or how)
