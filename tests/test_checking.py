"""The checker: it finds nothing in right models, and the smallest mistake of wrong ones."""

from __future__ import annotations

from fractions import Fraction

import pytest

import handcraft
from handcraft.checking import check, same
from handcraft.trials import tokens_tried

LETTER = 'vocab "ab"; context 4; output tokens;'
BEFORE = 'vocab "ab"; context 4; output shift(tokens, 1, "a");'
NO_DEFAULT = 'vocab "ab"; context 4; output aggregate(select(indices, indices - 1, ==), tokens);'
AFTER_A = (
    'vocab "ab"; context 6; assume tokens == "a" or indices > 0; output shift(tokens, 1, "b");'
)
START = 'vocab "ab"; bos "^"; context 5; predict "a" if tokens == "^" else tokens;'


def models(text: str) -> dict[str, handcraft.Model]:
    return {"float32": handcraft.compile(text), "float64": handcraft.compile(text, dtype="float64")}


def test_a_right_model_has_no_differences_in_any_format() -> None:
    report = check(handcraft.parse(BEFORE), models(BEFORE), longest=3, random=20)
    assert report.holds
    assert {name: v.differences for name, v in report.verdicts.items()} == {
        "float32": 0,
        "float64": 0,
    }
    assert (report.every, report.random, report.in_scope) == (2 + 4 + 8, 20, 34)
    assert report.compared > 2 * 1 + 4 * 2 + 8 * 3


def test_every_input_up_to_the_length_is_compared_at_every_position() -> None:
    report = check(handcraft.parse(BEFORE), models(BEFORE), longest=3, random=0)
    assert report.compared == 2 * 1 + 4 * 2 + 8 * 3


def test_the_length_of_inputs_ends_at_the_context() -> None:
    report = check(handcraft.parse(BEFORE), models(BEFORE), longest=9, random=0)
    assert (report.longest, report.every) == (4, 2 + 4 + 8 + 16)


def test_a_wrong_model_is_told_by_its_smallest_input() -> None:
    report = check(handcraft.parse(LETTER), models(BEFORE), longest=2, random=5)
    found = report.verdicts["float32"].smallest
    assert not report.holds
    assert found is not None
    assert (found.input, found.position, found.expected, found.got) == (("b",), 0, "b", "a")


def test_differences_are_counted_by_position() -> None:
    report = check(handcraft.parse(LETTER), models(BEFORE), longest=2, random=0)
    # `b`; `ab` at 1; `ba` at 0 and 1; `bb` at 0
    assert report.verdicts["float64"].differences == 1 + 1 + 2 + 1


def test_a_format_that_is_wrong_is_told_by_its_name() -> None:
    mixed = {"float32": handcraft.compile(LETTER), "float64": handcraft.compile(BEFORE)}
    report = check(handcraft.parse(LETTER), mixed, longest=2, random=0)
    assert report.verdicts["float32"].differences == 0
    assert report.verdicts["float64"].differences > 0


def test_a_mistake_beyond_the_exhaustive_part_is_found_by_random_inputs() -> None:
    late = 'vocab "ab"; context 7; output "b" if indices == 5 else tokens;'
    right = 'vocab "ab"; context 7; output tokens;'
    report = check(handcraft.parse(right), models(late), longest=2, random=60)
    found = report.verdicts["float32"].smallest
    assert found is not None
    assert (found.position, found.expected, found.got) == (5, "a", "b")


def test_the_same_seed_draws_the_same_inputs() -> None:
    program, made = handcraft.parse(BEFORE), models(LETTER)
    first, again, other = (
        check(program, made, longest=0, random=9, seed=seed).verdicts for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_positions_without_meaning_are_skipped_and_the_smallest_input_is_told() -> None:
    report = check(handcraft.parse(NO_DEFAULT), models(NO_DEFAULT), longest=2, random=0)
    assert report.holds
    assert (report.compared, report.without_meaning) == (4, 2 + 4)
    assert report.meaningless is not None
    assert (report.meaningless.input, report.meaningless.position) == (("a",), 0)
    assert report.meaningless.reason.code == "nothing-selected"


def test_inputs_out_of_scope_are_not_compared() -> None:
    report = check(handcraft.parse(AFTER_A), models(AFTER_A), longest=3, random=0)
    assert report.every == 2 + 4 + 8
    assert report.in_scope == 1 + 2 + 4


def test_random_inputs_of_a_causal_program_are_drawn_in_scope() -> None:
    report = check(handcraft.parse(AFTER_A), models(AFTER_A), longest=0, random=25)
    assert report.in_scope == 25
    assert report.compared > 25


def test_a_start_token_stands_in_front_only_and_what_follows_it_is_compared() -> None:
    wrong = START.replace('"a" if', '"b" if')
    assert check(handcraft.parse(START), models(START), longest=2, random=8).holds
    report = check(handcraft.parse(START), models(wrong), longest=2, random=0)
    found = report.verdicts["float32"].smallest
    assert report.every == 1 + 2 + 4
    assert found is not None
    assert (found.input, found.position, found.expected, found.got) == ((), 0, "a", "b")


def test_what_may_follow_a_start_token_is_compared() -> None:
    text = 'vocab "ab"; bos "^"; context 5; allow "a" if True; allow "b" if tokens == "^";'
    wrong = text.replace("==", "!=")
    assert check(handcraft.parse(text), models(text), longest=2, random=8).holds
    found = check(handcraft.parse(text), models(wrong), longest=0, random=0).verdicts["float64"]
    assert found.smallest is not None
    assert (found.smallest.expected, found.smallest.got) == (("a", "b"), ("a",))


def test_a_bidirectional_prediction_is_read_at_the_last_position() -> None:
    text = 'vocab "ab"; context 4; attention bidirectional; predict tokens[0];'
    report = check(handcraft.parse(text), models(text), longest=3, random=0)
    assert report.holds
    assert report.compared == 2 + 4 + 8


def test_true_and_one_are_different_answers() -> None:
    assert same(True, True)
    assert same(1, Fraction(1))
    assert not same(True, 1)
    assert not same(0, False)
    assert not same("a", "b")


def test_an_example_that_fails_is_told_for_the_interpreter_and_each_format() -> None:
    text = LETTER + ' example "ab" -> ["a", "a"]; example "b" -> ["b"];'
    report = check(handcraft.parse(text), models(LETTER), longest=1, random=0)
    assert not report.holds
    assert [f.where for f in report.failures] == ["interpreter", "float32", "float64"]
    assert {f.got for f in report.failures} == {("a", "b")}
    assert not any(v.differences for v in report.verdicts.values())


def test_an_example_that_only_the_model_misses_is_told() -> None:
    text = LETTER + ' example "ab" -> ["a", "b"];'
    report = check(handcraft.parse(text), models(BEFORE), longest=0, random=0)
    assert [f.where for f in report.failures] == ["float32", "float64"]


def test_an_example_of_continuation_is_as_long_as_it_is_written() -> None:
    text = 'vocab ["one", "two"]; context 3; predict "two" if tokens == "one" else "one";'
    right = text + ' example "one" -> "two one two";'
    wrong = text + ' example "one" -> "two two";'
    assert check(handcraft.parse(right), models(text), longest=2, random=0).holds
    failures = check(handcraft.parse(wrong), models(text), longest=0, random=0).failures
    assert [failure.got for failure in failures] == ["two one"] * 3


@pytest.mark.parametrize(
    ("header", "expression", "expected"),
    [
        ('vocab "abc"', "tokens", "abc"),
        ('vocab "abcde"', "tokens", "abc"),
        ('vocab "abcde"', 'tokens == "d"', "abd"),
        (
            'vocab "abcde"',
            '{"b": 1, "c": 2, "d": 3, "e": 4}[tokens] if tokens != "a" else 0',
            "abc",
        ),
        ('vocab "abcde"; bos "a"', "tokens", "bcd"),
    ],
)
def test_tokens_that_the_program_names_are_tried_beside_others(
    header: str, expression: str, expected: str
) -> None:
    program = handcraft.parse(f"{header}; context 5; output {expression};")
    assert tokens_tried(program) == tuple(expected)
