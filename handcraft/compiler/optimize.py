"""Runs the passes of a level: over the dataflow graph, then over its placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.graph import TokenReadout, readout_forms
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from handcraft.compiler.graph import Graph
    from handcraft.compiler.levels import Passes
    from handcraft.compiler.place import Placed


def optimized(graph: Graph, passes: Passes) -> Graph:
    """Return the graph after the passes that rewrite graphs; each gives a valid graph."""
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


def placed(graph: Graph, passes: Passes, rows: int) -> Placed:
    """Return the graph in layers and columns.

    Args:
        graph: the graph.
        passes: what is made smaller.
        rows: rows of the embeddings, as wide as the residual stream: tokens and positions.
    """
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
