"""Moves operations within their slack: fewer sublayers, heads of like width side by side.

An absent sublayer costs nothing, and all heads of a layer are as wide as its widest. There are
never more layers than before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.graph import Graph, Head, reads, writes
from handcraft.compiler.passes.sizes import parameters
from handcraft.compiler.place import Placed, earliest, head_width, neuron_count, placed_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.forms import Direction

Cost: TypeAlias = tuple[int, int, int]
"""Widths of all heads together, as laid out; the widest layer; squares of the neurons."""


def packings(graph: Graph) -> tuple[Placed, ...]:
    """Return placements in fewer sublayers or narrower layers, that with fewest numbers first.

    The others take at most as many layers; they differ in how long directions are in use.
    """
    first = earliest(graph)
    assert first is not None, "a graph without limits has a placement"
    fewest = _fewest_sublayers(graph, first)
    ops = _movable(graph)
    times = [first, _like_beside_like(ops, first), _like_beside_like(ops, fewest)]
    times += [_late(ops, early) for early in times]
    distinct = [placed_at(graph, list(t)) for t in dict.fromkeys(map(tuple, times))]
    return tuple(sorted(distinct, key=_numbers))


def _numbers(placed: Placed) -> int:
    return parameters(placed.sizes, placed.d_model, 0)


def _fewest_sublayers(graph: Graph, times: list[int]) -> list[int]:
    """Return times that leave out each sublayer whose operations can all stand in others."""
    for step in sorted(set(times), reverse=True):
        kept = frozenset(times) - {step}
        fewer = earliest(graph, kept.__contains__)
        if fewer is not None:
            times = fewer
    return times


def _like_beside_like(ops: Sequence[_Movable], times: list[int]) -> list[int]:
    """Return times at which the layers are narrowest, found by moving one operation at a time."""
    used = sorted(set(times))
    best = _cost(ops, times)
    improved = True
    while improved:
        improved = False
        for i, op in enumerate(ops):
            for time in op.window(times, used):
                moved = [*times[:i], time, *times[i + 1 :]]
                cost = _cost(ops, moved) if time % 2 == op.is_head else best
                if cost < best:
                    times, best, improved = moved, cost, True
    return times


def _late(ops: Sequence[_Movable], times: list[int]) -> list[int]:
    """Return the latest times at which the layers are as narrow as at these."""
    used = sorted(set(times))
    best = _cost(ops, times)
    for i in reversed(range(len(times))):
        for time in reversed(ops[i].window(times, used)):
            moved = [*times[:i], time, *times[i + 1 :]]
            same_kind = time % 2 == ops[i].is_head
            if same_kind and _cost(ops, moved)[:2] <= best[:2]:
                times = moved
                break
    return times


@dataclass(frozen=True, slots=True)
class _Movable:
    """An operation: its kind, the width of a head or the number of its neurons, its neighbours.

    Cross heads read after the other heads of their layer have written.

    Those are the operations, by number, that stand before, not after, after, or not before it.
    """

    is_head: bool
    is_across: bool
    size: int
    before: frozenset[int]
    not_after: frozenset[int]
    after: frozenset[int]
    not_before: frozenset[int]

    def window(self, times: Sequence[int], used: Sequence[int]) -> list[int]:
        """Return the times in use between the neighbours."""
        low = max((times[i] + 1 for i in self.before), default=0)
        low = max([low, *(times[i] for i in self.not_after)])
        high = min((times[i] - 1 for i in self.after), default=used[-1])
        high = min([high, *(times[i] for i in self.not_before)])
        return [time for time in used if low <= time <= high]


def _movable(graph: Graph) -> list[_Movable]:
    """Return each operation with what it must keep to.

    Readers stand after writers; where an embedding writes too, writers do not stand before readers.
    """
    embedded = {(e.variable, i) for e in graph.embeddings for i in range(len(e.rows[0]))}
    readers: dict[Direction, set[int]] = {}
    writers: dict[Direction, set[int]] = {}
    for i, op in enumerate(graph.ops):
        for d in reads(op):
            readers.setdefault(d, set()).add(i)
        for d in writes(op):
            writers.setdefault(d, set()).add(i)

    def those(of: dict[Direction, set[int]], directions: set[Direction], i: int) -> frozenset[int]:
        return frozenset(other for d in directions for other in of.get(d, ())) - {i}

    across = frozenset(i for i, op in enumerate(graph.ops) if isinstance(op, Head) and op.across)
    others = frozenset(i for i, op in enumerate(graph.ops) if isinstance(op, Head)) - across
    found = []
    for i, op in enumerate(graph.ops):
        read, written = set(reads(op)), set(writes(op))
        not_after = those(readers, written & embedded, i)
        not_before = those(writers, read & embedded, i)
        found.append(
            _Movable(
                is_head=isinstance(op, Head),
                is_across=i in across,
                size=head_width(op) if isinstance(op, Head) else neuron_count(op),
                before=those(writers, read - embedded, i)
                | (not_after & across if i in others else frozenset()),
                not_after=not_after,
                after=those(readers, written - embedded, i)
                | (not_before & others if i in across else frozenset()),
                not_before=not_before,
            )
        )
    return found


def _cost(ops: Sequence[_Movable], times: Sequence[int]) -> Cost:
    heads: dict[tuple[int, bool], list[int]] = {}
    neurons: dict[int, int] = {}
    for op, time in zip(ops, times, strict=True):
        if op.is_head:
            heads.setdefault((time, op.is_across), []).append(op.size)
        else:
            neurons[time] = neurons.get(time, 0) + op.size
    inner = [len(widths) * max(widths) for widths in heads.values()]
    return sum(inner), max(inner, default=0), sum(n * n for n in neurons.values())
