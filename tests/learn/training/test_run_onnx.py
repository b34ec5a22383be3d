"""Training runs as ONNX, with the decision at a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import hedgerow as hr
from hedgerow import methods
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.training.run import train
from hedgerow.learn.training.run_folder import RunFolder
from hedgerow.learn.training.run_onnx import run_onnx
from hedgerow.learn.training.scores import likelihood_blocks
from tests.cli.test_evaluate import hedgerow
from tests.learn.training.toy import TREE, recipe, splits

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def compared(folder: Path, examples: LabelledInputs, name: str) -> hr.OperatingPoint:
    """Compare a run as ONNX with the run itself; return its point."""
    run = RunFolder(folder)
    classifier = run.classifier()
    (block,) = likelihood_blocks(classifier, examples, torch.device("cpu"))
    point = hr.select(TREE, block.likelihoods, TREE.names[examples.labels], target=("correct", 0.8))
    session = onnxruntime.InferenceSession(run_onnx(run, point).SerializeToString())
    assert [each.name for each in session.get_inputs()] == [name]
    inputs: NDArray[Any] = np.asarray(examples.inputs)
    node, names, _ = session.run(None, {name: inputs})
    differ = node != point.predict(block.likelihoods)
    q = block.likelihoods.probabilities()
    tau = hr.likelihood.to_probability(np.array(point.threshold), point.scale)
    assert not (differ & (np.abs(q - tau).min(axis=1) > 1e-6)).any()
    assert len(set(names.tolist())) > 2
    return point


@pytest.mark.parametrize("method", [name for name in methods.available() if name != "logit-adjusted"])
def test_features(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(recipe(f"method.name={method}"), tmp_path / "run", progress=False, splits=splits())
    point = compared(tmp_path / "run", splits().test, "features")
    if method == "flat-softmax":
        point.save(tmp_path / "point.json")
        chosen = ("--point", str(tmp_path / "point.json"), "-o", str(tmp_path / "model.onnx"))
        said, _ = hedgerow(capsys, "export", str(tmp_path / "run"), *chosen)
        assert "Right at least 80 % of the time" in said
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        assert session.get_inputs()[0].shape == ["N", 8]


@pytest.mark.parametrize("channels", [1, 3])
def test_images(channels: int, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    patterns = random.integers(0, 256, size=(len(TREE), 12, 12, 3)[: 3 if channels == 1 else 4])

    def images(count: int) -> LabelledInputs:
        labels = random.choice(TREE.leaves, count)
        noise = random.normal(size=(count, *patterns.shape[1:])) * 40
        pixels = np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8)
        return LabelledInputs(pixels, labels, [str(i) for i in range(count)])

    data = DataSplits("toy", TREE, images(200), images(50), images(60))
    changes = ("model.name=cnn", "model.width=4", "model.grid=2", "optimiser.epochs=4")
    train(recipe(*changes), tmp_path / "run", progress=False, splits=data)
    compared(tmp_path / "run", data.test, "images")
