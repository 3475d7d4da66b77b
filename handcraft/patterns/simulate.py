"""What an automaton says along a text: the meaning that every construction must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handcraft.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.patterns.automaton import Automaton, Name
    from handcraft.runtime.vocabulary import Token


@dataclass(frozen=True, slots=True)
class Run:
    """What an automaton says at each position of a text, that position's symbol read.

    Attributes:
        states: the number of the state.
        names: the value of `state`.
        alive: whether some word begins with the text so far.
        accepted: whether the text so far is a word.
        following: the symbols that keep the text alive, in the automaton's order.
    """

    states: tuple[int, ...]
    names: tuple[Name, ...]
    alive: tuple[bool, ...]
    accepted: tuple[bool, ...]
    following: tuple[tuple[Token, ...], ...]

    @property
    def first_dead(self) -> int | None:
        """The position of the first symbol after which no word can be reached, from 0."""
        return self.alive.index(False) if False in self.alive else None


def run(automaton: Automaton, text: Sequence[Token]) -> Run:
    """Return what an automaton says at each position of a text.

    Args:
        automaton: an automaton.
        text: its symbols, without start and end tokens.

    Raises:
        InputError: `unknown-token` where a token is none of its symbols.
    """
    places = {symbol: place for place, symbol in enumerate(automaton.symbols)}
    state = automaton.start
    states: list[int] = []
    for position, token in enumerate(text):
        if token not in places:
            message = f"`{token}` at position {position} is no symbol of the pattern"
            raise InputError("unknown-token", message)
        state = automaton.transitions[state][places[token]]
        states.append(state)
    return Run(
        tuple(states),
        tuple(automaton.names[state] for state in states),
        tuple(state in automaton.live for state in states),
        tuple(state in automaton.accepting for state in states),
        tuple(automaton.following(state) for state in states),
    )
