"""Runs the passes of a level: over the dataflow graph, then over its placement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handcraft.compiler.graph import (
    Column,
    CrossReadout,
    Head,
    TokenReadout,
    crossing,
    readout_forms,
)
from handcraft.compiler.levels import (
    DEAD_CODE,
    EMBEDDING_BASIS,
    HEAD_MERGING,
    LATE_CONSTANT,
    LAYER_PACKING,
    LAYER_SIZES,
    LIVENESS,
    REPEATS,
)
from handcraft.compiler.passes.dead_code import needed_directions, without_dead_code
from handcraft.compiler.passes.embedding_basis import with_narrow_embeddings
from handcraft.compiler.passes.head_merging import with_merged_heads
from handcraft.compiler.passes.late_constant import with_late_constant
from handcraft.compiler.passes.liveness import with_shared_columns
from handcraft.compiler.passes.packing import packings
from handcraft.compiler.passes.repeats import without_repeats
from handcraft.compiler.passes.sizes import padded, parameters
from handcraft.compiler.place import one_by_one, place
from handcraft.compiler.purposes import renamed_errand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from handcraft.compiler.forms import Form
    from handcraft.compiler.graph import Graph, Op, Writes
    from handcraft.compiler.levels import Passes
    from handcraft.compiler.place import Placed


def optimized(graph: Graph, passes: Passes) -> Graph:
    """Return the graph after the passes that rewrite graphs; each gives a valid graph.

    An encoder comes after its decoder, when it is known what cross heads read of it.
    """
    graph = _rewritten(graph, passes)
    if graph.encoder is None:
        return graph
    forms, meant = crossing(graph), _meant_across(graph)
    encoder = replace(graph.encoder, readout=CrossReadout(forms), answers=meant)
    encoder = _rewritten(encoder, passes)
    now = dict(zip(forms, readout_forms(encoder.readout), strict=True))
    called = iter(encoder.answers)
    ops = tuple(_across(op, now, called) for op in graph.ops)
    return replace(graph, ops=ops, encoder=encoder)


def _meant_across(graph: Graph) -> tuple[Form, ...]:
    """Return what cross heads are meant to read of the encoder, in order."""
    forms: list[Form] = []

    def note(form: Form) -> Form:
        forms.append(form)
        return form

    for op in graph.ops:
        if isinstance(op, Head) and op.across:
            renamed_errand(op.errand, _same, note, _as_written)
    return tuple(forms)


def _across(op: Op, now: Mapping[Form, Form], called: Iterator[Form | None]) -> Op:
    """Return an operation that reads, and is meant to read, the encoder's stream as it is now."""
    if not (isinstance(op, Head) and op.across):
        return op
    columns = tuple(Column(now[column.form], column.writes) for column in op.columns)
    errand = renamed_errand(op.errand, _same, lambda _: next(called), _as_written)
    keys = tuple(now[key] for key in op.keys)
    return replace(op, keys=keys, columns=columns, errand=errand)


def _same(form: Form) -> Form:
    return form


def _as_written(written: Writes) -> Writes:
    return written


def _rewritten(graph: Graph, passes: Passes) -> Graph:
    steps: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
        (DEAD_CODE, lambda g: without_dead_code(g, needed_directions(g))),
        (REPEATS, without_repeats),
        (HEAD_MERGING, with_merged_heads),
        (LATE_CONSTANT, with_late_constant),
        (EMBEDDING_BASIS, with_narrow_embeddings),
    )
    for name, step in steps:
        if name in passes:
            graph = step(graph)
    return graph


def placed(graph: Graph, passes: Passes, rows: int, source_rows: int = 0) -> Placed:
    """Return the graph in layers and columns.

    Args:
        graph: the graph.
        passes: what is made smaller.
        rows: rows of the embeddings, as wide as the residual stream: tokens and positions.
        source_rows: those of the encoder, if there is one.
    """
    found = _placed(graph, passes, rows)
    if graph.encoder is None:
        return found
    return replace(found, encoder=_placed(graph.encoder, passes, source_rows))


def _placed(graph: Graph, passes: Passes, rows: int) -> Placed:
    first = place(graph) if LAYER_PACKING in passes else one_by_one(graph)
    if LAYER_SIZES not in passes:
        return padded(first)
    if LIVENESS not in passes:
        return first
    rows += _unembedded(graph)
    candidates = [with_shared_columns(each, rows) for each in packings(graph)]
    return min(candidates, key=lambda each: parameters(each.sizes, each.d_model, rows))


def _unembedded(graph: Graph) -> int:
    """Return the rows of an unembedding of its own."""
    return 0 if isinstance(graph.readout, TokenReadout) else len(readout_forms(graph.readout))
