"""What type is this file? A fallback that is an ancestor, and not a sibling.

pip install magika==1.0.3
python examples/file_types.py [FOLDER...]

magika (Google; Apache 2.0; weights inside) tells 214 types of files apart. Where it is not sure, it answers
"txt", a type beside the others. Here the answer is the group that holds what the file may be. The files are those
of this machine, in /usr or the folders given: the first 100 bytes of at most 30 files of each type, as their
extension tells.
"""

import json
import os
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import hedgerow as hr

BYTES, OF_A_TYPE = 100, 30

found = find_spec("magika")
if found is None or found.origin is None:
    print("skipped: this needs pip install magika==1.0.3")
    sys.exit()
from magika import Magika  # noqa: E402
from onnxruntime import InferenceSession  # noqa: E402

package = Path(found.origin).parent
about = json.loads((package / "config" / "content_types_kb.min.json").read_text(encoding="utf-8"))
model = package / "models" / "standard_v3_3"
classes = json.loads((model / "config.min.json").read_text(encoding="utf-8"))["target_labels_space"]

# The tree: text or binary, then magika's groups.
groups: dict[str, dict[str, list[str]]] = {"text file": {}, "binary file": {}}
for name in classes:
    kind = "text" if about[name]["is_text"] else "binary"
    group = f"{about[name]['group'] or 'other'} ({kind})"
    groups[f"{kind} file"].setdefault(group, []).append(name)
h = hr.Hierarchy.from_json({"any file": groups})

# The files, by extension. A folder is a cluster: its files resemble each other.
told = set(classes) - {"crt", "pytorch"}  # .crt and .pth are also used for other types
types = defaultdict(list)
for name, facts in about.items():
    for extension in facts["extensions"]:
        types[extension].append(name)
paths = defaultdict(list)
for top in sys.argv[1:] or ["/usr"]:
    for folder, _, names in os.walk(top):
        for path in (Path(folder, name) for name in names):
            its = types[path.suffix.lower().removeprefix(".")]
            if len(its) == 1 and its[0] in told and path.is_file() and path.stat().st_size > BYTES:
                paths[its[0]].append(path)
random = np.random.default_rng(0)
examples = []
for label, candidates in sorted(paths.items()):
    for path in random.permutation(np.array(sorted(candidates), object))[:OF_A_TYPE]:
        with path.open("rb") as file:
            examples.append((label, str(path.parent), file.read(BYTES)))
labels, clusters, pieces = zip(*examples, strict=True)


def features(piece: bytes) -> list[int]:
    """Return what the model reads: the beginning and the end, each padded to 1,024 numbers."""
    start, end = list(piece.lstrip()), list(piece.rstrip())
    return [*start, *[256] * (1024 - len(start)), *[256] * (1024 - len(end)), *end]


session = InferenceSession(model / "model.onnx", providers=["CPUExecutionProvider"])
(p,) = session.run(["target_label"], {"bytes": np.array([features(piece) for piece in pieces], np.int32)})
q = hr.likelihood.from_leaves(h, p, classes=classes)
y = h.indices(labels)
magika = Magika()
own = [magika.identify_bytes(piece).prediction for piece in pieces]
assert np.allclose([answer.score for answer in own], p.max(axis=1), atol=0.01)  # it reads what we read
unsure = np.array([answer.overwrite_reason.value == "low_confidence" for answer in own])
print(f"{len(y)} pieces of {len(set(labels))} types from {len(set(clusters))} folders; ", end="")
print(f"magika is unsure of {unsure.mean():.0%}")

# An answer is right if it is the type or a group that holds it; "unknown" is the root.
sibling = h.indices([str(answer.output.label) if answer.output.label in h else "any file" for answer in own])
ancestor = h.indices(["text file" if answer.dl.is_text else "binary file" for answer in own])
answers = {
    "magika": sibling,
    "magika, text file or binary file where unsure": np.where(unsure, ancestor, sibling),
    "the most specific node above 0.5": hr.infer.majority(h, q),
}
chosen = "select, correct=0.9, in other folders"
measured = defaultdict(list)
folders = np.unique(clusters)
for seed in range(50):
    half = np.isin(clusters, np.random.default_rng(seed).permutation(folders)[: len(folders) // 2])
    new = np.unique(np.array(clusters)[~half], return_inverse=True)[1]
    point = hr.select(h, q[half], y[half], target=("correct", 0.9), clusters=np.array(clusters)[half])
    for rule, nodes in {**answers, chosen: point.predict(q)}.items():
        measured[rule].append(
            [
                np.mean(np.bincount(new, metric(h, y, nodes)[~half]) / np.bincount(new))
                for metric in (hr.metrics.correct, hr.metrics.exact, hr.metrics.recall)
            ]
        )
for rule, values in measured.items():
    right, exact, recall = np.mean(values, axis=0)
    print(f"{rule:<46} right {right:6.1%}   the type itself {exact:6.1%}   recall {recall:6.1%}")

# PHP in HTML, which magika calls plain text
page = b"""<!doctype html>
<html>
<head><title>Hedges</title></head>
<body>
<h1>Hedges</h1>
<p><?= $name ?></p>
</body>
</html>
"""
(p,) = session.run(["target_label"], {"bytes": np.array([features(page)], np.int32)})
q = hr.likelihood.from_leaves(h, p, classes=classes)
best = ", ".join(f"{classes[i]} {p[0, i]:.2f}" for i in np.argsort(-p[0])[:3])
print(f"A page with PHP: {best}; magika: {magika.identify_bytes(page).prediction.output.label}; ", end="")
print(f"above 0.5: {h.names[hr.infer.majority(h, q)[0]]}")
