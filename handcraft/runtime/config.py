"""The numbers of the architecture: how many layers, heads, neurons, positions and tokens.

numpy is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias, get_args

from handcraft.errors import HandcraftError

Attention: TypeAlias = Literal["causal", "bidirectional"]
Activation: TypeAlias = Literal["relu", "gelu_new", "gelu"]
Readout: TypeAlias = Literal["tokens", "values", "number"]
NormPlace: TypeAlias = Literal["before", "after"]

MOST_LAYERS = 10_000


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """The sizes of one layer; without heads or without neurons that sublayer is absent.

    Attributes:
        n_head: heads that read the layer's own sequence.
        d_head: their width.
        d_mlp: neurons.
        n_cross: heads that read the source, in a model that has one.
        d_cross: their width.
    """

    n_head: int
    d_head: int
    d_mlp: int
    n_cross: int = 0
    d_cross: int = 0


@dataclass(frozen=True, slots=True)
class Config:
    """The architecture of a model.

    Attributes:
        n_ctx: positions of the transformer, a hidden start token included.
        n_vocab: rows of `wte.weight`, a hidden start token included (the last one).
        d_model: width of the residual stream.
        n_out: logits at each position.
        layers: the sizes of each layer.
        attention: what a position sees: itself and those before it, or all.
        activation: between the two matrices of an MLP; `gelu_new` is GPT-2's, by tanh.
        layer_norm: normalise at each sublayer.
        layer_norm_epsilon: added to the variance.
        tied: the unembedding is `wte.weight`; otherwise it is `lm_head.weight`.
        start: every sequence begins with a token that only the compiler needs.
        readout: what the logits are about: tokens, listed values, or one number.
        norm_place: `before` normalises what a sublayer and the unembedding read, as GPT-2 does;
            `after` the sum of the stream and what a sublayer adds, as the first transformer did.
        encoder: the transformer that reads the source, in a model that has one; of it the stream
            is read, by the cross-attention, and its unembedding (`wte.weight`) by nothing.
    """

    n_ctx: int
    n_vocab: int
    d_model: int
    n_out: int
    layers: tuple[LayerConfig, ...]
    attention: Attention = "causal"
    activation: Activation = "relu"
    layer_norm: bool = False
    layer_norm_epsilon: float = 1e-5
    tied: bool = True
    start: bool = False
    readout: Readout = "tokens"
    norm_place: NormPlace = "before"
    encoder: Config | None = None

    def __post_init__(self) -> None:
        check_config(self)

    @property
    def context(self) -> int:
        """Tokens that a program sees: all positions but the hidden start token's."""
        return self.n_ctx - self.start

    @property
    def start_id(self) -> int | None:
        """The id of the hidden start token, if there is one."""
        return self.n_vocab - 1 if self.start else None

    @property
    def n_layer(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def n_head(self) -> int:
        """Heads of the layer that has most."""
        return max((layer.n_head for layer in self.layers), default=0)

    @property
    def d_head(self) -> int:
        """Width of the widest head."""
        return max((layer.d_head for layer in self.layers), default=0)

    @property
    def d_mlp(self) -> int:
        """Neurons of the layer that has most."""
        return max((layer.d_mlp for layer in self.layers), default=0)


def check_config(config: Config) -> None:
    """Raise `bad-config` with one sentence where the numbers do not make a transformer."""
    for name in ("n_ctx", "n_vocab", "d_model", "n_out"):
        _check_size(name, getattr(config, name), least=1)
    if config.n_layer > MOST_LAYERS:
        _refuse(f"{config.n_layer} layers are more than {MOST_LAYERS}")
    for number, layer in enumerate(config.layers):
        for name in ("n_head", "d_head", "d_mlp"):
            _check_size(f"{name} of layer {number}", getattr(layer, name), least=0)
        if (layer.n_head == 0) != (layer.d_head == 0):
            _refuse(f"layer {number} has {layer.n_head} heads of width {layer.d_head}")
        _check_cross(config, number, layer)
    for name, known in _CHOICES:
        if getattr(config, name) not in get_args(known):
            _refuse(f"{name} is one of {', '.join(get_args(known))}, not `{getattr(config, name)}`")
    if not (isfinite(config.layer_norm_epsilon) and config.layer_norm_epsilon >= 0):
        _refuse(f"layer_norm_epsilon is {config.layer_norm_epsilon}")
    if config.start and (config.n_ctx < 2 or config.n_vocab < 2):
        _refuse("a start token needs a position and a row of its own")
    if config.tied and config.n_out != config.n_vocab:
        _refuse(f"a tied unembedding has {config.n_vocab} logits, not {config.n_out}")
    if config.readout == "number" and config.n_out != 1:
        _refuse(f"a number is read from 1 logit, not {config.n_out}")
    if config.readout == "tokens" and config.n_out not in {
        config.n_vocab,
        config.n_vocab - config.start,
    }:
        _refuse(f"tokens are read from {config.n_vocab} logits, not {config.n_out}")
    if config.encoder is not None:
        _check_encoder(config.encoder)


_CHOICES = (
    ("attention", Attention),
    ("activation", Activation),
    ("readout", Readout),
    ("norm_place", NormPlace),
)


def _check_cross(config: Config, number: int, layer: LayerConfig) -> None:
    for name in ("n_cross", "d_cross"):
        _check_size(f"{name} of layer {number}", getattr(layer, name), least=0)
    if (layer.n_cross == 0) != (layer.d_cross == 0):
        _refuse(f"layer {number} has {layer.n_cross} cross heads of width {layer.d_cross}")
    if layer.n_cross and config.encoder is None:
        _refuse(f"layer {number} has cross heads, but the model has no encoder to read")


def _check_encoder(encoder: Config) -> None:
    if encoder.encoder is not None:
        _refuse("an encoder has no encoder of its own")
    if encoder.attention != "bidirectional":
        _refuse(f"an encoder reads in both directions, not `{encoder.attention}`")
    if not encoder.tied:
        _refuse("an encoder has no unembedding of its own")


def _check_size(name: str, size: object, *, least: int) -> None:
    if isinstance(size, bool) or not isinstance(size, int) or size < least:
        _refuse(f"{name} is a whole number from {least}, not `{size}`")


def _refuse(message: str) -> None:
    raise HandcraftError("bad-config", message)
