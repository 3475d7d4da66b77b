"""Domains of element-wise functions and of aggregates, from the domains of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, gcd, prod

from handcraft.language.domains import (
    BOOLEANS,
    LARGEST_PARTS,
    LONGEST_LIST,
    Domain,
    Finite,
    Lattice,
    as_lattice,
    common_unit,
    finite,
    integers,
    kinds,
    lattice,
    size,
    union,
)
from handcraft.language.values import COMPARISONS, Numeric, Undefined, apply, normal

LARGEST_TABLE = 1_048_576
"""Cells of a table that is still written out."""

LARGEST_QUICK_TABLE = 65_536
"""Numeric functions are enumerated up to here, and bounded by lattices beyond."""

TEXT_FROM_ANY = ("==", "!=", "str", "bool", "float", "int")


def type_mistake(function: str, arguments: Sequence[Domain]) -> str | None:
    """Return what is wrong with the kinds of the arguments, or None."""
    all_kinds = [kinds(a) for a in arguments]
    if function in TEXT_FROM_ANY or any(not k for k in all_kinds):
        return None
    has_text = ["string" in k for k in all_kinds]
    if function in COMPARISONS or function == "+":
        numbers = [bool(k - {"string"}) for k in all_kinds]
        if any(has_text) and any(numbers):
            verb = "has no order between" if function in COMPARISONS else "cannot add"
            return f"`{function}` {verb} strings and numbers"
        return None
    if any(has_text):
        return f"`{_written(function)}` needs numbers, and this can be a string"
    return None


def function_domain(function: str, arguments: Sequence[Domain]) -> Domain | None:
    """Return the domain of an element-wise function, or None where it would be too large."""
    sizes = [size(a) for a in arguments]
    known = [s for s in sizes if s is not None]
    cells = prod(known) if len(known) == len(sizes) else None
    numeric = function not in TEXT_FROM_ANY and all("string" not in kinds(a) for a in arguments)
    limit = LARGEST_QUICK_TABLE if numeric else LARGEST_TABLE
    if cells is not None and cells <= limit:
        lists = [a.values for a in arguments if isinstance(a, Finite)]
        outcomes = {apply(function, row) for row in product(*lists)}
        return listed(o for o in outcomes if not isinstance(o, Undefined))
    if function in ("==", "!="):
        return BOOLEANS
    if function in COMPARISONS and any("string" in kinds(a) for a in arguments):
        return BOOLEANS
    if not numeric:
        return None
    return _lattice_rule(function, [as_lattice(a) for a in arguments])


def listed(values: object) -> Domain:
    """Return the domain of those values, as a lattice where they are many numbers."""
    domain = finite(values)  # type: ignore[arg-type]
    if len(domain.values) > LONGEST_LIST and kinds(domain) == {"number"}:
        return _as_parts(domain)
    return domain


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
        sums = _sums(values, most)
        if sums is not None:
            return finite(v for s in sums[fewest:] for v in s)
    numbers = as_lattice(values)
    low = min(numbers.low * fewest, numbers.low * most)
    high = max(numbers.high * fewest, numbers.high * most)
    parts = min(numbers.parts**most if numbers.parts > 1 else 1, LARGEST_PARTS)
    return lattice(low, high, numbers.unit, parts)


def _sums(values: Finite, most: int) -> list[set[Numeric]] | None:
    """Return, for each w up to `most`, the set of sums of w values; None where they are many."""
    sums: list[set[Numeric]] = [{0}]
    numbers = [v for v in values.values if not isinstance(v, str)]
    for _ in range(most):
        if len(sums[-1]) * len(numbers) > LARGEST_QUICK_TABLE:
            return None
        sums.append({normal(s + v) for s in sums[-1] for v in numbers})
        if len(sums[-1]) > LONGEST_LIST:
            return None
    return sums


def _means(values: Finite, fewest: int, most: int) -> Domain | None:
    sums = _sums(values, most)
    if sums is None or sum(map(len, sums[fewest:])) > 16 * LONGEST_LIST:
        return None
    means = {
        normal(Fraction(s) / w) for w in range(max(1, fewest), most + 1) for s in sums[w]
    }
    return finite(means) if len(means) <= LONGEST_LIST else None


def _as_parts(domain: Finite) -> Domain:
    """Return many listed numbers as a lattice with the smallest fitting denominators."""
    numbers = [Fraction(v) for v in domain.values if not isinstance(v, str)]
    unit = Fraction(gcd(*(n.numerator for n in numbers)) or 1)
    parts = max(n.denominator for n in numbers)
    return lattice(normal(numbers[0]), normal(numbers[-1]), unit, parts)


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
            quotient = _quotient_rule(a, b)
            return None if quotient is None else _rounded(floor, as_lattice(quotient))
        case "%":
            if b.low <= 0:
                return None
            return _sized(0, b.high, common_unit(a.unit, b.unit), a.parts * b.parts)
        case "^":
            return _power_rule(a, b)
        case "negate":
            return lattice(-a.high, -a.low, a.unit, a.parts)
        case "abs":
            low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return lattice(low, max(abs(a.low), abs(a.high)), a.unit, a.parts)
        case "min" | "max":
            pick = min if function == "min" else max
            lattices = [Lattice(x.low, x.high, x.unit, x.parts) for x in arguments]
            joined = as_lattice(union(*lattices))
            low = pick(x.low for x in arguments)
            return lattice(low, pick(x.high for x in arguments), joined.unit, joined.parts)
        case "round":
            return _rounded(round, a)
        case "floor" | "int":
            return integers(floor(a.low), ceil(a.high))
        case "ceil":
            return _rounded(ceil, a)
        case "indicator":
            return Finite((0, 1))
        case "not":
            return BOOLEANS
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


def _quotient_rule(a: Lattice, b: Lattice) -> Domain | None:
    """Return a / b where b keeps its sign; (u a/w) / (v c/x) has a denominator of |c| w at most."""
    if b.low <= 0 <= b.high:
        return None
    quotients = [Fraction(x) / y for x in (a.low, a.high) for y in (b.low, b.high)]
    largest = floor(max(abs(b.low), abs(b.high)) / b.unit * b.parts)
    parts = min(a.parts * max(1, largest), LARGEST_PARTS)
    return _sized(min(quotients), max(quotients), a.unit / b.unit, parts)


def _power_rule(a: Lattice, b: Lattice) -> Domain | None:
    if b.low != b.high or not isinstance(b.low, int) or not 0 < b.low <= 64:
        return None
    ends = [a.low**b.low, a.high**b.low, *([0] if a.low <= 0 <= a.high else [])]
    return _sized(min(ends), max(ends), a.unit**b.low, min(a.parts**b.low, LARGEST_PARTS))


def _rounded(function: object, a: Lattice) -> Domain:
    return integers(function(a.low), function(a.high))  # type: ignore[operator]


def _sized(low: Numeric, high: Numeric, unit: Fraction, parts: int) -> Domain:
    return lattice(normal(low), normal(high), unit, min(parts, LARGEST_PARTS))


def _written(function: str) -> str:
    return "-" if function == "negate" else function


