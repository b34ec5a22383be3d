"""A graph of ONNX under construction; the only module that imports onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from hedgerow.tree import Indices

OPSET = 19
"""The first in which strings can be compared; onnxruntime 1.20 and onnxruntime-web know it."""
_IR_VERSION = 9  # of the same time
_KINDS = {"float32": "FLOAT", "float64": "DOUBLE", "int64": "INT64", "str": "STRING"}


@final
class Graph:
    """Nodes and constants; values are known by their names.

    Parameters
    ----------
    start
        The content of an ONNX file, whose graph is continued.
    """

    def __init__(self, start: bytes | None = None) -> None:
        self._onnx = _onnx()
        graph = None if start is None else self._onnx.load_from_string(start).graph
        self._nodes = [] if graph is None else list(graph.node)
        self._initializers = [] if graph is None else list(graph.initializer)
        self._inputs = [] if graph is None else list(graph.input)
        self._outputs: list[Any] = []
        self._constants: dict[tuple[Any, ...], str] = {}

    def input(self, name: str, kind: str, *shape: int) -> str:
        """Add an input [N, *shape], and return its name."""
        self._inputs.append(self._described(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: str) -> None:
        """Make a value [N] the output of a name."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._described(name, kind, ()))

    def _described(self, name: str, kind: str, shape: Sequence[int]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._kind(kind), ["N", *shape])

    def _kind(self, kind: str) -> int:
        return int(getattr(self._onnx.TensorProto, _KINDS[kind]))

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Return the name of a constant; equal ones are stored once."""
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype))
        array = array.reshape(np.shape(value))
        is_text = array.dtype == object
        key = (array.dtype.str, array.shape, tuple(array.tolist()) if is_text else array.tobytes())
        if key not in self._constants:
            self._constants[key] = name = f"hedgerow_constant_{len(self._constants)}"
            if is_text:
                texts = [text.encode() for text in array.tolist()]
                tensor = self._onnx.helper.make_tensor(name, self._kind("str"), array.shape, texts)
            else:
                tensor = self._onnx.numpy_helper.from_array(array, name)
            self._initializers.append(tensor)
        return self._constants[key]

    def integers(self, value: Any) -> str:
        """Return the name of a constant of integers."""
        return self.constant(value, np.int64)

    def __call__(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node, and return the name of what it computes."""
        value = f"hedgerow_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [value], name or value, **attributes))
        return value

    def cast(self, value: str, kind: str) -> str:
        """Convert a value to another type."""
        return self("Cast", value, to=self._kind(kind))

    def columns(self, value: str, places: Indices) -> str:
        """Gather columns of a value [N, columns]; for few rows, GatherElements is much faster than Gather."""
        shape = self("Concat", self("Shape", value, start=0, end=1), self.integers([len(places)]), axis=0)
        return self("GatherElements", value, self("Expand", self.integers(places[None]), shape), axis=1)

    def reduce(self, kind: str, value: str) -> str:
        """Reduce each row to one entry, [N, 1]."""
        return self(kind, value, self.integers([1]), keepdims=1)

    def first_largest(self, value: str) -> str:
        """Return the place of the largest entry of each row, the first of equals: [N, 1]."""
        return self("ArgMax", value, axis=1, keepdims=1)

    def prefix_sums(self, value: str) -> str:
        """Return the sums of the first 0, 1, 2, ... entries of each row."""
        return self("Pad", self("CumSum", value, self.integers(1)), self.integers([0, 1, 0, 0]))

    def model(self, metadata: Mapping[str, str]) -> Any:
        """Return the finished model, checked."""
        helper = self._onnx.helper
        made = helper.make_model(
            helper.make_graph(self._nodes, "hedgerow", self._inputs, self._outputs, self._initializers),
            producer_name="hedgerow",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=_IR_VERSION,
        )
        helper.set_model_props(made, dict(metadata))
        self._onnx.checker.check_model(made)
        return made


def _onnx() -> Any:
    try:
        import onnx
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ParameterError("ONNX files need onnx, which is missing: pip install 'hedgerow[onnx]'.") from None
    return onnx


def save_onnx(model: Any, path: str | PathLike[str]) -> None:
    """Write an ONNX model to a file."""
    with atomic_write(path, "wb") as file:
        file.write(model.SerializeToString())
