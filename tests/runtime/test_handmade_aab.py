"""The published hand-made model of (aab)*: its activations, its texts, its score."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from gpt2_by_loops import logits_by_loops
from runtime_models import handmade, handmade_file

from handcraft.errors import InputError
from handcraft.testing import accuracy

FORMATS = ("float64", "float32", "float16")


def test_the_trace_equals_the_published_one() -> None:
    published = handmade_file()["trace_aabaa"]
    trace = handmade().trace("aabaa")
    assert trace["embedding"].tolist() == published["embedding"]
    for name in "qkv":
        assert trace[f"{name}.0"][0].tolist() == published[name]
    seen = np.tri(5, dtype=bool)
    scores = trace["scores.0"][0]
    assert (
        np.round(scores, 3)[seen].tolist()
        == np.array(published["scores_scaled_3dec"])[seen].tolist()
    )
    assert np.isneginf(scores[~seen]).all()
    assert np.round(trace["pattern.0"][0], 3).tolist() == published["attention_3dec"]
    assert trace["pattern.0"][0][4, 2] == pytest.approx(
        published["attention_float64_smallest_visible_weight_row4_col2"], rel=1e-9
    )
    assert trace["attn_out.0"].tolist() == published["c_proj_output"]
    assert trace["resid_post.0"].tolist() == published["residual_stream"]
    assert trace["logits"].tolist() == published["logits"]


def test_it_predicts_what_was_published_at_each_position() -> None:
    assert handmade().run("aabaa") == handmade_file()["trace_aabaa"]["prediction_per_row"]


@pytest.mark.parametrize("dtype", FORMATS)
def test_completions_equal_the_published_ones(dtype: str) -> None:
    model = handmade(dtype)
    completions = handmade_file()["expected"]["completions"]
    assert {text: model.complete(text) for text in completions} == completions
    assert model.complete("aab") == "aabaabaaba"


@pytest.mark.parametrize("dtype", FORMATS)
def test_all_27_predictions_are_right(dtype: str) -> None:
    found = accuracy(handmade(dtype), "aab" * 10)
    assert found == (27, 27)
    assert str(found) == "27/27"


def test_accuracy_counts_wrong_predictions_too() -> None:
    assert accuracy(handmade(), "aabb" * 2, prefixes=[2, 3, 4, 5]) == (3, 4)


def test_accuracy_wants_a_token_after_each_prefix() -> None:
    with pytest.raises(InputError, match="no token follows a prefix of 3 tokens"):
        accuracy(handmade(), "aab", prefixes=[3])


def test_every_text_of_2_to_5_tokens_follows_the_rule() -> None:
    model = handmade()
    texts = ["".join(letters) for n in range(2, 6) for letters in product("ab", repeat=n)]
    assert len(texts) == 60
    rule = ["b" if text.endswith("aa") else "a" for text in texts]
    assert model.predict(texts) == rule


def test_loops_agree_to_1e_12() -> None:
    model = handmade()
    arrays = {name: array.tolist() for name, array in model.weights.items()}
    expected = logits_by_loops(
        arrays, [0, 0, 1, 0, 0], heads=[1], causal=True, activation="relu", epsilon=0.0
    )
    np.testing.assert_allclose(model.logits("aabaa"), expected, rtol=1e-12, atol=1e-12)


def test_it_has_344_parameters_of_which_26_are_not_zero() -> None:
    parameters = handmade().parameters
    assert (parameters.n_parameters, parameters.n_nonzero) == (344, 26)
    assert parameters.counts()["wte.weight"] == (16, 2)
