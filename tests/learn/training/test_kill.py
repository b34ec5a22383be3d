"""Runs that are killed, at any moment and without warning, lose nothing."""

from __future__ import annotations

import multiprocessing
import time
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors.torch import load_file

from hedgerow.learn.training.recipe import Recipe
from hedgerow.learn.training.run import train
from hedgerow.learn.training.run_folder import RunFolder
from tests.learn.training.toy import write_files

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 6


def go_on(recipe: Path, folder: Path) -> None:
    train(Recipe.load(str(recipe)), folder, resume=True, progress=False)


def test_a_run_killed_again_and_again_ends_with_the_same_weights(tmp_path: Path) -> None:
    recipe = write_files(tmp_path, epochs=6)
    whole = train(Recipe.load(str(recipe)), tmp_path / "whole", progress=False)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.learn.training.test_kill"])
    moment = np.random.default_rng(0)
    folder = tmp_path / "killed"
    for _ in range(KILLS):
        process = context.Process(target=go_on, args=(recipe, folder))
        process.start()
        process.join(moment.uniform(0.0, 1.0))
        process.kill()
        process.join()
    last = context.Process(target=go_on, args=(recipe, folder))
    last.start()
    last.join(60)
    assert last.exitcode == 0
    killed = RunFolder(folder)
    first, second = (load_file(run.path / "model.safetensors") for run in (whole, killed))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert whole.metrics() == killed.metrics()
    assert not list(folder.glob("**/*.tmp"))


def test_the_process_is_killed_while_it_trains(tmp_path: Path) -> None:
    recipe = write_files(tmp_path, epochs=500)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.learn.training.test_kill"])
    run = RunFolder(tmp_path / "killed")
    process = context.Process(target=go_on, args=(recipe, run.path))
    process.start()
    begun = time.monotonic()
    while not run.last.exists() and time.monotonic() - begun < 60:
        time.sleep(0.01)
    process.kill()
    process.join()
    assert torch.load(run.last, weights_only=True)["epoch"] < 499
    assert not run.is_finished
