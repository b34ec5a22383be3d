"""JSON lines with answers in words, as of language models: `{"id": "a", "answer": "robin", "confidence": 0.9}`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, final

import msgspec

from hedgerow.errors import FileError, closest
from hedgerow.files import read_lines
from hedgerow.score_files.lineage_binding import Lineage, Step, parsed_lineage
from hedgerow.score_files.listed import ExampleReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.files import InputFile
    from hedgerow.score_files.score_reading import ScoreReading

_EXPECTED = (
    'Expected: {"id": "a", "answer": "robin"}; "answer" may be a list of answers, "confidence" a number from 0 '
    "to 1 or, with several answers, a list of numbers"
)
_AROUND = " \t\r\n*.\"'`"  # of an answer; names do not begin or end with these


class _Answers(msgspec.Struct):
    id: str | int
    answer: str | list[str | None] | None
    confidence: float | list[float] | None = None


@final
class JsonlReader(ExampleReader):
    """Examples with an answer each, or several, which become shares of votes, weighted by their confidences."""

    free_text = True

    def __init__(self, file: InputFile, how: ScoreReading, *_: object) -> None:
        super().__init__(file, self._listed, _parsed)
        self._id = how.id_column or "id"
        self._lines = [(number, line) for number, line in enumerate(read_lines(self.path), 1) if line.strip()]
        self.rows = len(self._lines)

    def where(self, place: int) -> str:
        """Name a line."""
        return f"line {self._lines[place][0]:,}"

    def _listed(self, _: str) -> Iterator[tuple[str, list[str], list[float]]]:
        for number, line in self._lines:
            found = self._decoded(number, line)
            answers = found.answer if isinstance(found.answer, list) else [found.answer]
            given = found.confidence if isinstance(found.confidence, list) else [found.confidence] * len(answers)
            if len(given) != len(answers):
                counts = f"{len(answers)} answers and {len(given)} confidences"
                raise FileError(f"{self.path}, line {number:,} has {counts}. {_EXPECTED}.")
            if wrong := [value for value in given if value is not None and not 0 <= value <= 1]:
                raise FileError(f"{self.path}, line {number:,} has the confidence {wrong[0]:g}. {_EXPECTED}.")
            shares: defaultdict[str, float] = defaultdict(float)
            for answer, confidence in zip(answers, given, strict=True):
                if text := (answer or "").strip(_AROUND):
                    shares[text] += 1.0 if confidence is None else confidence
            yield str(found.id), list(shares), [share / len(answers) for share in shares.values()]

    def _decoded(self, number: int, line: str) -> _Answers:
        where = f"{self.path}, line {number:,}"
        try:
            raw: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise FileError(f"{where} cannot be read as JSON: {error}. {_EXPECTED}.") from None
        if isinstance(raw, dict):
            for key in (self._id, "answer"):
                if key not in raw:
                    raise FileError(f"{where} has no {key!r}. {_EXPECTED}.{closest([key], list(raw))}")
            raw["id"] = raw[self._id]
        try:
            return msgspec.convert(raw, _Answers)
        except msgspec.ValidationError as error:
            raise FileError(f"{where} has something else than expected: {error}. {_EXPECTED}.") from None


def _parsed(text: str) -> Lineage:
    sign = next((sign for sign in ";>" if sign in text), None)
    return parsed_lineage(text, sign) if sign else (Step("", (text,)),)
