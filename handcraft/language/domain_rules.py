"""Domains of element-wise functions and of aggregates, from the domains of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd, inf, lcm, prod
from typing import TYPE_CHECKING

from handcraft.language.domains import (
    BOOLEANS,
    LARGEST_PARTS,
    LONGEST_LIST,
    NOTHING,
    Domain,
    Finite,
    Lattice,
    Mixed,
    as_lattice,
    common_unit,
    finite,
    integers,
    kinds,
    lattice,
    size,
    union,
)
from handcraft.language.values import (
    COMPARISONS,
    LARGEST_BITS,
    Numeric,
    Undefined,
    Value,
    apply,
    kind,
    normal,
    order,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LARGEST_JOINT_TABLE = 4096
"""An element-wise s-op is kept as a function of its leaves up to this many cells."""

LARGEST_TABLE = 1_048_576
"""Cells of a table that is still written out."""

LARGEST_QUICK_TABLE = 65_536
"""Numeric functions are enumerated up to here, and bounded by lattices beyond."""

TEXT_FROM_ANY = ("==", "!=", "str", "bool", "float", "int")
"""Functions that take values of every kind."""

CONDITIONS = ("not", "truth", "indicator")
"""Functions that ask whether their argument is true."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why an element-wise function does not take its arguments, and which one is to blame.

    `argument` is None where they do not fit each other.
    """

    message: str
    argument: int | None
    help: str


def misfit(function: str, arguments: Sequence[Domain]) -> Misfit | None:
    """Return what is wrong with the kinds of the arguments, or None."""
    all_kinds = [kinds(argument) for argument in arguments]
    if function in TEXT_FROM_ANY or not all(all_kinds):
        return None
    texts = [number for number, each in enumerate(all_kinds) if "string" in each]
    if not texts:
        return None
    if function in COMPARISONS or function == "+":
        if not any(each - {"string"} for each in all_kinds):
            return None
        verb = "has no order between" if function in COMPARISONS else "cannot add"
        message = f"`{function}` {verb} strings and numbers"
        return Misfit(message, None, "convert with `str(...)` or `int(...)`")
    needed, help_ = "numbers", "convert with `int(...)`, or count with `indicator(x == y)`"
    if function in CONDITIONS:
        needed, help_ = "a boolean or a number", "compare it: `x == y`"
    can_be = "is" if all_kinds[texts[0]] == {"string"} else "can be"
    message = f"{_written(function)} needs {needed}, and this {can_be} a string"
    return Misfit(message, texts[0], help_)


def function_domain(function: str, arguments: Sequence[Domain]) -> Domain | None:
    """Return the domain of an element-wise function, or None where it would be too large."""
    numeric = function != "str" and all("string" not in kinds(a) for a in arguments)
    quick = numeric or function in COMPARISONS
    cells = prod(size(a) or (0 if a == NOTHING else inf) for a in arguments)
    if cells <= (LARGEST_QUICK_TABLE if quick else LARGEST_TABLE):
        return _enumerated(function, [a.values for a in arguments if isinstance(a, Finite)])
    if function in ("==", "!=") or (function in COMPARISONS and not numeric):
        return BOOLEANS
    return _lattice_rule(function, [as_lattice(a) for a in arguments]) if numeric else None


def _enumerated(function: str, columns: Sequence[Sequence[Value]]) -> Domain | None:
    """Return all results of a function, or None where they are too many to list."""
    outcomes: dict[tuple[int, object], Value] = {}
    for row in product(*columns):
        outcome = apply(function, row)
        if not isinstance(outcome, Undefined):
            outcomes[order(outcome)] = outcome
            if len(outcomes) > LARGEST_QUICK_TABLE:
                return None
    return listed(outcomes.values())


def listed(values: Iterable[Value]) -> Domain:
    """Return the domain of those values, their numbers as a lattice where they are many."""
    domain = finite(values)
    numbers = [Fraction(v) for v in domain.values if kind(v) == "number"]
    if len(numbers) <= LONGEST_LIST:
        return domain
    unit = Fraction(gcd(*(n.numerator for n in numbers)))
    parts = max(n.denominator for n in numbers)
    joined = Lattice(normal(numbers[0]), normal(numbers[-1]), unit, parts)
    others = tuple(v for v in domain.values if kind(v) != "number")
    return Mixed(joined, Finite(others)) if others else joined


def mean_domain(values: Domain, fewest: int, most: int) -> Domain:
    """Return the domain of means of w values, fewest <= w <= most (fewest at least 1)."""
    if most <= 1 or size(values) == 1:
        return values
    if isinstance(values, Finite):
        means = _means(values, fewest, most)
        if means is not None:
            return means
    numbers = as_lattice(values)
    parts = min(most * (numbers.parts**most if numbers.parts > 1 else 1), LARGEST_PARTS)
    return lattice(numbers.low, numbers.high, numbers.unit, parts)


def sum_domain(values: Domain, fewest: int, most: int) -> Domain:
    """Return the domain of sums of w values, fewest <= w <= most."""
    if most == 0:
        return Finite((0,))
    if isinstance(values, Finite):
        found = _sums(values, most)
        if found is not None:
            sums, unit = found
            return _multiples(set().union(*sums[fewest:]), unit)
    numbers = as_lattice(values)
    low = min(numbers.low * fewest, numbers.low * most)
    high = max(numbers.high * fewest, numbers.high * most)
    parts = min(numbers.parts**most if numbers.parts > 1 else 1, LARGEST_PARTS)
    return lattice(low, high, numbers.unit, parts)


def _sums(values: Finite, most: int) -> tuple[list[set[int]], Fraction] | None:
    """Return, for each w up to `most`, the set of sums of w values, in units, and the unit.

    It is None where they are many, or the unit is very small.
    """
    sums = [{0}]
    listed_ = [v for v in values.values if not isinstance(v, str)]
    bottom = lcm(*(v.denominator for v in listed_))
    if bottom.bit_length() > LARGEST_BITS:
        return None
    numbers = [v.numerator * (bottom // v.denominator) for v in listed_]
    for _ in range(most):
        if len(sums[-1]) * len(numbers) > LARGEST_QUICK_TABLE:
            return None
        sums.append({s + v for s in sums[-1] for v in numbers})
        if len(sums[-1]) > LONGEST_LIST:
            return None
    return sums, Fraction(1, bottom)


def _means(values: Finite, fewest: int, most: int) -> Domain | None:
    """Return the means as multiples of a unit so small that all of them are whole."""
    found = _sums(values, most)
    if found is None or sum(map(len, found[0][fewest:])) > 16 * LONGEST_LIST:
        return None
    sums, unit = found
    counts = range(max(1, fewest), most + 1)
    parts = lcm(*counts)
    means = {s * (parts // w) for w in counts for s in sums[w]}
    return _multiples(means, unit / parts) if len(means) <= LONGEST_LIST else None


def _multiples(numbers: Iterable[int], unit: Fraction) -> Finite:
    """Return the list of whole numbers times a unit."""
    top, bottom = unit.numerator, unit.denominator
    return Finite(tuple(normal(Fraction(n * top, bottom)) for n in sorted(numbers)))


def _lattice_rule(function: str, arguments: list[Lattice]) -> Domain | None:
    a = arguments[0]
    b = arguments[-1]
    match function:
        case "<" | "<=" | ">" | ">=":
            return _order_rule(function, a, b)
        case "+" | "-":
            corners = (a.low + b.low, a.high + b.high)
            if function == "-":
                corners = (a.low - b.high, a.high - b.low)
            return _sized(*corners, common_unit(a.unit, b.unit), a.parts * b.parts)
        case "*":
            products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return _sized(min(products), max(products), a.unit * b.unit, a.parts * b.parts)
        case "/":
            return _quotient_rule(a, b)
        case "//":
            return _rounded(floor, as_lattice(_quotient_rule(a, b)))
        case "%":
            return _sized(
                min(0, b.low), max(0, b.high), common_unit(a.unit, b.unit), a.parts * b.parts
            )
        case "^":
            return _power_rule(a, b)
        case "negate":
            return lattice(-a.high, -a.low, a.unit, a.parts)
        case "abs":
            ends = [abs(Fraction(a.low)), abs(Fraction(a.high))]
            low = Fraction(0) if a.low <= 0 <= a.high else min(ends)
            return lattice(normal(low), normal(max(ends)), a.unit, a.parts)
        case "min" | "max":
            lows = [Fraction(x.low) for x in arguments]
            highs = [Fraction(x.high) for x in arguments]
            low, high = (min(lows), min(highs)) if function == "min" else (max(lows), max(highs))
            joined = as_lattice(union(*arguments))
            return lattice(low, high, joined.unit, joined.parts)
        case "round":
            return _rounded(round, a)
        case "floor":
            return _rounded(floor, a)
        case "int":
            return _rounded(int, a)
        case "ceil":
            return _rounded(ceil, a)
        case "indicator":
            return Finite((0, 1))
        case "not" | "truth" | "bool":
            return BOOLEANS
        case "float":
            return a
        case "sign":
            return integers((a.low > 0) - (a.low < 0), (a.high > 0) - (a.high < 0))
        case _:
            return None


def _order_rule(function: str, a: Lattice, b: Lattice) -> Domain:
    """Return `a op b`, decided where the bounds decide it."""
    if function in (">", ">="):
        a, b = b, a
    always = a.high < b.low if function in ("<", ">") else a.high <= b.low
    never = a.low >= b.high if function in ("<", ">") else a.low > b.high
    if always:
        return Finite((True,))
    return Finite((False,)) if never else BOOLEANS


def _quotient_rule(a: Lattice, b: Lattice) -> Domain:
    """Return a / b for b != 0; (u a/w) / (v c/x) has a denominator of |c| w at most."""
    least = b.unit / b.parts
    divisors = [Fraction(end) for end in (b.low, b.high) if end]
    divisors += [least] if b.low <= 0 < b.high else []
    divisors += [-least] if b.low < 0 <= b.high else []
    if not divisors:
        return NOTHING
    quotients = [x / y for x in (a.low, a.high) for y in divisors]
    largest = floor(max(abs(end) for end in divisors) / b.unit * b.parts)
    parts = min(a.parts * max(1, largest), LARGEST_PARTS)
    return _sized(min(quotients), max(quotients), a.unit / b.unit, parts)


def _power_rule(a: Lattice, b: Lattice) -> Domain | None:
    if b.low != b.high or not isinstance(b.low, int) or not 0 < b.low <= 64:
        return None
    ends = [a.low**b.low, a.high**b.low, *([0] if a.low <= 0 <= a.high else [])]
    return _sized(min(ends), max(ends), a.unit**b.low, min(a.parts**b.low, LARGEST_PARTS))


def _rounded(function: Callable[[Numeric], int], a: Lattice) -> Domain:
    return integers(function(a.low), function(a.high))


def _sized(low: Numeric, high: Numeric, unit: Fraction, parts: int) -> Domain:
    return lattice(normal(low), normal(high), unit, min(parts, LARGEST_PARTS))


def _written(function: str) -> str:
    names = {"negate": "`-`", "truth": "a condition"}
    return names.get(function, f"`{function}`")
