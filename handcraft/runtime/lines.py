"""A model line by line: which heads, neurons and directions do what a line of the program says.

All of it stands in the description; numpy is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handcraft.runtime.description import Description, Operation, ResidualVariable


@dataclass(frozen=True, slots=True)
class SourceLine:
    """What does the work of one line.

    Attributes:
        line: its number; None for what comes from no line of the program.
        operations: the heads, neurons, and the unembedding, in the order of the layers.
        variables: the residual variables that hold its values.
        folded: what became of a line without any of these.
    """

    line: int | None
    operations: tuple[Operation, ...]
    variables: tuple[ResidualVariable, ...]
    folded: str | None = None


def by_line(description: Description) -> tuple[SourceLine, ...]:
    """Return the lines in their order; last, if there is any, what comes from no line."""
    folded = {each.line: each.text for each in description.folded}
    found = {variable.line for variable in description.residual}
    for operation in description.operations:
        found.update(_lines(operation))
    numbers = sorted({line for line in found if line is not None} | folded.keys())
    lines: Iterable[int | None] = (*numbers, None) if None in found else numbers
    return tuple(
        SourceLine(
            line=line,
            operations=tuple(o for o in description.operations if line in _lines(o)),
            variables=tuple(v for v in description.residual if v.line == line),
            folded=None if line is None else folded.get(line),
        )
        for line in lines
    )


def _lines(operation: Operation) -> tuple[int | None, ...]:
    return operation.line, *operation.others
