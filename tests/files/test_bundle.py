"""Files that belong together are replaced together, whenever a process is killed."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from hedgerow.errors import FileError
from hedgerow.files import bundle
from hedgerow.files.atomic import atomic_write
from hedgerow.files.bundle import member, replacing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ("a.txt", "b.txt", "c.txt")
TOUCHING = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.listdir")
KILLED = 9

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def save(folder: Path, content: str) -> None:
    with replacing(folder) as new:
        for name in NAMES:
            with atomic_write(new / name) as file:
                file.write(content)


def load(folder: Path) -> set[str]:
    return {member(folder, name).read_text(encoding="utf-8") for name in NAMES}


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Run some work in another process that is killed before its file operation of this number; was it?"""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, _: tuple[object, ...]) -> None:
            nonlocal left
            if event in TOUCHING:
                if left == 0:
                    os._exit(KILLED)
                left -= 1

        try:
            sys.addaudithook(count)
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


def everything_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("before", [True, False])
def test_a_kill_at_any_operation_leaves_the_old_or_the_new_files(before: bool, tmp_path: Path) -> None:
    seen, step = [], 0
    while True:
        folder = tmp_path / f"at{step}" / "out"
        folder.parent.mkdir()
        if before:
            save(folder, "old")
            (folder / "mine.txt").write_text("mine", encoding="utf-8")
        if not killed_at(step, lambda folder=folder: save(folder, "new")):  # type: ignore[misc]
            break
        if before or folder.exists():
            assert load(folder) in ({"old"}, {"new"})
        seen.append(load(folder).pop() if folder.exists() else None)
        save(folder, "next")
        assert load(folder) == {"next"}
        mine = ["out/mine.txt"] if before else []
        assert everything_in(folder.parent) == sorted(["out", *mine, *(f"out/{name}" for name in NAMES)])
        step += 1
    first, last = ("old" if before else None), "new"
    assert {first, last} == set(seen)
    assert seen == sorted(seen, key=[first, last].index), "once the new files count, they stay"
    assert step > 15


def test_a_kill_while_files_are_recovered(tmp_path: Path) -> None:
    save(tmp_path, "old")
    step = 0
    while killed_at(step, lambda: save(tmp_path, "new")) and load(tmp_path) == {"old"}:
        step += 1  # until the kill is just after the moment that counts
    assert load(tmp_path) == {"new"}
    assert (tmp_path / ".replacement").is_dir()
    for again in range(30):
        killed_at(again, lambda: save(tmp_path, "newer"))
        assert load(tmp_path) in ({"new"}, {"newer"})
    save(tmp_path, "next")
    assert everything_in(tmp_path) == list(NAMES)


def test_two_at_once_do_not_mix_their_files(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def write(content: str) -> None:
        try:
            for _ in range(30):
                save(tmp_path / "out", content)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert load(tmp_path / "out") in ({"x"}, {"y"}, {"z"})
    assert everything_in(tmp_path / "out") == list(NAMES)


def test_a_folder_that_appears_meanwhile(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with replacing(folder) as new:
        save(folder, "theirs")
        for name in NAMES:
            (new / name).write_text("ours", encoding="utf-8")
    assert load(folder) == {"ours"}
    assert everything_in(tmp_path) == ["out", *(f"out/{name}" for name in NAMES)]


def test_what_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "out", "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "_commit", full)
    with pytest.raises(FileError, match="out cannot be written: No space left on device"):
        save(tmp_path / "out", "new")
    assert load(tmp_path / "out") == {"old"}
    assert everything_in(tmp_path / "out") == list(NAMES)
