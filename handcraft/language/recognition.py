"""What a program that asks a pattern means: its answer after every text, and how far back it looks.

The texts of a pattern consist of the tokens without start and end tokens. A start token at the
front is followed by the empty text; a marker anywhere else is no symbol, so that what has one in
it is no text of the pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from handcraft.language.domain_rules import LARGEST_JOINT_TABLE
from handcraft.language.values import Outcome, Undefined, Value, cut
from handcraft.patterns.classes import Suffix
from handcraft.patterns.classify import Classification, classify
from handcraft.patterns.machine import (
    Answer,
    Inside,
    Machine,
    Next,
    of_acceptance,
    of_live_next,
    of_next,
    of_states,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.language.typed import Ask
    from handcraft.runtime.vocabulary import Token, Vocabulary

MOST_ENDS = 16_384
"""Ends of texts that are told apart by a table."""


def outcomes(
    ask: Ask, tokens: Sequence[Token], vocabulary: Vocabulary, before: Sequence[Token] = ()
) -> list[Outcome]:
    """Return the answer at each position of an input, by following the automaton.

    Args:
        ask: what is asked.
        tokens: what a program sees, a declared `bos` included.
        vocabulary: its tokens.
        before: what stands between `bos` and the rest and is not seen.
    """
    automaton = ask.pattern.automaton
    places = {symbol: place for place, symbol in enumerate(automaton.symbols)}
    front = 0 if vocabulary.bos is None else 1
    state: int | None = automaton.start
    text: list[Token] = []
    found: list[Outcome] = []
    for token in (*tokens[:front], *before, *tokens[front:]):
        if found or token != vocabulary.bos:
            text.append(token)
            place = places.get(token)
            state = None if state is None or place is None else automaton.transitions[state][place]
        found.append(_outcome(ask, state, text, vocabulary))
    return found[:front] + found[front + len(before) :]


def possible(ask: Ask, vocabulary: Vocabulary) -> list[Value]:
    """Return the values that the answer can have."""
    states = range(len(ask.pattern.automaton))
    found = (_at_state(ask, state, vocabulary) for state in states)
    values = list(dict.fromkeys(value for value in found if value is not None))
    return [*values, *([False] if ask.question == "is live" and False not in values else ())]


@lru_cache(maxsize=64)
def classified(ask: Ask, vocabulary: Vocabulary) -> Classification:
    """Return what is known of the machine that gives the answers."""
    return classify(_machine(ask, vocabulary))


def value_of(answer: Answer, vocabulary: Vocabulary) -> Value:
    """Return what a machine's answer is in the language."""
    match answer:
        case Next(symbols, may_end):
            assert not may_end or vocabulary.eos is not None
            ends = (vocabulary.eos,) if may_end and vocabulary.eos is not None else ()
            return vocabulary.join((*symbols, *ends))
        case Inside():
            raise AssertionError("what is asked is never where a text would leave to")
        case _:
            return answer


def deciding_length(ask: Ask, vocabulary: Vocabulary) -> int | None:
    """Return how many tokens at the end of a text decide the answer, or None for all.

    The end of a live text need not be one itself. Where it is not, only the table of all ends says
    what follows; None too where that is too large.
    """
    if ask.question == "is live":
        return None
    known = classified(ask, vocabulary)
    length = next((kind.length for kind in known.kinds if isinstance(kind, Suffix)), None)
    if length is None or ask.question != "live next":
        return length
    return length if tells_ends(known.machine, length) else None


def ends(machine: Machine, length: int) -> int:
    """Return how many ways there are to fill so many places with letters, or with nothing."""
    return int((machine.letter_count + 1) ** length)


def tells_ends(machine: Machine, length: int) -> bool:
    """Return whether all ends of texts can be told apart: as a whole, or by halves."""
    texts = sum(machine.letter_count**size for size in range(length + 1))
    return texts <= MOST_ENDS and ends(machine, (length + 1) // 2) <= LARGEST_JOINT_TABLE


def _machine(ask: Ask, vocabulary: Vocabulary) -> Machine:
    automaton, has_end = ask.pattern.automaton, vocabulary.eos is not None
    match ask.question:
        case "state":
            return of_states(automaton)
        case "accepts":
            return of_acceptance(automaton)
        case "next":
            return of_next(automaton, has_end=has_end)
        case "live next":
            return of_live_next(automaton, has_end=has_end)
        case "is live":
            raise AssertionError("what is assumed is not built")
        case _:
            assert_never(ask.question)


def _outcome(ask: Ask, state: int | None, text: list[Token], vocabulary: Vocabulary) -> Outcome:
    automaton = ask.pattern.automaton
    if ask.question == "is live":
        return state in automaton.live
    value = None if state is None else _at_state(ask, state, vocabulary)
    if value is not None:
        return value
    shown = cut(vocabulary.join(text))
    if ask.question != "live next":
        return Undefined("no-symbol", f"{shown} has a start or end token within the text")
    if state not in automaton.live:
        return Undefined("dead-text", f"no word of the pattern begins with {shown}")
    return Undefined("finished-text", f"{shown} is a word, and no longer one begins with it")


def _at_state(ask: Ask, state: int, vocabulary: Vocabulary) -> Value | None:
    """Return the answer in a state, None where what may follow has no meaning."""
    automaton = ask.pattern.automaton
    match ask.question:
        case "state":
            return automaton.names[state]
        case "accepts":
            return state in automaton.accepting
        case "is live":
            return state in automaton.live
        case "next" | "live next":
            if ask.question == "live next" and state not in automaton.live:
                return None
            may_end = vocabulary.eos is not None and state in automaton.accepting
            following = value_of(Next(automaton.following(state), may_end), vocabulary)
            return None if ask.question == "live next" and not following else following
        case _:
            assert_never(ask.question)
