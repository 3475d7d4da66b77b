"""A model whose matrices multiply by what is not zero in them alone: the same sums, sooner.

A term that is left out is a finite number times zero. What remains is added in another order, and
what is proved of a model holds for every order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from scipy.sparse import csr_array

from handcraft.runtime.model import Model
from handcraft.runtime.weights import Linear, Weights

if TYPE_CHECKING:
    from handcraft.runtime.weights import Array


class NonZero:
    """A matrix `[n_in, n_out]` that stands on the right of `@`.

    Attributes:
        transposed: its entries that are not zero, `[n_out, n_in]`.
    """

    __array_ufunc__ = None  # numpy then leaves the product to `__rmatmul__`

    def __init__(self, matrix: Array) -> None:
        self.transposed = csr_array(matrix.T)

    def __rmatmul__(self, x: Array) -> Array:  # [..., n_in] -> [..., n_out]
        rows = x.reshape(-1, x.shape[-1])
        product: Array = self.transposed @ rows.T.copy()
        return product.T.reshape(*x.shape[:-1], product.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class NonZeroWeights(Weights):
    """Weights whose linear layers hold what is not zero."""

    matrices: dict[str, NonZero] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        Weights.__post_init__(self)
        layers = {name: array for name, array in self.arrays.items() if name.startswith("h.")}
        found = {name: NonZero(array) for name, array in layers.items() if array.ndim == 2}
        object.__setattr__(self, "matrices", found)

    def linear(self, name: str) -> Linear:
        """Return `name.weight` without its zeros, and `name.bias`."""
        return Linear(cast("Array", self.matrices[f"{name}.weight"]), self[f"{name}.bias"])


def nonzero(model: Model) -> Model:
    """Return a model without layer norm that leaves out products with zero, and else is this."""
    assert not model.config.layer_norm
    weights = NonZeroWeights(model.config, model.weights)
    return Model(weights, model.vocabulary, model.description, model.source_vocabulary)
