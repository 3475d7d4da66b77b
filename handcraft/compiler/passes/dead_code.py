"""Removes what nothing reads: operations, moved columns, neurons, directions and variables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from handcraft.compiler.forms import Direction, Form
from handcraft.compiler.graph import (
    Column,
    Graph,
    Head,
    Neuron,
    Op,
    TokenReadout,
    Writes,
    form_writes,
    readout_forms,
    reads,
)
from handcraft.compiler.passes.rewriting import rewritten
from handcraft.compiler.purposes import Boxes, Errand, Gates, Purpose


def without_dead_code(graph: Graph, needed: frozenset[Direction]) -> Graph:
    """Return the graph without directions that are read nowhere.

    Args:
        graph: a graph.
        needed: directions that the read-out reads besides its forms.
    """
    live = set(needed)
    for form in readout_forms(graph.readout):
        live.update(form.directions)
    ops: list[Op] = []
    for op in reversed(graph.ops):
        kept = _kept(op, live)
        if kept is not None:
            ops.append(kept)
            live.update(reads(kept))
    return _renumbered(replace(graph, ops=tuple(reversed(ops))), live)


def needed_directions(graph: Graph) -> frozenset[Direction]:
    """Return the directions that the read-out reads besides its forms."""
    if not isinstance(graph.readout, TokenReadout):
        return frozenset()
    name = graph.readout.variable
    sizes = {v.name: len(v.labels) for v in graph.variables}
    return frozenset((name, i) for i in range(sizes[name]))


def _kept(op: Op, live: set[Direction]) -> Op | None:
    if isinstance(op, Head):
        columns = [Column(c.form, _live(c.writes, live)) for c in op.columns]
        columns = [c for c in columns if c.writes]
        bias = _live(op.bias, live)
        if not columns and not bias:
            return None
        errand = None if op.errand is None else _kept_errand(op.errand, live)
        return replace(op, columns=tuple(_merged(columns)), bias=bias, errand=errand)
    written = [_live(n.writes, live) for n in op.neurons]
    neurons = [Neuron(n.pre, out) for n, out in zip(op.neurons, written, strict=True) if out]
    bias = _live(op.bias, live)
    if not neurons and not bias:
        return None
    scan = op.scan if neurons else None
    purpose = None if op.purpose is None else _kept_purpose(op.purpose, written, live)
    return replace(op, neurons=tuple(neurons), bias=bias, scan=scan, purpose=purpose)


def _kept_errand(errand: Errand, live: set[Direction]) -> Errand:
    columns = [replace(column, writes=_live(column.writes, live)) for column in errand.columns]
    kept = tuple(column for column in columns if column.writes)
    return replace(errand, columns=kept, always=_live(errand.always, live))


def _kept_purpose(purpose: Purpose, written: list[Writes], live: set[Direction]) -> Purpose:
    """Return a purpose without the neurons that write nothing any more."""
    function = purpose.function
    match function:
        case Boxes(boxes=boxes):
            kept = tuple(box for box, out in zip(boxes, written, strict=True) if out)
            function = replace(function, boxes=kept)
        case Gates(gates):
            function = Gates(tuple(gate for gate, out in zip(gates, written, strict=True) if out))
        case _:
            pass
    outputs = tuple(_live(output, live) for output in purpose.outputs)
    return replace(purpose, function=function, outputs=outputs, always=_live(purpose.always, live))


def _merged(columns: list[Column]) -> list[Column]:
    """Return columns that move one form as one column."""
    merged: dict[Form, dict[Direction, Fraction]] = {}
    for column in columns:
        total = merged.setdefault(column.form, {})
        for target, coefficient in column.writes:
            total[target] = total.get(target, Fraction(0)) + coefficient
    return [Column(form, form_writes(total)) for form, total in merged.items()]


def _live(writes: Writes, live: set[Direction]) -> Writes:
    return tuple((d, c) for d, c in writes if d in live)


def _renumbered(graph: Graph, live: set[Direction]) -> Graph:
    """Return the graph with the live directions of each variable numbered anew."""
    numbers: dict[Direction, Direction] = {}
    variables = []
    embeddings = []
    by_name = {e.variable: e for e in graph.embeddings}
    for variable in graph.variables:
        kept = [i for i in range(len(variable.labels)) if (variable.name, i) in live]
        if not kept:
            continue
        for new, old in enumerate(kept):
            numbers[(variable.name, old)] = (variable.name, new)
        variables.append(replace(variable, labels=tuple(variable.labels[i] for i in kept)))
        embedding = by_name.get(variable.name)
        if embedding is not None:
            whole = len(kept) == len(variable.labels)
            rows = embedding.rows
            if not whole:
                rows = tuple(tuple(row[i] for i in kept) for row in rows)
            embeddings.append(replace(embedding, rows=rows))

    def form(old: Form) -> Form:
        return Form(tuple(sorted((numbers[d], c) for d, c in old.terms)), old.constant)

    def written(old: Writes) -> Writes:
        return tuple(sorted((numbers[d], c) for d, c in old))

    meant = {e.variable for e in graph.meant}

    def purpose(old: Form) -> Form | None:
        written = [d for d, _ in old.terms if d[0] not in meant]
        if not written:
            return old
        if any(d not in numbers for d in written):
            return None
        terms = ((d if d[0] in meant else numbers[d], c) for d, c in old.terms)
        return Form(tuple(sorted(terms)), old.constant)

    renumbered = replace(graph, variables=tuple(variables), embeddings=tuple(embeddings))
    return rewritten(renumbered, form, written, form, purpose)
