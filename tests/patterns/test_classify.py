"""Every kind that a language is said to be of gives the right answer after every text."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from claims import claimed, followed
from hypothesis import given, settings
from strategies import automata, patterns, written

from handcraft.errors import ProgramError
from handcraft.patterns.build import automaton_of
from handcraft.patterns.classes import (
    Counter,
    Counting,
    General,
    Guarded,
    Kind,
    Position,
    Reset,
    Suffix,
    SuffixAtPosition,
)
from handcraft.patterns.classify import Classification, classify
from handcraft.patterns.machine import (
    Machine,
    Next,
    of_acceptance,
    of_live_next,
    of_next,
    of_states,
)
from handcraft.patterns.simulate import run
from handcraft.patterns.tables import from_table
from handcraft.runtime.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.patterns.automaton import Automaton
    from handcraft.patterns.syntax import Pattern

PERMUTATIONS = {
    "D3": ((1, 2, 0), (1, 0, 2)),
    "D4": ((1, 2, 3, 0), (3, 2, 1, 0)),
    "A5": ((1, 2, 0, 3, 4), (1, 2, 3, 4, 0)),
}


def automaton(pattern: str, symbols: str) -> Automaton:
    return automaton_of(pattern, vocabulary("characters", symbols))


def word_problem(generators: tuple[tuple[int, ...], ...]) -> Automaton:
    """Return the automaton of a group: its states are the elements, its words the identity's."""
    identity = tuple(range(len(generators[0])))
    elements = [identity]
    rows: dict[object, object] = {"start": 0, "accept": [0]}
    for element in elements:
        row = {}
        for symbol, generator in zip("ab", generators, strict=False):
            product_ = tuple(generator[point] for point in element)
            if product_ not in elements:
                elements.append(product_)
            row[symbol] = elements.index(product_)
        rows[elements.index(element)] = row
    return from_table(rows, "ab")


def machines(automaton: Automaton) -> Iterator[Machine]:
    yield of_states(automaton)
    yield of_acceptance(automaton)
    for has_end in (False, True):
        yield of_next(automaton, has_end=has_end)
        if not automaton.is_empty:
            yield of_live_next(automaton, has_end=has_end)


def first(classification: Classification) -> Kind:
    return classification.kinds[0]


def agree(classification: Classification, most: int) -> None:
    """Compare every kind with the machine, after every text in scope of at most `most` letters."""
    machine = classification.machine
    for size in range(most + 1):
        for letters in product(range(machine.letter_count), repeat=size):
            if any(followed(machine, letters[:n]) is None for n in range(size + 1)):
                continue
            for kind in classification.kinds:
                assert claimed(kind, letters) == followed(machine, letters), (kind, letters)


NAMED = [
    ("(aab)*", "ab", Guarded, Suffix),
    ("(ab)*", "ab", Guarded, Suffix),
    ("a*b*", "ab", Guarded, Suffix),
    ("(aa)*", "a", Position, Suffix),
    ("(aa)*", "ab", Counting, Suffix),
    ("(a|b)*abb", "ab", Suffix, Suffix),
    ("(a|b)*a(a|b){3}", "ab", Suffix, Suffix),
    ("a*ba*ba*", "ab", Counting, Counting),
    ("((a|b)(a|b))*", "ab", Position, Suffix),
    ("b*(ab*ab*ab*)*", "ab", Counting, Suffix),
    ("b*((ab*){5})*", "ab", Counting, Suffix),
    ("~((a|b)*bb(a|b)*)", "ab", Guarded, Suffix),
    ("(a(bc)*d)*", "abcd", Guarded, Suffix),
    ("(s|r|h)*sh*", "srh", Reset, Suffix),
    ("[ab]+@[ab]+(\\.[ab]+)+", "ab@.", Guarded, Counting),
    ("[01]{2}-[01]{2}-[01]{2}", "01-", Suffix, Suffix),
    ("(a(ab)*b)*", "ab", Guarded, Counting),
    ("((aa)*b)*", "ab", Guarded, Counting),
    ("(ab|ba|aa)*", "ab", Guarded, SuffixAtPosition),
    ("b*(ab*ab*)*&a*(ba*ba*ba*)*", "ab", Counting, Suffix),
    ("(a|b)*(ab|ba)(aa|bb)*", "ab", General, Suffix),
]


@pytest.mark.parametrize(("pattern", "symbols", "of_all", "of_live"), NAMED)
def test_named_patterns_are_of_the_kind_that_theory_says(
    pattern: str, symbols: str, of_all: type[Kind], of_live: type[Kind]
) -> None:
    built = automaton(pattern, symbols)
    assert isinstance(first(classify(of_states(built))), of_all)
    assert isinstance(first(classify(of_live_next(built, has_end=False))), of_live)


@pytest.mark.parametrize(("pattern", "symbols"), [named[:2] for named in NAMED])
def test_every_kind_of_a_named_pattern_answers_rightly(pattern: str, symbols: str) -> None:
    for machine in machines(automaton(pattern, symbols)):
        agree(classify(machine), {1: 12, 2: 8, 3: 5, 4: 4}[machine.letter_count])


@given(automata(most=6))
@settings(max_examples=60)
def test_every_kind_of_a_random_automaton_answers_rightly(automaton: Automaton) -> None:
    for machine in machines(automaton):
        agree(classify(machine), 5)


@given(patterns("abc"))
@settings(max_examples=60)
def test_every_kind_of_a_random_pattern_answers_rightly(pattern: Pattern) -> None:
    try:
        built = automaton(written(pattern), "abc")
    except ProgramError as error:
        assert error.code == "empty-language"  # noqa: PT017  # another one would be a fault
        return
    for machine in machines(built):
        agree(classify(machine), 4)


@given(automata(most=5))
@settings(max_examples=50)
def test_what_a_machine_says_is_what_the_automaton_does(automaton: Automaton) -> None:
    states, acceptance = of_states(automaton), of_acceptance(automaton)
    all_next, live_next = of_next(automaton, has_end=True), None
    if not automaton.is_empty:
        live_next = of_live_next(automaton, has_end=True)
    for text in product("ab", repeat=5):
        told = run(automaton, text)
        for size in range(1, 6):
            following = Next(told.following[size - 1], told.accepted[size - 1])
            assert _answer(states, text[:size]) == told.names[size - 1]
            assert _answer(acceptance, text[:size]) == told.accepted[size - 1]
            assert _answer(all_next, text[:size]) == following
            if live_next is not None and all(told.alive[:size]):
                assert _answer(live_next, text[:size]) == following


def _answer(machine: Machine, text: tuple[str, ...]) -> object:
    return followed(machine, [machine.letters["ab".index(symbol)] for symbol in text])


@given(automata(most=4))
@settings(max_examples=200)
def test_a_suffix_is_found_where_there_is_one_and_is_the_shortest(automaton: Automaton) -> None:
    machine = of_states(automaton)
    found = next((k.length for k in classify(machine).kinds if isinstance(k, Suffix)), None)
    decides = [length for length in range(len(machine)) if _all_constant(machine, length)]
    assert found == (decides[0] if decides else None)


def _all_constant(machine: Machine, length: int) -> bool:
    """Return whether every text of a length leads all states of a complete machine to one."""
    for letters in product(range(machine.letter_count), repeat=length):
        states: set[int | None] = set(range(len(machine)))
        for letter in letters:
            states = {machine.rows[state][letter] for state in states if state is not None}
        if len(states) > 1:
            return False
    return True


@given(automata(most=3))
@settings(max_examples=200)
def test_a_position_is_found_where_there_is_one(automaton: Automaton) -> None:
    machine = of_acceptance(automaton)
    positional = any(isinstance(kind, Position) for kind in classify(machine).kinds)
    by_size = [
        {followed(machine, letters) for letters in product(range(machine.letter_count), repeat=n)}
        for n in range(9)
    ]
    assert positional == all(len(answers) == 1 for answers in by_size)


def test_the_live_texts_of_aab_are_decided_by_the_last_two_symbols() -> None:
    kind = first(classify(of_live_next(automaton("(aab)*", "ab"), has_end=False)))
    assert isinstance(kind, Suffix)
    assert kind.length == 2
    told = {(case.letters, case.is_whole): case.answer for case in kind.cases}
    only_a, only_b = Next(("a",), False), Next(("b",), False)
    assert told == {
        ((), True): only_a,
        ((0,), True): only_a,
        ((0, 0), False): only_b,
        ((1, 0), False): only_a,
        ((1,), False): only_a,
    }


@pytest.mark.parametrize(("pattern", "length"), [("(a|b)*abb", 3), ("(a|b)*a(a|b){9}", 10)])
def test_a_suffix_has_as_many_symbols_as_the_pattern_looks_back(pattern: str, length: int) -> None:
    kind = first(classify(of_states(automaton(pattern, "ab"))))
    assert isinstance(kind, Suffix)
    assert kind.length == length


@pytest.mark.parametrize(
    ("pattern", "counters"),
    [
        ("b*(ab*ab*)*", [Counter((1, 0), 0, 2)]),
        ("b*((ab*){5})*", [Counter((1, 0), 0, 5)]),
        ("a*ba*ba*", [Counter((0, 1), 3, 1)]),
        ("b*(ab*ab*)*&a*(ba*ba*ba*)*", [Counter((1, 0), 0, 2), Counter((0, 1), 0, 3)]),
        ("(a|ba*b)*", [Counter((0, 1), 0, 2)]),
    ],
)
def test_counters_have_the_weights_and_the_period_of_the_pattern(
    pattern: str, counters: list[Counter]
) -> None:
    machine = of_states(automaton(pattern, "ab"))
    kind = next(k for k in classify(machine).kinds if isinstance(k, Counting))
    by_symbol = [
        Counter(tuple(c.weights[each] for each in machine.letters), c.preperiod, c.period)
        for c in kind.counters
    ]
    assert by_symbol == counters


def test_letters_with_weights_of_their_own_share_one_counter() -> None:
    rows: dict[object, object] = {n: {"a": (n + 1) % 5, "b": (n + 2) % 5} for n in range(5)}
    kind = first(classify(of_states(from_table({"start": 0, "accept": [0], **rows}, "ab"))))
    assert isinstance(kind, Counting)
    (counter,) = kind.counters
    assert counter.period == 5
    assert counter.weights[1] == 2 * counter.weights[0] % 5


def test_bounded_brackets_are_counted_without_end_while_they_are_live() -> None:
    kind = first(classify(of_live_next(automaton("(a(ab)*b)*", "ab"), has_end=True)))
    assert isinstance(kind, Counting)
    assert kind.counters == (Counter((1, -1), 0, None),)
    assert {count.totals for count in kind.counts} == {(0,), (1,), (2,)}


@pytest.mark.parametrize(("name", "size"), [("D3", 6), ("D4", 8), ("A5", 60)])
def test_groups_that_do_not_commute_are_general_and_are_their_own_monoid(
    name: str, size: int
) -> None:
    built = word_problem(PERMUTATIONS[name])
    assert len(built) == size
    for machine in (of_states(built), of_acceptance(built)):
        told = classify(machine)
        assert [type(kind) for kind in told.kinds] == [General]
        assert told.general.monoid is not None
        assert len(told.general.monoid) == size
        assert told.is_aperiodic is False
        agree(told, 6)


def test_products_in_a_monoid_are_compositions_and_associative() -> None:
    monoid = classify(of_states(word_problem(PERMUTATIONS["D4"]))).general.monoid
    assert monoid is not None
    every = range(len(monoid))
    for i, j in product(every, repeat=2):
        first_, second = monoid.elements[i], monoid.elements[j]
        composed = tuple(second[state] for state in first_)
        assert monoid.elements[monoid.products[i][j]] == composed
    assert monoid.products[0] == tuple(every)


def test_a_large_monoid_is_not_built() -> None:
    rows: dict[object, object] = {
        n: {"a": (n + 1) % 7, "b": {0: 1, 1: 0}.get(n, n), "c": max(n - 1, 0)} for n in range(7)
    }
    told = classify(of_states(from_table({"start": 0, "accept": [0], **rows}, "abc")))
    assert told.general.monoid is None
    assert told.is_aperiodic is None


@pytest.mark.parametrize(
    ("pattern", "is_aperiodic"),
    [("(aab)*", True), ("(a|b)*abb", True), ("(aa)*", False), ("((a|b)(a|b))*", False)],
)
def test_patterns_that_count_modulo_a_number_are_not_aperiodic(
    pattern: str, is_aperiodic: bool
) -> None:
    assert classify(of_states(automaton(pattern, "ab"))).is_aperiodic is is_aperiodic


def test_symbols_that_act_alike_are_one_letter() -> None:
    machine = of_states(automaton("([a-d]e)*", "abcdef"))
    assert machine.letters == (0, 0, 0, 0, 1, 2)
    assert machine.named(0) == ("a", "b", "c", "d")


def test_an_automaton_without_words_has_no_live_texts() -> None:
    table = {"start": "p", "accept": [], "p": {"a": "p"}}
    with pytest.raises(ProgramError, match="nothing may ever follow"):
        of_live_next(from_table(table, "a"), has_end=False)
