"""Elementary functions, against sums of exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from math import isqrt

import pytest

from handcraft.language.elementary import cosine, exponential, logarithm, power, root, sine

TERMS = 90
"""Terms of a series, enough for 60 digits at the arguments below."""

ARGUMENTS = [Fraction(n, d) for n, d in ((1, 3), (-2, 7), (5, 2), (-11, 4), (10, 3), (7, 1))]


def exact_exponential(x: Fraction) -> Fraction:
    term = total = Fraction(1)
    for k in range(1, TERMS):
        term = term * x / k
        total += term
    return total


def exact_sine(x: Fraction) -> Fraction:
    term = total = x
    for k in range(1, TERMS):
        term = -term * x * x / (2 * k * (2 * k + 1))
        total += term
    return total


def exact_cosine(x: Fraction) -> Fraction:
    term = total = Fraction(1)
    for k in range(1, TERMS):
        term = -term * x * x / ((2 * k - 1) * (2 * k))
        total += term
    return total


def exact_logarithm(x: Fraction) -> Fraction:
    """Return 2 artanh((x - 1) / (x + 1)), reduced by halves first."""
    halves = 0
    while x > Fraction(4, 3):
        x, halves = x / 2, halves + 1
    while x < Fraction(2, 3):
        x, halves = x * 2, halves - 1
    return artanh_series(x) + halves * artanh_series(Fraction(2))


def artanh_series(x: Fraction) -> Fraction:
    y = (x - 1) / (x + 1)
    return 2 * sum((y ** (2 * k + 1) / (2 * k + 1) for k in range(TERMS)), Fraction(0))


@pytest.mark.parametrize("x", ARGUMENTS, ids=str)
def test_exponentials_and_sines_are_the_nearest_floats(x: Fraction) -> None:
    assert exponential(x) == Fraction(float(exact_exponential(x)))
    assert sine(x) == Fraction(float(exact_sine(x)))
    assert cosine(x) == Fraction(float(exact_cosine(x)))


@pytest.mark.parametrize("x", [abs(x) for x in ARGUMENTS], ids=str)
def test_logarithms_are_the_nearest_floats(x: Fraction) -> None:
    assert logarithm(x) == Fraction(float(exact_logarithm(x)))


@pytest.mark.parametrize("x", [abs(x) for x in ARGUMENTS], ids=str)
def test_roots_are_the_nearest_floats(x: Fraction) -> None:
    scale = 10**40
    exact = Fraction(isqrt(x.numerator * scale**2 // x.denominator), scale)
    assert root(x) == Fraction(float(exact))


def test_roots_and_half_powers_of_squares_are_exact() -> None:
    assert root(Fraction(49, 9)) == Fraction(7, 3)
    assert root(Fraction(10**40)) == 10**20
    assert power(Fraction(4, 9), Fraction(3, 2)) == Fraction(8, 27)
    assert power(Fraction(4, 9), Fraction(-1, 2)) == Fraction(3, 2)


def test_powers_agree_with_the_exponential_of_a_multiple_of_the_logarithm() -> None:
    exact = exact_exponential(exact_logarithm(Fraction(5)) * Fraction(2, 3))
    assert power(Fraction(5), Fraction(2, 3)) == Fraction(float(exact))


def test_special_arguments_have_exact_values() -> None:
    assert exponential(Fraction(0)) == 1
    assert logarithm(Fraction(1)) == 0
    assert sine(Fraction(0)) == 0
    assert cosine(Fraction(0)) == 1
    assert root(Fraction(0)) == 0
    assert power(Fraction(0), Fraction(1, 2)) == 0
    assert power(Fraction(1), Fraction(-7, 2)) == 1


def test_what_passes_the_range_of_floats_has_no_value_or_is_zero() -> None:
    assert exponential(Fraction(710)) is None
    assert exponential(Fraction(-800)) == 0
    assert power(Fraction(10), Fraction(1001, 2)) is None
    assert power(Fraction(10), Fraction(-1001, 2)) == 0


def test_a_large_angle_is_reduced_with_enough_digits() -> None:
    # pi to 30 digits: sin(n pi + r) = +-sin(r)
    pi = Fraction(3141592653589793238462643383279, 10**30)
    angle = 1_000_000 * pi + 1
    assert math.isclose(float(sine(angle)), math.sin(1), rel_tol=1e-15)
