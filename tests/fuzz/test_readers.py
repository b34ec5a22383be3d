"""Whatever a file holds, its reader returns something or raises a HedgerowError: a short run of `make fuzz`."""

from __future__ import annotations

import pytest

from tests.fuzz.harness import excesses, trial
from tests.fuzz.readers import READERS, Reader

CASES, COPIES = 20, 4
"""Files per reader, and damaged copies of each; all of them are the same in every run."""


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_returns_or_refuses(reader: Reader) -> None:
    trial(reader, CASES, more=COPIES)()
    assert not excesses
