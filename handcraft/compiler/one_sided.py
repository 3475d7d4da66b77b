"""A bidirectional program whose selectors never take a later key, as a causal one.

The causal mask then hides nothing that is selected, and says for free what a selector such as
`select(indices, indices, <=)` would need a product for each position for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handcraft.compiler.facts import Facts
from handcraft.compiler.levels import MAP_FOLDING
from handcraft.compiler.selection import Term, TooManyTermsError
from handcraft.language.typed import (
    Aggregate,
    Best,
    First,
    Latest,
    Output,
    Total,
    TypedProgram,
    Width,
    operands,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.selection import Selection


def one_sided(program: TypedProgram) -> TypedProgram:
    """Return the program under causal attention, if it means the same there."""
    if program.causal or not isinstance(program.result, Output):
        return program
    selection = Facts(program, frozenset((MAP_FOLDING,))).selection
    if not all(_looks_back(selector, selection) for selector in _selectors(program)):
        return program
    return replace(program, header=replace(program.header, attention="causal"))


def _selectors(program: TypedProgram) -> Iterator[int]:
    """Yield the selectors by which the result gathers something."""
    assert isinstance(program.result, Output)
    needed = [program.result.value]
    seen: set[int] = set()
    while needed:
        number = needed.pop()
        if number in seen:
            continue
        seen.add(number)
        op = program.nodes[number].op
        needed.extend(operands(op))
        if isinstance(op, Aggregate | Total | Width | Best | First | Latest):
            yield op.selector


def _looks_back(selector: int, selection: Selection) -> bool:
    op = selection.program.nodes[selector].op
    if isinstance(op, Best | First | Latest):
        return _looks_back(op.selector, selection)
    try:
        terms = selection.terms(selector)
    except TooManyTermsError:
        return False
    return all(_is_past(term, selection) for term in terms)


def _is_past(term: Term, selection: Selection) -> bool:
    rows = term.get((selection.position, selection.position))
    return rows is not None and all(row >> (i + 1) == 0 for i, row in enumerate(rows))
