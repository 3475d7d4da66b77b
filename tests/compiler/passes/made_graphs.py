"""Graphs made by hand, and the graph of a program: what the tests of the passes share."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import handcraft
from handcraft.compiler.forms import Direction, Form, direction
from handcraft.compiler.graph import (
    Column,
    Embedding,
    Graph,
    Head,
    MlpOp,
    Neuron,
    NumberReadout,
    Readout,
    Variable,
    form_writes,
)
from handcraft.compiler.levels import passes_of
from handcraft.compiler.lower import lower
from handcraft.errors import Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.compiler.graph import Op

SPAN = Span(Source("nothing"), 0, 0)


def head(
    name: str,
    queries: Sequence[Form],
    keys: Sequence[Form],
    columns: Mapping[Direction, Form],
    bias: Mapping[Direction, int] | None = None,
) -> Head:
    moved = tuple(Column(f, ((d, Fraction(1)),)) for d, f in columns.items())
    added = form_writes({d: Fraction(v) for d, v in (bias or {}).items()})
    one = Fraction(1)
    return Head(name, tuple(queries), tuple(keys), moved, added, one, one, name, SPAN)


def mlp(
    name: str,
    neurons: Sequence[tuple[Form, Mapping[Direction, int]]],
    bias: Mapping[Direction, int] | None = None,
) -> MlpOp:
    made = tuple(
        Neuron(pre, form_writes({d: Fraction(v) for d, v in out.items()})) for pre, out in neurons
    )
    added = form_writes({d: Fraction(v) for d, v in (bias or {}).items()})
    return MlpOp(name, made, added, name, SPAN)


def graph_with(
    ops: Sequence[Op],
    names: Sequence[str],
    readout: Readout | None = None,
    *,
    start: bool = False,
) -> Graph:
    """Return a graph with variables of one direction each, the last of them read out."""
    variables = [Variable(name, ("value",), name, None) for name in names]
    embedded = [identity("tokens", "token", "abc"), identity("indices", "position", "0123")]
    if start:
        rows = ((Fraction(1),),)
        begin = Variable("start", ("start",), "1 at the hidden start token", None)
        embedded.append((begin, Embedding("start", "start", rows)))
    return Graph(
        variables=(*(v for v, _ in embedded), *variables),
        embeddings=tuple(e for _, e in embedded),
        ops=tuple(ops),
        readout=readout or NumberReadout(direction(names[-1], 0)),
        margin=Fraction(1),
        start=start,
    )


def graph_of(text: str) -> Graph:
    """Return the graph of a program."""
    return lower(handcraft.parse(text).typed, passes_of(1))


def identity(name: str, by: str, labels: str) -> tuple[Variable, Embedding]:
    size = range(len(labels))
    rows = tuple(tuple(Fraction(i == j) for j in size) for i in size)
    return Variable(name, tuple(labels), f"the {by} here", None), Embedding(name, by, rows)
