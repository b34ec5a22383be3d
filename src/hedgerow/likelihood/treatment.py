"""What was done to likelihoods after the model gave them, which a promise depends on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, final

from hedgerow.errors import argument


class Difference(NamedTuple):
    """How likelihoods were treated otherwise."""

    what: str
    remedy: str


@final
@dataclass(frozen=True)
class Treatment:
    """What was done to likelihoods, in this order.

    >>> Treatment(temperature=2.0).difference(Treatment()).remedy
    'Give temperature=2'
    """

    temperature: float = 1.0
    """The number that the scores were divided by."""
    prior: str | None = None
    """The digest of the prior: see `Prior`."""
    pool: str | None = None
    """How the examples of an event were pooled; None if each example is on its own."""

    def difference(self, other: Treatment) -> Difference | None:
        """Return in which way others were treated differently, and what to give; None if they were not."""
        if other == self:
            return None
        name = next(each.name for each in fields(self) if getattr(self, each.name) != getattr(other, each.name))
        if name == "temperature":
            here = f"{self.temperature:g}"
            return Difference(
                f"these were divided by the temperature {other.temperature:g}, not by {here}",
                f"Give {argument('temperature', here, python=f'temperature={here}')}",
            )
        if name == "prior":
            with_prior = argument("prior", "FILE", python="ScoreReading(prior=FILE)")
            if self.prior is None:
                return Difference("these have a prior", f"Leave out {with_prior}")
            which = "no prior" if other.prior is None else "another prior"
            return Difference(f"these have {which}", f"Give {with_prior}, with the same numbers")
        events = argument("event_column", "COLUMN", python="ScoreReading(event_column=COLUMN)")
        if self.pool is None:
            return Difference("these are pooled by event", f"Leave out {events}")
        pool = argument("pool", self.pool)
        if other.pool is None:
            more = "" if self.pool == "mean" else f" and {pool}"
            return Difference("these are single examples, not events", f"Give {events}{more}")
        return Difference(f"these events are pooled by {other.pool}, not by {self.pool}", f"Give {pool}")
