"""The JSON Schema of point files, made from the code that reads and writes them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields
from typing import Any, get_args

import msgspec

from hedgerow.choose.answer_paths import RANKS
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.point import FORMAT, VERSION, OperatingPoint, PointFile
from hedgerow.choose.request import Request, RequestFile
from hedgerow.choose.written import FRACTION
from hedgerow.tree import BelowLabel, InformationKind, SavedTree, Settings, SingleChild

_ABOUT = {
    "format": "What the file is.",
    "schema": "The version of the format.",
    "request": "What the point was asked for: the keywords of `select`.",
    "rule": 'The rule of the request; "ranks" if there is a threshold for each rank.',
    "by": 'What has a threshold of its own: "all" examples together, or each "group", "clade" or "rank".',
    "clade_depth": "The depth of the clades; null without thresholds by clade.",
    "tree": "The tree that the point is for, with its nodes in depth-first order.",
    "digest": "The SHA-256, in hexadecimal, of everything else.",
}
_CHOICES: dict[str, Any] = {
    "information": InformationKind,
    "single_child": SingleChild,
    "below_label": BelowLabel,
}


def point_schema() -> dict[str, Any]:
    """Return the JSON Schema of the files that `OperatingPoint.save` writes.

    >>> point_schema()["properties"]["scale"]
    {'enum': ['log', 'logit', 'probability'], 'description': 'The scale of the likelihoods.'}
    """
    schema = _schema(PointFile, _ABOUT | _field_docs(OperatingPoint), "An operating point of hedgerow")
    found = schema["properties"]
    found["format"]["const"], found["schema"]["const"] = FORMAT, VERSION
    found["rule"]["enum"] = [*FAMILIES, RANKS]
    options = {each.name: each.metadata.get("help") or each.metadata["about"] for each in fields(Request)}
    del schema["$defs"]
    found["request"] = _schema(RequestFile, options, _ABOUT["request"])
    asked, about = found["request"]["properties"], _field_docs(Settings)
    asked["rule"]["enum"], asked["guarantee"]["enum"] = list(FAMILIES), list(GUARANTEES)
    choices = {
        name: {"enum": sorted(get_args(kind)), "description": about[name]} for name, kind in _CHOICES.items()
    }
    asked["settings"] |= {"properties": choices, "required": list(choices), "additionalProperties": False}
    found["tree"] = _schema(SavedTree, _field_docs(SavedTree), _ABOUT["tree"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _schema(kind: Any, about: dict[str, str], description: str) -> dict[str, Any]:
    """Return the schema of a struct, with a description of each field."""
    _, components = msgspec.json.schema_components([kind], schema_hook=lambda _: FRACTION)
    schema: dict[str, Any] = components.pop(kind.__name__)
    del schema["title"]
    for name, content in schema["properties"].items():
        content["description"] = about[name]
    return {"description": description, **schema} | ({"$defs": components} if components else {})


def _field_docs(kind: type) -> dict[str, str]:
    """Return the docstring below each field of a class."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101
    found = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return found
