"""Operations under construction: what is known of them so far, until a graph holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from handcraft.compiler.graph import Column, Head, MlpOp, Neuron, Op, Scan, form_writes
from handcraft.compiler.purposes import Errand, Moved, Purpose

if TYPE_CHECKING:
    from fractions import Fraction

    from handcraft.compiler.forms import Direction, Form, Number
    from handcraft.compiler.purposes import Aim, Function, Result
    from handcraft.errors import Span


@dataclass(frozen=True, slots=True)
class Pattern:
    """Where a head looks: query and key forms whose products add up to the score, in units."""

    queries: tuple[Form, ...]
    keys: tuple[Form, ...]
    gap: Fraction
    largest: Fraction
    aim: Aim = field(compare=False, repr=False)
    across: bool = False


@dataclass(slots=True)
class HeadDraft:
    """A head, with what it moves at the start token and what is meant by it."""

    name: str
    pattern: Pattern
    time: int
    text: str
    span: Span
    winners: int | None
    alike: bool
    columns: list[tuple[Form, dict[Direction, Number]]] = field(default_factory=list)
    bias: dict[Direction, Number] = field(default_factory=dict)
    at_start: list[Number] = field(default_factory=list)
    aims: list[Aim] = field(default_factory=list)
    always: dict[Direction, Number] = field(default_factory=dict)


@dataclass(slots=True)
class MlpDraft:
    """Neurons, with what is meant by them."""

    name: str
    time: int
    text: str
    span: Span
    units: list[tuple[Form, dict[Direction, Number]]]
    bias: dict[Direction, Number]
    function: Function
    start_from: Result
    outputs: list[dict[Direction, Number]]
    scan: Scan | None = None
    always: dict[Direction, Number] = field(default_factory=dict)


def frozen(op: HeadDraft | MlpDraft) -> Op:
    """Return an operation as a graph has it."""
    if isinstance(op, HeadDraft):
        pattern = op.pattern
        columns = tuple(Column(form, form_writes(out)) for form, out in op.columns)
        moved = tuple(
            Moved(column.form, at_start, column.writes)
            for column, at_start in zip(columns, op.at_start, strict=True)
        )
        return Head(
            op.name,
            pattern.queries,
            pattern.keys,
            columns,
            form_writes(op.bias),
            pattern.gap,
            pattern.largest,
            op.text,
            op.span,
            op.winners,
            op.alike,
            Errand(tuple(op.aims), moved, form_writes(op.always)),
            pattern.across,
        )
    neurons = tuple(Neuron(pre, form_writes(out)) for pre, out in op.units)
    outputs = tuple(map(form_writes, op.outputs))
    purpose = Purpose(op.function, op.start_from, outputs, form_writes(op.always))
    return MlpOp(op.name, neurons, form_writes(op.bias), op.text, op.span, op.scan, purpose)


def reads_of(op: HeadDraft | MlpDraft) -> set[Direction]:
    """Return the directions of its own graph that an operation reads."""
    forms = [form for form, _ in _parts(op)]
    if isinstance(op, HeadDraft):
        at_keys = () if op.pattern.across else (*forms, *op.pattern.keys)
        forms = [*op.pattern.queries, *at_keys]
    return {d for form in forms for d in form.directions}


def outputs_of(op: HeadDraft | MlpDraft) -> list[dict[Direction, Number]]:
    """Return what an operation adds, part by part."""
    return [*(out for _, out in _parts(op)), op.bias]


def meant(op: HeadDraft | MlpDraft) -> list[dict[Direction, Number]]:
    """Return the outputs of an operation as it is, and as it is meant."""
    return [*outputs_of(op), op.always, *(op.outputs if isinstance(op, MlpDraft) else ())]


def writes_of(op: HeadDraft | MlpDraft) -> set[Direction]:
    """Return the directions that an operation writes."""
    return {d for out in outputs_of(op) for d in out}


def _parts(op: HeadDraft | MlpDraft) -> list[tuple[Form, dict[Direction, Number]]]:
    return op.columns if isinstance(op, HeadDraft) else op.units
