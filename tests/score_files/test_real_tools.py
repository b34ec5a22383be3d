"""Real classifiers, run on simulated sequences, wherever they are installed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import hedgerow as hr
from tests.score_files import simulated
from tests.score_files.test_tool_formats import listed, plain_sintax

if TYPE_CHECKING:
    from pathlib import Path

needs_vsearch = pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
needs_rdp = pytest.mark.skipif(shutil.which("rdp_classifier") is None, reason="rdp_classifier is not installed")


@needs_vsearch
@pytest.mark.parametrize("cutoff", [True, False])
def test_vsearch(cutoff: bool, tmp_path: Path) -> None:
    reference = simulated.simulate(seed=1)
    simulated.write_tree(tmp_path / "tree.csv", reference)
    simulated.write_labels(tmp_path / "labels.csv", reference)
    tree = hr.Hierarchy.from_lineages(tmp_path / "tree.csv")
    path = simulated.run_sintax(tmp_path, reference, cutoff=cutoff)
    lines = path.read_text().splitlines()
    assert len(lines) == simulated.READS + 1
    assert listed(path, tree) == {line.split()[0]: plain_sintax(line) for line in lines}
    opened = hr.open_scores(path, tree, hr.ScoreReading(labels_file=tmp_path / "labels.csv"))
    assert opened.format == "sintax"
    assert sum(len(block) for block in opened) == simulated.READS
    assert [warning for warning in opened.warnings if "'short'" in warning]


@needs_rdp
def test_rdp_classifier(tmp_path: Path) -> None:
    reference = simulated.simulate(seed=1)
    simulated.write_tree(tmp_path / "tree.csv", reference, 6)
    tree = hr.Hierarchy.from_lineages(tmp_path / "tree.csv")
    found = [listed(simulated.run_rdp(tmp_path, reference, kind), tree) for kind in ("allrank", "fixrank")]
    assert found[0].keys() == found[1].keys()
    assert len(found[0]) == simulated.READS  # it leaves out the sequence that is too short
    for lineage in found[0].values():
        genus = max(lineage, key=tree.index)
        assert set(lineage) == set(tree.names[tree.lineage(genus)[1:]])
