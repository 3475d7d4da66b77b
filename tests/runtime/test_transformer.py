"""The forward pass against one written with loops, and its laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gpt2_by_loops import logits_by_loops
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_models import integer_weights, random_model, random_weights, stock_config

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.config import Activation, Attention, Config, LayerConfig
from handcraft.runtime.transformer import forward, layer_norm, softmax
from handcraft.runtime.weights import Linear, Weights

IDS = np.array([3, 8, 0, 3, 5])


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_new"])
@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_logits_equal_those_of_loops(
    attention: Attention, activation: Activation, layer_norm: bool, tied: bool
) -> None:
    config = stock_config(activation, attention, layer_norm=layer_norm, tied=tied)
    weights = random_weights(config)
    expected = logits_by_loops(
        {name: array.tolist() for name, array in weights.arrays.items()},
        IDS.tolist(),
        heads=[3, 2, 0],
        causal=attention == "causal",
        activation=activation,
        epsilon=config.layer_norm_epsilon,
    )
    np.testing.assert_allclose(forward(weights, IDS).logits, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_a_padded_batch_says_what_single_texts_say(attention: Attention) -> None:
    weights = random_weights(stock_config(attention=attention))
    texts = [[1, 2, 3, 4, 5, 6], [7], [8, 0, 1]]
    padded = np.array([text + [0] * (6 - len(text)) for text in texts])
    lengths = np.array([6, 1, 3])
    batch = forward(weights, padded, lengths).logits
    for row, text in zip(batch, texts, strict=True):
        single = forward(weights, np.array(text)).logits
        np.testing.assert_allclose(row[: len(text)], single, rtol=1e-12, atol=1e-12)


def test_a_batch_may_have_several_axes() -> None:
    weights = random_weights(stock_config())
    ids = np.arange(24).reshape(2, 3, 4) % 9
    trace = forward(weights, ids)
    assert trace.logits.shape == (2, 3, 4, 9)
    assert trace["pattern.0"].shape == (2, 3, 3, 4, 4)
    np.testing.assert_allclose(
        trace.logits[1, 2], forward(weights, ids[1, 2]).logits, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_every_activation_keeps_the_format_of_the_weights(dtype: str) -> None:
    for activation in ("relu", "gelu", "gelu_new"):
        weights = random_weights(stock_config(activation), dtype=dtype)
        named = forward(weights, IDS).named()
        assert {array.dtype.name for array in named.values()} == {dtype}


def test_the_trace_has_every_activation_by_name_and_by_field() -> None:
    trace = forward(random_weights(stock_config()), IDS)
    attention, mlp = trace.layers[0].attention, trace.layers[0].mlp
    assert attention is not None
    assert mlp is not None
    assert trace["q.0"] is attention.q
    assert trace["mlp_post.0"] is mlp.mlp_post
    assert {name: trace[name].shape for name in trace if name.endswith(".0")} == {
        "resid_pre.0": (5, 12),
        "attn_in.0": (5, 12),
        "q.0": (3, 5, 4),
        "k.0": (3, 5, 4),
        "v.0": (3, 5, 4),
        "scores.0": (3, 5, 5),
        "pattern.0": (3, 5, 5),
        "mixed.0": (3, 5, 4),
        "attn_out.0": (5, 12),
        "resid_mid.0": (5, 12),
        "mlp_in.0": (5, 12),
        "mlp_pre.0": (5, 7),
        "mlp_post.0": (5, 7),
        "mlp_out.0": (5, 12),
        "resid_post.0": (5, 12),
    }


def test_the_stream_is_the_sum_of_what_the_sublayers_add() -> None:
    trace = forward(random_weights(stock_config()), IDS)
    added = trace["attn_out.0"] + trace["mlp_out.0"] + trace["attn_out.1"] + trace["mlp_out.2"]
    np.testing.assert_allclose(
        trace["resid_post.2"], trace["embedding"] + added, rtol=1e-12, atol=1e-12
    )


def test_an_absent_sublayer_has_no_activations() -> None:
    trace = forward(random_weights(stock_config()), IDS)
    assert trace.layers[1].mlp is None
    assert trace.layers[2].attention is None
    assert "mlp_pre.1" not in list(trace)
    with pytest.raises(InputError, match=r"`mlp_pre\.1` is no activation of this model") as caught:
        trace["mlp_pre.1"]
    assert caught.value.help in {"write `mlp_pre.0`", "write `mlp_pre.2`"}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 8), min_size=2, max_size=6), st.data())
def test_a_causal_position_does_not_depend_on_later_tokens(
    ids: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(ids) - 1))
    changed = ids[:place] + [(token + 1) % 9 for token in ids[place:]]
    weights = random_weights(stock_config())
    before = forward(weights, np.array(ids)).logits[:place]
    assert np.array_equal(before, forward(weights, np.array(changed)).logits[:place])


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(5)), st.permutations(range(4)), st.integers(0, 99))
def test_the_order_of_summation_changes_no_score_of_whole_numbers(
    model_order: list[int], head_order: list[int], seed: int
) -> None:
    config = Config(6, 7, 5, 7, (LayerConfig(2, 4, 0),))
    weights = integer_weights(config, seed)
    within_heads = [
        part * 8 + head * 4 + d for part in (0, 1) for head in (0, 1) for d in head_order
    ]
    columns = [*within_heads, *range(16, 24)]
    arrays = {
        **weights.arrays,
        "wte.weight": weights["wte.weight"][:, model_order],
        "wpe.weight": weights["wpe.weight"][:, model_order],
        "h.0.attn.c_attn.weight": weights["h.0.attn.c_attn.weight"][model_order][:, columns],
        "h.0.attn.c_attn.bias": weights["h.0.attn.c_attn.bias"][columns],
    }
    ids = np.array([6, 0, 6, 1, 2])
    expected = forward(weights, ids)["scores.0"]
    assert np.array_equal(forward(Weights(config, arrays), ids)["scores.0"], expected)


def test_equal_keys_share_attention_bit_for_bit() -> None:
    weights = integer_weights(
        Config(6, 7, 5, 7, (LayerConfig(2, 4, 0),), attention="bidirectional")
    )
    arrays = {**weights.arrays, "wpe.weight": np.zeros((6, 5), "float32")}
    pattern = forward(Weights(weights.config, arrays), np.array([3, 1, 3, 3]))["pattern.0"]
    assert np.array_equal(pattern[..., 0], pattern[..., 2])
    assert np.array_equal(pattern[..., 0], pattern[..., 3])


def test_softmax_bears_large_and_forbidden_scores() -> None:
    scores = np.array([[1e4, 1e4, -np.inf], [-1e4, -np.inf, -np.inf]])
    assert softmax(scores).tolist() == [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]


def test_layer_norm_gives_mean_and_variance_of_its_bias_and_gain() -> None:
    row = np.array([[1.0, 2.0, 3.0, 10.0]])
    found = layer_norm(row, Linear(np.full(4, 3.0), np.full(4, 5.0)), 0.0)
    assert found.mean() == pytest.approx(5)
    assert found.std() == pytest.approx(3)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("wte.weight", "`embedding` leaves the range of float16"),
        ("h.0.attn.c_attn.weight", "`q, k, v of layer 0` leaves the range of float16"),
        ("h.0.attn.c_proj.weight", "`stream in layer 0` leaves the range of float16"),
        ("h.0.mlp.c_fc.weight", "`neurons of layer 0` leaves the range of float16"),
        ("h.0.mlp.c_proj.weight", "`stream after layer 0` leaves the range of float16"),
        ("lm_head.weight", "`logits` leaves the range of float16"),
    ],
)
def test_overflow_is_refused_where_it_happens(name: str, told: str) -> None:
    config = Config(3, 4, 2, 4, (LayerConfig(1, 2, 5),), tied=False)
    arrays = {n: np.ones_like(a) for n, a in random_weights(config, dtype="float16").arrays.items()}
    arrays[name] = np.full_like(arrays[name], 65000)
    arrays["wpe.weight"] = np.full((3, 2), 65000 if name == "wte.weight" else 1, "float16")
    with pytest.raises(HandcraftError) as caught:
        forward(Weights(config, arrays), np.array([0, 1]))
    assert caught.value.message == told
    assert caught.value.code == "not-finite"


def test_scores_and_variances_that_overflow_are_refused() -> None:
    config = Config(3, 4, 2, 4, (LayerConfig(1, 2, 0),))
    arrays = {
        n: np.full_like(a, 9) for n, a in random_weights(config, dtype="float16").arrays.items()
    }
    with pytest.raises(HandcraftError, match="`scores of layer 0` leaves"):
        forward(Weights(config, arrays), np.array([0]))
    normed = replace(config, layer_norm=True)
    arrays = dict(random_weights(normed, dtype="float16").arrays)
    arrays["wte.weight"] = np.array([[900, -900]] * 4, "float16")
    with pytest.raises(HandcraftError, match="`layer norm` leaves the range of float16"):
        forward(Weights(normed, arrays), np.array([0]))


@pytest.mark.parametrize(
    ("ids", "lengths", "told"),
    [
        ([0, 1, 2, 3, 4, 5, 6], None, "7 ids are more than the 6 positions"),
        ([0, 9], None, "ids are from 0 to 8"),
        ([0, -1], None, "ids are from 0 to 8"),
        ([], None, "a sequence needs at least one id"),
        ([[1, 2], [3, 4]], [2, 0], "a sequence needs at least one id"),
    ],
)
def test_ids_that_do_not_fit_are_refused(
    ids: list[int], lengths: list[int] | None, told: str
) -> None:
    with pytest.raises(InputError) as caught:
        forward(
            random_model().parameters,
            np.array(ids, dtype=np.int64),
            None if lengths is None else np.array(lengths),
        )
    assert caught.value.message == told
