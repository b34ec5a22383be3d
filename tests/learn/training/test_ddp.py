"""Two processes score every validation example exactly once, and find the curve that one process finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from lightning.pytorch import Trainer, seed_everything

from hedgerow.learn.training.batches import SplitBatches
from hedgerow.learn.training.module import Classifier, TrainingModule
from hedgerow.learn.training.run import without_noise
from tests.learn.training.toy import SIZES, recipe, splits

if TYPE_CHECKING:
    from pathlib import Path


def validated(processes: int, folder: Path) -> dict[str, Any]:
    seed_everything(3, verbose=False)
    data, chosen = splits(), recipe()
    classifier = Classifier(chosen, data.hierarchy, data.input_shape)
    module = TrainingModule(classifier, chosen, data.train.ids.tolist())
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
        return dict(trainer.validate(module, SplitBatches(data, 32, 0, 0), verbose=False)[0])


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed support")
def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    one, two = validated(1, tmp_path), validated(2, tmp_path)
    assert one["val/examples"] == two["val/examples"] == SIZES["val"]
    assert one.keys() == two.keys()
    assert two == pytest.approx(one, abs=1e-6)
