"""The encoder, and what the cross-attention of the decoder reads of it.

An encoder is the transformer of `transformer.py` over the source, every position seeing all of
them, without an unembedding. Its decoder is the same transformer over the text that is written,
with one more sublayer in its layers: heads whose queries come from that text, and whose keys and
values come from the encoder's stream. These depend on nothing that is written, so they are made
once for a source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.trace import EncoderTrace
from handcraft.runtime.transformer import (
    Ids,
    KeysValues,
    Mask,
    block,
    check_known,
    embed,
    normed,
    projected,
    visible,
)

if TYPE_CHECKING:
    from handcraft.runtime.config import Config
    from handcraft.runtime.weights import Array, Weights


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A source, or a batch of them, as the decoder reads it.

    Attributes:
        trace: what happened in the encoder.
        read: keys and values `[..., n_cross, n_source, d_cross]` for each layer of the decoder,
            empty in a layer without cross heads.
        mask: `[..., 1, n_source]`, true where a position is no padding: every query sees it.
    """

    trace: EncoderTrace
    read: tuple[KeysValues, ...]
    mask: Mask


def read_source(weights: Weights, ids: Ids, lengths: Ids | None = None) -> Source:
    """Run the encoder on sources, and project its stream for every layer of the decoder.

    Args:
        weights: the whole model.
        ids: `[..., n_source]`, at most the encoder's `n_ctx`; there may be none.
        lengths: `[...]`, how many ids of each source count; the others are padding on the right.

    Raises:
        InputError: `too-long`, `unknown-id`.
        HandcraftError: `not-finite`.
    """
    assert weights.encoder is not None, "only a model with an encoder reads a source"
    _check_source(weights.encoder.config, ids)
    if lengths is None:
        lengths = np.full(ids.shape[:-1], ids.shape[-1])
    try:
        trace = _encode(weights.encoder, ids, lengths)
    except HandcraftError as error:
        message = f"in the encoder, {error.message}"
        raise HandcraftError(error.code, message, help=error.help) from None
    is_token: Mask = np.arange(ids.shape[-1]) < lengths[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        read = tuple(_read(weights, n, trace.final) for n in range(weights.config.n_layer))
    return Source(trace, read, is_token[..., None, :])


def _encode(encoder: Weights, ids: Ids, lengths: Ids) -> EncoderTrace:
    mask = visible(encoder.config, ids.shape[-1], lengths)
    layers = []
    with np.errstate(over="ignore", invalid="ignore"):
        x = embedding = embed(encoder, ids)
        for number in range(encoder.config.n_layer):
            layers.append(block(encoder, number, x, mask))
            x = layers[-1].resid_post
        return EncoderTrace(embedding, tuple(layers), normed(encoder, "ln_f", x))


def _read(weights: Weights, number: int, stream: Array) -> KeysValues:
    n_cross = weights.config.layers[number].n_cross
    if n_cross == 0:
        nothing = np.zeros((*stream.shape[:-2], 0, stream.shape[-2], 0), stream.dtype)
        return KeysValues(nothing, nothing)
    name = f"h.{number}.crossattention.c_attn"
    return KeysValues(*projected(weights, name, stream, 2, n_cross))


def _check_source(encoder: Config, ids: Ids) -> None:
    if ids.shape[-1] > encoder.n_ctx:
        raise InputError(
            "too-long", f"{ids.shape[-1]} ids are more than the {encoder.n_ctx} of the source"
        )
    check_known(encoder, ids)
