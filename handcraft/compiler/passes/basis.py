"""A small basis for functions on the rows of an embedding, by exact elimination.

A function of the basis is written by the embedding; any other one is a sum of multiples of them.
Sums are only taken where every format adds them up exactly: what was exact stays exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from handcraft.compiler.forms import magnitude

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from handcraft.compiler.forms import Number

Function: TypeAlias = tuple[int | Fraction, ...]
"""A value for each row of an embedding: each token, or each position."""

EXACT = 2**11
"""Whole numbers up to this are exact in any format that weights may have."""

LARGEST = 2**22
"""Whole numbers up to this, and sums below it, are exact in formats that go beyond `EXACT`."""


class Reading(NamedTuple):
    """What a form reads of an embedding: a number times a function."""

    scale: Fraction
    function: Function


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant + sum of coefficients[i] * basis function i`."""

    coefficients: Mapping[int, Number]
    constant: Number


@dataclass(frozen=True, slots=True)
class Basis:
    """Functions, and what is read as a sum of them: with a constant only where that is free."""

    functions: tuple[Function, ...]
    sums: Mapping[Function, Sum]


def reading(numerators: Sequence[int], denominator: int) -> Reading:
    """Return the values `numerator / denominator` as a multiple of small whole numbers.

    Numbers that are not multiples of small ones are taken as they are.
    """
    divisor = gcd(*numerators)
    if not divisor:
        return Reading(Fraction(0), tuple(numerators))
    if next(n for n in numerators if n) < 0:
        divisor = -divisor
    function = tuple(n // divisor for n in numerators)
    if max(map(abs, function)) > LARGEST:
        return Reading(Fraction(1), tuple(Fraction(n, denominator) for n in numerators))
    return Reading(Fraction(divisor, denominator), function)


def basis_of(
    exactly: Iterable[Reading], up_to_constant: Iterable[Reading], most: int
) -> Basis | None:
    """Return a basis, or None if it would have more than `most` functions.

    Args:
        exactly: functions that are sums of basis functions alone.
        up_to_constant: functions to which a constant may be added for free.
        most: how many functions are worth it.
    """
    search = _Search()
    for free, readings in ((False, exactly), (True, up_to_constant)):
        if free:
            search.allow_constant()
        spread: dict[Function, int | None] = {}
        for scale, function in readings:
            if scale:
                spread[function] = _larger(spread.get(function, 1), _spread(scale))
        for function in sorted(spread, key=_simplest_first):
            search.add(function, spread[function])
            if len(search.functions) > most:
                return None
    return Basis(tuple(search.functions), search.sums)


def _spread(scale: Fraction) -> int | None:
    """Return by how much a multiple needs more room than a power of two; None: it is rounded."""
    if scale.denominator & (scale.denominator - 1):
        return None
    size = abs(scale.numerator)
    return size // (size & -size)


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _simplest_first(function: Function) -> tuple[Number, int]:
    return _size(function), sum(map(bool, function))


Vector: TypeAlias = dict[int, "Number"]

_CONSTANT = -1
"""The number of the function that is 1 everywhere."""


class _Search:
    """Functions taken so far, and their echelon form: rows with what they are sums of."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.sums: dict[Function, Sum] = {}
        self._sizes: list[Number] = []
        self._rows: dict[int, tuple[Vector, Vector]] = {}
        self._constant_is_free = False

    def allow_constant(self) -> None:
        """Let functions that come from now on be read with a constant."""
        self._constant_is_free = True

    def add(self, function: Function, spread: int | None) -> None:
        """Note a function as a sum of those before it, or take it into the basis.

        Args:
            function: what is read, up to a factor.
            spread: the largest odd factor that it is read with; None for a fraction.
        """
        if function in self.sums:
            return
        if self._constant_is_free and _CONSTANT not in self._rows:
            self._insert(_CONSTANT, *self._reduced((1,) * len(function)))
        rest, parts = self._reduced(function)
        if not rest:
            found = Sum({i: c for i, c in parts.items() if i >= 0}, parts.get(_CONSTANT, 0))
            if spread is not None and _is_exact(_size(function), found, self._sizes, spread):
                self.sums[function] = found
                return
        number = len(self.functions)
        self.functions.append(function)
        self._sizes.append(_size(function))
        self.sums[function] = Sum({number: 1}, 0)
        self._insert(number, rest, parts)

    def _insert(self, number: int, rest: Vector, parts: Vector) -> None:
        """Make a row of what is left of a function, if anything is."""
        if not rest:
            return
        pivot = min(rest)
        combined = {i: -c for i, c in parts.items()}
        combined[number] = combined.get(number, 0) + 1
        first = rest[pivot]
        row = {i: _quotient(v, first) for i, v in rest.items()}
        self._rows[pivot] = row, {i: _quotient(c, first) for i, c in combined.items()}

    def _reduced(self, function: Function) -> tuple[Vector, Vector]:
        """Return what is left of a function, and the sum that was taken away from it."""
        rest: Vector = {i: v for i, v in enumerate(function) if v}
        parts: Vector = {}
        for pivot, (row, combined) in self._rows.items():
            factor = rest.get(pivot)
            if factor:
                _add(rest, row, -factor)
                _add(parts, combined, factor)
        return rest, parts


def _add(vector: Vector, other: Vector, factor: Number) -> None:
    for i, value in other.items():
        changed = vector.get(i, 0) + factor * value
        if changed:
            vector[i] = changed
        else:
            vector.pop(i, None)


def _quotient(a: Number, b: Number) -> Number:
    exact = Fraction(a) / b if b not in (1, -1) else a * b
    return exact.numerator if exact.denominator == 1 else exact


def _is_exact(size: Number, found: Sum, sizes: Sequence[Number], spread: int) -> bool:
    """Return whether a sum is added up without rounding in any format that holds its result.

    Args:
        size: of the largest value of the sum.
        found: the sum.
        sizes: of the largest value of each function of the basis.
        spread: an odd factor that all is read with.
    """
    terms = [(c, sizes[i]) for i, c in found.coefficients.items()]
    numbers = [found.constant, *(c for c, _ in terms)]
    unit = lcm(*(n.denominator for n in numbers))
    whole = all(s.denominator == 1 and s <= LARGEST for s in (size, *(s for _, s in terms)))
    if not whole or unit & (unit - 1):
        return False
    total = sum((magnitude(c) * s for c, s in terms), magnitude(found.constant))
    return total * unit * spread <= (EXACT if size * unit * spread <= EXACT else LARGEST)


def _size(function: Function) -> Number:
    return max(max(function), -min(function))
