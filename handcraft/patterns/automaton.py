"""Deterministic automata: which state a text leads to, and which states are alive.

An automaton is complete: every symbol leads somewhere from every state. A state is alive where
some text leads from it to an accepting one; a text that leads to a state that is not alive is
dead, and stays dead whatever follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from handcraft.patterns.minimize import blocks, in_order, renumbered

if TYPE_CHECKING:
    from handcraft.runtime.vocabulary import Token

Name: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Automaton:
    """A complete deterministic automaton, all of whose states can be reached.

    States are numbered by the shortest text that leads to them, and among texts of one length by
    their symbols' order; hence the start is 0, and automata that differ only by numbering
    are equal.

    Attributes:
        symbols: the tokens that texts consist of, without start and end tokens.
        start: the state of the empty text.
        accepting: the states whose texts are words of the language.
        transitions: `[state][symbol]`, the next state; symbols by their place in `symbols`.
        names: the value that `state` has in each state.
        live: the states from which a word can still be reached.
    """

    symbols: tuple[Token, ...]
    start: int
    accepting: frozenset[int]
    transitions: tuple[tuple[int, ...], ...]
    names: tuple[Name, ...]
    live: frozenset[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "live", _live(self))

    def __len__(self) -> int:
        return len(self.transitions)

    @property
    def dead(self) -> frozenset[int]:
        """The states from which no word can be reached; at most one where it is minimal."""
        return frozenset(range(len(self))) - self.live

    @property
    def is_empty(self) -> bool:
        """Whether no text is a word."""
        return self.start not in self.live

    def following(self, state: int) -> tuple[Token, ...]:
        """Return the symbols that keep a text alive from a state, in the order of `symbols`."""
        targets = zip(self.symbols, self.transitions[state], strict=True)
        return tuple(symbol for symbol, target in targets if target in self.live)


def distances(automaton: Automaton) -> dict[int, int]:
    """Return how many symbols each live state is away from the nearest word."""
    known = dict.fromkeys(automaton.accepting, 0)
    while True:
        near = {
            state: 1 + min(known[target] for target in row if target in known)
            for state, row in enumerate(automaton.transitions)
            if state not in known and not known.keys().isdisjoint(row)
        }
        if not near:
            return known
        known.update(near)


def numbered(
    symbols: tuple[Token, ...],
    start: int,
    accepting: frozenset[int],
    transitions: tuple[tuple[int, ...], ...],
    names: tuple[Name, ...] | None = None,
) -> Automaton:
    """Return an automaton with its states in order, those left out that no text leads to.

    Without names the states are named by their numbers in the new order.
    """
    order = in_order(transitions, start)
    rows = renumbered(transitions, order)
    return Automaton(
        symbols,
        0,
        frozenset(place for place, state in enumerate(order) if state in accepting),
        tuple(tuple(target for target in row if target is not None) for row in rows),
        tuple(range(len(order))) if names is None else tuple(names[state] for state in order),
    )


def minimal(automaton: Automaton) -> Automaton:
    """Return the smallest automaton of the same language, its states named by their numbers."""
    block_of = blocks(
        automaton.transitions, [s in automaton.accepting for s in range(len(automaton))]
    )
    some = {block: state for state, block in enumerate(block_of)}
    number = {block: place for place, block in enumerate(some)}
    return numbered(
        automaton.symbols,
        number[block_of[automaton.start]],
        frozenset(number[block_of[state]] for state in automaton.accepting),
        tuple(
            tuple(number[block_of[target]] for target in automaton.transitions[state])
            for state in some.values()
        ),
    )


def _live(automaton: Automaton) -> frozenset[int]:
    before: list[list[int]] = [[] for _ in automaton.transitions]
    for state, row in enumerate(automaton.transitions):
        for target in row:
            before[target].append(state)
    live = set(automaton.accepting)
    queue = list(live)
    for state in queue:
        for source in before[state]:
            if source not in live:
                live.add(source)
                queue.append(source)
    return frozenset(live)
