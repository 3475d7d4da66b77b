"""Models of the runtime with the random weights of `blow_up.py`, normalised after each sublayer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from blow_up import D_HEAD, D_MLP, D_MODEL, N_ENCODERS, N_HEAD, Block, draw

from handcraft.runtime.config import Config, LayerConfig
from handcraft.runtime.description import Description
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights, shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.weights import Array

ENCODER_LAYER = LayerConfig(N_HEAD, D_HEAD, D_MLP)
DECODER_LAYER = LayerConfig(N_HEAD, D_HEAD, D_MLP, N_HEAD, D_HEAD)


def random_encoder(seed: int, embeddings: Array) -> Weights:
    """Return six encoders that read the rows of embeddings `[n, 4]` as they are."""
    generator = np.random.default_rng(seed)
    config = _encoder_config(len(embeddings), len(embeddings))
    return Weights(config, _encoder_arrays(config, generator, embeddings))


def random_translator(seed: int, embeddings: Mapping[str, Array]) -> Model:
    """Return six encoders and six decoders over the published vocabulary, without positions.

    The words are read and written by their published embeddings; all else is drawn, as it was for
    the published run.
    """
    generator = np.random.default_rng(seed)
    words = vocabulary("words", list(embeddings), bos="SOS", eos="EOS")
    source = vocabulary("words", [word for word in embeddings if word not in {"SOS", "EOS"}])
    encoder = _encoder_config(5, len(source))
    config = Config(
        n_ctx=8,
        n_vocab=len(words),
        d_model=D_MODEL,
        n_out=len(words),
        layers=(DECODER_LAYER,) * N_ENCODERS,
        layer_norm=True,
        norm_place="after",
        tied=False,
        encoder=encoder,
    )
    rows = np.array([embeddings[str(word)] for word in source.tokens])
    encoded = _encoder_arrays(encoder, generator, rows)
    arrays = _plain(config) | {f"encoder.{name}": array for name, array in encoded.items()}
    arrays["wte.weight"] = np.array(list(embeddings.values()))
    for number in range(N_ENCODERS):
        _fill(arrays, number, draw([generator]))
        _fill_cross(arrays, number, draw([generator]))
    arrays["lm_head.weight"] = generator.standard_normal((len(words), D_MODEL))
    description = Description("predict", sequences=("source", "tokens"))
    return Model(Weights(config, arrays), words, description, source)


def _encoder_config(n_ctx: int, n_vocab: int) -> Config:
    return Config(
        n_ctx=n_ctx,
        n_vocab=n_vocab,
        d_model=D_MODEL,
        n_out=n_vocab,
        layers=(ENCODER_LAYER,) * N_ENCODERS,
        attention="bidirectional",
        layer_norm=True,
        layer_norm_epsilon=1e-12,
        norm_place="after",
    )


def _encoder_arrays(
    config: Config, generator: np.random.Generator, embeddings: Array
) -> dict[str, Array]:
    arrays = _plain(config)
    arrays["wte.weight"] = embeddings
    for number in range(N_ENCODERS):
        _fill(arrays, number, draw([generator]))
    return arrays


def _plain(config: Config) -> dict[str, Array]:
    """Return zeros everywhere, and norms that neither stretch nor shift."""
    return {
        name: np.full(shape, float(".ln_" in name and name.endswith("weight")))
        for name, shape in shapes(config).items()
    }


def _fill(arrays: dict[str, Array], number: int, block: Block) -> None:
    h = f"h.{number}"
    arrays[f"{h}.attn.c_attn.weight"] = _packed(block.W_Q, block.W_K, block.W_V)
    arrays[f"{h}.attn.c_proj.weight"] = block.W_O[0]
    for name, layer in (("c_fc", block.neurons), ("c_proj", block.out)):
        arrays[f"{h}.mlp.{name}.weight"] = layer.weight[0]
        arrays[f"{h}.mlp.{name}.bias"] = layer.bias[0, 0]


def _fill_cross(arrays: dict[str, Array], number: int, block: Block) -> None:
    name = f"h.{number}.crossattention"
    arrays[f"{name}.q_attn.weight"] = _packed(block.W_Q)
    arrays[f"{name}.c_attn.weight"] = _packed(block.W_K, block.W_V)
    arrays[f"{name}.c_proj.weight"] = block.W_O[0]


def _packed(*parts: Array) -> Array:
    """Return matrices `[1, n_head, d_model, d_head]` side by side, head after head."""
    return np.concatenate([head for part in parts for head in part[0]], axis=1)
