"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("hedgerow", deadline=None)  # how long an example takes depends on the machine
settings.load_profile("hedgerow")
