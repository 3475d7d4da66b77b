"""Tables of element-wise operations: their cells, and the value in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from handcraft.language.typed import Apply, Choose, Pick
from handcraft.language.values import Outcome, Undefined, apply, cut, truth

if TYPE_CHECKING:
    from handcraft.language.typed import Table


def broadcast(table: Table, leaves: tuple[int, ...], sizes: list[int]) -> list[Outcome]:
    """Return a table's outcomes for every tuple of the values of more leaves."""
    if table.leaves == leaves:
        return list(table.outcomes)
    index = [0]
    stride = {}
    step = 1
    by_leaf = dict(zip(leaves, sizes, strict=True))
    for leaf in reversed(table.leaves):
        stride[leaf] = step
        step *= by_leaf[leaf]
    for leaf, size in zip(leaves, sizes, strict=True):
        if size > 1:
            weight = stride.get(leaf, 0)
            index = [base + weight * v for base in index for v in range(size)]
    return [table.outcomes[i] for i in index]


def evaluate(op: Apply | Choose | Pick, row: tuple[Outcome, ...]) -> Outcome:
    """Return the value of an element-wise operation whose operands have these values.

    The operands stand in the order of `typed.operands`.
    """
    match op:
        case Apply(function):
            return apply(function, row)
        case Choose():
            condition, then, otherwise = row
            if isinstance(condition, Undefined):
                return condition
            return then if truth(condition) else otherwise
        case Pick(_, values):
            key = row[0]
            if isinstance(key, Undefined):
                return key
            for value, option in zip(values, row[1:], strict=True):
                if value == key:
                    return option
            return Undefined("missing-key", f"the table has no entry for {cut(key)}")
        case _:
            assert_never(op)
