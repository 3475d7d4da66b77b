"""Domains of functions, means and sums: they contain every value that can come out."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handcraft.language.domain_rules import (
    Misfit,
    function_domain,
    listed,
    mean_domain,
    misfit,
    sum_domain,
)
from handcraft.language.domains import (
    BOOLEANS,
    LONGEST_LIST,
    Domain,
    Finite,
    Lattice,
    Mixed,
    contains,
    finite,
)
from handcraft.language.values import Undefined, Value, apply, normal

FINE = Fraction(1, 1000)
"""A unit so fine that a lattice of it is never written out as a list."""

BINARY = ("+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "min", "max")
UNARY = (
    *("negate", "abs", "round", "floor", "ceil", "indicator", "not", "truth", "sign", "int"),
    *("bool", "float"),
)


@st.composite
def lattice_and_value(draw: st.DrawFn) -> tuple[Lattice, Value]:
    unit = draw(st.sampled_from([FINE, 3 * FINE]))
    parts = draw(st.integers(1, 4))
    low, high = sorted(draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9))))
    w = draw(st.integers(1, parts))
    number = unit * draw(st.integers(int(low * w / unit), int(high * w / unit))) / w
    assume(low <= number <= high)
    return Lattice(low, high, unit, parts), normal(number)


@given(st.sampled_from(BINARY), lattice_and_value(), lattice_and_value())
def test_a_function_of_two_lattices_stays_in_its_domain(
    function: str, one: tuple[Lattice, Value], other: tuple[Lattice, Value]
) -> None:
    domain = function_domain(function, [one[0], other[0]])
    outcome = apply(function, [one[1], other[1]])
    assert domain is not None
    assert isinstance(outcome, Undefined) or contains(domain, outcome)


@given(st.sampled_from(UNARY), lattice_and_value())
def test_a_function_of_a_lattice_stays_in_its_domain(
    function: str, one: tuple[Lattice, Value]
) -> None:
    domain = function_domain(function, [one[0]])
    outcome = apply(function, [one[1]])
    assert domain is not None
    assert not isinstance(outcome, Undefined)
    assert contains(domain, outcome)


@given(lattice_and_value(), st.integers(1, 5))
def test_a_power_of_a_lattice_stays_in_its_domain(
    one: tuple[Lattice, Value], exponent: int
) -> None:
    domain = function_domain("^", [one[0], Finite((exponent,))])
    outcome = apply("^", [one[1], exponent])
    assert domain is not None
    assert not isinstance(outcome, Undefined)
    assert contains(domain, outcome)


@given(lattice_and_value(), st.integers(-3, 3), st.sampled_from(BINARY))
def test_a_boolean_beside_a_lattice_counts_as_zero_or_one(
    one: tuple[Lattice, Value], number: int, function: str
) -> None:
    mixed = Mixed(one[0], BOOLEANS)
    domain = function_domain(function, [mixed, Finite((number,))])
    outcome = apply(function, [True, number])
    assert domain is not None
    assert isinstance(outcome, Undefined) or contains(domain, outcome)


def test_a_function_of_short_lists_has_exactly_its_results() -> None:
    assert function_domain("/", [Finite((1, 2)), Finite((0, 2))]) == Finite((Fraction(1, 2), 1))
    assert function_domain("+", [Finite(("a", "b")), Finite(("", "c"))]) == Finite(
        ("a", "ac", "b", "bc")
    )
    assert function_domain("sqrt", [Finite((-1,))]) == Finite(())


def test_what_cannot_be_listed_or_bounded_has_no_domain() -> None:
    fine = Lattice(0, 1, FINE, 5)
    texts = Finite(tuple(f"{k:04}" for k in range(900)))
    assert function_domain("sqrt", [fine]) is None
    assert function_domain("str", [fine]) is None
    assert function_domain("+", [texts, texts]) is None
    assert function_domain("==", [texts, texts]) == BOOLEANS
    assert function_domain("==", [fine, texts]) == BOOLEANS


def test_an_order_that_bounds_decide_is_one_value() -> None:
    low, high = Lattice(0, 2, FINE, 3), Lattice(2, 4, FINE, 3)
    assert function_domain("<=", [low, high]) == Finite((True,))
    assert function_domain(">", [low, high]) == Finite((False,))
    assert function_domain("<", [low, high]) == BOOLEANS


@pytest.mark.parametrize("values", [(0, 1), (-2, 1, 5), (Fraction(1, 3), 2)])
def test_means_and_sums_of_a_list_are_all_those_that_can_be(values: tuple[Value, ...]) -> None:
    numbers = [Fraction(v) for v in values if not isinstance(v, str)]
    sums = {w: {sum(c) for c in combinations_with_replacement(numbers, w)} for w in (2, 3, 4)}
    domain = Finite(values)
    means = {normal(Fraction(s) / w) for w, each in sums.items() for s in each}
    assert mean_domain(domain, 2, 4) == finite(means)
    assert sum_domain(domain, 2, 4) == finite(normal(s) for each in sums.values() for s in each)
    assert mean_domain(domain, 0, 1) == domain
    assert sum_domain(domain, 0, 0) == Finite((0,))


@given(st.lists(lattice_and_value(), min_size=3, max_size=3))
def test_means_and_sums_of_a_lattice_stay_in_their_domain(
    drawn: list[tuple[Lattice, Value]],
) -> None:
    domain = drawn[0][0]
    values = [v for _, v in drawn if contains(domain, v) and not isinstance(v, str)]
    total = sum(map(Fraction, values), Fraction(0))
    assert contains(sum_domain(domain, 1, 3), normal(total))
    assert contains(mean_domain(domain, 1, 3), normal(total / len(values)))


def test_means_over_many_keys_are_a_lattice() -> None:
    assert mean_domain(Finite(tuple(range(100))), 1, 60) == Lattice(0, 99, Fraction(1), 60)


def test_many_values_are_a_lattice_that_contains_them() -> None:
    numbers = [normal(Fraction(n, 2 + n % 3)) for n in range(-3000, 3000)]
    assert len(set(numbers)) > LONGEST_LIST
    domain = listed([*numbers, "a", True])
    assert isinstance(domain, Mixed)
    assert domain.numbers.parts == 4
    assert all(contains(domain, number) for number in numbers)
    assert domain.others == Finite((True, "a"))


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("*", [Finite((1,)), Finite(("a",))], ("`*` needs numbers, and this is a string", 1)),
        ("-", [Finite((1, "a")), Finite((1,))], ("`-` needs numbers, and this can be a string", 0)),
        ("+", [Finite((1,)), Finite(("a",))], ("`+` cannot add strings and numbers", None)),
        ("<", [BOOLEANS, Finite(("a",))], ("`<` has no order between strings and numbers", None)),
        (
            "truth",
            [Finite(("a",))],
            ("a condition needs a boolean or a number, and this is a string", 0),
        ),
    ],
)
def test_kinds_that_do_not_fit_are_told(
    function: str, arguments: list[Domain], expected: tuple[str, int | None]
) -> None:
    found = misfit(function, arguments)
    assert isinstance(found, Misfit)
    assert (found.message, found.argument) == expected


def test_kinds_that_fit_are_no_mistake() -> None:
    text, number = Finite(("a",)), Finite((1,))
    assert misfit("+", [text, text]) is None
    assert misfit("<", [text, text]) is None
    assert misfit("==", [text, number]) is None
    assert misfit("*", [number, BOOLEANS]) is None
    assert misfit("*", [number, Finite(())]) is None
