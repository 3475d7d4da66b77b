"""From a program to models in the formats that the command line asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    from handcraft.compiler.budget import Budget
    from handcraft.compiler.pipeline import Compiled
    from handcraft.language.program import Program


@dataclass(frozen=True, slots=True)
class Proof:
    """What is to be proved, and how far apart the scores of heads are to be."""

    gap: Literal["least"] | None = None
    scale: int | None = None
    allow_unproved: bool = False


def compile_in(
    program: Program,
    formats: tuple[str, ...],
    optimize: int = 1,
    budget: Budget | None = None,
    proof: Proof = Proof(),
) -> dict[str, Compiled]:
    """Return the program compiled for each format.

    Raises:
        ProgramError: where a part of the program cannot be compiled or proved in a format, or
            it does not fit the budget.
    """
    from handcraft.compiler import pipeline

    return pipeline.compile_in(
        program,
        formats,
        optimize=optimize,
        budget=budget,
        gap=proof.gap,
        scale=proof.scale,
        allow_unproved=proof.allow_unproved,
    )
