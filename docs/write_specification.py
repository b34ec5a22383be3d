"""Write the schema of point files, and its table on the page: `python docs/write_specification.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hedgerow.choose import point_schema

HERE = Path(__file__).parent
PAGE, SCHEMA = HERE / "point-file.md", HERE / "point.schema.json"
BEGIN, END = "<!-- the fields, written by docs/write_specification.py -->\n", "<!-- end of the fields -->"


WHOLE = point_schema()


def referred(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the definition that a schema refers to, if it does."""
    return WHOLE["$defs"].get(schema.get("$ref", "").rpartition("/")[2], schema)


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a field in a few words."""
    if "anyOf" in schema:
        return " or ".join(kind(each) for each in schema["anyOf"])
    if "$ref" in schema:
        return "object"
    if "prefixItems" in schema:
        return f"pair of {' and '.join(map(kind, schema['prefixItems']))}"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema["type"] == "array":
        return f"list of {kind(schema['items'])}"
    if isinstance(inner := schema.get("additionalProperties"), dict):
        return f"object of {kind(inner)}"
    return str(schema["type"])


def rows(schema: dict[str, Any], prefix: str = "") -> list[str]:
    """Return a row of the table for each field, and for those of objects in it."""
    found = []
    for name, content in schema["properties"].items():
        optional = "" if name in schema["required"] else ", optional"
        found.append(f"| `{prefix}{name}` | {kind(content)}{optional} | {content['description']} |")
        if "properties" in referred(content):
            found += rows(referred(content), f"{prefix}{name}.")
    return found


def schema_text() -> str:
    """Return the text of the schema."""
    return json.dumps(WHOLE, indent=1, ensure_ascii=False) + "\n"


def page_text() -> str:
    """Return the page with the table of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table = "\n".join(["| field | type | |", "|---|---|---|", *rows(WHOLE)])
    return f"{before}{BEGIN}\n{table}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    PAGE.write_text(page_text(), encoding="utf-8")
