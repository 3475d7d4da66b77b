"""Functions as ReLU neurons: steps, interpolations and boxes, each with its argument.

A result is a list of `(pre-activation, outputs)`; outputs are numbers by output index.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import TYPE_CHECKING

from handcraft.compiler.forms import Form, Number, combine, magnitude

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_ORDERS = 6
"""Orders of the variables of a table that are tried for a small cover."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One neuron: `relu(pre)` adds `out[k]` times its activation to output k."""

    pre: Form
    out: Mapping[int, Number]


@dataclass(frozen=True, slots=True)
class Layer:
    """Neurons and what they start from: output k is `bias[k] + sum of neurons`.

    Attributes:
        units: the neurons.
        bias: of each output.
        bounds: a bound on the absolute value of each output, whatever is read; None if unknown.
        is_flat: a small error of what is read does not reach the outputs.
        is_one: at most one neuron is active, the others stay off by more than small errors.
        error: a bound on the error of each output, in roundoffs; None to add it up by neuron.
    """

    units: tuple[Unit, ...]
    bias: tuple[Number, ...]
    bounds: tuple[Number, ...] | None = None
    is_flat: bool = False
    is_one: bool = False
    error: Number | None = None


def steps(
    x: Form,
    points: Sequence[Fraction],
    results: Sequence[Mapping[int, Number]],
    outputs: int,
) -> Layer:
    """Return neurons whose output k is `results[i][k]` (0 if not given) where x is `points[i]`.

    Between two neighbours p < q where some output changes stands a ramp from p + d/4 to q - d/4,
    d = q - p: two neurons of slope 2/d. It is flat for d/4 around each point, so an error of x
    below that does not reach the outputs.
    """
    units = []
    for i in range(len(points) - 1):
        changes = dict(results[i + 1])
        for k, value in results[i].items():
            changes[k] = changes.get(k, 0) - value
        changes = {k: change for k, change in sorted(changes.items()) if change}
        if not changes:
            continue
        low, gap = points[i], points[i + 1] - points[i]
        slope = Fraction(2) / gap
        steep = x.scaled(slope)
        for sign, place in ((1, low + gap / 4), (-1, low + 3 * gap / 4)):
            pre = steep.plus(-place * slope)
            units.append(Unit(pre, {k: sign * change for k, change in changes.items()}))
    bias = tuple(results[0].get(k, 0) for k in range(outputs))
    bounds: list[Number] = [0] * outputs
    for result in results:
        for k, value in result.items():
            bounds[k] = max(bounds[k], magnitude(value))
    return Layer(tuple(units), bias, tuple(bounds), is_flat=True)


def interpolate(
    x: Form, points: Sequence[Fraction], values: Sequence[Fraction], errors: Sequence[Number]
) -> Layer:
    """Return neurons whose one output is the piecewise linear function through the points.

    The knots are the points, read outwards from one of them, where no neuron is active: from the
    last one, the lowest or the highest, whichever bounds the error best. From the last one the
    terms that add up to a count from `1/(1+w)` are all positive, so nothing cancels.

    `errors` bounds the error of x at each point, in roundoffs. At a point the output has that
    error times the slope there, the roundings of the active neurons, and those of their sum.
    """
    slopes = [
        (v - u) / (q - p) for (p, q), (u, v) in zip(pairwise(points), pairwise(values), strict=True)
    ]
    last = len(points) - 1
    starts = sorted({last, values.index(min(values)), values.index(max(values))}, reverse=True)
    layers = [_outwards(x, points, values, slopes, start) for start in starts]
    carried = max(
        (abs(s) * max(e) for s, e in zip(slopes, pairwise(errors), strict=True)),
        default=Fraction(0),
    )
    layer, error = min(layers, key=lambda made: made[1])
    return replace(layer, error=error + carried)


def _outwards(
    x: Form,
    points: Sequence[Fraction],
    values: Sequence[Fraction],
    slopes: Sequence[Fraction],
    start: int,
) -> tuple[Layer, Fraction]:
    """Return an interpolation with no active neuron at one point, and the error of its sums."""
    units = []
    rounded = Fraction(0)
    total = abs(Fraction(values[start]))
    sides = (
        (-1, x.scaled(-1), range(start - 1, -1, -1), points[0]),
        (1, x, range(start, len(points) - 1), points[-1]),
    )
    for sign, towards, intervals, end in sides:
        slope = Fraction(0)
        for i in intervals:
            knot = points[i] if sign > 0 else points[i + 1]
            change = sign * slopes[i] - slope
            if change:
                units.append(Unit(towards.plus(-sign * knot), {0: change}))
                rounded += 3 * abs(change) * max(abs(points[i]), abs(points[i + 1]))
                total += abs(change) * abs(end - knot)
            slope += change
    layer = Layer(tuple(units), (Fraction(values[start]),))
    return layer, rounded + (len(units) + 1) * total


def boxes(
    variables: Sequence[Sequence[Form]],
    table: Sequence[int | None],
    outputs: int,
    *,
    covered: bool = True,
) -> Layer:
    """Return neurons whose outputs are the one-hot class of a table's cell.

    Args:
        variables: for each variable the forms of its values, of which exactly one is 1.
        table: the class of each cell, the last variable fastest; None where it does not matter.
        outputs: the number of classes.
        covered: as few boxes as are found; else each cell is a box of its own.

    The cells of a class are covered by boxes (a set of values for each variable), a neuron each:
    twice the sum of the forms of the box's values, minus twice their number less one, is 1 inside
    and at most -1 outside, so that small errors switch no neuron on. The class with most boxes is
    what is left when no box is.
    """
    sizes = [len(v) for v in variables]
    cover = _smallest_cover(sizes, table) if covered else _cells(sizes, table)
    count = [sum(c == k for c, _ in cover) for k in range(outputs)]
    rest = count.index(max(count))
    units = []
    for kind, box in cover:
        if kind == rest:
            continue
        forms = [
            combine((1, variable[value]) for value in values)
            for variable, values in zip(variables, box, strict=True)
            if len(values) < len(variable)
        ]
        pre = combine((2, form) for form in forms).plus(1 - 2 * len(forms))
        units.append(Unit(pre, {kind: 1, rest: -1}))
    bias = tuple(int(k == rest) for k in range(outputs))
    return Layer(tuple(units), bias, (1,) * outputs, is_one=True)


def weighted(layer: Layer, results: Sequence[Fraction]) -> Layer:
    """Return a one-hot layer as one number: each class times its result."""
    units = [
        Unit(unit.pre, {0: sum((v * results[k] for k, v in unit.out.items()), Fraction(0))})
        for unit in layer.units
    ]
    bias = sum((b * r for b, r in zip(layer.bias, results, strict=True)), Fraction(0))
    return Layer(tuple(units), (bias,), (max(map(abs, results)),), is_one=True)


def cover_size(sizes: Sequence[int], table: Sequence[int | None], outputs: int) -> int:
    """Return how many neurons `boxes` needs for a table."""
    count = [0] * outputs
    for kind, _ in _smallest_cover(sizes, table):
        count[kind] += 1
    return sum(count) - max(count)


def _cells(sizes: Sequence[int], table: Sequence[int | None]) -> list[Box]:
    cells = zip(product(*map(range, sizes)), table, strict=True)
    return [(kind, tuple((v,) for v in cell)) for cell, kind in cells if kind is not None]


Box = tuple[int, tuple[tuple[int, ...], ...]]


def _smallest_cover(sizes: Sequence[int], table: Sequence[int | None]) -> list[Box]:
    """Return disjoint boxes of one class each that cover a table, by the best variable order."""
    best: list[Box] | None = None
    for order, _ in zip(permutations(range(len(sizes))), range(MOST_ORDERS), strict=False):
        strides = _strides(sizes)
        turned = [
            table[sum(strides[v] * index for v, index in zip(order, cell, strict=True))]
            for cell in product(*(range(sizes[v]) for v in order))
        ]
        cover = _cover([sizes[v] for v in order], turned)
        if best is None or len(cover) < len(best):
            back = sorted(range(len(order)), key=order.__getitem__)
            best = [(kind, tuple(box[i] for i in back)) for kind, box in cover]
    assert best is not None
    return best


def _strides(sizes: Sequence[int]) -> list[int]:
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return strides


def _cover(sizes: Sequence[int], table: Sequence[int | None]) -> list[Box]:
    """Cover a table by boxes: values of the first variable with equal subtables stand together."""
    if not sizes:
        return [] if table[0] is None else [(table[0], ())]
    width = len(table) // sizes[0]
    groups: list[tuple[list[int | None], list[int]]] = []
    for value in range(sizes[0]):
        subtable = list(table[value * width : (value + 1) * width])
        for known, members in groups:
            if all(a is None or b is None or a == b for a, b in zip(known, subtable, strict=True)):
                known[:] = [b if a is None else a for a, b in zip(known, subtable, strict=True)]
                members.append(value)
                break
        else:
            groups.append((subtable, [value]))
    cover: list[Box] = []
    for known, members in groups:
        cover.extend((kind, (tuple(members), *box)) for kind, box in _cover(sizes[1:], known))
    return cover
