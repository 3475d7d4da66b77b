"""Lets later variables have the columns of earlier ones, which neurons clear in between.

A neuron `relu(x)` that adds -1 times itself to x clears it bit for bit: the product with 1 is
exact in any format, all other terms of both sums are exact zeros, and x - x is 0. A number that
may be negative takes a second neuron, `relu(-x)`. What comes next into the column is written in a
later sublayer, so that it is never added to a sum that still holds x. A clearing neuron costs
`2 d_model + 1` numbers, a column one in every row and every neuron: whichever is less is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from handcraft.compiler.forms import Direction, Form, direction
from handcraft.compiler.graph import (
    Graph,
    Head,
    MlpOp,
    Neuron,
    TokenReadout,
    reads,
)
from handcraft.compiler.passes.sizes import parameters
from handcraft.compiler.place import Placed, lifetimes, own_size, verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.errors import Span

MOST_TRIED = 64
"""Variables up to this number are tried one by one for whether clearing them pays."""


def with_shared_columns(placed: Placed, rows: int) -> Placed:
    """Return the placement with columns used again wherever that takes fewer numbers.

    Args:
        placed: a placement without shared columns.
        rows: rows of the embeddings and of an unembedding of its own.
    """
    negative = _may_be_negative(placed.graph)
    rooms = _rooms(placed, negative)
    reusable = frozenset(room.name for room in rooms if room.clearable is not None)
    best = _Layout.of(placed, rooms, negative, reusable, rows)
    tried = [r for r in sorted(rooms, key=lambda r: -r.neurons) if r.name in reusable]
    for room in tried[:MOST_TRIED]:
        less = _Layout.of(placed, rooms, negative, best.reusable - {room.name}, rows)
        if less.cost <= best.cost:
            best = less
    if best.cost >= parameters(placed.sizes, placed.d_model, rows):
        return placed
    shared = _cleared(placed, best, negative)
    verify(shared)
    return shared


@dataclass(frozen=True, slots=True)
class _Room:
    """A variable as something that takes up columns for a while.

    Attributes:
        name: of the variable.
        width: its directions.
        first: the step at which it is first written.
        clearable: the first step at which neurons can clear it; None if it must stay.
        neurons: how many neurons clear all of it.
    """

    name: str
    width: int
    first: int
    clearable: int | None
    neurons: int


def _rooms(placed: Placed, negative: frozenset[Direction]) -> list[_Room]:
    lives = lifetimes(placed)
    last_step = 2 * len(placed.layers) - 1
    rooms = []
    for variable in placed.graph.variables:
        own = [(variable.name, i) for i in range(len(variable.labels))]
        after = max(max(lives[d].last_write + 1, lives[d].last_read) for d in own)
        step = after // 2 * 2 + 1
        stays = step > last_step or _is_tied_start(placed.graph, variable.name)
        first = min(lives[d].first_write for d in own)
        neurons = sum(1 + (d in negative) for d in own)
        rooms.append(_Room(variable.name, len(own), first, None if stays else step, neurons))
    return rooms


def _is_tied_start(graph: Graph, name: str) -> bool:
    """Return whether a variable is read out at its row of the embedding, whatever it holds."""
    by_token = {e.variable for e in graph.embeddings if e.by != "position"}
    return isinstance(graph.readout, TokenReadout) and name in by_token


@dataclass(frozen=True, slots=True)
class _Layout:
    """Columns for all variables, and what must be cleared when.

    Attributes:
        reusable: the variables whose columns may be used again.
        columns: the first column of each variable.
        clearings: which direction is cleared at which step.
        cost: numbers in all matrices.
    """

    reusable: frozenset[str]
    columns: Mapping[str, int]
    clearings: Mapping[Direction, int]
    cost: int

    @staticmethod
    def of(
        placed: Placed,
        rooms: Sequence[_Room],
        negative: frozenset[Direction],
        reusable: frozenset[str],
        rows: int,
    ) -> _Layout:
        """Lay out the widest variables first, each at the first columns that are free."""
        columns: dict[str, int] = {}
        laid: list[tuple[int, int, int, float]] = []
        for room in sorted(rooms, key=lambda r: (-r.width, r.first)):
            cleared = _cleared_at(room, reusable)
            taken = sorted(
                (low, high)
                for low, high, first, until in laid
                if until >= room.first and cleared >= first
            )
            column = 0
            for low, high in taken:
                if low >= column + room.width:
                    break
                column = max(column, high)
            columns[room.name] = column
            laid.append((column, column + room.width, room.first, cleared))
        clearings = dict(_clearings(placed, rooms, columns))
        sizes = list(placed.sizes)
        for d, step in clearings.items():
            size = sizes[step // 2]
            sizes[step // 2] = replace(size, d_mlp=size.d_mlp + 1 + (d in negative))
        d_model = max((columns[room.name] + room.width for room in rooms), default=1)
        cost = parameters(sizes, d_model, rows)
        return _Layout(reusable, columns, clearings, cost)


def _cleared_at(room: _Room, reusable: frozenset[str]) -> float:
    """Return the step after which others may have the columns of a variable, infinity if never."""
    if room.clearable is None or room.name not in reusable:
        return inf
    return room.clearable


def _clearings(
    placed: Placed, rooms: Sequence[_Room], columns: Mapping[str, int]
) -> Iterator[tuple[Direction, int]]:
    """Yield each direction whose column is used again, and the step at which to clear it.

    Of the steps before the next use it is the first one that has neurons anyway, if there is one.
    """
    uses: dict[int, list[int]] = {}
    for room in rooms:
        for column in range(columns[room.name], columns[room.name] + room.width):
            uses.setdefault(column, []).append(room.first)
    for room in rooms:
        for i in range(room.width):
            later = [first for first in uses[columns[room.name] + i] if first > room.first]
            if not later:
                continue
            assert room.clearable is not None
            steps = range(room.clearable, min(later), 2)
            step = next((s for s in steps if placed.sizes[s // 2].d_mlp), steps[0])
            yield (room.name, i), step


def _cleared(placed: Placed, layout: _Layout, negative: frozenset[Direction]) -> Placed:
    """Return the placement in these columns, with the neurons that clear them."""
    together: dict[tuple[int, str], list[Direction]] = {}
    for d, step in layout.clearings.items():
        together.setdefault((step // 2, d[0]), []).append(d)
    layers = list(placed.layers)
    clears = set()
    readers = {name: op for op in placed.graph.ops for name in {name for name, _ in reads(op)}}
    for (number, name), directions in together.items():
        span = readers.get(name, placed.graph.ops[-1]).span
        op = _clear(name, directions, negative, span)
        layers[number] = replace(layers[number], mlps=(*layers[number].mlps, op))
        clears.add(op.name)
    return Placed(
        graph=placed.graph,
        layers=tuple(layers),
        columns={(n, i): layout.columns[n] + i for n, i in placed.columns},
        sizes=tuple(map(own_size, layers)),
        clears=frozenset(clears),
    )


def _clear(
    name: str, directions: Sequence[Direction], negative: frozenset[Direction], span: Span
) -> MlpOp:
    neurons = []
    for d in directions:
        for sign in (1, -1) if d in negative else (1,):
            pre = direction(*d).scaled(sign)
            neurons.append(Neuron(pre, ((d, Fraction(-sign)),)))
    text = f"clears `{name}`, whose directions are used again"
    return MlpOp(f"clear {name}", tuple(neurons), (), text, span)


def _may_be_negative(graph: Graph) -> frozenset[Direction]:
    """Return the directions of which rounding, or what is added to them, may make a number below 0.

    The others are sums of terms that are at least 0 in any format, whatever the order.
    """
    negative: set[Direction] = set()
    for embedding in graph.embeddings:
        for i, values in enumerate(zip(*embedding.rows, strict=True)):
            if any(value < 0 for value in values):
                negative.add((embedding.variable, i))
    for op in graph.ops:
        negative.update(d for d, value in op.bias if value < 0)
        if isinstance(op, Head):
            for column in op.columns:
                signed = op.across or _may_read_negative(column.form, negative)
                negative.update(d for d, value in column.writes if signed or value < 0)
        else:
            negative.update(d for n in op.neurons for d, value in n.writes if value < 0)
    return frozenset(negative)


def _may_read_negative(form: Form, negative: set[Direction]) -> bool:
    below = any(coefficient < 0 or d in negative for d, coefficient in form.terms)
    return below or form.constant < 0
