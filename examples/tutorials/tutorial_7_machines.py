"""
Several machines
================

The scores of a large test lie in many files, perhaps on several machines. An evaluation does not need them in one
place: each part is evaluated where it lies, and evaluations add up. The result is that of a single pass over
everything, to the last digit.

This needs ``pip install 'hedgerow[plot,dask]'``; without Dask, the second half is left out.
"""

# %%
# Three parts
# -----------
# A tree with a hundred classes, and the scores of a made-up model in three files.

import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow.show.figures import OperatingCurveDisplay

folder = Path(tempfile.mkdtemp())
h = hr.Hierarchy.from_paths([f"{a}/{a}{b}/{a}{b}{c}" for a in "ABCD" for b in "12345" for c in "vwxyz"])
h.write(folder / "tree.json")

random = np.random.default_rng(7)
shared = h.information()[h.lca(h.leaves[:, None], h.leaves)]  # the more two classes share, the more alike they are
for part, noise in enumerate((1.5, 2.0, 2.5), 1):
    truth = random.integers(len(h.leaves), size=2000)
    scores = np.exp(1.2 * shared[truth] + random.normal(0, noise, (2000, len(h.leaves))))
    np.savez(
        folder / f"part-{part}.npz",
        classes=h.names[h.leaves].astype(str),
        probabilities=scores / scores.sum(axis=1, keepdims=True),
        labels=h.names[h.leaves[truth]].astype(str),
    )

# %%
# Evaluations of parts, and any scheduler
# ---------------------------------------
# ``-o`` saves all that is needed of a part. Such commands can run on several machines, as jobs of Slurm or of a
# workflow manager: they know nothing of each other.


def run(command: str, *shown: str) -> None:
    """Run a command, and print it with what it prints, or with the paragraphs that begin so."""
    print("$", command.replace(" --", " \\\n    --"))
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(
        words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        sys.exit(done.stdout)
    paragraphs = [text for text in done.stdout.split("\n\n") if text.startswith(shown or "")]
    assert all(any(text.startswith(start) for text in paragraphs) for start in shown), done.stdout
    print(*paragraphs, sep="\n...\n" if shown else "\n\n")


run("hedgerow evaluate part-1.npz --tree tree.json -o part-1", "At threshold")

# %%
# The same from Python, for the other two:

for name in ("part-2", "part-3"):
    hr.evaluate(h, hr.open_scores(folder / f"{name}.npz", h), name=name).save(folder / name)

for path in sorted([*folder.glob("part-*.npz"), *folder.glob("part-*/examples.npz")]):
    print(f"{path.relative_to(folder)}: {path.stat().st_size / 1000:,.0f} kB")

# %%
# Evaluations can be merged anywhere, in any order.

run("hedgerow merge part-3 part-1 part-2 -o merged", "merged:", "At threshold")

# %%
# Is that what one pass over everything gives? Every figure, to the last digit:

merged = hr.Evaluation.load(folder / "merged")
parts = [folder / f"part-{part}.npz" for part in (1, 2, 3)]
whole = hr.cluster.evaluate(parts, h, name="all parts")
print("The same figures:", whole.summary() == merged.summary())

# %%
# The parts beside the whole:

evaluations = [hr.Evaluation.load(path.with_suffix("")) for path in parts]
OperatingCurveDisplay.from_evaluations([whole, *evaluations]).plot("correct-recall", rules=[])

# %%
# Two Dask workers
# ----------------
# ``--workers 2`` starts two processes on this machine; ``--scheduler tcp://...`` takes a cluster that is there
# already.

WITH_DASK = find_spec("distributed") is not None
if WITH_DASK:
    run(
        "hedgerow evaluate part-1.npz part-2.npz part-3.npz --tree tree.json --workers 2 -o by-dask",
        "At threshold",
    )
    by_dask = hr.Evaluation.load(folder / "by-dask")
    print("The same figures:", by_dask.summary() == whole.summary())
else:
    print("Dask is not installed, so this was left out: pip install 'hedgerow[dask]'")

# %%
# Dask code of your own
# ---------------------
# A ``CurveBuilder`` has three calls, ``update``, ``merge`` and ``compute``, and can be sent between processes,
# so it fits into any code that maps and reduces. The scores need not be in files: here, each task makes its
# own.


def curve_of_part(seed: int) -> hr.CurveBuilder:
    """Score some examples, where they are, and keep what a curve needs."""
    random = np.random.default_rng(seed)
    truth = random.integers(len(h.leaves), size=1000)
    scores = np.exp(1.2 * shared[truth] + random.normal(0, 2, (1000, len(h.leaves))))
    builder = hr.CurveBuilder(h)
    builder.update(hr.likelihood.from_leaves(h, scores / scores.sum(axis=1, keepdims=True)), h.leaves[truth])
    return builder


def merged_curves(one: hr.CurveBuilder, other: hr.CurveBuilder) -> hr.CurveBuilder:
    one.merge(other)
    return one


if WITH_DASK:
    from dask import bag
    from dask.delayed import delayed
    from distributed import Client

    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        seeds = bag.from_sequence(range(8), npartitions=8)
        by_bag = seeds.map(curve_of_part).fold(merged_curves).compute().compute()

        left = [delayed(curve_of_part)(seed) for seed in range(8)]
        while len(left) > 1:  # merge pairs, then pairs of pairs
            left = [delayed(merged_curves)(*pair) for pair in zip(left[::2], left[1::2], strict=True)]
        by_delayed = left[0].compute().compute()

    print({name: round(value, 3) for name, value in by_bag.summary().items()})
    print("The same curve from both:", np.array_equal(by_bag.correct, by_delayed.correct))

shutil.rmtree(folder)  # unless you want to look at the files

# %%
# What to do next
# ---------------
# * From Python, ``hr.cluster.connect(workers=2)`` gives a client for ``hr.cluster.evaluate``. Workers are
#   processes, so the script needs the usual ``if __name__ == "__main__":``.
# * ``hedgerow predict`` and ``compare`` take parts and workers, too. :doc:`Many parts, many machines </scale>`
#   has the details, what it costs, and the same for Ray and Spark.
