"""Whether a model fits a budget, and if not, what takes the room.

`layers`, `neurons` and `parameters` are of the whole model (`lm_head` left out); `heads`, `d_mlp`
and `d_head` are those of the largest layer, as in a GPT-2 config: `n_head` and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.account import sizes_of
from handcraft.compiler.graph import Head, reads, writes
from handcraft.compiler.levels import HIGHEST, passes_of
from handcraft.compiler.lines import line_of
from handcraft.compiler.place import head_width, neuron_count
from handcraft.compiler.placement import placement, without_patterns
from handcraft.errors import HandcraftError, ProgramError, raise_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.compiler.graph import Op
    from handcraft.compiler.place import Placed
    from handcraft.compiler.placement import Placement
    from handcraft.errors import Span
    from handcraft.language.program import Program
    from handcraft.runtime.config import LayerConfig

Budget: TypeAlias = "Mapping[str, int]"
"""The most of each kind: `{"layers": 4, "heads": 2}`."""

NAMES = ("layers", "heads", "d_model", "d_head", "d_mlp", "neurons", "parameters")
"""What a budget can limit."""

MOST_NAMED = 3
"""Components that are named where a model does not fit: the largest."""


def checked_budget(budget: object) -> dict[str, int]:
    """Return a budget if it is one.

    Raises:
        HandcraftError: `bad-option` for an unknown name, or for what is no number.
    """
    if not isinstance(budget, dict):
        message = f"a budget is a dictionary, found `{type(budget).__name__}`"
        raise HandcraftError("bad-option", message, help='write `budget={"layers": 4}`')
    for name, most in budget.items():
        if name not in NAMES:
            message = f"a budget cannot limit `{name}`"
            raise HandcraftError("bad-option", message, help=f"it limits {', '.join(NAMES)}")
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            message = f"a budget gives `{name}` a whole number from 0, not `{most}`"
            raise HandcraftError("bad-option", message)
    return dict(budget)


def check_budget(program: Program, stages: Placement, level: int, budget: Budget) -> None:
    """Raise where a model does not fit its budget.

    Raises:
        ProgramError: `budget` for each limit that is passed, at the largest of what passes it;
            the help names a level that fits.
        HandcraftError: `bad-option` for a budget that is none.
    """
    limits = checked_budget(budget)
    if program.typed.header.source is not None:
        message = "a budget for an encoder and a decoder together cannot be checked yet"
        raise HandcraftError("not-yet", message, help="compile without a budget")
    taken = _amounts(stages)
    passed = [name for name in NAMES if name in limits and taken[name] > limits[name]]
    if not passed:
        return
    others = _other_levels(program, level)
    fitting = [n for n, each in others.items() if all(each[k] <= limits[k] for k in limits)]
    errors: list[HandcraftError] = []
    for name in passed:
        parts = sorted(_parts(name, stages), key=lambda part: -part.size)
        message = f"`{name}` is {taken[name]:,} at level {level}, and the budget has"
        message = f"{message} {limits[name]:,}{_named(name, parts, program)}"
        span = next((part.span for part in parts if part.span is not None), None)
        help_ = _help(name, taken[name], others, fitting)
        errors.append(ProgramError("budget", message, span, help=help_))
    raise_all(errors)


def amounts(layers: Sequence[LayerConfig], d_model: int, parameters: int) -> dict[str, int]:
    """Return what a model of these sizes takes of each kind that a budget can limit."""
    return {
        "layers": len(layers),
        "heads": max((layer.n_head for layer in layers), default=0),
        "d_model": d_model,
        "d_head": max((layer.d_head for layer in layers), default=0),
        "d_mlp": max((layer.d_mlp for layer in layers), default=0),
        "neurons": sum(layer.d_mlp for layer in layers),
        "parameters": parameters,
    }


def _amounts(stages: Placement) -> dict[str, int]:
    return amounts(stages.placed.sizes, stages.placed.d_model, sizes_of(stages).parameters)


def _other_levels(program: Program, level: int) -> dict[int, dict[str, int]]:
    """Return what the model takes at the other levels that can build it, higher ones first."""
    found = {}
    typed = without_patterns(program.typed).typed
    for other in [*range(level + 1, HIGHEST + 1), *reversed(range(level))]:
        try:
            found[other] = _amounts(placement(typed, passes_of(other)))
        except ProgramError:
            continue
    return found


def _help(
    name: str, taken: int, others: Mapping[int, Mapping[str, int]], fitting: list[int]
) -> str:
    if fitting:
        level = fitting[0]
        return f"level {level} fits: `-O{level}`, in Python `optimize={level}`"
    least = min(others, key=lambda level: others[level][name], default=None)
    if least is not None and others[least][name] < taken:
        return f"no level fits; at level {least} it is {others[least][name]:,}"
    return "no level fits; allow more, or make the program smaller"


# What takes the room -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """Something that takes room, of a size; `span` is where it comes from."""

    text: str
    size: int
    span: Span | None


def _parts(name: str, stages: Placement) -> list[_Part]:
    placed = stages.placed
    match name:
        case "layers":
            return _longest_chain(placed)
        case "heads":
            return [_Part(_head(place), 1, place[2].span) for place in _fullest_heads(placed)]
        case "d_head":
            return [_Part(_head(h), head_width(h[2]), h[2].span) for h in _heads(placed)]
        case "d_model":
            return [_Part(f"`{v.name}`", len(v.labels), v.span) for v in placed.graph.variables]
        case "d_mlp":
            layers = [_neurons(placed, number) for number in range(len(placed.layers))]
            return max(layers, key=lambda parts: sum(part.size for part in parts))
        case "neurons":
            return [part for n in range(len(placed.layers)) for part in _neurons(placed, n)]
        case _:
            return _parameters(stages)


def _head(place: tuple[int, int, Head]) -> str:
    layer, index, head = place
    return f"head {layer}.{index} `{head.name}`"


def _heads(placed: Placed) -> list[tuple[int, int, Head]]:
    return [
        (number, index, head)
        for number, layer in enumerate(placed.layers)
        for index, head in enumerate(layer.heads)
    ]


def _fullest_heads(placed: Placed) -> list[tuple[int, int, Head]]:
    """Return the heads of the layer that has most."""
    counts = [len(layer.heads) for layer in placed.layers]
    fullest = counts.index(max(counts))
    return [place for place in _heads(placed) if place[0] == fullest]


def _neurons(placed: Placed, layer: int) -> list[_Part]:
    return [
        _Part(f"neurons of `{mlp.name}` in layer {layer}", neuron_count(mlp), mlp.span)
        for mlp in placed.layers[layer].mlps
    ]


def _longest_chain(placed: Placed) -> list[_Part]:
    """Return operations each of which reads what the one before writes, one from each layer."""
    at = {op.name: n for n, layer in enumerate(placed.layers) for op in layer.heads}
    at |= {op.name: n for n, layer in enumerate(placed.layers) for op in layer.mlps}
    op: Op | None = max(placed.graph.ops, key=lambda each: at[each.name])
    chain: list[_Part] = []
    while op is not None:
        layer = at[op.name]
        chain.append(_Part(f"`{op.name}` in layer {layer}", 1, op.span))
        read = reads(op)
        before = [o for o in placed.graph.ops if at[o.name] < layer and read & writes(o)]
        op = max(before, key=lambda each: at[each.name], default=None)
    return chain


def _parameters(stages: Placement) -> list[_Part]:
    placed, header = stages.placed, stages.typed.header
    width = placed.d_model
    rows = len(header.vocabulary) + header.context + 2 * placed.graph.start
    parts = [_Part("the embeddings", rows * width, None)]
    for place in _heads(placed):
        inner = placed.sizes[place[0]].d_head
        parts.append(_Part(_head(place), inner * (4 * width + 3), place[2].span))
    for number in range(len(placed.layers)):
        for part in _neurons(placed, number):
            parts.append(_Part(part.text, part.size * (2 * width + 1), part.span))
    return parts


def _named(name: str, parts: list[_Part], program: Program) -> str:
    """Return the largest components, each with its size and its line."""
    if not parts:
        return ""
    counted = name in ("layers", "heads")
    named = [_told(part, program, counted=counted) for part in parts[:MOST_NAMED]]
    more = len(parts) - len(named)
    rest = f", and {more} more" if more else ""
    if name == "layers":
        return f": the longest chain is {' after '.join(named)}{rest}"
    these = "part is" if len(parts) == 1 else "parts are"
    return f": the largest {these} {', '.join(named)}{rest}"


def _told(part: _Part, program: Program, *, counted: bool) -> str:
    line = None if part.span is None else line_of(part.span, program)
    size = [] if counted else [f"{part.size:,}"]
    place = [] if line is None else [f"line {line}"]
    inside = ", ".join([*size, *place])
    return f"{part.text} ({inside})" if inside else part.text
