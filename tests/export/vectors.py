"""The test vectors as the tests use them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import hedgerow as hr
from tests.export.write_vectors import VECTORS

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Vector:
    """A case of the file."""

    content: dict[str, Any]

    @property
    def rows(self) -> list[list[float]]:
        return [[float(x) for x in row] for row in self.content["rows"]]

    @property
    def answers(self) -> list[str | None]:
        answers: list[str | None] = self.content["answers"]
        return answers

    @property
    def groups(self) -> list[str] | None:
        return self.content.get("groups")

    @property
    def logits(self) -> bool:
        return bool(self.content["input"] == "logits")

    def point(self, folder: Path) -> hr.OperatingPoint:
        """Return the point, read from a file like any other."""
        path = folder / "point.json"
        path.write_text(json.dumps(self.content["point"]), encoding="utf-8")
        return hr.OperatingPoint.load(path)


CASES = {case["name"]: Vector(case) for case in json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]}
