"""Dataflow graph -> placed graph: a layer for each operation, a column for each direction.

Times: embeddings are written at 0, by the heads of layer L at 2 L + 1, by its neurons at 2 L + 2.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from handcraft.compiler.forms import Direction, direction
from handcraft.compiler.graph import (
    Graph,
    Head,
    MlpOp,
    Neuron,
    TokenReadout,
    readout_forms,
    reads,
    writes,
)
from handcraft.runtime.config import LayerConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class PlacedLayer:
    """The heads and MLP operations of one layer, and the heads between them that look across."""

    heads: tuple[Head, ...]
    mlps: tuple[MlpOp, ...]
    crosses: tuple[Head, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A graph with its layers, their sizes, and the columns of the residual stream.

    Attributes:
        graph: the graph.
        layers: where each operation stands.
        columns: of each direction; those of one variable follow each other.
        sizes: heads and neurons of each layer, at least those that it has.
        clears: names of operations in the layers that no graph knows: they set directions that
            nothing reads any more to 0, so that others can have their columns.
        encoder: the encoder's graph in its places, in a program that has a source.
    """

    graph: Graph
    layers: tuple[PlacedLayer, ...]
    columns: Mapping[Direction, int]
    sizes: tuple[LayerConfig, ...]
    clears: frozenset[str] = frozenset()
    encoder: Placed | None = None

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return max(self.columns.values(), default=0) + 1

    def show(self) -> str:
        """Return the placement as text."""
        lines = [] if self.encoder is None else ["encoder", self.encoder.show(), "decoder"]
        lines.append(f"d_model {self.d_model}")
        for variable in self.graph.variables:
            first = self.columns[(variable.name, 0)]
            last = first + len(variable.labels) - 1
            lines.append(f"columns {first}..{last} {variable.name}")
        for number, layer in enumerate(self.layers):
            lines.append(f"layer {number}")
            lines.extend(f"  head {i} {head.name}" for i, head in enumerate(layer.heads))
            lines.extend(f"  cross head {i} {h.name}" for i, h in enumerate(layer.crosses))
            first = 0
            for mlp in layer.mlps:
                last = first + len(mlp.neurons) - 1
                where = f"neurons {first}..{last}" if mlp.neurons else "no neurons, a constant:"
                lines.append(f"  {where} {mlp.name}")
                first = last + 1
        return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Lifetime:
    """When a direction is written and read, in steps.

    The heads of layer L are step 2 L, its neurons 2 L + 1; the embeddings write at -1, and the
    read-out reads after the last layer.
    """

    first_write: int
    last_write: int
    first_read: int
    last_read: int


def place(graph: Graph) -> Placed:
    """Give every operation the earliest layer in which all it reads has been written."""
    times = earliest(graph)
    assert times is not None, "a graph without limits has a placement"
    return placed_at(graph, times)


def depth(graph: Graph) -> int | None:
    """Return how many layers a graph takes at least, or None where it has no placement.

    It has none where one operation adds to an embedded direction that another has still to read,
    and must come before it.
    """
    times = earliest(graph)
    return None if times is None else len(placed_at(graph, times).layers)


def one_by_one(graph: Graph) -> Placed:
    """Give every operation a layer of its own, in the order of their earliest times.

    Those that add to what an embedding wrote come after all that read it at the same time, and stay
    together: each may read what another adds to. So do neurons that write the directions of one
    variable at the same time, such as those that restore a one-hot: they are one step.
    """
    first = earliest(graph)
    assert first is not None, "a graph without limits has a placement"
    embedded = _embedded(graph)
    adds = [bool(writes(op) & embedded) for op in graph.ops]
    order = sorted(range(len(first)), key=lambda i: (first[i], adds[i], i))
    times = [0] * len(first)
    layer = -1
    for i, before in zip(order, [None, *order], strict=False):
        together = (
            before is not None
            and first[i] == first[before]
            and ((adds[i] and adds[before]) or _is_one_step(graph.ops[i], graph.ops[before]))
        )
        layer += not together
        times[i] = 2 * layer + (1 if isinstance(graph.ops[i], Head) else 2)
    return placed_at(graph, times)


def _is_one_step(op: Head | MlpOp, before: Head | MlpOp) -> bool:
    """Return whether two operations are neurons that write different directions of one variable."""
    if isinstance(op, Head) or isinstance(before, Head):
        return False
    here, there = writes(op), writes(before)
    return {name for name, _ in here} == {name for name, _ in there} and not here & there


def placed_at(graph: Graph, times: Sequence[int]) -> Placed:
    """Place each operation at its time; layers in which nothing happens are left out."""
    slots: dict[int, list[Head | MlpOp]] = {}
    for op, time in zip(graph.ops, times, strict=True):
        slots.setdefault(time, []).append(op)
    layers = []
    for number in range(max(slots, default=0) // 2 + 1):
        heads = [op for op in slots.get(2 * number + 1, []) if isinstance(op, Head)]
        within = tuple(head for head in heads if not head.across)
        across = tuple(head for head in heads if head.across)
        mlps = tuple(op for op in slots.get(2 * number + 2, []) if isinstance(op, MlpOp))
        if heads or mlps:
            layers.append(PlacedLayer(within, mlps, across))
    columns: dict[Direction, int] = {}
    for variable in graph.variables:
        for index in range(len(variable.labels)):
            columns[(variable.name, index)] = len(columns)
    placed = Placed(graph, tuple(layers), columns, tuple(map(own_size, layers)))
    verify(placed)
    return placed


def own_size(layer: PlacedLayer) -> LayerConfig:
    """Return how many heads and neurons a layer needs, and how wide its widest head is."""
    return LayerConfig(
        n_head=len(layer.heads),
        d_head=max((head_width(h) for h in layer.heads), default=0),
        d_mlp=sum(neuron_count(mlp) for mlp in layer.mlps),
        n_cross=len(layer.crosses),
        d_cross=max((head_width(h) for h in layer.crosses), default=0),
    )


def head_width(head: Head) -> int:
    """Return the width that a head needs."""
    return max(1, len(head.queries), len(head.columns))


def neuron_count(mlp: MlpOp) -> int:
    """Return how many neurons an operation takes; one that only adds a bias takes one."""
    return max(1, len(mlp.neurons))


def earliest(graph: Graph, allowed: Callable[[int], bool] = lambda time: True) -> list[int] | None:
    """Return the earliest time for each operation, or None where no allowed one is left.

    What the embeddings write is read as they wrote it, so an operation that adds to it waits for
    all that read it; anything else is read after all that write it. A head that looks across
    reads after the other heads of its layer have written.
    """
    embedded = _embedded(graph)
    reads_of, writes_of = [reads(op) for op in graph.ops], [writes(op) for op in graph.ops]
    end = 2 * len(graph.ops) + 2
    last_read: dict[Direction, int] = {}
    for _ in range(len(graph.ops) + 1):
        times: list[int] = []
        written: dict[Direction, int] = {}
        for op, read, targets in zip(graph.ops, reads_of, writes_of, strict=True):
            ready = 1 + max((written.get(d, 0) for d in read - embedded), default=0)
            until = max((last_read.get(d, 0) for d in targets & embedded), default=0)
            time = max(ready, until)
            while time % 2 != isinstance(op, Head) or not allowed(time):
                time += 1
                if time > end:
                    return None
            times.append(time)
            written |= {d: max(written.get(d, 0), time) for d in targets}
        before = last_read
        last_read = {}
        for op, read, time in zip(graph.ops, reads_of, times, strict=True):
            until = time + (isinstance(op, Head) and op.across)
            last_read |= {d: max(last_read.get(d, 0), until) for d in read & embedded}
        if last_read == before:
            break
    return times


def lifetimes(placed: Placed) -> dict[Direction, Lifetime]:
    """Return when each direction is written and read; what clears columns does not count."""
    end = 2 * len(placed.layers)
    lives = {d: Lifetime(end, -1, end + 1, -1) for d in placed.columns}
    for d in _embedded(placed.graph):
        lives[d].first_write = -1
    for step, op in _steps(placed):
        for d in reads(op):
            lives[d].first_read = min(lives[d].first_read, step)
            lives[d].last_read = step
        for d in writes(op):
            lives[d].first_write = min(lives[d].first_write, step)
            lives[d].last_write = step
    for d in read_out(placed.graph):
        lives[d].last_read = end
    return lives


def read_out(graph: Graph) -> frozenset[Direction]:
    """Return the directions that the unembedding reads."""
    forms = {d for form in readout_forms(graph.readout) for d in form.directions}
    if isinstance(graph.readout, TokenReadout):
        sizes = {v.name: len(v.labels) for v in graph.variables}
        name = graph.readout.variable
        forms |= {(name, i) for i in range(sizes[name])}
    return frozenset(forms)


def verify(placed: Placed) -> None:
    """Assert that readers come after writers, and that columns are shared one after the other."""
    embedded = _embedded(placed.graph)
    overwritten: dict[Direction, tuple[int, bool]] = {}
    for step, op in _steps(placed):
        for d in writes(op) & embedded:
            overwritten.setdefault(d, (step, _is_across(op)))
    for step, op in _steps(placed):
        for d in reads(op) & overwritten.keys():
            assert (step, _is_across(op)) <= overwritten[d], f"{d} is read after it was overwritten"
    lives = lifetimes(placed)
    for d, life in lives.items():
        if d not in embedded:
            assert life.first_read > life.last_write, f"{d} is read before it is whole"
    _verify_sharing(placed, lives)
    for layer, size in zip(placed.layers, placed.sizes, strict=True):
        own = own_size(layer)
        for needed, held in zip(astuple(own), astuple(size), strict=True):
            assert needed <= held, "a layer is larger than its sizes"


def _verify_sharing(placed: Placed, lives: Mapping[Direction, Lifetime]) -> None:
    """Assert that whatever had a column before is cleared after its last use, in time."""
    sharing: dict[int, list[Direction]] = {}
    for d, column in placed.columns.items():
        sharing.setdefault(column, []).append(d)
    cleared = dict(_clearings(placed))
    for directions in sharing.values():
        ordered = sorted(directions, key=lambda d: lives[d].first_write)
        for old, new in pairwise(ordered):
            assert old in cleared, f"{old} and {new} share a column"
            life, step = lives[old], cleared[old]
            assert max(life.last_write + 1, life.last_read) <= step, f"{old} is cleared too early"
            assert step < lives[new].first_write, f"{old} is cleared too late for {new}"


def _clearings(placed: Placed) -> Iterator[tuple[Direction, int]]:
    """Yield each direction that is cleared, and at which step."""
    for number, layer in enumerate(placed.layers):
        for mlp in layer.mlps:
            if mlp.name not in placed.clears:
                continue
            for neuron in mlp.neurons:
                d = neuron.writes[0][0]
                if neuron == Neuron(direction(*d), ((d, Fraction(-1)),)):
                    yield d, 2 * number + 1


def _steps(placed: Placed) -> Iterator[tuple[int, Head | MlpOp]]:
    """Yield the operations of the graph in order, each with its step."""
    for number, layer in enumerate(placed.layers):
        yield from ((2 * number, head) for head in (*layer.heads, *layer.crosses))
        for mlp in layer.mlps:
            if mlp.name not in placed.clears:
                yield 2 * number + 1, mlp


def _is_across(op: Head | MlpOp) -> bool:
    return isinstance(op, Head) and op.across


def _embedded(graph: Graph) -> frozenset[Direction]:
    """Return the directions that the embeddings write."""
    return frozenset((e.variable, i) for e in graph.embeddings for i in range(len(e.rows[0])))
