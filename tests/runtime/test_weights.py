"""Configs and arrays: the table of shapes, counts, formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runtime_models import random_weights, stock_config

from handcraft.errors import HandcraftError
from handcraft.runtime.config import Config, LayerConfig
from handcraft.runtime.weights import Weights, shapes

CONFIG = stock_config(tied=False)


def test_shapes_are_gpt2s() -> None:
    assert shapes(CONFIG) == {
        "wte.weight": (9, 12),
        "wpe.weight": (6, 12),
        "h.0.ln_1.weight": (12,),
        "h.0.ln_1.bias": (12,),
        "h.0.attn.c_attn.weight": (12, 36),
        "h.0.attn.c_attn.bias": (36,),
        "h.0.attn.c_proj.weight": (12, 12),
        "h.0.attn.c_proj.bias": (12,),
        "h.0.ln_2.weight": (12,),
        "h.0.ln_2.bias": (12,),
        "h.0.mlp.c_fc.weight": (12, 7),
        "h.0.mlp.c_fc.bias": (7,),
        "h.0.mlp.c_proj.weight": (7, 12),
        "h.0.mlp.c_proj.bias": (12,),
        "h.1.ln_1.weight": (12,),
        "h.1.ln_1.bias": (12,),
        "h.1.attn.c_attn.weight": (12, 30),
        "h.1.attn.c_attn.bias": (30,),
        "h.1.attn.c_proj.weight": (10, 12),
        "h.1.attn.c_proj.bias": (12,),
        "h.2.ln_2.weight": (12,),
        "h.2.ln_2.bias": (12,),
        "h.2.mlp.c_fc.weight": (12, 8),
        "h.2.mlp.c_fc.bias": (8,),
        "h.2.mlp.c_proj.weight": (8, 12),
        "h.2.mlp.c_proj.bias": (12,),
        "ln_f.weight": (12,),
        "ln_f.bias": (12,),
        "lm_head.weight": (9, 12),
    }


def test_the_scalars_of_a_config_are_the_largest_of_its_layers() -> None:
    assert (CONFIG.n_layer, CONFIG.n_head, CONFIG.d_head, CONFIG.d_mlp) == (3, 3, 5, 8)
    empty = replace(CONFIG, layers=())
    assert (empty.n_layer, empty.n_head, empty.d_head, empty.d_mlp) == (0, 0, 0, 0)


def test_a_start_token_takes_a_position_and_the_last_id() -> None:
    started = replace(CONFIG, start=True)
    assert (started.context, started.start_id) == (5, 8)
    assert (CONFIG.context, CONFIG.start_id) == (6, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_ctx": 0}, "n_ctx is a whole number from 1, not `0`"),
        ({"d_model": True}, "d_model is a whole number from 1, not `True`"),
        ({"n_vocab": 2.0}, "n_vocab is a whole number from 1, not `2.0`"),
        ({"layers": (LayerConfig(1, 0, 3),)}, "layer 0 has 1 heads of width 0"),
        ({"layers": (LayerConfig(0, 2, 3),)}, "layer 0 has 0 heads of width 2"),
        (
            {"layers": (LayerConfig(0, 0, 0), LayerConfig(1, 1, -1))},
            "d_mlp of layer 1 is a whole number from 0, not `-1`",
        ),
        ({"layers": (LayerConfig(0, 0, 0),) * 10_001}, "10001 layers are more than 10000"),
        ({"attention": "local"}, "attention is one of causal, bidirectional, not `local`"),
        ({"activation": "tanh"}, "activation is one of relu, gelu_new, gelu, not `tanh`"),
        ({"layer_norm_epsilon": -1.0}, "layer_norm_epsilon is -1.0"),
        ({"layer_norm_epsilon": float("nan")}, "layer_norm_epsilon is nan"),
        ({"n_ctx": 1, "start": True}, "a start token needs a position and a row of its own"),
        ({"tied": True, "n_out": 4}, "a tied unembedding has 9 logits, not 4"),
        ({"n_out": 4}, "tokens are read from 9 logits, not 4"),
        ({"readout": "number"}, "a number is read from 1 logit, not 9"),
    ],
)
def test_a_config_that_makes_no_transformer_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(HandcraftError) as caught:
        replace(CONFIG, **changes)
    assert caught.value.message == message
    assert caught.value.code == "bad-config"


def test_arrays_are_copied_and_cannot_be_written() -> None:
    arrays = dict(random_weights(CONFIG).arrays)
    arrays["wpe.weight"] = np.zeros((6, 12))
    weights = Weights(CONFIG, arrays)
    arrays["wpe.weight"][0, 0] = 7
    assert weights["wpe.weight"][0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        weights["wpe.weight"][0, 0] = 7


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("wpe.weight", None, "the array `wpe.weight` is missing"),
        ("h.1.mlp.c_fc.bias", np.zeros(3), "the array `h.1.mlp.c_fc.bias` has no place in this"
         " config"),
        ("h.0.mlp.c_fc.weight", np.zeros((7, 12)), "`h.0.mlp.c_fc.weight` has the shape [7, 12]"
         " (84 numbers), expected [12, 7]"),
        ("ln_f.bias", np.zeros(12, "float32"), "`ln_f.bias` is float32, but `wte.weight` is"
         " float64"),
        ("ln_f.bias", np.zeros(12, "int64"), "`ln_f.bias` is int64, expected float64, float32,"
         " float16"),
        ("ln_f.bias", np.array([0.0] * 11 + [np.nan]), "`ln_f.bias` is not finite in float64: nan"
         " at [11]"),
        ("wpe.weight", np.full((6, 12), -np.inf), "`wpe.weight` is not finite in float64: -inf at"
         " [0, 0]"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(name: str, array: Any, message: str) -> None:
    arrays = dict(random_weights(CONFIG).arrays)
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    with pytest.raises(HandcraftError) as caught:
        Weights(CONFIG, arrays)
    assert caught.value.message == message
    assert caught.value.code == "bad-weights"


def test_counts_tell_all_numbers_and_those_that_are_not_zero() -> None:
    config = Config(3, 2, 5, 2, ())
    weights = Weights(config, {"wte.weight": np.eye(2, 5), "wpe.weight": np.ones((3, 5))})
    assert (weights.n_parameters, weights.n_nonzero) == (25, 17)
    assert weights.counts() == {"wte.weight": (10, 2), "wpe.weight": (15, 15)}


def test_rounding_to_another_format_refuses_what_is_too_large() -> None:
    weights = random_weights(CONFIG)
    assert weights.astype("float16").dtype.name == "float16"
    assert np.array_equal(
        weights.astype("float32")["wte.weight"], weights["wte.weight"].astype("float32")
    )
    large = Weights(CONFIG, {**weights.arrays, "wte.weight": np.full((9, 12), 1e5)})
    with pytest.raises(HandcraftError, match=r"`wte\.weight` is not finite in float16: inf at"):
        large.astype("float16")
    with pytest.raises(HandcraftError, match="weights are float64, float32, float16, not `int8`"):
        weights.astype("int8")
