"""On the same input, rules give the answers of the tools that people know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import hedgerow as hr
from tests.score_files.simulated import DATA
from tests.score_files.test_tool_formats import MAMMALS, SPECIES

if TYPE_CHECKING:
    from pathlib import Path


def test_the_filtered_column_of_vsearch() -> None:
    """`--sintax_cutoff 0.8` keeps the ranks with a support of at least 0.8."""
    (block,) = hr.open_scores(DATA / "sintax.txt", SPECIES, labels=False)
    found = hr.infer.threshold(SPECIES, block.likelihoods, 0.8, inclusive=True, single_child="answer")
    filtered = [line.split("\t")[3] for line in (DATA / "sintax.txt").read_text().splitlines()]
    expected = [text.rpartition(":")[2] if text else SPECIES.names[0] for text in filtered]
    assert SPECIES.names[found].tolist() == expected
    assert len({text.count(",") for text in filtered}) > 2  # answers at several ranks


RANKS = ("species", "genus", "family", "order", "class")


def rolled_up(classes: list[str], scores: list[float]) -> str:
    """The best animal above 0.65, or else the first level, from genus up, with a taxon that sums to more."""
    if scores[0] > 0.65:
        return taxa(classes[0])[0]
    for level in range(1, len(RANKS)):
        sums: dict[str, float] = {}
        for name, score in zip(classes, scores, strict=True):
            taxon = name.split(";")[5 - level]
            if taxon:
                sums[taxon] = sums.get(taxon, 0.0) + score
        if sums and max(sums.values()) > 0.65:
            return max(sums, key=lambda taxon: sums[taxon])
    return "root"


def taxa(name: str) -> list[str]:
    """Return the taxa of a class, the finest first; a species by both its names."""
    fields = name.split(";")
    found = [f"{fields[4]} {fields[5]}" if fields[5] else "", *reversed(fields[1:5])]
    return [taxon for taxon in found if taxon]


@pytest.mark.parametrize("seed", range(5))
def test_the_roll_up_of_speciesnet(seed: int, tmp_path: Path) -> None:
    """`--tau 0.65` is what it does with a detected animal."""
    rng = np.random.default_rng(seed)
    known = [
        ";".join(["id", *path.split(","), "x"])
        for path in (DATA / "mammals.csv").read_text().lower().splitlines()[1:-1]
    ]
    known = [";".join([*parts[:5], parts[5].split()[1], "x"]) for parts in (name.split(";") for name in known)]
    known += ["id;mammalia;carnivora;felidae;;;cats", "id;mammalia;carnivora;;;;carnivores"]
    predictions = []
    for number in range(40):
        scores = np.sort(rng.dirichlet(np.full(6, 0.5)))[::-1][:5]
        classes = rng.choice(known, 5, replace=False).tolist()
        listing = {"classes": classes, "scores": scores.tolist()}
        predictions.append({"filepath": str(number), "classifications": listing})
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({"predictions": predictions}))
    (block,) = hr.open_scores(path, MAMMALS, labels=False)
    found = hr.infer.threshold(MAMMALS, block.likelihoods, 0.65, single_child="answer")
    expected = [rolled_up(**prediction["classifications"]) for prediction in predictions]  # type: ignore[arg-type]
    assert [name.lower() for name in MAMMALS.names[found]] == expected
    assert len(set(expected)) > 5
