"""For the reference pages: doctests that stand without a heading get the heading "Examples".

Without one, the parser of docstrings takes them for prose, or for the end of a list of parameters.
"""

from __future__ import annotations

from typing import Any

import griffe


def with_headings(docstring: str) -> str:
    r"""Return a docstring whose doctests all stand under a heading of their own.

    >>> with_headings("Add.\n\n>>> 1 + 1\n2").splitlines()
    ['Add.', '', 'Examples', '--------', '>>> 1 + 1', '2']
    """
    lines: list[str] = []
    section = ""
    for line in docstring.splitlines():
        if lines and line and set(line) == {"-"}:
            section = lines[-1]
        if line.startswith(">>>") and section != "Examples" and not (lines and lines[-1].strip()):
            section = "Examples"
            lines += [section, "--------"]
        lines.append(line)
    return "\n".join(lines)


class DoctestHeadings(griffe.Extension):
    """Rewrites the docstrings that griffe has found."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = with_headings(obj.docstring.value)
