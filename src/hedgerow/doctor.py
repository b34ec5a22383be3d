"""What a tree is like and what is wrong with it, in plain words."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import tree_files
from hedgerow.errors import FileError, HedgerowError, ParameterError
from hedgerow.hierarchy import Hierarchy
from hedgerow.tree_files import FlawedTreeError, Problem, nearest, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, RenderableType

    from hedgerow.parents import Indices

_EXAMPLES = 4
_UNKNOWN_SHOWN = 10
_PROBLEMS_SHOWN = 25
# Columns of a score table that are about the example, not about a class.
_PER_EXAMPLE = ("label", "id", "group", "text", "image")


@dataclass(frozen=True)
class Level:
    """The nodes at one depth."""

    depth: int
    nodes: int
    leaves: int
    ranks: list[str]
    """The ranks found there, the most frequent first."""
    examples: list[str]


@dataclass(frozen=True)
class TreeFacts:
    """What a sound tree is like."""

    root: str
    nodes: int
    leaves: int
    leaf_depth: tuple[int, int]
    """Least and greatest depth of a leaf."""
    levels: list[Level]
    widest: str
    widest_children: int
    trivial: int
    """Number of nodes, the root excepted, with a single child."""
    longest_chain: list[str]
    """The most trivial nodes in a row, and the node they lead to; empty if there are none."""
    information_values: int
    """Number of distinct values of the information, leaf count based."""
    information_max: float
    """Information of a leaf, in bits."""
    lookalikes: list[list[str]]
    """Groups of names that differ only by case or blanks."""
    padded: list[str]
    """Names that begin or end with a blank."""


@dataclass(frozen=True)
class LabelFacts:
    """What the labels of a data set say about a tree."""

    source: str
    examples: int
    distinct: int
    internal: int
    """Examples labelled with a node that is not a leaf."""
    unknown: dict[str, int]
    """Labels that the tree does not have, with the number of their examples."""
    suggestions: dict[str, list[str]]
    """Names of the tree near the first unknown labels."""
    without_data: list[str]
    """Leaves that label no example."""


@dataclass(frozen=True)
class ScoreFacts:
    """How the columns of a score file fit a tree."""

    source: str
    columns: int
    kind: str | None
    """"leaves", "all nodes", or None where they fit neither."""
    missing: list[str]
    extra: list[str]


@dataclass(frozen=True)
class Diagnosis:
    """Everything the doctor found; see `examine`."""

    source: str
    format: str
    problems: list[Problem]
    remarks: list[str]
    """What is allowed but often a mistake."""
    tree: TreeFacts | None = None
    labels: LabelFacts | None = None
    scores: ScoreFacts | None = None
    hierarchy: Hierarchy | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the tree itself, ready for JSON."""
        return {
            "source": self.source,
            "format": self.format,
            "ok": self.ok,
            "problems": [problem.to_dict() for problem in self.problems],
            "remarks": self.remarks,
            **{name: None if facts is None else asdict(facts) for name, facts in self._parts().items()},
        }

    def _parts(self) -> dict[str, TreeFacts | LabelFacts | ScoreFacts | None]:
        return {"tree": self.tree, "labels": self.labels, "scores": self.scores}

    def print(self, console: Console) -> None:
        """Print the findings in plain words."""
        for part in _rendered(self):
            console.print(part, highlight=False, markup=False)


def examine(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    scores: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
) -> Diagnosis:
    """Read a tree and say what it is like and what is wrong with it, or with the data that should fit it.

    Parameters
    ----------
    path
        A tree file.
    format
        One of `hedgerow.tree_files.FORMATS`; by default decided by the extension.
    scores
        A score file (`.npz`, `.csv`, `.parquet`), of which only the names are read: its classes, and its labels
        unless `labels` is given.
    labels
        A file of labels: `.txt` with one label a line, or `.csv`, `.tsv`, `.parquet` with a column `label`.

    Raises
    ------
    FileError
        If a file is absent or cannot be opened. What is wrong inside the tree's file is a problem, not an error.
    """
    shown = os.fspath(path)
    kind = tree_files.format_of(path, format)
    tree_files.read_bytes(path)
    try:
        hierarchy = Hierarchy.read(path, format)
    except FlawedTreeError as error:
        return Diagnosis(shown, kind, list(error.problems), [])
    except HedgerowError as error:
        return Diagnosis(shown, kind, [Problem("unreadable", str(error), "")], [])
    facts = _tree_facts(hierarchy)
    problems: list[Problem] = []
    score_facts = label_facts = None
    if scores is not None:
        score_facts = _score_facts(hierarchy, os.fspath(scores))
        problems += _score_problems(score_facts, hierarchy)
    listed = _listed_labels(labels, scores)
    if listed is not None:
        label_facts = _label_facts(hierarchy, *listed)
        problems += _label_problems(label_facts)
    return Diagnosis(shown, kind, problems, _remarks(facts), facts, label_facts, score_facts, hierarchy)


# The tree ------------------------------------------------------------------------------------------------------


def _tree_facts(h: Hierarchy) -> TreeFacts:
    information = h.information()
    widest = int(np.argmax(h.child_count))
    leaf_depth = h.depth[h.leaves]
    names = h.names.tolist()
    return TreeFacts(
        root=h.label(0),
        nodes=len(h),
        leaves=len(h.leaves),
        leaf_depth=(int(leaf_depth.min()), int(leaf_depth.max())),
        levels=[_level(h, depth, nodes) for depth, nodes in enumerate(h.levels)],
        widest=h.label(widest),
        widest_children=int(h.child_count[widest]),
        trivial=int(h.is_trivial.sum()),
        longest_chain=_longest_chain(h),
        information_values=len(np.unique(h.leaf_count)),
        information_max=float(information.max()),
        lookalikes=_lookalikes(names),
        padded=[name for name in names if name != name.strip()],
    )


def _level(h: Hierarchy, depth: int, nodes: Indices) -> Level:
    ranks: list[str] = []
    if h.rank is not None:
        ranks = [rank for rank, _ in Counter(h.rank[nodes].tolist()).most_common() if rank]
    # Spread over the level, so that the examples do not all come from one corner of the tree.
    spread = np.unique(np.linspace(0, len(nodes) - 1, _EXAMPLES).round().astype(np.int64))
    return Level(
        depth, len(nodes), int(h.is_leaf[nodes].sum()), ranks, [h.label(node) for node in nodes[spread].tolist()]
    )


def _longest_chain(h: Hierarchy) -> list[str]:
    if not h.is_trivial.any():
        return []
    # In depth-first order a trivial node's only child comes next: a chain is a run of trivial nodes.
    edges = np.diff(h.is_trivial.astype(np.int8), prepend=0, append=0)
    start, stop = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    longest = int(np.argmax(stop - start))
    return [h.label(node) for node in range(start[longest], stop[longest] + 1)]


def _lookalikes(names: Sequence[str]) -> list[list[str]]:
    folded = [" ".join(name.casefold().split()) for name in names]
    twice = (
        {key for key, count in Counter(folded).items() if count > 1} if len(set(folded)) < len(names) else set()
    )
    groups: dict[str, list[str]] = {}
    for key, name in zip(folded, names, strict=True):
        if key in twice:
            groups.setdefault(key, []).append(name)
    return list(groups.values())


def _remarks(facts: TreeFacts) -> list[str]:
    remarks = []
    if facts.lookalikes:
        shown = "; ".join(" and ".join(map(repr, group[:3])) for group in facts.lookalikes[:5])
        more = f"; and {len(facts.lookalikes) - 5:,} more" if len(facts.lookalikes) > 5 else ""
        remarks.append(
            f"Some names differ only by case or blanks: {shown}{more}. They are different classes here; make sure "
            f"that they should be."
        )
    if facts.padded:
        remarks.append(
            f"{_counted(len(facts.padded), 'name begins', 'names begin')} or end with a blank: {some(facts.padded)}. "
            f"Labels and score columns must be written the same way."
        )
    return remarks


# Labels --------------------------------------------------------------------------------------------------------


def _listed_labels(
    labels: str | os.PathLike[str] | None, scores: str | os.PathLike[str] | None
) -> tuple[str, list[str]] | None:
    """Return where the labels come from and the labels; None if there are none to be had."""
    if labels is not None:
        found = _read_labels(os.fspath(labels))
        if found is None:
            raise FileError(f"{os.fspath(labels)} has no 'label' column. Name the column of labels 'label'.")
        return os.fspath(labels), found
    if scores is not None:
        found = _read_labels(os.fspath(scores))
        if found is not None:
            return os.fspath(scores), found
    return None


def _read_labels(path: str) -> list[str] | None:
    suffix = PurePath(path).suffix.lower()
    if suffix == ".txt":
        lines = tree_files.read_text(path).replace("\r\n", "\n").split("\n")
        return [line for line in lines if line.strip()]
    if suffix == ".npz":
        return _npz_names(path, "labels")
    if "label" not in _table_columns(path):
        return None
    import pandas as pd

    if suffix == ".parquet":
        column = pd.read_parquet(path, columns=["label"])["label"]
    else:
        column = pd.read_csv(
            path, sep=_separator(path), usecols=["label"], dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )["label"]
    return [str(label) for label in column.tolist()]


def _label_facts(h: Hierarchy, source: str, labels: list[str]) -> LabelFacts:
    counts = Counter(labels)
    known = set(h.names.tolist())
    unknown = {name: count for name, count in counts.most_common() if name not in known}
    leaves = h.names[h.leaves].tolist()
    at_leaves = sum(counts[name] for name in leaves)
    return LabelFacts(
        source=source,
        examples=len(labels),
        distinct=len(counts),
        internal=len(labels) - at_leaves - sum(unknown.values()),
        unknown=unknown,
        suggestions={name: nearest(name, known) for name in list(unknown)[:_UNKNOWN_SHOWN]},
        without_data=[name for name in leaves if name not in counts],
    )


def _label_problems(facts: LabelFacts) -> list[Problem]:
    if not facts.examples:
        return [Problem("no labels", f"{facts.source} holds no labels.", "Put one label on each line.")]
    if not facts.unknown:
        return []
    shown = []
    for name, near in facts.suggestions.items():
        hint = f", near {' or '.join(map(repr, near))}" if near else ", nothing near it"
        shown.append(f"{name!r} ({_counted(facts.unknown[name], 'example', 'examples')}{hint})")
    more = len(facts.unknown) - len(shown)
    return [
        Problem(
            "unknown labels",
            f"{_counted(len(facts.unknown), 'label', 'labels')} in {facts.source} "
            f"{'is' if len(facts.unknown) == 1 else 'are'} not in the tree: {'; '.join(shown)}"
            f"{f'; and {more:,} more' if more else ''}.",
            "Correct the labels, or add these classes to the tree.",
        )
    ]


# Scores --------------------------------------------------------------------------------------------------------


def _score_facts(h: Hierarchy, path: str) -> ScoreFacts:
    classes = _npz_names(path, "classes") if PurePath(path).suffix.lower() == ".npz" else _class_columns(path, h)
    if classes is None:
        raise FileError(
            f"{path} has no member 'classes', the names of the score columns. Save it with "
            f"np.savez(..., classes=names): an order is never guessed."
        )
    found, leaves, nodes = set(classes), set(h.names[h.leaves].tolist()), set(h.names.tolist())
    repeated = [name for name, count in Counter(classes).items() if count > 1]
    if not repeated:
        for kind, wanted in (("leaves", leaves), ("all nodes", nodes), ("all nodes", nodes - {str(h.names[0])})):
            if found == wanted:
                return ScoreFacts(path, len(classes), kind, [], [])
    # Columns that name an inner node are meant to be all nodes; otherwise leaves are expected.
    wanted = nodes - {str(h.names[0])} if (found & nodes) - leaves else leaves
    missing = [name for name in h.names.tolist() if name in wanted - found]
    extra = [name for name in dict.fromkeys(classes) if name not in wanted and name != h.names[0]]
    return ScoreFacts(path, len(classes), None, missing, repeated or extra)


def _score_problems(facts: ScoreFacts, h: Hierarchy) -> list[Problem]:
    if facts.kind is not None:
        return []
    hints = [
        f"{name!r} is near {near[0]!r}" for name in facts.extra[:5] if (near := nearest(name, facts.missing, 1))
    ]
    parts = [
        f"{len(names):,} {what}: {some(names)}"
        for names, what in ((facts.missing, "missing"), (facts.extra, "that do not belong there, or stand twice"))
        if names
    ]
    return [
        Problem(
            "score columns",
            f"The {facts.columns:,} class columns of {facts.source} are neither the {len(h.leaves):,} leaves nor all "
            f"{len(h):,} nodes of the tree; {'; '.join(parts)}.{' ' + '; '.join(hints) + '.' if hints else ''}",
            "Rename, add or remove columns until they are exactly the leaves, or exactly all nodes (the root is "
            "optional).",
        )
    ]


def _class_columns(path: str, h: Hierarchy) -> list[str]:
    columns = _table_columns(path)
    clash = [name for name in columns if name in _PER_EXAMPLE and name in set(h.names.tolist())]
    if clash:
        raise FileError(
            f"{path} has a column {clash[0]!r}, which is the name of a class and of a column about the examples. Rename "
            f"the class, or use an .npz file."
        )
    return [name for name in columns if name not in _PER_EXAMPLE]


def _table_columns(path: str) -> list[str]:
    """Read the header of a CSV or Parquet table."""
    suffix = PurePath(path).suffix.lower()
    if suffix == ".parquet":
        tree_files.require_file(path)
        from pyarrow import ArrowException, parquet

        try:
            return [str(name) for name in parquet.read_schema(path).names]
        except (ArrowException, OSError) as error:
            raise FileError(f"{path} cannot be read as Parquet: {error}.") from None
    if suffix not in (".csv", ".tsv"):
        raise ParameterError(
            f"{path}: names are read from .npz, .csv, .tsv and .parquet files, not from {suffix!r}."
        )
    return tree_files.read_header(path)


def _separator(path: str) -> str:
    return "\t" if path.lower().endswith(".tsv") else ","


def _npz_names(path: str, member: str) -> list[str] | None:
    """Read one array of names, without unpickling; None if there is no such member."""
    import zipfile

    tree_files.require_file(path)
    try:
        with np.load(Path(path), allow_pickle=False) as archive:
            if member not in archive:
                return None
            array = archive[member]
    except (OSError, EOFError, zipfile.BadZipFile, ValueError) as error:
        if "allow_pickle" in str(error):
            raise FileError(
                f"{path}: {member!r} is an array of Python objects, which is never unpickled. Save it as text: "
                f"np.array({member}, dtype=str)."
            ) from None
        raise FileError(f"{path} cannot be read as .npz: {error}.") from None
    if array.ndim != 1 or array.dtype.kind not in "UT":
        raise FileError(f"{path}: {member!r} must be a list of names, not {array.dtype} of shape {array.shape}.")
    return [str(name) for name in array.tolist()]


# In words ------------------------------------------------------------------------------------------------------


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _rendered(diagnosis: Diagnosis) -> Iterable[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    def paragraph(text: str, style: str = "") -> Padding:
        return Padding(Text(text, style=style), (0, 0, 1, 2))

    if diagnosis.tree is None:
        found = _counted(len(diagnosis.problems), "problem", "problems")
        yield Text(f"{diagnosis.source} is not a sound tree: {found}.\n", style="bold red")
    else:
        yield Text(f"{diagnosis.source} is a sound tree.\n", style="bold green")
        yield paragraph(_summary(diagnosis.tree))
        yield _level_table(diagnosis.tree.levels)
        yield Text()
        for text in _tree_sentences(diagnosis.tree):
            yield paragraph(text)
    if diagnosis.scores is not None and diagnosis.scores.kind is not None:
        yield paragraph(
            f"Scores: the {diagnosis.scores.columns:,} class columns of {diagnosis.scores.source} are exactly "
            + {"leaves": "the leaves.", "all nodes": "the nodes of the tree."}[diagnosis.scores.kind]
        )
    if diagnosis.labels is not None:
        yield paragraph(_label_sentence(diagnosis.labels))
    for remark in diagnosis.remarks:
        yield paragraph("Worth a look: " + remark, "yellow")
    if diagnosis.tree is not None and diagnosis.problems:
        yield Text(
            _counted(len(diagnosis.problems), "problem", "problems") + " with the data:\n", style="bold red"
        )
    yield from _problem_list(diagnosis.problems)
    yield Text("Next: " + _advice(diagnosis), style="bold")


def _problem_list(problems: Sequence[Problem]) -> Iterable[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    for number, problem in enumerate(problems[:_PROBLEMS_SHOWN], start=1):
        text = Text.assemble(f"{number}. ", (problem.message, "red"), "\n" if problem.remedy else "")
        yield Padding(text.append(problem.remedy), (0, 0, 1, 2))
    if len(problems) > _PROBLEMS_SHOWN:
        kinds = Counter(problem.kind for problem in problems[_PROBLEMS_SHOWN:]).most_common()
        listed = ", ".join(f"{count:,} x {kind}" for kind, count in kinds)
        yield Padding(Text(f"... and more ({listed}); --json FILE writes all of them."), (0, 0, 1, 2))


def _summary(facts: TreeFacts) -> str:
    low, high = facts.leaf_depth
    depth = f"All leaves are at depth {low}" if low == high else f"Leaves are at depth {low} to {high}"
    return (
        f"{facts.nodes:,} nodes under {facts.root!r}: {_counted(facts.leaves, 'leaf', 'leaves')} (the finest classes) "
        f"and {_counted(facts.nodes - facts.leaves, 'group', 'groups')} of them. {depth} (edges from the root)."
    )


def _level_table(levels: Sequence[Level]) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    ranked = any(level.ranks for level in levels)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("depth", "nodes", "leaves"):
        table.add_column(column, justify="right", no_wrap=True)
    if ranked:
        table.add_column("rank")
    table.add_column("for example", no_wrap=True, overflow="ellipsis", ratio=1)
    shown = [*levels[:12], None, *levels[-4:]] if len(levels) > 20 else list(levels)
    for level in shown:
        if level is None:
            table.add_row("...", "", "", *[""] * ranked, Text(f"{len(levels) - 16:,} more levels"))
            continue
        ranks = [Text(", ".join(level.ranks[:2]) + (", ..." if len(level.ranks) > 2 else ""))] if ranked else []
        examples = Text(", ".join(level.examples) + (", ..." if level.nodes > len(level.examples) else ""))
        table.add_row(str(level.depth), f"{level.nodes:,}", f"{level.leaves:,}", *ranks, examples)
    return Padding(table, (0, 0, 0, 2))


def _tree_sentences(facts: TreeFacts) -> Iterable[str]:
    yield f"The widest node is {facts.widest!r} with {_counted(facts.widest_children, 'child', 'children')}."
    if facts.trivial:
        share = "1 group has" if facts.trivial == 1 else f"{facts.trivial:,} groups have"
        chain = facts.longest_chain
        shown = chain if len(chain) <= 8 else [*chain[:4], "...", *chain[-3:]]
        length = len(chain) - 1
        example = (
            f"The longest chain of them is {length:,} long: {' > '.join(shown)}."
            if length > 1
            else f"For example: {' > '.join(shown)}."
        )
        yield (
            f"{share} a single child and so say{'s' if facts.trivial == 1 else ''} the same as that child, less "
            f"precisely; such trivial nodes are never given as an answer. {example}"
        )
    else:
        yield "No group has a single child: every node can be an answer."
    yield (
        f"Answers range from 0 bits of information (the root) to {facts.information_max:.2f} bits (a leaf), with "
        f"{_counted(facts.information_values, 'distinct value', 'distinct values')}."
    )


def _label_sentence(facts: LabelFacts) -> str:
    text = (
        f"Labels: {_counted(facts.examples, 'example', 'examples')} in {facts.source} carry "
        f"{_counted(facts.distinct, 'distinct label', 'distinct labels')}"
    )
    if facts.internal:
        text += f"; {_counted(facts.internal, 'of them is', 'of them are')} labelled with a group, known no deeper"
    text += ". "
    if not facts.without_data:
        return text + "Every leaf has data."
    leaves = _counted(len(facts.without_data), "leaf has", "leaves have")
    return text + f"{leaves} no data: {some(facts.without_data)}."


def _advice(diagnosis: Diagnosis) -> str:
    if diagnosis.tree is None:
        return f"correct {diagnosis.source} and run the doctor again."
    if diagnosis.problems:
        return "the tree is fine; make the names of the data agree with it, and run the doctor again."
    if diagnosis.labels is None:
        return f"see whether your labels fit: hedgerow doctor {diagnosis.source} --labels FILE"
    if diagnosis.scores is None:
        return f"see whether your model's scores fit: hedgerow doctor {diagnosis.source} --scores FILE"
    return f"tree, labels and scores fit together: hedgerow evaluate {diagnosis.scores.source} --tree {diagnosis.source}"
