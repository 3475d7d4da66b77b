"""Functions as ReLU neurons: steps, interpolations and boxes, each with its argument.

A result is a list of `(pre-activation, outputs)`; outputs are numbers by output index.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations, product
from typing import TYPE_CHECKING, NamedTuple

from handcraft.compiler.forms import Form, Number, combine, magnitude, over_one, whole
from handcraft.compiler.graph import Scan, point
from handcraft.compiler.purposes import Boxes, Curve, Function, Gate, Gates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.compiler.purposes import Box, Result

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
        function: what the outputs are for.
        bounds: a bound on the absolute value of each output, whatever is read; None if unknown.
        is_flat: a small error of what is read does not reach the outputs.
        is_one: at most one neuron is active, the others stay off by more than small errors.
        error: a bound on the error of each output, in roundoffs; None to add it up by neuron.
        scan: the number that the neurons read, and where it can be.
    """

    units: tuple[Unit, ...]
    bias: tuple[Number, ...]
    function: Function
    bounds: tuple[Number, ...] | None = None
    is_flat: bool = False
    is_one: bool = False
    error: Number | None = None
    scan: Scan | None = None


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
    for i, changes in _changes(results):
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
    pieces, kept = _runs(points, results)
    curve = Curve(x, tuple(map(result_of, kept)))
    scan = Scan(x, pieces)
    return Layer(tuple(units), bias, curve, tuple(bounds), is_flat=True, scan=scan)


def steps_error(
    points: Sequence[Fraction], results: Sequence[Mapping[int, Number]], size: float = 0.0
) -> float:
    """Return a bound on the roundings of the outputs of `steps`, whatever order sums are in.

    It is worst at the last point, where all neurons are active; in roundoffs. `size` bounds what
    is added up to make the number, if that is more than the number.
    """
    last = float(points[-1])
    largest = max(abs(float(points[0])), abs(last), size)
    sums: dict[int, tuple[int, float, float]] = {}
    for i, changes in _changes(results):
        low, slope = float(points[i]), 2 / float(points[i + 1] - points[i])
        for k, change in changes.items():
            count, total, rounded = sums.get(k, (0, 0.0, 0.0))
            steep = 2 * slope * float(magnitude(change))
            sums[k] = count + 2, total + steep * (last - low), rounded + 3 * steep * largest
    bounds = ((count + 1) * total + rounded for count, total, rounded in sums.values())
    return max(bounds, default=0.0)


def _changes(results: Sequence[Mapping[int, Number]]) -> Iterator[tuple[int, dict[int, Number]]]:
    """Yield the numbers of results with what the next one adds to each, where that is something."""
    for i, (here, following) in enumerate(pairwise(results)):
        changes = dict(following)
        for k, value in here.items():
            changes[k] = changes.get(k, 0) - value
        changes = {k: change for k, change in sorted(changes.items()) if change}
        if changes:
            yield i, changes


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
        whole((v - u) / (q - p))
        for (p, q), (u, v) in zip(pairwise(points), pairwise(values), strict=True)
    ]
    last = len(points) - 1
    starts = sorted({last, values.index(min(values)), values.index(max(values))}, reverse=True)
    bounds = [(_sum_error(points, values, slopes, start), i) for i, start in enumerate(starts)]
    error, best = min(bounds)
    carried = max(
        (magnitude(s) * max(e) for s, e in zip(slopes, pairwise(errors), strict=True)),
        default=Fraction(0),
    )
    towards = {1: x, -1: x.scaled(-1)}
    units = [
        Unit(towards[bend.sign].plus(-bend.sign * points[bend.knot]), {0: bend.change})
        for bend in _bends(slopes, starts[best])
    ]
    scan = Scan(x, tuple(map(point, points)))
    curve = Curve(x, tuple(result_of({0: value}) for value in values))
    bias = (values[starts[best]],)
    return Layer(tuple(units), bias, curve, error=error + carried, scan=scan)


class _Bend(NamedTuple):
    """A neuron of an interpolation: from the knot on, upwards or downwards, the slope changes."""

    sign: int
    knot: int
    change: Number


def _bends(slopes: Sequence[Number], start: int) -> Iterator[_Bend]:
    """Yield the neurons of an interpolation of which none is active at one point."""
    down = [-slope for slope in reversed(slopes[:start])]
    for sign, outwards in ((-1, down), (1, slopes[start:])):
        for i, (before, slope) in enumerate(pairwise((0, *outwards))):
            if slope != before:
                yield _Bend(sign, start + sign * i, slope - before)


def _sum_error(
    points: Sequence[Fraction], values: Sequence[Fraction], slopes: Sequence[Number], start: int
) -> Fraction:
    """Return a bound on the roundings of an interpolation, outwards from one of its points."""
    places, place_unit = over_one(points)
    steep, slope_unit = over_one(slopes)
    rounded: Number = 0
    total: Number = 0
    neurons = 0
    for sign, knot, change in _bends(steep, start):
        rounded += 3 * magnitude(change) * max(abs(places[knot]), abs(places[knot + sign]))
        total += magnitude(change) * abs(places[-1 if sign > 0 else 0] - places[knot])
        neurons += 1
    moved = Fraction(rounded + (neurons + 1) * total) / (place_unit * slope_unit)
    return moved + (neurons + 1) * abs(values[start])


def _runs(
    points: Sequence[Fraction], results: Sequence[Mapping[int, Number]]
) -> tuple[tuple[tuple[Fraction, Fraction], ...], list[Mapping[int, Number]]]:
    """Return the intervals between neighbours of equal result, where steps have no ramp."""
    runs = [point(points[0])]
    kept = [results[0]]
    for i in range(1, len(points)):
        if results[i] == results[i - 1]:
            runs[-1] = (runs[-1][0], points[i])
        else:
            runs.append(point(points[i]))
            kept.append(results[i])
    return tuple(runs), kept


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
    made = []
    for kind, box in cover:
        if kind == rest:
            continue
        made.append(box)
        forms = [
            combine((1, variable[value]) for value in values)
            for variable, values in zip(variables, box, strict=True)
            if len(values) < len(variable)
        ]
        pre = combine((2, form) for form in forms).plus(1 - 2 * len(forms))
        units.append(Unit(pre, {kind: 1, rest: -1}))
    bias = tuple(int(k == rest) for k in range(outputs))
    kept = tuple(map(tuple, variables))
    results: list[Result] = [((k, 1),) for k in range(outputs)]
    function = Boxes(kept, tuple(table), tuple(results), tuple(made))
    return Layer(tuple(units), bias, function, (1,) * outputs, is_one=True)


def weighted(layer: Layer, results: Sequence[Fraction]) -> Layer:
    """Return a one-hot layer as one number: each class times its result."""
    units = [
        Unit(unit.pre, {0: sum((v * results[k] for k, v in unit.out.items()), Fraction(0))})
        for unit in layer.units
    ]
    bias = sum((b * r for b, r in zip(layer.bias, results, strict=True)), Fraction(0))
    assert isinstance(layer.function, Boxes)
    function = replace(layer.function, results=tuple(result_of({0: r}) for r in results))
    most = max(map(abs, results))
    return Layer(tuple(units), (bias,), function, (most,), is_one=True)


def gated(
    gates: Sequence[Gate],
    bias: Sequence[Number],
    bounds: tuple[Number, ...] | None = None,
    *,
    is_one: bool = False,
    error: Number | None = None,
) -> Layer:
    """Return one neuron for each gate; the other arguments are those of the layer."""
    units = []
    for gate in gates:
        assert gate.value is not None
        shut = combine((gate.closed, form) for form in gate.conditions if form is not None)
        pre = (gate.value + shut).plus(-gate.closed * len(gate.conditions))
        units.append(Unit(pre, dict(gate.result)))
    function = Gates(tuple(gates))
    return Layer(tuple(units), tuple(bias), function, bounds, is_one=is_one, error=error)


def result_of(outputs: Mapping[int, Number]) -> Result:
    """Return outputs in their order, without zeros."""
    return tuple(sorted((k, whole(value)) for k, value in outputs.items() if value))


def cover_size(sizes: Sequence[int], table: Sequence[int | None], outputs: int) -> int:
    """Return how many neurons `boxes` needs for a table."""
    count = [0] * outputs
    for kind, _ in _smallest_cover(sizes, table):
        count[kind] += 1
    return sum(count) - max(count)


def _cells(sizes: Sequence[int], table: Sequence[int | None]) -> list[Box]:
    cells = zip(product(*map(range, sizes)), table, strict=True)
    return [(kind, tuple((v,) for v in cell)) for cell, kind in cells if kind is not None]


def _smallest_cover(sizes: Sequence[int], table: Sequence[int | None]) -> tuple[Box, ...]:
    """Return disjoint boxes of one class each that cover a table, by the best variable order."""
    return _kept_cover(tuple(sizes), tuple(table))


@lru_cache(maxsize=64)
def _kept_cover(sizes: tuple[int, ...], table: tuple[int | None, ...]) -> tuple[Box, ...]:
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
    return tuple(best)


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
    subtables = [tuple(table[v * width : (v + 1) * width]) for v in range(sizes[0])]
    cover: list[Box] = []
    for known, members in _groups(subtables):
        cover.extend((kind, (members, *box)) for kind, box in _cover(sizes[1:], known))
    return cover


def _groups(
    subtables: Sequence[tuple[int | None, ...]],
) -> list[tuple[Sequence[int | None], tuple[int, ...]]]:
    """Return which subtables may be one, where what does not matter may be anything."""
    alike: dict[tuple[int | None, ...], list[int]] = {}
    for value, subtable in enumerate(subtables):
        alike.setdefault(subtable, []).append(value)
    groups: list[tuple[list[int | None], list[int]]] = []
    for subtable, members in alike.items():
        open_ = [known for known in groups if None in subtable or None in known[0]]
        for known, others in open_:
            if all(a is None or b is None or a == b for a, b in zip(known, subtable, strict=True)):
                known[:] = [b if a is None else a for a, b in zip(known, subtable, strict=True)]
                others.extend(members)
                break
        else:
            groups.append((list(subtable), list(members)))
    return [(known, tuple(sorted(members))) for known, members in groups]
