"""Means in equal shares: no order of summation, in no format, exceeds the bound."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

import handcraft
from handcraft.compiler.certificate.formats import FORMATS
from handcraft.compiler.certificate.means import mean_error

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def one_after_the_other(terms: list[float], add: Callable[[float, float], float]) -> float:
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


def by_halves(terms: list[float], add: Callable[[float, float], float]) -> float:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return add(by_halves(terms[:middle], add), by_halves(terms[middle:], add))


def at_random(terms: list[float], add: Callable[[float, float], float]) -> float:
    left = list(terms)
    order = random.Random(7)
    while len(left) > 1:
        one, other = order.sample(range(len(left)), 2)
        left[min(one, other)] = add(left[one], left[other])
        del left[max(one, other)]
    return left[0]


@pytest.mark.parametrize("order", [one_after_the_other, by_halves, at_random])
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("size", [1.0, 0.75, 3.0])
def test_no_order_of_summation_exceeds_the_bound(
    name: str, order: Callable[..., float], size: float
) -> None:
    number = TYPES[name]
    draw = random.Random(3)
    place = [f.name for f in FORMATS].index(name)

    def add(one: float, other: float) -> float:
        return float(number(one + other))

    for k in (2, 3, 7, 24, 33, 50, 63):
        shape = (len(FORMATS), 1)
        digital = np.full(shape, size == 1.0)
        bound = float(mean_error(64, np.full(shape, size), digital)[place, 0])
        share = float(number(1 / k))
        for _ in range(6):
            if size == 1.0:
                values = [float(draw.random() < draw.random()) for _ in range(k)]
            else:
                values = [float(number(draw.uniform(0.8, 1) * size)) for _ in range(k)]
            terms = [float(number(share * value)) for value in values]
            assert abs(order(terms, add) - sum(values) / k) <= bound


def test_the_bound_is_a_third_of_one_rounding_of_the_whole_for_each_key() -> None:
    size = np.ones((len(FORMATS), 1))
    bound = mean_error(256, size, size == 1)
    assert bound[0, 0] < 0.36 * 256 * 2.0**-53


def test_a_mean_of_two_kinds_is_proved_at_context_256() -> None:
    model = handcraft.compile('vocab "ab"; context 256; output frac_prevs(tokens, "a");')
    assert model.certificate is not None
    verdict = model.certificate.verdict("float32")
    assert verdict is not None
    assert verdict.proved
    assert verdict.error < 7e-6
