"""How labels and scores fit a tree."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.doctor.tree_facts import SAME_CHARACTERS, visible
from hedgerow.doctor.truncation import truncation
from hedgerow.errors import (
    FileError,
    HedgerowError,
    ParameterError,
    ScoreError,
    UnknownNameError,
    counted,
    nearest,
)
from hedgerow.files import TABLES, InputFile, extension, require_file
from hedgerow.score_files import (
    FORMATS,
    MISSING,
    WIDE,
    LabelFile,
    ScoreReading,
    check_clash,
    column_fit,
    find_format,
    misfit,
    no_label,
    open_scores,
    open_wide,
    read_labels,
)
from hedgerow.tree import Hierarchy, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator


_UNKNOWN_SHOWN = 10
_FITTING = (
    "Rename, add or remove columns until they are exactly the leaves, or exactly all nodes (the root is optional)."
)
_SCORE_REMARKS = (truncation,)
"""Each is given a tree, a score file, its format and how to read it; it returns a remark, or None."""


@dataclass(frozen=True)
class LabelFacts:
    """How the labels of a data set fit a tree."""

    source: str
    examples: int
    """Examples that have a label."""
    without: int
    """Examples that have none, or one that is to be dropped."""
    distinct: int
    internal: int
    """Examples labelled with a node that is not a leaf."""
    unknown: dict[str, int]
    """Labels that are not in the tree, with the number of their examples."""
    suggestions: dict[str, list[str]]
    """Names in the tree like the first unknown labels."""
    without_data: list[str]
    """Leaves that label no example."""


@dataclass(frozen=True)
class ScoreFacts:
    """How the columns of a score file fit a tree."""

    source: str
    columns: int
    """Number of class columns; or, of a file that lists classes, number of examples."""
    kind: str | None
    """"leaves", "nodes", "own" or the format of a file that lists classes; None if they do not fit."""
    repeated: list[str]
    missing: list[str]
    extra: list[str]


def examine_data(
    hierarchy: Hierarchy, scores: str | None, how: ScoreReading
) -> tuple[LabelFacts | None, ScoreFacts | None, list[Problem], list[str]]:
    """Compare labels and the columns of a score file with a tree; return facts about each, problems and remarks.

    Parameters
    ----------
    hierarchy
        The tree.
    scores
        A score file, if there is one.
    how
        How to read it; without a file of labels, the labels of the score file are used.
    """
    problems: list[Problem] = []
    score_facts, listed, found = None, None, WIDE
    file = None if scores is None else how.file(scores)
    labels = None if how.labels_file is None else os.fspath(how.labels_file)
    if file is not None:
        require_file(file.path)
        with _noting("unreadable scores", problems):
            found = find_format(file, how)
            if found == WIDE:
                score_facts = _column_facts(hierarchy, file, how, problems)
            else:
                examples, listed = _listed(hierarchy, file, replace(how, labels_file=None))
                score_facts = ScoreFacts(file.path, examples, found, [], [], [])
    if labels is not None:
        require_file(labels)
        with _noting("unreadable labels", problems):
            if file is None or score_facts is None or found == WIDE or extension(labels) not in TABLES:
                listed = _labels_of_file(hierarchy, labels, how, joined=scores is not None)
            else:
                _, listed = _listed(hierarchy, file, how)
    elif file is not None and score_facts is not None and found == WIDE:
        with _noting("unreadable labels", problems):
            listed = _labels_of_scores(file, how)
    label_facts = None if listed is None else _label_facts(hierarchy, labels or scores or "", listed, how)
    remarks: list[str] = []
    if file is not None and score_facts is not None and score_facts.kind is not None:
        unlabelled = replace(how, labels_file=None)
        with suppress(HedgerowError):  # what is wrong with the scores themselves is not looked for here
            remarks += filter(None, (of(hierarchy, file, found, unlabelled) for of in _SCORE_REMARKS))
    return label_facts, score_facts, problems + _label_problems(label_facts), remarks


def _column_facts(hierarchy: Hierarchy, file: InputFile, how: ScoreReading, problems: list[Problem]) -> ScoreFacts:
    """Compare the columns of a wide file with a tree; only the names are read."""
    elsewhere: frozenset[str] = frozenset()
    if how.labels_file is not None:
        there = InputFile(how.labels_file, how.delimiter, any_delimiter=True).columns
        elsewhere = frozenset({"ids"} if how.id_column in there else ())
    reader = open_wide(file, how, labels=False, elsewhere=elsewhere)
    check_clash(hierarchy, reader)
    fit = column_fit(hierarchy, reader, how)
    if fit.kind is None:
        problems.append(Problem("score columns", misfit(hierarchy, reader, fit), _FITTING))
    return ScoreFacts(file.path, fit.columns, fit.kind, fit.repeated, fit.missing, fit.extra)


def _listed(hierarchy: Hierarchy, file: InputFile, how: ScoreReading) -> tuple[int, list[str] | None]:
    """Read a file that lists classes as `evaluate` does; return the number of examples, and their labels if any.

    An error says what does not fit the tree.
    """
    labelled = how.labels_file is not None
    if not labelled:
        labelled = "labels" in FORMATS[find_format(file, how)].open(file, how, frozenset()).has
    examples, labels = 0, list[str]()
    for block in open_scores(file.path, hierarchy, how, labels=labelled):
        examples += len(block)
        if block.labels is not None:
            labels += hierarchy.names[block.labels].tolist()
    return examples, labels if labelled else None


def _labels_of_file(hierarchy: Hierarchy, path: str, how: ScoreReading, *, joined: bool) -> list[str]:
    """Return the labels of a file as `evaluate` joins them, if all are in the tree; otherwise as they are written.

    A table that is not joined to scores need not have ids.
    """
    refusal: UnknownNameError | None = None
    if extension(path) in TABLES:
        try:
            nodes = LabelFile(path, hierarchy, how).nodes
            assert nodes is not None  # noqa: S101  (labels are read by default)
            return list(np.where(nodes > MISSING, hierarchy.names[nodes], "").tolist())
        except UnknownNameError as error:
            refusal = error
        except HedgerowError:
            if joined:
                raise
    try:
        listed = read_labels(path, label_column=how.label_column, delimiter=how.delimiter)
    except FileError as error:
        raise refusal or error from None
    if refusal is not None and any(";" in label for label in listed):  # some of these paths are in the tree
        raise refusal
    return listed


@contextmanager
def _noting(kind: str, problems: list[Problem]) -> Iterator[None]:
    """Turn an error into a problem, and go on."""
    try:
        yield
    except ParameterError:
        raise
    except HedgerowError as error:
        problems.append(Problem(kind, str(error), ""))


def _labels_of_scores(file: InputFile, how: ScoreReading) -> list[str] | None:
    """Return the labels in a score file; None if it has none, unless their column is named."""
    reader = open_wide(file, how)
    if "labels" in reader.has:
        return reader.labels()
    if how.label_column is not None:
        raise ScoreError(f"{file.path} has no labels. {reader.missing_labels}")
    return None


def _label_facts(hierarchy: Hierarchy, source: str, listed: list[str], how: ScoreReading) -> LabelFacts:
    labels = [label for label in listed if no_label(label, how.drop_label) is None]
    counts = Counter(hierarchy.canonical(labels))
    known = set(hierarchy.names.tolist())
    unknown = {name: count for name, count in counts.most_common() if name not in known}
    leaves = hierarchy.names[hierarchy.leaves].tolist()
    at_leaves = sum(counts[name] for name in leaves)
    return LabelFacts(
        source=source,
        examples=len(labels),
        without=len(listed) - len(labels),
        distinct=len(counts),
        internal=len(labels) - at_leaves - sum(unknown.values()),
        unknown=unknown,
        suggestions={name: _similar(name, known) for name in list(unknown)[:_UNKNOWN_SHOWN]},
        without_data=[name for name in leaves if name not in counts],
    )


def _similar(label: str, known: set[str]) -> list[str]:
    """Return up to two names in the tree that may be meant: names that look the same, or are spelt alike."""
    seen = visible(label)
    alike = [name for name in known if not name.isascii() and visible(name) == seen]
    return ([seen] if seen in known else alike[:2]) or nearest(label, known, 2)


def _looks_like(label: str, near: list[str]) -> bool:
    return bool(near) and visible(near[0]) == visible(label)


def _label_problems(facts: LabelFacts | None) -> list[Problem]:
    """Return the problems of labels: none at all, or some that are not in the tree."""
    if facts is None:
        return []
    if not facts.examples:
        return [Problem("no labels", f"{facts.source} holds no labels.", "Put one label on each line.")]
    if not facts.unknown:
        return []
    shown = []
    for name, near in facts.suggestions.items():
        hint = f", near {' or '.join(map(repr, near))}" if near else ", nothing near it"
        if _looks_like(name, near):
            hint = f", which only looks like a name of the tree: {name!a} here, {near[0]!a} there"
        shown.append(f"{name!r} ({counted(facts.unknown[name], 'example', 'examples')}{hint})")
    more = len(facts.unknown) - len(shown)
    return [
        Problem(
            "unknown labels",
            f"{counted(len(facts.unknown), 'label', 'labels')} in {facts.source} "
            f"{'is' if len(facts.unknown) == 1 else 'are'} not in the tree: {'; '.join(shown)}"
            f"{f'; and {more:,} more' if more else ''}.",
            SAME_CHARACTERS
            if any(_looks_like(name, near) for name, near in facts.suggestions.items())
            else "Correct the labels, or add these classes to the tree.",
        )
    ]
