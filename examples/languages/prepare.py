"""From downloads to files for hedgerow: a tree, and the scores of snippets of text in many languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from examples.languages import sources
from examples.languages.tree import LanguageTree, read_codes, read_glottolog

if TYPE_CHECKING:
    from pathlib import Path


def prepare(folder: Path) -> dict[str, int]:
    """Write ``tree.json``, ``known.npz`` and ``unknown.npz``; return how many languages were left out, and why.

    Known are the languages that are classes of the model. The label of an unknown one is the smallest group that
    holds it and some class. The clusters are the languages, by name.
    """
    downloads = sources.fetch()
    identifier = sources.model(downloads)
    languages = sources.iso_639(downloads)
    tree = LanguageTree.build(
        read_codes(identifier.labels, languages), read_glottolog(sources.glottolog(downloads))
    )
    folder.mkdir(parents=True, exist_ok=True)
    tree.hierarchy.write(folder / "tree.json")
    names = {language.part3: language.name for language in languages}
    texts = list(sources.declarations(downloads))
    found = sources.snippets(texts)
    labels = {iso: tree.label(iso) for iso in found}
    classes = set(tree.classes.values())
    for name in ("known", "unknown"):
        chosen = [iso for iso, label in labels.items() if label and (label in classes) == (name == "known")]
        lines = [line for iso in chosen for line in found[iso]]
        of_each = np.repeat(chosen, [len(found[iso]) for iso in chosen])
        np.savez_compressed(
            folder / f"{name}.npz",
            classes=identifier.labels,
            probabilities=sources.probabilities(identifier, lines),
            labels=[str(labels[iso]) for iso in of_each],
            clusters=[names[iso] for iso in of_each],
            texts=lines,
            ids=[f"{iso}-{number % sources.PER_LANGUAGE}" for number, iso in enumerate(of_each)],
        )
    return {
        "too short": len({text.language for text in texts} - found.keys()),
        "not in Glottolog": sum(label is None for label in labels.values()),
    }
