"""Lists of codes whose prefixes form the tree: HS, ISCO, NACE, ICD and the like."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, argument
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.rows import open_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from hedgerow.tree.validation import NodeTable

_DOTS = "dots"
_LEVELS = 64
_HEADERS = ({"code"}, {"code", "title"}, {"code", "description"}, {"code", "name"})


def read_codes(
    source: str | PathLike[str] | Iterable[str],
    root: str = "root",
    prefixes: str | Sequence[int] | None = None,
) -> NodeTable:
    """Read a list of codes; the prefixes of a code are its ancestors, whether or not they are listed themselves.

    Parameters
    ----------
    source
        A file with one code per line, optionally followed by a comma (`.tsv`: a tab) and a title; or codes. A
        first line `code`, or `code,title`, is a header.
    root
        Name of the root that is added if there are several top codes.
    prefixes
        The lengths of the prefixes that are levels, the longest being whole codes: "2,4,6" or (2, 4, 6). Or
        "dots": each dot begins a level.
    """
    lengths = _lengths(prefixes)
    rows = open_rows(source, "code", "codes", is_header=_is_header)
    forest = Forest(rows.origin)
    codes = [(line, [str(cell).strip() for cell in row]) for line, row in rows]
    for line, row in codes:
        _add(forest, row, line, lengths)
    if lengths is None and codes and not any("." in row[0] for _, row in codes):
        forest.add_problem(
            "code",
            f"{forest.origin.subject} has no code with a dot, so that all codes would be children of the root.",
            f"If beginnings of the codes are levels, give their lengths: {argument('prefixes', '2,4,6')}.",
        )
    return forest.table(root, disambiguate=False)


def _is_header(row: Sequence[str]) -> bool:
    return {cell.strip().lower() for cell in row} in _HEADERS


def _lengths(prefixes: Any) -> tuple[int, ...] | None:
    """Return the lengths of prefixes; None for dots."""
    if prefixes == _DOTS:
        return None
    listed = prefixes.split(",") if isinstance(prefixes, str) else prefixes or ()
    try:
        lengths = tuple(int(length) for length in listed)
    except (TypeError, ValueError):
        lengths = ()
    if not lengths or lengths[0] < 1 or any(a >= b for a, b in pairwise(lengths)):
        raise ParameterError(
            f"Which prefixes of a code are its ancestors? Give their lengths, ascending, or {_DOTS!r} if each dot "
            f"begins a level, and not {prefixes!r}: {argument('prefixes', '2,4,6')}."
        )
    return lengths


def _add(forest: Forest, row: list[str], line: int, lengths: tuple[int, ...] | None) -> None:
    code, title = row[0], row[1] if len(row) == 2 else ""
    problem = None
    if len(row) > 2:
        problem = f"has {len(row)} columns, not a code and its title", "Put a title with a comma in quotes."
    elif not code:
        problem = "has no code", "Fill it in, or delete the line."
    elif lengths is None and not all(code.split(".")):
        problem = f"has an empty part: {code!r}", "Remove the dot at the start or the end, or the doubled one."
    elif lengths is not None and len(code) not in lengths:
        problem = (
            f"has the code {code!r} with {len(code)} characters, not {' or '.join(map(str, lengths))}",
            "Correct it (spreadsheets drop leading zeros), or add its length to the prefixes.",
        )
    elif (code.count(".") if lengths is None else len(lengths)) > _LEVELS:
        problem = f"has a code of more than {_LEVELS} levels", "Is it a list of codes?"
    if problem is not None:
        forest.add_problem("code", f"{forest.origin.at(line)} {problem[0]}.", problem[1])
        return
    if lengths is None:
        cuts = [i for i, sign in enumerate(code) if sign == "."] + [len(code)]
    else:
        cuts = [length for length in lengths if length <= len(code)]
    node = forest.add([code[:cut] for cut in cuts], line)[-1]
    if title and forest.titles.setdefault(node, title) != title:
        forest.add_problem(
            "two titles",
            f"{forest.origin.at(line)} gives the code {code!r} the title {title[:200]!r}, but it already has "
            f"{forest.titles[node][:200]!r}.",
            "Keep one of these lines.",
        )
