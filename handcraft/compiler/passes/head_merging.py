"""Lets one head move all that heads with the same queries and keys move."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from itertools import combinations
from typing import TYPE_CHECKING

from handcraft.compiler.graph import Graph, Head, Op, Writes, form_writes, reads, writes
from handcraft.compiler.place import depth
from handcraft.compiler.purposes import Errand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.forms import Direction, Number


def with_merged_heads(graph: Graph) -> Graph:
    """Return the graph with heads of one pattern joined wherever that takes no more layers."""
    layers: int | None = None
    merged = True
    while merged:
        merged = False
        for one, other in _pairs(graph):
            layers = depth(graph) if layers is None else layers
            joined = _joined(graph, one, other)
            needed = None if joined is None else depth(joined)
            if joined is not None and needed is not None and layers and needed <= layers:
                graph, merged = joined, True
                break
    return graph


def _pairs(graph: Graph) -> Iterator[tuple[Head, Head]]:
    """Yield two heads of one pattern of which neither needs what the other writes."""
    groups: dict[object, list[int]] = {}
    for i, op in enumerate(graph.ops):
        if isinstance(op, Head):
            groups.setdefault((op.across, op.queries, op.keys, op.gap), []).append(i)
    groups = {pattern: members for pattern, members in groups.items() if len(members) > 1}
    if not groups:
        return
    needed = _needed(graph)
    for members in groups.values():
        for i, j in combinations(members, 2):
            one, other = graph.ops[i], graph.ops[j]
            assert isinstance(one, Head)
            assert isinstance(other, Head)
            if not needed[j] >> i & 1:
                yield one, other


def _needed(graph: Graph) -> list[int]:
    """Return for each operation those before it that it needs, directly or not, as bits."""
    needed: list[int] = []
    by_direction: dict[Direction, int] = {}
    for i, op in enumerate(graph.ops):
        bits = 0
        for d in reads(op):
            bits |= by_direction.get(d, 0)
        needed.append(bits)
        for d in writes(op):
            by_direction[d] = by_direction.get(d, 0) | bits | 1 << i
    return needed


def _joined(graph: Graph, one: Head, other: Head) -> Graph | None:
    """Return the graph with two heads as one, or None where one needs what the other writes."""
    head = replace(
        one,
        columns=(*one.columns, *other.columns),
        bias=_sum(one.bias, other.bias),
        largest=max(one.largest, other.largest),
        text=one.text if other.text in one.text else f"{one.text}; {other.text}",
        winners=min((h.winners for h in (one, other) if h.winners is not None), default=None),
        alike=one.alike and other.alike,
        errand=_both(one.errand, other.errand),
    )
    rest = [op for op in graph.ops if op.name not in (one.name, other.name)]
    ops = _in_order(graph, [*rest, head])
    return None if ops is None else replace(graph, ops=ops)


def _both(one: Errand | None, other: Errand | None) -> Errand | None:
    if one is None or other is None:
        return None
    aims = (*one.aims, *(aim for aim in other.aims if aim not in one.aims))
    return Errand(aims, (*one.columns, *other.columns), _sum(one.always, other.always))


def _sum(one: Writes, other: Writes) -> Writes:
    total: dict[Direction, Number] = dict(one)
    for d, value in other:
        total[d] = total.get(d, 0) + value
    return form_writes(total)


def _in_order(graph: Graph, ops: list[Op]) -> tuple[Op, ...] | None:
    """Return operations so that writers precede readers, otherwise in their old order."""
    place = {op.name: i for i, op in enumerate(graph.ops)}
    waiting = sorted(ops, key=lambda op: place[op.name])
    embedded = {(e.variable, i) for e in graph.embeddings for i in range(len(e.rows[0]))}
    writers: dict[Direction, list[int]] = {}
    for i, op in enumerate(waiting):
        for d in writes(op) - embedded:
            writers.setdefault(d, []).append(i)
    readers: dict[int, list[int]] = {}
    blocked = [0] * len(waiting)
    for i, op in enumerate(waiting):
        for writer in {w for d in reads(op) for w in writers.get(d, ())}:
            readers.setdefault(writer, []).append(i)
            blocked[i] += 1
    ready = [i for i, count in enumerate(blocked) if not count]
    ordered: list[Op] = []
    while ready:
        first = heappop(ready)
        ordered.append(waiting[first])
        for reader in readers.get(first, ()):
            blocked[reader] -= 1
            if not blocked[reader]:
                heappush(ready, reader)
    return tuple(ordered) if len(ordered) == len(waiting) else None
