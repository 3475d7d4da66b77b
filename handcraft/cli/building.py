"""From a program to models in the formats that the command line asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handcraft.compiler.budget import Budget
    from handcraft.compiler.pipeline import Compiled
    from handcraft.language.program import Program


def compile_in(
    program: Program,
    formats: tuple[str, ...],
    optimize: int = 1,
    budget: Budget | None = None,
) -> dict[str, Compiled]:
    """Return the program compiled for each format.

    Raises:
        ProgramError: where a part of the program cannot be compiled, a format cannot hold it, or
            it does not fit the budget.
    """
    from handcraft.compiler.pipeline import compile_program

    return {
        name: compile_program(program, optimize=optimize, dtype=name, budget=budget)
        for name in formats
    }
