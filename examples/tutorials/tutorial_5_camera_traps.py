"""
Camera traps and SpeciesNet
===========================

A camera trap takes a burst of pictures when something passes. SpeciesNet lists, for each picture, the five most
likely classes: species, higher taxa, ``blank`` and ``vehicle``. Here we turn them into answers that are right at
least 90 % of the time, in a table for a Camtrap DP, and see why bursts must be kept together.

This needs ``pip install 'hedgerow[plot]'``. The pictures are made up: SpeciesNet itself is not run.
"""

# %%
# A season of pictures
# --------------------
# ``labels.txt`` is the list of classes that comes with a SpeciesNet model, cut down to what may pass these
# cameras.

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import hedgerow as hr

CLASSES = """\
mammalia;carnivora;canidae;canis;lupus;grey wolf
mammalia;carnivora;canidae;vulpes;vulpes;red fox
mammalia;carnivora;felidae;felis;catus;domestic cat
mammalia;carnivora;felidae;felis;silvestris;wildcat
mammalia;carnivora;felidae;lynx;lynx;Eurasian lynx
mammalia;carnivora;mustelidae;martes;foina;stone marten
mammalia;carnivora;mustelidae;martes;martes;pine marten
mammalia;carnivora;mustelidae;meles;meles;European badger
mammalia;cetartiodactyla;cervidae;capreolus;capreolus;roe deer
mammalia;cetartiodactyla;cervidae;cervus;elaphus;red deer
mammalia;cetartiodactyla;suidae;sus;scrofa;wild boar
mammalia;lagomorpha;leporidae;lepus;europaeus;European hare
mammalia;lagomorpha;leporidae;oryctolagus;cuniculus;European rabbit
aves;passeriformes;corvidae;garrulus;glandarius;Eurasian jay
aves;passeriformes;turdidae;turdus;merula;common blackbird
aves;passeriformes;turdidae;turdus;philomelos;song thrush
;;;;;animal
;;;;;blank
;;;;;vehicle
""".splitlines()

folder = Path(tempfile.mkdtemp())
classes = [f"{uuid.uuid5(uuid.NAMESPACE_DNS, name)};{name}" for name in CLASSES]
(folder / "labels.txt").write_text("\n".join(classes))
h = hr.Hierarchy.read(folder / "labels.txt", "speciesnet")
print(h.pretty())

# %%
# A made-up classifier confuses animals the more, the closer they are. Most of what it gets wrong is wrong in
# the whole burst: the animal is far away, or it is foggy.

random = np.random.default_rng(5)
names = [name.rsplit(";", 1)[1] for name in CLASSES]
possible = [name for name in names if name != "animal"]  # what can be in front of a camera
nodes = np.array([h.index(name) if name in h else 0 for name in classes])
likeness = h.information()[h.lca(nodes[:, None], nodes)]
likeness[range(len(names)), range(len(names))] += 1.5


def photograph(name: str, bursts: int) -> None:
    """Write NAME.json, as SpeciesNet would, and NAME.csv: the truth and the burst of each picture."""
    predictions, truth = [], []
    for burst in range(bursts):
        thing = str(random.choice(possible))
        fog = random.normal(0, 2.2, len(names))
        for picture in range(random.integers(1, 13)):
            scores = np.exp(1.5 * likeness[names.index(thing)] + fog + random.normal(0, 0.5, len(names)))
            scores /= scores.sum()
            best = np.argsort(-scores)[:5]
            path = f"camera{burst % 8}/{name}{burst:04}_{picture:02}.jpg"
            listed = {"classes": [classes[i] for i in best], "scores": scores[best].tolist()}
            predictions.append({"filepath": path, "classifications": listed})
            truth.append((path, thing, f"{name}{burst:04}"))
    (folder / f"{name}.json").write_text(json.dumps({"predictions": predictions}))
    pd.DataFrame(truth, columns=["filepath", "label", "burst"]).to_csv(folder / f"{name}.csv", index=False)


photograph("checked", 15)
photograph("new", 400)
print(pd.read_csv(folder / "checked.csv").head(4).to_string(index=False))

# %%
# How good are the answers?
# -------------------------
# Somebody has looked at fifteen bursts, and written down what is on each picture. ``blank`` and ``vehicle`` are
# not animals, and stand outside the tree: what SpeciesNet gives to them supports no taxon. With ``--below-label
# wrong``, it is an error to see any animal on a picture that has none.


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


READING = "--tree labels.txt --tree-format speciesnet --outside blank --outside vehicle"
run(
    f"hedgerow evaluate checked.json {READING} --labels checked.csv --below-label wrong -o checked",
    "checked:",
    "majority, by rank",
    "At threshold",
)

# %%
# Each threshold is a point of this line. At 0.65, SpeciesNet itself goes up to a higher taxon.

hr.Evaluation.load(folder / "checked").plot("correct-recall", thresholds=[0.5, 0.65, 0.9])

# %%
# A threshold with a promise
# --------------------------
# The pictures of a burst look alike: when one is wrong, most of them are. So the burst is the unit, and
# ``--clusters`` says which column names it.

run(
    f"hedgerow select checked.json {READING} --labels checked.csv --below-label wrong "
    "--clusters burst --target correct=0.9 -o point.json",
    "Right",
    "answers at rank",
    "The threshold",
    "Next",
)

# %%
# Answers
# -------

run(f"hedgerow predict new.json {READING} --point point.json --as camtrap-dp -o observations.csv")

observations = pd.read_csv(folder / "observations.csv").fillna({"scientificName": ""})
shown = ["mediaID", "observationType", "scientificName", "classificationProbability"]
print(observations.loc[::400, shown].round(2).to_string(index=False))

# %%
# Where the answer is the root, "some animal, or nothing", the observation is ``unknown``.
#
# What ignoring bursts would cost
# -------------------------------
# We made the new pictures, so we can see how many answers are right. Let us take fifteen of the new bursts,
# choose a threshold with them, and look at the others; then do it again with other bursts, a hundred times.
# Each time, the threshold is chosen with the bursts kept together, and as if the pictures had nothing to do
# with each other.

reading = hr.ScoreReading(labels_file=folder / "new.csv", cluster_column="burst", outside=["blank", "vehicle"])
(block,) = hr.open_scores(folder / "new.json", h, reading)
q: Any = block.likelihoods
labels = np.asarray(block.labels)
burst = np.unique(np.asarray(block.clusters), return_inverse=True)[1]
weight = 1 / np.bincount(burst)[burst]  # every burst counts the same, whether it has one picture or twelve


def share_right(seen: np.ndarray, clusters: np.ndarray | None) -> float:
    """Choose a threshold with the pictures seen, and return the share of right answers to the others."""
    point = hr.select(
        h,
        q[seen],
        labels[seen],
        target=("correct", 0.9),
        clusters=clusters,
        below_label="wrong",
        single_child="answer",
    )
    right = hr.metrics.correct(h, labels[~seen], point.predict(q[~seen]), below_label="wrong")
    return float(np.average(right, weights=weight[~seen]))


together, ignored = [], []
for _ in range(100):
    seen = np.isin(burst, random.choice(burst.max() + 1, 15, replace=False))
    together.append(share_right(seen, burst[seen]))
    ignored.append(share_right(seen, None))

figure, axes = plt.subplots(2, sharex=True, sharey=True, figsize=(7, 4), layout="constrained")
for ax, found, title in zip(axes, (together, ignored), ("kept together", "ignored"), strict=True):
    print(f"Bursts {title}: {np.mean(found):.1%} of the answers are right, on average")
    ax.hist(found, bins=np.linspace(min(together + ignored), 1, 31), color="#61a5c2")
    ax.axvline(0.9, color="black", label="promised")
    ax.axvline(np.mean(found), color="#bd1f01", linestyle="--", label="mean")
    ax.set_title(f"bursts {title}", loc="left", fontsize="medium")
axes[0].legend(loc="upper left")
axes[1].set(xlabel="right answers to pictures of new bursts", ylabel="times")
shutil.rmtree(folder)  # unless you want to look at the files

# %%
# The promise is about the mean: the threshold of one set of fifteen bursts may give more or less, and more
# bursts give less spread. With bursts ignored, the pictures seem to be more evidence than they are, the
# threshold is too low, and the promise is broken. hedgerow cannot know what a burst is: it has to be told.
#
# What to do next
# ---------------
# * Cameras differ, too. For pictures of *new cameras*, the camera is the cluster; for the cameras that you
#   know, ``--groups camera`` chooses a threshold for each of them.
# * ``--only species.txt`` drops what does not live in your region. The classes in a file of SpeciesNet are
#   those before its own geographic filter.
# * Fill in ``deploymentID`` and the times of the observations from your deployments: hedgerow does not know
#   them.
# * :doc:`Promises </promises>` says what breaks a promise; :doc:`Other tools </tools>` how the file is read.
