"""Points as files: JSON with every field, the tree and a digest; whatever is read is checked before it is used."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.errors import FileError, HedgerowError
from hedgerow.files import read_text, reading, schema
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import Ranks, metrics
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from hedgerow.choose.point import OperatingPoint

AGAIN = "Choose the point again with hedgerow select."

_FORMAT = "hedgerow operating point"
_VERSION = 1


def content_of(point: OperatingPoint) -> dict[str, Any]:
    """Return everything about a point, ready for JSON, with a digest of it."""
    tree: dict[str, Any] = {
        "fingerprint": point.hierarchy.fingerprint,
        "names": point.hierarchy.names.tolist(),
        "parents": point.hierarchy.parent.tolist(),
    }
    if point.hierarchy.rank is not None:
        tree["ranks"] = point.hierarchy.rank.tolist()
    fields = {name: getattr(point, name) for name in _FIELDS}
    fields["target"], fields["overclassification"] = dict(point.target), dict(point.overclassification)
    # JSON has no infinity.
    fields["thresholds"] = {
        name: tau if math.isfinite(tau) else str(tau) for name, tau in point.thresholds.items()
    }
    fields["notes"] = list(point.notes)
    content = {"format": _FORMAT, "schema": _VERSION, **fields, "tree": tree}
    return content | {"digest": digest(content)}


def digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything but the digest itself, in hexadecimal."""
    text = json.dumps({key: content[key] for key in content if key != "digest"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_content(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not a point: it is not valid JSON: {error}. {AGAIN}") from None


def checked_fields(content: Any, shown: str) -> dict[str, Any]:
    """Return the fields of the point in a file, once everything in it has been checked."""
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise FileError(f"{shown} is not a point written by hedgerow select.")
    if content.get("schema") != _VERSION:
        raise FileError(f"{shown} was written by another version of hedgerow. {AGAIN}")
    given = {"at_most": _is_cost(content)} | content  # version 0.2.0 did not write it
    with reading(shown, "a point", AGAIN):
        schema.fields(_FIELDS)(given, "it")
    tree = content.get("tree")
    if not isinstance(tree, dict) or not _is_texts(tree.get("names")) or not isinstance(tree.get("parents"), list):
        raise FileError(f"{shown}: the field 'tree' has no names and parents. {AGAIN}")
    if content.get("digest") != digest(content):
        raise FileError(
            f"{shown} was changed after it was written: it no longer agrees with its digest, so it promises "
            f"nothing. {AGAIN}"
        )
    hierarchy = _tree(tree, shown)
    if hierarchy.fingerprint != tree.get("fingerprint"):
        raise FileError(f"{shown}: the tree in it does not agree with its fingerprint. {AGAIN}")
    fields: dict[str, Any] = {"hierarchy": hierarchy} | {name: given[name] for name in _FIELDS}
    fields["thresholds"] = {name: float(tau) for name, tau in content["thresholds"].items()}
    fields["notes"] = tuple(content["notes"])
    if not fields["thresholds"] or not _thresholds_fit(hierarchy, fields):
        raise FileError(f"{shown}: its thresholds do not fit the rest of it. {AGAIN}")
    return fields


def _is_cost(content: Mapping[str, Any]) -> bool:
    """Return whether the target is a metric of hedgerow of which less is better."""
    target = content.get("target")
    known = [metrics.METRICS.get(name) for name in target] if isinstance(target, dict) else []
    return content.get("by") != "rank" and any(not metric.higher_is_better for metric in known if metric)


def _tree(tree: Mapping[str, Any], shown: str) -> Hierarchy:
    names, parents, given = tree["names"], tree["parents"], tree.get("ranks")
    numbers = all(isinstance(parent, int) and -1 <= parent < len(names) for parent in parents)
    if (
        not numbers
        or len(parents) != len(names)
        or not (given is None or (_is_texts(given) and len(given) == len(names)))
    ):
        raise FileError(f"{shown}: the names, parents and ranks of its tree do not belong together. {AGAIN}")
    try:
        return Hierarchy(
            np.array(names, dtype=object),
            np.array(parents, dtype=np.int64),
            None if given is None else np.array(given, dtype=object),
        )
    except HedgerowError as error:
        raise FileError(f"{shown}: its tree is not a tree. {error}") from None


def _thresholds_fit(hierarchy: Hierarchy, fields: Mapping[str, Any]) -> bool:
    """Return whether the thresholds are for what the point says they are for."""
    by = fields["by"]
    if by == "group":
        known = set(fields["thresholds"])
    elif by == "clade":
        known = set(hierarchy.names.tolist())
    else:
        known = set(Ranks.of(hierarchy).names) if by == "rank" else {""}
    return set(fields["thresholds"]) <= known and (by == "rank") == (fields["rule"] == "ranks")


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


# What the fields can be ----------------------------------------------------------------------------------------


def _threshold(value: Any, where: str) -> None:
    """Require a finite number, or infinity as text: JSON has none."""
    if value not in ("inf", "-inf"):
        schema.between()(value, where)


_COUNT = schema.whole(0, 1 << 60)
_LEVELS = schema.mapping(schema.between())
_FIELDS: dict[str, schema.Rule] = {
    "target": _LEVELS,
    "overclassification": _LEVELS,
    "guarantee": schema.one_of(*GUARANTEES),
    "delta": schema.maybe(schema.between(0, 1)),
    "rule": schema.one_of(*FAMILIES, "ranks"),
    "by": schema.one_of("all", "group", "clade", "rank"),
    "thresholds": schema.mapping(_threshold),
    "scale": schema.one_of(*BOTTOM),
    "at_most": schema.flag,
    "root_is_safe": schema.flag,
    "clade_depth": schema.maybe(schema.whole(1, 1 << 60)),
    "information": schema.one_of("leaves", "depth"),
    "single_child": schema.one_of("skip", "answer"),
    "below_label": schema.one_of("label", "wrong"),
    "temperature": schema.between(0),
    "examples": _COUNT,
    "clusters": schema.maybe(_COUNT),
    "notes": schema.listing(schema.text()),
    "created": schema.text(),
    "version": schema.text(),
}
