"""Choosing a token: ties, temperature, top-k, chance."""

from __future__ import annotations

from collections import Counter
from math import exp

import numpy as np
import pytest

from handcraft.errors import InputError
from handcraft.runtime.sampling import Sampling, forbid, greedy, near_best, sample

LOGITS = np.array([0.0, 2.0, 1.0, -3.0])
DRAWS = 4000


def frequencies(
    sampling: Sampling, margin: float = 0.0, logits: object = LOGITS
) -> dict[int, float]:
    generator = np.random.default_rng(5)
    drawn = Counter(sample(np.asarray(logits), sampling, margin, generator) for _ in range(DRAWS))
    return {token: number / DRAWS for token, number in drawn.items()}


def test_logits_closer_than_half_the_margin_count_as_equal() -> None:
    logits = np.array([[3.0, 4.0, 3.5, 3.51], [1.0, 0.0, 1.0, 2.0]])
    assert near_best(logits, 1.0).tolist() == [
        [False, True, False, True],
        [False, False, False, True],
    ]
    assert greedy(logits, 1.0).tolist() == [1, 3]
    assert greedy(logits, 2.0).tolist() == [1, 3]
    assert greedy(logits, 2.01).tolist() == [0, 0]


def test_without_a_margin_only_equal_logits_are_equal() -> None:
    assert greedy(np.array([1.0, 1.0 + 1e-15, 1.0 + 1e-15]), 0.0) == 1


def test_a_forbidden_token_is_never_chosen() -> None:
    assert greedy(forbid(LOGITS, (1, 2)), 0.0) == 0
    assert LOGITS[1] == 2.0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_follow_the_temperature(temperature: float) -> None:
    weights = [exp(logit / temperature) for logit in LOGITS]
    found = frequencies(Sampling(temperature))
    for token, weight in enumerate(weights):
        assert found.get(token, 0.0) == pytest.approx(weight / sum(weights), abs=0.03)


def test_top_k_draws_from_the_best_tokens_only() -> None:
    found = frequencies(Sampling(1.0, top_k=2))
    assert set(found) == {1, 2}
    assert found[1] == pytest.approx(1 / (1 + exp(-1)), abs=0.03)


def test_top_k_of_one_is_the_greedy_choice_even_among_near_equals() -> None:
    logits = [0.0, 1.0, 1.01]
    assert set(frequencies(Sampling(1.0, top_k=1), margin=0.1, logits=logits)) == {1}
    assert set(frequencies(Sampling(1.0, top_k=1), margin=0.0, logits=logits)) == {2}


def test_top_k_may_exceed_the_vocabulary() -> None:
    assert set(frequencies(Sampling(3.0, top_k=9))) == {0, 1, 2, 3}


def test_impossible_tokens_are_never_drawn() -> None:
    logits = forbid(np.zeros(4), (0, 3))
    assert set(frequencies(Sampling(5.0, top_k=3), logits=logits)) == {1, 2}


def test_a_tiny_temperature_is_greedy_and_no_overflow() -> None:
    assert frequencies(Sampling(1e-320)) == {1: 1.0}


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_a_temperature_that_is_none_is_refused(temperature: float) -> None:
    with pytest.raises(InputError, match="a temperature is 0 or more"):
        Sampling(temperature)


def test_a_top_k_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="`top_k` is 1 or more, not `0`"):
        Sampling(1.0, 0)
