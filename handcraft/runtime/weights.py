"""The arrays of a model under their GPT-2 names, checked against one table of shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.config import Config

Array: TypeAlias = NDArray[np.floating[Any]]

FORMATS = ("float64", "float32", "float16")
"""The floating-point formats that weights may have."""

ENCODER = "encoder."
"""What stands in front of the names of an encoder's arrays."""


class Linear(NamedTuple):
    """A matrix `[n_in, n_out]` and a bias `[n_out]`; of a norm, both are `[d_model]`."""

    weight: Array
    bias: Array


class Count(NamedTuple):
    """Entries of an array, and how many of them are not zero."""

    total: int
    nonzero: int


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Read-only arrays of one floating-point format, with the config that fixes their shapes.

    Attributes:
        config: the sizes.
        arrays: the arrays under their names, those of an encoder included.
        encoder: the weights of the encoder, under the names of a model of its own; None in a
            model without source.

    Raises:
        HandcraftError: `bad-weights`: missing, additional, wrongly shaped or non-finite arrays.
    """

    config: Config
    arrays: Mapping[str, Array]
    encoder: Weights | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_arrays(shapes(self.config), self.arrays)
        frozen: dict[str, Array] = {}
        for name in sorted(self.arrays):
            array = self.arrays[name]
            frozen[name] = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
            frozen[name].setflags(write=False)
        object.__setattr__(self, "arrays", MappingProxyType(frozen))
        object.__setattr__(self, "encoder", _encoder(self.config, frozen))

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """The floating-point format of all arrays."""
        return self.arrays["wte.weight"].dtype

    @property
    def n_parameters(self) -> int:
        """Numbers in all arrays; a tied unembedding counts once."""
        return sum(count.total for count in self.counts().values())

    @property
    def n_nonzero(self) -> int:
        """Numbers that are not zero."""
        return sum(count.nonzero for count in self.counts().values())

    def counts(self) -> Mapping[str, Count]:
        """Return the entries of each array, all and non-zero."""
        return {
            name: Count(array.size, int(np.count_nonzero(array)))
            for name, array in self.arrays.items()
        }

    def equals(self, other: Weights) -> bool:
        """Return whether another's config, format and numbers are exactly these."""
        same = self.config == other.config and self.dtype == other.dtype
        return same and all(np.array_equal(self[name], other[name]) for name in self.arrays)

    def linear(self, name: str) -> Linear:
        """Return `name.weight` and `name.bias`."""
        return Linear(self.arrays[f"{name}.weight"], self.arrays[f"{name}.bias"])

    def unembedding(self) -> Array:
        """Return `[n_out, d_model]`: `wte.weight` if tied, otherwise `lm_head.weight`."""
        return self.arrays["wte.weight" if self.config.tied else "lm_head.weight"]

    def astype(self, dtype: str) -> Weights:
        """Return the weights rounded to another format.

        Raises:
            HandcraftError: `bad-dtype`, or `bad-weights` where a number is too large for it.
        """
        if dtype not in FORMATS:
            raise HandcraftError("bad-dtype", f"weights are {', '.join(FORMATS)}, not `{dtype}`")
        with np.errstate(over="ignore"):
            arrays = {name: array.astype(dtype) for name, array in self.arrays.items()}
        return Weights(self.config, arrays)


def shapes(config: Config) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every array that a model of this config has.

    Names and layouts are those of GPT-2's checkpoints. Cross-attention has the names that Hugging
    Face gives it in a GPT-2: `q_attn` for the queries, `c_attn` for keys and values side by side.
    The arrays of an encoder have the names of a model of its own behind `encoder.`.
    """
    d_model = config.d_model
    table: dict[str, tuple[int, ...]] = {
        "wte.weight": (config.n_vocab, d_model),
        "wpe.weight": (config.n_ctx, d_model),
    }
    for number, layer in enumerate(config.layers):
        h = f"h.{number}"
        if layer.n_head:
            inner = layer.n_head * layer.d_head
            table |= _linear(f"{h}.attn.c_attn", d_model, 3 * inner)
            table |= _linear(f"{h}.attn.c_proj", inner, d_model)
            table |= _norm(f"{h}.ln_1", config)
        if layer.n_cross and config.encoder is not None:
            inner = layer.n_cross * layer.d_cross
            table |= _linear(f"{h}.crossattention.q_attn", d_model, inner)
            table |= _linear(f"{h}.crossattention.c_attn", config.encoder.d_model, 2 * inner)
            table |= _linear(f"{h}.crossattention.c_proj", inner, d_model)
            table |= _norm(f"{h}.ln_cross_attn", config)
        if layer.d_mlp:
            table |= _linear(f"{h}.mlp.c_fc", d_model, layer.d_mlp)
            table |= _linear(f"{h}.mlp.c_proj", layer.d_mlp, d_model)
            table |= _norm(f"{h}.ln_2", config)
    if config.norm_place == "before":
        table |= _norm("ln_f", config)
    if not config.tied:
        table["lm_head.weight"] = (config.n_out, d_model)
    if config.encoder is not None:
        table |= {f"{ENCODER}{name}": shape for name, shape in shapes(config.encoder).items()}
    return table


def _linear(name: str, n_in: int, n_out: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (n_in, n_out), f"{name}.bias": (n_out,)}


def _norm(name: str, config: Config) -> dict[str, tuple[int, ...]]:
    if not config.layer_norm:
        return {}
    return {f"{name}.weight": (config.d_model,), f"{name}.bias": (config.d_model,)}


def check_names(expected: Mapping[str, object], found: Mapping[str, object]) -> None:
    """Raise `bad-weights` where an array is missing or is not expected."""
    for name in sorted(expected):
        if name not in found:
            raise HandcraftError("bad-weights", f"the array `{name}` is missing")
    for name in sorted(found):
        if name not in expected:
            raise HandcraftError("bad-weights", f"the array `{name}` has no place in this config")


def check_shape(name: str, expected: tuple[int, ...], found: tuple[int, ...]) -> None:
    """Raise `bad-weights` where a shape is not the expected one."""
    if expected != found:
        raise HandcraftError(
            "bad-weights",
            f"`{name}` has the shape {list(found)} ({prod(found)} numbers),"
            f" expected {list(expected)}",
        )


def _check_arrays(expected: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Array]) -> None:
    check_names(expected, arrays)
    dtype = arrays["wte.weight"].dtype.name
    for name in sorted(arrays):
        array = arrays[name]
        check_shape(name, expected[name], array.shape)
        if array.dtype.name not in FORMATS:
            raise HandcraftError(
                "bad-weights", f"`{name}` is {array.dtype.name}, expected {', '.join(FORMATS)}"
            )
        if array.dtype.name != dtype:
            raise HandcraftError(
                "bad-weights", f"`{name}` is {array.dtype.name}, but `wte.weight` is {dtype}"
            )
        if not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise HandcraftError(
                "bad-weights",
                f"`{name}` is not finite in {dtype}: {array[where]} at {list(where)}",
            )


def _encoder(config: Config, arrays: Mapping[str, Array]) -> Weights | None:
    if config.encoder is None:
        return None
    names = shapes(config.encoder)
    return Weights(config.encoder, {name: arrays[f"{ENCODER}{name}"] for name in names})
