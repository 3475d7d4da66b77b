"""A model line by line: which heads, neurons and directions do what a line of the program says.

All of it stands in the description; numpy is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    operations: dict[int | None, list[Operation]] = {}
    for operation in description.operations:
        for line in dict.fromkeys((operation.line, *operation.others)):
            operations.setdefault(line, []).append(operation)
    variables: dict[int | None, list[ResidualVariable]] = {}
    for variable in description.residual:
        variables.setdefault(variable.line, []).append(variable)
    folded: dict[int | None, str] = {each.line: each.text for each in description.folded}
    found = operations.keys() | variables.keys() | folded.keys()
    numbers: list[int | None] = [*sorted(line for line in found if line is not None)]
    return tuple(
        SourceLine(
            line=line,
            operations=tuple(operations.get(line, ())),
            variables=tuple(variables.get(line, ())),
            folded=folded.get(line),
        )
        for line in [*numbers, *([None] if None in found else [])]
    )
