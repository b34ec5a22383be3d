"""Parts of the data: examples under a name, by which the parts of an evaluation are put in order."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.measure.evaluation import ABOUT, Answers
from hedgerow.measure.events import Events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Some examples: their labels and events, and the answers to them."""

    name: str
    events: Events
    answers: Answers

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Concatenate parts; what is known of the examples is kept if all parts have it."""
        filled = [part for part in parts if len(part)] or list(parts[:1])
        if len(filled) == 1:
            return filled[0]
        answers = [part.answers for part in filled]
        about: dict[str, Any] = {}
        for key in ABOUT:
            given = [values for one in answers if (values := getattr(one, key)) is not None]
            about[key] = np.concatenate(given) if len(given) == len(answers) else None
        predictions, confidence = (
            {rule: np.concatenate([getattr(one, kind)[rule] for one in answers]) for rule in getattr(first, kind)}
            for kind in ("predictions", "confidence")
            for first in answers[:1]
        )
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


def natural(name: str) -> tuple[Any, ...]:
    """Return a key that sorts names with numbers in them as people count: "part-9" before "part-10"."""
    pieces = re.split(r"0*([0-9]+)", name)
    return tuple((len(piece), piece) if i % 2 else piece for i, piece in enumerate(pieces)), name


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Sort parts by name; those of one name by content, so that the order in which they came does not matter.

    A part with a name that comes twice with the same content is an error: it would count twice.
    """
    by_name: dict[str, list[Part]] = {}
    for part in parts:
        by_name.setdefault(part.name, []).append(part)
    ordered: list[Part] = []
    for name in sorted(by_name, key=natural):
        same = by_name[name]
        if len(same) > 1:
            same.sort(key=lambda part: part.digest)
            if name and any(a.digest == b.digest for a, b in pairwise(same)):
                raise ParameterError(f"The part {name!r} is there twice, with the same examples. Merge it once.")
        ordered += same
    return ordered
