"""How large a stock GPT-2 must be to hold a placed graph, and where its own directions stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from handcraft.compiler.place import PlacedLayer
from handcraft.runtime.config import LayerConfig

if TYPE_CHECKING:
    from handcraft.compiler.place import Placed

NARROW = 16
"""Heads are as wide as a power of this. Some attention kernels scale queries and keys by the fourth
root of the width before their product, and others divide by its square root after it: of a power
of 16 both are powers of two, which round nothing."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a stock model, and the directions behind those of the program.

    Attributes:
        n_head: heads of each layer.
        d_head: their width.
        d_mlp: neurons of each layer.
        n_layer: layers.
        reference: the direction that nothing writes, by which readers cancel the mean of a row.
        balance: the direction that makes rows add up to 0.
        one: the direction that holds 1 everywhere, by which logits are pushed down.
        pair: the two directions that hold large constants, if the norms need them.
    """

    n_head: int
    d_head: int
    d_mlp: int
    n_layer: int
    reference: int
    balance: int
    one: int
    pair: tuple[int, int] | None

    @property
    def d_model(self) -> int:
        """Width of the residual stream: `n_head * d_head`, as GPT-2 has it."""
        return self.n_head * self.d_head


def shape_of(placed: Placed, *, has_pair: bool) -> Shape:
    """Return the smallest stock shape that holds a placed graph."""
    own = placed.d_model
    directions = own + (5 if has_pair else 3)
    widest = max((size.d_head for size in placed.sizes), default=1)
    d_head = NARROW
    while d_head < widest:
        d_head *= NARROW
    most = max((size.n_head for size in placed.sizes), default=1)
    return Shape(
        n_head=max(1, most, -(-directions // d_head)),
        d_head=d_head,
        d_mlp=max(1, *(size.d_mlp for size in placed.sizes)) if placed.sizes else 1,
        n_layer=max(1, len(placed.sizes)),
        reference=own,
        balance=own + 1,
        one=own + 2,
        pair=(own + 3, own + 4) if has_pair else None,
    )


def widened(placed: Placed, shape: Shape) -> Placed:
    """Return a placed graph whose layers all have the sizes of a shape."""
    size = LayerConfig(shape.n_head, shape.d_head, shape.d_mlp)
    more = shape.n_layer - len(placed.layers)
    layers = (*placed.layers, *[PlacedLayer((), ())] * more)
    return replace(placed, layers=layers, sizes=(size,) * shape.n_layer)
