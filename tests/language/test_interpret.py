"""What programs mean: the questions that the language reference answers, asked."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import handcraft
from handcraft.errors import MeaningError

HALF = Fraction(1, 2)


def run(output: str, text: str, header: str = 'vocab "abc"; context 6;') -> list[Any]:
    return list(handcraft.parse(f"{header} output {output};").run(text))


@pytest.mark.parametrize(
    ("output", "text", "expected"),
    [
        ("aggregate(past, indices)", "abc", [0, HALF, 1]),
        ("aggregate(before, indices)", "ab", [0, 0]),
        ("aggregate(before, tokens, indices)", "aaa", [0, "a", "a"]),
        ("aggregate(full_s, tokens == 'a')", "aa", [True, True]),
        ("sum(past, tokens == 'a')", "aba", [1, 1, 2]),
        ("sum(before, indices)", "abc", [0, 0, 1]),
        ("selector_width(select(tokens, 'a', ==) or past)", "ba", [1, 2]),
        ("selector_width(not past)", "abc", [0, 0, 0]),
        ("aggregate(latest(select(tokens, 'a', ==)), indices, -1)", "baab", [-1, 1, 2, 2]),
        ("aggregate(first(select(tokens, 'a', ==)), indices, -1)", "baab", [-1, 1, 1, 1]),
        ("aggregate(best(past, indicator(tokens == 'b')), indices)", "abba", [0, 1, 2, 2]),
        ("aggregate(best(past, 0 - indices), indices)", "abc", [0, 0, 0]),
        ("selector_width(first(past) and select(tokens, 'b', ==))", "aba", [0, 0, 0]),
        ("max(past, indicator(tokens == 'b'))", "aba", [0, 1, 1]),
        ("min(before, indices, 'none')", "ab", ["none", 0]),
        ("max(indices, 1)", "abc", [1, 1, 2]),
        ("indices[-1]", "abc", [0, 1, 2]),
        ("'b' if tokens == 'a' else 1", "ab", ["b", 1]),
        ("0 if indices == 0 else 1 / indices", "aba", [0, 1, HALF]),
        ("indices > 0 and 1 / indices == 1", "aba", [False, True, False]),
        ("indices == 0 or 1 / indices < 1", "aba", [True, False, True]),
        ("0 <= indices - 1 < 1", "aba", [False, True, False]),
        ("tokens in ['a', 'c']", "abc", [True, False, True]),
        ("not tokens in ['a']", "ab", [False, True]),
        ("True == 1", "a", [True]),
        ("(tokens == 'a') + 1", "ab", [2, 1]),
        ("str(indices) + tokens", "ab", ["0a", "1b"]),
        ("-2 ^ 2 + indices", "a", [-4]),
        ("2 ^ 3 ^ 0 + indices", "a", [2]),
        ("7 // -2 + 7 % -2 + indices", "a", [-5]),
    ],
)
def test_an_expression_means(output: str, text: str, expected: list[Any]) -> None:
    found = run(output, text)
    assert [(type(v), v) for v in found] == [(type(v), v) for v in expected]


def test_every_position_sees_all_keys_under_bidirectional_attention() -> None:
    header = 'vocab "abc"; context 6; attention bidirectional;'
    assert run("selector_width(full_s)", "abc", header) == [3, 3, 3]
    assert run("tokens[-1]", "abc", header) == ["c", "c", "c"]
    assert run("selector_width(not past)", "abc", header) == [2, 1, 0]


def test_a_position_that_is_not_seen_yet_has_no_value() -> None:
    assert run("indices[1]", "abc") == [0, 1, 1]
    with pytest.raises(MeaningError, match="position 0: nothing is selected"):
        run("tokens[1]", "abc")


def test_what_is_not_read_cannot_be_undefined() -> None:
    table = "{'a': 1}[tokens]"
    assert run(f"0 if tokens == 'b' else {table}", "ab") == [1, 0]
    assert run(f"aggregate(select(tokens, 'a', ==), {table})", "ab") == [1, 1]
    with pytest.raises(MeaningError, match='position 1: the table has no entry for "b"'):
        run(table, "ab")


def test_an_undefined_entry_of_a_selector_is_told_only_where_it_is_seen() -> None:
    selected = "selector_width(select(1 / (indices - 1), 0, <))"
    assert run(selected, "a") == [1]
    with pytest.raises(MeaningError, match="position 1: `1 / 0` divides by zero"):
        run(selected, "ab")


def test_the_answers_of_the_four_kinds_of_result() -> None:
    header = 'vocab "abc"; context 6;'
    predict = handcraft.parse(header + 'predict "b" if tokens == "a" else "a";')
    assert predict.run("ab") == ["b", "a"]
    allow = handcraft.parse(header + 'allow "c"; allow "a" if indices > 0; allow tokens;')
    assert allow.run("ba") == [("b", "c"), ("a", "c")]
    assert allow.predict("ba") == "a"
    logits = handcraft.parse(header + 'logits {"a": 1, "b": indices, "c": indices};')
    assert logits.run("aaa") == ["a", "a", "b"]


def test_nothing_allowed_is_the_end_where_there_is_an_end() -> None:
    rest = 'allow "a" if indices < 1;'
    assert handcraft.parse(f'vocab "a."; context 4; eos "."; {rest}').run("aa") == [("a",), (".",)]
    with pytest.raises(MeaningError, match="no token is allowed"):
        handcraft.parse(f'vocab "a."; context 4; {rest}').run("aa")


def test_a_start_token_is_put_in_front_and_left_out_of_what_is_shown() -> None:
    program = handcraft.parse('vocab "ab"; context 4; bos "^"; output indices;')
    assert program.run("ab") == [1, 2]
    assert program.run("^ab") == [1, 2]
    assert program.run("") == []


def test_generation_stops_at_the_context_unless_the_window_may_slide() -> None:
    safe = handcraft.parse('vocab "ab"; context 3; predict "b" if tokens == "a" else "a";')
    assert safe.complete("a", 7) == "bababab"
    counting = handcraft.parse(
        'vocab "ab"; context 3; predict "b" if count(tokens, "a") > 1 else "a";'
    )
    assert counting.complete("a", 7) == "abb"
    assert counting.complete("a", 7, slide=True) == "abbaabb"


def test_assumptions_say_which_inputs_are_in_scope() -> None:
    program = handcraft.parse('vocab "ab"; context 4; assume tokens == "a"; output indices;')
    assert program.meaning("aa").in_scope
    assert not program.meaning("ab").in_scope


def test_true_and_one_are_told_apart_wherever_results_are_kept() -> None:
    assert run("str(True if tokens == 'a' else 1)", "abab") == ["True", "1", "True", "1"]
    assert run("str(1 if tokens == 'a' else True)", "abab") == ["1", "True", "1", "True"]


def test_of_two_equal_reasons_the_one_that_was_met_is_shown() -> None:
    unread = "indices > 5 and 1 / indices > 0"
    with pytest.raises(MeaningError) as caught:
        run(f"1 if {unread} else 1 / (indices * 2)", "a")
    assert caught.value.span is not None
    assert "1 / (indices * 2)" in str(caught.value)
    assert "^" * len("1 / (indices * 2)") in str(caught.value)
