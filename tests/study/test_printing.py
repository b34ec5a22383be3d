"""What a study prints where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.study.printing import study_bar
from tests.study.small import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_log_file_begins_at_once_and_gets_a_line_per_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with study_bar(5, 3):
        assert capsys.readouterr().out.splitlines() == [
            "2 of 5 cells already have a record.",
            "3 cells to run; each adds a line here when it is finished, which may take minutes.",
        ]
    run(tmp_path, progress=study_bar)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["[1/2]", "[2/2]"]
