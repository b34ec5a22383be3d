"""Path strings: one path per line, such as `animal/bird/robin`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.errors import FileError, ParameterError, argument
from hedgerow.files import is_path, read_text
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.problems import Origin, Problem, check_root, no_edges, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from hedgerow.tree.formats.node_table import NodeTable

_SEPARATORS = "/;"


def read_paths(
    source: str | PathLike[str] | Iterable[str],
    root: str = "root",
    separator: str | None = None,
    disambiguate: bool = False,
) -> NodeTable:
    """Read one path per line, such as `animal/bird/robin` or `animal; bird; robin`.

    Spaces around names, and blank lines, are ignored. See `hedgerow.tree.formats.read_lineages` for `root` and
    `disambiguate`.

    Parameters
    ----------
    source
        A text file, or strings.
    separator
        What separates names; by default "/" or ";", as found on the first line that has either.
    """
    check_root(root)
    if is_path(source):
        path = os.fspath(source)
        origin = Origin(path)
        # Not splitlines, which also splits at characters that a name may contain.
        listed: Iterable[str] = read_text(path).replace("\r\n", "\n").split("\n")
    else:
        origin = Origin(None, "path")
        listed = source  # type: ignore[assignment]
    lines = [(i, str(line)) for i, line in enumerate(listed, 1) if str(line).strip()]
    if not lines:
        refuse([no_edges(origin)], origin)
    if separator is None:
        separator = _found_separator(lines, origin)
    elif not separator:
        raise ParameterError("The separator of paths must be at least one character, such as '/' or ';'.")
    forest = Forest(origin)
    for line, path in lines:
        names = [name.strip() for name in path.split(separator)]
        if all(names):
            forest.add(names, line)
        else:
            forest.problems.append(
                Problem(
                    "empty name",
                    f"{origin.at(line)} has an empty name: {path!r}.",
                    f"Remove the {separator!r} at the start or the end, or the doubled one.",
                )
            )
    return forest.table(root, disambiguate)


def _found_separator(lines: list[tuple[int, str]], origin: Origin) -> str:
    for line, path in lines:
        found = [separator for separator in _SEPARATORS if separator in path]
        if len(found) > 1:
            raise FileError(
                f"{origin.at(line)} contains both '/' and ';': {path!r}. Name the separator, for example "
                f"{argument('separator', ';')}."
            )
        if found:
            return found[0]
    return _SEPARATORS[0]
