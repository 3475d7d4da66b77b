"""Dataflow graph -> placed graph: a layer for each operation, a column for each direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handcraft.compiler.graph import Graph, Head, MlpOp, reads, writes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.compiler.forms import Direction


@dataclass(frozen=True, slots=True)
class PlacedLayer:
    """The heads and MLP operations of one layer."""

    heads: tuple[Head, ...]
    mlps: tuple[MlpOp, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A graph with its layers, and the column of each direction in the residual stream."""

    graph: Graph
    layers: tuple[PlacedLayer, ...]
    columns: Mapping[Direction, int]

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return max(1, len(self.columns))

    def show(self) -> str:
        """Return the placement as text."""
        lines = [f"d_model {self.d_model}"]
        for variable in self.graph.variables:
            first = self.columns[(variable.name, 0)]
            last = first + len(variable.labels) - 1
            lines.append(f"columns {first}..{last} {variable.name}")
        for number, layer in enumerate(self.layers):
            lines.append(f"layer {number}")
            lines.extend(f"  head {i} {head.name}" for i, head in enumerate(layer.heads))
            first = 0
            for mlp in layer.mlps:
                lines.append(f"  neurons {first}..{first + len(mlp.neurons) - 1} {mlp.name}")
                first += len(mlp.neurons)
        return "\n".join(lines) + "\n"


def place(graph: Graph) -> Placed:
    """Give every operation the earliest layer in which all it reads has been written."""
    slots: dict[int, list[Head | MlpOp]] = {}
    for op, time in zip(graph.ops, _times(graph), strict=True):
        slots.setdefault(time, []).append(op)
    layers = []
    for number in range(max(slots, default=0) // 2 + 1):
        heads = tuple(op for op in slots.get(2 * number + 1, []) if isinstance(op, Head))
        mlps = tuple(op for op in slots.get(2 * number + 2, []) if isinstance(op, MlpOp))
        if heads or mlps:
            layers.append(PlacedLayer(heads, mlps))
    columns: dict[Direction, int] = {}
    for variable in graph.variables:
        for index in range(len(variable.labels)):
            columns[(variable.name, index)] = len(columns)
    placed = Placed(graph, tuple(layers), columns)
    verify(placed)
    return placed


def verify(placed: Placed) -> None:
    """Assert that readers come after writers and no two directions share a column."""
    assert len(set(placed.columns.values())) == len(placed.columns)
    embedded = _embedded(placed.graph)
    reads_at: dict[Direction, list[int]] = {}
    writes_at: dict[Direction, list[int]] = {}
    for number, layer in enumerate(placed.layers):
        for step, ops in ((2 * number, layer.heads), (2 * number + 1, layer.mlps)):
            for op in ops:
                for d in reads(op):
                    reads_at.setdefault(d, []).append(step)
                for d in writes(op):
                    writes_at.setdefault(d, []).append(step)
    for d, steps in writes_at.items():
        read = reads_at.get(d, [])
        if d in embedded:
            assert all(r <= min(steps) for r in read), f"{d} is read after it was overwritten"
        else:
            assert all(r > max(steps) for r in read), f"{d} is read before it is whole"


def _times(graph: Graph) -> list[int]:
    """Return a time for each operation: 2 L + 1 for the heads of layer L, 2 L + 2 for its neurons.

    What the embeddings write is read as they wrote it, so an operation that adds to it waits for
    all that read it; anything else is read after all that write it.
    """
    embedded = _embedded(graph)
    last_read: dict[Direction, int] = {}
    for _ in range(len(graph.ops) + 1):
        times: list[int] = []
        written: dict[Direction, int] = {}
        for op in graph.ops:
            ready = max((written.get(d, 0) for d in reads(op) - embedded), default=0)
            until = max((last_read.get(d, 0) for d in writes(op) & embedded), default=0)
            if isinstance(op, Head):
                times.append(max((ready + 1) // 2 * 2, until // 2 * 2) + 1)
            else:
                times.append(max((ready + 2) // 2 * 2, (until + 1) // 2 * 2))
            written |= {d: max(written.get(d, 0), times[-1]) for d in writes(op)}
        before = last_read
        last_read = {}
        for op, time in zip(graph.ops, times, strict=True):
            last_read |= {d: max(last_read.get(d, 0), time) for d in reads(op) & embedded}
        if last_read == before:
            break
    return times


def _embedded(graph: Graph) -> frozenset[Direction]:
    """Return the directions that the embeddings write."""
    return frozenset((e.variable, i) for e in graph.embeddings for i in range(len(e.rows[0])))
