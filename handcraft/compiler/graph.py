"""The dataflow graph: residual variables, the heads and MLP ops that write them, the read-out.

Everything is named and exact; a head says what it reads as affine forms over directions, and no
form knows yet which layer or which column it will be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.forms import START, Direction, Form, Number, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.compiler.purposes import Errand, Purpose
    from handcraft.errors import Span
    from handcraft.language.values import Value
    from handcraft.runtime.vocabulary import Token

Writes: TypeAlias = tuple[tuple[Direction, Number], ...]
"""What is added to which direction, sorted, without zeros."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A named subspace of the residual stream, one label for each of its directions."""

    name: str
    labels: tuple[str, ...]
    meaning: str
    span: Span | None = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Embedding:
    """A variable that the embeddings write: by token, by position, or at the start token.

    `rows[r]` lists the values of the directions for token r or position r.
    """

    variable: str
    by: str
    rows: tuple[tuple[Number, ...], ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """The one number that neurons read, and where it can be.

    Every pre-activation is a multiple of `form` plus a number. Where the program has a meaning,
    `form` lies in one of `pieces`: intervals in ascending order, or points.
    """

    form: Form
    pieces: tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One number that a head moves: read at the key by `form`, added to `writes` at the query."""

    form: Form
    writes: Writes


@dataclass(frozen=True, slots=True)
class Head:
    """One attention head: queries meet keys (QK circuit), columns are moved (OV circuit).

    The score of a pair is the sum of query form times key form, an integer number of units before
    scaling; a loser scores at least `gap` units less than a winner. `winners` is the most keys
    that win together, None if unknown; `alike` says that all of them hold the same. A head that
    looks across reads keys and columns from the encoder's stream, which has directions of its own.
    """

    name: str
    queries: tuple[Form, ...]
    keys: tuple[Form, ...]
    columns: tuple[Column, ...]
    bias: Writes
    gap: Fraction
    largest: Fraction
    text: str
    span: Span = field(compare=False, repr=False)
    winners: int | None = None
    alike: bool = False
    errand: Errand | None = field(default=None, compare=False, repr=False)
    across: bool = False


@dataclass(frozen=True, slots=True)
class Neuron:
    """`relu(pre)`, times its coefficient added to each direction of `writes`."""

    pre: Form
    writes: Writes


@dataclass(frozen=True, slots=True)
class MlpOp:
    """Neurons that together compute one function, and what is added everywhere."""

    name: str
    neurons: tuple[Neuron, ...]
    bias: Writes
    text: str
    span: Span = field(compare=False, repr=False)
    scan: Scan | None = None
    purpose: Purpose | None = field(default=None, compare=False, repr=False)


Op: TypeAlias = Head | MlpOp


@dataclass(frozen=True, slots=True)
class TokenReadout:
    """Logits are read at the token directions themselves, which operations have written."""

    variable: str


@dataclass(frozen=True, slots=True)
class Line:
    """A logit as a function of a number: `slope * x + constant`; it is right for x in `piece`."""

    slope: Fraction
    constant: Fraction
    piece: tuple[Fraction, Fraction]

    def scaled(self, factor: Fraction) -> Line:
        """Return the line times a number."""
        return Line(self.slope * factor, self.constant * factor, self.piece)


@dataclass(frozen=True, slots=True)
class ValueReadout:
    """A logit for each value: a form without constant; the largest says the value.

    `lines` says, where it is one number that decides, how.
    """

    values: tuple[Value, ...]
    forms: tuple[Form, ...]
    lines: tuple[Line, ...] | None = None


@dataclass(frozen=True, slots=True)
class LogitReadout:
    """A logit for each token, a form without constant."""

    tokens: tuple[Token, ...]
    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class NumberReadout:
    """The value itself, a form without constant; two values are at least `gap` apart."""

    form: Form
    gap: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class CrossReadout:
    """The stream of an encoder: the forms that cross heads read of it, constants included."""

    forms: tuple[Form, ...]


Readout: TypeAlias = TokenReadout | ValueReadout | LogitReadout | NumberReadout | CrossReadout


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole program as heads and neurons, in an order in which writers precede readers."""

    variables: tuple[Variable, ...]
    embeddings: tuple[Embedding, ...]
    ops: tuple[Op, ...]
    readout: Readout
    margin: Fraction
    """The least distance between the largest logit and a wrong one."""
    start: bool
    meant: tuple[Embedding, ...] = ()
    """What the embeddings wrote before any pass: what the forms of purposes read."""
    answers: tuple[Form | None, ...] = ()
    """The forms of the read-out before any pass, as purposes have them."""
    encoder: Graph | None = None
    """The graph of the source, in a program that has one."""

    def show(self) -> str:
        """Return the graph as text."""
        lines = [] if self.encoder is None else ["encoder", self.encoder.show(), "decoder"]
        lines += [f"start token: {'yes' if self.start else 'no'}", f"margin: {self.margin}"]
        for variable in self.variables:
            lines.append(f"variable {variable.name} [{', '.join(variable.labels)}]")
        for embedding in self.embeddings:
            lines.append(f"embedding {embedding.variable} by {embedding.by}")
        for op in self.ops:
            lines.extend(_shown(op))
        lines.extend(_shown_readout(self.readout))
        return "\n".join(lines) + "\n"


def reads(op: Op) -> frozenset[Direction]:
    """Return the directions that an operation reads."""
    if isinstance(op, Head):
        forms = op.queries if op.across else (*op.queries, *read_at_keys(op))
    else:
        forms = tuple(n.pre for n in op.neurons)
    return frozenset([d for form in forms for d, _ in form.terms])


def read_at_keys(head: Head) -> tuple[Form, ...]:
    """Return the forms that a head reads at keys: of its keys, then of its columns."""
    return (*head.keys, *(c.form for c in head.columns))


def crossing(graph: Graph) -> tuple[Form, ...]:
    """Return the forms that the cross heads of a graph read of its encoder, each once."""
    heads = (op for op in graph.ops if isinstance(op, Head) and op.across)
    return tuple(dict.fromkeys(form for head in heads for form in read_at_keys(head)))


def writes(op: Op) -> frozenset[Direction]:
    """Return the directions that an operation writes."""
    if isinstance(op, Head):
        parts = (op.bias, *(c.writes for c in op.columns))
    else:
        parts = (op.bias, *(n.writes for n in op.neurons))
    return frozenset([d for part in parts for d, _ in part])


def readout_forms(readout: Readout) -> tuple[Form, ...]:
    """Return the forms that the unembedding reads, besides the token directions."""
    match readout:
        case TokenReadout():
            return ()
        case ValueReadout(_, forms) | LogitReadout(_, forms) | CrossReadout(forms):
            return forms
        case NumberReadout(form):
            return (form,)


def point(number: Fraction) -> tuple[Fraction, Fraction]:
    """Return a number as an interval."""
    return (number, number)


def verify(graph: Graph) -> None:
    """Assert that every direction is declared, and written before it is read."""
    sizes = {v.name: len(v.labels) for v in graph.variables}
    assert len(sizes) == len(graph.variables), "two variables of one name"
    written = {(e.variable, i) for e in graph.embeddings for i in range(sizes[e.variable])}
    for op in graph.ops:
        read, targets = reads(op), writes(op)
        assert read <= written, f"{op.name} reads {sorted(read - written)} too early"
        assert all(0 <= i < sizes[name] for name, i in targets), f"{op.name} writes nowhere"
        written |= targets
    for form in readout_forms(graph.readout):
        assert set(form.directions) <= written, "the read-out reads what nothing writes"
        is_read = isinstance(graph.readout, CrossReadout)
        assert is_read or form.constant == 0, "an unembedding has no bias"
    assert graph.start or START not in written, "a start direction without a start token"
    if graph.encoder is None:
        assert not crossing(graph), "a head looks across at nothing"
    else:
        verify(graph.encoder)
        assert graph.encoder.start or not crossing(graph), "an empty source has no key"
        assert set(crossing(graph)) <= set(readout_forms(graph.encoder.readout)), "unread keys"


def form_writes(values: Mapping[Direction, Number]) -> Writes:
    """Return writes in their order, without zeros."""
    return tuple(sorted((d, whole(c)) for d, c in values.items() if c))


def _shown(op: Op) -> list[str]:
    if isinstance(op, Head):
        kind = "cross head" if op.across else "head"
        lines = [f"{kind} {op.name}: {op.text} (gap {op.gap})"]
        pairs = zip(op.queries, op.keys, strict=True)
        lines.extend(f"  score ({q}) * ({k})" for q, k in pairs)
        lines.extend(f"  move {c.form} -> {_target(c.writes)}" for c in op.columns)
    else:
        lines = [f"mlp {op.name}: {op.text}"]
        lines.extend(f"  relu({n.pre}) -> {_target(n.writes)}" for n in op.neurons)
    if op.bias:
        lines.append(f"  always -> {_target(op.bias)}")
    return lines


def _target(written: Writes) -> str:
    return ", ".join(f"{c}*{name}.{i}" for (name, i), c in written)


def _shown_readout(readout: Readout) -> list[str]:
    match readout:
        case TokenReadout(variable):
            return [f"read out at {variable}"]
        case ValueReadout(values, forms):
            return [f"logit of {v!s}: {f}" for v, f in zip(values, forms, strict=True)]
        case LogitReadout(tokens, forms):
            return [f"logit of token {t!s}: {f}" for t, f in zip(tokens, forms, strict=True)]
        case NumberReadout(form):
            return [f"read out {form}"]
        case CrossReadout(forms):
            return [f"read by cross heads: {form}" for form in forms]
