"""Archives that anyone may have written: sizes are checked before they are believed, and errors name the file."""

from __future__ import annotations

import io
import resource
import struct
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import FileError, HedgerowError
from hedgerow.files import Archive, ParquetTable, read_arrays, write_blocks

if TYPE_CHECKING:
    from pathlib import Path

TREE = hr.Hierarchy.from_edges([("root", "a"), ("root", "b")])


def header(description: str, version: int = 1, length: int | None = None) -> bytes:
    text = description.encode("latin-1")
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def described(dtype: str, shape: object, fortran: object = False) -> bytes:
    return header(f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}")


def write(path: Path, kind: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def refused(path: Path, name: str, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught, Archive(path) as archive:
        archive.array(name)
    assert str(path) in str(caught.value)


def test_arrays_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "scalar": np.array("log"),
        "none": np.zeros((0, 3)),
        "rows": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "swapped": np.arange(3, dtype=">i4"),
        "bytes": np.array([b"a", b"bc"]),
        "flags": np.array([True, False]),
        "names": np.array(["é", "", "x" * 50]),
        "cube": np.asfortranarray(np.arange(24).reshape(2, 3, 4)),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        with Archive(tmp_path / "a.npz") as archive:
            assert archive.arrays == list(arrays)
            for name, expected in arrays.items():
                found = archive.array(name)
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype.newbyteorder("=")
            assert archive.texts("names") == ["é", "", "x" * 50]
            assert archive.texts("bytes") == ["a", "bc"]


def test_blocks_of_rows_are_written_as_one_array(tmp_path: Path) -> None:
    whole = np.arange(30, dtype=np.float32).reshape(10, 3)
    blocks = (whole[i : i + 4] for i in range(0, 10, 4))
    write_blocks(tmp_path / "a.npz", {"names": np.array(["x", "yz"])}, "rows", 10, blocks)
    for read in (read_arrays(tmp_path / "a.npz"), dict(np.load(tmp_path / "a.npz"))):
        np.testing.assert_array_equal(read["rows"], whole)
        assert (read["rows"].dtype, read["names"].tolist()) == (np.float32, ["x", "yz"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (described("<f8", "(3,)"), r"'x' should hold \d+ bytes for float64 of shape \(3,\)"),
        (described("<f8", "(99999999999999999999,)"), "cannot have the shape"),
        (described("<f8", "(0, 9223372036854775807)"), "cannot have the shape"),
        (described("<f8", "(-1,)"), "cannot have the shape"),
        (described("<U0", "(1000000000000,)"), "numbers or of text, not"),
        (described("<U400000000", "(1,)"), "numbers or of text, not"),
        (described("|O", "(1,)") + b"cos\nsystem\n(S'touch x'\ntR.", "never unpickled"),
        (described("<c8", "(1,)"), "numbers or of text, not complex64"),
        (described("<M8[s]", "(1,)"), "numbers or of text, not datetime64"),
        (described("<f8", "3"), "cannot be read as an array that NumPy wrote"),
        (described("<f8", "(3,)", "'no'"), "cannot be read as an array that NumPy wrote"),
        (header("[('a', '<f8')]"), "cannot be read as an array that NumPy wrote"),
        (header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}"), "numbers or of text, not"),
        (header("(" * 5000), "cannot be read as an array that NumPy wrote"),
        (header("{'a"), "cannot be read as an array that NumPy wrote"),  # TokenError
        (header("-" * 9000 + "1"), "cannot be read as an array that NumPy wrote"),
        (header("9" * 9000), "cannot be read as an array that NumPy wrote"),
        (header("x", 2, 1 << 31), "its header takes 2,147,483,648 bytes"),
        (header("x", 9), "cannot be read as an array that NumPy wrote"),
        (b"", "cannot be read as an array that NumPy wrote"),
        (b"\x93NUMPY", "cannot be read as an array that NumPy wrote"),
    ],
)
def test_headers_that_lie(content: bytes, message: str, tmp_path: Path) -> None:
    refused(write(tmp_path / "a.npz", x=content), "x", message)


def test_members_that_are_not_there_or_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, y=np.zeros(1))
    refused(path, "x", r"has no member 'x'\. Its members: 'y'")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("y.npy", b"")
    refused(path, "y", r"has 2 members 'y\.npy'")


def test_other_compressions_and_passwords(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.zeros(3))
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(write(tmp_path / "a.npz", kind, x=file.getvalue()), "x", "compressed in a way that NumPy does not")
    path = write(tmp_path / "b.npz", zipfile.ZIP_STORED, x=file.getvalue())
    data = bytearray(path.read_bytes())
    for start, flags in ((0, 6), (data.find(b"PK\x01\x02"), 8)):
        data[start + flags] |= 1
    path.write_bytes(data)
    refused(path, "x", "encrypted")


@pytest.mark.parametrize("cut", [0, 1, 20, 100, -1, -30])
def test_truncated_archives(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(100))
    path.write_bytes(path.read_bytes()[:cut])
    refused(path, "x", "a.npz")


def test_a_wrong_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.zeros(1000))
    data = bytearray(path.read_bytes())
    data[4000] ^= 1
    path.write_bytes(data)
    refused(path, "x", "Bad CRC-32")


# Bombs -------------------------------------------------------------------------------------------------------


def zeros(path: Path, name: str, dtype: str, shape: tuple[int, ...]) -> Path:
    """Write an array of zeros of any size, which deflate shrinks a thousand times."""
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as file,
    ):
        file.write(described(dtype, shape))
        left = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
        while left:
            step = min(left, 1 << 24)
            file.write(bytes(step))
            left -= step
    return path


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("<U4000000", (30,), "'classes' is read as a whole, and would take 480,000,000 bytes"),
        ("<U1", (100_000_000,), "'classes' has 100,000,000 rows, too many for a file of"),
        ("<f4", (10, 12_000_000), "must be a list of names"),
    ],
)
def test_a_small_file_does_not_take_much_memory(
    dtype: str, shape: tuple[int, ...], message: str, tmp_path: Path
) -> None:
    path = zeros(tmp_path / "bomb.npz", "classes", dtype, shape)
    zeros(path, "probabilities", "<f4", (1, 2))
    assert path.stat().st_size < 3_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(HedgerowError, match=message):
        hr.open_scores(path, TREE, labels=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_rows_that_a_file_cannot_hold_are_not_counted_out(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", classes=np.array(["a", "b"]))
    path = zeros(tmp_path / "a.npz", "probabilities", "|u1", (100_000_000, 2))
    with pytest.raises(FileError, match="'probabilities' has 100,000,000 rows, too many for a file"):
        hr.open_scores(path, TREE, labels=False)


def test_what_is_stored_without_compression_may_be_large(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.zeros(1 << 24, np.uint8), ids=np.full(100_000, "x" * 100))
    with Archive(path) as archive:
        assert archive.array("x").nbytes == 1 << 24
        assert len(archive.texts("ids")) == 100_000


def test_a_few_bytes_of_parquet_do_not_stand_for_any_number_of_rows(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    schema = pa.schema({"a": pa.float64(), "b": pa.float64()})
    with parquet.ParquetWriter(path, schema) as writer:
        part = pa.table({name: pa.array(np.full(1 << 20, 0.5)) for name in "ab"})
        for _ in range(8):
            writer.write_table(part)
    assert path.stat().st_size < 100_000
    with pytest.raises(FileError, match="has 8,388,608 rows and 16,777,216 values, too many for a file"):
        hr.open_scores(path, TREE, labels=False)
    parquet.write_table(pa.table({"a": [0.5], "b": [0.5]}), path)
    assert ParquetTable(str(path)).rows == 1


def test_a_long_text_is_kept_once(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "labels.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * 1_000_000]))
    parquet.write_table(pa.table({"label": texts}), path)
    program = (
        "import re, sys; from hedgerow.score_files import read_labels; found = read_labels(sys.argv[1]); "
        "peak = int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]); "
        "print(len(found), peak < 1_000_000)"
    )
    result = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["100000", "True"]
