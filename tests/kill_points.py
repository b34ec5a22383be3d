"""Work that is killed at one of its file operations."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TOUCHING = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.listdir")
KILLED = 9


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
