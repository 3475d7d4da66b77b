"""Any automaton: the maps of the last 1, 2, 4, ... symbols, each composed of two by a table.

The map of 2d symbols is that of the d symbols before the last d, then that of these. A map is told
as an element of the transition monoid, or by where it leads each state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.patterns.writing import Writer
    from handcraft.patterns.classes import General, Monoid


def neurons(kind: General) -> int:
    """Return the neurons of one composition by the smaller of the two ways."""
    states = len(kind.answers)
    return states**3 if kind.monoid is None else min(states**3, len(kind.monoid) ** 2)


def by_composition(writer: Writer, kind: General) -> int:
    """Return the codes of answers by composing the maps of all letters so far."""
    if kind.monoid is not None and len(kind.monoid) ** 2 <= len(kind.answers) ** 3:
        return _by_elements(writer, kind, kind.monoid)
    return _by_states(writer, kind)


def doublings(room: int) -> int:
    """Return how many compositions all prefixes of a text of so many symbols need."""
    return max(0, (room - 1).bit_length())


def _distances(writer: Writer) -> Iterator[int]:
    return (2**step for step in range(doublings(writer.room)))


def _by_elements(writer: Writer, kind: General, monoid: Monoid) -> int:
    width = len(str(len(monoid) - 1))
    names = [str(element).zfill(width) for element in range(len(monoid))]
    of_letters = {letter: names[element] for letter, element in enumerate(monoid.generators)}
    here = writer.letters(of_letters, names[0])
    possible = {0, *monoid.generators}
    for distance in _distances(writer):
        before = writer.earlier(here, distance, names[0])
        options = [
            writer.lookup(here, {names[b]: names[monoid.products[a][b]] for b in sorted(possible)})
            for a in sorted(possible)
        ]
        with writer.step(f"what the last {2 * distance} tokens do"):
            composed = writer.pick(before, [names[a] for a in sorted(possible)], options)
        here = writer.variable(composed)
        possible = {monoid.products[a][b] for a in possible for b in possible}
    answers = {
        names[element]: writer.code(answer)
        for element in sorted(possible)
        if (answer := kind.answers[monoid.elements[element][0]]) is not None
    }
    return writer.lookup(here, answers)


def _by_states(writer: Writer, kind: General) -> int:
    states = range(len(kind.answers))
    width = len(str(len(states) - 1))
    names = [str(state).zfill(width) for state in states]
    leads = [
        writer.letters(
            {letter: names[targets[state]] for letter, targets in enumerate(kind.maps)},
            names[state],
        )
        for state in states
    ]
    for distance in _distances(writer):
        before = [writer.earlier(leads[state], distance, names[state]) for state in states]
        composed = []
        for state in states:
            with writer.step(f"where the last {2 * distance} tokens lead from state {state}"):
                composed.append(writer.pick(before[state], names, leads))
        leads = [writer.variable(each) for each in composed]
    answers = {
        names[state]: writer.code(answer)
        for state, answer in enumerate(kind.answers)
        if answer is not None
    }
    return writer.lookup(leads[0], answers)
