"""Automata as rows of numbers: states that cannot be told apart become one.

A row holds, for each letter, the state that it leads to, or None where it leads out of scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Rows: TypeAlias = tuple[tuple[int | None, ...], ...]


def blocks(rows: Rows, labels: Sequence[Hashable]) -> tuple[int, ...]:
    """Return for each state the number of its block in the coarsest partition that fits.

    States of a block have the same label, and each letter leads them all into one block, or all
    out of scope (Hopcroft 1971: only the smaller half of what is split has to be looked at again).

    Args:
        rows: the automaton, `[state][letter]`.
        labels: what is seen of each state.
    """
    outside = len(rows)
    before = _predecessors(rows, outside)
    by_label: dict[Hashable, set[int]] = {}
    for state, label in enumerate(labels):
        by_label.setdefault(label, set()).add(state)
    members = [*by_label.values(), {outside}]
    block_of = [0] * (outside + 1)
    for number, states in enumerate(members):
        for state in states:
            block_of[state] = number
    letters = range(len(before))
    waiting = {(number, letter) for number in range(len(members)) for letter in letters}
    while waiting:
        splitter, letter = waiting.pop()
        hit: dict[int, set[int]] = {}
        for target in members[splitter]:
            for state in before[letter][target]:
                hit.setdefault(block_of[state], set()).add(state)
        for number, inside in hit.items():
            if len(inside) == len(members[number]):
                continue
            members[number] -= inside
            members.append(inside)
            new = len(members) - 1
            for state in inside:
                block_of[state] = new
            smaller = new if len(inside) <= len(members[number]) else number
            for each in letters:
                waiting.add((new if (number, each) in waiting else smaller, each))
    return tuple(block_of[:outside])


def _predecessors(rows: Rows, outside: int) -> list[list[list[int]]]:
    """Return `[letter][state]` -> the states that the letter leads there; `outside` is a state."""
    letters = len(rows[0])
    before: list[list[list[int]]] = [[[] for _ in range(outside + 1)] for _ in range(letters)]
    for state, row in enumerate(rows):
        for letter, target in enumerate(row):
            before[letter][outside if target is None else target].append(state)
    for letter in range(letters):
        before[letter][outside].append(outside)
    return before


def in_order(rows: Rows, start: int) -> tuple[int, ...]:
    """Return the states that can be reached, by their shortest text and that by its letters."""
    found = {start: None}
    queue = [start]
    for state in queue:
        for target in rows[state]:
            if target is not None and target not in found:
                found[target] = None
                queue.append(target)
    return tuple(queue)


def renumbered(rows: Rows, order: Sequence[int]) -> Rows:
    """Return the rows of the states in an order, which become 0, 1, ..."""
    number = {state: place for place, state in enumerate(order)}
    return tuple(
        tuple(None if target is None else number[target] for target in rows[state])
        for state in order
    )
