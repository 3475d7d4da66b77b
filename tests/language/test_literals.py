"""Numbers and strings, to and from text."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handcraft.language.literals import (
    LARGEST,
    LiteralError,
    read_number,
    read_text,
    write_number,
    write_text,
)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=12))
def test_every_string_survives_being_written(value: str) -> None:
    assert read_text(write_text(value)) == value


@settings(max_examples=60, deadline=None)
@given(st.decimals(min_value=0, allow_nan=False, allow_infinity=False, places=7))
def test_every_decimal_survives_being_written(value: Fraction) -> None:
    assert read_number(write_number(Fraction(value))) == Fraction(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1200), "1200"),
        (Fraction(1, 4), "0.25"),
        (Fraction(1, 5), "0.2"),
        (Fraction(41, 40), "1.025"),
        (Fraction(1, 1024), "0.0009765625"),
    ],
)
def test_numbers_are_written_with_the_fewest_digits(value: Fraction, text: str) -> None:
    assert write_number(value) == text


def test_the_largest_numbers_are_read_and_written() -> None:
    for value in (Fraction(LARGEST - 1), Fraction(1, LARGEST // 10)):
        assert read_number(write_number(value)) == value


def test_a_number_without_a_finite_decimal_cannot_be_written() -> None:
    with pytest.raises(AssertionError, match="1/3 has no finite decimal"):
        write_number(Fraction(1, 3))
    with pytest.raises(AssertionError, match="-2 is written with a sign"):
        write_number(Fraction(-2))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", '"it\'s"'),
        ('say "a\\b"', r'"say \"a\\b\""'),
        ("a\n\t\r", r'"a\n\t\r"'),
        ("\x00\x7f\u2028", r'"\x00\x7f\u2028"'),
        ("§😀", '"§😀"'),
    ],
)
def test_strings_are_written_with_the_escapes_that_they_need(value: str, text: str) -> None:
    assert write_text(value) == text


@pytest.mark.parametrize("literal", [r'"a\q"', r'"\x4"', r'"\u12"', r'"\ud800"'])
def test_an_escape_without_a_meaning_has_a_place(literal: str) -> None:
    with pytest.raises(LiteralError) as caught:
        read_text(literal)
    assert literal[caught.value.start] == "\\"
    assert caught.value.start < caught.value.end < len(literal)
