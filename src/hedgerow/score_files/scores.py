"""Scores from any source, as an iterable of blocks, and how progress over them is reported."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import counted
from hedgerow.likelihood import Prior, Treatment, tempered, with_prior
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hedgerow.score_files.event_pooling import EventPooling
    from hedgerow.score_files.examples import Block
    from hedgerow.tree import Hierarchy


Advance = Callable[[int], None]
Progress = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Opens a progress bar, given a description and the number of steps (None if unknown); yields a callback that
takes the number of steps since the last call."""


def silent(_what: str, _total: int | None, /) -> AbstractContextManager[Advance]:
    """Report no progress."""
    return nullcontext(lambda _steps: None)


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Likelihoods of examples: iterating yields one `Block` at a time, and reads the file anew."""

    path: str
    hierarchy: Hierarchy
    read: Callable[[list[str]], Iterable[Block]]
    """Yields the blocks, and appends warnings to a list."""
    rows: int | None = None
    """Number of examples, if it is known in advance."""
    has_ids: bool = False
    """Whether the examples have ids."""
    settings: Settings = field(default_factory=Settings)
    """The defaults for the format of the file, used by `evaluate`, `select` and rules."""
    format: str = ""
    """The format of the file: a name in `FORMATS`."""
    temperature: float = 1.0
    """The number that the scores are divided by."""
    prior: Prior | None = None
    """The prior that the likelihoods get then."""
    pooling: EventPooling | None = None
    """How the examples of events are pooled at last."""
    warnings: list[str] = field(default_factory=list)
    """Likely mistakes; complete once everything has been read."""

    def __iter__(self) -> Iterator[Block]:
        found: list[str] = []
        blocks = self._prepared(iter(self.read(found)), found)
        if self.pooling is not None:
            blocks = self.pooling.blocks(lambda: iter(self.read([])), blocks, found)
        yield from blocks
        self.warnings[:] = found

    def _prepared(self, blocks: Iterator[Block], remarks: list[str]) -> Iterator[Block]:
        """Yield blocks with the temperature and the prior."""
        impossible = 0
        for block in blocks:
            q: Any = block.likelihoods
            if self.temperature != 1:
                q = tempered(self.hierarchy, q, self.temperature)
            if self.prior is not None:
                before = q.below_root()
                q = with_prior(self.hierarchy, q, self.prior, block.groups)
                impossible += int((before & ~q.below_root()).sum())
            yield block if q is block.likelihoods else replace(block, likelihoods=q)
        if impossible:
            remarks.append(
                f"{counted(impossible, 'example has', 'examples have')} no class that the prior allows: the "
                f"answer there is the root."
            )

    @property
    def treatment(self) -> Treatment:
        """What is done to the likelihoods."""
        digest = None if self.prior is None else self.prior.digest
        return Treatment(self.temperature, digest, None if self.pooling is None else self.pooling.how)

    def tempered(self, temperature: float) -> Scores:
        """Return the scores divided by a temperature, before anything else is done: see `likelihood.tempered`."""
        return replace(self, temperature=temperature, warnings=[])
