"""Placed graph -> certificate: bounds on every direction, and on what is read out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from handcraft.compiler.certificate.coordinates import Coordinates
from handcraft.compiler.certificate.errands import Side, detour
from handcraft.compiler.certificate.formats import BEYOND, FORMATS, Floats, outward
from handcraft.compiler.certificate.heads import (
    HeadRead,
    Seen,
    Sharpness,
    moved,
    read_across,
    read_heads,
    sharpness,
)
from handcraft.compiler.certificate.intents import is_clearing
from handcraft.compiler.certificate.mlps import computed
from handcraft.compiler.certificate.norms import left_over, normed, unbalanced
from handcraft.compiler.certificate.readouts import Decision, beside_mean, decision
from handcraft.compiler.certificate.scales import NO_LEAK, Scaling, scale
from handcraft.compiler.certificate.stream import Stream
from handcraft.compiler.graph import TokenReadout
from handcraft.compiler.place import neuron_count
from handcraft.errors import ProgramError
from handcraft.language.sequences import SOURCE
from handcraft.runtime.certificate import LARGEST, Certificate, HeadBound, Threshold, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.compiler.certificate.norms import Stock
    from handcraft.compiler.certificate.readings import Written
    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import Head, MlpOp, Op
    from handcraft.compiler.place import Placed
    from handcraft.runtime.config import Config

Made: TypeAlias = "tuple[str, tuple[Written, dict[Direction, Number]]]"
"""The name of an operation, what it adds, and what it adds at the start token."""

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
        source: what was proved of the encoder, in a model that has one.
    """

    stream: Stream
    written: dict[str, Floats]
    sharp: dict[str, Sharpness]
    margins: dict[str, Floats]
    decision: Decision
    astray: frozenset[str]
    source: Flow | None = None


@dataclass(slots=True, eq=False)
class Flow:
    """What is known of one sequence, layer after layer.

    Attributes:
        side: its stream.
        n_ctx: the most positions.
        written, sharp, margins, astray: as of `Bounds`.
    """

    side: Side
    n_ctx: int
    written: dict[str, Floats] = field(default_factory=dict)
    sharp: dict[str, Sharpness] = field(default_factory=dict)
    margins: dict[str, Floats] = field(default_factory=dict)
    astray: set[str] = field(default_factory=set)


def bounds(
    placed: Placed, config: Config, scaling: Scaling = NO_LEAK, stock: Stock | None = None
) -> Bounds:
    """Return bounds on every direction of a placed graph.

    Args:
        placed: the graph with its layers.
        config: of the model: how wide heads are, what positions see, how many there are.
        scaling: of the scores.
        stock: norms and neurons of other software, where the weights are made for it.
    """
    with np.errstate(all="ignore"):
        source: Flow | None = None
        if placed.encoder is not None and config.encoder is not None:
            source = _through(placed.encoder, config.encoder, scaling, stock, None)
        flow = _through(placed, config, scaling, stock, source)
        end = decision(placed.graph, *_seen(flow, stock).side)
        if stock is not None and isinstance(placed.graph.readout, TokenReadout):
            end = beside_mean(end, placed.graph, flow.side.stream, stock)
    stream, astray = flow.side.stream, frozenset(flow.astray)
    return Bounds(stream, flow.written, flow.sharp, flow.margins, end, astray, source)


def _through(
    placed: Placed, config: Config, scaling: Scaling, stock: Stock | None, source: Flow | None
) -> Flow:
    """Carry bounds through the layers of one sequence; cross heads read those of the source."""
    stream = Stream(placed.graph)
    flow = Flow(Side(stream, Coordinates(placed.graph, stream)), config.n_ctx)
    _unbalance(stream, [], stock)
    causal = config.attention == "causal"
    for layer, size in zip(placed.layers, placed.sizes, strict=True):
        seen = _seen(flow, stock)
        reads = read_heads(layer.heads, seen.side.stream)
        within = [
            _looked(head, read, seen, seen, size.d_head, scaling, is_masked=causal)
            for head, read in zip(layer.heads, reads, strict=True)
        ]
        across = []
        if source is not None:
            reads = read_across(layer.crosses, stream, source.side.stream)
            across = [
                _looked(head, read, flow, source, size.d_cross, scaling, is_masked=False)
                for head, read in zip(layer.crosses, reads, strict=True)
            ]
        _add(stream, within, flow.written)
        _unbalance(stream, within, stock)
        _add(stream, across, flow.written)
        clearing = [mlp for mlp in layer.mlps if mlp.name in placed.clears]
        flow.astray.update(mlp.name for mlp in clearing if not is_clearing(mlp))
        mlps = [mlp for mlp in layer.mlps if mlp.name not in placed.clears]
        seen = _seen(flow, stock)
        pres = seen.side.stream.read_each([[n.pre for n in mlp.neurons] for mlp in mlps])
        made = []
        for mlp, pre in zip(mlps, pres, strict=True):
            adds = computed(mlp, pre, *seen.side, None if stock is None else stock.smooth)
            if not adds.is_meant:
                flow.astray.add(mlp.name)
            made.append((mlp.name, (adds.written, adds.start)))
            if adds.margins is not None:
                flow.margins[mlp.name] = adds.margins
        cleared = None if stock is None else _leave(clearing, placed, stream, stock)
        _add(stream, made, flow.written)
        _unbalance(stream, made, stock, cleared)
    return flow


def _seen(flow: Flow, stock: Stock | None) -> Flow:
    """Return what is known of a sequence as sublayers read it: behind a norm, if there is one."""
    if stock is None:
        return flow
    return replace(flow, side=Side(normed(flow.side.stream, stock.pinned), flow.side.plane))


def _leave(clearing: Sequence[MlpOp], placed: Placed, stream: Stream, stock: Stock) -> Floats:
    """Let what clearing does not take away of a column stay in the directions that share it.

    Returns:
        The sizes of what is taken away, `[n_format, n]`.
    """
    signs = Counter(d for mlp in clearing for n in mlp.neurons for d, _ in n.writes)
    both = np.zeros(len(stream.low), dtype=np.bool_)
    for d, count in signs.items():
        both[stream.index[d]] = count > 1
    sizes = stream.sizes()[:, [stream.index[d] for d in signs]]
    if not clearing:
        return sizes
    over = left_over(stream, stock, both=both)
    sharing: dict[int, list[Direction]] = {}
    for d, column in placed.columns.items():
        sharing.setdefault(column, []).append(d)
    for cleared in signs:
        for other in sharing[placed.columns[cleared]]:
            if other != cleared:
                stream.error[:, stream.index[other]] += over[:, stream.index[cleared]]
    return sizes


def _looked(
    head: Head,
    read: HeadRead,
    flow: Flow,
    keys: Flow,
    d_head: int,
    scaling: Scaling,
    *,
    is_masked: bool,
) -> Made:
    """Return what a head adds, and note how surely it looks where it should."""
    stream = flow.side.stream
    way = detour(head, read, flow.side, keys.side)
    if way is None:
        flow.astray.add(head.name)
    seen = Seen(keys.side.stream, keys.n_ctx, is_masked)
    scales = [scale(head, d_head, f.name, scaling) for f in FORMATS]
    found = sharpness(head, stream, read, scales, d_head, seen, way=way)
    flow.sharp[head.name] = found
    off = 0.0 if way is None else way.moved
    return head.name, moved(head, stream, read.columns, found, seen, off)


def _add(
    stream: Stream,
    made: list[Made],
    written: dict[str, Floats],
) -> None:
    """Let the operations of one sublayer write."""
    for name, (adds, _) in made:
        written[name] = adds.error.max(axis=1, initial=0.0)
    starts = [at_start for _, (_, at_start) in made] if stream.start else []
    stream.add([adds for _, (adds, _) in made], starts)


def _unbalance(
    stream: Stream, made: Sequence[Made], stock: Stock | None, cleared: Floats | None = None
) -> None:
    """Note how far a sublayer can take the rows of other software from adding up to 0."""
    if stock is not None:
        written = [adds for _, (adds, _) in made]
        more = unbalanced(stream, stock.pinned, written, cleared)
        stream.uneven = outward(stream.uneven + more)


def certify(
    placed: Placed, config: Config, scaling: Scaling = NO_LEAK, stock: Stock | None = None
) -> Certificate:
    """Return what can be proved of a placed graph in each format; arguments as of `bounds`."""
    found = bounds(placed, config, scaling, stock)
    verdicts = tuple(_verdict(number, placed, found) for number in range(len(FORMATS)))
    heads = [*_heads(placed, found.sharp)]
    thresholds = [*_thresholds(placed, found.margins)]
    if placed.encoder is not None and found.source is not None:
        heads = [
            *(replace(h, sequence=SOURCE) for h in _heads(placed.encoder, found.source.sharp)),
            *heads,
        ]
        of_source = _thresholds(placed.encoder, found.source.margins)
        thresholds = [*(replace(t, sequence=SOURCE) for t in of_source), *thresholds]
    return Certificate(verdicts, tuple(heads), tuple(thresholds))


def _heads(placed: Placed, sharp: Mapping[str, Sharpness]) -> Iterator[HeadBound]:
    for layer, ops in enumerate(placed.layers):
        for heads in (ops.heads, ops.crosses):
            for index, head in enumerate(heads):
                known = sharp[head.name]
                gap = float(known.gap)
                yield HeadBound(head.name, layer, index, gap, known.leak, across=head.across)


def _thresholds(placed: Placed, margins: Mapping[str, Floats]) -> Iterator[Threshold]:
    for layer, ops in enumerate(placed.layers):
        first = 0
        for mlp in ops.mlps:
            if mlp.name in margins:
                least = tuple(min(float(m), LARGEST) for m in margins[mlp.name])
                yield Threshold(mlp.name, layer, first, least)
            first += neuron_count(mlp)


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


def refusal(
    placed: Placed,
    config: Config,
    dtype: str,
    scaling: Scaling = NO_LEAK,
    stock: Stock | None = None,
) -> ProgramError:
    """Return the error that says what cannot be proved in a format, and where."""
    found = bounds(placed, config, scaling, stock)
    number = [f.name for f in FORMATS].index(dtype)
    culprit = _culprit(number, placed, found)
    message = f"not proved in {dtype}: {_reason(number, placed, found, 'this')}"
    help_ = "use a wider format, a smaller context, or `latest(...)` instead of a mean"
    if scaling.fixed is not None:
        help_ = f"use another scale than {scaling.fixed}, or none: it is then found by the proof"
    last = culprit[0] if culprit else next(reversed(placed.graph.ops), None)
    return ProgramError("format", message, None if last is None else last.span, help=help_)


def _verdict(number: int, placed: Placed, found: Bounds) -> Verdict:
    """Return the verdict on one format."""
    name = FORMATS[number].name
    end = found.decision
    error = float(end.error[number])
    shown = error if error < BEYOND / 2 else LARGEST
    spent = max(0.0, float(end.spent[number])) / end.room
    spent = spent if spent < BEYOND / 2 else LARGEST
    astray = found.astray or (found.source is not None and found.source.astray)
    if end.spent[number] < end.room and end.is_meant and not astray:
        return Verdict(name, True, shown, end.margin, spent=spent)
    return Verdict(name, False, shown, end.margin, _reason(number, placed, found), spent)


def _reason(number: int, placed: Placed, found: Bounds, shown: str | None = None) -> str:
    """Return why a format is not proved; what is shown needs no name."""
    culprit, end = _culprit(number, placed, found), found.decision
    if culprit is not None and shown is None:
        shown = f"`{culprit[0].text.partition('; ')[0]}`"
    if culprit is not None and culprit[1] is None:
        return f"{shown} does not compute what it is for"
    if not end.is_meant:
        return "the read-out does not read what it is for"
    what = "the result" if culprit is None else shown
    error = float(end.error[number])
    if culprit is not None and culprit[1] is not None:
        error = culprit[1]
    if error >= BEYOND / 2:
        return f"{what} may leave the range of the format"
    tail = "" if culprit else f", where {end.margin:.4g} decides"
    return f"{what} can be off by {error:.2g}{tail}"


def _culprit(number: int, placed: Placed, found: Bounds) -> tuple[Op, float | None] | None:
    """Return the first operation that is off by more than a digit may, and by how much.

    Before all others come those that do something else, of which it is None.
    """
    parts = [(placed, found.written, found.astray)]
    if placed.encoder is not None and found.source is not None:
        source = found.source
        parts.insert(0, (placed.encoder, source.written, frozenset(source.astray)))
    for each, _, astray in parts:
        for op in _ops(each):
            if op.name in astray:
                return op, None
    for each, written, _ in parts:
        for op in _ops(each):
            if op.name in written and not written[op.name][number] <= MOST_ERROR:
                return op, float(written[op.name][number])
    return None


def _ops(placed: Placed) -> Iterator[Op]:
    for layer in placed.layers:
        yield from (*layer.heads, *layer.crosses)
        yield from layer.mlps
