"""Scores and labels compressed with gzip give what the plain files give."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import FileError
from hedgerow.files import InputFile, text
from hedgerow.score_files import find_format, read_labels
from tests.make_scores import LEAVES, H, probabilities, save, save_table
from tests.score_files.simulated import DATA
from tests.score_files.test_tool_formats import BACTERIA, GENERA, MAMMALS, SPECIES, listed

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: dict[str, tuple[hr.Hierarchy, dict[str, Any]]] = {
    "sintax.txt": (SPECIES, {}),
    "rdp-allrank.txt": (GENERA, {}),
    "taxonomy.tsv": (BACTERIA, {}),
    "speciesnet.json": (MAMMALS, {"outside": ["blank", "vehicle", "human"]}),
    "pybioclip.csv": (MAMMALS, {"outside": ["*"]}),
}


def packed(path: Path, folder: Path) -> Path:
    target = folder / f"{path.name}.gz"
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


@pytest.mark.parametrize("name", TOOLS)
def test_what_tools_write(name: str, tmp_path: Path) -> None:
    tree, options = TOOLS[name]
    path = packed(DATA / name, tmp_path)
    assert find_format(InputFile(path)) == find_format(InputFile(DATA / name))
    found = listed(path, tree, **options)
    assert found
    assert found == listed(DATA / name, tree, **options)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_wide_tables(suffix: str, tmp_path: Path) -> None:
    plain = save_table(tmp_path / f"s{suffix}", probabilities(3), label=["cod", "eel", "cod"])
    (expected,), (found,) = (list(hr.open_scores(path, H)) for path in (plain, packed(plain, tmp_path)))
    assert found.labels is not None
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.q, expected.q)


def test_labels(tmp_path: Path) -> None:
    labels = packed(DATA / "labels.csv", tmp_path)
    expected, found = (
        [block.labels for block in hr.open_scores(DATA / "sintax.txt", SPECIES, hr.ScoreReading(labels_file=path))]
        for path in (DATA / "labels.csv", labels)
    )
    np.testing.assert_array_equal(found, expected)
    assert read_labels(labels) == read_labels(DATA / "labels.csv")
    (tmp_path / "l.txt").write_text("cat\nwolf\n")
    assert read_labels(packed(tmp_path / "l.txt", tmp_path)) == ["cat", "wolf"]


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_only_text_is_read_compressed(suffix: str, tmp_path: Path) -> None:
    path = packed(save(tmp_path / f"s{suffix}", probabilities(3), ["cod", "eel", "cod"]), tmp_path)
    with pytest.raises(FileError, match=rf"{suffix}\.gz: only text files .* {suffix} files .* Unpack it first"):
        hr.open_scores(path, H)
    with pytest.raises(FileError, match="Unpack it first"):
        read_labels(path)


@pytest.mark.parametrize("name", TOOLS)
def test_truncated(name: str, tmp_path: Path) -> None:
    tree, options = TOOLS[name]
    path = packed(DATA / name, tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(FileError, match=r"cannot be read as gzip: .* truncated"):
        listed(path, tree, **options)


@pytest.mark.parametrize("name", TOOLS)
def test_plain_files_under_such_a_name(name: str, tmp_path: Path) -> None:
    tree, options = TOOLS[name]
    path = tmp_path / f"{name}.gz"
    path.write_bytes((DATA / name).read_bytes())
    with pytest.raises(FileError, match=r"take \.gz off its name"):
        listed(path, tree, **options)


@pytest.mark.parametrize(
    ("head", "content", "format"),
    [
        (",".join((*LEAVES, "label\n")), "1,0,0,0,cod\n", "wide"),
        ("", "0", "wide"),
        ("a\td:animal(0.90)\n", "\n", "sintax"),
        ("a\td:animal(0.90)\n", "0", "sintax"),
        ('{"predictions": [', " ", "speciesnet"),
    ],
)
def test_a_small_file_that_holds_much(
    head: str,
    content: str,
    format: str,  # noqa: A002
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "most_bytes", lambda size: (1 << 20) + 100 * size)
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress((head + content * (10_000_000 // len(content))).encode()))
    with pytest.raises(FileError, match=r"holds more than .* unpack it first"):
        list(hr.open_scores(path, H, hr.ScoreReading(scores_format=format), labels=False))
