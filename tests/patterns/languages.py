"""The languages that patterns are tried on, their texts, and what is right after each."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from handcraft.patterns.build import automaton_of
from handcraft.patterns.simulate import run
from handcraft.patterns.tables import from_table
from handcraft.runtime.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handcraft.patterns.automaton import Automaton

Permutation: TypeAlias = tuple[int, ...]
Table: TypeAlias = dict[str, object]


def word_problem(generators: dict[str, Permutation]) -> Table:
    """Return the automaton of a group: its states are the elements, its words give the identity."""
    identity = tuple(range(len(next(iter(generators.values())))))
    names = {identity: "0"}
    queue = [identity]
    rows: Table = {}
    for element in queue:
        row = {}
        for symbol, generator in generators.items():
            target = tuple(generator[place] for place in element)
            if target not in names:
                names[target] = str(len(names))
                queue.append(target)
            row[symbol] = names[target]
        rows[names[element]] = row
    return {"start": "0", "accept": ["0"], **rows}


D3 = word_problem({"a": (1, 2, 0), "b": (0, 2, 1)})
D4 = word_problem({"a": (1, 2, 3, 0), "b": (0, 3, 2, 1)})
A5 = word_problem({"a": (1, 2, 3, 4, 0), "b": (1, 2, 0, 3, 4)})
FLIP_FLOP: Table = {
    "start": "0",
    "accept": ["1"],
    "0": {"s": "1", "r": "0", "h": "0"},
    "1": {"s": "1", "r": "0", "h": "1"},
}

LANGUAGES: dict[str, tuple[str, str | Table]] = {
    "(aab)*": ("ab", "(aab)*"),
    "(ab)*": ("ab", "(ab)*"),
    "a*b*": ("ab", "a*b*"),
    "parity": ("ab", "(aa)*"),
    "ends in abb": ("ab", "(a|b)*abb"),
    "fourth from the end": ("ab", "(a|b)*a(a|b){3}"),
    "two b": ("ab", "a*ba*ba*"),
    "even length": ("ab", "((a|b)(a|b))*"),
    "a modulo 3": ("ab", "(b|ab*ab*a)*"),
    "a modulo 5": ("ab", "(b|ab*ab*ab*ab*a)*"),
    "no bb": ("ab", "~((a|b)*bb(a|b)*)"),
    "D3": ("ab", D3),
    "D4": ("ab", D4),
    "flip-flop": ("srh", FLIP_FLOP),
    "nested": ("abcd", "(a(bc)*d)*"),
    "email": ("xy@.", r"[xy]+(\.[xy]+)*@[xy]+(\.[xy]+)+"),
    "date": ("01-", "[01]{4}-[01]{2}-[01]{2}"),
}
"""By name the symbols, and the pattern or its table."""

PYTHON = {
    name: pattern
    for name, (_, pattern) in LANGUAGES.items()
    if isinstance(pattern, str) and "~" not in pattern
}
"""The patterns that Python's `re` reads in the same way."""


def automaton(name: str) -> Automaton:
    symbols, pattern = LANGUAGES[name]
    if isinstance(pattern, str):
        return automaton_of(pattern, vocabulary("characters", symbols))
    return from_table(pattern, tuple(symbols))


def asked(pattern: str | Table) -> str:
    """Return a pattern as an argument in a program."""
    return json.dumps(pattern) if isinstance(pattern, str) else f"automaton({json.dumps(pattern)})"


def program(name: str, question: str, context: int) -> str:
    """Return the program that asks a question of a language; `predict` is one."""
    symbols, pattern = LANGUAGES[name]
    result = "predict next" if question == "predict" else f"output {question}"
    return f'vocab "{symbols}"; context {context}; {result}({asked(pattern)});'


def expected(automaton: Automaton, question: str, text: str) -> list[object]:
    """Return the right answer at each position; None where a prediction has no meaning."""
    found = run(automaton, text)
    if question == "state":
        return list(found.names)
    if question == "accepts":
        return list(found.accepted)
    if question == "next":
        return ["".join(map(str, following)) for following in found.following]
    is_single = all(len(automaton.following(state)) < 2 for state in automaton.live)
    return [
        None if not following else following[0] if is_single else following
        for following in found.following
    ]


def every_text(symbols: str, size: int) -> list[str]:
    """Return all texts of one size; every shorter one begins some."""
    return ["".join(letters) for letters in product(symbols, repeat=size)]


def walks(automaton: Automaton, size: int, count: int, seed: int = 0) -> Iterator[str]:
    """Yield texts along live states, as long as they can go on; every other one is edited once."""
    chance = Random(seed)
    for number in range(count):
        text = list(_walk(automaton, size, chance))
        if number % 2 and text:
            text[chance.randrange(len(text))] = str(chance.choice(automaton.symbols))
        yield "".join(text)


def _walk(automaton: Automaton, size: int, chance: Random) -> Iterator[str]:
    state = automaton.start
    for _ in range(size):
        following = automaton.following(state)
        if not following:
            return
        symbol = chance.choice(_unhurried(automaton, state, following))
        yield str(symbol)
        state = automaton.transitions[state][automaton.symbols.index(symbol)]


def _unhurried(automaton: Automaton, state: int, following: Sequence[object]) -> Sequence[object]:
    """Return the symbols after which the text can go on, if there are such."""
    row = automaton.transitions[state]
    going = [
        symbol
        for symbol, target in zip(automaton.symbols, row, strict=True)
        if symbol in following and automaton.following(target)
    ]
    return going or following
