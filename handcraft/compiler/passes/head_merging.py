"""Lets one head move all that heads with the same queries and keys move."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from handcraft.compiler.graph import Graph, Head, Op, Writes, form_writes, reads, writes
from handcraft.compiler.place import depth
from handcraft.compiler.purposes import Errand

if TYPE_CHECKING:
    from handcraft.compiler.forms import Direction, Number


def with_merged_heads(graph: Graph) -> Graph:
    """Return the graph with heads of one pattern joined wherever that takes no more layers."""
    layers: int | None = None
    merged = True
    while merged:
        merged = False
        for one, other in combinations(graph.ops, 2):
            if not (isinstance(one, Head) and isinstance(other, Head) and _same(one, other)):
                continue
            layers = depth(graph) if layers is None else layers
            joined = _joined(graph, one, other)
            needed = None if joined is None else depth(joined)
            if joined is not None and needed is not None and layers and needed <= layers:
                graph, merged = joined, True
                break
    return graph


def _same(one: Head, other: Head) -> bool:
    """Return whether two heads look at the same keys, by the same scores."""
    return (one.queries, one.keys, one.gap) == (other.queries, other.keys, other.gap)


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
    number = {op.name: i for i, op in enumerate(graph.ops)}
    waiting = sorted(ops, key=lambda op: number[op.name])
    embedded = {(e.variable, i) for e in graph.embeddings for i in range(len(e.rows[0]))}
    ordered: list[Op] = []
    while waiting:
        unwritten = {d for op in waiting for d in writes(op)} - embedded
        ready = next((op for op in waiting if not reads(op) & unwritten), None)
        if ready is None:
            return None
        waiting.remove(ready)
        ordered.append(ready)
    return tuple(ordered)
