"""(aab)*, from text to weights to text, no larger than the model that was made by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import handcraft
from handcraft.checking import check
from handcraft.testing import accuracy

if TYPE_CHECKING:
    from handcraft.runtime.model import Model

AAB = Path(__file__).parents[2] / "programs" / "aab.rasp"
FORMATS = ("float64", "float32", "float16")
HANDMADE_PARAMETERS = 344


@pytest.fixture(params=FORMATS)
def model(request: pytest.FixtureRequest) -> Model:
    return handcraft.compile(AAB, dtype=request.param)


def test_it_is_one_head_and_nothing_else(model: Model) -> None:
    config = model.config
    assert (config.n_layer, config.n_head, config.d_mlp) == (1, 1, 0)
    assert (config.context, config.n_ctx, config.n_vocab) == (5, 5, 2)
    assert config.d_model <= 8
    assert config.tied
    assert not config.layer_norm
    assert not config.start
    assert model.parameters.n_parameters <= HANDMADE_PARAMETERS


def test_its_embeddings_are_one_hots_that_share_no_column(model: Model) -> None:
    wte, wpe = model.weights["wte.weight"], model.weights["wpe.weight"]
    for rows in (wte, wpe):
        assert np.array_equal(rows @ rows.T, np.eye(len(rows)))
        assert set(rows.flat) == {0, 1}
    assert not (wte @ wpe.T).any()


@pytest.mark.parametrize(
    ("text", "continuation"),
    [
        ("a", "baabaabaab"),
        ("ba", "abaabaabaa"),
        ("abaab", "aabaabaaba"),
        ("ababa", "abaabaabaa"),
        ("bbbbb", "aabaabaaba"),
    ],
)
def test_it_completes_as_published(model: Model, text: str, continuation: str) -> None:
    assert model.complete(text) == continuation


def test_it_predicts_every_next_token_of_a_long_word(model: Model) -> None:
    assert accuracy(model, "aab" * 10) == (27, 27)


def test_it_follows_the_rule_on_all_sixty_short_texts(model: Model) -> None:
    texts = ["".join(word) for n in range(2, 6) for word in product("ab", repeat=n)]
    assert len(texts) == 60
    for text in texts:
        assert model.predict(text) == ("b" if text.endswith("aa") else "a")


def test_a_first_token_counts_as_two(model: Model) -> None:
    assert (model.predict("a"), model.predict("b")) == ("b", "a")


def test_a_wrong_token_has_no_probability_at_all(model: Model) -> None:
    assert model.probabilities("aa") == {"a": 0.0, "b": 1.0}
    assert model.probabilities("ab") == {"a": 1.0, "b": 0.0}


def test_the_model_agrees_with_the_program_in_every_format(model: Model) -> None:
    assert check(handcraft.parse(AAB), {"this": model}, longest=5, random=0).holds


def test_a_window_that_slides_is_proved_to_change_nothing(model: Model) -> None:
    program = handcraft.parse(AAB)
    assert (program.lookback, program.window_safe) == (2, True)
    assert model.description.window_safe
    assert model.complete("aab", 40) == ("aab" * 14)[:40]
    assert model.stop_reason == "length"
