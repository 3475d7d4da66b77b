"""Domains: what they contain, and what is joined contains its parts."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from handcraft.language.domains import (
    LONGEST_LIST,
    Domain,
    Finite,
    Lattice,
    Mixed,
    as_lattice,
    bounds,
    common_unit,
    contains,
    finite,
    integers,
    is_numeric,
    kinds,
    lattice,
    size,
    union,
)

if TYPE_CHECKING:
    from handcraft.language.values import Value

HALF = Fraction(1, 2)
THIRDS = Lattice(0, 7, Fraction(1), 3)

numbers = st.fractions(-9, 9, max_denominator=6).map(lambda f: int(f) if f.denominator == 1 else f)
values = st.one_of(numbers, st.booleans(), st.sampled_from(["", "a", "bc"]))
lists = st.lists(values, min_size=1, max_size=5).map(finite)


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    unit = draw(st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 3)]))
    low, high = sorted(draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9))))
    return Lattice(low, high, unit, draw(st.integers(1, 4)))


@st.composite
def members(draw: st.DrawFn, domain: Domain) -> Value:
    match domain:
        case Finite(listed):
            return draw(st.sampled_from(listed))
        case Mixed(part, others):
            return draw(st.one_of(members(part), members(others)))
        case Lattice(low, high, unit, parts):
            w = draw(st.integers(1, parts))
            first, last = -(-low * w // unit), high * w // unit
            if first > last:
                return draw(st.sampled_from([low, high]))
            number = unit * draw(st.integers(int(first), int(last))) / w
            return int(number) if number.denominator == 1 else number


others: st.SearchStrategy[Finite] = st.sampled_from(
    [Finite((True,)), Finite(("a",)), Finite((True, "a"))]
)
domains = st.one_of(
    lists,
    lattices(),
    st.builds(Mixed, lattices(), others),
)


@given(st.lists(domains, min_size=1, max_size=3), st.data())
def test_a_union_contains_what_its_parts_contain(parts: list[Domain], data: st.DataObject) -> None:
    joined = union(*parts)
    for part in parts:
        value = data.draw(members(part))
        if contains(part, value):
            assert contains(joined, value)


@given(lists, st.data())
def test_numbers_and_booleans_of_a_list_are_in_its_lattice(
    listed: Finite, data: st.DataObject
) -> None:
    value = data.draw(members(listed))
    if not isinstance(value, str):
        number = int(value) if isinstance(value, bool) else value
        assert contains(as_lattice(listed), number)


def test_a_list_is_sorted_holds_each_value_once_and_keeps_true_and_one_apart() -> None:
    assert finite([2, "b", True, 1, "a", 2, HALF]).values == (HALF, 1, 2, True, "a", "b")


def test_a_lattice_contains_multiples_of_its_unit_over_small_denominators() -> None:
    inside: list[Value] = [0, 7, HALF, Fraction(20, 3)]
    outside: list[Value] = [-1, 8, Fraction(1, 4), "a", True]
    assert all(contains(THIRDS, v) for v in inside)
    assert not any(contains(THIRDS, v) for v in outside)


def test_two_values_of_a_lattice_are_no_closer_than_its_spacing() -> None:
    members_ = sorted({Fraction(a, w) for w in range(1, 4) for a in range(7 * w + 1)})
    gaps = [b - a for a, b in pairwise(members_)]
    assert min(gaps) == THIRDS.spacing == Fraction(1, 6)


def test_no_value_of_a_lattice_is_closer_to_a_constant_than_its_distance() -> None:
    members_ = {Fraction(a, w) for w in range(1, 4) for a in range(7 * w + 1)}
    for constant in (HALF, Fraction(5, 4), 2):
        closest = min(abs(m - constant) for m in members_ if m != constant)
        assert THIRDS.distance(constant) <= closest


def test_a_short_even_lattice_is_a_list() -> None:
    assert lattice(0, 2, HALF, 1) == Finite((0, HALF, 1, Fraction(3, 2), 2))
    assert isinstance(lattice(0, 2, HALF, 2), Lattice)
    assert integers(3, 5) == Finite((3, 4, 5))
    assert integers(0, LONGEST_LIST) == Lattice(0, LONGEST_LIST, Fraction(1), 1)


def test_many_numbers_become_a_lattice_and_many_strings_stay_a_list() -> None:
    many = [Finite(tuple(range(k, 10_000, 2))) for k in range(2)]
    assert union(*many) == Lattice(0, 9999, Fraction(1), 1)
    strings = [Finite(tuple(f"{c}{k:04}" for k in range(3000))) for c in "ab"]
    assert size(union(*strings)) == 6000
    both = union(*many, *strings)
    assert isinstance(both, Mixed)
    assert size(both.others) == 6000


def test_a_list_of_fractions_is_multiples_of_their_common_unit() -> None:
    assert as_lattice(finite([HALF, Fraction(-1, 3)])) == Lattice(
        Fraction(-1, 3), HALF, Fraction(1, 6), 1
    )
    assert common_unit(Fraction(4), Fraction(6)) == 2


def test_booleans_count_where_numbers_are_asked_for() -> None:
    mixed = Mixed(Lattice(5, 9, Fraction(1), 2), Finite((False, "x")))
    assert bounds(mixed) == (0, 9)
    assert bounds(finite([True, -2])) == (-2, 1)


def test_kinds_are_those_of_the_values() -> None:
    assert kinds(THIRDS) == {"number"}
    assert kinds(Mixed(THIRDS, Finite(("x", True)))) == {"number", "string", "boolean"}
    assert is_numeric(THIRDS)
    assert not is_numeric(Finite((1, True)))


def test_a_domain_prints_short() -> None:
    assert str(Finite((0, 1, 2, 3))) == "{0..3}"
    assert str(Finite((0, True, "a"))) == '{0, True, "a"}'
    assert str(Finite(tuple(range(0, 40, 2)))).endswith("... 20 values}")
    assert str(THIRDS) == "[0, 7] multiples of 1/w, w <= 3"
