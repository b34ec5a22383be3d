"""The specification of points: its schema and its page are those of the code, and hold for files."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.choose import point_schema
from tests.choose.test_point import KINDS
from tests.choose.test_select import quiet

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "write_specification.py"))
AGAIN = "run python docs/write_specification.py"


def test_the_schema_is_that_of_the_code() -> None:
    assert SCRIPT["SCHEMA"].read_text(encoding="utf-8") == SCRIPT["schema_text"](), AGAIN


def test_the_page_lists_every_field() -> None:
    text = SCRIPT["PAGE"].read_text(encoding="utf-8")
    assert text == SCRIPT["page_text"](), AGAIN
    for name in point_schema()["properties"]:
        assert f"| `{name}` |" in text


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Tell whether a value fits a schema: a slow validator of what our schema uses."""
    if "$ref" in schema:
        schema = point_schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema:
        return value in schema["enum"]
    kinds: dict[str, Any] = {
        "string": str,
        "number": (int, float),
        "integer": int,
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    if schema["type"] == "null":
        return value is None
    if not isinstance(value, kinds[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return False
    if schema["type"] == "array":
        first, others = schema.get("prefixItems", []), schema["items"]
        if len(value) < len(first) or (others is False and len(value) > len(first)):
            return False
        rest = value[len(first) :]
        return all(map(fits, value, first)) and (others is False or all(fits(each, others) for each in rest))
    if schema["type"] == "object":
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        missing = set(schema.get("required", ())) - set(value)
        rest = [each for name, each in value.items() if name not in known]
        inner = all(fits(each, others) for each in rest) if isinstance(others, dict) else others or not rest
        return not missing and inner and all(fits(value[name], known[name]) for name in known if name in value)
    if schema["type"] not in ("number", "integer"):
        return True
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    above, below = schema.get("exclusiveMinimum", value - 1), schema.get("exclusiveMaximum", value + 1)
    return bool(low <= value <= high and above < value < below)


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_fits_the_schema(kind: str, tmp_path: Path) -> None:
    KINDS[kind]().save(tmp_path / "point.json")
    content = json.loads((tmp_path / "point.json").read_text(encoding="utf-8"))
    assert fits(content, point_schema())
    changes: list[dict[str, Any]] = [{"rule": "x"}, {"schema": 1}, {"more": 1}, {"delta": 2}, {"tree": {}}]
    for change in [*changes, {"thresholds": {"": None}}]:
        assert not fits(content | change, point_schema())


def test_a_point_travels_with_its_aliases(tmp_path: Path) -> None:
    tree = hr.Hierarchy.from_parents(["root", "cat", "dog"], [-1, 0, 0], aliases={"Katze": 1})
    q = hr.likelihood.from_leaves(tree, [[0.75, 0.25]] * 20)
    quiet(tree, q, ["cat"] * 20, target=("correct", 0.9)).save(tmp_path / "point.json")
    assert hr.OperatingPoint.load(tmp_path / "point.json").hierarchy.index("Katze") == 1
