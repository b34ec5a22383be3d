"""Models that map inputs to features; the training run adds the layer of class scores.

`build` returns an `nn.Module` that maps a batch of inputs to [B, out_features], with `out_features` as attribute.
"""

from __future__ import annotations

import inspect
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from hedgerow.errors import HedgerowError, ParameterError, argument, check_kinds, closest, no_such
from hedgerow.learn.scaling import Scaling
from hedgerow.registry import import_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Shape = tuple[int, ...]

_MOST_LAYERS = 1000


def build(model: str | nn.Module, input_shape: Shape, **params: Any) -> nn.Module:
    """Build a model that maps inputs to features, with the number of features as `out_features`.

    Parameters
    ----------
    model
        One of `MODELS`; the name of a torchvision classification model, such as "resnet18" (parameter
        `pretrained`); "package.module:callable", which is called with the input shape and the parameters and
        returns a module with `out_features`; or such a module itself.
    input_shape
        Shape of one example: (d,) for features, (channels, height, width) for images.
    params
        Parameters of the model, by name.

    Examples
    --------
    >>> build("mlp", (16,), hidden=[32, 8]).out_features
    8
    """
    if isinstance(model, nn.Module):
        if params:
            raise ParameterError(f"A model that is already built takes no parameters; got {', '.join(params)}.")
        return _with_features(model, type(model).__name__)
    return _with_features(_called(model, find(model), input_shape, params), model)


def find(name: str) -> Callable[..., Any]:
    """Return the function that makes a model from the input shape and parameters; an unknown name is an error."""
    if ":" in name:
        return _imported(name)
    return MODELS[name] if name in MODELS else _from_torchvision(name)


class Scaled(nn.Module):
    """Brings features to one scale, which is measured on the training data and saved with the weights.

    Until `measure` is called, features are unchanged.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, input_shape: Shape) -> None:
        super().__init__()
        if len(input_shape) != 1:
            raise ParameterError(
                f"scale_inputs is for features; one example has shape {input_shape}. For images leave it out: "
                f"{argument('set', 'model.scale_inputs=false', python='scale_inputs=False')}."
            )
        self.register_buffer("mean", torch.zeros(input_shape))
        self.register_buffer("scale", torch.ones(input_shape))

    def measure(self, features: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        """Measure how to centre and divide features [N, d]; labels [N] are nodes."""
        found = Scaling.of(features, labels, np.ones(len(features)))
        self.mean.copy_(torch.from_numpy(found.mean))
        self.scale.copy_(torch.from_numpy(found.scale))

    def forward(self, features: Tensor) -> Tensor:
        """Scale [B, d]."""
        return (features - self.mean) / self.scale


class Linear(nn.Module):
    """The inputs themselves, as a vector; with a layer of scores on top, a linear model.

    Parameters
    ----------
    input_shape
        Shape of one example; images are flattened.
    scale_inputs
        Bring features to one scale first, measured on the training data, so that one learning rate suits
        embeddings on any scale.
    """

    def __init__(self, input_shape: Shape, *, scale_inputs: bool = False) -> None:
        super().__init__()
        self.scaling = Scaled(input_shape) if scale_inputs else nn.Identity()
        self.out_features = prod(input_shape)

    def forward(self, inputs: Tensor) -> Tensor:
        """Flatten [B, ...] to [B, out_features]."""
        features: Tensor = self.scaling(inputs).flatten(1)
        return features


class MLP(nn.Module):
    """Fully connected layers with ReLU between them.

    Parameters
    ----------
    input_shape
        Shape of one example; images are flattened.
    hidden
        Width of each layer.
    dropout
        Share of the activations that are set to 0 in training, after each layer.
    scale_inputs
        Bring features to one scale first: see `Linear`.
    """

    def __init__(
        self,
        input_shape: Shape,
        *,
        hidden: Sequence[int] = (512,),
        dropout: float = 0.0,
        scale_inputs: bool = False,
    ) -> None:
        super().__init__()
        if len(hidden) > _MOST_LAYERS:
            raise ParameterError(f"hidden must be the widths of {_MOST_LAYERS} layers at most, not {len(hidden)}.")
        _require_positive("hidden", *hidden)
        _require_share("dropout", dropout)
        self.scaling = Scaled(input_shape) if scale_inputs else nn.Identity()
        layers: list[nn.Module] = [nn.Flatten()]
        for width, next_width in pairwise((prod(input_shape), *hidden)):
            layers += [nn.Linear(width, next_width), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers)
        self.out_features = [prod(input_shape), *hidden][-1]

    def forward(self, inputs: Tensor) -> Tensor:
        """Map [B, ...] to [B, out_features]."""
        features: Tensor = self.layers(self.scaling(inputs))
        return features


class SmallCNN(nn.Module):
    """Four blocks of convolution, batch normalisation and ReLU, for small images.

    The first three blocks halve the image; the output of the last is averaged over the cells of a coarse grid.

    Parameters
    ----------
    input_shape
        (channels, height, width), at least 8 x 8.
    width
        Channels of the first block; the second has twice as many, the others four times as many.
    grid
        Cells of the grid in each direction.
    dropout
        Share of the features that are set to 0 in training.
    """

    def __init__(self, input_shape: Shape, *, width: int = 32, grid: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        _require_image("cnn", input_shape, 8)
        _require_positive("width", width, grid)
        _require_share("dropout", dropout)
        widths = (input_shape[0], width, 2 * width, 4 * width, 4 * width)
        blocks = [_block(a, b, halve=i < 3) for i, (a, b) in enumerate(pairwise(widths))]
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(grid), nn.Flatten(), nn.Dropout(dropout))
        self.out_features = widths[-1] * grid * grid

    def forward(self, inputs: Tensor) -> Tensor:
        """Map [B, channels, height, width] to [B, out_features]."""
        # Channels last is nearly twice as fast on a CPU; the layout of the weights does not change.
        features: Tensor = self.pool(self.blocks(inputs.to(memory_format=torch.channels_last)))
        return features


def _block(channels: int, out_channels: int, *, halve: bool) -> nn.Sequential:
    convolution = nn.Conv2d(channels, out_channels, 3, padding=1, bias=False)
    layers: list[nn.Module] = [convolution, nn.BatchNorm2d(out_channels), nn.ReLU()]
    return nn.Sequential(*layers, nn.MaxPool2d(2)) if halve else nn.Sequential(*layers)


MODELS: dict[str, Callable[..., nn.Module]] = {"linear": Linear, "mlp": MLP, "cnn": SmallCNN}
"""The models of hedgerow by name."""


def _from_torchvision(name: str) -> Callable[..., nn.Module]:
    """Return the function that makes a torchvision model without its classifying layer."""
    try:
        from torchvision import models as vision
    except (ImportError, RuntimeError) as error:  # a build for another torch raises a RuntimeError
        raise ParameterError(
            f"{no_such('model', name, MODELS)} The models of torchvision need torchvision: pip install "
            f"'hedgerow[vision]' ({error})."
        ) from None
    known = vision.list_models(module=vision)
    if name not in known:
        raise ParameterError(
            f"There is no model {name!r}, neither among {', '.join(MODELS)} nor in torchvision."
            f"{closest([name], [*MODELS, *known])}"
        )

    def make(input_shape: Shape, *, pretrained: bool = False, **params: Any) -> nn.Module:
        _require_image(name, input_shape, 1)
        if input_shape[0] != 3:
            raise ParameterError(f"Model {name!r} takes images with 3 channels; these have {input_shape[0]}.")
        network: nn.Module = vision.get_model(name, weights="DEFAULT" if pretrained else None, **params)
        return _without_classifier(name, network)

    return make


def _without_classifier(name: str, network: nn.Module) -> nn.Module:
    """Replace the last layer of the classifier by the identity."""
    for auxiliary in ("aux1", "aux2", "AuxLogits"):  # additional classifiers that are used in training only
        if hasattr(network, auxiliary):
            setattr(network, auxiliary, None)
            network.aux_logits = False  # type: ignore[assignment]
    for part in ("fc", "classifier", "heads", "head"):
        classifier = getattr(network, part, None)
        layers = [] if classifier is None else list(classifier.named_modules(prefix=part))
        last = next((pair for pair in reversed(layers) if isinstance(pair[1], nn.Linear | nn.Conv2d)), None)
        if last is not None:
            path, layer = last
            above, _, child = path.rpartition(".")
            setattr(network.get_submodule(above), child, nn.Identity())
            width = layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels
            network.out_features = width  # type: ignore[assignment]
            return network
    raise ParameterError(f"Model {name!r} has no classifying layer that could be removed. Choose another model.")


def _imported(path: str) -> Callable[..., Any]:
    found = import_object(path, "model")
    if not callable(found):
        raise ParameterError(
            f"The model {path!r} is {type(found).__name__}, which cannot be called. Name a class or a function."
        )
    made: Callable[..., Any] = found
    return made


def _called(name: str, make: Callable[..., Any], input_shape: Shape, params: dict[str, Any]) -> Any:
    try:
        inspect.signature(make).bind(input_shape, **params)
    except TypeError as error:
        known = [key for key in inspect.signature(make).parameters if key != "input_shape"]
        raise ParameterError(f"Model {name!r}: {error}. Its parameters: {', '.join(known) or 'none'}.") from None
    if ":" in name:
        return make(input_shape, **params)  # its errors are its own
    defaults = {key: each.default for key, each in inspect.signature(make).parameters.items()}
    check_kinds(f"Model {name!r}", defaults, params)
    try:
        return make(input_shape, **params)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        if isinstance(error, HedgerowError):
            raise
        given = ", ".join(f"{key}={value!r}"[:100] for key, value in params.items())
        raise ParameterError(f"Model {name!r} cannot be made with {given or 'no parameters'}: {error}.") from error


def _with_features(model: Any, name: str) -> nn.Module:
    if not isinstance(model, nn.Module) or not isinstance(getattr(model, "out_features", None), int):
        raise ParameterError(
            f"Model {name!r} must be a torch.nn.Module with an int attribute 'out_features', the width of what it "
            f"returns; got {type(model).__name__}."
        )
    return model


def _require_image(name: str, shape: Shape, least: int) -> None:
    if len(shape) != 3 or min(shape[1:]) < least:
        raise ParameterError(
            f"Model {name!r} takes images of at least {least} x {least} pixels; one example has shape {shape}. "
            f"For features choose 'linear' or 'mlp'."
        )


def _require_positive(what: str, *values: int) -> None:
    if any(value < 1 for value in values):
        raise ParameterError(f"{what} must be positive; got {', '.join(map(str, values))}.")


def _require_share(what: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ParameterError(f"{what} must be at least 0 and less than 1; got {value}.")
