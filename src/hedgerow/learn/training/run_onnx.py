"""A training run with the decision at a point, as a model of ONNX."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hedgerow.export import OPSET, check_onnx, network_onnx

if TYPE_CHECKING:
    from hedgerow.choose import OperatingPoint
    from hedgerow.learn.training.module import Classifier
    from hedgerow.learn.training.run_folder import RunFolder


def run_onnx(run: RunFolder, point: OperatingPoint) -> Any:
    """Return the trained model and the decision at a point as a model of ONNX.

    Its input is `features` [N, d], in single precision; or `images`, of 8 bits and the size that the model was
    trained on: [N, H, W] if they are grey, else [N, H, W, 3]. Its outputs are `node`, `name` and `likelihood`.
    """
    classifier = run.classifier()
    method = classifier.method
    check_onnx(point)  # before the network is exported, which takes a while
    point.check_tree(method.hierarchy)
    point.check_scale(method.scale)
    return network_onnx(_network(classifier), method.hierarchy, method.link.__name__, point)


class _Averages(nn.Module):
    """Averages over the cells of a grid, as products with constants: the exporter knows only even grids."""

    def __init__(self, grid: Any) -> None:
        super().__init__()
        self.grid = (grid, grid) if isinstance(grid, int) else tuple(grid)

    def forward(self, x: Tensor) -> Tensor:
        """Average [B, channels, height, width] to [B, channels, *grid]."""
        rows, columns = (
            functional.adaptive_avg_pool1d(torch.eye(int(size)), cells or int(size)).T
            for size, cells in zip(x.shape[2:], self.grid, strict=True)
        )
        return rows.detach() @ x @ columns.T.detach()


def _network(classifier: Classifier) -> bytes:
    """Return the network, from inputs to the scores `theta`, as a model of ONNX."""
    shape = classifier.input_shape
    for module in list(classifier.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.AdaptiveAvgPool2d):
                setattr(module, name, _Averages(child.output_size))
    if len(shape) == 1:
        name, example = "features", torch.zeros((2, *shape))
    else:
        channels, height, width = shape
        name = "images"
        example = torch.zeros((2, height, width, *([3] if channels == 3 else [])), dtype=torch.uint8)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        file = Path(folder, "network.onnx")
        # The exporter that follows it needs more packages, and many times as long.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            classifier.cpu().eval(),
            (example,),
            file,
            dynamo=False,
            opset_version=OPSET,
            input_names=[name],
            output_names=["theta"],
            dynamic_axes={name: {0: "N"}, "theta": {0: "N"}},
        )
        return file.read_bytes()
