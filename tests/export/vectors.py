"""The test vectors as the tests use them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import hedgerow as hr
from tests.export.write_vectors import VECTORS


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

    def point(self) -> hr.OperatingPoint:
        """Return the point, checked as when it is read from a file."""
        return hr.OperatingPoint.from_dict(self.content["point"])


CASES = {case["name"]: Vector(case) for case in json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]}
