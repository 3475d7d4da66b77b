"""Is the answer decided by the last symbols, by their number, or by both together?"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, TypeAlias

from handcraft.patterns.classes import Case, Position, Suffix, SuffixAtPosition
from handcraft.patterns.periods import least_period, sets_by_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from handcraft.patterns.machine import Machine

LONGEST_SUFFIX = 32
"""Symbols that a suffix may have."""

MOST_CASES = 4_096
"""Cases of a suffix; what needs more is no cheap construction."""

MOST_MET = 1_000_000
"""Pairs of states, counted at each number of symbols, that are gone through."""

MOST_PAIRS = 100_000
"""Pairs of states and letters that are looked at; larger machines are not tried."""

Pair: TypeAlias = tuple[int, int]


def suffix(machine: Machine) -> Suffix | None:
    """Return how the last symbols decide, with as few of them as possible, if they do."""
    states = range(len(machine))
    if not any(None in row for row in machine.rows):
        length = _length_of_complete(machine)
    elif len(states) ** 2 * machine.letter_count <= 2 * MOST_PAIRS:
        length = _length(machine, combinations(states, 2))
    else:
        return None
    if length is None:
        return None
    cases = _collected(_cases(machine, lambda _: states))
    return None if cases is None else Suffix(length, cases)


def position(machine: Machine) -> Position | None:
    """Return how the number of symbols decides, if it does."""
    found = sets_by_steps(machine, 0, range(machine.letter_count))
    if found is None:
        return None
    preperiod, sets = found
    answers = [{machine.answers[state] for state in states} for states in sets]
    if any(len(several) > 1 for several in answers):
        return None
    single = tuple(next(iter(several), None) for several in answers)
    preperiod, period = least_period(single, preperiod)
    return Position(preperiod, period, single[: preperiod + period])


def suffix_at_position(machine: Machine) -> SuffixAtPosition | None:
    """Return how the number of symbols and the last of them decide together, if they do."""
    found = sets_by_steps(machine, 0, range(machine.letter_count))
    if found is None:
        return None
    preperiod, sets = found
    if sum(comb(len(states), 2) for states in sets) > MOST_MET:
        return None
    pairs = {pair for states in sets for pair in combinations(sorted(states), 2)}
    if len(pairs) * machine.letter_count > MOST_PAIRS:
        return None
    length = _length(machine, pairs)
    if length is None:
        return None
    period = len(sets) - preperiod
    every: list[tuple[Case, ...]] = []
    room = MOST_CASES
    for size in range(preperiod + length + period):

        def before(symbols: int, size: int = size) -> Collection[int]:
            steps = size - symbols
            return sets[steps if steps < len(sets) else preperiod + (steps - preperiod) % period]

        cases = _collected(_cases(machine, before, size), room)
        if cases is None:
            return None
        room -= len(cases)
        every.append(cases)
    return SuffixAtPosition(length, preperiod + length, period, tuple(every))


def _length_of_complete(machine: Machine) -> int | None:
    """Return how many letters it takes until all states have become one; None: no number.

    In a complete machine any two states differ in some answer sooner or later. States that become
    one within n + 1 letters are those that each letter leads to states which do so within n.
    """
    blocks = list(range(len(machine)))
    for length in range(LONGEST_SUFFIX + 1):
        if len(set(blocks)) == 1:
            return length
        numbers: dict[tuple[int, ...], int] = {}
        blocks = [
            numbers.setdefault(tuple(blocks[t] for t in row if t is not None), len(numbers))
            for row in machine.rows
        ]
    return None


def _length(machine: Machine, pairs: Iterable[Pair]) -> int | None:
    """Return how many letters it takes until no pair's answers differ any more; None: no number.

    Args:
        machine: a machine.
        pairs: pairs of different states, the smaller one first; where a letter leads from a pair
            is one of them too, if it is a pair.
    """
    before: dict[Pair, list[Pair]] = {pair: [] for pair in pairs}
    for pair in before:
        for after in _after(machine, pair):
            before[after].append(pair)
    answers = machine.answers
    waiting = [pair for pair in before if answers[pair[0]] != answers[pair[1]]]
    matters = set(waiting)
    for pair in waiting:
        for earlier in before[pair]:
            if earlier not in matters:
                matters.add(earlier)
                waiting.append(earlier)
    open_ways = {pair: sum(a in matters for a in _after(machine, pair)) for pair in matters}
    ends = [pair for pair, ways in open_ways.items() if not ways]
    length, settled = 0, 0
    while ends:
        length += 1
        settled += len(ends)
        further: list[Pair] = []
        for pair in ends:
            for earlier in before[pair]:
                open_ways[earlier] -= 1
                if not open_ways[earlier]:
                    further.append(earlier)
        ends = further
    return length if settled == len(matters) and length <= LONGEST_SUFFIX else None


def _after(machine: Machine, pair: Pair) -> Iterator[Pair]:
    """Yield the pairs of different states that letters lead to from a pair."""
    for first, second in zip(machine.rows[pair[0]], machine.rows[pair[1]], strict=True):
        if first is not None and second is not None and first != second:
            yield (first, second) if first < second else (second, first)


def _cases(
    machine: Machine, before: Callable[[int], Collection[int]], size: int | None = None
) -> Iterator[Case]:
    """Yield the shortest ends of texts that decide the answer, and those texts that are shorter.

    Args:
        machine: a machine.
        before: gives for a number of symbols the states in which texts may be before the last of
            so many.
        size: how many symbols the texts have; any number where it is None.
    """
    waiting: list[tuple[tuple[int, ...], tuple[int | None, ...]]] = [
        ((), tuple(range(len(machine))))
    ]
    while waiting:
        letters, leads = waiting.pop()
        possible = {leads[state] for state in before(len(letters))} - {None}
        answers = {machine.answers[state] for state in possible if state is not None}
        if len(answers) == 1:
            yield Case(letters, False, next(iter(answers)))
        elif answers:
            whole = leads[0]
            if size is None and whole is not None:
                yield Case(letters, True, machine.answers[whole])
            for letter in reversed(range(machine.letter_count)):
                targets = [row[letter] for row in machine.rows]
                longer = tuple(None if target is None else leads[target] for target in targets)
                waiting.append(((letter, *letters), longer))


def _collected(cases: Iterator[Case], room: int = MOST_CASES) -> tuple[Case, ...] | None:
    found: list[Case] = []
    for case in cases:
        if len(found) == room:
            return None
        found.append(case)
    return tuple(found)
