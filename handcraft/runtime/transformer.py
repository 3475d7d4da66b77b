"""The transformer itself: from token ids and weights to logits.

Read it from top to bottom, each function uses those above it. An axis written `...` stands for
any batch axes. All numbers stay in the format of the weights, and whatever leaves that format
(overflow) is refused, so that no wrong number passes for an answer.

A `source` is what an encoder has made of a second sequence; `encoder_decoder.py` tells of it. A
model without encoder has none.
"""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.trace import AttentionTrace, LayerTrace, MlpTrace, Trace

if TYPE_CHECKING:
    from handcraft.runtime.config import Activation, Config
    from handcraft.runtime.encoder_decoder import Source
    from handcraft.runtime.weights import Array, Linear, Weights

Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


class KeysValues(NamedTuple):
    """What heads read: keys and values, both `[..., n_head, n_key, d_head]`."""

    k: Array
    v: Array


def linear(x: Array, layer: Linear) -> Array:  # [..., n_in] -> [..., n_out]
    """Multiply by a matrix and add a bias."""
    product: Array = x @ layer.weight
    return product + layer.bias


def softmax(x: Array) -> Array:  # [..., n] -> [..., n], each row sums to 1
    """Return exp(x) / sum exp(x), shifted by the largest entry so that nothing overflows.

    A row that has no entry but -inf, or none at all, has only shares of 0. The largest entry of
    any other row adds exp(0) = 1 to its sum, which is therefore never below 1.
    """
    lowest = np.finfo(x.dtype).min
    shares: Array = np.exp(x - x.max(axis=-1, keepdims=True, initial=lowest))
    total: Array = shares.sum(axis=-1, keepdims=True)
    return shares / np.maximum(total, 1)


def layer_norm(x: Array, gain: Linear, epsilon: float) -> Array:  # [..., d_model] -> the same
    """Shift and scale each row to mean 0 and variance 1, then apply gain and bias."""
    centred: Array = x - x.mean(axis=-1, keepdims=True)
    variance: Array = (centred * centred).mean(axis=-1, keepdims=True) + epsilon
    return centred / np.sqrt(finite("layer norm", variance)) * gain.weight + gain.bias


def activate(x: Array, activation: Activation) -> Array:  # [..., d_mlp] -> the same
    """Apply the nonlinearity of the neurons."""
    match activation:
        case "relu":
            return np.maximum(x, 0)
        case "gelu_new":
            gate: Array = np.tanh(sqrt(2 / pi) * (x + 0.044715 * (x * x * x)))
            return 0.5 * x * (1 + gate)
        case "gelu":
            # numpy has no erf; each value is taken in double precision and rounded back.
            gate = np.frompyfunc(erf, 1, 1)(x / sqrt(2)).astype(x.dtype)
            return 0.5 * x * (1 + gate)
        case _:
            assert_never(activation)


def finite(name: str, x: Array) -> Array:
    """Return x, or refuse it where a number left the floating-point format.

    Raises:
        HandcraftError: `not-finite`.
    """
    if not np.isfinite(x).all():
        raise HandcraftError(
            "not-finite",
            f"`{name}` leaves the range of {x.dtype.name}",
            help="use a format with a larger range, or smaller weights",
        )
    return x


def embed(weights: Weights, ids: Ids, first: int = 0) -> Array:  # [..., n_seq] -> [..., d_model]
    """Add the embeddings of the tokens and of their positions, counted from `first`."""
    last = first + ids.shape[-1]
    return finite("embedding", weights["wte.weight"][ids] + weights["wpe.weight"][first:last])


def normed(weights: Weights, name: str, x: Array) -> Array:  # [..., d_model] -> the same
    """Return the residual stream as a sublayer reads it: normalised if norms come before it."""
    if not weights.config.layer_norm or weights.config.norm_place == "after":
        return x
    return layer_norm(x, weights.linear(name), weights.config.layer_norm_epsilon)


def added(weights: Weights, name: str, x: Array, out: Array) -> Array:  # [..., d_model], the same
    """Return the stream with what a sublayer adds: normalised if norms come after it."""
    if not weights.config.layer_norm or weights.config.norm_place == "before":
        return x + out
    return layer_norm(x + out, weights.linear(name), weights.config.layer_norm_epsilon)


def projected(  # [..., n_seq, n_in] -> [parts, ..., n_head, n_seq, d_head]
    weights: Weights, name: str, x: Array, parts: int, n_head: int
) -> Array:
    """Project a stream for all heads, to as many arrays as stand side by side in the matrix."""
    packed = finite(f"q, k, v of {_layer(name)}", linear(x, weights.linear(name)))
    d_head = packed.shape[-1] // (parts * n_head)
    split = packed.reshape(*packed.shape[:-1], parts, n_head, d_head)
    return np.moveaxis(split, -3, 0).swapaxes(-3, -2)


def attend(  # q: [..., n_head, n_query, d_head]
    weights: Weights, name: str, x: Array, q: Array, read: KeysValues, mask: Mask
) -> AttentionTrace:
    """Score the keys, mix the values, and project the heads back into the stream.

    The division by sqrt(d_head) comes once, after the sum over d_head: where products are exact,
    equal scores are then equal bit for bit. `mask` `[..., n_query, n_key]` is true where a key is
    seen; a query that sees none mixes nothing.
    """
    products: Array = q @ np.swapaxes(read.k, -1, -2)
    scores = finite(f"scores of {_layer(name)}", products) / sqrt(q.shape[-1])
    scores = np.where(mask[..., None, :, :], scores, scores.dtype.type(-np.inf))
    pattern = softmax(scores)
    mixed: Array = pattern @ read.v
    by_position = np.moveaxis(mixed, -3, -2)
    side_by_side = by_position.reshape(*x.shape[:-1], mixed.shape[-3] * mixed.shape[-1])
    out = linear(side_by_side, weights.linear(f"{name}.c_proj"))
    return AttentionTrace(x, q, read.k, read.v, scores, pattern, mixed, out)


def attend_within(
    weights: Weights, number: int, x: Array, mask: Mask, earlier: KeysValues | None
) -> AttentionTrace:
    """Let the heads of a layer read their own sequence, and what was kept of earlier positions."""
    name = f"h.{number}.attn"
    q, k, v = projected(weights, f"{name}.c_attn", x, 3, weights.config.layers[number].n_head)
    if earlier is not None:
        k = np.concatenate([earlier.k, k], axis=-2)
        v = np.concatenate([earlier.v, v], axis=-2)
    return attend(weights, name, x, q, KeysValues(k, v), mask)


def attend_across(weights: Weights, number: int, x: Array, source: Source) -> AttentionTrace:
    """Let the cross heads of a layer read the source: queries from here, the rest from there."""
    name = f"h.{number}.crossattention"
    (q,) = projected(weights, f"{name}.q_attn", x, 1, weights.config.layers[number].n_cross)
    return attend(weights, name, x, q, source.read[number], source.mask)


def feed_forward(weights: Weights, number: int, x: Array) -> MlpTrace:
    """Apply the neurons of a layer at each position."""
    pre = finite(f"neurons of layer {number}", linear(x, weights.linear(f"h.{number}.mlp.c_fc")))
    post = activate(pre, weights.config.activation)
    return MlpTrace(x, pre, post, linear(post, weights.linear(f"h.{number}.mlp.c_proj")))


def block(
    weights: Weights,
    number: int,
    x: Array,
    mask: Mask,
    earlier: KeysValues | None = None,
    source: Source | None = None,
) -> LayerTrace:
    """Let the heads, the cross heads and the neurons of a layer add what they have to the stream.

    Args:
        weights: the model.
        number: which layer.
        x: the stream, `[..., n_seq, d_model]`.
        mask: which keys the heads see, `[..., n_seq, n_key]`.
        earlier: keys and values of positions before x, which are in the mask too.
        source: what the cross heads read.
    """
    layer = weights.config.layers[number]
    h = f"h.{number}"
    pre = x
    attention = cross = mlp = None
    if layer.n_head:
        attention = attend_within(weights, number, normed(weights, f"{h}.ln_1", x), mask, earlier)
        x = added(weights, f"{h}.ln_1", x, attention.attn_out)
        finite(f"stream in layer {number}", x)
    mid = x
    if layer.n_cross and source is not None:
        cross = attend_across(weights, number, normed(weights, f"{h}.ln_cross_attn", x), source)
        x = added(weights, f"{h}.ln_cross_attn", x, cross.attn_out)
        finite(f"stream in layer {number}", x)
    mid_cross = x
    if layer.d_mlp:
        mlp = feed_forward(weights, number, normed(weights, f"{h}.ln_2", x))
        x = added(weights, f"{h}.ln_2", x, mlp.mlp_out)
        finite(f"stream after layer {number}", x)
    return LayerTrace(pre, attention, mid, cross, mid_cross, mlp, x)


def unembed(weights: Weights, x: Array) -> tuple[Array, Array]:
    """Return what the unembedding reads `[..., d_model]` and the logits `[..., n_out]`."""
    final = normed(weights, "ln_f", x)
    logits: Array = final @ weights.unembedding().T
    return final, finite("logits", logits)


def visible(config: Config, n_seq: int, lengths: Ids | None = None) -> Mask:
    """Return which keys a query sees, `[..., n_seq, n_seq]`.

    Causal positions see themselves and those before them, which never are padding on the right.
    """
    if config.attention == "causal":
        return np.tri(n_seq, dtype=np.bool_)
    if lengths is None:
        return np.ones((n_seq, n_seq), dtype=np.bool_)
    is_token = np.arange(n_seq) < lengths[..., None]
    return np.repeat(is_token[..., None, :], n_seq, axis=-2)


def forward(
    weights: Weights, ids: Ids, lengths: Ids | None = None, source: Source | None = None
) -> Trace:
    """Run the transformer on sequences of token ids.

    Args:
        weights: the model.
        ids: `[..., n_seq]`, at least one position and at most `n_ctx`.
        lengths: `[...]`, how many ids of each sequence count; the others are padding on the
            right, and what the trace says there means nothing.
        source: what the encoder has read, with the same batch axes; only for a model that has one.

    Raises:
        InputError: `too-long`, `unknown-id`.
        HandcraftError: `not-finite`.
    """
    assert (source is None) == (weights.encoder is None), "an encoder reads the source"
    check_ids(weights.config, ids, lengths)
    mask = visible(weights.config, ids.shape[-1], lengths)
    layers = []
    with np.errstate(over="ignore", invalid="ignore"):
        x = embedding = embed(weights, ids)
        for number in range(weights.config.n_layer):
            layers.append(block(weights, number, x, mask, source=source))
            x = layers[-1].resid_post
        final, logits = unembed(weights, x)
    encoder = None if source is None else source.trace
    return Trace(embedding, tuple(layers), final, logits, encoder)


def check_ids(config: Config, ids: Ids, lengths: Ids | None = None, first: int = 0) -> None:
    """Raise where ids, from position `first` on, do not fit the model."""
    n_seq = ids.shape[-1] + first
    if n_seq > config.n_ctx:
        raise InputError("too-long", f"{n_seq} ids are more than the {config.n_ctx} positions")
    if ids.shape[-1] == 0 or (lengths is not None and (lengths < 1).any()):
        raise InputError("empty-text", "a sequence needs at least one id")
    check_known(config, ids)


def check_known(config: Config, ids: Ids) -> None:
    """Raise where ids have no row in `wte.weight`."""
    if ids.size and (ids.min() < 0 or ids.max() >= config.n_vocab):
        raise InputError("unknown-id", f"ids are from 0 to {config.n_vocab - 1}")


def _layer(name: str) -> str:
    """Return `layer 3` of `h.3.attn`, and for cross heads which heads these are."""
    _, number, part, *_ = name.split(".")
    return f"layer {number}" if part == "attn" else f"the cross heads of layer {number}"
