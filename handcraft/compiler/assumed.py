"""What a program assumes, used: combinations of values that are out of scope do not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handcraft.language.cells import broadcast
from handcraft.language.domains import Finite
from handcraft.language.typed import Table, TypedProgram
from handcraft.language.values import Undefined, truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.language.typed import Node
    from handcraft.language.values import Outcome

OUT_OF_SCOPE = Undefined("out-of-scope", "the program assumes that this does not happen")


def assumed(program: TypedProgram) -> TypedProgram:
    """Return the program with outcomes left open where an assumption fails.

    An assumption that is a function of some s-ops says so of every function of these.
    """
    nodes = program.nodes
    tables = [nodes[number].table for number in program.assumptions]
    known = [t for t in tables if t is not None and t.leaves]
    if not known:
        return program
    return replace(program, nodes=tuple(_opened(node, known, nodes) for node in nodes))


def _opened(node: Node, assumptions: Sequence[Table], nodes: Sequence[Node]) -> Node:
    table = node.table
    if table is None:
        return node
    outcomes = table.outcomes
    for assumption in assumptions:
        if not set(assumption.leaves) <= set(table.leaves):
            continue
        sizes = [_size(nodes[leaf]) for leaf in table.leaves]
        holds = map(_holds, broadcast(assumption, table.leaves, sizes))
        outcomes = tuple(
            outcome if kept else OUT_OF_SCOPE for outcome, kept in zip(outcomes, holds, strict=True)
        )
    if all(isinstance(outcome, Undefined) for outcome in outcomes):
        return node
    return replace(node, table=Table(table.leaves, outcomes))


def _holds(assumption: Outcome) -> bool:
    return not isinstance(assumption, Undefined) and truth(assumption)


def _size(node: Node) -> int:
    assert isinstance(node.domain, Finite)
    return len(node.domain.values)
