"""Two processes score every validation example exactly once, and find the curve that one process finds."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch import Trainer, seed_everything
from PIL import Image

from hedgerow.errors import ParameterError
from hedgerow.learn import data
from hedgerow.learn.training.batches import SplitBatches
from hedgerow.learn.training.module import Classifier, TrainingModule
from hedgerow.learn.training.run import train, without_noise
from hedgerow.learn.training.run_folder import RunFolder
from hedgerow.learn.training.scores import likelihood_blocks
from hedgerow.likelihood import SparseLikelihoods
from hedgerow.measure import evaluate
from tests.learn.training.toy import SIZES, recipe, splits, write_files

if TYPE_CHECKING:
    from pathlib import Path


def validated(processes: int, folder: Path) -> dict[str, Any]:
    seed_everything(3, verbose=False)
    given, chosen = splits(), recipe()
    classifier = Classifier(chosen, given.hierarchy, given.input_shape)
    module = TrainingModule(classifier, chosen, given.train)
    with without_noise():
        trainer = Trainer(
            accelerator="cpu",
            devices=processes,
            strategy="ddp_spawn" if processes > 1 else "auto",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            use_distributed_sampler=False,
            default_root_dir=folder,
        )
        return dict(trainer.validate(module, SplitBatches(given, chosen.optimiser, chosen.run), verbose=False)[0])


pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch was built without distributed support"
)


def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    one, two = validated(1, tmp_path), validated(2, tmp_path)
    assert one["val/examples"] == two["val/examples"] == SIZES["val"]  # an odd number
    assert one.keys() == two.keys()
    assert two == pytest.approx(one, abs=1e-6)


def test_two_processes_train_and_one_writes(tmp_path: Path) -> None:
    toml = write_files(tmp_path, epochs=2)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hedgerow", "train", str(toml), "-o", str(out)]
    given = ["--set", "run.devices=2", "--set", "run.strategy=ddp", "--set", "run.scores=compact"]
    done = subprocess.run([*command, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("epoch 2/2") == 1  # only one process prints
    assert len(list((out / "logs" / "csv").iterdir())) == 1
    assert {path.name for path in (out / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt"}
    logged = pd.read_csv(next((out / "logs" / "csv").glob("*/metrics.csv")))
    found = json.loads((out / "metrics.json").read_text())  # one process, with the weights of the best epoch
    assert logged["val_AP"].max() == pytest.approx(found["val"]["AP"], abs=1e-6)
    classifier = RunFolder(out).classifier()
    assert sum(p.numel() for p in classifier.parameters()) > 0
    scores = RunFolder(out).open_scores()
    assert isinstance(next(iter(scores)).likelihoods, SparseLikelihoods)
    assert evaluate(scores.hierarchy, scores).summary() == found["test"]


def test_two_processes_read_image_files_and_fill_one_cache(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for split, number in (("train", 6), ("test", 3)):
        for name in ("cat", "dog", "cow"):
            (tmp_path / "set" / split / name).mkdir(parents=True)
            for i in range(number):
                pixels = random.integers(256, size=(40, 50, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / "set" / split / name / f"{i}.png")
    changes = {"data.path": tmp_path / "set", "data.cache": tmp_path / "cache", "data.image_size": 16}
    changes |= {"data.val_share": 0.34, "optimiser.epochs": 1, "optimiser.batch_size": 4}
    changes |= {"run.devices": 2, "run.workers": 0, "run.accelerator": "cpu"}
    given = [f"--set={key}={value}" for key, value in changes.items()]
    command = [sys.executable, "-m", "hedgerow", "train", "images", "-o", str(tmp_path / "run"), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = RunFolder(tmp_path / "run")
    params = {**run.recipe().data.params, "cache": None}
    uncached = data.load("images", **params).test
    expected = np.concatenate([b.q for b in likelihood_blocks(run.classifier(), uncached, torch.device("cpu"))])
    np.testing.assert_array_equal(np.concatenate([b.q for b in run.open_scores()]), expected)
    sizes = [path.stat().st_size for path in (tmp_path / "cache").iterdir()]
    assert len(sizes) == 4  # of two lists
    assert sum(size > 0 for size in sizes) == 3  # nothing is cropped at random for testing


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("run.strategy=fsdp", "use 'ddp' on a CPU"),
        ("run.strategy=horovod", "run.strategy must be one of 'auto', 'ddp', 'fsdp'"),
        ("run.nodes=0", "run.nodes must be a whole number from 1 to"),
        ("run.nodes=1000000000", "run.nodes must be a whole number from 1 to 100000, not 1000000000"),
        ("run.devices=1000000000", "run.devices must be a whole number from 1 to 1000, not 1000000000"),
        ("run.workers=1000000000", "run.workers must be a whole number from -1 to 1000, not 1000000000"),
    ],
)
def test_what_cannot_be(change: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=said):
        train(recipe(change), tmp_path / "out", splits=splits(), progress=False)
    assert not (tmp_path / "out" / "checkpoints").exists()


def test_fewer_validation_examples_than_processes(tmp_path: Path) -> None:
    few = dataclasses.replace(splits(), val=splits().val.subset(np.arange(1)))
    with pytest.raises(ParameterError, match="1 example, fewer than the 2 processes"):
        train(recipe("run.devices=2"), tmp_path / "out", splits=few, progress=False)
    assert not (tmp_path / "out").exists()
