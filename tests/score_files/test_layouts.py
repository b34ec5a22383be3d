"""Answers laid out for other tools."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.score_files import prediction_writer
from tests.make_scores import H
from tests.score_files.test_tool_formats import BACTERIA, MAMMALS, listed

if TYPE_CHECKING:
    from pathlib import Path


def test_a_taxonomy_of_qiime2_can_be_read_back(tmp_path: Path) -> None:
    nodes = BACTERIA.indices(["s__Bacillus_subtilis", "root", "p__Proteobacteria"])
    with prediction_writer(tmp_path / "taxonomy.tsv", BACTERIA, ids=True, layout="qiime2") as write:
        write(nodes[:2], np.array([0.9, 1.0]), ["a", "b"])
        write(nodes[2:], np.array([0.75]), ["c"])
    rows = (tmp_path / "taxonomy.tsv").read_text().splitlines()
    assert rows[0] == "Feature ID\tTaxon\tConfidence"
    assert rows[2] == "b\tUnassigned\t"
    assert rows[3] == "c\td__Bacteria; p__Proteobacteria\t0.75"
    found = listed(tmp_path / "taxonomy.tsv", BACTERIA)
    assert found["a"]["s__Bacillus_subtilis"] == 0.9
    assert found["b"] == {}
    assert found["c"] == {"d__Bacteria": 0.75, "p__Proteobacteria": 0.75}


def test_ranks_become_prefixes(tmp_path: Path) -> None:
    ranks = ["kingdom", "tribe", "genus"]
    tree = hr.Hierarchy.from_lineages(
        [["Animalia", "Ursini", "Ursus"], ["Animalia", "Ursini", "Melursus"]], ranks=ranks
    )
    with prediction_writer(tmp_path / "taxonomy.tsv", tree, layout="qiime2") as write:
        write([tree.index("Ursus")], np.array([0.5]))
    assert (tmp_path / "taxonomy.tsv").read_text().splitlines()[1] == "0\tk__Animalia; Ursini; g__Ursus\t0.5"


def test_names_lose_what_tells_them_apart(tmp_path: Path) -> None:
    tree = hr.Hierarchy.from_edges([("root", "A"), ("root", "B"), ("A", "A/x"), ("B", "B/x"), ("root", "x [7]")])
    with prediction_writer(tmp_path / "taxonomy.tsv", tree, layout="qiime2") as write:
        write(tree.indices(["A/x", "x [7]"]), np.array([0.5, 1]))
    rows = (tmp_path / "taxonomy.tsv").read_text().splitlines()
    assert [row.split("\t")[1] for row in rows[1:]] == ["A; x", "x"]


def test_observations_of_a_camtrap_dp(tmp_path: Path) -> None:
    with prediction_writer(tmp_path / "observations.csv", MAMMALS, ids=True, layout="camtrap-dp") as write:
        write(MAMMALS.indices(["Puma concolor", "root"]), np.array([0.9, 1.0]), ["a.jpg", "b.jpg"])
    table = pd.read_csv(tmp_path / "observations.csv", keep_default_na=False)
    assert table.columns[:3].tolist() == ["observationID", "deploymentID", "mediaID"]
    assert len(table.columns) == 28
    assert table["mediaID"].tolist() == ["a.jpg", "b.jpg"]
    assert table["observationType"].tolist() == ["animal", "unknown"]
    assert table["scientificName"].tolist() == ["Puma concolor", ""]
    assert table["classificationMethod"].tolist() == ["machine"] * 2
    assert table["classificationProbability"].tolist() == ["0.9", ""]
    assert table["observationLevel"].tolist() == ["media"] * 2


def test_scientific_names_of_a_camtrap_dp_begin_with_a_capital(tmp_path: Path) -> None:
    tree = hr.Hierarchy.from_paths(["canidae/vulpes vulpes", "felidae"])  # as SpeciesNet writes them
    with prediction_writer(tmp_path / "o.csv", tree, layout="camtrap-dp") as write:
        write(tree.indices(["canidae", "vulpes vulpes"]), np.ones(2))
    assert pd.read_csv(tmp_path / "o.csv")["scientificName"].tolist() == ["Canidae", "Vulpes vulpes"]


def test_cells_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    ids = ["=cmd", "+1", "-1", "@x", "plain", "a=b"]
    for safe, expected in ((False, ids), (True, ["'=cmd", "'+1", "'-1", "'@x", "plain", "a=b"])):
        with prediction_writer(tmp_path / "a.csv", H, ids=True, spreadsheet_safe=safe) as write:
            write(np.ones(6, dtype=np.int64), np.full(6, 0.5), ids)
        with (tmp_path / "a.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == expected
        assert {row["confidence"] for row in rows} == {"0.5"}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.csv", {"layout": "qiime2"}, r"qiime2 are written to \.tsv files, not to '\.csv'"),
        ("a.parquet", {"layout": "camtrap-dp"}, r"camtrap-dp are written to \.csv files"),
        ("a.csv", {"layout": "camtrap"}, "Did you mean 'camtrap-dp'"),
        ("a.parquet", {"spreadsheet_safe": True}, "for tables in CSV"),
        ("a.tsv", {"layout": "qiime2", "spreadsheet_safe": True}, "for tables in CSV"),
    ],
)
def test_layouts_that_cannot_be_written(name: str, options: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=said), prediction_writer(tmp_path / name, H, **options):  # type: ignore[arg-type]
        pass
