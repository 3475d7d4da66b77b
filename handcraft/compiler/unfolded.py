"""A typed program in which every element-wise operation is a function of its own operands.

The checker composes tables: `t[x] + 1` is a function of x. Level 0 shows each step instead.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from handcraft.language.cells import evaluate
from handcraft.language.domains import Finite
from handcraft.language.totality import branches, is_total
from handcraft.language.typed import Apply, Choose, Constant, Pick, Table, TypedProgram, operands
from handcraft.language.values import Outcome, Undefined, order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.language.typed import Node

LARGEST = 2**14
"""Cells of a table of operands; what would be larger keeps the table of its leaves."""

IMPOSSIBLE = Undefined("impossible", "these operands never meet")


def unfolded(program: TypedProgram) -> TypedProgram:
    """Return the program with each operation's table over its own operands."""
    nodes = program.nodes
    total: dict[int, bool] = {}
    return replace(
        program, nodes=tuple(_unfolded(number, nodes, total) for number in range(len(nodes)))
    )


def _unfolded(number: int, nodes: Sequence[Node], total: dict[int, bool]) -> Node:
    node = nodes[number]
    op, domain = node.op, node.domain
    if not isinstance(op, Apply | Choose | Pick) or not isinstance(domain, Finite):
        return node
    if not all(is_total(nodes, branch, total) for branch in branches(op)):
        return replace(node, table=Table((number,), domain.values))
    read = operands(op)
    leaves = tuple(sorted({n for n in read if not isinstance(nodes[n].op, Constant)}))
    columns = [nodes[leaf].domain for leaf in leaves]
    lists = [c.values for c in columns if isinstance(c, Finite)]
    if len(lists) < len(columns) or not 0 < prod(map(len, lists)) <= LARGEST:
        return node
    possible = set(map(order, domain.values))
    outcomes: list[Outcome] = []
    for row in product(*lists):
        values = dict(zip(leaves, row, strict=True))
        outcome = evaluate(op, tuple(_value(n, nodes, values) for n in read))
        known = isinstance(outcome, Undefined) or order(outcome) in possible
        outcomes.append(outcome if known else IMPOSSIBLE)
    return replace(node, table=Table(leaves, tuple(outcomes)))


def _value(number: int, nodes: Sequence[Node], values: Mapping[int, Outcome]) -> Outcome:
    op = nodes[number].op
    return op.value if isinstance(op, Constant) else values[number]
