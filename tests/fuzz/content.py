"""Files as hypothesis draws them: of the right kind, nearly of the right kind, and damaged.

Everything here is a strategy of bytes. Random bytes alone never get past the first check of a reader; so files are
built as a program would write them, with one or two things wrong.
"""

from __future__ import annotations

import csv
import io
import json
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import SearchStrategy
    from numpy.typing import NDArray

# Words and values --------------------------------------------------------------------------------------------

LEAVES = ("b", "c", "d")
NODES = ("root", "a", *LEAVES)
AWKWARD = (
    "",
    " ",
    "root",
    "a",
    "A",
    "é",
    "e\u0301",
    "x\u200b",
    '"',
    "a,b",
    "x\ny",
    "\x1b[2J",
    "'",
    "=1",
    "\U0001f600",
    "\0",
)

names = st.one_of(st.sampled_from(NODES), st.sampled_from(AWKWARD), st.text(max_size=6))
words = st.sampled_from(NODES)
numbers = st.one_of(
    st.sampled_from(["0", "1", "0.5", "0.25", "-1", "nan", "inf", "1e400", "", "x", "0,5", "1_0", "١"]),
    st.floats(0, 1).map(repr),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.just("../x")
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


# Damage ------------------------------------------------------------------------------------------------------


@st.composite
def damaged(draw: Any, whole: SearchStrategy[bytes]) -> bytes:
    """A file as it is, or with a few bytes changed, lost, repeated or added."""
    data: bytes = draw(whole)
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 5]))):
        start = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.sampled_from([1, 1, 2, 4, 8, 100]))
        part = data[start : start + length]
        change = draw(st.sampled_from(["set", "cut", "drop", "repeat", "insert"]))
        if change == "cut":
            data = data[:start]
        elif change == "drop":
            data = data[:start] + data[start + length :]
        elif change == "repeat":
            data = data[:start] + part * draw(st.sampled_from([2, 50])) + data[start + length :]
        else:
            new = draw(
                st.binary(min_size=1, max_size=8)
                | st.sampled_from([b"\xff" * 8, b"\0" * 8, b'"', b"\n", b"[" * 9])
            )
            data = data[:start] + new + data[start + (length if change == "set" else 0) :]
    return data


@st.composite
def changed_json(draw: Any, whole: Any) -> Any:
    """A value with a few of the values inside replaced, removed or added."""
    value = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(0, 2))):
        place = value
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            deeper = isinstance(place[key], dict | list) and draw(st.integers(0, 3))
            if not deeper:
                if isinstance(place, dict) and draw(st.booleans()):
                    del place[key]
                else:
                    place[key] = draw(values)
                break
            place = place[key]
    return value


def as_json(whole: SearchStrategy[Any]) -> SearchStrategy[bytes]:
    return whole.map(lambda value: json.dumps(value).encode())


# Text --------------------------------------------------------------------------------------------------------


def encoded(text: SearchStrategy[str]) -> SearchStrategy[bytes]:
    kinds = st.sampled_from(["utf-8"] * 8 + ["utf-8-sig", "utf-16", "latin-1"])
    return st.tuples(text, kinds).map(lambda pair: pair[0].encode(pair[1], "replace"))


@st.composite
def table(draw: Any, cells: SearchStrategy[str], header: Sequence[str] = (), columns: int = 2) -> str:
    """A CSV file; some rows are too long or too short, some cells are not quoted where they must be."""
    rows = [list(header)] if header and draw(st.integers(0, 9)) else []
    for _ in range(draw(st.integers(0, 6))):
        width = max(0, columns + draw(st.sampled_from([0] * 12 + [1, -1])))
        rows.append([draw(cells) for _ in range(width)])
    file = io.StringIO()
    delimiter = draw(st.sampled_from([","] * 8 + [";", "\t"]))
    if draw(st.integers(0, 4)):
        csv.writer(file, delimiter=delimiter, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))).writerows(rows)
    else:
        file.write("\n".join(delimiter.join(row) for row in rows))
    return file.getvalue()


@st.composite
def edge_list(draw: Any) -> str:
    """The edges of a tree, in any order; now and then one of them is wrong."""
    count = draw(st.integers(2, 8))
    called = [f"{i}{draw(st.sampled_from(AWKWARD))}" for i in range(count)]
    rows = [[called[draw(st.integers(0, i - 1))], called[i]] for i in range(1, count)]
    if not draw(st.integers(0, 2)):
        rows[draw(st.integers(0, count - 2))][draw(st.integers(0, 1))] = draw(names)
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(draw(st.permutations(rows)))
    return file.getvalue()


@st.composite
def newick(draw: Any, depth: int = 3) -> str:
    def node(left: int) -> str:
        name: str = draw(st.sampled_from(["a", "b", "", "'x y'", "'it''s'", "[c]", "e:1.5", "f:", "'"]))
        if not left or draw(st.booleans()):
            return name
        return "(" + ",".join(node(left - 1) for _ in range(draw(st.integers(1, 3)))) + ")" + name

    end: str = draw(st.sampled_from([";", ";", "", ";;", ");"]))
    return node(depth) + end


tree_json = st.recursive(
    st.builds(lambda name: {"name": name}, names) | scalars,
    lambda inner: (
        st.builds(lambda name, children: {"name": name, "children": children}, names, st.lists(inner, max_size=3))
        | st.dictionaries(names, inner, max_size=3)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def score_table(draw: Any) -> str:
    about = draw(
        st.lists(st.sampled_from(["id", "label", "group", "cluster", "text", "image"]), unique=True, max_size=3)
    )
    columns = draw(
        st.sampled_from(
            [[*LEAVES], [*NODES], [*NODES[1:]], ["b", "c"], ["b", "c", "d", "x"], ["b", "b", "c", "d"]]
        )
    )
    rows = [[*columns, *about]]
    for _ in range(draw(st.integers(0, 4))):
        good = draw(st.integers(0, 3))
        cells = ["0.25"] * len(columns) if good else [draw(numbers) for _ in columns]
        if good and len(columns) == len(LEAVES):
            cells[0] = "0.5"
        rows.append([*cells, *(draw(words if good else names) for _ in about)])
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


@st.composite
def recipe_text(draw: Any) -> str:
    """TOML with the sections and keys of recipes; the values may be anything."""
    keys = {
        "data": ["name", "path", "size"],
        "model": ["name", "hidden", "dropout", "scale_inputs", "width"],
        "method": ["name", "alpha", "gamma"],
        "optimiser": ["epochs", "batch_size", "lr", "schedule", "kind", "momentum", "clip"],
        "run": ["seed", "devices", "accelerator", "precision", "compile", "monitor"],
        "other": ["x"],
    }
    good = ['"mlp"', '"hxe"', '"features"', "[5]", "3", "0.5", "true", '"sgd"', '"auto"', '"AP"']
    bad = [
        "-1",
        "1e999",
        "nan",
        "1979-05-27",
        "[[1], [[]]]",
        "{a = 1}",
        '"subprocess:run"',
        '""',
        "x",
        "99999999999999999999",
    ]
    lines = []
    for section in draw(st.lists(st.sampled_from(sorted(keys)), max_size=4)):
        lines.append(draw(st.sampled_from([f"[{section}]"] * 9 + [f"[[{section}]]", f"{section} = 3"])))
        for key in draw(st.lists(st.sampled_from(keys[section]), max_size=4)):
            lines.append(f"{key} = {draw(st.sampled_from(good * 2 + bad))}")
    return "\n".join(lines) + "\n"


# Arrays and archives -----------------------------------------------------------------------------------------

DTYPES = ("f4", "f8", "f2", "i4", "i8", "u1", "?", "U3", "S3", "U40", ">f8", "c8", "M8[s]", "O", "V4", "i4,f8")
DESCRIPTIONS = (
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }",
    "{'descr': '<f8', 'fortran_order': True, 'shape': (-1, 3), }",
    "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }",
    "{'descr': '<U400000000', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': ('<f8', (3,)), 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': 1, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': 3, }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 3L), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9223372036854775807), }",
    "(" * 200,
    "{'a",
    "-" * 3000 + "1",
    "{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,), }",
)


@st.composite
def array(
    draw: Any, shapes: Sequence[tuple[int, ...]] = ((), (0,), (1,), (3,), (3, 3), (2, 3), (3, 0))
) -> NDArray[Any]:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from(shapes))
    if dtype.kind in "US":
        entries = [draw(names) for _ in range(int(np.prod(shape)))]
        return (
            np.array([entry.encode() if dtype.kind == "S" else entry for entry in entries])
            .astype(dtype)
            .reshape(shape)
        )
    made: NDArray[Any] = (
        np.zeros(shape, dtype) if draw(st.booleans()) or dtype.kind in "OV" else np.ones(shape, dtype)
    )
    return np.asfortranarray(made) if draw(st.booleans()) else made


@st.composite
def npy(draw: Any, whole: NDArray[Any] | None = None) -> bytes:
    """An array as NumPy writes it, or under a header that says something else."""
    content = draw(array()) if whole is None else whole
    file = io.BytesIO()
    np.lib.format.write_array(file, content, allow_pickle=True)
    data = file.getvalue()
    if draw(st.integers(0, 7)):
        return data
    header: bytes = draw(st.sampled_from(DESCRIPTIONS)).encode("latin-1")
    version: int = draw(st.sampled_from([1, 2, 3, 9]))
    length = draw(st.sampled_from([len(header), len(header), 2**16 - 1, 0]))
    size = struct.pack("<H" if version == 1 else "<I", length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data[128:]


@st.composite
def archive(draw: Any, members: SearchStrategy[dict[str, bytes]]) -> bytes:
    """A zip archive; sometimes with a member twice, of another kind of compression, or with a false size."""
    file = io.BytesIO()
    kind = draw(
        st.sampled_from(
            [zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED] * 3 + [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
        )
    )
    with zipfile.ZipFile(file, "w", kind) as out:
        for name, content in draw(members).items():
            out.writestr(name, content)
        if not draw(st.integers(0, 15)):
            out.comment = b"x" * draw(st.integers(0, 50))
    data: bytes = file.getvalue()
    if not draw(st.integers(0, 4)):  # a false size, offset or flag in the directory of the archive
        directory = data.find(b"PK\x01\x02")
        place = directory + draw(st.sampled_from([8, 10, 16, 20, 24, 28, 42]))
        data = (
            data[:place]
            + draw(st.sampled_from([b"\0\0", b"\xff\xff", b"\x01\0", b"\xff\xff\xff\xff"]))
            + data[place + 2 :]
        )
    return data


def npz(good: dict[str, NDArray[Any]], others: Sequence[str] = ()) -> SearchStrategy[bytes]:
    """An `.npz` file: the arrays that should be there, of which some are others, missing or added."""
    return archive(_npz_members(good, tuple(others)))


@st.composite
def _npz_members(draw: Any, good: dict[str, NDArray[Any]], others: tuple[str, ...]) -> dict[str, bytes]:
    chosen: dict[str, bytes] = {}
    for name, content in good.items():
        what = draw(st.sampled_from(["good"] * 12 + ["other", "missing"]))
        if what != "missing":
            chosen[f"{name}.npy"] = draw(npy(content if what == "good" else None))
    for name in draw(st.lists(st.sampled_from([*others, "more"]), unique=True, max_size=2)) if others else []:
        chosen[f"{name}.npy"] = draw(npy())
    return chosen


def parquet(columns: SearchStrategy[dict[str, Any]]) -> SearchStrategy[bytes]:
    """A Parquet file of columns, as Arrow writes it."""
    return columns.map(_as_parquet)


def _as_parquet(columns: dict[str, Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as writer

    file = pa.BufferOutputStream()
    writer.write_table(pa.table(columns), file)
    return bytes(file.getvalue())


@st.composite
def arrow_columns(draw: Any, good: dict[str, list[Any]]) -> dict[str, Any]:
    import pyarrow as pa

    rows = len(next(iter(good.values())))
    kinds: list[Callable[[], Any]] = [
        lambda: pa.array([0.5] * rows),
        lambda: pa.array([None] * rows, pa.float64()),
        lambda: pa.array(["b"] * rows),
        lambda: pa.array([b"\xff"] * rows, pa.binary()),
        lambda: pa.array([[0.5, 1.0]] * rows),
        lambda: pa.array([[1.0] * i for i in range(rows)]),
        lambda: pa.array([{"x": 1}] * rows),
        lambda: pa.array(["b"] * rows).dictionary_encode(),
        lambda: pa.array([1] * rows, pa.timestamp("s")),
        lambda: pa.array([True] * rows),
        lambda: pa.array([2**63 - 1] * rows),
        lambda: pa.array([1] * rows).cast(pa.decimal128(30, 2)),
        lambda: pa.nulls(rows),
    ]
    found = {}
    for name, content in good.items():
        what = draw(st.integers(0, 9))
        if what:
            found[name] = pa.array(content) if what > 1 else draw(st.sampled_from(kinds))()
    if draw(st.booleans()):
        found[draw(st.sampled_from(["x", "id", "split", "features", "", "label"]))] = draw(
            st.sampled_from(kinds)
        )()
    return found or {"x": kinds[0]()}
