"""Automata by table: names are kept, what is left out is dead, and mistakes are told."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from handcraft.errors import ProgramError, Source, Span
from handcraft.patterns.automaton import minimal
from handcraft.patterns.build import automaton_of
from handcraft.patterns.simulate import run
from handcraft.patterns.tables import from_table, symbols_of_table

if TYPE_CHECKING:
    from handcraft.patterns.tables import Table

PARITY: Table = {
    "start": "p",
    "accept": ["q"],
    "p": {"a": "q", "b": "p"},
    "q": {"a": "p", "b": "q"},
}


def test_states_keep_the_names_of_the_table() -> None:
    told = run(from_table(PARITY, "ab"), "aba")
    assert told.names == ("q", "q", "p")
    assert told.accepted == (True, True, False)


def test_states_and_symbols_may_be_whole_numbers() -> None:
    table = {"start": 1, "accept": [Fraction(2)], Fraction(1): {7: 2}, 2: {"8": 1}}
    told = run(from_table(table, (7, 8)), [7, 8, 8])
    assert told.names == (2, 1, "dead")


def test_a_symbol_that_is_left_out_leads_to_a_dead_state() -> None:
    automaton = from_table({"start": "p", "accept": ["p"], "p": {"a": "q"}, "q": {"b": "p"}}, "ab")
    assert automaton.names == ("p", "q", "dead")
    assert automaton.dead == {2}
    assert minimal(automaton) == automaton_of("(ab)*")


def test_the_dead_state_may_be_named_as_a_target_without_a_row() -> None:
    table = {"start": "p", "accept": ["p"], "p": {"a": "p", "b": "dead"}}
    assert from_table(table, "ab") == from_table({**table, "p": {"a": "p"}}, "ab")


def test_a_dead_state_of_the_tables_own_has_its_own_row() -> None:
    table = {"start": "dead", "accept": [], "dead": {"a": "dead"}}
    assert from_table(table, "a").names == ("dead",)


def test_states_that_no_text_leads_to_are_left_out() -> None:
    table = {**PARITY, "r": {"a": "p", "b": "q"}}
    assert from_table(table, "ab") == from_table(PARITY, "ab")


def test_equal_states_stay_apart_since_their_names_differ() -> None:
    table = {"start": "p", "accept": [], "p": {"a": "q"}, "q": {"a": "p"}}
    automaton = from_table(table, "a")
    assert automaton.names == ("p", "q")
    assert automaton.is_empty
    assert len(minimal(automaton)) == 1


def test_the_symbols_of_a_table_are_those_it_names() -> None:
    table = {"start": "p", "accept": [], "p": {"b": "p", "a": "q"}, "q": {"c": "p", "a": "p"}}
    assert symbols_of_table(table) == ("b", "a", "c")


@pytest.mark.parametrize(
    ("change", "message", "way_out"),
    [
        ({"start": "pq"}, '`start` names the state `"pq"`, which the table does not have', None),
        (
            {"p": {"a": "r"}},
            '`a` of the state `"p"` names the state `"r"`, which the table does not have',
            'the states are `"p"` `"q"`',
        ),
        (
            {"accept": ["Q1"]},
            '`accept` names the state `"Q1"`, which the table does not have',
            None,
        ),
        ({"accept": "q"}, '`accept` is a list of states, found `"q"`', None),
        ({"p": 3}, 'the state `"p"` has no dict of symbols and states', None),
        ({1.5: {}}, "`1.5` is no state: text and whole numbers are", None),
        ({True: {}}, "`True` is no state: text and whole numbers are", None),
        (
            {"dead": {"a": "p"}},
            'the state `"dead"` does not say where `b` leads',
            "such a symbol leads to `dead`, which is a state of this table: write it out",
        ),
    ],
)
def test_a_table_that_is_no_automaton_is_told_why(
    change: dict[object, object], message: str, way_out: str | None
) -> None:
    span = Span(Source("x = automaton(t);"), 4, 16)
    with pytest.raises(ProgramError) as caught:
        from_table({**PARITY, **change}, "ab", span)
    assert (caught.value.code, caught.value.message) == ("bad-automaton", message)
    assert caught.value.span is span
    assert caught.value.help is not None
    assert way_out in (None, caught.value.help)


@pytest.mark.parametrize("missing", ["start", "accept"])
def test_a_table_needs_a_start_and_accepting_states(missing: str) -> None:
    table = {key: value for key, value in PARITY.items() if key != missing}
    with pytest.raises(ProgramError, match=f"the table has no `{missing}`"):
        from_table(table, "ab")


def test_a_symbol_outside_the_vocabulary_is_told_with_the_closest_one() -> None:
    table = {"start": "p", "accept": [], "p": {"helo": "p"}}
    with pytest.raises(ProgramError, match="which is not in the vocabulary") as caught:
        from_table(table, ("hello", "world"))
    assert (caught.value.code, caught.value.help) == ("unknown-symbol", "write `hello`")


def test_a_symbol_given_twice_is_refused() -> None:
    table = {"start": "p", "accept": [], "p": {7: "p", "7": "p"}}
    with pytest.raises(ProgramError, match="is there twice"):
        from_table(table, (7,))


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ProgramError, match="an automaton is a dict"):
        from_table([], "ab")  # type: ignore[arg-type]  # that is the mistake


def test_a_table_that_names_no_symbol_has_none() -> None:
    with pytest.raises(ProgramError, match="names no symbol"):
        symbols_of_table({"start": "p", "accept": [], "p": {}})
