"""Points as files: JSON with every field, the tree and a digest; everything read is checked before it is used."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.errors import FileError, HedgerowError
from hedgerow.files import read_text, reading
from hedgerow.likelihood import Scale
from hedgerow.measure import Ranks
from hedgerow.tree import Hierarchy, Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from hedgerow.choose.point import OperatingPoint

AGAIN = "Choose the point again with hedgerow select."

_FORMAT = "hedgerow operating point"
_VERSION = 2
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
_Positive = Annotated[float, msgspec.Meta(gt=0)]


class PointFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a file holds: the fields of an `OperatingPoint`, and a digest of everything else."""

    format: str
    schema: int
    target: dict[str, float]
    overclassification: dict[str, float]
    guarantee: str
    delta: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None
    rule: str
    by: Literal["all", "group", "clade", "rank"]
    thresholds: dict[str, float | Literal["inf", "-inf"]]  # JSON has no infinity
    scale: Scale
    at_most: bool
    root_is_safe: bool
    clade_depth: Annotated[int, msgspec.Meta(ge=1, le=1 << 40)] | None
    settings: dict[str, str]
    temperature: _Positive
    examples: _Count
    clusters: _Count | None
    notes: list[str]
    created: str
    version: str
    tree: dict[str, Any]
    digest: str


def content_of(point: OperatingPoint) -> dict[str, Any]:
    """Return everything about a point, ready for JSON, with a digest of it."""
    content = {
        "format": _FORMAT,
        "schema": _VERSION,
        **{name: getattr(point, name) for name in _FIELDS},
        "target": dict(point.target),
        "overclassification": dict(point.overclassification),
        "thresholds": {name: tau if math.isfinite(tau) else str(tau) for name, tau in point.thresholds.items()},
        "settings": point.settings.to_dict(),
        "notes": list(point.notes),
        "tree": point.hierarchy.to_dict(),
    }
    return content | {"digest": digest(content)}


_FIELDS = [name for name in PointFile.__struct_fields__ if name not in ("format", "schema", "tree", "digest")]


def digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything but the digest itself, in hexadecimal."""
    text = json.dumps({key: content[key] for key in content if key != "digest"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_content(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file."""
    text = read_text(path)
    with reading(path, "a point", AGAIN):
        return msgspec.json.decode(text)


def checked_fields(content: Any, shown: str) -> dict[str, Any]:
    """Return the fields of the point in a file, once everything in it has been checked."""
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise FileError(f"{shown} is not a point written by hedgerow select.")
    if content.get("schema") != _VERSION:
        raise FileError(f"{shown} was written by another version of hedgerow. {AGAIN}")
    with reading(shown, "a point", AGAIN):
        file = msgspec.convert(content, PointFile)
        if file.digest != digest(content):
            raise ValueError("it was changed after it was written, so it promises nothing")
        fields = {name: getattr(file, name) for name in _FIELDS}
        fields["thresholds"] = {name: float(tau) for name, tau in file.thresholds.items()}
        fields["notes"] = tuple(file.notes)
        try:
            fields["settings"] = Settings.from_dict(file.settings)
            fields["hierarchy"] = hierarchy = Hierarchy.from_dict(file.tree)
        except HedgerowError as error:
            raise ValueError(str(error).rstrip(".")) from None
        if file.guarantee not in GUARANTEES or file.rule not in (*FAMILIES, "ranks"):
            raise ValueError(f"it has the guarantee {file.guarantee!r} and the rule {file.rule!r}")
        if not file.thresholds or not _thresholds_fit(hierarchy, file):
            raise ValueError("its thresholds do not fit the rest of it")
    return fields


def _thresholds_fit(hierarchy: Hierarchy, file: PointFile) -> bool:
    """Return whether the thresholds are for what the point says they are for."""
    known = {
        "group": set(file.thresholds),
        "clade": set(hierarchy.names.tolist()),
        "rank": set(Ranks.of(hierarchy).names),
        "all": {""},
    }
    return set(file.thresholds) <= known[file.by] and (file.by == "rank") == (file.rule == "ranks")
