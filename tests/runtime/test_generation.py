"""Token after token: the window, the cache, and where it ends."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from runtime_models import handmade, random_model, table_model

from handcraft.errors import InputError
from handcraft.runtime.description import Description
from handcraft.runtime.generation import window
from handcraft.runtime.transformer import forward

if TYPE_CHECKING:
    from handcraft.runtime.config import Attention
    from handcraft.runtime.model import Model


def by_full_passes(model: Model, text: str, n: int) -> str:
    """Continue a text by one full pass over its last tokens for each new token."""
    for _ in range(n):
        ids = [model.vocabulary.id(token) for token in text[-model.config.context :]]
        best = int(forward(model.parameters, np.array(ids)).logits[-1].argmax())
        text += str(model.vocabulary.tokens[best])
    return text[len(text) - n :]


def ended(model: Model, text: str, n: int) -> tuple[str, str | None]:
    """Return a continuation and why it ended."""
    return model.complete(text, n), model.stop_reason


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
@pytest.mark.parametrize("text", ["a", "cab", "hgfedc", "abcdefghi"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_cache_is_dropped_when_the_window_moves(
    attention: Attention, text: str, seed: int
) -> None:
    model = random_model(seed, attention, window_safe=True)
    assert model.complete(text, 12) == by_full_passes(model, text, 12)


def test_generation_past_the_context_follows_the_window() -> None:
    model = handmade()
    for letters in product("ab", repeat=4):
        text = "".join(letters)
        assert model.complete(text, 9) == by_full_passes(model, text, 9)


def test_generation_stops_at_the_context_where_going_on_is_not_proved_safe() -> None:
    model = handmade(window_safe=False)
    assert ended(model, "aab", 10) == ("aab", "context")
    assert ended(model, "aabaa", 1) == ("b", "length")
    assert ended(model, "aabaab", 10) == ("", "context")


def test_slide_goes_on_in_any_case() -> None:
    model = handmade(window_safe=False)
    assert model.complete("aab", slide=True) == "aabaabaaba"
    assert model.stop_reason == "length"


def test_generation_ends_before_eos() -> None:
    model = table_model(
        {"a": [0, 1, 0, 0], "b": [0, 0, 1, 0], "c": [0, 0, 0, 1], ".": [1, 0, 0, 0]}, eos="."
    )
    assert ended(model, "a", 10) == ("bc", "eos")
    assert ended(model, "a", 2) == ("bc", "length")
    assert ended(model, "a", 0) == ("", "length")


def test_bos_stays_in_front_of_a_moving_window() -> None:
    model = table_model({"a": [1, 0, 0], "b": [0, 1, 0], "^": [0, 1, 0]}, bos="^", context=4)
    letters = model.vocabulary

    def read(text: str) -> str:
        return model.decode(window(model.config, letters, letters.split(text)))

    assert read("") == "^"
    assert read("aba") == "^aba"
    assert read("abab") == "^bab"
    assert read("^ababa") == "^aba"


def test_a_context_of_one_shows_bos_alone() -> None:
    model = table_model({"a": [1, 0], "^": [1, 0]}, bos="^", context=1)
    ids = window(model.config, model.vocabulary, model.vocabulary.split("aaa"))
    assert model.decode(ids) == "^"


def test_a_hidden_start_token_is_always_in_front() -> None:
    model = table_model({"a": [0, 1, 0], "b": [1, 0, 0], "": [1, 0, 9]}, start=True, context=3)
    letters = model.vocabulary
    assert window(model.config, letters, ()).tolist() == [2]
    assert window(model.config, letters, letters.split("abbab")).tolist() == [2, 1, 0, 1]
    assert model.complete("", 4, slide=True) == "abab"


def test_bos_and_start_token_are_never_produced() -> None:
    model = table_model({"a": [0, 5, 9], "^": [0, 5, 9], "": [0, 5, 9]}, bos="^", start=True)
    assert model.complete("", 2) == "aa"
    assert model.probabilities("") == {"a": 1.0, "^": 0.0}
    assert set(model.complete("a", 50, temperature=9.0, seed=1, slide=True)) == {"a"}


def test_ties_go_to_the_token_that_stands_first() -> None:
    row = [1.0, 1.4, 1.4]
    description = Description("predict", margin=1.0)
    table = {"c": row, "a": row, "b": row}
    assert table_model(table, description=description).complete("a", 2) == "cc"
    assert table_model(table).complete("a", 2) == "aa"


def test_an_empty_text_needs_a_token_in_front() -> None:
    with pytest.raises(InputError) as caught:
        handmade().complete("")
    assert caught.value.code == "empty-text"


def test_the_same_seed_gives_the_same_text_and_another_seed_another() -> None:
    model = random_model(window_safe=True)
    first = model.complete("a", 40, temperature=1.0, seed=3)
    assert model.complete("a", 40, temperature=1.0, seed=3) == first
    assert model.complete("a", 40, temperature=1.0, seed=4) != first
    assert len(first) == 40


def test_a_batch_of_equal_texts_draws_different_continuations() -> None:
    model = random_model(window_safe=True)
    batch = model.complete(["ab", "ab", "abc"], 20, temperature=1.0, seed=3)
    assert batch[0] == model.complete("ab", 20, temperature=1.0, seed=3)
    assert batch[0] != batch[1]
