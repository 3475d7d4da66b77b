"""Which s-ops have a value on every input, at every position.

What has none somewhere may be anything there, in a model: not even one of its own values. So a
choice whose other branch is taken there must not look at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.language.domains import is_numeric
from handcraft.language.typed import Aggregate, Apply, Choose, Op, Pick, operands
from handcraft.language.values import COMPARISONS, Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.language.typed import Node

ALWAYS_DEFINED = frozenset(("+", "-", "*", "negate", "abs", "min", "max", "round", "floor", "ceil"))
ALWAYS_DEFINED |= frozenset(("indicator", "sign", "not", "truth", "str", *COMPARISONS))
"""Functions that have a value for all arguments that the checker accepts.

A number of too many bits has none either, but such numbers have no place in a finite domain.
"""


def branches(op: Op) -> tuple[int, ...]:
    """Return the operands of an operation that need no value where they are not taken."""
    match op:
        case Choose(_, then, otherwise):
            return then, otherwise
        case Pick(_, _, options):
            return options
        case _:
            return ()


def is_total(nodes: Sequence[Node], number: int, known: dict[int, bool]) -> bool:
    """Return whether an s-op or selector has a value everywhere; `known` keeps what was found."""
    if number not in known:
        known[number] = _is_total(nodes, number, known)
    return known[number]


def _is_total(nodes: Sequence[Node], number: int, known: dict[int, bool]) -> bool:
    op, table = nodes[number].op, nodes[number].table
    if isinstance(op, Apply | Choose | Pick) and table is not None and table.leaves != (number,):
        if any(isinstance(outcome, Undefined) for outcome in table.outcomes):
            return False
        return all(is_total(nodes, leaf, known) for leaf in table.leaves)
    if not all(is_total(nodes, operand, known) for operand in operands(op)):
        return False
    match op:
        case Apply(function):
            return function in ALWAYS_DEFINED
        case Pick():
            return False
        case Aggregate(selector, value, default):
            value_domain, counts = nodes[value].domain, nodes[selector].counts
            assert value_domain is not None
            assert counts is not None
            single = is_numeric(value_domain) or counts.most <= 1
            return single and (default is not None or counts.fewest > 0)
        case _:
            return True
