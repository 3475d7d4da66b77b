"""The transition monoid of a machine: what every text does to the states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.patterns.classes import General, Monoid

if TYPE_CHECKING:
    from handcraft.patterns.machine import Machine

MOST_ELEMENTS = 200
"""Elements of a monoid; a larger one is not built."""


def general(machine: Machine) -> General:
    """Return the maps of a machine's letters, and their monoid if it is small enough."""
    size = len(machine)
    rows = [[size if target is None else target for target in row] for row in machine.rows]
    answers = machine.answers
    if any(None in row for row in machine.rows):
        rows.append([size] * machine.letter_count)
        maps = tuple(zip(*rows, strict=True))
        return General(maps, (*answers, None), monoid(maps))
    maps = tuple(zip(*rows, strict=True))
    return General(maps, answers, monoid(maps))


def monoid(maps: tuple[tuple[int, ...], ...]) -> Monoid | None:
    """Return all compositions of maps, in order of the shortest one that gives them.

    Args:
        maps: `[letter][state]`.

    Returns:
        The monoid, or None where it has more than `MOST_ELEMENTS`.
    """
    identity = tuple(range(len(maps[0])))
    found = {identity: 0}
    queue = [identity]
    for element in queue:
        for letter in maps:
            product = tuple(letter[state] for state in element)
            if product not in found:
                if len(found) == MOST_ELEMENTS:
                    return None
                found[product] = len(found)
                queue.append(product)
    products = tuple(
        tuple(found[tuple(second[state] for state in first)] for second in queue) for first in queue
    )
    return Monoid(tuple(queue), tuple(found[letter] for letter in maps), products)


def is_aperiodic(monoid: Monoid) -> bool:
    """Return whether no text acts as a cycle of states: every element's powers come to rest.

    Languages of such monoids are those of first-order logic (Schützenberger 1965; McNaughton and
    Papert 1971): no counting modulo a number is in them.
    """
    for element in range(len(monoid)):
        power = element
        for _ in range(len(monoid)):
            power = monoid.products[power][element]
        if monoid.products[power][element] != power:
            return False
    return True
