"""Which cheap constructions a machine has: every kind that holds, the cheapest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handcraft.patterns.classes import General, Guarded, Kind, Plain
from handcraft.patterns.counting import counting, reset
from handcraft.patterns.machine import Answer, Inside, Machine, smallest
from handcraft.patterns.monoid import general, is_aperiodic
from handcraft.patterns.suffix import position, suffix, suffix_at_position

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Classification:
    """What is known of a machine.

    Attributes:
        machine: the machine.
        kinds: the kinds that hold, `General` always and last. Suffix, position, reset and counting
            come first, then what needs two of them, then what has exits.
        is_aperiodic: whether no text acts as a cycle of states; None where the monoid is too large
            to tell.
    """

    machine: Machine
    kinds: tuple[Kind, ...]
    is_aperiodic: bool | None

    @property
    def general(self) -> General:
        """The construction that every machine has."""
        last = self.kinds[-1]
        assert isinstance(last, General)
        return last


def classify(machine: Machine) -> Classification:
    """Return every kind that a machine is of."""
    plain = tuple(_plain(machine))
    guarded = _guarded(machine)
    every = general(machine)
    return Classification(
        machine,
        (*plain, *guarded, every),
        None if every.monoid is None else is_aperiodic(every.monoid),
    )


def _plain(machine: Machine) -> Iterator[Plain]:
    definite = suffix(machine)
    positional = position(machine)
    for found in (definite, positional, reset(machine), counting(machine)):
        if found is not None:
            yield found
    if definite is None and positional is None:
        both = suffix_at_position(machine)
        if both is not None:
            yield both


def _guarded(machine: Machine) -> tuple[Guarded, ...]:
    """Return the kinds of a machine without the states that no text leaves."""
    final = {
        state
        for state, row in enumerate(machine.rows)
        if state and all(target in (state, None) for target in row)
    }
    if not final:
        return ()
    inner = _without(machine, final)
    exits = tuple(machine.answers[state] for state in sorted(final))
    return tuple(Guarded(kind, exits) for kind in _plain(inner))


def _without(machine: Machine, final: set[int]) -> Machine:
    kept = [state for state in range(len(machine)) if state not in final]
    number = {state: place for place, state in enumerate(kept)}

    def exit_of(target: int | None) -> Answer | None:
        return machine.answers[target] if target is not None and target in final else None

    return smallest(
        Machine(
            machine.symbols,
            machine.letters,
            tuple(
                tuple(None if t is None else number.get(t) for t in machine.rows[state])
                for state in kept
            ),
            tuple(
                Inside(machine.answers[state], tuple(map(exit_of, machine.rows[state])))
                for state in kept
            ),
        )
    )
