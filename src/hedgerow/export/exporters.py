"""Exporters write a point for programs without hedgerow; the ending of the output says which one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from hedgerow.export.browser import write_app
from hedgerow.export.onnx_graph import save_onnx
from hedgerow.export.onnx_model import onnx_model
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@final
@dataclass(frozen=True)
class Exporter:
    """One way to write a point for programs without hedgerow."""

    what: str
    """What the output holds."""
    write: Callable[..., Any]
    """Takes a point, where to write, and its flags as keywords."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Its flags and what they mean: the command has an option for each."""


EXPORTERS: Registry[Exporter] = Registry(
    "export format",
    {
        ".onnx": Exporter(
            "a model that turns scores, or the inputs of a training run, into answers",
            lambda point, path, **flags: save_onnx(onnx_model(point, **flags), path),
            {
                "logits": "The input of the ONNX file is logits of the leaves, not probabilities.",
                "nodes": "The input of the ONNX file is likelihoods of all nodes, on the scale of the point.",
                "double": "The input of the ONNX file is in double precision, not in single.",
            },
        ),
        "folder": Exporter("hedgerow.js, and a page to try the point, index.html", write_app),
    },
)
"""The exporters, by the ending of the output in lower case, or "folder"."""
