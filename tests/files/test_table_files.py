"""Tables: looked at once, and quotation marks that are not closed."""

from __future__ import annotations

import gzip
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from hedgerow.errors import FileError, ParameterError
from hedgerow.files import InputFile, table_files, text
from hedgerow.files.table_files import QuoteCheck

if TYPE_CHECKING:
    from pathlib import Path

SOUND = ['a,b\n"x, ""y""",1\n', 'a,b\n5" pipe,1\n', "a,b\n1,2\n", '\ufeff"a",b\n"1\n2",3', ""]
OPEN = ['a,b\n"x,1\ny,2\n', 'a,b\nx,1\n"y,"2"\n', 'a,b\n1,2\n3,"', 'a,b\n"x"y,1\n']


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often files are opened, by Python and by Arrow."""
    count: Counter[str] = Counter()

    def counting(who: str, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            count[who] += 1
            return function(*args, **options)

        return call

    python = counting("Python", text.open_binary)
    for module in (text, table_files):
        monkeypatch.setattr(module, "open_binary", python)
    monkeypatch.setattr(pa, "OSFile", counting("Arrow", pa.OSFile))
    monkeypatch.setattr(parquet, "read_metadata", counting("metadata", parquet.read_metadata))
    monkeypatch.setattr(parquet, "ParquetFile", counting("rows", parquet.ParquetFile))
    return count


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("t.csv", {"Python": 1, "Arrow": 1}),
        ("t.csv.gz", {"Python": 2}),
        ("t.parquet", {"metadata": 1, "rows": 1}),
    ],
)
def test_a_table_is_opened_to_be_looked_at_and_to_be_read(
    name: str, times: dict[str, int], tmp_path: Path, opened: Counter[str]
) -> None:
    data = b'id,score\n"a",1\nb,2\n'
    (tmp_path / "t.csv").write_bytes(data)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(data))
    parquet.write_table(pa.table({"id": ["a", "b"], "score": [1.0, 2.0]}), tmp_path / "t.parquet")
    file = InputFile(tmp_path / name)
    assert (file.columns, file.columns, file.table.columns) == (["id", "score"],) * 3
    assert file.lines == (() if name == "t.parquet" else ("id,score", '"a",1', "b,2"))
    found = [
        (count, [column.to_pylist() for column in columns.values()])
        for count, columns in file.table.batches(1, [0], [1])
    ]
    assert found == [(1, [["a"], [1.0]]), (1, [["b"], [2.0]])]
    assert opened == times


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("content", SOUND + OPEN)
def test_quotation_marks_are_checked_wherever_a_file_is_divided(content: str, size: int, tmp_path: Path) -> None:
    path, data = tmp_path / "t.csv", content.encode()
    path.write_bytes(data)
    check = QuoteCheck(str(path), ",")

    def read() -> None:
        for start in range(0, len(data), size):
            check.add(data[start : start + size])
        check.add(b"")

    if content in SOUND:
        read()
    else:
        with pytest.raises(FileError, match=r"t.csv: a quotation mark opens in line [23] and is not closed there"):
            read()


def test_a_mark_that_is_not_closed_in_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(("a,b\n" + "x,1\n" * 50 + 'x,"1\n' + "x,1\n" * 50).encode()))
    with pytest.raises(FileError, match="a quotation mark opens in line 52"):
        list(InputFile(path).table.batches(10, [0, 1], []))


def test_the_delimiter_of_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id;label\r\n1;a\r\n")
    assert InputFile(path, any_delimiter=True).table.columns == ["id", "label"]
    assert InputFile(path, "|", any_delimiter=True).delimiter == ";"
    assert InputFile(path).columns == []
    with pytest.raises(FileError, match="separated by semicolons: use delimiter=';'"):
        _ = InputFile(path).table
    with pytest.raises(ParameterError, match="delimiter must be one character"):
        _ = InputFile(path, "ab").table
    assert InputFile(tmp_path / "t.txt").delimiter == "\t"


def test_a_header_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = [f"{i}\n{'x' * 2_000}" for i in range(20)]
    path.write_text(",".join(f'"{name}"' for name in names) + "\n" + ",".join("1" * 20) + "\n", newline="")
    assert InputFile(path).table.columns == names
