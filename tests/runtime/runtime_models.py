"""Models for the tests: the published hand-made one, and random ones of chosen sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from handcraft.runtime.config import Activation, Attention, Config, LayerConfig
from handcraft.runtime.description import Description, Value
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights, shapes

HANDMADE = Path(__file__).parents[1] / "data" / "handmade_aab.json"


def handmade_file() -> dict[str, Any]:
    """Return the published matrices with the values that they must give."""
    loaded: dict[str, Any] = json.loads(HANDMADE.read_text(encoding="utf-8"))
    return loaded


def handmade(dtype: str = "float64", *, window_safe: bool = True) -> Model:
    """Return the published (aab)* model."""
    parameters = handmade_file()["parameters"]
    names = {
        "wte.weight": "wte",
        "wpe.weight": "wpe",
        "h.0.attn.c_attn.weight": "c_attn_w",
        "h.0.attn.c_attn.bias": "c_attn_b",
        "h.0.attn.c_proj.weight": "c_proj_w",
        "h.0.attn.c_proj.bias": "c_proj_b",
    }
    arrays = {name: np.array(parameters[key], dtype) for name, key in names.items()}
    config = Config(n_ctx=5, n_vocab=2, d_model=8, n_out=2, layers=(LayerConfig(1, 8, 0),))
    description = Description("predict", margin=1.0, window_safe=window_safe)
    return Model(Weights(config, arrays), vocabulary("characters", "ab"), description)


def stock_config(
    activation: Activation = "gelu_new",
    attention: Attention = "causal",
    *,
    layer_norm: bool = True,
    tied: bool = True,
) -> Config:
    """Return a config of GPT-2's shape, with sizes that are pairwise different.

    The first layer has both sublayers, the second only heads, the third only neurons.
    """
    return Config(
        n_ctx=6,
        n_vocab=9,
        d_model=12,
        n_out=9,
        layers=(LayerConfig(3, 4, 7), LayerConfig(2, 5, 0), LayerConfig(0, 0, 8)),
        attention=attention,
        activation=activation,
        layer_norm=layer_norm,
        tied=tied,
    )


def random_weights(config: Config, seed: int = 0, dtype: str = "float64") -> Weights:
    """Return weights drawn from a normal distribution."""
    generator = np.random.default_rng(seed)
    return Weights(
        config,
        {n: generator.normal(0, 0.5, shape).astype(dtype) for n, shape in shapes(config).items()},
    )


def integer_weights(config: Config, seed: int = 0) -> Weights:
    """Return weights of small whole numbers, so that q, k and scores before division are exact."""
    generator = np.random.default_rng(seed)
    return Weights(
        config,
        {
            name: generator.integers(-2, 3, shape).astype("float32")
            for name, shape in shapes(config).items()
        },
    )


def random_model(
    seed: int = 0, attention: Attention = "causal", *, window_safe: bool = False
) -> Model:
    """Return a random model of GPT-2's shape over the letters a to i."""
    weights = random_weights(stock_config(attention=attention), seed)
    description = Description("logits", window_safe=window_safe)
    return Model(weights, vocabulary("characters", "abcdefghi"), description)


def table_model(
    table: dict[str, list[float]],
    outputs: tuple[Value, ...] = (),
    description: Description | None = None,
    *,
    bos: str | None = None,
    eos: str | None = None,
    start: bool = False,
    context: int = 4,
) -> Model:
    """Return a model without layers whose logits at a token are its row in the table.

    With a start token its row stands under the empty string.
    """
    letters = "".join(table)
    rows = [row for token, row in table.items() if token] + ([table[""]] if start else [])
    n_out = len(rows[0])
    config = Config(
        n_ctx=context + start,
        n_vocab=len(rows),
        d_model=len(rows),
        n_out=n_out,
        layers=(),
        tied=False,
        start=start,
        readout="tokens" if not outputs else "values",
    )
    arrays = {
        "wte.weight": np.eye(len(rows), dtype="float32"),
        "wpe.weight": np.zeros((config.n_ctx, len(rows)), "float32"),
        "lm_head.weight": np.array(rows, "float32").T,
    }
    if description is None:
        description = Description("output" if outputs else "predict", outputs)
    words = vocabulary("characters", letters, bos, eos)
    return Model(Weights(config, arrays), words, description)


def number_model(outputs: Any, numbers: dict[str, float]) -> Model:
    """Return a model whose one logit at a token is its number."""
    config = Config(
        n_ctx=3,
        n_vocab=len(numbers),
        d_model=1,
        n_out=1,
        layers=(),
        tied=False,
        readout="number",
    )
    arrays = {
        "wte.weight": np.array([[n] for n in numbers.values()]),
        "wpe.weight": np.zeros((3, 1)),
        "lm_head.weight": np.ones((1, 1)),
    }
    words = vocabulary("characters", "".join(numbers))
    return Model(Weights(config, arrays), words, Description("output", outputs))
