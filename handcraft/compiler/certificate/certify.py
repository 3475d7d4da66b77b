"""Placed graph -> certificate: bounds on every direction, and on what is read out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.coordinates import Coordinates
from handcraft.compiler.certificate.errands import detour
from handcraft.compiler.certificate.formats import BEYOND, FORMATS, Floats
from handcraft.compiler.certificate.heads import Sharpness, moved, read_heads, sharpness
from handcraft.compiler.certificate.intents import is_clearing
from handcraft.compiler.certificate.mlps import computed
from handcraft.compiler.certificate.readouts import Decision, decision
from handcraft.compiler.certificate.scales import NO_LEAK, Scaling, scale
from handcraft.compiler.certificate.stream import Stream
from handcraft.compiler.place import neuron_count
from handcraft.errors import ProgramError
from handcraft.runtime.certificate import LARGEST, Certificate, HeadBound, Threshold, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.certificate.stream import Written
    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import Op
    from handcraft.compiler.place import Placed
    from handcraft.runtime.config import Config


MOST_ERROR = 0.125
"""An error from which on an operation is named as the cause of what is not proved."""

MOST_HALVINGS = 40
"""How often a scale is halved at most in the search for the least."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Everything that was proved of a graph.

    Attributes:
        stream: bounds on the directions at the end.
        written: the largest error of what each operation adds, `[n_format]`.
        sharp: of each head, by name.
        margins: of each operation of steps, by name, `[n_format]`.
        decision: at the read-out.
        astray: names of operations that are not proved to do what they are for.
    """

    stream: Stream
    written: dict[str, Floats]
    sharp: dict[str, Sharpness]
    margins: dict[str, Floats]
    decision: Decision
    astray: frozenset[str]


def bounds(placed: Placed, config: Config, scaling: Scaling = NO_LEAK) -> Bounds:
    """Return bounds on every direction of a placed graph.

    Args:
        placed: the graph with its layers.
        config: of the model: how wide heads are, what positions see, how many there are.
        scaling: of the scores.
    """
    n_ctx, causal = config.n_ctx, config.attention == "causal"
    stream = Stream(placed.graph)
    plane = Coordinates(placed.graph, stream)
    astray: set[str] = set()
    written: dict[str, Floats] = {}
    sharp: dict[str, Sharpness] = {}
    margins: dict[str, Floats] = {}
    with np.errstate(all="ignore"):
        for layer, size in zip(placed.layers, placed.sizes, strict=True):
            made = []
            for head, read in zip(layer.heads, read_heads(layer.heads, stream), strict=True):
                scales = [scale(head, size.d_head, f.name, scaling) for f in FORMATS]
                way = detour(head, read, stream, plane)
                if way is None:
                    astray.add(head.name)
                off = 0.0 if way is None else way.moved
                found = sharpness(
                    head, stream, read, scales, size.d_head, n_ctx, causal=causal, way=way
                )
                sharp[head.name] = found
                made.append((head.name, moved(head, stream, read.columns, found, n_ctx, off)))
            _add(stream, made, written)
            made = []
            astray.update(
                m.name for m in layer.mlps if m.name in placed.clears and not is_clearing(m)
            )
            mlps = [mlp for mlp in layer.mlps if mlp.name not in placed.clears]
            reads = stream.read_each([[n.pre for n in mlp.neurons] for mlp in mlps])
            for mlp, pre in zip(mlps, reads, strict=True):
                adds = computed(mlp, pre, stream, plane)
                if not adds.is_meant:
                    astray.add(mlp.name)
                made.append((mlp.name, (adds.written, adds.start)))
                if adds.margins is not None:
                    margins[mlp.name] = adds.margins
            _add(stream, made, written)
        end = decision(placed.graph, stream, plane)
        return Bounds(stream, written, sharp, margins, end, frozenset(astray))


def _add(
    stream: Stream,
    made: list[tuple[str, tuple[Written, dict[Direction, Number]]]],
    written: dict[str, Floats],
) -> None:
    """Let the operations of one sublayer write."""
    for name, (adds, _) in made:
        written[name] = adds.error.max(axis=1, initial=0.0)
    starts = [at_start for _, (_, at_start) in made] if stream.start else []
    stream.add([adds for _, (adds, _) in made], starts)


def certify(placed: Placed, config: Config, scaling: Scaling = NO_LEAK) -> Certificate:
    """Return what can be proved of a placed graph in each format.

    Args:
        placed: the graph with its layers.
        config: of the model.
        scaling: of the scores.
    """
    found = bounds(placed, config, scaling)
    verdicts = tuple(_verdict(number, placed, found) for number in range(len(FORMATS)))
    heads = tuple(
        HeadBound(
            head.name,
            layer,
            index,
            float(found.sharp[head.name].gap),
            found.sharp[head.name].leak,
        )
        for layer, ops in enumerate(placed.layers)
        for index, head in enumerate(ops.heads)
    )
    thresholds = []
    for layer, ops in enumerate(placed.layers):
        first = 0
        for mlp in ops.mlps:
            if mlp.name in found.margins:
                margins = tuple(min(float(m), LARGEST) for m in found.margins[mlp.name])
                thresholds.append(Threshold(mlp.name, layer, first, margins))
            first += neuron_count(mlp)
    return Certificate(verdicts, heads, tuple(thresholds))


def least(placed: Placed, config: Config, formats: Sequence[str]) -> Scaling:
    """Return the smallest scales at which all that is proved without leak in formats still is."""
    wanted = {f for f in formats if f in certify(placed, config).proved}
    found = NO_LEAK
    while found.halvings < MOST_HALVINGS:
        smaller = Scaling(found.halvings + 1)
        if not wanted <= set(certify(placed, config, smaller).proved):
            break
        found = smaller
    return found


def refusal(placed: Placed, config: Config, dtype: str, scaling: Scaling = NO_LEAK) -> ProgramError:
    """Return the error that says what cannot be proved in a format, and where."""
    found = bounds(placed, config, scaling)
    number = [f.name for f in FORMATS].index(dtype)
    op = _culprit(number, placed, found)
    message = f"not proved in {dtype}: {_reason(number, placed, found)}"
    help_ = "use a wider format, a smaller context, or `latest(...)` instead of a mean"
    last = op or next(reversed(placed.graph.ops), None)
    return ProgramError("format", message, None if last is None else last.span, help=help_)


def _verdict(number: int, placed: Placed, found: Bounds) -> Verdict:
    """Return the verdict on one format."""
    name = FORMATS[number].name
    end = found.decision
    error = float(end.error[number])
    shown = error if error < BEYOND / 2 else LARGEST
    spent = max(0.0, float(end.spent[number])) / end.room
    spent = spent if spent < BEYOND / 2 else LARGEST
    if end.spent[number] < end.room and end.is_meant and not found.astray:
        return Verdict(name, True, shown, end.margin, spent=spent)
    return Verdict(name, False, shown, end.margin, _reason(number, placed, found), spent)


def _reason(number: int, placed: Placed, found: Bounds) -> str:
    """Return why a format is not proved."""
    op, end = _culprit(number, placed, found), found.decision
    if op is not None and op.name in found.astray:
        return f"`{op.name}` does not compute what it is for"
    if not end.is_meant:
        return "the read-out does not read what it is for"
    what = "the result" if op is None else f"`{op.name}`"
    error = float(end.error[number] if op is None else found.written[op.name][number])
    if error >= BEYOND / 2:
        return f"{what} may leave the range of the format"
    tail = "" if op else f", where {end.margin:.4g} decides"
    return f"{what} can be off by {error:.2g}{tail}"


def _culprit(number: int, placed: Placed, found: Bounds) -> Op | None:
    """Return the first operation that does something else, or is off by more than a digit may."""
    ops: list[Op] = []
    for layer in placed.layers:
        ops += (*layer.heads, *layer.mlps)
    for op in ops:
        if op.name in found.astray:
            return op
    for op in ops:
        if op.name in found.written and not found.written[op.name][number] <= MOST_ERROR:
            return op
    return None
