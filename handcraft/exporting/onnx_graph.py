"""An ONNX graph as it is written: nodes and numbers, in the order in which they are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

    from handcraft.runtime.weights import Array, Weights

Axis: TypeAlias = str | int
"""An axis of a tensor: its size, or a name for sizes that every call may choose."""


class Graph:
    """A graph with the arrays of a model under their names.

    Every method that adds a value returns its name. Values that are given none are called after
    what makes them, as in `MatMul.3`, which no array of a model is.

    Args:
        onnx: the library.
        weights: whose format all floating-point numbers of the graph have.
    """

    def __init__(self, onnx: ModuleType, weights: Weights) -> None:
        self._onnx = onnx
        self._dtype = weights.dtype
        self._nodes: list[NodeProto] = []
        self._arrays: dict[str, TensorProto] = {}
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        for name, array in weights.arrays.items():
            self.array(name, array)

    @property
    def is_double(self) -> bool:
        """Whether the numbers are float64."""
        return self._dtype == np.float64

    def ids(self, name: str, shape: tuple[Axis, ...]) -> str:
        """Add an input of whole numbers."""
        kind = self._onnx.TensorProto.INT64
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: tuple[Axis, ...]) -> None:
        """Let a value be an output."""
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(self._dtype)
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))

    def node(self, operator: str, *inputs: str, to: str = "", **attributes: int | list[int]) -> str:
        """Add a node with one output, which is called `to`."""
        return self.nodes(operator, *inputs, to=(to,), **attributes)[0]

    def nodes(
        self, operator: str, *inputs: str, to: tuple[str, ...], **attributes: int | list[int]
    ) -> tuple[str, ...]:
        """Add a node with several outputs; an empty name lets the graph choose one."""
        first = f"{operator}.{len(self._nodes)}"
        names = tuple(
            name or (f"{first}.{n}" if len(to) > 1 else first) for n, name in enumerate(to)
        )
        made = self._onnx.helper.make_node(operator, inputs, names, name=first, **attributes)
        self._nodes.append(made)
        return names

    def number(self, value: float) -> str:
        """Add one number in the format of the model."""
        return self.array(f"number.{value!r}", np.array(value, self._dtype))

    def integer(self, value: int) -> str:
        """Add one whole number."""
        return self.array(f"integer.{value}", np.array(value, np.int64))

    def integers(self, *values: int) -> str:
        """Add a row of whole numbers."""
        return self.array(f"integers.{'_'.join(map(str, values))}", np.array(values, np.int64))

    def array(
        self, name: str, array: Array | np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> str:
        """Add an array; one that is there already stays."""
        if name not in self._arrays:
            little = array.astype(array.dtype.newbyteorder("<"))
            self._arrays[name] = self._onnx.numpy_helper.from_array(little, name)
        return name

    def done(self, name: str) -> GraphProto:
        """Return the graph that has been written."""
        return self._onnx.helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, list(self._arrays.values())
        )
