"""Steps, interpolations and boxes: computed neuron by neuron on exact numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

from hypothesis import assume, given
from hypothesis import strategies as st

from handcraft.compiler.forms import Direction, Number, direction
from handcraft.compiler.neurons import Layer, boxes, interpolate, steps, weighted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

X: Direction = ("x", 0)

numbers = st.fractions(min_value=-7, max_value=7, max_denominator=12)
points = st.lists(numbers, min_size=1, max_size=6, unique=True).map(sorted)


def computed(layer: Layer, at: Mapping[Direction, Fraction]) -> list[Number]:
    """Return the outputs of neurons where the directions have these values."""
    outputs = list(layer.bias)
    for unit in layer.units:
        for k, value in unit.out.items():
            outputs[k] += max(unit.pre.at(at), Fraction(0)) * value
    return outputs


def at_x(layer: Layer, x: Fraction) -> list[Number]:
    return computed(layer, {X: x})


# Steps ---------------------------------------------------------------------------------------


@given(points, st.data())
def test_steps_give_each_point_its_results(places: list[Fraction], data: st.DataObject) -> None:
    results = data.draw(results_of(len(places), outputs=3))
    layer = steps(direction(*X), places, results, 3)
    for place, result in zip(places, results, strict=True):
        assert at_x(layer, place) == [result.get(k, 0) for k in range(3)]


@given(points, st.data())
def test_steps_are_flat_for_a_quarter_of_the_distance(
    places: list[Fraction], data: st.DataObject
) -> None:
    assume(len(places) > 1)
    results = data.draw(results_of(len(places), outputs=2))
    layer = steps(direction(*X), places, results, 2)
    part = data.draw(st.fractions(min_value=0, max_value=Fraction(1, 4)))
    for p, q in pairwise(places):
        assert at_x(layer, p + part * (q - p)) == at_x(layer, p)
        assert at_x(layer, q - part * (q - p)) == at_x(layer, q)


@given(points, numbers)
def test_beyond_the_last_point_steps_stay_as_they_are(
    places: list[Fraction], distance: Fraction
) -> None:
    results = [{0: Fraction(i * i)} for i in range(len(places))]
    layer = steps(direction(*X), places, results, 1)
    assert at_x(layer, places[0] - abs(distance)) == [0]
    assert at_x(layer, places[-1] + abs(distance)) == [(len(places) - 1) ** 2]


def test_steps_cost_two_neurons_where_something_changes() -> None:
    places = [Fraction(i) for i in range(5)]
    results = [{0: Fraction(v)} for v in (3, 3, 1, 1, 1)]
    assert len(steps(direction(*X), places, results, 1).units) == 2


def results_of(n: int, *, outputs: int) -> st.SearchStrategy[list[dict[int, Fraction]]]:
    one = st.dictionaries(st.integers(0, outputs - 1), numbers, max_size=outputs)
    return st.lists(one, min_size=n, max_size=n)


# Interpolation -------------------------------------------------------------------------------


@given(points, st.data())
def test_an_interpolation_is_straight_between_its_points(
    places: list[Fraction], data: st.DataObject
) -> None:
    values = data.draw(st.lists(numbers, min_size=len(places), max_size=len(places)))
    part = data.draw(st.fractions(min_value=0, max_value=1))
    layer = interpolate(direction(*X), places, values, [Fraction(0)] * len(places))
    for (p, at_p), (q, at_q) in pairwise(zip(places, values, strict=True)):
        assert at_x(layer, p + part * (q - p)) == [at_p + part * (at_q - at_p)]


@given(points, numbers, numbers)
def test_a_straight_interpolation_costs_one_neuron(
    places: list[Fraction], slope: Fraction, offset: Fraction
) -> None:
    values = [slope * p + offset for p in places]
    layer = interpolate(direction(*X), places, values, [Fraction(0)] * len(places))
    assert len(layer.units) == (len(places) > 1 and slope != 0)


def test_no_terms_cancel_in_a_count_from_its_share() -> None:
    counts = range(9, -1, -1)
    shares = [Fraction(1, 1 + w) for w in counts]
    layer = interpolate(direction(*X), shares, [Fraction(w) for w in counts], shares)
    assert all(value > 0 for unit in layer.units for value in unit.out.values())
    assert [at_x(layer, share) for share in shares] == [[w] for w in counts]


# Boxes ---------------------------------------------------------------------------------------

sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3)
OUTPUTS = 3


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[int | None]]:
    """Draw the sizes of variables, and a class, or None, for each of their tuples."""
    widths = draw(sizes)
    cells = len(list(product(*map(range, widths))))
    cell = st.none() | st.integers(0, OUTPUTS - 1)
    return widths, draw(st.lists(cell, min_size=cells, max_size=cells))


def filled(widths: Sequence[int], table: Sequence[int | None]) -> tuple[Layer, list[list[Number]]]:
    """Return the neurons of a table, and what they give at each of its cells."""
    variables = [[direction(f"v{v}", i) for i in range(n)] for v, n in enumerate(widths)]
    layer = boxes(variables, table, OUTPUTS)
    ones = [
        {(f"v{v}", i): Fraction(1) for v, i in enumerate(cell)}
        for cell in product(*map(range, widths))
    ]
    return layer, [computed(layer, at) for at in ones]


@given(tables())
def test_boxes_give_each_cell_its_class_as_a_one_hot(
    drawn: tuple[list[int], list[int | None]],
) -> None:
    widths, table = drawn
    _, found = filled(widths, table)
    for kind, outputs in zip(table, found, strict=True):
        assert kind is None or outputs == [k == kind for k in range(OUTPUTS)]


@given(tables())
def test_even_cells_that_do_not_matter_get_one_class(
    drawn: tuple[list[int], list[int | None]],
) -> None:
    _, found = filled(*drawn)
    assert all(sorted(outputs) == [0, 0, 1] for outputs in found)


@given(tables(), st.lists(numbers, min_size=OUTPUTS, max_size=OUTPUTS))
def test_a_weighted_one_hot_is_a_number(
    drawn: tuple[list[int], list[int | None]], results: list[Fraction]
) -> None:
    layer, found = filled(*drawn)
    number = weighted(layer, results)
    widths = drawn[0]
    for cell, outputs in zip(product(*map(range, widths)), found, strict=True):
        at = {(f"v{v}", i): Fraction(1) for v, i in enumerate(cell)}
        assert computed(number, at) == [results[outputs.index(Fraction(1))]]


@given(tables())
def test_boxes_never_cost_more_than_the_cells_of_the_rarer_classes(
    drawn: tuple[list[int], list[int | None]],
) -> None:
    widths, table = drawn
    layer, _ = filled(widths, table)
    assert len(layer.units) <= sum(kind is not None for kind in table)


def test_values_with_equal_rows_share_their_boxes() -> None:
    # a and b: 1 where both are odd, of 4 and 5 values: one box of 2 x 2 cells, the rest is free
    table = [int(a % 2 == 1 and b % 2 == 1) for a in range(4) for b in range(5)]
    layer, _ = filled([4, 5], table)
    assert len(layer.units) == 1
