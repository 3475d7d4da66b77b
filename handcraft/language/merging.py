"""Operations that are made as other ones: fewer heads, and values that are known more closely.

What is made has the value of what is written on every input, and has none where that has none.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from handcraft.language.domains import Finite, Lattice, as_lattice, is_numeric, kinds
from handcraft.language.reach import by_position, certain_counts
from handcraft.language.sequences import TARGET
from handcraft.language.typed import (
    Aggregate,
    Apply,
    Compare,
    Constant,
    Full,
    Indices,
    Op,
    Total,
    Width,
)
from handcraft.language.values import COMPARISONS, compare, kind, normal

if TYPE_CHECKING:
    from handcraft.errors import Span
    from handcraft.language.builder import Builder

MOST_DIVISORS = 64
"""Values of a divisor that is looked up; of more, a number is multiplied by 1 over the divisor."""

FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
"""What a comparison becomes where its sides change places, or both are negated."""


class Affine(NamedTuple):
    """What gathers over positions, scaled and moved: `scale * op + offset`."""

    scale: Fraction
    offset: Fraction
    op: Aggregate | Total


def merged(builder: Builder, op: Op, span: Span) -> Op:
    """Return an operation as it is made."""
    match op:
        case Compare(function, key, query) if builder.header.source is None:
            return Full(TARGET, TARGET) if _always(builder, function, key, query) else op
        case Apply("*", (left, right)):
            totals = (_as_total(builder, *pair) for pair in ((left, right), (right, left)))
            return next((total for total in totals if total is not None), op)
        case Apply("+" | "-" as function, (left, right)):
            parts = _affine(builder, left), _affine(builder, right)
            if parts[0] is None or parts[1] is None:
                return op
            return _together(builder, function, parts[0], parts[1], span) or op
        case Apply("/", (left, right)):
            inverse = _by_inverse(builder, left, right, span)
            return _as_width(builder, left, right, span) or inverse or op
        case Apply("round" | "floor" | "ceil" | "int", (number,)) if _is_whole(builder, number):
            return builder.nodes[number].op
        case Apply(function, (left, right)) if function in COMPARISONS:
            flipped = _without_quotient(builder, FLIPPED[function], right, left, span)
            return _without_quotient(builder, function, left, right, span) or flipped or op
        case _:
            return op


def _always(builder: Builder, function: str, key: int, query: int) -> bool:
    """Return whether two constants compare so: of the same kind, so that they have an order."""
    left, right = builder.value(key), builder.value(query)
    if left is None or right is None or kind(left) != kind(right):
        return False
    return compare(function, left, right)


def _as_total(builder: Builder, mean: int, factor: int) -> Total | None:
    """Return a mean times a number as a sum, where the number is that of the mean's keys."""
    op, other = builder.nodes[mean].op, builder.nodes[factor].op
    if not isinstance(op, Aggregate) or not is_numeric(builder.domain(op.value)):
        return None
    if op.default is None or not isinstance(builder.nodes[op.default].op, Constant):
        return None
    if not is_numeric(builder.domain(op.default)):
        return None
    if isinstance(other, Width) and other.selector == op.selector:
        return Total(op.selector, op.value)
    selector = builder.nodes[op.selector]
    view = builder.view(selector.sequence, selector.keys)
    counted = certain_counts(builder.unmasked_reach(op.selector), view)
    if counted is None or builder.nodes[factor].sequence not in (None, selector.sequence):
        return None
    known = by_position(builder.nodes[factor], builder.nodes, view.queries)
    return Total(op.selector, op.value) if known == counted else None


def _as_width(builder: Builder, number: int, mean: int, span: Span) -> Op | None:
    """Return a number over the share of the first key as that number times how many are selected.

    So do RASP's own programs count: of keys that are selected together with the first one, which
    always is, that one has the share 1/w.
    """
    op, known = builder.nodes[mean].op, _constant(builder, number)
    if known is None or not isinstance(op, Aggregate):
        return None
    selector, table = builder.nodes[op.selector], builder.nodes[op.value].table
    if selector.sequence not in (None, selector.keys) or table is None or len(table.leaves) != 1:
        return None
    if not isinstance(builder.nodes[table.leaves[0]].op, Indices):
        return None
    first, *others = table.outcomes
    if (type(first), first) != (int, 1) or any((type(o), o) != (int, 0) for o in others):
        return None
    if not all(row & 1 for row in builder.unmasked_reach(op.selector).must):
        return None
    width = builder.add(Width(op.selector), span)
    if known == 1:
        return builder.nodes[width].op
    return Apply("*", (width, _known(builder, known, span)))


def _affine(builder: Builder, number: int) -> Affine | None:
    """Return a number as a sum or a mean of numbers that is scaled and moved, None for others."""
    match builder.nodes[number].op:
        case Total() as op:
            return Affine(Fraction(1), Fraction(0), op)
        case Aggregate(_, value, default) as op if default is not None:
            numeric = all(is_numeric(builder.domain(each)) for each in (value, default))
            return Affine(Fraction(1), Fraction(0), op) if numeric else None
        case Apply("negate", (operand,)):
            return _scaled(_affine(builder, operand), Fraction(-1))
        case Apply("+" | "-" as function, (left, right)):
            sign = 1 if function == "+" else -1
            known = _constant(builder, left)
            if known is not None:
                return _moved(_scaled(_affine(builder, right), Fraction(sign)), known)
            known = _constant(builder, right)
            return None if known is None else _moved(_affine(builder, left), sign * known)
        case Apply("*" | "/" as function, (left, right)):
            known = _constant(builder, right)
            if known is not None and (function == "*" or known):
                factor = known if function == "*" else 1 / known
                return _scaled(_affine(builder, left), factor)
            known = _constant(builder, left)
            if known is not None and function == "*":
                return _scaled(_affine(builder, right), known)
    return None


def _together(
    builder: Builder, function: str, left: Affine, right: Affine, span: Span
) -> Op | None:
    """Return a sum or difference of what gathers over one selector as one such thing."""
    offset = left.offset + (right.offset if function == "+" else -right.offset)
    match left.op, right.op:
        case Total(one, a), Total(other, b) if one == other:
            values = [_times(builder, x, part.scale, span) for x, part in ((a, left), (b, right))]
            total = Total(one, builder.add(Apply(function, (values[0], values[1])), span))
            if not offset:
                return total
            return Apply("+", (builder.add(total, span), _known(builder, offset, span)))
        case Aggregate(one, a, c), Aggregate(other, b, d) if one == other:
            assert c is not None
            assert d is not None
            made = []
            for x, y in ((a, b), (c, d)):
                pair = _times(builder, x, left.scale, span), _times(builder, y, right.scale, span)
                both = builder.add(Apply(function, pair), span)
                if offset:
                    both = builder.add(Apply("+", (both, _known(builder, offset, span))), span)
                made.append(both)
            return Aggregate(one, made[0], made[1])
        case _:
            return None


def _by_inverse(builder: Builder, left: int, right: int, span: Span) -> Op | None:
    """Return a number that has fewer values than its divisor as a product."""
    if not _is_many(builder, right):
        return None
    few, many = builder.domain(left), builder.domain(right)
    if not isinstance(few, Finite) or not isinstance(many, Finite) or "string" in kinds(few):
        return None
    if not 1 < len(few.values) < len(many.values):
        return None
    inverse = builder.add(Apply("/", (_known(builder, Fraction(1), span), right)), span)
    return Apply("*", (left, inverse))


def _without_quotient(
    builder: Builder, function: str, quotient: int, other: int, span: Span
) -> Op | None:
    """Return `x / y > c` as `x - c y > 0` where y is never 0 and has one sign."""
    parts = _quotient(builder, quotient)
    if parts is None:
        return None
    x, y = parts
    if _constant(builder, y) is not None or not is_numeric(builder.domain(other)):
        return None
    if _constant(builder, other) is None and not _is_many(builder, y):
        return None
    divisor = as_lattice(builder.domain(y))
    if divisor.low <= 0 <= divisor.high:
        return None
    product = builder.add(Apply("*", (other, y)), span)
    difference = builder.add(Apply("-", (x, product)), span)
    compared = function if divisor.low > 0 else FLIPPED[function]
    return Apply(compared, (difference, _known(builder, Fraction(0), span)))


def _quotient(builder: Builder, number: int) -> tuple[int, int] | None:
    """Return dividend and divisor of a quotient, also of one that is made as a product."""
    match builder.nodes[number].op:
        case Apply("/", (x, y)):
            return x, y
        case Apply("*", (x, inverse)):
            inner = _quotient(builder, inverse)
            return None if inner is None or _constant(builder, inner[0]) != 1 else (x, inner[1])
        case _:
            return None


def _is_whole(builder: Builder, number: int) -> bool:
    """Return whether a number is always whole."""
    match builder.domain(number):
        case Finite(values):
            return all(type(value) is int for value in values)
        case Lattice(_, _, unit, parts):
            return parts == 1 and unit.denominator == 1
        case _:
            return False


def _is_many(builder: Builder, number: int) -> bool:
    domain = builder.domain(number)
    return not isinstance(domain, Finite) or len(domain.values) > MOST_DIVISORS


def _times(builder: Builder, number: int, factor: Fraction, span: Span) -> int:
    if factor == 1:
        return number
    return builder.add(Apply("*", (number, _known(builder, factor, span))), span)


def _known(builder: Builder, value: Fraction, span: Span) -> int:
    return builder.constant(normal(value), span)


def _constant(builder: Builder, number: int) -> Fraction | None:
    value = builder.value(number)
    return None if value is None or isinstance(value, str) else Fraction(value)


def _scaled(part: Affine | None, factor: Fraction) -> Affine | None:
    if part is None:
        return None
    return Affine(factor * part.scale, factor * part.offset, part.op)


def _moved(part: Affine | None, by: Fraction) -> Affine | None:
    return None if part is None else Affine(part.scale, part.offset + by, part.op)
