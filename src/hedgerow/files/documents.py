"""Documents: the one envelope of the files that hedgerow writes and reads again.

A document has a format, a version (`schema`), fields that a msgspec struct declares, and a digest of all of these.
It is a JSON file, or an `.npz` archive whose member `about` is that JSON; there, the digest covers the arrays too.
A file of another format or version, one that was changed after it was written, and one with an unknown or
missing field or array are refused, with the name of the file and what to do about it.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar, final, get_type_hints

import msgspec
import numpy as np

from hedgerow.errors import some
from hedgerow.files.archive import read_arrays, write_arrays
from hedgerow.files.atomic import write_json
from hedgerow.files.text import naming, read_json, reading

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    ArraysByName: TypeAlias = Mapping[str, NDArray[Any]]

Form = TypeVar("Form")
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
"""The type of a field that holds a number of things."""

_ABOUT = "about"
_NO_ARRAYS: ArraysByName = MappingProxyType({})
_LARGEST = float(np.finfo(np.float64).max)


@final
@dataclass(frozen=True)
class Document(Generic[Form]):
    """A kind of document.

    Parameters
    ----------
    format
        What a file says it is: "hedgerow operating point".
    schema
        The version of the format, raised with every change.
    form
        The struct of its fields.
    what
        What errors call it: "a point".
    remedy
        What to do about a file that is refused.
    decode
        The `dec_hook` of msgspec, for fields of types that it does not know.

    Examples
    --------
    >>> class Note(msgspec.Struct, forbid_unknown_fields=True):
    ...     text: str
    >>> NOTE = Document("hedgerow note", 1, Note, "a note", "Copy it again.")
    >>> content = NOTE.wrapped(Note("Hello."))
    >>> list(content)
    ['format', 'schema', 'text', 'digest']
    >>> with NOTE.unwrapped(content, "note.json") as note:
    ...     note.text
    'Hello.'
    >>> with NOTE.unwrapped(content | {"text": "Hi."}, "note.json"):
    ...     pass
    Traceback (most recent call last):
    hedgerow.errors.FileError: note.json cannot be read as a note: it was changed after it was written. Copy ...
    """

    format: str
    schema: int
    form: type[Form]
    what: str
    remedy: str
    decode: Callable[[type, Any], Any] | None = None

    def wrapped(self, content: Any, arrays: ArraysByName = _NO_ARRAYS) -> dict[str, Any]:
        """Return the fields, given as a struct or by name, with format, version and digest."""
        whole = {"format": self.format, "schema": self.schema, **msgspec.to_builtins(content)}
        return whole | {"digest": content_digest(whole, arrays)}

    @contextmanager
    def unwrapped(
        self, content: Any, shown: str | os.PathLike[str], arrays: ArraysByName = _NO_ARRAYS
    ) -> Iterator[Form]:
        """Yield the fields, checked; errors, also those of the `with` block, name the file and the remedy."""
        with naming(shown, self.what, self.remedy):
            yield self._checked(content, arrays)

    def _checked(self, content: Any, arrays: ArraysByName) -> Form:
        found = content.get("format") if isinstance(content, dict) else None
        if found != self.format:
            other = (
                "hedgerow did not write it, or an older version did" if found is None else f"it is a {found!r:.40}"
            )
            raise ValueError(other)
        schema = content.get("schema")
        if type(schema) is not int or schema != self.schema:
            its = "" if schema is None else f": its schema is {schema!r:.20}, not {self.schema}"
            raise ValueError(f"another version of hedgerow wrote it{its}")
        inner = {name: value for name, value in content.items() if name not in ("format", "schema", "digest")}
        form = msgspec.convert(inner, self.form, dec_hook=self.decode)
        if content.get("digest") != content_digest(content, arrays):
            raise ValueError("it was changed after it was written")
        return form

    def write(self, path: str | os.PathLike[str], content: Any, *, indent: int | None = 1) -> None:
        """Write a JSON file; see `wrapped`."""
        write_json(path, self.wrapped(content), indent=indent)

    @contextmanager
    def reading(self, path: str | os.PathLike[str]) -> Iterator[Form]:
        """Read a JSON file; see `unwrapped`."""
        with self.unwrapped(read_json(path, self.what, self.remedy), path) as form:
            yield form

    def write_archive(
        self, path: str | os.PathLike[str], content: Any, arrays: ArraysByName, *, compressed: bool = True
    ) -> None:
        """Write an archive of arrays; nothing is pickled."""
        about = json_array(self.wrapped(content, arrays))
        write_arrays(path, {_ABOUT: about, **arrays}, compressed=compressed)

    @contextmanager
    def reading_archive(self, path: str | os.PathLike[str]) -> Iterator[tuple[Form, Arrays]]:
        """Read an archive; see `unwrapped`. Every array must be taken in the `with` block."""
        arrays = Arrays(read_arrays(path))
        with reading(path, self.what, self.remedy):
            about = arrays.take_json(_ABOUT) if _ABOUT in arrays else None
        with self.unwrapped(about, path, arrays.left) as form:
            yield form, arrays
            if arrays.left:
                raise ValueError(f"it contains {some(sorted(arrays.left))}, which does not belong there")


@final
class Arrays:
    """The arrays of an archive that have not been taken yet; each is checked when it is taken."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.left = arrays

    def __contains__(self, name: str) -> bool:
        return name in self.left

    def take(
        self,
        name: str,
        dtype: type[Any],
        *shape: int | None,
        low: float = -_LARGEST,
        high: float = _LARGEST,
    ) -> NDArray[Any]:
        """Take an array.

        Parameters
        ----------
        name
            Its name.
        dtype
            Its type, or a general one such as `numpy.floating`.
        *shape
            Its size along each axis; None for any.
        low, high
            The range of its numbers; by default, all that are finite.
        """
        if name not in self.left:
            raise ValueError(f"{name!r} is missing")
        array = self.left.pop(name)
        sizes = zip(array.shape, shape, strict=False)
        known = np.issubdtype(array.dtype, dtype) and array.dtype.isnative
        if not known or array.ndim != len(shape) or any(size not in (None, found) for found, size in sizes):
            raise ValueError(f"{name!r} is {array.dtype} of shape {array.shape}")
        bounded = array.dtype.kind == "f" or low > -_LARGEST or high < _LARGEST
        if bounded and not np.all((array >= np.float64(low)) & (array <= np.float64(high))):  # also for NaN
            raise ValueError(f"{name!r} has values outside {low:.6g} to {high:.6g}")
        return array

    def take_texts(self, name: str, count: int) -> NDArray[np.object_]:
        """Take a list of so many texts, as an array of objects."""
        listed = self.take_json(name, list[str])
        if len(listed) != count:
            raise ValueError(f"{name!r} does not have one text for each example")
        texts = np.empty(count, dtype=object)
        texts[:] = listed
        return texts

    def take_json(self, name: str, kind: Any = Any) -> Any:
        """Take what `json_array` returned."""
        return msgspec.json.decode(self.take(name, np.uint8, None).tobytes(), type=kind)


def json_array(content: Any) -> NDArray[np.uint8]:
    """Return content as the bytes of its JSON; see `Arrays.take_json` and `Arrays.take_texts`."""
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)


def content_digest(content: Mapping[str, Any], arrays: ArraysByName = _NO_ARRAYS) -> str:
    """Return the SHA-256, in hexadecimal, of everything in a document but the digest itself."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name].astype(arrays[name].dtype.newbyteorder("<"), copy=False)  # on any machine
        digest.update(f"{name!r}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def described(text: str, default: Any = MISSING, **more: Any) -> Any:
    """Return a field of a dataclass with a description; the rest is for `dataclasses.field`."""
    return field(metadata={"about": text}, default=default, **more)


def descriptions(kind: Any) -> dict[str, str]:
    """Return the description of each field of a dataclass that has one; the help of an option is one.

    >>> @dataclass
    ... class Note:
    ...     text: str = described("What to remember.", "")
    >>> descriptions(Note)
    {'text': 'What to remember.'}
    """
    given = {each.name: each.metadata for each in fields(kind)}
    return {name: about.get("about") or about["help"] for name, about in given.items() if about}


def struct_of(name: str, kind: Any, others: Mapping[str, Any], more: Iterable[tuple[str, Any, str]] = ()) -> Any:
    """Return a struct with the described fields of a dataclass, as a document has them.

    Parameters
    ----------
    name
        The name of the struct.
    kind
        The dataclass.
    others
        The types of fields that have another form in a document; None leaves a field out.
    more
        Further fields: name, type and description.
    """
    types = get_type_hints(kind, include_extras=True) | dict(others)
    own = [(each, types[each], text) for each, text in descriptions(kind).items() if types[each] is not None]
    declared = [(each, Annotated[its, msgspec.Meta(description=text)]) for each, its, text in (*own, *more)]
    return msgspec.defstruct(name, declared, forbid_unknown_fields=True)
