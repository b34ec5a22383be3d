"""The decision of an operating point for other programs: services, browsers, runtimes."""

from hedgerow.export.browser import script, write_app
from hedgerow.export.exporters import EXPORTERS
from hedgerow.export.model import Layer, Model, layer_scores, load_model, scaled
from hedgerow.export.onnx_graph import OPSET, save_onnx
from hedgerow.export.onnx_model import check_onnx, classifier_onnx, network_onnx, onnx_model
from hedgerow.export.portable import Answer, answers
