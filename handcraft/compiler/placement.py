"""A program on its way to a model: what is compiled, its graph, and the graph in its places.

No weights are made: this is where the sizes of a model are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handcraft.compiler.assemble import config_of
from handcraft.compiler.assumed import assumed
from handcraft.compiler.certificate.certify import certify
from handcraft.compiler.levels import ASSUMPTIONS, MAP_FOLDING, ONE_SIDED, passes_of
from handcraft.compiler.lower import lower
from handcraft.compiler.one_sided import one_sided
from handcraft.compiler.optimize import optimized, placed
from handcraft.compiler.passes.sizes import parameters
from handcraft.compiler.patterns.realize import Cost, Realized, realized
from handcraft.compiler.unfolded import unfolded

if TYPE_CHECKING:
    from handcraft.compiler.graph import Graph
    from handcraft.compiler.levels import Passes
    from handcraft.compiler.place import Placed
    from handcraft.language.typed import Header, SourceHeader, TypedProgram

PROVED_IN = "float32"
"""The format in which the construction of a pattern is to be proved."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The stages from a checked program to layers and columns.

    Attributes:
        typed: the program that is compiled: under causal attention if that means the same.
        lowered: its graph before the passes over graphs.
        placed: its graph in layers and columns.
        constructions: how each pattern is decided, in words.
    """

    typed: TypedProgram
    lowered: Graph
    placed: Placed
    constructions: tuple[str, ...]


def placement(program: TypedProgram, passes: Passes) -> Placement:
    """Return the stages of a program after these passes.

    Raises:
        ProgramError: where something cannot be built; names the expression and the way out.
    """
    written = without_patterns(program)
    typed = assumed(written.typed) if ASSUMPTIONS in passes else written.typed
    typed = typed if MAP_FOLDING in passes else unfolded(typed)
    typed = one_sided(typed) if ONE_SIDED in passes else typed
    lowered = lower(typed, passes)
    graph = optimized(lowered, passes)
    rows = rows_of(typed.header, graph)
    source = typed.header.source
    read = 0 if source is None or graph.encoder is None else rows_of(source, graph.encoder)
    return Placement(typed, lowered, placed(graph, passes, rows, read), written.constructions)


def without_patterns(program: TypedProgram) -> Realized:
    """Return the program with its patterns by the constructions that every level takes."""
    return realized(program, _cost)


def rows_of(header: Header | SourceHeader, graph: Graph) -> int:
    """Return the rows of the embeddings of a sequence: tokens and positions."""
    return len(header.vocabulary) + header.context + 2 * graph.start


def _cost(program: TypedProgram) -> Cost:
    """Return what a program without patterns takes at level 1."""
    found = placement(program, passes_of(1))
    sizes, d_model = found.placed.sizes, found.placed.d_model
    certificate = certify(found.placed, config_of(found.placed, found.typed.header))
    return Cost(
        PROVED_IN not in certificate.proved,
        len(sizes),
        parameters(sizes, d_model, rows_of(found.typed.header, found.placed.graph)),
    )
