"""The search for a small basis: what it saves, and the sums that it refuses to round."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handcraft.compiler.passes.basis import EXACT, LARGEST, Basis, Reading, basis_of, reading

if TYPE_CHECKING:
    from collections.abc import Sequence


def readings(*functions: Sequence[int]) -> list[Reading]:
    return [reading(f, 1) for f in functions]


def value(basis: Basis, read: Reading, row: int) -> Fraction:
    found = basis.sums[read.function]
    terms = (c * basis.functions[i][row] for i, c in found.coefficients.items())
    return read.scale * sum(terms, Fraction(found.constant))


def test_a_reading_is_a_multiple_of_whole_numbers_without_a_common_factor() -> None:
    assert reading([0, -4, 6], 8) == Reading(Fraction(-1, 4), (0, 2, -3))
    assert reading([0, 0], 3).scale == 0


def test_large_numbers_are_taken_as_they_are() -> None:
    own = (Fraction(1, 7), Fraction(LARGEST + 1, 7))
    assert reading([1, LARGEST + 1], 7) == Reading(Fraction(1), own)


def test_multiples_of_one_function_are_one_function() -> None:
    basis = basis_of(readings([0, 1, 2], [0, 3, 6], [0, -1, -2]), [], 3)
    assert basis is not None
    assert basis.functions == ((0, 1, 2),)


def test_a_constant_is_free_only_where_it_may_be_added() -> None:
    read = readings([0, 1, 2], [1, 2, 3])
    exact, free = basis_of(read, [], 3), basis_of([], read, 3)
    assert exact is not None
    assert free is not None
    assert len(exact.functions) == 2
    assert free.functions == ((0, 1, 2),)
    assert free.sums[(1, 2, 3)].constant == 1


def test_a_whole_one_hot_needs_one_function_less_than_it_has_values() -> None:
    basis = basis_of([], readings([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]), 4)
    assert basis is not None
    assert len(basis.functions) == 3


def test_the_simplest_functions_are_the_basis() -> None:
    mixed = [k * k + 3 * k for k in range(5)]
    basis = basis_of([], readings(mixed, [k * k for k in range(5)], list(range(5))), 5)
    assert basis is not None
    assert basis.functions == ((0, 1, 2, 3, 4), (0, 2, 5, 9, 14))
    assert basis.sums[(0, 1, 4, 9, 16)].coefficients == {0: -3, 1: 2}


def test_more_functions_than_are_worth_it_are_no_basis() -> None:
    assert basis_of(readings([1, 0, 0], [0, 1, 0]), [], 1) is None
    assert basis_of(readings([1, 0, 0], [0, 1, 0]), [], 2) is not None


@pytest.mark.parametrize(
    ("functions", "size"),
    [
        pytest.param([(1, 1, 1), (1, 3, 5), (1, 4, 7)], 2, id="halves are exact"),
        pytest.param([(1, 1, 1), (1, 4, 7), (1, 5, 9)], 3, id="thirds are not"),
        pytest.param([(0, 100, 99), (0, 100, 101), (0, 100, 103)], 2, id="small numbers are"),
        pytest.param([(0, 1000, 999), (0, 1000, 1001), (0, 1000, 1003)], 3, id="large ones not"),
    ],
)
def test_only_exact_sums_are_taken(functions: list[tuple[int, ...]], size: int) -> None:
    basis = basis_of(readings(*functions), [], 3)
    assert basis is not None
    assert len(basis.functions) == size


@pytest.mark.parametrize(("numerator", "denominator", "size"), [(4, 1, 2), (9, 1, 3), (1, 3, 3)])
def test_what_a_sum_is_read_with_counts_too(numerator: int, denominator: int, size: int) -> None:
    third = reading([0, 100 * numerator, 103 * numerator], denominator)
    basis = basis_of([*readings((0, 100, 99), (0, 100, 101)), third], [], 3)
    assert basis is not None
    assert len(basis.functions) == size


def test_sums_may_be_large_where_what_is_read_is_large() -> None:
    functions = [(0, EXACT, EXACT + 1), (0, EXACT, EXACT + 3), (0, EXACT, EXACT + 5)]
    basis = basis_of(readings(*functions), [], 3)
    assert basis is not None
    assert len(basis.functions) == 2


@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=4, max_size=4), max_size=6),
    st.lists(st.lists(st.integers(-9, 9), min_size=4, max_size=4), max_size=6),
)
def test_every_function_is_its_sum(exactly: list[list[int]], free: list[list[int]]) -> None:
    basis = basis_of(readings(*exactly), readings(*free), 12)
    assert basis is not None
    for numbers in (*exactly, *free):
        read = reading(numbers, 1)
        if read.scale:
            assert [value(basis, read, row) for row in range(4)] == numbers
    for numbers in exactly:
        read = reading(numbers, 1)
        assert not read.scale or basis.sums[read.function].constant == 0
