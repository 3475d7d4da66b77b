"""Assembled weights of equal layers -> the weights of a stock GPT-2.

What is added are the directions behind the program's own (`Shape`), the gains of the norms, and
the sharpness of the neurons. Sums of weights are rounded once.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.compiler.certificate.norms import Pinned
    from handcraft.compiler.stock.shape import Shape
    from handcraft.runtime.config import Config
    from handcraft.runtime.weights import Array


def stock_arrays(
    arrays: Mapping[str, Array],
    config: Config,
    shape: Shape,
    pinned: Pinned,
    sharpness: int,
    never: Mapping[int, int],
    low: int,
) -> dict[str, Array]:
    """Return the arrays of a stock GPT-2.

    Args:
        arrays: of the program, in layers of equal sizes: `d_model` is the program's own.
        config: of the stock model.
        shape: where its own directions stand.
        pinned: how its norms are made to do nothing.
        sharpness: what pre-activations are multiplied by, a power of two.
        never: tokens that are never produced, with the one position where each stands.
        low: how far their logits are pushed down, a power of two.
    """
    made = {name: _widened(name, array, config.d_model) for name, array in arrays.items()}
    _embed(made, shape, pinned, never, low)
    for number in range(config.n_layer):
        h = f"h.{number}"
        _read(made, f"{h}.attn.c_attn", shape)
        _read(made, f"{h}.mlp.c_fc", shape)
        for name in (f"{h}.attn.c_proj", f"{h}.mlp.c_proj"):
            _balance(made[f"{name}.weight"], shape.balance)
            _balance(made[f"{name}.bias"], shape.balance)
        made[f"{h}.mlp.c_fc.weight"] *= sharpness
        made[f"{h}.mlp.c_fc.bias"] *= sharpness
        made[f"{h}.mlp.c_proj.weight"] /= sharpness
        made |= _norm(f"{h}.ln_1", config, pinned) | _norm(f"{h}.ln_2", config, pinned)
    if "lm_head.weight" in made:
        head = made["lm_head.weight"]
        head[:, shape.reference] = -_sums(head)
    return made | _norm("ln_f", config, pinned)


def _widened(name: str, array: Array, d_model: int) -> Array:
    """Return an array with zeros for the directions behind the program's own."""
    if name.endswith(("c_attn.weight", "c_fc.weight")):
        more = ((0, d_model - array.shape[0]), (0, 0))
    elif name.endswith(("c_attn.bias", "c_fc.bias")):
        return array.copy()
    elif array.ndim == 1:
        return np.pad(array, (0, d_model - array.shape[0]))
    else:
        more = ((0, 0), (0, d_model - array.shape[1]))
    wide: Array = np.pad(array, more)
    return wide


def _embed(
    made: Mapping[str, Array], shape: Shape, pinned: Pinned, never: Mapping[int, int], low: int
) -> None:
    """Write the constants, push down what is never produced, and balance all rows.

    The unembedding is tied to the rows of tokens, so these have nothing but what tells them apart:
    the positions add the constants, and what balances a token's row if all rows have the same sum.
    """
    wte, wpe = made["wte.weight"], made["wpe.weight"]
    sums = _sums(wte)
    said = np.delete(sums, list(never))
    wpe[:, shape.one] = pinned.one
    added = np.full(len(wpe), (said.max() + said.min()) / 2)
    for token, place in never.items():
        wte[token, shape.one] = -low / pinned.one
        wpe[place, shape.one] += low / pinned.one
        added[place] = sums[token] - low / pinned.one
    if shape.pair is not None:
        wpe[:, shape.pair[0]], wpe[:, shape.pair[1]] = pinned.pair, -pinned.pair
    wpe[:, shape.balance] = -(_sums(wpe) + added)


def _read(made: Mapping[str, Array], name: str, shape: Shape) -> None:
    """Let readers cancel the mean: the sum of their coefficients times the reference direction."""
    weight = made[f"{name}.weight"]
    weight[shape.reference] = -_sums(weight.T)


def _balance(array: Array, column: int) -> None:
    array[..., column] = -_sums(array)


def _norm(name: str, config: Config, pinned: Pinned) -> dict[str, Array]:
    dtype = "float64"
    gain: Array = np.full(config.d_model, pinned.gain, dtype=dtype)
    return {f"{name}.weight": gain, f"{name}.bias": np.zeros(config.d_model, dtype=dtype)}


def _sums(array: Array) -> Array:
    """Return the sums over the last axis, each rounded once to float64."""
    flat = array.reshape(-1, array.shape[-1]).astype(np.float64)
    total: Array = np.array([fsum(row) for row in flat.tolist()])
    return total.reshape(array.shape[:-1])
