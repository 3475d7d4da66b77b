"""From a program to models in the formats that the command line asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handcraft.compiler.pipeline import Compiled
    from handcraft.language.program import Program


def compile_in(program: Program, formats: tuple[str, ...]) -> dict[str, Compiled]:
    """Return the program compiled for each format.

    Raises:
        ProgramError: where a part of the program cannot be compiled, or a format cannot hold it.
    """
    from handcraft.compiler.pipeline import compile_program

    return {name: compile_program(program, dtype=name) for name in formats}
