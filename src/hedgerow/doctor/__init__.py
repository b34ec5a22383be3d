"""What a tree is like and what is wrong with it, in plain words.

In come a tree file and, if wanted, scores, labels or titles that should fit the tree; out goes a `Diagnosis` with
facts, problems and remarks. What is wrong inside the tree file is a finding here, not an error. The next
package is `methods`.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.doctor.data import LabelFacts, Reading, ScoreFacts, examine_data
from hedgerow.doctor.tree_facts import Level, TreeFacts, remarks, tree_facts
from hedgerow.errors import HedgerowError, ParameterError, counted
from hedgerow.score_files import ColumnNames
from hedgerow.tree import FlawedTreeError, Hierarchy, Problem, format_of, read_titles, require_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

__all__ = ["Diagnosis", "LabelFacts", "Level", "Problem", "ScoreFacts", "TreeFacts", "examine"]


@dataclass(frozen=True)
class Diagnosis:
    """Everything the doctor found; see `examine`."""

    source: str
    format: str
    problems: list[Problem]
    """What must be corrected; empty if all is well."""
    remarks: list[str] = field(default_factory=list)
    """What is allowed but often a mistake."""
    tree: TreeFacts | None = None
    """None if the tree has problems."""
    labels: LabelFacts | None = None
    scores: ScoreFacts | None = None
    reading: dict[str, str | bool | tuple[str, ...] | None] = field(default_factory=dict)
    """How the tree was read: the arguments of `Hierarchy.read`."""
    score_reading: dict[str, Any] = field(default_factory=dict)
    """How the scores are to be read: arguments of `open_scores`."""

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the findings ready for JSON."""
        return asdict(self) | {"ok": self.ok}

    def print(self, console: Console | None = None) -> None:
        """Print the findings in plain words."""
        from hedgerow.doctor.print_diagnosis import print_diagnosis

        print_diagnosis(self, console)

    def __repr__(self) -> str:
        return f"Diagnosis({self.source!r}, {counted(len(self.problems), 'problem', 'problems')})"

    def _repr_html_(self) -> str:
        from hedgerow.doctor.print_diagnosis import diagnosis_html

        return diagnosis_html(self)


def examine(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    scores: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    titles: str | os.PathLike[str] | None = None,
    *,
    root: str = "root",
    separator: str | None = None,
    disambiguate: bool = False,
    na: tuple[str, ...] = (),
    prefixes: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    class_columns: Sequence[str] | None = None,
    class_prefix: str | None = None,
    delimiter: str | None = None,
    scores_format: str = "auto",
    columns: Literal["own"] | None = None,
    outside: Sequence[str] = (),
    votes: bool = False,
) -> Diagnosis:
    """Read a tree and say what it is like and what is wrong with it, or with the data that should fit it.

    Parameters
    ----------
    path
        A tree file.
    format
        One of `hedgerow.tree.FORMATS`; by default decided by the extension.
    scores
        A score file. Of a wide one only the names are read: its classes, and its labels unless `labels` is given.
    labels
        A file of labels: `.txt` with one label a line, or `.csv`, `.tsv`, `.parquet` with a column `label`; also
        an `.npz` file with a member `labels`.
    titles
        A JSON file of display names, ``{"n02084071": "dog", ...}``.
    root, separator, disambiguate, na
        As for `Hierarchy.read`.
    label_column, id_column, class_columns, class_prefix, delimiter, scores_format, columns, outside, votes
        As for `open_scores`; `label_column` and `delimiter` hold for the file of labels, too.

    Raises
    ------
    FileError
        If a file is absent or cannot be opened. What is wrong inside a file is a problem, not an error.
    """
    shown = os.fspath(path)
    found_format = format_of(path, format)
    kind = found_format.name
    require_source(path, found_format)
    reading: dict[str, Any] = {
        "root": root,
        "separator": separator,
        "disambiguate": disambiguate,
        "na": na,
        "prefixes": prefixes,
    }
    try:
        hierarchy = Hierarchy.read(path, format, **reading)
    except ParameterError:
        raise
    except FlawedTreeError as error:
        return Diagnosis(shown, kind, list(error.problems))
    except HedgerowError as error:
        return Diagnosis(shown, kind, [Problem("unreadable", str(error), "")])
    if titles is not None:
        hierarchy = hierarchy.with_titles(read_titles(titles))
    facts = tree_facts(hierarchy)
    names = ColumnNames(label_column, id_column, class_columns, class_prefix)
    of_data = Reading(names, delimiter, scores_format, columns, tuple(outside), votes)
    label_facts, score_facts, problems = examine_data(hierarchy, _shown(scores), _shown(labels), of_data)
    return Diagnosis(
        shown,
        kind,
        problems,
        remarks(facts, kind),
        facts,
        label_facts,
        score_facts,
        reading={"format": format, **reading},
        score_reading={
            "label_column": label_column,
            "id_column": id_column,
            "class_columns": None if class_columns is None else list(class_columns),
            "class_prefix": class_prefix,
            "delimiter": delimiter,
            "scores_format": scores_format,
            "columns": columns,
            "outside": list(outside),
            "votes": votes,
        },
    )


def _shown(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)
