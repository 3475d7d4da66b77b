"""A stock GPT-2 as other software computes it: its own moments, norms, orders of sums, softmax."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, assert_never

import numpy as np

from handcraft.runtime.transformer import activate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from handcraft.runtime.weights import Array, Weights

Moments: TypeAlias = Literal["two passes", "squares", "running"]
Norm: TypeAlias = Literal["divided", "multiplied", "shifted", "fused"]
Order: TypeAlias = Literal["forward", "backward", "random", "fused", "pairs"]


class Ways(NamedTuple):
    """How software computes.

    Attributes:
        moments: mean and variance: in two passes, from the mean of squares, or running (Welford).
        norm: what rows are made of: `(x - m) / root`, `(x - m) * (1 / root)`, or
            `x * r + (-m * r)`, without or with a fused multiply-add.
        order: of sums; `fused` adds products that are not rounded.
        before: whether queries and keys are scaled before their product.
        late: whether shares are divided by their sum after they have mixed the values.
    """

    moments: Moments
    norm: Norm
    order: Order
    before: bool
    late: bool


WAYS = (
    Ways("two passes", "divided", "forward", before=False, late=False),
    Ways("squares", "multiplied", "backward", before=True, late=True),
    Ways("running", "shifted", "random", before=False, late=True),
    Ways("squares", "fused", "fused", before=True, late=False),
    Ways("running", "multiplied", "pairs", before=True, late=False),
)


class Software:
    """One model in float32.

    Args:
        weights: of a stock GPT-2.
        ways: how everything is computed.
        seed: of random orders.
    """

    def __init__(self, weights: Weights, ways: Ways, seed: int = 0) -> None:
        self.weights, self.ways = weights, ways
        self.generator = np.random.default_rng(seed)

    def final(self, ids: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the stream at the end and the logits; ids are `[n_text, n]`."""
        w, config = self.weights, self.weights.config
        n_text, n = ids.shape
        x = w["wte.weight"][ids] + w["wpe.weight"][:n]
        x = x.reshape(n_text * n, -1)
        for number, layer in enumerate(config.layers):
            h = f"h.{number}"
            packed = self._linear(self._normed(x, f"{h}.ln_1"), f"{h}.attn.c_attn")
            split = packed.reshape(n_text, n, 3, layer.n_head, layer.d_head)
            q, k, v = split.transpose(2, 0, 3, 1, 4)
            mixed = self._attended(q, k, v).transpose(0, 2, 1, 3).reshape(n_text * n, -1)
            x = x + self._linear(mixed, f"{h}.attn.c_proj")
            pre = self._linear(self._normed(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")
            x = x + self._linear(activate(pre, config.activation), f"{h}.mlp.c_proj")
        logits = self._product(self._normed(x, "ln_f"), w.unembedding().T)
        return x.reshape(n_text, n, -1), logits.reshape(n_text, n, -1)

    def _attended(self, q: Array, k: Array, v: Array) -> Array:
        """Return what heads move, `[n_text, n_head, n, d_head]`."""
        n, d_head = q.shape[-2:]
        if self.ways.before:
            fourth = np.float32(sqrt(sqrt(d_head)))
            scores = self._product(q / fourth, (k / fourth).swapaxes(-1, -2))
        else:
            scores = self._product(q, k.swapaxes(-1, -2)) / np.float32(sqrt(d_head))
        scores = np.where(np.tri(n, dtype=np.bool_), scores, np.float32(-np.inf))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        total = self._product(shares, np.ones((n, 1), dtype=np.float32))
        if self.ways.late:
            return self._product(shares, v) / total
        return self._product(shares / total, v)

    def _normed(self, x: Array, name: str) -> Array:
        gain, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        mean, variance = self._moments(x)
        root = np.sqrt(variance + np.float32(self.weights.config.layer_norm_epsilon))
        match self.ways.norm:
            case "divided":
                rows: Array = (x - mean) / root * gain + bias
            case "multiplied":
                rows = (x - mean) * (np.float32(1) / root) * gain + bias
            case "shifted":
                inverse = np.float32(1) / root
                rows = (x * inverse + (-mean * inverse)) * gain + bias
            case "fused":
                inverse = np.float32(1) / root
                shift = (-mean * inverse).astype(np.float64)
                fused = (x.astype(np.float64) * inverse + shift).astype(np.float32)
                rows = fused * gain + bias
            case _:
                assert_never(self.ways.norm)
        assert rows.dtype == np.float32
        return rows

    def _moments(self, x: Array) -> tuple[Array, Array]:
        n = np.float32(x.shape[-1])
        if self.ways.moments == "running":
            return _running(x)
        mean = self._sum(x) / n
        if self.ways.moments == "squares":
            return mean, self._sum(x * x) / n - mean * mean
        return mean, self._sum((x - mean) ** 2) / n

    def _linear(self, x: Array, name: str) -> Array:
        return self._product(x, self.weights[f"{name}.weight"]) + self.weights[f"{name}.bias"]

    def _sum(self, x: Array) -> Array:  # [..., n] -> [..., 1]
        return self._product(x, np.ones((x.shape[-1], 1), dtype=np.float32))

    def _product(self, a: Array, b: Array) -> Array:  # [..., i, j], [..., j, k]
        size = a.shape[-1]
        places = np.arange(size)
        match self.ways.order:
            case "pairs":
                terms = a[..., :, :, None] * b[..., None, :, :]
                while terms.shape[-2] > 1:
                    rest = terms[..., terms.shape[-2] // 2 * 2 :, :]
                    terms = terms[..., 0:-1:2, :] + terms[..., 1::2, :]
                    terms = np.concatenate((terms, rest), axis=-2)
                return np.ascontiguousarray(terms[..., 0, :])
            case "backward":
                places = places[::-1]
            case "random":
                places = self.generator.permutation(size)
            case "forward" | "fused":
                pass
            case _:
                assert_never(self.ways.order)
        exact = np.float64 if self.ways.order == "fused" else np.float32
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        total: Array = np.zeros(shape, dtype=np.float32)
        for i in places:
            if b[..., i, :].any():
                held: Array = a[..., :, i, None].astype(exact)
                total = (total + held * b[..., None, i, :]).astype(np.float32)
        return total


def _running(x: Array) -> tuple[Array, Array]:
    """Return mean and variance after Welford, one number after the other."""
    mean, squares = np.zeros((2, *x.shape[:-1], 1), dtype=np.float32)
    for i in range(x.shape[-1]):
        step = x[..., i : i + 1] - mean
        mean = mean + step / np.float32(i + 1)
        squares = squares + step * (x[..., i : i + 1] - mean)
    return mean, squares / np.float32(x.shape[-1])
