"""Processes that start with torch and Lightning imported: importing both takes most of a short test."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext


def forkserver() -> ForkServerContext:
    """Return the context of a server that forks processes; it starts with the first of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hedgerow.study.pool", "hedgerow.learn.torch_metric"])
    return context
