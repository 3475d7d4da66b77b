"""Rewrites every form and every target of a graph: what the passes over whole graphs share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from handcraft.compiler.graph import (
    Column,
    CrossReadout,
    Graph,
    Head,
    LogitReadout,
    MlpOp,
    Neuron,
    NumberReadout,
    Op,
    Readout,
    Scan,
    TokenReadout,
    ValueReadout,
    Writes,
    read_at_keys,
)
from handcraft.compiler.purposes import renamed_errand, renamed_purpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from handcraft.compiler.forms import Form
    from handcraft.compiler.purposes import Errand, Renamed


def rewritten(
    graph: Graph,
    form: Callable[[Form], Form],
    written: Callable[[Writes], Writes],
    read_out: Callable[[Form], Form],
    meant: Renamed | None = None,
) -> Graph:
    """Return a graph with other forms and targets.

    Args:
        graph: a graph.
        form: a form that an operation reads -> what it reads instead. What a cross head reads of
            the encoder stays as it is.
        written: what an operation writes -> what it writes instead.
        read_out: a form of the read-out -> what it reads instead.
        meant: a form of a purpose -> the same with the directions of operations renamed; those
            that embeddings wrote keep their names there. None where no operation's has another.
    """
    ops = tuple(rewritten_op(op, form, written, meant) for op in graph.ops)
    readout = rewritten_readout(graph.readout, read_out)
    if meant is None:
        return replace(graph, ops=ops, readout=readout)
    answers = tuple(None if answer is None else meant(answer) for answer in graph.answers)
    return replace(graph, ops=ops, readout=readout, answers=answers)


def all_forms(graph: Graph) -> tuple[Form, ...]:
    """Return every form that operations read, in order."""
    return tuple(form for op in graph.ops for form in _forms(op))


def _forms(op: Op) -> tuple[Form, ...]:
    match op:
        case Head():
            return op.queries if op.across else (*op.queries, *read_at_keys(op))
        case MlpOp():
            pres = tuple(n.pre for n in op.neurons)
            return pres if op.scan is None else (*pres, op.scan.form)
        case _:
            assert_never(op)


def rewritten_op(
    op: Op,
    form: Callable[[Form], Form],
    written: Callable[[Writes], Writes] = lambda same: same,
    meant: Renamed | None = None,
) -> Op:
    """Return an operation with other forms and targets."""
    match op:
        case Head():
            at_keys = _same if op.across else form
            return replace(
                op,
                queries=tuple(map(form, op.queries)),
                keys=tuple(map(at_keys, op.keys)),
                columns=tuple(Column(at_keys(c.form), written(c.writes)) for c in op.columns),
                bias=written(op.bias),
                errand=_errand(op, meant, written),
            )
        case MlpOp():
            neurons = tuple(Neuron(form(n.pre), written(n.writes)) for n in op.neurons)
            scan = None if op.scan is None else Scan(form(op.scan.form), op.scan.pieces)
            purpose = renamed_purpose(op.purpose, meant, written) if meant else op.purpose
            bias = written(op.bias)
            return replace(op, neurons=neurons, bias=bias, scan=scan, purpose=purpose)
        case _:
            assert_never(op)


def _errand(
    head: Head, meant: Renamed | None, written: Callable[[Writes], Writes]
) -> Errand | None:
    if meant is None:
        return head.errand
    return renamed_errand(head.errand, meant, _same if head.across else meant, written)


def rewritten_readout(readout: Readout, form: Callable[[Form], Form]) -> Readout:
    """Return a read-out with other forms."""
    match readout:
        case TokenReadout():
            return readout
        case ValueReadout(values, forms, lines):
            return ValueReadout(values, tuple(map(form, forms)), lines)
        case LogitReadout(tokens, forms):
            return LogitReadout(tokens, tuple(map(form, forms)))
        case NumberReadout(number, gap):
            return NumberReadout(form(number), gap)
        case CrossReadout(forms):
            return CrossReadout(tuple(map(form, forms)))
        case _:
            assert_never(readout)


def _same(form: Form) -> Form:
    return form
