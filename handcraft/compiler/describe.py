"""Placed graph -> what the model file says of itself: residual map, components, provenance."""

from __future__ import annotations

from fractions import Fraction
from pathlib import PurePath
from typing import TYPE_CHECKING, assert_never

from handcraft.compiler.graph import NumberReadout, TokenReadout, ValueReadout, writes
from handcraft.compiler.lines import folded_lines, line_of
from handcraft.compiler.place import lifetimes, neuron_count
from handcraft.language.domains import Finite, Lattice
from handcraft.language.elaborate import RESULTS
from handcraft.language.sequences import SOURCE, TARGET
from handcraft.language.typed import Allow, Logits, Output, Predict
from handcraft.runtime import description
from handcraft.runtime.description import Description, Operation, ResidualVariable, ResultKind
from handcraft.runtime.weights import FORMATS
from handcraft.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from handcraft.compiler.graph import Graph, Op
    from handcraft.compiler.place import Placed
    from handcraft.language.program import Program
    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.description import SequenceName


def describe(
    placed: Placed,
    program: Program,
    lowered: Graph | None = None,
    constructions: tuple[str, ...] = (),
    certificate: Certificate | None = None,
) -> Description:
    """Return what a model of this placed graph says of itself.

    Args:
        placed: the graph in its places.
        program: what it was made from.
        lowered: the graph before the passes over graphs; `placed`'s own if None.
        constructions: how each pattern is decided, in words.
        certificate: what was proved of it, if anything.
    """
    graph = placed.graph
    residual = tuple(_residual(placed, program, TARGET))
    operations = (*_operations(placed, program, TARGET), _unembedding(placed, program))
    if placed.encoder is not None:
        residual = (*_residual(placed.encoder, program, SOURCE), *residual)
        operations = (*_operations(placed.encoder, program, SOURCE), *operations)
    done = {variable.line for variable in residual}
    done.update(line for each in operations for line in (each.line, *each.others))
    lines = frozenset(line for line in done if line is not None)
    return Description(
        kind=_kind(program),
        outputs=_outputs(graph, program),
        margin=float(graph.margin),
        window_safe=program.window_safe,
        residual=residual,
        operations=operations,
        folded=folded_lines(program, lowered or graph, lines),
        provenance={
            "program": PurePath(program.source.name).name,
            "compiler": f"handcraft {__version__}",
            **({"patterns": "; ".join(constructions)} if constructions else {}),
        },
        certificate=certificate,
        formats=tuple(f for f in FORMATS if certificate and f in certificate.proved),
        sequences=(TARGET,) if placed.encoder is None else (SOURCE, TARGET),
        guide=program.guide,
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


def _residual(
    placed: Placed, program: Program, sequence: SequenceName
) -> Iterator[ResidualVariable]:
    lives = lifetimes(placed)
    for v in placed.graph.variables:
        own = [lives[(v.name, i)] for i in range(len(v.labels))]
        first = min(life.first_write for life in own)
        last = max(max(life.last_write, life.last_read) for life in own)
        yield ResidualVariable(
            v.name,
            placed.columns[(v.name, 0)],
            v.labels,
            v.meaning,
            None if v.span is None else line_of(v.span, program),
            (first // 2, max(first, last) // 2),
            sequence,
        )


def _operations(placed: Placed, program: Program, sequence: SequenceName) -> Iterator[Operation]:
    for embedding in placed.graph.embeddings:
        text = f"`{embedding.variable}` by {embedding.by}"
        column = placed.columns[(embedding.variable, 0)]
        yield Operation(-1, "embedding", column, text, None, sequence=sequence)
    lines = {v.name: line_of(v.span, program) for v in placed.graph.variables if v.span is not None}
    for number, layer in enumerate(placed.layers):
        for heads in (layer.heads, layer.crosses):
            for index, head in enumerate(heads):
                line, others = _lines(head, lines, program)
                yield Operation(
                    number, "head", index, head.text, line, None, others, sequence, head.across
                )
        first = 0
        for mlp in layer.mlps:
            last = first + neuron_count(mlp) - 1
            if mlp.name in placed.clears:
                yield Operation(number, "mlp", first, mlp.text, None, last, (), sequence)
            else:
                line, others = _lines(mlp, lines, program)
                yield Operation(number, "mlp", first, mlp.text, line, last, others, sequence)
            first = last + 1


def _unembedding(placed: Placed, program: Program) -> Operation:
    tied = isinstance(placed.graph.readout, TokenReadout)
    text = "reads the token directions (tied)" if tied else "reads the values (lm_head)"
    answers = _answer_lines(program)
    line = answers[0] if answers else None
    return Operation(len(placed.layers), "unembed", 0, text, line, None, answers[1:])


def _lines(
    op: Op, lines: Mapping[str, int | None], program: Program
) -> tuple[int | None, tuple[int, ...]]:
    """Return the line that an operation stands for, and those of whatever else it writes."""
    own = line_of(op.span, program)
    written = {lines.get(name) for name, _ in writes(op)} - {own}
    return own, tuple(sorted(line for line in written if line is not None))


def _answer_lines(program: Program) -> tuple[int, ...]:
    """Return the lines of the statements that say what the program answers."""
    if line_of(program.typed.result.span, program) is None:
        return ()
    lines = {s.span.line for s in program.tree.body if isinstance(s, RESULTS)}
    return tuple(sorted(lines))
