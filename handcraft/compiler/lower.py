"""Typed program -> dataflow graph: every s-op as directions that heads and neurons write."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.answers import answer
from handcraft.compiler.draft import Draft, StartNeededError
from handcraft.compiler.graph import CrossReadout, Graph, crossing, verify
from handcraft.compiler.sops import Sops
from handcraft.language.sequences import SOURCE, TARGET

if TYPE_CHECKING:
    from handcraft.compiler.levels import Passes
    from handcraft.language.typed import TypedProgram


def lower(program: TypedProgram, passes: Passes) -> Graph:
    """Return the graph of a program, with start tokens only where a head needs one.

    Raises:
        ProgramError: where something cannot be built; names the expression and the way out.
    """
    starts: frozenset[str] = frozenset()
    while True:
        try:
            graph = _lower(program, passes, starts)
        except StartNeededError as error:
            starts |= {error.sequence}
        else:
            verify(graph)
            return graph


def _lower(program: TypedProgram, passes: Passes, starts: frozenset[str]) -> Graph:
    draft = Draft(passes, start=TARGET in starts)
    if program.header.source is None:
        return answer(program, draft, Sops(program, draft, passes))
    encoder = Draft(passes, start=SOURCE in starts, sequence=SOURCE)
    source = Sops(program, encoder, passes)
    decoder = answer(program, draft, Sops(program, draft, passes, source))
    read = CrossReadout(crossing(decoder))
    return replace(decoder, encoder=encoder.finished(read, Fraction(0)))
