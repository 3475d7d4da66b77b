"""Lets the start direction be the 1 that the read-out needs, in place of one of its own.

The start direction is 0 at every token. After its last reader the last operation adds 1 to it;
what the start token itself then holds is read nowhere.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.forms import START, Form, combine, constant, direction
from handcraft.compiler.graph import (
    CrossReadout,
    Embedding,
    Graph,
    Head,
    MlpOp,
    Op,
    TokenReadout,
    form_writes,
    writes,
)
from handcraft.compiler.passes.dead_code import needed_directions, without_dead_code
from handcraft.compiler.passes.rewriting import rewritten
from handcraft.compiler.place import earliest
from handcraft.compiler.purposes import Errand, Purpose

if TYPE_CHECKING:
    from collections.abc import Callable


def with_late_constant(graph: Graph) -> Graph:
    """Return the graph with the constant of its read-out in the start direction.

    A graph whose start direction or whose read-out has no room for that stays as it is, and so does
    one that reads no constant.
    """
    ones = {e.variable for e in graph.embeddings if _is_one(e)}
    written = frozenset().union(*map(writes, graph.ops))
    has_start = any(v.name == START[0] for v in graph.variables)
    ones -= {name for name, _ in written}
    if isinstance(graph.readout, TokenReadout | CrossReadout) or not has_start or not ones:
        return graph
    if START in written:
        return graph
    start = direction(*START)
    here = constant(1) - start
    late = rewritten(_with_one_at_the_end(graph), _put(ones, here), lambda w: w, _put(ones, start))
    return without_dead_code(late, needed_directions(late))


def _is_one(embedding: Embedding) -> bool:
    return embedding.by == "position" and set(embedding.rows) == {(Fraction(1),)}


def _with_one_at_the_end(graph: Graph) -> Graph:
    """Return the graph with 1 added to the start direction by an operation of the last sublayer."""
    times = earliest(graph)
    assert times is not None
    assert graph.ops, "only operations read the start direction"
    last = max(range(len(times)), key=lambda i: (times[i], i))
    host = graph.ops[last]
    late = _always(replace(host, bias=form_writes({**dict(host.bias), START: Fraction(1)})))
    return replace(graph, ops=(*graph.ops[:last], *graph.ops[last + 1 :], late))


def _always(op: Op) -> Op:
    """Return an operation that is meant to add 1 to the start direction."""
    match op:
        case Head(errand=Errand(always=always) as errand):
            return replace(op, errand=replace(errand, always=(*always, (START, 1))))
        case MlpOp(purpose=Purpose(always=always) as purpose):
            return replace(op, purpose=replace(purpose, always=(*always, (START, 1))))
        case _:
            return op


def _put(ones: set[str], one: Form) -> Callable[[Form], Form]:
    """Return a function that reads another form where a form reads a 1."""

    def put(form: Form) -> Form:
        if not any(name in ones for name, _ in form.directions):
            return form
        rest = Form(tuple((d, c) for d, c in form.terms if d[0] not in ones), form.constant)
        factor = sum((c for (name, _), c in form.terms if name in ones), Fraction(0))
        return combine(((1, rest), (factor, one)))

    return put
