"""The decision of an operating point for other programs: services, browsers, runtimes.

In comes an operating point, and for some a model; out go answers with their names and lineages, ONNX graphs,
JavaScript with a page to try it, and models that need NumPy alone. All of them follow one specification and pass
its test vectors; ONNX has no thresholds by clade or rank, and refuses these.
"""

from hedgerow.export.browser import script, write_app
from hedgerow.export.exporters import EXPORTERS
from hedgerow.export.model import Layer, Model, layer_scores, load_model, scaled
from hedgerow.export.onnx_graph import OPSET, save_onnx
from hedgerow.export.onnx_model import check_onnx, classifier_onnx, network_onnx, onnx_model
from hedgerow.export.portable import Answer, answers

__all__ = [
    "EXPORTERS",
    "OPSET",
    "Answer",
    "Layer",
    "Model",
    "answers",
    "check_onnx",
    "classifier_onnx",
    "layer_scores",
    "load_model",
    "network_onnx",
    "onnx_model",
    "save_onnx",
    "scaled",
    "script",
    "write_app",
]
