"""SpeciesNet's JSON: the five best classes of every image, `uuid;class;order;family;genus;species;common name`."""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import line_of, read_text, reading
from hedgerow.score_files.lineage_binding import Step, as_lineage
from hedgerow.score_files.raw_blocks import Lineages, ListedBlock, ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.score_files.lineage_binding import Lineage

_RANKS = ("class", "order", "family", "genus", "species")
_ANIMAL = "animal"  # the label for "some animal": the root
_UNKNOWN = "no cv result"
_EXPECTED = (
    'Expected: {"predictions": [{"filepath": ..., "classifications": {"classes": [...], "scores": [...]}}, ...]}'
)


@final
class SpeciesnetReader(ListReader):
    """Images with their best classes, species and higher taxa mixed; the file is read whole."""

    listing = "top"

    def __init__(self, path: str) -> None:
        self.path = path
        self._predictions = self._checked(_loaded(path))
        self.rows = len(self._predictions)
        self.lineages = Lineages(self._parsed)

    def where(self, place: int) -> str:
        """Name a prediction."""
        return f"predictions[{place}]"

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` images."""
        import pyarrow as pa

        left = enumerate(self._predictions)
        while block := list(islice(left, rows)):
            listed = [self._listed(place, prediction) for place, prediction in block]
            count = [len(scores) for _, scores in listed]
            with reading(self.path, "UTF-8"):  # JSON may hold halves of characters
                ids = pa.array([prediction["filepath"] for _, prediction in block], pa.string())
                classes = pa.array([name for names, _ in listed for name in names], pa.string())
            yield ListedBlock(
                place=np.array([place for place, _ in block], dtype=np.int64),
                texts={"ids": ids},
                row=np.repeat(np.arange(len(block)), count),
                lineage=self.lineages.numbers(classes),
                step=None,
                value=np.array([score for _, scores in listed for score in scores], dtype=np.float64),
            )

    def _checked(self, data: Any) -> list[dict[str, Any]]:
        predictions = data.get("predictions") if isinstance(data, dict) else None
        if not isinstance(predictions, list):
            raise FileError(f"{self.path} is not what SpeciesNet writes. {_EXPECTED}.")
        for place, prediction in enumerate(predictions):
            if not isinstance(prediction, dict) or not isinstance(prediction.get("filepath"), str):
                raise FileError(f"{self.path}: {self.where(place)} has no 'filepath'. {_EXPECTED}.")
        if predictions and not any("classifications" in prediction for prediction in predictions):
            raise FileError(
                f"{self.path} holds no classifications, perhaps because only the detector was run. Run the "
                f"classifier too."
            )
        return predictions

    def _listed(self, place: int, prediction: dict[str, Any]) -> tuple[list[str], list[float]]:
        """Return the classes of an image and their scores; none if the classifier failed."""
        found = prediction.get("classifications", {"classes": [], "scores": []})
        classes, scores = (found.get(key) for key in ("classes", "scores")) if isinstance(found, dict) else (0, 0)
        if not (
            isinstance(classes, list)
            and isinstance(scores, list)
            and len(classes) == len(scores)
            and all(isinstance(name, str) for name in classes)
            and all(isinstance(score, int | float) and not isinstance(score, bool) for score in scores)
        ):
            raise FileError(
                f"{self.path}: the classifications of {self.where(place)} are not as many scores as classes. "
                f"{_EXPECTED}."
            )
        known = [place for place, name in enumerate(classes) if _UNKNOWN not in name]
        return [classes[place] for place in known], [scores[place] for place in known]

    def _parsed(self, text: str) -> Lineage:
        fields = text.split(";")
        if len(fields) != 7:
            raise FileError(
                f"{self.path}: the class {text!r} has {len(fields)} fields. Expected 7: uuid;class;order;family;"
                f"genus;species;common name."
            )
        common = fields[6]
        cells = zip(_RANKS, fields[1:6], strict=True)
        *above, last = as_lineage(Step.of(cell, rank) for rank, cell in cells if cell) or (Step("", ()),)
        if not last.names and common == _ANIMAL:
            return ()
        return (*above, Step(last.rank, (*last.names, common)))


def _needed(found: dict[str, Any]) -> dict[str, Any]:
    """Drop what is not needed of each object of the JSON as soon as it is read, such as the detections.

    Names of classes, which repeat, are one object each. Together this halves the memory.
    """
    if "filepath" in found:
        return {key: found[key] for key in ("filepath", "classifications") if key in found}
    classes = found.get("classes")
    if isinstance(classes, list):
        found["classes"] = [sys.intern(name) if isinstance(name, str) else name for name in classes]
    return found


def _loaded(path: str) -> Any:
    text = read_text(path)
    try:
        return json.loads(text, object_hook=_needed)
    except json.JSONDecodeError as error:
        cut = "" if text.rstrip().endswith("}") else " It is cut off at its end: copy or write it again."
        raise FileError(
            f"{path}, line {line_of(text, error.pos)} cannot be read as JSON: {error.msg}.{cut}"
        ) from None
    except RecursionError:
        raise FileError(f"{path} is nested too deeply to be what SpeciesNet writes.") from None
