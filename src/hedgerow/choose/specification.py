"""The JSON Schema of point files, made from the declarations that read and write them."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from hedgerow.choose.answer_paths import RANKS
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.point import POINT
from hedgerow.choose.written import FRACTION
from hedgerow.tree import InformationKind


def point_schema() -> dict[str, Any]:
    """Return the JSON Schema of the files that `OperatingPoint.save` writes.

    >>> point_schema()["properties"]["scale"]
    {'description': 'The scale of the likelihoods.', 'enum': ['log', 'logit', 'probability']}
    """
    _, parts = msgspec.json.schema_components([POINT.form], schema_hook=lambda _: FRACTION)
    schema, asked, settings = (parts[each] for each in ("PointFile", "RequestFile", "SavedSettings"))
    schema["properties"]["rule"]["enum"] = [*FAMILIES, RANKS]
    asked["properties"]["rule"]["enum"] = list(FAMILIES)
    asked["properties"]["guarantee"]["enum"] = list(GUARANTEES)
    settings["properties"]["information"]["enum"] = list(get_args(InformationKind))
    first = {
        "format": {"type": "string", "const": POINT.format, "description": "What the file is."},
        "schema": {"type": "integer", "const": POINT.schema, "description": "The version of the format."},
    }
    last = {"digest": {"type": "string", "description": "The SHA-256, in hexadecimal, of everything else."}}
    schema["properties"] = first | schema["properties"] | last
    schema["required"] = [*first, *schema["required"], *last]
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **parts.pop("PointFile"), "title": POINT.format, "$defs": parts}
