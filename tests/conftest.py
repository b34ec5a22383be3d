"""Settings of all tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

settings.register_profile("hedgerow", deadline=None)  # how long an example takes depends on the machine
settings.load_profile("hedgerow")

HERE = Path(__file__).parent
SLOW = (
    "learn/test_classifier.py",
    "test_site.py",
    "test_repository.py",
    "cluster/test_studies.py",
    "study/test_run.py",
    "learn/training/test_ddp.py",
    "cluster/test_evaluating.py",
)
"""The slowest files, slowest first: with two processes, one that came last would leave a core idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first."""
    order = {HERE / name: i for i, name in enumerate(SLOW)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
