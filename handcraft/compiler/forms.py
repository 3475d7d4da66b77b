"""Affine forms over named directions of the residual stream: what a head or a neuron reads."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Direction: TypeAlias = tuple[str, int]
"""A variable's name and the number of one of its directions."""

Number: TypeAlias = int | Fraction

START: Direction = ("start", 0)
"""1 at the hidden start token, 0 at every other position."""


@dataclass(frozen=True, slots=True)
class Form:
    """`constant + sum of coefficient * direction`, sorted by direction, without zeros."""

    terms: tuple[tuple[Direction, Fraction], ...]
    constant: Fraction = Fraction(0)

    def __add__(self, other: Form) -> Form:
        return combine(((1, self), (1, other)))

    def __sub__(self, other: Form) -> Form:
        return combine(((1, self), (-1, other)))

    def scaled(self, factor: Number) -> Form:
        """Return the form times a number."""
        return combine(((factor, self),))

    def plus(self, number: Number) -> Form:
        """Return the form plus a number."""
        return Form(self.terms, self.constant + number)

    def at(self, values: Mapping[Direction, Fraction]) -> Fraction:
        """Return the form's value where the directions have these values (0 if not given)."""
        read = (coefficient * values.get(d, Fraction(0)) for d, coefficient in self.terms)
        return sum(read, self.constant)

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
    return Form((), Fraction(number))


def direction(name: str, index: int) -> Form:
    """Return the form that reads one direction."""
    return Form((((name, index), Fraction(1)),))


def combine(parts: Iterable[tuple[Number, Form]]) -> Form:
    """Return the sum of forms, each times a number."""
    terms: dict[Direction, Fraction] = {}
    total = Fraction(0)
    for factor, form in parts:
        total += factor * form.constant
        for d, coefficient in form.terms:
            terms[d] = terms.get(d, Fraction(0)) + factor * coefficient
    return Form(tuple(sorted((d, c) for d, c in terms.items() if c)), total)
