"""SpeciesNet's JSON: the five best classes of every image, `uuid;class;order;family;genus;species;common name`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, final

import msgspec

from hedgerow.errors import FileError
from hedgerow.files import line_of, read_text
from hedgerow.score_files.lineage_binding import Lineage, Step, as_lineage
from hedgerow.score_files.listed import ExampleReader
from hedgerow.tree import taxon_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.files import InputFile


_EXPECTED = (
    'Expected: {"predictions": [{"filepath": ..., "classifications": {"classes": [...], "scores": [...]}}, ...]}'
)


_ANY_ANIMAL = (Step("", (taxon_strings.ANIMAL, "animalia", "metazoa"), whole=True),)
_HUMAN = (Step("", (taxon_strings.HUMAN,), whole=True),)  # beside the animals; otherwise a mammal


class _Classifications(msgspec.Struct):
    classes: list[str] = []
    scores: list[float] = []


@final
class SpeciesnetReader(ExampleReader):
    """Images with their best classes, species and higher taxa mixed; the file is read whole."""

    def __init__(self, file: InputFile, *_: object) -> None:
        super().__init__(file, self._listed, self._parsed)
        self._predictions = self._checked(_loaded(self.path))
        self.rows = len(self._predictions)

    def where(self, place: int) -> str:
        """Name a prediction."""
        return f"predictions[{place}]"

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

    def _listed(self, _: str) -> Iterator[tuple[str, list[str], list[float]]]:
        """Yield each image with its classes and their scores; none if the classifier failed."""
        for place, prediction in enumerate(self._predictions):
            try:
                found = msgspec.convert(prediction.get("classifications", {}), _Classifications)
            except msgspec.ValidationError:
                found = _Classifications(scores=[0.0])
            if len(found.classes) != len(found.scores):
                raise FileError(
                    f"{self.path}: the classifications of {self.where(place)} do not have one score per class. "
                    f"{_EXPECTED}."
                )
            known = [place for place, name in enumerate(found.classes) if taxon_strings.NO_RESULT not in name]
            yield (
                prediction["filepath"],
                [found.classes[place] for place in known],
                [found.scores[place] for place in known],
            )

    def _parsed(self, text: str) -> Lineage:
        label = taxon_strings.speciesnet_label(text)
        if label is None:
            shape, fields = taxon_strings.SPECIESNET_SHAPE, text.count(";") + 1
            raise FileError(f"{self.path}: the class {text!r} has {fields} fields. {shape}")
        if label.is_any_animal:
            return _ANY_ANIMAL
        *above, last = as_lineage(Step.of(taxon.written, taxon.rank) for taxon in label.taxa) or (Step("", ()),)
        return (*(_HUMAN if label.is_human else ()), *above, Step(last.rank, (*last.names, label.common_name)))


def _needed(found: dict[str, Any]) -> dict[str, Any]:
    """Drop unneeded keys, such as detections, from each JSON object as soon as it is read.

    Class names, which repeat, are interned. Together this halves the memory.
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
        whole = text.rstrip().endswith("}") or error.msg == "Extra data"
        cut = "" if whole else " It is cut off at its end: copy or write it again."
        raise FileError(
            f"{path}, line {line_of(text, error.pos)} cannot be read as JSON: {error.msg}.{cut}"
        ) from None
    except RecursionError:
        raise FileError(f"{path} is nested too deeply to be what SpeciesNet writes.") from None
