"""Read-outs: how far a logit can be off, against the distance that decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.coordinates import drift
from handcraft.compiler.certificate.formats import FORMATS, Floats, gamma, outward
from handcraft.compiler.certificate.norms import slip
from handcraft.compiler.certificate.rows import form_rows
from handcraft.compiler.certificate.stream import READ_MEAN
from handcraft.compiler.forms import START, Form
from handcraft.compiler.graph import (
    CrossReadout,
    LogitReadout,
    NumberReadout,
    TokenReadout,
    ValueReadout,
    form_writes,
    readout_forms,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.certificate.coordinates import Coordinates
    from handcraft.compiler.certificate.norms import Stock
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import Graph, Line


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What is decided at the end, for each format `[n_format]`.

    Attributes:
        error: how far a logit, or the number, can be off.
        margin: the least distance between what must be told apart.
        spent: how much of the margin errors can use up.
        room: how much they may.
        is_meant: whether the read-out reads what it is for.
    """

    error: Floats
    margin: float
    spent: Floats
    room: float
    is_meant: bool = True


def decision(graph: Graph, stream: Stream, plane: Coordinates) -> Decision:
    """Return what the read-out decides on, and whether it reads what it is for."""
    found = _decided(graph, stream)
    off = _off(graph, stream, plane)
    if off is None:
        return replace(found, is_meant=False)
    return replace(found, error=found.error + off, spent=found.spent + 2 * off) if off else found


def beside_mean(found: Decision, graph: Graph, stream: Stream, stock: Stock) -> Decision:
    """Return what a tied read-out decides on where a norm takes the mean of each row away.

    All operations balance what they write, and positions what the tokens of most models add; what
    is left is how far rows are from balance, the spread of the sums of the tokens' own rows, and
    the rounding of the mean. The logit of a token loses the mean times the sum of its row.
    """
    sums = [float(sum(c for _, c in form.terms)) for form in _token_forms(graph)]
    spread = (max(sums) - min(sums)) / 2
    mean = slip(stream, stock.pinned).mean[:, 0]
    off = mean * max(map(abs, sums))
    return replace(found, error=found.error + off, spent=found.spent + 2 * mean * spread)


def logit_bounds(graph: Graph, stream: Stream) -> tuple[float, float]:
    """Return the least and the largest logit that there can be, up to rounding."""
    is_tied = isinstance(graph.readout, TokenReadout)
    forms = _token_forms(graph) if is_tied else readout_forms(graph.readout)
    found = stream.read(form_rows(forms, stream.index))
    low, high = np.minimum(found.low, found.start), np.maximum(found.high, found.start)
    return float(low.min()), float(high.max())


def _off(graph: Graph, stream: Stream, plane: Coordinates) -> float | None:
    """Return how far what is read out can be from what it is for; None if it is something else.

    Where an operation makes the start direction 1 in the end, it is 1.
    """
    forms = readout_forms(graph.readout)
    if len(forms) != len(graph.answers):
        return None
    if not forms:
        return 0.0
    if any(START in writes(op) for op in graph.ops):
        forms = tuple(f.plus(dict(f.terms).get(START, 0)) for f in forms)
    found = drift(*plane.vectors(form_rows(forms, stream.index), graph.answers))
    return None if found is None else float(found.max()) * stream.largest()


def _decided(graph: Graph, stream: Stream) -> Decision:
    """Return what the read-out decides on.

    A logit counts as largest where it is closer than half the margin to the largest one, so right
    ones may be off by a quarter of the margin, and wrong ones too.
    """
    margin = float(graph.margin)
    match graph.readout:
        case TokenReadout():
            rows = form_rows(_token_forms(graph), stream.index)
            error = stream.read(rows).error.max(axis=1)
            return Decision(error, margin, 2 * error, margin / 2)
        case ValueReadout(_, forms, lines):
            rows = form_rows(forms, stream.index)
            read = stream.read(rows)
            error = read.error.max(axis=1)
            spent = None if lines is None else _spent(forms, lines, stream, margin)
            return Decision(error, margin, 2 * error if spent is None else spent, margin / 2)
        case LogitReadout(_, forms):
            error = stream.read(form_rows(forms, stream.index)).error.max(axis=1)
            return Decision(error, margin, 2 * error, margin / 2)
        case CrossReadout():
            raise AssertionError("an encoder decides nothing")
        case NumberReadout(form, gap):
            error = stream.read(form_rows([form], stream.index)).error[:, 0]
            return Decision(error, float(gap), error, float(gap) / 2)


def _token_forms(graph: Graph) -> list[Form]:
    """Return the logit of each token as a form: the rows of the tied embedding."""
    by_token = [e for e in graph.embeddings if e.by == "token"]
    count = max((len(e.rows) for e in by_token), default=0)
    forms = []
    for token in range(count):
        terms: dict[Direction, Number] = {}
        for embedding in by_token:
            terms |= {(embedding.variable, i): v for i, v in enumerate(embedding.rows[token])}
        forms.append(Form(form_writes(terms)))
    return forms


def _spent(
    forms: Sequence[Form], lines: Sequence[Line], stream: Stream, margin: float
) -> Floats | None:
    """Return how much of the margin errors can use up, `[n_format]`; None if that is unknown.

    Logits are lines in one number. What is off in that number moves all of them; of two only the
    difference of their slopes counts, against their own lead where the number is, which is larger
    the further they are apart.
    """
    rise = lines[-1].slope - lines[0].slope
    if not rise:
        return None
    number = (forms[-1] - forms[0]).scaled(Fraction(1) / rise)
    shift = float((lines[-1].constant - lines[0].constant) / rise)
    rests = [f - number.scaled(line.slope) for f, line in zip(forms, lines, strict=True)]
    rest = stream.read(form_rows(rests, stream.index))
    slope = np.array([float(line.slope) for line in lines])
    ends = np.array([[float(end) for end in line.piece] for line in lines])
    off, size = _number(number, ends + shift, stream)
    terms = max(len(form.terms) for form in forms) + 3
    mean = np.zeros((len(FORMATS), len(lines)))
    if stream.slip is not None:
        terms += READ_MEAN
        mean = stream.slip.mean * [sum(abs(float(c)) for _, c in form.terms) for form in forms]
    whole = stream.read(form_rows(forms, stream.index))
    summed = outward(whole.error - whole.carried)
    constant = np.array([float(line.constant) for line in lines])
    lead = np.minimum(*((slope[:, None] - slope) * ends[:, i : i + 1] for i in (0, 1)))
    lead = lead + constant[:, None] - constant
    lead = lead - 2.0**-48 * (np.abs(slope).max() * size.max() + np.abs(constant).max())
    np.fill_diagonal(lead, np.inf)
    apart = np.abs(slope[:, None] - slope)
    spent = []
    for f in range(len(FORMATS)):
        mass = np.abs(slope) * (size + off[f])[:, None] + rest.mass[f] + mean[f]
        rounding = np.minimum(gamma(terms)[f] * mass, summed[f]) + rest.error[f]
        own = np.diagonal(rounding)[:, None]
        spent.append(float((apart * off[f][:, None] + rounding + own - lead).max()) + margin)
    return outward(np.array(spent))


def _number(number: Form, ends: Floats, stream: Stream) -> tuple[Floats, Floats]:
    """Return how far off a number is where it is between two ends, and the size of its terms.

    `[n_format, n_piece]` and `[n_piece]`. One direction that is exact relative to itself is so also
    beside others that add up to a constant.
    """
    places = np.array([stream.index[d] for d in number.directions])
    weights = np.array([float(c) for _, c in number.terms])
    each = stream.off(places)
    off = np.repeat((each @ np.abs(weights))[:, None], len(ends), axis=1)
    bound = np.maximum(np.abs(stream.low[places]), np.abs(stream.high[places]))
    size = np.full(len(ends), float(np.abs(weights) @ bound))
    uncertain = np.flatnonzero(each.any(axis=0))
    if len(uncertain) == 1:
        main = int(uncertain[0])
        others = Form(tuple(t for i, t in enumerate(number.terms) if i != main))
        beside = stream.read(form_rows([others], stream.index))
        if beside.low[0] == beside.high[0]:
            inner = np.abs(ends - beside.low[0]).max(axis=1)
            weight = abs(weights[main])
            near = stream.near(places[main : main + 1], inner / weight) * weight
            off = np.minimum(off, near)
            size = inner + float(beside.mass[0, 0])
    return off, size
