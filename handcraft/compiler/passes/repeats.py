"""Computes once what is computed twice: directions to which the same is added are one direction.

Two directions are the same if heads with the same queries and keys move the same forms to them,
neurons with the same pre-activations are added to them, each with the same coefficient, and they
start from the same bias. Readers read the first of them; what nothing reads any more is left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.forms import Direction, Form, combine, direction
from handcraft.compiler.graph import Graph, Head, Op
from handcraft.compiler.passes.dead_code import needed_directions, without_dead_code
from handcraft.compiler.passes.rewriting import rewritten
from handcraft.compiler.place import depth, read_out

if TYPE_CHECKING:
    from collections.abc import Hashable

    from handcraft.compiler.forms import Number

Part: TypeAlias = "tuple[Hashable, Number]"
"""Something that operations compute, and the coefficient with which it is added."""


def without_repeats(graph: Graph) -> Graph:
    """Return the graph with every repeated computation done once, in no more layers."""
    same = _Same(graph)
    for op in graph.ops:
        same.note(op)
    for form in sorted(read_out(graph)):
        same.first(form)
    if not same.repeats:
        return graph
    once = rewritten(graph, same.read, lambda written: written, same.read, same.read)
    once = without_dead_code(once, needed_directions(once))
    before, after = depth(graph), depth(once)
    return once if before is not None and after is not None and after <= before else graph


class _Same:
    """What has been added to each direction so far, and which directions are the same."""

    def __init__(self, graph: Graph) -> None:
        self._own = {(e.variable, i) for e in graph.embeddings for i in range(len(e.rows[0]))}
        self._own |= needed_directions(graph)
        self._parts: dict[Direction, Counter[Part]] = {}
        self._bias: dict[Direction, Number] = {}
        self._firsts: dict[Hashable, Direction] = {}
        self._known: dict[Direction, Direction] = {}

    @property
    def repeats(self) -> bool:
        """Whether some direction is the same as one before it."""
        return any(d != first for d, first in self._known.items())

    def note(self, op: Op) -> None:
        """Note what an operation adds to the directions that it writes."""
        if isinstance(op, Head):
            at_keys = _same if op.across else self.read
            keys = tuple(map(at_keys, op.keys))
            pattern = (op.across, tuple(map(self.read, op.queries)), keys)
            for column in op.columns:
                moved = (*pattern, at_keys(column.form))
                for d, coefficient in column.writes:
                    self._parts.setdefault(d, Counter())[moved, coefficient] += 1
        else:
            for neuron in op.neurons:
                pre = self.read(neuron.pre)
                for d, coefficient in neuron.writes:
                    self._parts.setdefault(d, Counter())[pre, coefficient] += 1
        for d, value in op.bias:
            self._bias[d] = self._bias.get(d, 0) + value

    def read(self, form: Form) -> Form:
        """Return a form that reads the first of the directions that are the same."""
        if all(self.first(d) == d for d in form.directions):
            return form
        terms = [(c, direction(*self.first(d))) for d, c in form.terms]
        return combine(((1, Form((), form.constant)), *terms))

    def first(self, d: Direction) -> Direction:
        """Return the first direction that holds the same as one that is whole by now."""
        if d in self._own:
            return d
        if d not in self._known:
            parts = frozenset(self._parts.get(d, Counter()).items())
            known = (parts, self._bias.get(d, 0))
            self._known[d] = self._firsts.setdefault(known, d)
        return self._known[d]


def _same(form: Form) -> Form:
    return form
