"""Placed graph -> what the model file says of itself: residual map, components, provenance."""

from __future__ import annotations

from fractions import Fraction
from pathlib import PurePath
from typing import TYPE_CHECKING, assert_never

from handcraft.compiler.assemble import holds
from handcraft.compiler.graph import Graph, NumberReadout, TokenReadout, ValueReadout
from handcraft.language.domains import Finite, Lattice
from handcraft.language.typed import Allow, Logits, Output, Predict
from handcraft.runtime import description
from handcraft.runtime.description import Description, Operation, ResidualVariable, ResultKind
from handcraft.runtime.weights import FORMATS
from handcraft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.place import Placed
    from handcraft.language.program import Program


def describe(placed: Placed, program: Program) -> Description:
    """Return what a model of this placed graph says of itself."""
    graph = placed.graph
    return Description(
        kind=_kind(program),
        outputs=_outputs(graph, program),
        margin=float(graph.margin),
        window_safe=program.window_safe,
        residual=tuple(
            ResidualVariable(v.name, placed.columns[(v.name, 0)], v.labels, v.meaning)
            for v in graph.variables
        ),
        operations=tuple(_operations(placed)),
        provenance={
            "program": PurePath(program.source.name).name,
            "compiler": f"handcraft {__version__}",
        },
        formats=tuple(f for f in FORMATS if holds(placed, f)),
    )


def _kind(program: Program) -> ResultKind:
    match program.typed.result:
        case Predict():
            return "predict"
        case Allow():
            return "allow"
        case Logits():
            return "logits"
        case Output():
            return "output"
        case _:
            assert_never(program.typed.result)


def _outputs(graph: Graph, program: Program) -> tuple[description.Value, ...] | description.Lattice:
    if isinstance(graph.readout, ValueReadout):
        return graph.readout.values
    if not isinstance(graph.readout, NumberReadout):
        return ()
    assert isinstance(program.typed.result, Output)
    domain = program.typed.nodes[program.typed.result.value].domain
    if isinstance(domain, Finite):
        return domain.values
    assert isinstance(domain, Lattice)
    return description.Lattice(
        Fraction(domain.low), Fraction(domain.high), domain.unit, domain.parts
    )


def _operations(placed: Placed) -> Iterator[Operation]:
    for embedding in placed.graph.embeddings:
        text = f"`{embedding.variable}` by {embedding.by}"
        yield Operation(-1, "embedding", placed.columns[(embedding.variable, 0)], text, None)
    for number, layer in enumerate(placed.layers):
        for index, head in enumerate(layer.heads):
            yield Operation(number, "head", index, head.text, head.span.line)
        first = 0
        for mlp in layer.mlps:
            yield Operation(number, "mlp", first, mlp.text, mlp.span.line)
            first += max(1, len(mlp.neurons))
    tied = isinstance(placed.graph.readout, TokenReadout)
    text = "reads the token directions (tied)" if tied else "reads the values (lm_head)"
    yield Operation(len(placed.layers), "unembed", 0, text, None)
