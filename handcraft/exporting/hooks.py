"""The description of a stock model -> where TransformerLens has what it names.

No other library is needed for that.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from handcraft.exporting.stocked import is_stock, stocked
from handcraft.runtime.model import Model

if TYPE_CHECKING:
    from handcraft.compiler.stock.stock import LayerNorm
    from handcraft.exporting.gpt2 import Json
    from handcraft.exporting.stocked import Known
    from handcraft.runtime.description import Operation, ResidualVariable


@dataclass(frozen=True, slots=True)
class HeadHooks:
    """A head: `cache[pattern][:, head]`, `cache[z][:, :, head]`.

    Attributes:
        layer: counted from 0.
        head: which head of its layer.
        pattern: the hook of its attention, `[batch, n_head, n_seq, n_seq]`.
        z: the hook of the values that it mixed, `[batch, n_seq, n_head, d_head]`.
        text: what it computes, in the program's own words.
        lines: the lines of the program that it is for.
    """

    layer: int
    head: int
    pattern: str
    z: str
    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NeuronHooks:
    """Neurons that stand side by side: `cache[post][:, :, first : last + 1]`.

    Attributes:
        layer: counted from 0.
        first: the first neuron of the group.
        last: the last one; None if unknown.
        pre: the hook before the activation, `[batch, n_seq, d_mlp]`.
        post: the hook after it.
        text: what they compute, in the program's own words.
        lines: the lines of the program that they are for.
    """

    layer: int
    first: int
    last: int | None
    pre: str
    post: str
    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResidualHooks:
    """A variable in the residual stream: `cache[hook][:, :, first : last + 1]`.

    Attributes:
        variable: its name.
        first: its first direction.
        last: its last one.
        labels: what each of them stands for.
        hooks: where its directions are its own, `[batch, n_seq, d_model]`, in the order of the
            computation; empty if unknown. What is written to it more than once grows on the way:
            the directions of tokens hold the token here, and at the end also what comes next.
        layers: the first and the last layer, as in `ResidualVariable`.
        meaning: one sentence.
        line: the line of the program, where it comes from one.
    """

    variable: str
    first: int
    last: int
    labels: tuple[str, ...]
    hooks: tuple[str, ...]
    layers: tuple[int, int] | None
    meaning: str
    line: int | None


@dataclass(frozen=True, slots=True)
class HookNames:
    """Where TransformerLens has all that the description of a model names."""

    heads: tuple[HeadHooks, ...]
    neurons: tuple[NeuronHooks, ...]
    residual: tuple[ResidualHooks, ...]


def hook_names(known: Known, *, layer_norm: LayerNorm = "epsilon") -> HookNames:
    """Return where TransformerLens has the heads, neurons and variables of a model.

    Heads and neurons without a purpose, which only fill layers up, are not named.

    Args:
        known: a stock model, or one that is made a stock model.
        layer_norm: how it is made one.

    Raises:
        HandcraftError: `not-stock`; those of `recompile` and `stock`.
    """
    if isinstance(known, Model) and is_stock(known):
        model = known
    else:
        model = stocked(known, layer_norm, "gelu_new").model
    operations = model.description.operations
    return HookNames(
        tuple(_head(each) for each in operations if each.kind == "head"),
        tuple(_neurons(each) for each in operations if each.kind == "mlp"),
        tuple(_residual(model, each) for each in model.description.residual),
    )


def hooks_json(names: HookNames) -> dict[str, Json]:
    """Return the names as the members of a JSON file."""
    written: dict[str, Json] = json.loads(json.dumps(asdict(names)))
    return written


def _head(operation: Operation) -> HeadHooks:
    attention = f"blocks.{operation.layer}.attn"
    return HeadHooks(
        operation.layer,
        operation.index,
        f"{attention}.hook_pattern",
        f"{attention}.hook_z",
        operation.text,
        _lines(operation),
    )


def _neurons(operation: Operation) -> NeuronHooks:
    mlp = f"blocks.{operation.layer}.mlp"
    return NeuronHooks(
        operation.layer,
        operation.index,
        operation.last,
        f"{mlp}.hook_pre",
        f"{mlp}.hook_post",
        operation.text,
        _lines(operation),
    )


def _lines(operation: Operation) -> tuple[int, ...]:
    return (*(() if operation.line is None else (operation.line,)), *operation.others)


def _residual(model: Model, variable: ResidualVariable) -> ResidualHooks:
    return ResidualHooks(
        variable.name,
        variable.first_direction,
        variable.last_direction,
        variable.labels,
        tuple(map(_stream, _places(model, variable))),
        variable.layers,
        variable.meaning,
        variable.line,
    )


def _stream(place: int) -> str:
    """Return the hook of a place in the stream: each layer has three, counted from the first on."""
    return f"blocks.{place // 3}.hook_resid_{('pre', 'mid', 'post')[place % 3]}"


def _places(model: Model, variable: ResidualVariable) -> range:
    """Return where a variable is, once all of its first layer is written.

    The layers of the description do not tell attention from neurons; where one of the two writes
    nothing to the variable's directions, the places before and after it hold the same.
    """
    if variable.layers is None:
        return range(0)
    (first, last), n_layer = variable.layers, model.config.n_layer
    start = 0
    if first >= 0:
        start = 3 * first + (2 if _writes(model, f"h.{first}.mlp", variable) else 1)
    if last == n_layer:
        end = 3 * n_layer - 1
    elif last >= 0:
        end = 3 * last + (0 if _writes(model, f"h.{last}.attn", variable) else 1)
    else:
        end = 0
    return range(start, max(start, end) + 1)


def _writes(model: Model, sublayer: str, variable: ResidualVariable) -> bool:
    columns = slice(variable.first_direction, variable.last_direction + 1)
    return any(
        bool(model.weights[f"{sublayer}.c_proj.{name}"][..., columns].any())
        for name in ("weight", "bias")
    )
