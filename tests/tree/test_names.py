"""Control characters in names: refused by every reader, with the place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.errors import ParameterError, TreeError
from hedgerow.tree.names import with_control

ALLOWED = "\t\n\r"


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5)))
def test_what_a_control_character_is(names: list[str]) -> None:
    controls = {chr(code) for code in [*range(32), *range(127, 160)]} - set(ALLOWED)
    assert list(with_control(names)) == [name for name in names if controls & set(name)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tree.csv", "animal,bird\nanimal,fi\x00sh\n"),
        ("tree.csv", "an\x1bimal,bird\nan\x1bimal,fish\n"),
        ("tree.txt", "animal/bird\nanimal/fi\x07sh\n"),
        ("tree.txt", "animal/bird\nanimal/fi\x9bsh\n"),
        ("tree.json", '{"animal": ["bird",\n"fi\\u0000sh"]}'),
        ("tree.nwk", "(bird,\nfi\x00sh)animal;"),
        ("tree.lineages", "class,species\nbirds,ro\x00bin\n"),
    ],
)
def test_files_are_refused_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(content, encoding="utf-8")
    line = 1 if "an\x1b" in content else 2
    with pytest.raises(TreeError, match=rf"{name}, line {line}.*\\x.*contains a control character\. Remove it"):
        Hierarchy.read(name, "lineages" if name.endswith("lineages") else None)


def test_large_files_are_refused_with_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"root,leaf {i}" for i in range(100_000)]
    Path("tree.csv").write_text("\n".join([*lines, "root,a\x00b"]))
    with pytest.raises(TreeError, match=rf"tree.csv, line {len(lines) + 1}: the name 'a\\x00b'"):
        Hierarchy.read("tree.csv")


def test_names_in_memory_and_saved_trees_are_refused() -> None:
    with pytest.raises(TreeError, match=r"pair 2: the name 'b\\x00' contains a control"):
        Hierarchy.from_edges([("a", "c"), ("a", "b\x00")])
    with pytest.raises(TreeError, match=r"'b\\x7f' contains a control"):
        Hierarchy.from_parents(["a", "b\x7f"], [-1, 0])
    with pytest.raises(TreeError, match=r"'b\\x00' contains a control"):
        Hierarchy.from_json({"a": ["b\x00"]})
    saved = Hierarchy.from_edges([("a", "b")]).to_dict() | {"names": ["a", "b\x00"]}
    with pytest.raises(TreeError, match=r"position 1: the name 'b\\x00' contains a control"):
        Hierarchy.from_dict(saved)


@pytest.mark.parametrize("root", ["x\x00", "x\x1b[2J", "x\x85", " ", "", 5, None])
def test_roots_that_are_no_names_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text("a,b\na,c\n")
    Path("tree.txt").write_text("a/b\na/c\n")
    readers: list[Any] = [
        lambda: Hierarchy.from_paths(["a", "b"], root=root),
        lambda: Hierarchy.from_lineages([("a",), ("b",)], ranks=["rank"], root=root),
        lambda: Hierarchy.from_json(["a", "b"], root=root),
        lambda: Hierarchy.from_newick("(a,b);", root=root),
        lambda: Hierarchy.read("tree.csv", root=root),
        lambda: Hierarchy.read("tree.txt", root=root),
    ]
    for read in readers:
        with pytest.raises(
            ParameterError, match=r"The root needs a name.*: root='NAME', not " + re.escape(repr(root))
        ):
            read()


def test_tabs_and_line_ends_may_stand_in_a_name(tmp_path: Path) -> None:
    names = ["a", "b\tc", "d\r\ne", "f\n"]
    h = Hierarchy.from_edges([("a", name) for name in names[1:]])
    h.to_edges(tmp_path / "tree.csv")
    assert Hierarchy.read(tmp_path / "tree.csv").names.tolist() == names
    assert np.array(names, dtype=str).tolist() == names  # as evaluations and score files keep them
