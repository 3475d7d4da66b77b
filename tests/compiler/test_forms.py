"""Affine forms over directions: they add up as the numbers do that they stand for."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from handcraft.compiler.forms import START, Direction, Form, combine, constant, direction

NAMES: tuple[Direction, ...] = (("left", 0), ("left", 1), ("right", 0), START)

numbers = st.fractions(min_value=-9, max_value=9, max_denominator=6)
forms = st.builds(
    lambda terms, number: combine((*((c, direction(*d)) for d, c in terms), (1, constant(number)))),
    st.lists(st.tuples(st.sampled_from(NAMES), numbers), max_size=5),
    numbers,
)
values = st.fixed_dictionaries(dict.fromkeys(NAMES, numbers))


@given(forms, forms, numbers, values)
def test_forms_calculate_as_their_values_do(
    one: Form, other: Form, number: Fraction, at: dict[Direction, Fraction]
) -> None:
    x, y = one.at(at), other.at(at)
    assert (one + other).at(at) == x + y
    assert (one - other).at(at) == x - y
    assert one.scaled(number).at(at) == number * x
    assert one.plus(number).at(at) == x + number


@given(forms, forms)
def test_equal_sums_are_equal_forms(one: Form, other: Form) -> None:
    assert one + other == other + one
    assert (one + other) - other == one
    assert one - one == constant(0)


@given(forms)
def test_terms_are_sorted_and_never_zero(form: Form) -> None:
    assert list(form.directions) == sorted(set(form.directions))
    assert all(coefficient for _, coefficient in form.terms)


def test_a_direction_that_is_not_given_is_zero() -> None:
    assert (direction("left", 0) + constant(3)).at({}) == 3


def test_a_form_reads_as_a_sum() -> None:
    form = direction("left", 1).scaled(Fraction(-1, 2)) + direction("right", 0)
    assert str(form.plus(3)) == "-1/2*left.1 + 1*right.0 + 3"
    assert str(constant(0)) == "0"
