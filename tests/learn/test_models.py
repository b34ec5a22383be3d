from __future__ import annotations

import re
import sys
import types
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hedgerow.errors import ParameterError
from hedgerow.learn import models


class Doubled(nn.Module):
    """A model of a user's own."""

    def __init__(self, input_shape: tuple[int, ...], times: int = 2) -> None:
        super().__init__()
        self.out_features = input_shape[0] * times
        self.times = times

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs.repeat(1, self.times)


@pytest.mark.parametrize(
    ("name", "shape", "params", "features"),
    [
        ("linear", (5,), {}, 5),
        ("linear", (1, 4, 4), {}, 16),
        ("mlp", (5,), {}, 512),
        ("mlp", (3, 4, 4), {"hidden": [8, 6], "dropout": 0.1}, 6),
        ("mlp", (5,), {"hidden": []}, 5),
        ("linear", (5,), {"scale_inputs": True}, 5),
        ("mlp", (5,), {"hidden": [6], "scale_inputs": True}, 6),
        ("cnn", (1, 28, 28), {}, 512),
        ("cnn", (3, 33, 20), {"width": 4, "grid": 1}, 16),
        ("cnn", (1, 8, 8), {"width": 4, "dropout": 0.5}, 64),
        (f"{__name__}:Doubled", (5,), {"times": 3}, 15),
        (Doubled((5,)), (5,), {}, 10),
        (nn.Linear(5, 7), (5,), {}, 7),
    ],
)
def test_models_return_as_many_features_as_they_say(
    name: Any, shape: tuple[int, ...], params: dict[str, Any], features: int
) -> None:
    model = models.build(name, shape, **params)
    assert model.out_features == features
    output = model(torch.rand(3, *shape))
    assert output.shape == (3, features)
    if list(model.parameters()):
        output.sum().backward()
        assert all(p.grad is not None and p.is_contiguous() for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "shape", "params", "message"),
    [
        (
            "cnn",
            (5,),
            {},
            "takes images of at least 8 x 8 pixels; one example has shape (5,). For features choose",
        ),
        ("cnn", (1, 4, 28), {}, "at least 8 x 8"),
        ("cnn", (1, 28, 28), {"width": 0}, "width must be positive"),
        ("mlp", (5,), {"hidden": [4, 0]}, "hidden must be positive"),
        ("mlp", (5,), {"dropout": 1.0}, "dropout must be at least 0 and less than 1"),
        (
            "mlp",
            (5,),
            {"hiden": [4]},
            "unexpected keyword argument 'hiden'. Its parameters: hidden, dropout, scale_inputs.",
        ),
        ("no.such.module:Model", (5,), {}, "cannot be imported"),
        ("hedgerow.learn.models:Nothing", (5,), {}, "cannot be imported"),
        ("hedgerow.learn.models:MODELS", (5,), {}, "is dict, which cannot be called"),
        ("math:hypot", (5,), {}, "must be a torch.nn.Module"),
        (nn.ReLU(), (5,), {}, "int attribute 'out_features'"),
        (nn.Linear(5, 7), (5,), {"width": 3}, "takes no parameters"),
        ("linear", (4,), {"scale_inputs": "False"}, "scale_inputs must be true or false, not 'False'"),
        ("mlp", (4,), {"dropout": "x"}, "dropout must be a number, not 'x'"),
    ],
)
def test_what_does_not_fit_is_explained(
    name: Any, shape: tuple[int, ...], params: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("math.hypot", lambda *_: 3.0)
    with pytest.raises(ParameterError, match=re.escape(message)):
        models.build(name, shape, **params)


def test_without_torchvision_its_models_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(
        ParameterError, match=r"no model 'resnet18'. There are linear, mlp, cnn\..*hedgerow\[vision\]"
    ):
        models.build("resnet18", (3, 32, 32))
    with pytest.raises(ParameterError, match="Did you mean 'cnn'"):
        models.build("cnn2", (3, 32, 32))


class Network(nn.Module):
    """What torchvision's models look like."""

    def __init__(self, weights: str | None = None) -> None:
        super().__init__()
        self.weights = weights
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 1000))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        classes: torch.Tensor = self.classifier(inputs)
        return classes


def test_the_classifying_layer_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    vision = types.ModuleType("torchvision.models")
    vision.list_models = lambda **_: ["network"]  # type: ignore[attr-defined]
    vision.get_model = lambda _, weights: Network(weights)  # type: ignore[attr-defined]
    package = types.ModuleType("torchvision")
    package.models = vision  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", vision)
    model = models.build("network", (3, 2, 2), pretrained=True)
    assert model.out_features == 6
    assert model.weights == "DEFAULT"
    assert model(torch.rand(2, 3, 2, 2)).shape == (2, 6)
    with pytest.raises(ParameterError, match="3 channels"):
        models.build("network", (1, 2, 2))
    with pytest.raises(ParameterError, match="Did you mean 'network'"):
        models.build("netwrk", (3, 2, 2))


@pytest.mark.parametrize(
    ("name", "features"),
    [("resnet18", 512), ("resnet50", 2048), ("squeezenet1_0", 512), ("vit_b_16", 768), ("convnext_tiny", 768)],
)
def test_torchvision_backbones(name: str, features: int) -> None:
    pytest.importorskip("torchvision", reason="torchvision breaks imports on CPU-only torch; run on a GPU machine")
    model = models.build(name, (3, 224, 224))
    assert model.out_features == features
    assert model(torch.rand(2, 3, 224, 224)).shape == (2, features)


@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_scaled_features_are_centred_and_their_variances_are_1_on_average(name: str) -> None:
    features = np.random.default_rng(0).normal(5, 1e-3, (200, 4)).astype(np.float32)
    model: Any = models.build(name, (4,), scale_inputs=True)
    model.scaling.measure(features, np.arange(200) % 3 + 1)
    scaled = model.scaling(torch.from_numpy(features)).numpy()
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-2)
    assert scaled.var(axis=0).mean() == pytest.approx(1, rel=1e-2)
    assert {"scaling.mean", "scaling.scale"} <= model.state_dict().keys()


def test_images_are_not_scaled() -> None:
    with pytest.raises(ParameterError, match=r"scale_inputs is for features; one example has shape \(1, 4, 4\)"):
        models.build("linear", (1, 4, 4), scale_inputs=True)
