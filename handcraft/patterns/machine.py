"""What is to be known after each text: an answer at each state, on all texts or on live ones.

`state`, `accepts` and `next` ask different things of one automaton, and what is asked decides how
simple the answer is. Symbols that act alike are one letter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from handcraft.errors import ProgramError
from handcraft.patterns.minimize import Rows, blocks, in_order, renumbered

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from handcraft.patterns.automaton import Automaton, Name
    from handcraft.runtime.vocabulary import Token


@dataclass(frozen=True, slots=True)
class Next:
    """What may follow a text: these symbols, and its end where it is a word."""

    symbols: tuple[Token, ...]
    may_end: bool


@dataclass(frozen=True, slots=True)
class Inside:
    """The answer at a state that is left for good by some letters, and where those lead.

    Attributes:
        answer: the answer in the state.
        exits: for each letter the answer that holds from then on, or None where it stays inside.
    """

    answer: Answer
    exits: tuple[Answer | None, ...]


Answer: TypeAlias = "Name | bool | Next | Inside"


@dataclass(frozen=True, slots=True)
class Machine:
    """An answer after every text in scope, with the fewest states for that.

    Attributes:
        symbols: the tokens that texts consist of.
        letters: `[symbol]`, the symbol's letter: symbols that act alike share one.
        rows: `[state][letter]`, the next state, or None where the text leaves the scope. The start
            is 0, every state can be reached, and from every state either all is decided or some
            text still tells it from the others.
        answers: `[state]`, what is to be known there.
    """

    symbols: tuple[Token, ...]
    letters: tuple[int, ...]
    rows: Rows
    answers: tuple[Answer, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def letter_count(self) -> int:
        """How many letters there are."""
        return len(self.rows[0])

    def named(self, letter: int) -> tuple[Token, ...]:
        """Return the symbols of a letter."""
        pairs = zip(self.symbols, self.letters, strict=True)
        return tuple(symbol for symbol, its in pairs if its == letter)


def of_states(automaton: Automaton) -> Machine:
    """Return the machine that knows the state after every text."""
    return _machine(automaton, automaton.names, range(len(automaton)))


def of_acceptance(automaton: Automaton) -> Machine:
    """Return the machine that knows of every text whether it is a word."""
    states = range(len(automaton))
    return _machine(automaton, [s in automaton.accepting for s in states], states)


def of_next(automaton: Automaton, *, has_end: bool) -> Machine:
    """Return the machine that knows what may follow every text; nothing follows a dead one.

    Args:
        automaton: an automaton.
        has_end: whether there is a token that ends a text where it is a word.
    """
    return _machine(automaton, _followers(automaton, has_end), range(len(automaton)))


def of_live_next(automaton: Automaton, *, has_end: bool) -> Machine:
    """Return the machine that knows what may follow every live text; dead ones are out of scope.

    Args:
        automaton: an automaton.
        has_end: whether there is a token that ends a text where it is a word.

    Raises:
        ProgramError: `empty-language` where no text is live.
    """
    if automaton.is_empty:
        message = "no text at all is of this automaton, so nothing may ever follow"
        help_ = "name states in `accept` that the start leads to"
        raise ProgramError("empty-language", message, help=help_)
    return _machine(automaton, _followers(automaton, has_end), automaton.live)


def smallest(machine: Machine) -> Machine:
    """Return the machine with its states joined that answer alike from there on, in order."""
    block_of = blocks(machine.rows, machine.answers)
    some = {block: state for state, block in enumerate(block_of)}
    number = {block: place for place, block in enumerate(some)}
    rows = tuple(
        tuple(None if t is None else number[block_of[t]] for t in machine.rows[state])
        for state in some.values()
    )
    order = in_order(rows, number[block_of[0]])
    answers = [machine.answers[state] for state in some.values()]
    return Machine(
        machine.symbols,
        machine.letters,
        renumbered(rows, order),
        tuple(answers[state] for state in order),
    )


def _followers(automaton: Automaton, has_end: bool) -> tuple[Next, ...]:
    return tuple(
        Next(automaton.following(state), has_end and state in automaton.accepting)
        for state in range(len(automaton))
    )


def _machine(automaton: Automaton, answers: Sequence[Answer], scope: Collection[int]) -> Machine:
    order = [automaton.start, *(state for state in scope if state != automaton.start)]
    number = {state: place for place, state in enumerate(order)}
    rows = tuple(tuple(map(number.get, automaton.transitions[state])) for state in order)
    letters = tuple(range(len(automaton.symbols)))
    every = Machine(automaton.symbols, letters, rows, tuple(answers[state] for state in order))
    return _with_letters_joined(smallest(every))


def _with_letters_joined(machine: Machine) -> Machine:
    columns: dict[tuple[int | None, ...], int] = {}
    merged = [
        columns.setdefault(column, len(columns)) for column in zip(*machine.rows, strict=True)
    ]
    letters = tuple(merged[letter] for letter in machine.letters)
    return Machine(machine.symbols, letters, tuple(zip(*columns, strict=True)), machine.answers)
