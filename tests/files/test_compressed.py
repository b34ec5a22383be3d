"""Files compressed with gzip: read like plain ones, and refused if they are damaged or expand too much."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from hedgerow.errors import FileError
from hedgerow.files import extension, open_binary, open_text, read_bytes, read_text, text

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "\ufeffid,label\r\n1,Löwe\r\n2,cat\n"


def test_they_read_like_plain_files(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.GZ"
    data = TEXT.encode() * 100_000
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data[:1_000_000]) + gzip.compress(data[1_000_000:]))  # as bgzip writes
    assert read_bytes(packed) == read_bytes(plain) == data
    assert read_text(packed) == read_text(plain)
    for newline in (None, ""):
        with open_text(packed, newline) as found, open_text(plain, newline) as expected:
            assert list(found) == list(expected)
    with open_binary(packed) as found_bytes, open_binary(plain) as expected_bytes:
        assert list(found_bytes) == list(expected_bytes)


def test_extensions() -> None:
    names = ("a.csv", "a.csv.gz", "A.CSV.GZ", "b.tar/a", "a.gz", "a", ".gz", "a.b.tsv")
    assert list(map(extension, names)) == [".csv", ".csv", ".csv", "", "", "", "", ".tsv"]


def test_truncated(tmp_path: Path) -> None:
    whole = gzip.compress(TEXT.encode())
    path = tmp_path / "a.txt.gz"
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"a\.txt\.gz cannot be read as gzip: .* truncated or damaged"):
            read_bytes(path)


def test_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    whole = bytearray(gzip.compress(TEXT.encode()))
    whole[-6] ^= 1  # of the checksum
    path.write_bytes(whole)
    with pytest.raises(FileError, match=r"cannot be read as gzip: CRC"):
        read_bytes(path)


def test_a_plain_file_under_such_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_text(TEXT)
    with pytest.raises(FileError, match=r"Not a gzipped file .* take \.gz off its name"):
        read_text(path)


def test_a_small_file_may_not_hold_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    assert len(read_bytes(path)) == 1 << 20
    monkeypatch.setattr(text, "most_bytes", lambda size: 1000 + 100 * size)
    monkeypatch.setattr(text, "_BUFFER", 1000)
    most = 1000 + 100 * path.stat().st_size
    assert most < 1 << 20
    pieces: list[bytes] = []
    with open_binary(path) as file, pytest.raises(FileError, match=rf"more than {most:,}, .* unpack it first"):
        pieces.extend(iter(lambda: file.read(500), b""))
    assert most - 1500 <= sum(map(len, pieces)) <= most


def test_a_small_file_may_not_hold_too_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"r,a\n" * 1_100_000))
    with pytest.raises(FileError, match=r"holds more than 1,00\d,\d+ lines, too many for its size"):
        read_bytes(path)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"does not exist"):
        read_bytes(tmp_path / "a.csv.gz")
    with pytest.raises(FileError, match=r"is a folder"):
        read_bytes(tmp_path)
