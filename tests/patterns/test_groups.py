"""Abelian groups come apart into cyclic ones."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from handcraft.patterns.groups import cyclic_factors


def test_generators_without_relations_count_without_end() -> None:
    assert cyclic_factors([], 2) == ((None, (1, 0)), (None, (0, 1)))


def test_one_relation_binds_one_generator_to_another() -> None:
    assert cyclic_factors([(1, 1)], 2) == ((None, (1, -1)),)


def test_relations_that_name_every_generator_leave_one_element() -> None:
    assert cyclic_factors([(1, 0), (3, 1)], 2) == ()


@given(st.lists(st.tuples(*[st.integers(-4, 4)] * 2), max_size=4))
def test_exactly_what_follows_from_the_relations_is_nothing(
    relations: list[tuple[int, int]],
) -> None:
    factors = cyclic_factors(relations, 2)
    times = range(-6, 7)
    small = [
        tuple(sum(t * r[i] for t, r in zip(each, relations, strict=True)) for i in range(2))
        for each in product((-1, 0, 1), repeat=len(relations))
    ]
    for steps in small:
        assert _images(factors, steps) == [0] * len(factors)
    orders = [order for order, _ in factors]
    minors = [a * d - b * c for (a, b), (c, d) in product(relations, repeat=2)]
    if any(minors):
        size = prod(order for order in orders if order is not None)
        images = {tuple(_images(factors, steps)) for steps in product(times, repeat=2)}
        assert None not in orders
        assert size == _gcd(minors)
        assert len(images) == min(size, len(images))
        assert size > len(times) or len(images) == size
    elif any(map(any, relations)):
        assert orders.count(None) == 1
    else:
        assert orders == [None, None]


def _images(
    factors: tuple[tuple[int | None, tuple[int, ...]], ...], steps: tuple[int, ...]
) -> list[int]:
    totals = [sum(w * s for w, s in zip(weights, steps, strict=True)) for _, weights in factors]
    return [
        total if order is None else total % order
        for total, (order, _) in zip(totals, factors, strict=True)
    ]


def _gcd(numbers: list[int]) -> int:
    common = 0
    for number in numbers:
        while number:
            common, number = number, common % number
    return abs(common)
