"""What the doctor found, and how it is said in plain words."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from hedgerow.errors import argument, counted, some
from hedgerow.files import TABLES, extension
from hedgerow.score_files import FORMATS, ScoreReading
from hedgerow.show import preformatted
from hedgerow.show.terminal import wrapped
from hedgerow.tree import Problem, Settings, TreeReading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.doctor.data import LabelFacts, ScoreFacts
    from hedgerow.doctor.tree_facts import Level, TreeFacts

_PROBLEMS_SHOWN = 25
_FITS = {"leaves": "exactly the leaves", "nodes": "exactly the nodes of the tree", "own": "nodes of the tree"}
_WIDEST_LINE = 110
_LISTED = 10  # class columns that a command lists; for more, it names a file


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
    tree_reading: TreeReading = field(default_factory=TreeReading)
    """How the tree was read."""
    reading: ScoreReading = field(default_factory=ScoreReading)
    """How the scores are read."""

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the findings ready for JSON."""
        return asdict(self) | {"ok": self.ok}

    def print(self, console: Console | None = None) -> None:
        """Print the findings in plain words."""
        console = console or Console()
        found = counted(len(self.problems), "problem", "problems")
        if self.tree is None:
            _print(console, f"{self.source} is not a sound tree: {found}.", "bold red", lead="")
        else:
            _print(console, f"{self.source} is a sound tree.", "bold green", lead="")
            _print(console, _summary(self.tree))
            console.print(_level_table(self.tree.levels, min(console.width, _WIDEST_LINE)), soft_wrap=True)
            for sentence in _tree_sentences(self.tree):
                _print(console, sentence)
        if self.scores is not None and self.scores.kind is not None:
            _print(console, _score_sentence(self.scores))
        if self.labels is not None:
            _print(console, _label_sentence(self.labels))
        for remark in self.remarks:
            _print(console, f"Worth a look: {remark}", "yellow")
        if self.tree is not None and self.problems:
            _print(console, f"The data do not fit the tree: {found}.", "bold red", lead="")
        _print_problems(self.problems, console)
        # Not wrapped, so that the command can be copied as one line.
        console.print(Text(f"Next: {_advice(self)}", style="bold"), soft_wrap=True)

    def __repr__(self) -> str:
        return f"Diagnosis({self.source!r}, {counted(len(self.problems), 'problem', 'problems')})"

    def _repr_html_(self) -> str:
        text = StringIO()
        self.print(Console(file=text, width=_WIDEST_LINE, force_jupyter=False, color_system=None))
        return preformatted(text.getvalue())


def _print(console: Console, text: str, style: str = "", lead: str = "  ", end: str = "\n\n") -> None:
    width = min(console.width, _WIDEST_LINE)
    console.print(Text(wrapped(text, width, lead), style=style), end=end, soft_wrap=True)


def _print_problems(problems: Sequence[Problem], console: Console) -> None:
    number = 0
    for remedy, alike in groupby(problems[:_PROBLEMS_SHOWN], key=lambda problem: problem.remedy):
        first = number + 1
        for number, problem in enumerate(alike, start=first):
            if number > first:
                console.print()
            _print(console, problem.message, "red", f"{number:3}. ", "\n")
        several = f"For {first} to {number}: " if number > first else ""
        if remedy:
            _print(console, several + remedy, lead=" " * 5)
        else:
            console.print()
    if len(problems) > _PROBLEMS_SHOWN:
        kinds = Counter(problem.kind for problem in problems[_PROBLEMS_SHOWN:]).most_common()
        listed = ", ".join(f"{kind} ({count:,})" for kind, count in kinds)
        _print(console, f"... and more: {listed}. With --json FILE all of them are written to FILE.")


def _summary(facts: TreeFacts) -> str:
    low, high = facts.leaf_depth
    depth = f"All leaves are at depth {low}" if low == high else f"Leaves are at depth {low} to {high}"
    leaves = counted(facts.leaves, "leaf", "leaves")
    groups = counted(facts.nodes - facts.leaves, "group", "groups")
    return (
        f"{facts.nodes:,} nodes: {leaves} (the finest classes) and {groups} of classes, the largest being the "
        f"root, {facts.root!r}. {depth}, counting edges from the root."
    )


def _level_table(levels: Sequence[Level], width: int) -> Text:
    rows = [["depth", "nodes", "leaves", "rank", "for example"]]
    for level in levels:
        if len(levels) > 20 and 12 <= level.depth < len(levels) - 4:
            if level.depth == 12:
                rows.append(["...", "", "", "", f"{len(levels) - 16:,} more levels"])
            continue
        rank = ", ".join(level.ranks[:2]) + (", ..." if len(level.ranks) > 2 else "")
        examples = ", ".join(level.examples) + (", ..." if level.nodes > len(level.examples) else "")
        rows.append([str(level.depth), f"{level.nodes:,}", f"{level.leaves:,}", rank, " ".join(examples.split())])
    if not any(level.ranks for level in levels):
        rows = [[*row[:3], row[4]] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = max(20, width - sum(widths[:-1]) - 2 * len(widths))
    text = Text()
    for i, row in enumerate(rows):
        cells = [cell.rjust(size) for cell, size in zip(row[:3], widths, strict=False)]
        cells += [set_cell_size(cell, size) for cell, size in zip(row[3:-1], widths[3:], strict=False)]
        cells.append(row[-1] if cell_len(row[-1]) <= widths[-1] else set_cell_size(row[-1], widths[-1] - 1) + "…")
        text.append("  " + "  ".join(cells).rstrip() + "\n", style="bold" if i == 0 else "")
    return text


def _tree_sentences(facts: TreeFacts) -> Iterator[str]:
    yield f"The widest group is {facts.widest!r} with {counted(facts.widest_children, 'child', 'children')}."
    if facts.trivial:
        *chain, last = facts.longest_chain
        shown = " > ".join(chain if len(chain) <= 8 else [*chain[:4], "...", *chain[-3:]])
        example = (
            f"The longest chain is {len(chain):,} long: {shown}, all meaning {last!r}."
            if len(chain) > 1
            else f"For example, {shown!r} means {last!r}."
        )
        groups = "1 group has" if facts.trivial == 1 else f"{facts.trivial:,} groups have"
        tools = ", ".join(name for name, known in FORMATS.items() if known.settings != Settings())
        yield (
            f"{groups} a single child, whose name says more: they are not answers themselves, except with "
            f"{argument('single_child', 'answer')} (the default for scores of {tools}). {example}"
        )
    else:
        yield "Every group but the root has at least two children, so that every node can be an answer."
    yield (
        f"Answers carry between 0 bits of information (the root) and {facts.information_max:.1f} (a leaf), with "
        f"{counted(facts.information_values, 'distinct value', 'distinct values')}."
    )


def _score_sentence(facts: ScoreFacts) -> str:
    if facts.kind in _FITS:
        columns = counted(facts.columns, "class column", "class columns")
        if facts.missing:
            without = counted(len(facts.missing), "leaf has", "leaves have")
            return (
                f"Scores: the {columns} of {facts.source} are leaves; {without} no column: {some(facts.missing)}."
            )
        return f"Scores: the {columns} of {facts.source} are {_FITS[facts.kind]}."
    examples = counted(facts.columns, "example", "examples")
    return (
        f"Scores: every class that {facts.source} lists for its {examples} is in the tree (format {facts.kind})."
    )


def _label_sentence(facts: LabelFacts) -> str:
    text = (
        f"Labels: {counted(facts.examples, 'example', 'examples')} in {facts.source} with "
        f"{counted(facts.distinct, 'distinct label', 'distinct labels')}"
    )
    if facts.internal:
        text += f"; {counted(facts.internal, 'is', 'are')} labelled with a group: nothing finer is known"
    if facts.without:
        text += f"; {counted(facts.without, 'other has none', 'others have none')}"
    text += ". "
    if not facts.without_data:
        return text + "Every leaf has data."
    leaves = counted(len(facts.without_data), "leaf has", "leaves have")
    return text + f"{leaves} no data: {some(facts.without_data)}."


def _advice(diagnosis: Diagnosis) -> str:
    if diagnosis.tree is None:
        return f"correct {diagnosis.source}, then ask the doctor again."
    if diagnosis.problems:
        return "make the names in the data agree with the tree, then ask the doctor again."
    tree = [diagnosis.source, *diagnosis.tree_reading.arguments]
    reading = replace(diagnosis.reading, labels_file=None, class_columns=_listed(diagnosis.reading.class_columns))
    labels = None if diagnosis.labels is None else diagnosis.labels.source
    if diagnosis.scores is None:
        given = [] if labels is None else ["--labels", labels, *reading.arguments]
        step, wanted = ("labels", "--labels") if labels is None else ("model's scores", "--scores")
        command = shlex.join(["hedgerow", "doctor", *tree, *given, wanted, "FILE"])
        return f"see whether your {step} fit the tree:\n  {command}"
    scores = diagnosis.scores.source
    if labels is None:
        given = ["--scores", scores, *reading.arguments, "--labels", "FILE"]
        return f"see whether your labels fit the tree:\n  {shlex.join(['hedgerow', 'doctor', *tree, *given])}"
    explained = ""
    if labels != scores:
        reading = replace(reading, labels_file=labels if extension(labels) in TABLES else "FILE")
        explained = "" if reading.labels_file == labels else "\nFILE is a table with columns 'id' and 'label'."
    command = shlex.join(["hedgerow", "evaluate", scores, *reading.arguments, "--tree", *tree])
    fit = "the names in tree, labels and scores fit together; look at the scores themselves"
    return f"{fit}:\n  {command}{explained}"


def _listed(classes: str | Sequence[str] | None) -> str | None:
    """Return class columns as the value of an option: a short list, or a file."""
    if classes is None or isinstance(classes, str):
        return classes
    listed = ",".join(classes)
    return listed if len(classes) <= _LISTED and listed.count(",") == len(classes) - 1 else "FILE"
