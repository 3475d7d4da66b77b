"""The transformer in a narrow format, every product and sum rounded, sums in a random order."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.runtime.weights import Weights

Floats: TypeAlias = NDArray[np.float64]

TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


class Narrow:
    """One model in one format.

    Args:
        weights: rounded to the format here.
        name: of the format.
        seed: of the order of sums.
    """

    def __init__(self, weights: Weights, name: str, seed: int) -> None:
        self.weights = weights
        self.type = TYPES[name]
        self.order = np.random.default_rng(seed)

    def final(self, ids: Sequence[int]) -> Floats:  # [n_seq] -> [n_seq, d_model]
        """Return the stream at the end; what leaves the format is infinite or no number."""
        config = self.weights.config
        n = len(ids)
        seen = np.tri(n, dtype=bool) if config.attention == "causal" else np.ones((n, n), bool)
        with np.errstate(all="ignore"):
            x = self._round(self._array("wte.weight")[list(ids)] + self._array("wpe.weight")[:n])
            for number, layer in enumerate(config.layers):
                if layer.n_head:
                    name = f"h.{number}.attn"
                    packed = self._linear(x, f"{name}.c_attn")
                    q, k, v = packed.reshape(n, 3, layer.n_head, layer.d_head).swapaxes(0, 1)
                    heads = [
                        self._mixed(q[:, h], k[:, h], v[:, h], seen) for h in range(layer.n_head)
                    ]
                    out = self._linear(np.concatenate(heads, axis=1), f"{name}.c_proj")
                    x = self._round(x + out)
                if layer.d_mlp:
                    post = np.maximum(self._linear(x, f"h.{number}.mlp.c_fc"), 0)
                    x = self._round(x + self._linear(post, f"h.{number}.mlp.c_proj"))
        return x

    def _mixed(self, q: Floats, k: Floats, v: Floats, seen: NDArray[np.bool_]) -> Floats:
        scores = self._round(self._product(q, k.T) / self._round(np.array(sqrt(q.shape[1]))))
        scores = np.where(seen, scores, -np.inf)
        shifted = self._round(scores - scores.max(axis=1, keepdims=True))
        shares = self._round(np.exp(shifted))
        total = self._product(shares, np.ones((shares.shape[1], 1)))
        return self._product(self._round(shares / total), v)

    def _linear(self, x: Floats, name: str) -> Floats:
        product = self._product(x, self._array(f"{name}.weight"))
        return self._round(product + self._array(f"{name}.bias"))

    def _product(self, a: Floats, b: Floats) -> Floats:
        total = np.zeros((a.shape[0], b.shape[1]))
        for i in self.order.permutation(a.shape[1]):
            total = self._round(total + self._round(a[:, i : i + 1] * b[i]))
        return total

    def _array(self, name: str) -> Floats:
        return self._round(self.weights[name].astype(np.float64))

    def _round(self, x: Floats) -> Floats:
        near: Floats = x.astype(self.type).astype(np.float64)
        return near
