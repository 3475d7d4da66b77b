"""Is the answer decided by the latest resetting symbol, by counters, or by counters since then?"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

from handcraft.patterns.classes import Count, Counter, Counting, Reset
from handcraft.patterns.groups import cyclic_factors
from handcraft.patterns.periods import MOST_STEPS, least_period, sets_by_steps

if TYPE_CHECKING:
    from handcraft.patterns.machine import Answer, Machine

MOST_STEPPING = 8
"""Letters that may each add an element of their own to a group."""

MOST_LABELS = 4_096
"""Labelled states, over all resets; what needs more is not tried."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """Letters by what they do: set a value, change nothing, or step.

    Attributes:
        resets: `[letter]`, the value that it sets, or None.
        roots: `[value]`, the state of each value; value 0 is the start.
        stepping: the letters that neither reset nor hold.
    """

    resets: tuple[int | None, ...]
    roots: tuple[int, ...]
    stepping: tuple[int, ...]


def reset(machine: Machine) -> Reset | None:
    """Return how the latest resetting letter decides, if one does."""
    parts = _parted(machine, _constants(machine))
    if parts.stepping:
        return None
    return Reset(parts.resets, tuple(machine.answers[state] for state in parts.roots))


def counting(machine: Machine) -> Counting | None:
    """Return how counters decide, from the start of the text on or since a reset, if they do."""
    constants = _constants(machine)
    ways = [_parted(machine, {})]
    if constants:
        ways.append(_parted(machine, constants))
    for parts in ways:
        if parts.stepping:
            found = _by_steps(machine, parts) or _by_group(machine, parts)
            if found is not None:
                return found
    return None


def _constants(machine: Machine) -> dict[int, int]:
    """Return the letters that lead to one state from wherever they stay in scope, with it.

    Letters that change nothing are left out.
    """
    constants: dict[int, int] = {}
    for letter in range(machine.letter_count):
        targets = {row[letter] for row in machine.rows} - {None}
        if len(targets) == 1 and not _holds(machine, letter):
            constants.update((letter, target) for target in targets if target is not None)
    return constants


def _holds(machine: Machine, letter: int) -> bool:
    return all(row[letter] in (state, None) for state, row in enumerate(machine.rows))


def _parted(machine: Machine, constants: dict[int, int]) -> _Parts:
    roots = tuple(dict.fromkeys((0, *constants.values())))
    letters = range(machine.letter_count)
    return _Parts(
        tuple(roots.index(constants[each]) if each in constants else None for each in letters),
        roots,
        tuple(each for each in letters if each not in constants and not _holds(machine, each)),
    )


# All steps alike ------------------------------------------------------------------------------


def _by_steps(machine: Machine, parts: _Parts) -> Counting | None:
    """Return the counter of the steps since the latest reset, if their number decides."""
    sequences: list[tuple[int, tuple[Answer | None, ...]]] = []
    for root in parts.roots:
        found = sets_by_steps(machine, root, parts.stepping)
        if found is None:
            return None
        answers = [{machine.answers[state] for state in states} for states in found[1]]
        if any(len(several) > 1 for several in answers):
            return None
        sequences.append((found[0], tuple(next(iter(several), None) for several in answers)))
    least = [least_period(values, preperiod) for preperiod, values in sequences]
    preperiod = max(preperiod for preperiod, _ in least)
    period = lcm(*(period for _, period in least))
    if (preperiod + period) * len(least) > MOST_STEPS:
        return None
    weights = tuple(int(each in parts.stepping) for each in range(machine.letter_count))
    counter = Counter(weights, preperiod, period)
    own = [Counter(weights, *its) for its in least]
    counts = (
        Count(value, (total,), answer)
        for value, (_, values) in enumerate(sequences)
        for total in range(preperiod + period)
        for answer in [values[own[value].folded(total)]]
        if answer is not None
    )
    return Counting(parts.resets, (counter,), tuple(counts))


# Each letter a step of its own ----------------------------------------------------------------


def _by_group(machine: Machine, parts: _Parts) -> Counting | None:
    """Return the counters of the largest abelian group that labels the states, if they decide."""
    room = len(machine) * len(parts.roots) * len(parts.stepping)
    if len(parts.stepping) > MOST_STEPPING or room > MOST_LABELS:
        return None
    labels, relations = _labelled(machine, parts)
    counters: list[Counter] = []
    for modulus, weights in cyclic_factors(relations, len(parts.stepping)):
        by_letter = [0] * machine.letter_count
        for letter, weight in zip(parts.stepping, weights, strict=True):
            by_letter[letter] = weight
        counters.append(Counter(tuple(by_letter), 0, modulus))
    counts = _counts(machine, parts, labels, counters)
    if counts is None:
        return None
    for counter in tuple(counters):
        fewer = [other for other in counters if other is not counter]
        enough = _counts(machine, parts, labels, fewer)
        if enough is not None:
            counters, counts = fewer, enough
    return Counting(parts.resets, tuple(counters), counts)


def _labelled(
    machine: Machine, parts: _Parts
) -> tuple[dict[tuple[int, int], tuple[int, ...]], set[tuple[int, ...]]]:
    """Return how often each letter steps on a way to each state, and what closed ways add up to.

    Returns:
        For each value and state that can be reached from its root without a reset, the steps of a
        spanning tree; and for every edge outside of it the difference that must count as nothing.
    """
    labels: dict[tuple[int, int], tuple[int, ...]] = {}
    relations: set[tuple[int, ...]] = set()
    for value, root in enumerate(parts.roots):
        labels[value, root] = (0,) * len(parts.stepping)
        queue = [root]
        for state in queue:
            for place, letter in enumerate(parts.stepping):
                target = machine.rows[state][letter]
                if target is None:
                    continue
                here = labels[value, state]
                there = (*here[:place], here[place] + 1, *here[place + 1 :])
                known = labels.get((value, target))
                if known is None:
                    labels[value, target] = there
                    queue.append(target)
                elif known != there:
                    relations.add(tuple(a - b for a, b in zip(there, known, strict=True)))
    return labels, relations


def _counts(
    machine: Machine,
    parts: _Parts,
    labels: dict[tuple[int, int], tuple[int, ...]],
    counters: list[Counter],
) -> tuple[Count, ...] | None:
    """Return the answer for each combination of counters, or None where one has several."""
    found: dict[tuple[int, tuple[int, ...]], Answer] = {}
    for (value, state), steps in labels.items():
        totals = tuple(
            counter.folded(
                sum(
                    counter.weights[letter] * times
                    for letter, times in zip(parts.stepping, steps, strict=True)
                )
            )
            for counter in counters
        )
        answer = machine.answers[state]
        if found.setdefault((value, totals), answer) != answer:
            return None
    return tuple(Count(value, totals, answer) for (value, totals), answer in found.items())
