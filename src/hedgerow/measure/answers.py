"""What each rule answers to every example, and parts of a data set."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.files import json_array
from hedgerow.measure.events import Events
from hedgerow.score_files import ABOUT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow import files
    from hedgerow.tree import Names


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of each rule to every example, and what else is known about the examples."""

    predictions: Mapping[str, NDArray[np.int32]]
    """The node that each rule answers with."""
    confidence: Mapping[str, NDArray[np.float64]]
    """Its likelihood, a probability."""
    ids: Names | None = None
    groups: Names | None = None
    clusters: Names | None = None
    texts: Names | None = None
    images: Names | None = None

    @classmethod
    def unpacked(cls, arrays: files.Arrays, rules: Sequence[str], examples: int, nodes: int) -> Answers:
        """Take the answers of the rules, and what is known about the examples."""
        if not {"leaf", "majority"} <= set(rules):
            raise ValueError("the answers of a rule are missing")
        return cls(
            {rule: arrays.take(f"prediction:{rule}", np.int32, examples, low=0, high=nodes - 1) for rule in rules},
            {rule: arrays.take(f"confidence:{rule}", np.float64, examples, low=0, high=1) for rule in rules},
            **{key: arrays.take_texts(key, examples) for key in ABOUT if key in arrays},
        )

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `unpacked` takes."""
        predictions = {f"prediction:{rule}": nodes for rule, nodes in self.predictions.items()}
        confidence = {f"confidence:{rule}": values for rule, values in self.confidence.items()}
        known = {key: values for key in ABOUT if (values := getattr(self, key)) is not None}
        return predictions | confidence | {key: json_array(values.tolist()) for key, values in known.items()}

    def taken(self, rows: NDArray[Any] | slice) -> Answers:
        """Return the answers for some examples, given by a mask, by positions or as a slice."""
        about = {key: None if (values := getattr(self, key)) is None else values[rows] for key in ABOUT}
        return Answers(
            {rule: nodes[rows] for rule, nodes in self.predictions.items()},
            {rule: values[rows] for rule, values in self.confidence.items()},
            **about,
        )


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Some examples under a name; the parts of an evaluation are sorted by it."""

    name: str
    events: Events
    answers: Answers

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Concatenate parts; what is known about the examples is kept if all parts have it."""
        filled = [part for part in parts if len(part)] or list(parts[:1])
        if len(filled) == 1:
            return filled[0]
        answers = [part.answers for part in filled]
        predictions = _concatenated([one.predictions for one in answers])
        confidence = _concatenated([one.confidence for one in answers])
        known = [key for key in ABOUT if all(getattr(one, key) is not None for one in answers)]
        about: dict[str, Any] = {key: np.concatenate([getattr(one, key) for one in answers]) for key in known}
        events = Events.join(part.events for part in filled)
        return cls(filled[0].name, events, Answers(predictions, confidence, **about))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything except the name."""
        digest = hashlib.sha256()
        events = self.events
        numbers = [events.label, events.count, events.node, events.score]
        for kind in (self.answers.predictions, self.answers.confidence):
            numbers += [kind[rule] for rule in sorted(kind)]
        for array in numbers:
            digest.update(np.ascontiguousarray(array).data)
        for key in ABOUT:
            values = getattr(self.answers, key)
            digest.update(repr(None if values is None else values.tolist()).encode("utf-8", "surrogatepass"))
        return digest.digest()

    def __len__(self) -> int:
        return len(self.events.label)


def _concatenated(given: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {rule: np.concatenate([each[rule] for each in given]) for rule in given[0]}
