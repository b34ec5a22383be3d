"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError
from hedgerow.files.atomic import atomic_write, try_file
from tests.tree.helpers import refused, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, so that messages show short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_interrupted_write_leaves_the_old_file(folder: Path) -> None:
    write("file.txt", "old")
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt(), ZeroDivisionError()):
        expected = FileError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected) as caught, atomic_write("file.txt") as file:  # noqa: PT012
            file.write("new")
            raise error
        if isinstance(error, OSError):
            assert re.search("file.txt cannot be written: No space left", str(caught.value))
        assert [entry.name for entry in folder.iterdir()] == ["file.txt"]
        assert Path("file.txt").read_text() == "old"
    with atomic_write("file.txt", "wb") as binary:
        binary.write(b"\r\n\xff")
    assert Path("file.txt").read_bytes() == b"\r\n\xff"


def test_links_and_permissions_stay(folder: Path) -> None:
    write("file.txt", "old")
    Path("link").symlink_to("file.txt")
    with atomic_write("link") as file:
        file.write("new\n")
    assert Path("link").is_symlink()
    assert Path("file.txt").read_text() == "new\n"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(Path("file.txt").stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no /dev/null")
def test_devices_are_written_to() -> None:
    with atomic_write("/dev/null") as file:
        file.write("x")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd")
def test_pipes_are_written_to() -> None:
    read, write = os.pipe()
    try:
        try_file(f"/dev/fd/{write}")
        with atomic_write(f"/dev/fd/{write}") as file:
            file.write("x")
        assert os.read(read, 10) == b"x"
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(folder: Path) -> None:
    folder.chmod(0o500)
    try:
        refused(
            lambda: Hierarchy.from_edges([("a", "b")]).save("t.json"), "t.json cannot be written", error=FileError
        )
    finally:
        folder.chmod(0o700)
