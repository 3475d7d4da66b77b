"""Patterns become the minimal automaton of exactly their texts."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import automata, holds, patterns, texts, walks, words, written

from handcraft.errors import InputError, ProgramError
from handcraft.patterns.automaton import Automaton, minimal
from handcraft.patterns.build import automaton_of
from handcraft.patterns.simulate import run
from handcraft.runtime.vocabulary import Vocabulary, vocabulary

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from handcraft.patterns.syntax import Pattern

AB = vocabulary("characters", "ab")
WORDS = vocabulary("words", ["hello", "world", "how", "?"], bos="^", eos=".")

NAMED = [
    ("(aab)*", "ab", 4),
    ("(ab)*", "ab", 3),
    ("a*b*", "ab", 3),
    ("(aa)*", "a", 2),
    ("(aa)*", "ab", 3),
    ("(a|b)*abb", "ab", 4),
    ("(a|b)*a(a|b){3}", "ab", 16),
    ("a*ba*ba*", "ab", 4),
    ("((a|b)(a|b))*", "ab", 2),
    ("b*(ab*ab*ab*)*", "ab", 3),
    ("b*((ab*){5})*", "ab", 5),
    ("(a(bc)*d)*", "abcd", 4),
    ("[ab]+@[ab]+(\\.[ab]+)+", "ab@.", 7),
    ("[01]{2}-[01]{2}-[01]{2}", "01-", 10),
    ("", "ab", 2),
    ("()|a|", "ab", 3),
    ("a{2,}b?", "ab", 5),
    ("[^a]?[a-b]{0,2}", "ab", 5),
]


def accepts(automaton: Automaton, text: str) -> bool:
    return (run(automaton, text).accepted or (automaton.start in automaton.accepting,))[-1]


def built(pattern: Pattern, words: Vocabulary = AB) -> Automaton | None:
    """Return the automaton of a pattern, or None where it has no text."""
    try:
        return automaton_of(written(pattern), words)
    except ProgramError as error:
        if error.code == "empty-language":
            return None
        raise


@pytest.mark.parametrize(("pattern", "symbols", "states"), NAMED)
def test_a_pattern_has_exactly_the_texts_that_pythons_re_matches(
    pattern: str, symbols: str, states: int
) -> None:
    automaton = automaton_of(pattern, vocabulary("characters", symbols))
    compiled = re.compile(pattern)
    for text in texts(symbols, 9 if len(symbols) <= 2 else 5):
        assert accepts(automaton, text) == bool(compiled.fullmatch(text)), text
    assert len(automaton) == states


@given(patterns(boolean=False))
def test_random_patterns_agree_with_pythons_re(pattern: Pattern) -> None:
    automaton = built(pattern)
    compiled = re.compile(written(pattern))
    for text in texts("ab", 6):
        accepted = automaton is not None and accepts(automaton, text)
        assert accepted == bool(compiled.fullmatch(text)), text


@given(patterns())
def test_complement_and_intersection_agree_with_trying_every_division(pattern: Pattern) -> None:
    automaton = built(pattern)
    for text in texts("ab", 5):
        accepted = automaton is not None and accepts(automaton, text)
        assert accepted == holds(pattern, text), text


@given(patterns())
def test_the_automaton_is_minimal_and_numbered_by_its_shortest_texts(pattern: Pattern) -> None:
    automaton = built(pattern)
    if automaton is not None:
        assert minimal(automaton) == automaton
        assert len(automaton.dead) <= 1
        shortest: dict[int, str] = {}
        for text in texts("ab", 7):
            state = (automaton.start, *run(automaton, text).states)[-1]
            shortest.setdefault(state, text)
        assert list(shortest) == sorted(shortest)


@given(st.data(), automata())
def test_minimal_keeps_the_language_and_tells_all_states_apart(
    data: DataObject, automaton: Automaton
) -> None:
    smaller = minimal(automaton)
    for _ in range(20):
        text = data.draw(st.text("ab", max_size=20))
        assert accepts(smaller, text) == accepts(automaton, text)
    apart = _told_apart(smaller)
    assert all((p, q) in apart for p in range(len(smaller)) for q in range(p))


def _told_apart(automaton: Automaton) -> set[tuple[int, int]]:
    """Return the pairs of states that some text tells apart, by filling a table (Moore 1956)."""
    states = range(len(automaton))
    pairs = [(p, q) for p in states for q in states]
    accepting = automaton.accepting
    apart = {(p, q) for p, q in pairs if (p in accepting) != (q in accepting)}
    size = -1
    while len(apart) != size:
        size = len(apart)
        for p, q in pairs:
            rows = zip(automaton.transitions[p], automaton.transitions[q], strict=True)
            if any(pair in apart for pair in rows):
                apart.add((p, q))
    return apart


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(a|b)*", "(a*b*)*"),
        ("(ab)*a", "a(ba)*"),
        ("a+", "aa*"),
        ("a?", "(|a)"),
        ("a{2,4}", "aa(a(a)?)?"),
        ("(a|ab)(b|())", "a(b|bb)?"),
        ("~((a|b)*bb(a|b)*)", "(b?a)*b?"),
        (".*a.*&.*b.*", "a+b.*|b+a.*"),
        ("~(.*)|a", "a"),
        ("[^b]", "a"),
        ("~a*", "~(a*)"),
        ("a|b&a", "a"),
        ("(a*)*", "a*"),
        ("((a|b)*a)&((a|b)*b)|a", "a"),
    ],
)
def test_patterns_that_mean_the_same_have_one_automaton(one: str, other: str) -> None:
    assert automaton_of(one, AB) == automaton_of(other, AB)


@given(patterns(), patterns())
@settings(max_examples=50)
def test_the_laws_of_boolean_algebra_hold(first: Pattern, second: Pattern) -> None:
    p, q = f"({written(first)})", f"({written(second)})"
    laws = [
        (f"~~{p}", p),
        (f"{p}&{p}", p),
        (f"{p}|{p}", p),
        (f"~({p}|{q})", f"~{p}&~{q}"),
        (f"~({p}&{q})", f"~{p}|~{q}"),
        (f"{p}&({p}|{q})", p),
        (f"{p}|{q}", f"{q}|{p}"),
        (f"({p}|{q})({p}&{q})", f"{p}({p}&{q})|{q}({p}&{q})"),
        (f"({p}*{q}*)*", f"({p}|{q})*"),
    ]
    for one, other in laws:
        assert _or_empty(one) == _or_empty(other), (one, other)


def _or_empty(pattern: str) -> Automaton | str:
    try:
        return automaton_of(pattern, AB)
    except ProgramError as error:
        return error.code


def test_a_pattern_without_a_vocabulary_is_about_its_characters_in_order_of_appearance() -> None:
    assert automaton_of("(ba|[c-e]\\*)*").symbols == ("b", "a", "c", "d", "e", "*")


def test_words_are_symbols_with_white_space_between_them() -> None:
    automaton = automaton_of(
        "hello [hello world]* ( how\\? ?|\\?){1,2}".replace("\\? ?", " \\??"), WORDS
    )
    assert automaton.symbols == ("hello", "world", "how", "?")
    assert run(automaton, ["hello", "world", "how", "?"]).accepted == (False, False, True, True)
    assert run(automaton, ["world"]).first_dead == 0


def test_integers_are_symbols_with_ranges_by_number() -> None:
    automaton = automaton_of("[-2--1 9-11]+ 0", vocabulary("integers", range(-2, 12)))
    assert run(automaton, [10, -1, 0]).accepted == (False, False, True)
    assert run(automaton, [3]).alive == (False,)


def test_a_range_means_the_characters_of_the_vocabulary_that_are_in_it() -> None:
    assert automaton_of("[A-z]", AB) == automaton_of("[ab]", AB)


def test_white_space_is_a_symbol_among_characters() -> None:
    spaced = automaton_of("a b", vocabulary("characters", "ab "))
    assert accepts(spaced, "a b")
    assert not accepts(spaced, "ab")


def test_escapes_stand_for_operators_controls_and_code_points() -> None:
    automaton = automaton_of("\\*\\n\\x41\\u00e9[\\]\\\\^-]")
    assert automaton.symbols == ("*", "\n", "A", "\u00e9", "]", "\\", "^", "-")
    assert accepts(automaton, "*\nA\u00e9^")


def test_a_run_tells_state_life_acceptance_and_what_may_follow_at_each_position() -> None:
    told = run(automaton_of("(aab)*"), "aabb")
    assert told.names == (1, 3, 0, 2)
    assert told.alive == (True, True, True, False)
    assert told.first_dead == 3
    assert told.accepted == (False, False, True, False)
    assert told.following == (("a",), ("b",), ("a",), ())


def test_a_token_that_is_no_symbol_of_the_pattern_is_refused() -> None:
    with pytest.raises(InputError, match="`c` at position 1 is no symbol of the pattern"):
        run(automaton_of("(aab)*"), "ac")


@given(st.data(), automata())
def test_words_are_accepted_and_walks_are_live_up_to_one_edit(
    data: DataObject, automaton: Automaton
) -> None:
    if not automaton.is_empty:
        word = data.draw(words(automaton))
        assert (automaton.start, *run(automaton, word).states)[-1] in automaton.accepting
        told = run(automaton, data.draw(walks(automaton, 12)))
        assert len(told.alive) <= 12


def test_a_large_vocabulary_costs_no_more_states_or_work() -> None:
    symbols = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
    begin = time.process_time()
    automaton = automaton_of("(.{3}[^\u4e00]|\u4e01+)*", vocabulary("characters", symbols))
    assert time.process_time() - begin < 1
    assert len(automaton) < 20


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{99}){99}){99}",
        "((a{0,99}){0,99}){0,99}",
        "~(((a{99}){99}){99})",
        "(a|b)*a(a|b){12}",
        "(a{0,40}b){0,40}&(b{0,30}a){0,30}",
        "((ab?){1,30}|(b{1,5}a){1,40}){1,30}",
        "a?" * 4000,
        "(a|b)*" * 1600 + "c",
        "a" * 10_001,
        "a{99999999999999999999}",
        "(" * 4000 + "a",
        "(a" * 3000 + ")*" * 3000,
    ],
    ids=lambda pattern: pattern[:30],
)
def test_a_pattern_that_would_grow_without_measure_is_refused_within_a_second(pattern: str) -> None:
    begin = time.process_time()
    with pytest.raises(ProgramError) as caught:
        automaton_of(pattern, AB)
    assert time.process_time() - begin < 1
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("pattern", "states"),
    [("(a?){1500}", 1502), ("a{1990}", 1992), ("(a|aa){300}", 602), ("a" * 1500, 1502)],
    ids=lambda value: str(value)[:12],
)
def test_long_patterns_of_few_states_are_built(pattern: str, states: int) -> None:
    assert len(automaton_of(pattern, AB)) == states


def test_brackets_around_brackets_are_one_level() -> None:
    assert automaton_of("(" * 3000 + "a" + ")" * 3000) == automaton_of("a")
