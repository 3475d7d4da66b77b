"""Random patterns and automata: every construction says what following the automaton says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from languages import every_text, expected
from strategies import automata, patterns, walks, written

import handcraft
from handcraft.compiler.patterns.realize import Cost, realized
from handcraft.errors import ProgramError
from handcraft.language.interpret import interpret
from handcraft.language.values import Undefined
from handcraft.patterns.build import automaton_of
from handcraft.patterns.tables import from_table
from handcraft.runtime.vocabulary import vocabulary

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from handcraft.language.typed import TypedProgram
    from handcraft.patterns.automaton import Automaton

AB = vocabulary("characters", "ab")
NO_PREDICTION = ("empty-language", "no-meaning")

questions = st.sampled_from(["state", "accepts", "next", "predict"])


@st.composite
def asked(draw: DrawFn, most: int) -> tuple[str, Automaton]:
    """Draw a pattern or an automaton as an argument in a program, and its automaton."""
    if draw(st.booleans()):
        text = written(draw(patterns()))
        try:
            return json.dumps(text), automaton_of(text, AB)
        except ProgramError:
            return '"(aab)*"', automaton_of("(aab)*", AB)
    drawn = draw(automata(most=most))
    table = {
        "start": "s0",
        "accept": [f"s{state}" for state in sorted(drawn.accepting)],
        **{
            f"s{state}": {s: f"s{target}" for s, target in zip("ab", row, strict=True)}
            for state, row in enumerate(drawn.transitions)
        },
    }
    return f"automaton({json.dumps(table)})", from_table(table, tuple("ab"))


def constructions(program: TypedProgram) -> list[TypedProgram]:
    """Return a program with each construction of its pattern; the chosen one is the last."""
    tried: list[TypedProgram] = []

    def cost(written: TypedProgram) -> Cost:
        tried.append(written)
        return Cost(is_unproved=True, layers=0, parameters=0)

    chosen = realized(program, cost).typed
    return [*tried, chosen]


def parsed(argument: str, question: str, context: int) -> handcraft.Program | None:
    """Return a program that asks a question; None where nothing can ever be predicted."""
    result = "predict next" if question == "predict" else f"output {question}"
    try:
        return handcraft.parse(f'vocab "ab"; context {context}; {result}({argument});')
    except ProgramError as error:
        if question == "predict" and error.code in NO_PREDICTION:
            return None
        raise


@settings(max_examples=40)
@given(asked(most=5), questions)
def test_every_construction_means_what_the_automaton_says(
    drawn: tuple[str, Automaton], question: str
) -> None:
    argument, automaton = drawn
    program = parsed(argument, question, 6)
    if program is None:
        return
    for typed in constructions(program.typed):
        for text in every_text("ab", 6)[::5]:
            right = expected(automaton, question, text)
            answers = interpret(typed, tuple(text)).answers
            for r, a in zip(right, answers, strict=True):
                is_open = isinstance(a, Undefined) and is_guarded(typed)
                assert r is None or is_open or a == r, (argument, text)


def is_guarded(program: TypedProgram) -> bool:
    """Return whether something is left open: what holds inside, after a text has left for good."""
    return any("leaves for good" in (node.words or "") for node in program.nodes)


@settings(max_examples=15)
@given(asked(most=5), questions, st.sampled_from([0, 1, 1, 2]))
def test_the_chosen_construction_is_exact_in_float32(
    drawn: tuple[str, Automaton], question: str, level: int
) -> None:
    argument, automaton = drawn
    program = parsed(argument, question, 7)
    if program is None:
        return
    model = handcraft.compile(program, optimize=level)
    texts = every_text("ab", 7)[::3]
    for text, found in zip(texts, model.run_batch(texts), strict=True):
        right = expected(automaton, question, text)
        told = [None if r is None else f for r, f in zip(right, found, strict=True)]
        assert told == right, (argument, text)


@settings(max_examples=12)
@given(st.data())
def test_twelve_states_along_walks(data: st.DataObject) -> None:
    argument, automaton = data.draw(asked(most=12))
    program = parsed(argument, "state", 16)
    assert program is not None
    model = handcraft.compile(program)
    for _ in range(5):
        text = "".join(map(str, data.draw(walks(automaton, 16))))
        if text:
            assert model.run(text) == expected(automaton, "state", text)
