"""Measures anew what the first tutorial shows: its printed blocks, and `figures/languages-*.png`.

python docs/draw_languages.py   (in a checkout; needs npm, and the network if nothing was downloaded yet)

The pages are built without a network, so the tutorial is shown, but not run. A block `.. code-block:: none` of it
shows what the code above it prints.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import matplotlib as mpl

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "examples" / "tutorials" / "tutorial_0_languages.py"
FIGURES = ("curves", "promises")
BLOCK = re.compile(r"(# \.\. code-block:: none\n#\n)(?:#     .*\n|#\n(?=#     ))*")


def recorded(tutorial: str, folder: Path) -> str:
    """Run a tutorial in a folder; return its text with what each of its blocks prints now."""
    parts = re.split(r"^(?=# %%$)", tutorial, flags=re.MULTILINE)
    printed = ""
    names: dict[str, object] = {"__name__": "__main__"}
    for place, part in enumerate(parts):
        if printed:
            lines = "".join(f"#     {line}".rstrip() + "\n" for line in printed.rstrip().splitlines())
            parts[place], times = BLOCK.subn(lambda found, lines=lines: found[1] + lines, part, count=1)
            if not times:
                raise ValueError(f"No block shows what is printed here: {printed[:200]}")
        output = io.StringIO()
        with redirect_stdout(output), mock.patch.object(sys, "argv", [str(TUTORIAL), str(folder)]):
            exec(compile(part, str(TUTORIAL), "exec"), names)  # noqa: S102
        printed = output.getvalue()
    return "".join(parts)


def main() -> None:
    """Write the tutorial and its figures."""
    mpl.use("agg")
    sys.path.insert(0, str(ROOT))
    with TemporaryDirectory() as folder:
        text = recorded(TUTORIAL.read_text(encoding="utf-8"), Path(folder))
        for name in FIGURES:
            shutil.copy(Path(folder, f"{name}.png"), ROOT / "docs" / "figures" / f"languages-{name}.png")
    TUTORIAL.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
