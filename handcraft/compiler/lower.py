"""Typed program -> dataflow graph: every s-op as directions that heads and neurons write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.answers import answer
from handcraft.compiler.draft import Draft, StartNeededError
from handcraft.compiler.sops import Sops

if TYPE_CHECKING:
    from handcraft.compiler.graph import Graph
    from handcraft.compiler.levels import Passes
    from handcraft.language.typed import TypedProgram


def lower(program: TypedProgram, passes: Passes) -> Graph:
    """Return the graph of a program, with a start token only where a head needs one.

    Raises:
        ProgramError: where something cannot be built; names the expression and the way out.
    """
    try:
        return _lower(program, passes, start=False)
    except StartNeededError:
        return _lower(program, passes, start=True)


def _lower(program: TypedProgram, passes: Passes, *, start: bool) -> Graph:
    draft = Draft(passes, start=start)
    return answer(program, draft, Sops(program, draft, passes))
