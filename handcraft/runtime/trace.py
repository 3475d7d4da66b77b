"""What happened inside a forward pass: every activation, by field and by name.

Shapes leave out leading batch axes. Names carry the number of the layer, so that
`trace["pattern.0"]` is `trace.layers[0].attention.pattern`:

| name | shape | what it is |
| --- | --- | --- |
| `embedding` | `[n_seq, d_model]` | token plus position |
| `resid_pre.i` | `[n_seq, d_model]` | residual stream into layer i |
| `attn_in.i`, `mlp_in.i` | `[n_seq, d_model]` | what the sublayer reads, after its norm |
| `q.i`, `k.i`, `v.i` | `[n_head, n_seq, d_head]` | queries, keys, values |
| `scores.i` | `[n_head, n_seq, n_seq]` | query x key by sqrt(d_head), unseen keys -inf |
| `pattern.i` | `[n_head, n_seq, n_seq]` | softmax of the scores |
| `mixed.i` | `[n_head, n_seq, d_head]` | values mixed by the pattern |
| `attn_out.i`, `mlp_out.i` | `[n_seq, d_model]` | what the sublayer adds |
| `resid_mid.i` | `[n_seq, d_model]` | the stream between attention and the next sublayer |
| `mlp_pre.i`, `mlp_post.i` | `[n_seq, d_mlp]` | neurons before and after the activation |
| `resid_post.i` | `[n_seq, d_model]` | residual stream out of layer i |
| `final` | `[n_seq, d_model]` | what the unembedding reads |
| `logits` | `[n_seq, n_out]` | |

In an encoder-decoder the cross-attention has the names of the attention with `cross_` in front
(`cross_pattern.i` is `[n_cross, n_seq, n_source]`), `resid_mid_cross.i` is the stream between it
and the MLP, and all that happened in the encoder stands under the same names behind `encoder.`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from handcraft.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView, Mapping

    from handcraft.runtime.weights import Array


@dataclass(frozen=True, slots=True, eq=False)
class AttentionTrace:
    """The activations of the heads of one layer."""

    attn_in: Array
    q: Array
    k: Array
    v: Array
    scores: Array
    pattern: Array
    mixed: Array
    attn_out: Array


@dataclass(frozen=True, slots=True, eq=False)
class MlpTrace:
    """The activations of the neurons of one layer."""

    mlp_in: Array
    mlp_pre: Array
    mlp_post: Array
    mlp_out: Array


@dataclass(frozen=True, slots=True, eq=False)
class LayerTrace:
    """The activations of one layer; an absent sublayer has none."""

    resid_pre: Array
    attention: AttentionTrace | None
    resid_mid: Array
    cross: AttentionTrace | None
    resid_mid_cross: Array
    mlp: MlpTrace | None
    resid_post: Array


@dataclass(frozen=True, slots=True, eq=False)
class EncoderTrace:
    """The activations of an encoder; `final` is what the cross-attention reads."""

    embedding: Array
    layers: tuple[LayerTrace, ...]
    final: Array

    def named(self) -> Mapping[str, Array]:
        """Return all activations by name, in the order of the computation."""
        return {"embedding": self.embedding, **_layers(self.layers), "final": self.final}


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The activations of a forward pass; `encoder` is what happened to the source before it."""

    embedding: Array
    layers: tuple[LayerTrace, ...]
    final: Array
    logits: Array
    encoder: EncoderTrace | None = None

    def __getitem__(self, name: str) -> Array:
        named = self.named()
        if name not in named:
            close = get_close_matches(str(name), named, n=1)
            raise InputError(
                "unknown-activation",
                f"`{name}` is no activation of this model",
                help=f"write `{close[0]}`" if close else f"there are {', '.join(named)}",
            )
        return named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.named())

    def keys(self) -> KeysView[str]:
        """Return the names of all activations, so that `dict(trace)` has all of them."""
        return self.named().keys()

    def named(self) -> Mapping[str, Array]:
        """Return all activations by name, in the order of the computation."""
        named: dict[str, Array] = {}
        if self.encoder is not None:
            named |= {f"encoder.{name}": array for name, array in self.encoder.named().items()}
        named |= {"embedding": self.embedding, **_layers(self.layers)}
        return named | {"final": self.final, "logits": self.logits}


def _layers(layers: tuple[LayerTrace, ...]) -> dict[str, Array]:
    named: dict[str, Array] = {}
    for number, layer in enumerate(layers):
        named[f"resid_pre.{number}"] = layer.resid_pre
        if layer.attention is not None:
            named |= _fields(layer.attention, f"{number}")
        named[f"resid_mid.{number}"] = layer.resid_mid
        if layer.cross is not None:
            named |= _fields(layer.cross, f"{number}", "cross_")
            named[f"resid_mid_cross.{number}"] = layer.resid_mid_cross
        if layer.mlp is not None:
            named |= _fields(layer.mlp, f"{number}")
        named[f"resid_post.{number}"] = layer.resid_post
    return named


def _fields(record: AttentionTrace | MlpTrace, number: str, kind: str = "") -> dict[str, Array]:
    return {f"{kind}{name}.{number}": getattr(record, name) for name in record.__slots__}
