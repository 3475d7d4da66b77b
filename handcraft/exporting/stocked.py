"""Whatever stands for a model -> that model as a stock GPT-2."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.recompile import compiled_again, recompile, with_weights_of
from handcraft.compiler.stock.shape import USUAL
from handcraft.compiler.stock.stock import StockModel, stock
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

    What a file holds of either is made once more from its program: so what is proved is proved.

    Raises:
        HandcraftError: `not-stock`; those of `recompile` and `stock`.
    """
    if isinstance(known, StockModel):
        return known
    if is_stock(known):
        return _again(known)
    return stock(
        recompile(known),
        layer_norm=layer_norm,
        activation=activation,
        allow_unproved=allow_unproved,
    )


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


def _again(model: Model) -> StockModel:
    """Make a stock model once more, in its own form, and hold it against the model."""
    config = model.config
    made = stock(
        compiled_again(model),
        layer_norm="pair" if "plus (stock)" in _places(model) else "epsilon",
        activation=config.activation,
        mlp_width="usual" if config.d_mlp == USUAL * config.d_model else "needed",
        allow_unproved=True,
    )
    return replace(made, model=with_weights_of(model, made.model))


def _places(model: Model) -> set[str]:
    return {variable.name for variable in model.description.residual}
