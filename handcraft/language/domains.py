"""Domains: finite sets that contain every value an s-op can take.

A domain is a list where it is short, else a lattice of numbers (perhaps with a few values of
other kinds beside it). Domains may be too large, never too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil, floor, gcd, inf, lcm
from typing import TYPE_CHECKING, TypeAlias

from handcraft.language.values import Numeric, Value, kind, normal, order, show

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_LIST = 4096
"""More values than this are kept as a lattice."""

LARGEST_PARTS = 10**15
"""A lattice with larger denominators than this says nothing that a format could resolve."""


@dataclass(frozen=True, slots=True)
class Finite:
    """A list of values, sorted by `values.order`, each once."""

    values: tuple[Value, ...]

    def __str__(self) -> str:
        values = self.values
        if len(values) > 3 and all(type(v) is int for v in values) and _consecutive(values):
            return f"{{{values[0]}..{values[-1]}}}"
        shown = [show(v) for v in values[:12]]
        more = [f"... {len(values)} values"] if len(values) > 12 else []
        return "{" + ", ".join(shown + more) + "}"


@dataclass(frozen=True, slots=True)
class Lattice:
    """Numbers `unit * a / w` between `low` and `high`, with integers a and 1 <= w <= parts.

    Two different ones are at least `unit / (parts * (parts - 1))` apart (`unit` for parts = 1):
    |a/w - b/v| >= 1/(w v) unless w = v, where it is at least 1/w.
    """

    low: Numeric
    high: Numeric
    unit: Fraction
    parts: int

    @property
    def spacing(self) -> Fraction:
        """The least distance between two values."""
        return self.unit / (self.parts * max(1, self.parts - 1))

    def distance(self, constant: Numeric) -> Fraction:
        """Return the least distance of a value from that constant, unless it is equal."""
        quotient = Fraction(constant) / self.unit
        return self.unit / (self.parts * quotient.denominator)

    def __str__(self) -> str:
        size = f"multiples of {self.unit}" + (f"/w, w <= {self.parts}" if self.parts > 1 else "")
        return f"[{self.low}, {self.high}] {size}"


@dataclass(frozen=True, slots=True)
class Mixed:
    """A lattice of numbers beside a list of values of other kinds."""

    numbers: Lattice
    others: Finite

    def __str__(self) -> str:
        return f"{self.numbers} or {self.others}"


Domain: TypeAlias = Finite | Lattice | Mixed

NOTHING = Finite(())
BOOLEANS = Finite((False, True))


def finite(values: Iterable[Value]) -> Finite:
    """Return the domain of those values."""
    unique = {_identity(v): v for v in values}
    return Finite(tuple(sorted(unique.values(), key=_sortable)))


def integers(low: int, high: int) -> Domain:
    """Return the domain of the integers from `low` to `high`."""
    if high - low < LONGEST_LIST:
        return Finite(tuple(range(low, high + 1)))
    return Lattice(low, high, Fraction(1), 1)


def lattice(low: Numeric, high: Numeric, unit: Fraction, parts: int) -> Domain:
    """Return that lattice, as a list where it is an evenly spaced short one."""
    if parts == 1:
        first, last = ceil(Fraction(low) / unit), floor(Fraction(high) / unit)
        if last - first < LONGEST_LIST:
            return Finite(tuple(normal(a * unit) for a in range(first, last + 1)))
    return Lattice(normal(low), normal(high), unit, parts)


def as_lattice(domain: Domain) -> Lattice:
    """Return the numbers of a domain as a lattice; booleans count as 0 and 1.

    A list of numbers becomes multiples of a common unit, or of quotients of one where these are
    further apart.
    """
    match domain:
        case Lattice():
            return domain
        case Mixed(numbers, others):
            booleans = finite(int(v) for v in others.values if isinstance(v, bool))
            return _joined(numbers, as_lattice(booleans)) if booleans.values else numbers
        case Finite(values):
            numbers_ = [Fraction(v) for v in values if not isinstance(v, str)]
            if not numbers_:
                return Lattice(0, 0, Fraction(1), 1)
            bottom = lcm(*(n.denominator for n in numbers_))
            top = gcd(*(int(n * bottom) for n in numbers_)) or 1
            low, high = normal(min(numbers_)), normal(max(numbers_))
            multiples = Lattice(low, high, Fraction(top, bottom), 1)
            unit = Fraction(gcd(*(n.numerator for n in numbers_)) or 1)
            quotients = Lattice(low, high, unit, max(n.denominator for n in numbers_))
            return max(multiples, quotients, key=lambda each: each.spacing)


def union(*domains: Domain) -> Domain:
    """Return a domain that contains all of these.

    It lists at most `LONGEST_LIST` numbers, but every value of another kind.
    """
    values = [v for d in domains if isinstance(d, Finite) for v in d.values]
    lattices = [d for d in domains if isinstance(d, Lattice)]
    for domain in domains:
        if isinstance(domain, Mixed):
            lattices.append(domain.numbers)
            values.extend(domain.others.values)
    listed = finite(values)
    if not lattices and len(listed.values) <= LONGEST_LIST:
        return listed
    numbers = Finite(tuple(v for v in listed.values if kind(v) == "number"))
    if not lattices and len(numbers.values) <= LONGEST_LIST:
        return listed
    if numbers.values:
        lattices.append(as_lattice(numbers))
    others = Finite(tuple(v for v in listed.values if kind(v) != "number"))
    joined = reduce(_joined, lattices)
    return Mixed(joined, others) if others.values else joined


def _joined(a: Lattice, b: Lattice) -> Lattice:
    low, high = min(a.low, b.low), max(a.high, b.high)
    return Lattice(low, high, common_unit(a.unit, b.unit), max(a.parts, b.parts))


def common_unit(a: Fraction, b: Fraction) -> Fraction:
    """Return the largest number of which both are integer multiples."""
    bottom = lcm(a.denominator, b.denominator)
    return Fraction(gcd(int(a * bottom), int(b * bottom)), bottom)


def kinds(domain: Domain) -> frozenset[str]:
    """Return the kinds of value in a domain."""
    match domain:
        case Finite(values):
            one_of_each_type = {type(v): v for v in values}
            return frozenset(map(kind, one_of_each_type.values()))
        case Lattice():
            return frozenset(["number"])
        case Mixed(_, others):
            return frozenset(["number"]) | kinds(others)


def is_numeric(domain: Domain) -> bool:
    """Return whether a domain holds numbers only (booleans are no numbers here)."""
    return kinds(domain) <= {"number"}


def bounds(domain: Domain) -> tuple[Numeric, Numeric]:
    """Return the smallest and the largest number (booleans as 0 and 1)."""
    numbers = as_lattice(domain)
    return numbers.low, numbers.high


def size(domain: Domain) -> int | None:
    """Return how many values a domain lists, or None for a lattice."""
    return len(domain.values) if isinstance(domain, Finite) else None


def contains(domain: Domain, value: Value) -> bool:
    """Return whether a domain contains a value."""
    match domain:
        case Finite(values):
            return any(order(v) == order(value) for v in values)
        case Mixed(numbers, others):
            return contains(others, value) or contains(numbers, value)
        case Lattice(low, high, unit, parts):
            if isinstance(value, str | bool) or not low <= value <= high:
                return False
            return (Fraction(value) / unit).denominator <= parts


def _identity(value: Value) -> tuple[int, int, int] | str:
    """Return what tells values apart as `values.order` does; a fraction is slow to hash."""
    if isinstance(value, str):
        return value
    return (isinstance(value, bool), value.numerator, value.denominator)


def _sortable(value: Value) -> tuple[int, float, int | Fraction, str]:
    """Return a key that sorts as `values.order` does; a fraction is slow to compare."""
    rank, number = order(value)
    if isinstance(number, str):
        return (rank, 0, 0, number)
    try:
        return (rank, number.numerator / number.denominator, number, "")
    except OverflowError:
        return (rank, inf if number > 0 else -inf, number, "")


def _consecutive(values: tuple[Value, ...]) -> bool:
    first, last = values[0], values[-1]
    return isinstance(first, int) and isinstance(last, int) and last - first == len(values) - 1
