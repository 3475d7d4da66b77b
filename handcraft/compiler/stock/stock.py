"""A program and its placed graph -> the same model as a stock GPT-2, proved in that form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from handcraft.compiler.answers import MARGIN
from handcraft.compiler.assemble import assemble
from handcraft.compiler.certificate.activations import Smooth
from handcraft.compiler.certificate.certify import bounds, certify, refusal
from handcraft.compiler.certificate.formats import FORMATS
from handcraft.compiler.certificate.norms import Pinned, Stock
from handcraft.compiler.certificate.readouts import logit_bounds
from handcraft.compiler.certificate.scales import Scaling
from handcraft.compiler.describe import describe
from handcraft.compiler.graph import TokenReadout
from handcraft.compiler.stock.shape import MlpWidth, shape_of, widened
from handcraft.compiler.stock.tying import tied
from handcraft.compiler.stock.weights import stock_arrays
from handcraft.errors import HandcraftError, ProgramError
from handcraft.runtime.config import Activation
from handcraft.runtime.description import ResidualVariable
from handcraft.runtime.model import Model
from handcraft.runtime.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.pipeline import Compiled
    from handcraft.compiler.place import Placed
    from handcraft.compiler.stock.shape import Shape
    from handcraft.runtime.certificate import Certificate, Verdict
    from handcraft.runtime.config import Config

LayerNorm: TypeAlias = Literal["epsilon", "pair"]

EPSILON = 2.0**40
"""A variance beside this is lost, so that the norm divides by 2**20, and its gain multiplies."""

USUAL_EPSILON = 1e-5
"""GPT-2's own."""

SHARPNESS = (2**3, 2**6, 2**9, 2**12, 2**16, 2**20, 2**24)
"""How much neurons are sharpened, the first first."""

SHARP = 2**16
"""Sharp enough for anything but the least numbers: so the pair is looked for."""

PAIRS = tuple(2.0**k for k in (12, 13, 14, 15, 16, 11, 10, 17, 18, 19, 20, 9, 8))
"""Sizes of the pair, the first first: 4096 is about best where numbers are small and whole."""

HALVINGS = (1, 2)
"""How often scores are halved where a form is not proved, the first first.

Rounding then moves the shares of winners by half as much, and losers have a share of less than one
in 10**10 for each key.
"""

HARDLY = 0.9
"""What is left of the errors where sharper neurons are hardly better."""

ENOUGH = 0.25
"""Errors that use up no more than this part of the margin are good enough to look no further."""


@dataclass(frozen=True, slots=True)
class StockModel:
    """A model in the shape of a stock GPT-2.

    Attributes:
        model: the model, with a certificate of its own.
        shape: its sizes, and its own directions.
        low: how far logits have to be pushed down so that they never are the largest.
    """

    model: Model
    shape: Shape
    low: int


def stock(
    compiled: Compiled,
    *,
    layer_norm: LayerNorm = "epsilon",
    activation: Activation = "gelu_new",
    mlp_width: MlpWidth = "needed",
    allow_unproved: bool = False,
) -> StockModel:
    """Return the model of a compiled program as a stock GPT-2 holds it.

    Pre-LayerNorm, biases, learned positions, equal layers, `n_head * d_head == d_model`; the token
    that starts a text, if the program needs one, is a token like others that is never produced.

    Args:
        compiled: the program with its placed graph and its model.
        layer_norm: `epsilon` drowns the variance in a large epsilon; `pair` pins it by two large
            constants, for software whose epsilon is 1e-5.
        activation: of the neurons.
        mlp_width: `needed` makes layers as wide as one of them has to be; `usual` four times as
            wide as the stream, for software that knows no other width.
        allow_unproved: return also what cannot be proved in the format of the weights.

    Raises:
        HandcraftError: `not-stock` for a model that no GPT-2 is; `bad-option`.
        ProgramError: `format` where the form cannot be proved in the format of the weights.
    """
    _check(compiled.model.config, layer_norm, activation, mlp_width)
    ways = (layer_norm, activation, mlp_width)
    placed = _tied(compiled) or compiled.placed
    tries = [(placed, 0), (compiled.placed, 0)] if placed is not compiled.placed else [(placed, 0)]
    tries += [(compiled.placed, halvings) for halvings in HALVINGS]
    forms = (_best(own, halvings, compiled.model, *ways) for own, halvings in tries)
    best = next(forms)
    while not best.verdict.proved and (other := next(forms, None)):
        best = min(best, other, key=_merit)
    if not (best.verdict.proved or allow_unproved):
        raise _refused(best, compiled.model.parameters.dtype.name, layer_norm)
    return _made(compiled, best)


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """One way to make a placed graph a stock GPT-2, and what can be proved of it."""

    placed: Placed
    shape: Shape
    config: Config
    scaling: Scaling
    stock: Stock
    low: int
    certificate: Certificate
    verdict: Verdict


def _tied(compiled: Compiled) -> Placed | None:
    """Return the graph of a `logits` program with a tied unembedding, where that can be."""
    model, span = compiled.model, compiled.program.typed.result.span
    return tied(compiled.placed, model.config, model.vocabulary, span)


def _best(
    own: Placed,
    halvings: int,
    model: Model,
    layer_norm: LayerNorm,
    activation: Activation,
    mlp_width: MlpWidth,
) -> _Form:
    """Return a form that is good enough, or else the one whose errors use up least.

    Scores are halved so often, from the scale at which losers have no share at all.
    """
    is_pair = layer_norm == "pair"
    shape = shape_of(own, has_pair=is_pair, mlp_width=mlp_width)
    placed = widened(own, shape)
    is_tied = isinstance(own.graph.readout, TokenReadout)
    low = _below(placed, model.config)
    one = _one(low, model.parameters.dtype.name) if is_tied else 1.0
    config = replace(
        model.config,
        d_model=shape.d_model,
        layers=placed.sizes,
        activation=activation,
        layer_norm=True,
        tied=is_tied,
        n_out=model.config.n_vocab if is_tied else model.config.n_out,
    )
    scaling = Scaling(halvings, alone=model.parameters.dtype.name)
    plain = Pinned(EPSILON, 0.0, shape.d_model, one)
    bends = activation != "relu" and any(layer.mlps for layer in placed.layers)

    def form(pinned: Pinned, smooth: Smooth | None) -> _Form:
        whole = replace(config, layer_norm_epsilon=pinned.epsilon)
        way = Stock(pinned, smooth)
        certificate = certify(placed, whole, scaling, way)
        verdict = certificate.verdict(model.parameters.dtype.name)
        assert verdict is not None, "every format has a verdict"
        return _Form(placed, shape, whole, scaling, way, low, certificate, verdict)

    pinned = plain
    if is_pair:
        sharp = Smooth(SHARP) if bends else None
        pairs = (replace(plain, epsilon=USUAL_EPSILON, pair=size) for size in PAIRS)
        pinned = _good_enough(form(pair, sharp) for pair in pairs).stock.pinned
    if not bends:
        return form(pinned, None)
    return _settled(form(pinned, Smooth(sharpness)) for sharpness in SHARPNESS)


def _good_enough(forms: Iterator[_Form]) -> _Form:
    """Return the first whose errors use up little, or else the one where they use up least."""
    best = next(forms)
    while not best.verdict.proved or best.verdict.spent > ENOUGH:
        other = next(forms, None)
        if other is None:
            break
        best = min(best, other, key=_merit)
    return best


def _settled(forms: Iterator[_Form]) -> _Form:
    """Return the first that is proved and which the next one is hardly better than."""
    best = next(forms)
    for other in forms:
        if best.verdict.proved and other.verdict.spent > HARDLY * best.verdict.spent:
            break
        best = min(best, other, key=_merit)
    return best


def _merit(form: _Form) -> tuple[bool, float]:
    return not form.verdict.proved, form.verdict.spent


def _made(compiled: Compiled, form: _Form) -> StockModel:
    header, model = compiled.program.typed.header, compiled.model
    dtype = model.parameters.dtype.name
    never = _never(model) if form.config.tied else {}
    smooth = form.stock.smooth
    arrays = stock_arrays(
        assemble(form.placed, header, dtype, form.scaling).arrays,
        form.config,
        form.shape,
        form.stock.pinned,
        1 if smooth is None else smooth.sharpness,
        never,
        form.low,
    )
    weights = Weights(form.config, {name: array.astype(dtype) for name, array in arrays.items()})
    told = describe(form.placed, compiled.program)
    description = replace(
        model.description,
        residual=(*told.residual, *_own(form)),
        operations=told.operations,
        certificate=form.certificate,
        formats=tuple(f for f in model.description.formats if f in form.certificate.proved),
    )
    return StockModel(Model(weights, model.vocabulary, description), form.shape, form.low)


def _never(model: Model) -> dict[int, int]:
    """Return the tokens that are never produced, each with the position where it stands."""
    never = {} if model.config.start_id is None else {model.config.start_id: 0}
    if model.vocabulary.bos is not None:
        never[model.vocabulary.id(model.vocabulary.bos)] = int(model.config.start)
    return never


def _below(placed: Placed, config: Config) -> int:
    """Return a power of two that is more than the distance of all logits, and the margin.

    What is so far below has the probability 0.
    """
    least, most = logit_bounds(placed.graph, bounds(placed, config).stream)
    margin = max(float(placed.graph.margin), MARGIN)
    return 1 << int(np.ceil(np.log2(2 * (abs(least) + abs(most) + margin) + 1)))


def _one(low: int, dtype: str) -> float:
    """Return a constant, a power of two, by which a format can push logits down.

    `low / one + one` is a number of the format: so much the position adds, where the token that is
    pushed down takes `low / one` away.
    """
    digits = next(f.digits for f in FORMATS if f.name == dtype)
    return 2.0 ** max(0, (low.bit_length() - digits + 1) // 2)


def _own(form: _Form) -> Iterator[ResidualVariable]:
    """Yield the directions that only the stock form has."""
    shape, layers = form.shape, (-1, form.config.n_layer)
    told = [
        (
            "reference",
            shape.reference,
            "0: what a norm makes of it is the mean that readers cancel",
        ),
        ("balance", shape.balance, "what makes each row add up to 0"),
        (
            "one",
            shape.one,
            f"{form.stock.pinned.one:g}: pushes down the logits of what is never produced",
        ),
    ]
    if shape.pair is not None:
        told += [
            ("plus", shape.pair[0], "a large constant, which pins the variance"),
            ("minus", shape.pair[1], "the same, negative"),
        ]
    for name, place, meaning in told:
        yield ResidualVariable(f"{name} (stock)", place, ("value",), meaning, None, layers)


def _check(config: Config, layer_norm: object, activation: object, mlp_width: object) -> None:
    if layer_norm not in get_args(LayerNorm):
        raise HandcraftError("bad-option", f"a layer norm is epsilon or pair, not `{layer_norm}`")
    if activation not in get_args(Activation):
        names = ", ".join(get_args(Activation))
        raise HandcraftError("bad-option", f"an activation is {names}, not `{activation}`")
    if mlp_width not in get_args(MlpWidth):
        raise HandcraftError("bad-option", f"an MLP width is needed or usual, not `{mlp_width}`")
    what = None
    if config.encoder is not None:
        what = "it has an encoder"
    elif config.attention != "causal":
        what = "its attention is bidirectional"
    elif config.readout == "number":
        what = "it reads its values as one number, and GPT-2 has a logit for each"
    if what is not None:
        help_ = "export it to onnx, torch or safetensors, which hold every model"
        raise HandcraftError("not-stock", f"this model is no GPT-2: {what}", help=help_)


def _refused(form: _Form, dtype: str, layer_norm: LayerNorm) -> ProgramError:
    error = refusal(form.placed, form.config, dtype, form.scaling, form.stock)
    ways = ["a wider format", "a smaller context"]
    if layer_norm == "epsilon":
        ways.insert(0, "`pair` as layer norm")
    message = f"as a stock GPT-2 it is {error.message}"
    return ProgramError("format", message, error.span, help=f"use {', or '.join(ways)}")
