"""Models that read a source: random ones, and a translator made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from runtime_models import random_weights

from handcraft.runtime.config import Config, LayerConfig, NormPlace
from handcraft.runtime.description import Description, Operation, ResidualVariable
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights, shapes

if TYPE_CHECKING:
    from handcraft.runtime.weights import Array

WORDS = {"hello": "hola", "world": "mundo", "how": "cómo", "?": "?"}
SEQUENCES = Description("predict", sequences=("source", "tokens"))


def source_config(
    norm: NormPlace | None = None, *, tied: bool = False, start: bool = False
) -> Config:
    """Return a config whose sizes are pairwise different, with every kind of layer."""
    encoder = Config(
        n_ctx=5,
        n_vocab=8,
        d_model=10,
        n_out=8,
        layers=(LayerConfig(2, 3, 11), LayerConfig(0, 0, 4), LayerConfig(1, 13, 0)),
        attention="bidirectional",
        layer_norm=norm is not None,
        start=start,
        norm_place=norm or "before",
    )
    return Config(
        n_ctx=6,
        n_vocab=9,
        d_model=12,
        n_out=9,
        layers=(LayerConfig(3, 4, 7, 2, 5), LayerConfig(0, 0, 0, 1, 14), LayerConfig(2, 15, 0)),
        layer_norm=norm is not None,
        tied=tied,
        norm_place=norm or "before",
        encoder=encoder,
    )


def random_source_weights(
    norm: NormPlace | None = None,
    *,
    tied: bool = False,
    start: bool = False,
    dtype: str = "float64",
) -> Weights:
    """Return random weights of that config."""
    return random_weights(source_config(norm, tied=tied, start=start), dtype=dtype)


def translator(dtype: str = "float32", *, context: int = 6) -> Model:
    """Return a translator word by word of sources up to 5 words.

    One cross head: the query of target place p meets the key of source place p, which stands one
    position further on, after the start key. That scores half as much with every query and brings
    EOS. What is moved is the translation, which the unembedding reads where it lies.
    """
    words = vocabulary("words", list(WORDS.values()), bos="SOS", eos="EOS")
    source = vocabulary("words", list(WORDS))
    encoder = Config(6, 5, 11, 5, (), attention="bidirectional", start=True)
    config = Config(
        n_ctx=context,
        n_vocab=6,
        d_model=6 + context,
        n_out=6,
        layers=(LayerConfig(0, 0, 0, 1, 6),),
        tied=False,
        encoder=encoder,
    )
    arrays: dict[str, Array] = {n: np.zeros(s) for n, s in shapes(config).items()}
    arrays["encoder.wte.weight"][:, :5] = np.eye(5)
    arrays["encoder.wpe.weight"][:, 5:] = np.eye(6)
    arrays["wpe.weight"][:, 6:] = np.eye(context)
    places = min(context, 6)
    arrays["h.0.crossattention.q_attn.weight"][6 : 6 + places, :places] = 2048 * np.eye(places)
    keys = arrays["h.0.crossattention.c_attn.weight"]
    keys[5, :6] = 0.5
    keys[6:, :5] = np.eye(5)
    for number, word in enumerate(WORDS.values()):
        keys[number, 6 + words.id(word)] = 1
    keys[4, 6 + words.id("EOS")] = 1
    arrays["h.0.crossattention.c_proj.weight"][:, :6] = np.eye(6)
    arrays["lm_head.weight"][:, :6] = 128 * np.eye(6)
    weights = Weights(config, {name: array.astype(dtype) for name, array in arrays.items()})
    description = Description(
        "predict",
        margin=128.0,
        residual=(
            ResidualVariable("source.tokens", 0, tuple(WORDS), "the word", sequence="source"),
            ResidualVariable("translation", 0, tuple(WORDS.values()), "the next word"),
        ),
        operations=(
            Operation(-1, "embedding", 0, "words and places", None, sequence="source"),
            Operation(0, "head", 0, "the word at this place", 3, across=True),
        ),
        sequences=("source", "tokens"),
    )
    return Model(weights, words, description, source)
