"""Omniglot, 1,623 characters of 50 alphabets: the main experiment, and unseen characters.

    python examples/omniglot.py FOLDER [-o studies/omniglot] [--seeds 3]

FOLDER holds `omniglot28.npz` (images uint8 [N, 28, 28] from 0 to 15, `character`, `split` 0 train, 1 val, 2 test,
`character_names`) and `hierarchy.csv` (parent,child).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from hedgerow import HedgerowError, Hierarchy
from hedgerow.errors import FileError
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.training.recipe import Recipe
from hedgerow.study.cells import PAPER_METHODS
from hedgerow.study.printing import print_report, study_bar
from hedgerow.study.run import study


def load(folder: Path) -> DataSplits:
    """Read the drawings, and bind them to the tree by name."""
    for name in ("omniglot28.npz", "hierarchy.csv"):
        if not (folder / name).is_file():
            raise FileError(
                f"There is no {folder / name}. Give the folder that holds omniglot28.npz and hierarchy.csv."
            )
    tree = Hierarchy.from_edges(folder / "hierarchy.csv")
    with np.load(folder / "omniglot28.npz", allow_pickle=False) as file:
        images, split = file["images"] * np.uint8(17), file["split"]  # 0..15 becomes 0..255
        labels = tree.indices(file["character_names"])[file["character"]]
    parts = [LabelledInputs(images[split == i], labels[split == i], np.flatnonzero(split == i)) for i in range(3)]
    return DataSplits("omniglot", tree, *parts)


def main() -> int:
    """Run the experiments; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("-o", "--output", type=Path, default=Path("studies/omniglot"))
    parser.add_argument("--experiments", default="main,unseen", help="with commas; default: %(default)s")
    parser.add_argument("--methods", default=",".join(PAPER_METHODS), help="with commas; default: the nine")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--no-tune", dest="tune", action="store_false", help="one learning rate for all methods")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    if given.folder is None:
        parser.print_help()
        return 0
    # Twelve drawings of each character are soon learnt by heart.
    longer = ("optimiser.epochs=30", "model.dropout=0.4")
    try:
        recipe = Recipe.load("glyphs", [*longer, *given.changes])
        report = study(
            given.experiments.split(","),
            recipe,
            given.output,
            seeds=given.seeds,
            tune=given.tune,
            chosen=given.methods.split(","),
            splits=load(given.folder),
            jobs=given.jobs,
            progress=study_bar,
        )
    except HedgerowError as error:
        print(error, file=sys.stderr)
        return 2
    print_report(report, Console())
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
