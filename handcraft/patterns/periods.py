"""Steps without a choice: where a number of steps may lead, and how that repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from handcraft.patterns.machine import Machine

T = TypeVar("T")

MOST_STEPS = 2_048
"""Steps after which something must have repeated; what takes longer is not tried."""


def sets_by_steps(
    machine: Machine, state: int, letters: Collection[int]
) -> tuple[int, tuple[frozenset[int], ...]] | None:
    """Return the states that n of these letters may lead to, for every n.

    Returns:
        From which n on the sets are periodic, and the sets up to the end of the first period; None
        where that takes more than `MOST_STEPS`.
    """
    sets = [frozenset({state})]
    first = {sets[0]: 0}
    while len(sets) <= MOST_STEPS:
        reached = {machine.rows[each][letter] for each in sets[-1] for letter in letters}
        following = frozenset(each for each in reached if each is not None)
        if following in first:
            return first[following], tuple(sets)
        first[following] = len(sets)
        sets.append(following)
    return None


def least_period(values: Sequence[T], preperiod: int) -> tuple[int, int]:
    """Return the least preperiod and period of an infinite sequence.

    Args:
        values: the sequence up to the end of some period.
        preperiod: where that period begins.
    """
    cycle = values[preperiod:]
    size = len(cycle)
    period = next(p for p in range(1, size + 1) if size % p == 0 and cycle[p:] == cycle[: size - p])
    while preperiod and values[preperiod - 1] == values[preperiod - 1 + period]:
        preperiod -= 1
    return preperiod, period
