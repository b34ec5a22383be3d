"""
Intents of short texts
======================

A help desk sorts messages into intents, and intents into topics. A message that is unclear should go to the right
topic rather than to the wrong intent. Two ways lead there: keep the classifier that you have and sum its
probabilities up the tree, or train one that knows the tree.

This needs ``pip install 'hedgerow[torch,plot]'``.
"""

# %%
# The tree, and some messages
# ---------------------------
# The messages are made up from a few words per intent, with words that could belong to any intent mixed in.

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.show.figures import OperatingCurveDisplay

WORDS = {
    "card lost": "card lost gone missing stolen wallet bag",
    "card blocked": "card blocked frozen locked declined pin",
    "card new": "card new order replacement expired arrive",
    "transfer late": "transfer late waiting arrive pending days",
    "transfer wrong": "transfer wrong recipient mistake iban back",
    "transfer abroad": "transfer abroad currency rate fee iban",
    "login password": "login password forgot reset email",
    "login code": "login code sms phone number arrive",
}
TOPICS = {name: [intent for intent in WORDS if intent.startswith(name)] for name in ("card", "transfer", "login")}
ANYTHING = ["please", "help", "my", "the", "account", "today", "urgent", "cannot", "why", "thanks", "since"]

h = hr.Hierarchy.from_json({"any message": TOPICS})
print(h.pretty())

random = np.random.default_rng(0)
intents = random.choice(list(WORDS), 1200)
texts = [
    " ".join([*random.choice(WORDS[intent].split(), random.integers(1, 4)), *random.choice(ANYTHING, 4)])
    for intent in intents
]
print(f"\nAbout {intents[0]}: {texts[0]}")

# %%
# A classifier that does not know the tree
# ----------------------------------------
# Any classifier with probabilities will do. ``from_leaves`` binds its columns to the tree by name and sums them.

seen, new, y_seen, y_new = train_test_split(texts, intents, test_size=0.4, random_state=0)
features = TfidfVectorizer().fit(seen)
foreign = LogisticRegression(C=10).fit(features.transform(seen), y_seen)

q = hr.likelihood.from_leaves(h, foreign.predict_proba(features.transform(new)), classes=foreign.classes_)
flat = hr.evaluate(h, q, y_new, name="LogisticRegression")
print(flat)

# %%
# A classifier that knows the tree
# --------------------------------
# It takes labels at any depth: here one in five is known by its topic only.

coarse = random.random(len(y_seen)) < 0.2
labels = np.where(coarse, h.names[h.parent[h.indices(y_seen)]], y_seen)
own = hr.HedgedClassifier(h, random_state=0).fit(features.transform(seen), labels)

hedged = hr.evaluate(h, own.predict_likelihood(features.transform(new)), y_new, name="HedgedClassifier")
print(hedged)

# %%
# Every trade-off at once
# -----------------------
# Each point of a line is one threshold: towards the left the answers are safer, towards the right more specific.

OperatingCurveDisplay.from_evaluations([flat, hedged]).plot("correct-recall")

# %%
# Do the two really differ? A paired bootstrap says how sure that is.

result = hr.compare(flat, hedged, replicates=200)
change = result.differences[1]["AP"]
print(f"AP: {change.value:+.3f}, 95 % interval {change.low:+.3f} to {change.high:+.3f}: {result.verdict(1, 'AP')}")

# %%
# Answers
# -------
# The same messages at two thresholds. The unclear ones move up the tree.

unclear = ["card please", "my iban", "login code sms", "help"]
for tau in (0.5, 0.9):
    own.set_operating_point(tau)
    print(tau, dict(zip(unclear, own.predict(features.transform(unclear)), strict=True)))

# %%
# With 150 real intents, see ``examples/clinc150.py`` and :doc:`the measured results </results>`.
