"""Values: exact functions, and the reasons where there is no value."""

from __future__ import annotations

from fractions import Fraction

import pytest

from handcraft.language.values import (
    LARGEST_BITS,
    LONGEST_SHOWN,
    LONGEST_TEXT,
    Undefined,
    Value,
    apply,
    cut,
    kind,
    normal,
    order,
    show,
)

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("+", (1, HALF), Fraction(3, 2)),
        ("+", ("a", "b"), "ab"),
        ("+", (True, True), 2),
        ("-", (1, HALF), HALF),
        ("*", (4, HALF), 2),
        ("/", (6, 4), Fraction(3, 2)),
        ("/", (6, 3), 2),
        ("//", (-7, 2), -4),
        ("//", (Fraction(7, 2), -1), -4),
        ("%", (-7, 3), 2),
        ("%", (7, -3), -2),
        ("%", (Fraction(7, 2), 1), HALF),
        ("^", (2, 10), 1024),
        ("^", (2, -2), Fraction(1, 4)),
        ("^", (HALF, 3), Fraction(1, 8)),
        ("^", (9, HALF), 3),
        ("negate", (HALF,), Fraction(-1, 2)),
        ("abs", (-3,), 3),
        ("round", (Fraction(5, 2),), 2),
        ("round", (Fraction(7, 2),), 4),
        ("floor", (Fraction(-1, 2),), -1),
        ("ceil", (Fraction(-1, 2),), 0),
        ("int", (Fraction(-3, 2),), -1),
        ("int", (" -12 ",), -12),
        ("float", ("-2.50",), Fraction(-5, 2)),
        ("bool", ("F",), False),
        ("bool", (3,), True),
        ("str", (HALF,), "1/2"),
        ("str", (True,), "True"),
        ("sign", (-HALF,), -1),
        ("sign", (0,), 0),
        ("indicator", (True,), 1),
        ("not", (0,), True),
        ("min", (3, HALF, True), HALF),
        ("max", (3, HALF, True), 3),
        ("==", (True, 1), True),
        ("==", ("1", 1), False),
        ("<", ("Z", "a"), True),
    ],
)
def test_a_function_has_an_exact_value(
    function: str, arguments: tuple[Value, ...], expected: Value
) -> None:
    found = apply(function, arguments)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [
        ("/", (1, 0), "division-by-zero"),
        ("//", (1, False), "division-by-zero"),
        ("%", (1, 0), "division-by-zero"),
        ("^", (0, -1), "division-by-zero"),
        ("^", (-8, Fraction(1, 3)), "no-real-value"),
        ("sqrt", (-1,), "no-real-value"),
        ("log", (0,), "no-real-value"),
        ("exp", (1000,), "number-too-large"),
        ("^", (2, LARGEST_BITS + 1), "number-too-large"),
        ("*", (2 ** (LARGEST_BITS - 1), 2), "number-too-large"),
        ("+", ("a" * LONGEST_TEXT, "b"), "text-too-long"),
        ("int", ("1.5",), "not-a-number"),
        ("int", ("",), "not-a-number"),
        ("int", ("²",), "not-a-number"),
        ("float", (".",), "not-a-number"),
        ("bool", ("yes",), "not-a-boolean"),
    ],
)
def test_what_has_no_value_says_why(function: str, arguments: tuple[Value, ...], code: str) -> None:
    found = apply(function, arguments)
    assert isinstance(found, Undefined)
    assert found.code == code
    assert found.message


def test_the_first_undefined_argument_is_passed_on() -> None:
    first, second = Undefined("a", "one"), Undefined("b", "two")
    assert apply("+", (1, second)) is second
    assert apply("+", (first, second)) is first


def test_kinds_are_told_apart_and_ordered_numbers_first() -> None:
    values: list[Value] = ["b", True, 2, "a", False, HALF]
    assert sorted(values, key=lambda v: (order(v)[0], str(v))) == sorted(
        values, key=lambda v: (("number", "boolean", "string").index(kind(v)), str(v))
    )
    assert order(True) != order(1)


def test_an_integral_fraction_becomes_an_integer() -> None:
    assert type(normal(Fraction(4, 2))) is int
    assert normal(HALF) is HALF


def test_values_are_shown_as_the_language_writes_them() -> None:
    assert show('a"\\\n') == '"a\\"\\\\\\n"'
    assert show(HALF) == "1/2"
    assert cut("x" * 500) == '"' + "x" * (LONGEST_SHOWN - 1) + "..."
    assert cut(12) == "12"
