"""Run the command, and write to called.json the modules of the package in which a function was called.

python tests/trace_calls.py evaluate scores.csv --tree tree.csv
"""

from __future__ import annotations

import inspect
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hedgerow.cli  # imports are done before anything is noted

if sys.argv[1:2] == ["train"]:
    import hedgerow.learn.training.module

if TYPE_CHECKING:
    from types import FrameType

HOME = str(Path(hedgerow.__file__).parent)


def main() -> None:
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Bodies of modules and classes are not optimised; the methods that a dataclass generates have no file.
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(HOME):
            called.add(frame.f_globals["__name__"])

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        hedgerow.cli.main()
    finally:  # the command ends by SystemExit
        sys.setprofile(None)
        Path("called.json").write_text(json.dumps(sorted(called)), encoding="utf-8")


if __name__ == "__main__":
    main()
