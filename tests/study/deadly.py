"""A model that kills its process."""

from __future__ import annotations

import os
import signal
from typing import Any


def build(input_shape: tuple[int, ...]) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
