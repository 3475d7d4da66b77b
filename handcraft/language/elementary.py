"""Roots, powers, exponentials and sines: the float64 nearest to the true value, as a rational.

Computed in decimal arithmetic of 60 digits and rounded once, so the result does not depend on
a machine's mathematics library. (A true value closer than 1e-50 to the middle of two floats
could be rounded to the wrong neighbour; no such argument is known.)
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import isqrt

DIGITS = 60
LARGEST_EXPONENT = Fraction(709)
SMALLEST_EXPONENT = Fraction(-746)


def root(number: Fraction) -> Fraction:
    """Return the square root of a number >= 0: exact for squares, else the nearest float64."""
    top, bottom = isqrt(number.numerator), isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return Fraction(top, bottom)
    with localcontext(_context(DIGITS)):
        return _nearest(_decimal(number).sqrt())


def exponential(number: Fraction) -> Fraction | None:
    """Return e to that power, or None where it passes the range of float64."""
    if number == 0:
        return Fraction(1)
    if number > LARGEST_EXPONENT:
        return None
    if number < SMALLEST_EXPONENT:
        return Fraction(0)
    with localcontext(_context(DIGITS)):
        return _nearest(_decimal(number).exp())


def logarithm(number: Fraction) -> Fraction:
    """Return the natural logarithm of a number > 0."""
    if number == 1:
        return Fraction(0)
    with localcontext(_context(DIGITS)):
        return _nearest(_decimal(number).ln())


def power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """Return a number >= 0 to a broken power, or None where it passes the range of float64."""
    if base == 0 or base == 1:
        return base
    if exponent.denominator == 2 and abs(exponent.numerator) < DIGITS:
        exact = root(base)
        if exact * exact == base:
            return exact**exponent.numerator
    with localcontext(_context(2 * DIGITS)):
        logarithm_ = _decimal(exponent) * _decimal(base).ln()
        if logarithm_ > 709:
            return None
        return Fraction(0) if logarithm_ < -746 else _nearest(logarithm_.exp())


def sine(angle: Fraction) -> Fraction:
    """Return the sine of an angle in radians."""
    return _series(angle, 1)


def cosine(angle: Fraction) -> Fraction:
    """Return the cosine of an angle in radians."""
    return _series(angle, 0)


def _series(angle: Fraction, first: int) -> Fraction:
    """Sum the Taylor series that starts at x^first, after bringing the angle below pi."""
    if angle == 0:
        return Fraction(1 - first)
    extra = len(str(abs(angle.numerator) // angle.denominator))
    digits = 2 * DIGITS + extra
    with localcontext(_context(digits)):
        x = _decimal(angle).remainder_near(2 * _pi(digits))
        term = x if first else Decimal(1)
        total, k = term, first
        while abs(term) > Decimal(10) ** (-2 * DIGITS):
            k += 2
            term = -term * x * x / (k * (k - 1))
            total += term
        return _nearest(total)


@cache
def _pi(digits: int) -> Decimal:
    """Return pi to that many digits (those of the context), by Machin's formula."""

    def arctangent_of_inverse(n: int) -> Decimal:
        term = Decimal(1) / n
        total, k = term, 1
        while term:
            term = -term / (n * n)
            k += 2
            previous, total = total, total + term / k
            if total == previous:
                break
        return total

    return 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)


def _context(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _nearest(number: Decimal) -> Fraction:
    return Fraction(float(number))
