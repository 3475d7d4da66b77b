"""Whatever stands for a model -> that model as a stock GPT-2."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.recompile import recompile
from handcraft.compiler.stock.shape import Shape
from handcraft.compiler.stock.stock import StockModel, stock
from handcraft.errors import HandcraftError
from handcraft.runtime.model import Model

if TYPE_CHECKING:
    from handcraft.compiler.stock.stock import LayerNorm
    from handcraft.runtime.config import Activation

Known: TypeAlias = Model | StockModel
"""A model, stock or not."""


def stocked(
    known: Known,
    layer_norm: LayerNorm,
    activation: Activation,
    *,
    allow_unproved: bool = False,
) -> StockModel:
    """Return a stock model as it is, and any other model made one.

    Raises:
        HandcraftError: `not-stock`; those of `recompile` and `stock`.
    """
    if isinstance(known, StockModel):
        return known
    if not is_stock(known):
        return stock(
            recompile(known),
            layer_norm=layer_norm,
            activation=activation,
            allow_unproved=allow_unproved,
        )
    if not known.config.tied:
        raise HandcraftError(
            "not-stock",
            "the unembedding of this model has lost the tokens that are never produced",
            help="give the folder that it was read from, or the model that it was made from",
        )
    return StockModel(known, _shape(known), 0)


def is_stock(model: Model) -> bool:
    """Return whether a model has the shape that `stock` gives, layer norms and all."""
    config = model.config
    return (
        config.layer_norm
        and config.norm_place == "before"
        and config.attention == "causal"
        and config.encoder is None
        and len({*config.layers}) == 1
        and config.n_head * config.d_head == config.d_model
        and "reference (stock)" in _places(model)
    )


def _shape(model: Model) -> Shape:
    config, places = model.config, _places(model)
    plus, minus = places.get("plus (stock)"), places.get("minus (stock)")
    return Shape(
        n_head=config.n_head,
        d_head=config.d_head,
        d_mlp=config.d_mlp,
        n_layer=config.n_layer,
        reference=places["reference (stock)"],
        balance=places["balance (stock)"],
        one=places["one (stock)"],
        pair=None if plus is None or minus is None else (plus, minus),
    )


def _places(model: Model) -> dict[str, int]:
    return {v.name: v.first_direction for v in model.description.residual}
