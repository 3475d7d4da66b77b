"""Patterns in programs: `state`, `accepts`, `next` and `automaton`, and what `next` predicts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language.compile_time import Arguments, Automaton, Builtin, Sop, Thing, describe
from handcraft.language.literals import places_in, read_text
from handcraft.language.recognition import classified, value_of
from handcraft.language.typed import Allow, Ask, Pattern, Pick, Predict
from handcraft.patterns.alphabet import symbols_of
from handcraft.patterns.build import automaton_of
from handcraft.patterns.machine import Next
from handcraft.patterns.tables import from_table
from handcraft.runtime.guide import Guide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from handcraft.language.builder import Builder
    from handcraft.language.expressions import Evaluator
    from handcraft.language.typed import Node, Question
    from handcraft.language.values import Value
    from handcraft.patterns import automaton
    from handcraft.runtime.vocabulary import Token, Vocabulary


def functions() -> tuple[Builtin, ...]:
    """Return the functions that read patterns."""
    return (
        Builtin("state", ("pattern",), 1, _asked("state")),
        Builtin("accepts", ("pattern",), 1, _asked("accepts")),
        Builtin("next", ("pattern",), 1, _asked("next")),
        Builtin("automaton", ("table",), 1, _automaton),
    )


def asks_next(builder: Builder, node: int) -> Ask | None:
    """Return what a node asks if it is `next(...)`, else None."""
    op = builder.nodes[node].op
    return op if isinstance(op, Ask) and op.question == "next" else None


def guiding(nodes: Sequence[Node]) -> int | None:
    """Return the node that a prediction of `next(...)` reads, if there is one."""
    return next(
        (
            number
            for number, node in enumerate(nodes)
            if isinstance(node.op, Ask) and node.op.question == "live next"
        ),
        None,
    )


def guide(ask: Ask) -> Guide:
    """Return which texts a prediction of `next(...)` can go on with."""
    automaton = ask.pattern.automaton
    live = sorted(automaton.live)
    number = {state: place for place, state in enumerate(live)}
    return Guide(
        automaton.symbols,
        tuple(tuple(map(number.get, automaton.transitions[state])) for state in live),
        tuple(number[state] for state in live if state in automaton.accepting),
    )


def prediction(builder: Builder, node: int, span: Span) -> Predict | Allow:
    """Return the prediction of what a node, `next(...)`, says of texts that a word begins with.

    Where only one token is possible each time, it is an ordinary prediction.

    Raises:
        ProgramError: `no-meaning` where nothing can ever follow.
    """
    asked = builder.nodes[node].op
    assert isinstance(asked, Ask)
    ask = Ask(asked.pattern, "live next")
    sets = _sets(ask, builder.header.vocabulary, span)
    live = builder.add(ask, span)
    if all(len(tokens) == 1 for tokens in sets.values()):
        said = {value: tokens[0] for value, tokens in sets.items()}
        return Predict(_table(builder, live, said, span), span)
    named = dict.fromkeys(token for tokens in sets.values() for token in tokens)
    choices = []
    for token in (each for each in builder.header.vocabulary.tokens if each in named):
        condition = _table(builder, live, {v: token in tokens for v, tokens in sets.items()}, span)
        choices.append((builder.constant(token, span), condition))
    return Allow(tuple(choices), span)


def is_live(builder: Builder, node: int, span: Span) -> int:
    """Return the node that says whether a word begins with the text so far."""
    asked = builder.nodes[node].op
    assert isinstance(asked, Ask)
    return builder.add(Ask(asked.pattern, "is live"), span)


def may_follow(builder: Builder, node: int, token: Value, span: Span) -> int:
    """Return the node of `token in next(...)`."""
    ask = asks_next(builder, node)
    assert ask is not None
    vocabulary = builder.header.vocabulary
    answers = classified(ask, vocabulary).machine.answers
    holds = {
        value_of(answer, vocabulary): token in _tokens(answer, vocabulary)
        for answer in answers
        if isinstance(answer, Next)
    }
    return _table(builder, node, holds, span)


def _table(builder: Builder, key: int, values: Mapping[Value, Value], span: Span) -> int:
    options = tuple(builder.constant(value, span) for value in values.values())
    return builder.add(Pick(key, tuple(values), options), span)


def _sets(ask: Ask, vocabulary: Vocabulary, span: Span) -> dict[Value, tuple[Token, ...]]:
    """Return the sets of next tokens that are possible, by their values."""
    if ask.pattern.automaton.is_empty:
        message = "no text at all is of this automaton, so nothing may ever follow"
        help_ = "name states in `accept` that the start leads to"
        raise ProgramError("empty-language", message, span, help=help_)
    answers = classified(ask, vocabulary).machine.answers
    tokens = [_tokens(answer, vocabulary) for answer in answers if isinstance(answer, Next)]
    sets: dict[Value, tuple[Token, ...]] = {vocabulary.join(t): t for t in tokens if t}
    if not sets:
        message = "the program has no meaning on any input: nothing follows the empty text"
        raise ProgramError("no-meaning", message, span, help="declare an `eos`")
    return sets


def _tokens(answer: Next, vocabulary: Vocabulary) -> tuple[Token, ...]:
    ends = (vocabulary.eos,) if answer.may_end and vocabulary.eos is not None else ()
    return (*answer.symbols, *ends)


# Reading -------------------------------------------------------------------------------------


def _asked(question: Question) -> Callable[[Evaluator, Arguments], Thing]:
    def call(evaluator: Evaluator, given: Arguments) -> Thing:
        pattern = _pattern(evaluator, given.things[0], given.spans[0])
        return Sop(evaluator.builder.add(Ask(pattern, question), given.span))

    return call


def _pattern(evaluator: Evaluator, thing: Thing, span: Span) -> Pattern:
    if isinstance(thing, Automaton):
        return thing.pattern
    if not isinstance(thing, str):
        message = f"a pattern is a text or an automaton, and this is {describe(thing)}"
        raise ProgramError("type", message, span, help='write `"(aab)*"` or `automaton({...})`')
    try:
        return Pattern(thing, _read(thing, evaluator.builder.header.vocabulary))
    except ProgramError as error:
        raise ProgramError(
            error.code, error.message, _within(span, thing, error.span), help=error.help
        ) from None


@lru_cache(maxsize=64)
def _read(text: str, vocabulary: Vocabulary) -> automaton.Automaton:
    return automaton_of(text, vocabulary)


def _within(span: Span, text: str, inner: Span | None) -> Span:
    """Return the place of a part of a text that a literal stands for."""
    literal = span.text
    written = len(literal) > 1 and literal[0] in "\"'" and literal[0] == literal[-1]
    if inner is None or not written or read_text(literal) != text:
        return span
    places = places_in(literal)
    return Span(span.source, span.start + places[inner.start], span.start + places[inner.end])


def _automaton(evaluator: Evaluator, given: Arguments) -> Thing:
    table, span = given.things[0], given.spans[0]
    vocabulary = evaluator.builder.header.vocabulary
    made = from_table(table, symbols_of(vocabulary), span)  # type: ignore[arg-type]  # it refuses
    return Automaton(Pattern(_shown(span), made))


def _shown(span: Span) -> str:
    return f"automaton({' '.join(span.text.split())})"
