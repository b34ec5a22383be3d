"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow import Hierarchy
from hedgerow.errors import FileError
from hedgerow.files.atomic import atomic_write, clear_leftovers, temporary, try_file
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
            lambda: Hierarchy.from_edges([("a", "b")]).write("t.json"), "t.json cannot be written", error=FileError
        )
    finally:
        folder.chmod(0o700)


def leftover(folder: Path, process: int, machine: str | None = None) -> Path:
    ours = temporary(folder / "file.txt").name.split("-")
    path = folder / "-".join([ours[0], machine or ours[1], str(process), ours[3]])
    path.write_text("half", encoding="utf-8")
    return path


@pytest.mark.skipif(os.name != "posix", reason="processes are told apart by their number")
def test_what_killed_processes_left_is_cleared_by_the_next_run(tmp_path: Path) -> None:
    code = "import os, sys\nfrom hedgerow.files import atomic_write\nwith atomic_write(sys.argv[1]) as f:\n"
    write = code + "    f.write('new')\n"
    killed = code + "    f.write('half'); f.flush(); os._exit(9)\n"
    for program in (killed, killed):
        subprocess.run([sys.executable, "-c", program, str(tmp_path / "file.txt")], check=False)
        assert len(list(tmp_path.iterdir())) == 1, "the second removed what the first left"
    subprocess.run([sys.executable, "-c", write, str(tmp_path / "other.txt")], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


@pytest.mark.skipif(os.name != "posix", reason="processes are told apart by their number")
def test_only_what_is_ours_and_given_up_is_cleared(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stale = leftover(tmp_path, gone.pid)
    folder = tmp_path / stale.name.replace("file", "folder")
    folder.mkdir()
    (folder / "part").write_text("half", encoding="utf-8")
    elsewhere, long_ago = leftover(tmp_path, 1, "00000000"), leftover(tmp_path, 1, "ffffffff")
    os.utime(long_ago, (0, 0))
    link = tmp_path / stale.name.replace("file", "link")
    kept = tmp_path / "kept"
    kept.mkdir()
    link.symlink_to(kept)
    foreign = [tmp_path / name for name in (".x.tmp", "file.tmp", f"not{stale.name}", stale.name + "x")]
    for path in foreign:
        path.write_text("theirs", encoding="utf-8")
    mine = leftover(tmp_path, os.getpid())
    clear_leftovers(tmp_path)
    assert set(tmp_path.iterdir()) == {elsewhere, mine, kept, *foreign}


def test_files_are_flushed_before_they_are_renamed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def flushed(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"{os.fstat(handle).st_size} bytes")
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        done.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    with atomic_write("file.txt") as file:
        file.write("12345")
    assert done == ["5 bytes", "rename", *(["folder"] if os.name == "posix" else [])]


@pytest.mark.parametrize("name", ["x" * 250, "鳥" * 80])
def test_long_names(folder: Path, name: str) -> None:
    with atomic_write(name) as file:
        file.write("x")
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_full_device(size: int) -> None:
    with (
        pytest.raises(FileError, match="/dev/full cannot be written: No space left"),
        atomic_write("/dev/full") as f,
    ):
        f.write("x" * size)
