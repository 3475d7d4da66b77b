"""Which s-ops have another value at every position, so that an equality takes at most one key.

Theorem: if a selector is a strict total order of the positions, the numbers of keys that it
selects are 0, 1, 2, ..., each once. An order by any value, ties broken by a strict total order,
is one; so is an order by values that differ at every position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.language.typed import AllOf, AnyOf, Compare, Indices, Width
from handcraft.language.values import Undefined, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.language.typed import Node


def is_distinct(number: int, nodes: Sequence[Node], *, causal: bool) -> bool:
    """Return whether no two positions can have the same value of an s-op."""
    node = nodes[number]
    match node.op:
        case Indices():
            return True
        case Width(selector):
            return not causal and _is_total_order(selector, nodes)
        case _:
            pass
    if node.table is None or len(node.table.leaves) != 1 or node.table.leaves[0] == number:
        return False
    values = {order(o) for o in node.table.outcomes if not isinstance(o, Undefined)}
    one_to_one = len(values) == len(node.table.outcomes)
    return one_to_one and is_distinct(node.table.leaves[0], nodes, causal=causal)


def _is_total_order(selector: int, nodes: Sequence[Node]) -> bool:
    op = nodes[selector].op
    match op:
        case Compare("<" | ">", key, query) if key == query:
            return is_distinct(key, nodes, causal=False)
        case AnyOf(left, right):
            return _breaks_ties(left, right, nodes) or _breaks_ties(right, left, nodes)
        case _:
            return False


def _breaks_ties(first: int, second: int, nodes: Sequence[Node]) -> bool:
    """Return whether `first` orders by a value and `second` what is equal there, totally."""
    by, ties = nodes[first].op, nodes[second].op
    if not isinstance(by, Compare) or by.op not in "<>" or by.key != by.query:
        return False
    if not isinstance(ties, AllOf):
        return False
    same = Compare("==", by.key, by.key)
    parts = (ties.left, ties.right)
    return any(
        nodes[here].op == same and _is_total_order(other, nodes)
        for here, other in (parts, parts[::-1])
    )
