"""A program and its placed graph -> the same model as a stock GPT-2, proved in that form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from handcraft.compiler.assemble import assemble
from handcraft.compiler.certificate.activations import Smooth
from handcraft.compiler.certificate.certify import bounds, certify, refusal
from handcraft.compiler.certificate.norms import Pinned, Stock
from handcraft.compiler.certificate.readouts import logit_bounds
from handcraft.compiler.certificate.scales import Scaling
from handcraft.compiler.stock.shape import MlpWidth, shape_of, widened
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
    shape = shape_of(compiled.placed, has_pair=layer_norm == "pair", mlp_width=mlp_width)
    best = _best(compiled, shape, layer_norm, activation)
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
    certificate: Certificate
    verdict: Verdict


def _best(compiled: Compiled, shape: Shape, layer_norm: LayerNorm, activation: Activation) -> _Form:
    """Return a form that is good enough, or else the one whose errors use up least."""
    placed = widened(compiled.placed, shape)
    bends = activation != "relu" and any(layer.mlps for layer in placed.layers)
    pair = 0.0
    if layer_norm == "pair":
        sharp = Smooth(SHARP) if bends else None
        sized = (
            _form(compiled, placed, shape, Pinned(USUAL_EPSILON, k, shape.d_model), sharp)
            for k in PAIRS
        )
        pair = _first(sized).stock.pinned.pair
    epsilon = USUAL_EPSILON if pair else EPSILON
    pinned = Pinned(epsilon, pair, shape.d_model)
    smooth = [Smooth(sharpness) for sharpness in SHARPNESS] if bends else [None]
    form = _first(_form(compiled, placed, shape, pinned, each) for each in smooth)
    return replace(form, config=replace(form.config, activation=activation))


def _form(
    compiled: Compiled, placed: Placed, shape: Shape, pinned: Pinned, smooth: Smooth | None
) -> _Form:
    """Return one form, with what is proved of it."""
    dtype = compiled.model.parameters.dtype.name
    config = replace(
        compiled.model.config,
        d_model=shape.d_model,
        layers=placed.sizes,
        layer_norm=True,
        layer_norm_epsilon=pinned.epsilon,
    )
    scaling, way = Scaling(alone=dtype), Stock(pinned, smooth)
    certificate = certify(placed, config, scaling, way)
    verdict = certificate.verdict(dtype)
    assert verdict is not None, "every format has a verdict"
    return _Form(placed, shape, config, scaling, way, certificate, verdict)


def _first(forms: Iterator[_Form]) -> _Form:
    """Return the first that is good enough, or else the one whose errors use up least."""
    best = next(forms)
    while not best.verdict.proved or best.verdict.spent > ENOUGH:
        other = next(forms, None)
        if other is None:
            break
        best = min(best, other, key=lambda form: (not form.verdict.proved, form.verdict.spent))
    return best


def _made(compiled: Compiled, form: _Form) -> StockModel:
    header, model = compiled.program.typed.header, compiled.model
    dtype = model.parameters.dtype.name
    found = bounds(form.placed, form.config, form.scaling, form.stock)
    low = _below(logit_bounds(form.placed.graph, found.stream), float(form.placed.graph.margin))
    never = {} if model.description.kind == "output" else _never(model)
    smooth = form.stock.smooth
    arrays = stock_arrays(
        assemble(form.placed, header, dtype, form.scaling).arrays,
        form.config,
        form.shape,
        form.stock.pinned,
        1 if smooth is None else smooth.sharpness,
        never,
        low,
    )
    weights = Weights(form.config, {name: array.astype(dtype) for name, array in arrays.items()})
    description = replace(
        model.description,
        residual=(*model.description.residual, *_own(form.shape, form.config)),
        certificate=form.certificate,
        formats=tuple(f for f in model.description.formats if f in form.certificate.proved),
    )
    return StockModel(Model(weights, model.vocabulary, description), form.shape, low)


def _never(model: Model) -> dict[int, int]:
    """Return the tokens that are never produced, each with the position where it stands."""
    never = {} if model.config.start_id is None else {model.config.start_id: 0}
    if model.vocabulary.bos is not None:
        never[model.vocabulary.id(model.vocabulary.bos)] = int(model.config.start)
    return never


def _below(bounds_: tuple[float, float], margin: float) -> int:
    """Return a power of two that is more than the distance of all logits, and the margin."""
    least, most = bounds_
    return 1 << int(np.ceil(np.log2(2 * (abs(least) + abs(most) + margin) + 1)))


def _own(shape: Shape, config: Config) -> Iterator[ResidualVariable]:
    """Yield the directions that only the stock form has."""
    layers = (-1, config.n_layer)
    told = [
        (
            "reference",
            shape.reference,
            "0: what a norm makes of it is the mean that readers cancel",
        ),
        ("balance", shape.balance, "what makes each row add up to 0"),
        ("one", shape.one, "1: pushes down the logits of what is never produced"),
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
