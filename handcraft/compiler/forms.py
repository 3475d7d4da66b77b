"""Affine forms over named directions of the residual stream: what a head or a neuron reads."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Direction: TypeAlias = tuple[str, int]
"""A variable's name and the number of one of its directions."""

Number: TypeAlias = int | Fraction

START: Direction = ("start", 0)
"""1 at the hidden start token, 0 at every other position."""


@dataclass(frozen=True, slots=True)
class Form:
    """`constant + sum of coefficient * direction`, sorted by direction, without zeros.

    Most numbers are whole, and an `int` is added and hashed many times faster than a `Fraction`,
    so forms hold the one where they can.
    """

    terms: tuple[tuple[Direction, Number], ...]
    constant: Number = 0

    def __add__(self, other: Form) -> Form:
        return combine(((1, self), (1, other)))

    def __sub__(self, other: Form) -> Form:
        return combine(((1, self), (-1, other)))

    def scaled(self, factor: Number) -> Form:
        """Return the form times a number."""
        return combine(((factor, self),))

    def plus(self, number: Number) -> Form:
        """Return the form plus a number."""
        return Form(self.terms, whole(self.constant + number))

    def at(self, values: Mapping[Direction, Number]) -> Number:
        """Return the form's value where the directions have these values (0 if not given)."""
        total = self.constant
        for d, coefficient in self.terms:
            value = values.get(d)
            if value:
                total += coefficient * value
        return total

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that the form reads."""
        return tuple(d for d, _ in self.terms)

    def __str__(self) -> str:
        parts = [f"{c}*{name}.{i}" for (name, i), c in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def constant(number: Number) -> Form:
    """Return the form that is a number everywhere."""
    return Form((), whole(number))


def direction(name: str, index: int) -> Form:
    """Return the form that reads one direction."""
    return Form((((name, index), 1),))


def combine(parts: Iterable[tuple[Number, Form]]) -> Form:
    """Return the sum of forms, each times a number."""
    terms: dict[Direction, Number] = {}
    total: Number = 0
    for given, form in parts:
        factor = whole(given)
        if form.constant:
            total += factor * form.constant
        for d, coefficient in form.terms:
            change = coefficient if factor == 1 else factor * coefficient
            terms[d] = terms[d] + change if d in terms else change
    return Form(tuple(sorted((d, whole(c)) for d, c in terms.items() if c)), whole(total))


def magnitude(number: Number) -> Number:
    """Return the absolute value of a number."""
    return -number if number < 0 else number


def over_one(numbers: Sequence[Number]) -> tuple[list[int], int]:
    """Return numbers as integers over one denominator: integers are much faster to add."""
    bottom = lcm(*(n.denominator for n in numbers))
    return [n.numerator * (bottom // n.denominator) for n in numbers], bottom


def whole(number: Number) -> Number:
    """Return a number as an `int` where it is whole."""
    if isinstance(number, int):
        return number
    return number.numerator if number.denominator == 1 else number
