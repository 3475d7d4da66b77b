"""How large a stock GPT-2 must be to hold a placed graph, and where its own directions stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from handcraft.compiler.place import PlacedLayer
from handcraft.runtime.config import LayerConfig

if TYPE_CHECKING:
    from handcraft.compiler.place import Placed

NARROW = 16
"""Heads are as wide as a power of this. Some attention kernels scale queries and keys by the fourth
root of the width before their product, and others divide by its square root after it: of a power
of 16 both are powers of two, which round nothing."""

MlpWidth: TypeAlias = Literal["needed", "usual"]
"""Neurons of each layer: as many as one of them needs, or `USUAL` times the width of the stream."""

USUAL = 4
"""How much wider than the stream an MLP is in GPT-2, and in software that knows no other width."""


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


def shape_of(placed: Placed, *, has_pair: bool, mlp_width: MlpWidth = "needed") -> Shape:
    """Return the smallest stock shape that holds a placed graph."""
    own = placed.d_model
    directions = own + (5 if has_pair else 3)
    widest = max((size.d_head for size in placed.sizes), default=1)
    d_head = NARROW
    while d_head < widest:
        d_head *= NARROW
    n_head = max((-(-directions // d_head), *(size.n_head for size in placed.sizes)))
    d_mlp = max((1, *(size.d_mlp for size in placed.sizes)))
    if mlp_width == "usual":
        n_head = max(n_head, -(-d_mlp // (USUAL * d_head)))
        d_mlp = USUAL * n_head * d_head
    return Shape(
        n_head=n_head,
        d_head=d_head,
        d_mlp=d_mlp,
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
