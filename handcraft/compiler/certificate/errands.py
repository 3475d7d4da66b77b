"""Heads against what they are for: where they look, and what they move.

A score is a bilinear form of what is read at the query and at the key. It is compared with the sum
of the program's literals as such a form, whatever products a pass has made of it; each literal is
then held against its own table, pair by pair, in whole numbers. Literals add up, so a key that all
of them select scores the sum of their tops, and any other at least `unit` less; what tells
selected keys apart adds less than that.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.compiler.certificate.coordinates import SAME, drift

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handcraft.compiler.certificate.coordinates import Coordinates
    from handcraft.compiler.certificate.formats import Floats, Mask
    from handcraft.compiler.certificate.heads import HeadRead
    from handcraft.compiler.certificate.rows import Rows
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import Head, Writes
    from handcraft.compiler.purposes import Aim, Errand, Literal


FAR = 2**62
"""Stands for the lead over nobody."""


class Detour(NamedTuple):
    """How far a head can be from what it is for.

    Attributes:
        score: of a score.
        moved: of what is moved.
        gap: the least distance of a winner's score from a loser's, in units.
    """

    score: float
    moved: float
    gap: Fraction


class Side(NamedTuple):
    """A sequence as heads read it: its stream, and what compares forms over it."""

    stream: Stream
    plane: Coordinates


def detour(head: Head, read: HeadRead, asking: Side, seen: Side) -> Detour | None:
    """Return how far a head can be from what it is for; None if it does something else.

    Args:
        head: the head.
        read: what it reads.
        asking: the sequence of its queries.
        seen: that of its keys.
    """
    stream, plane = seen
    errand = head.errand
    if errand is None or _sum([(1, head.bias)]) != _sum([(1, errand.always)]):
        return None
    moved = _moved(head, errand, read.columns.rows, stream, plane)
    scores = [_score(head, aim, read, asking.plane, seen) for aim in errand.aims]
    gaps = [_gap(aim, bool(stream.start)) for aim in errand.aims]
    known = [score for score in scores if score is not None]
    told = [gap for gap in gaps if gap is not None]
    if moved is None or len(known) < len(scores) or len(told) < len(gaps):
        return None
    largest = max(stream.largest(), asking.stream.largest())
    least = min(told, default=head.gap)
    gap = head.gap if least == inf else Fraction(least)
    return Detour(max(known, default=0.0) * largest**2, moved * largest, gap)


# What is moved -------------------------------------------------------------------------------


def _moved(
    head: Head, errand: Errand, columns: Rows, stream: Stream, plane: Coordinates
) -> float | None:
    if stream.start:
        found = _sum([(stream.form_at_start(c.form), c.writes) for c in head.columns])
        if found != _sum([(c.at_start, c.writes) for c in errand.columns]):
            return None
    if not head.columns:
        return 0.0 if not errand.columns else None
    placed, meant = plane.vectors(columns, [column.form for column in errand.columns])
    written = [column.writes for column in head.columns]
    if written != [column.writes for column in errand.columns]:
        places: dict[Direction, int] = {}
        placed = _spread(written, places).T @ placed
        meant = _spread([column.writes for column in errand.columns], places).T @ meant
        if len(meant) > len(placed):
            return None
    off = drift(placed, meant)
    return None if off is None else float(off.max())


def _spread(written: list[Writes], places: dict[Direction, int]) -> Floats:
    for writes in written:
        for d, _ in writes:
            places.setdefault(d, len(places))
    table = np.zeros((len(written), len(places)))
    for number, writes in enumerate(written):
        for d, c in writes:
            table[number, places[d]] = float(c)
    return table


# Where a head looks --------------------------------------------------------------------------


def _score(head: Head, aim: Aim, read: HeadRead, asking: Coordinates, seen: Side) -> float | None:
    stream, plane = seen
    factors = [factor for literal in aim.literals for factor in literal.factors]
    if not head.queries:
        return 0.0 if not factors and aim.slope is None else None
    tops = [literal.top for literal in aim.literals] if aim.below is not None else []
    queries = asking.vectors(read.queries.rows, [*(f.query for f in factors), *tops])
    slope = [] if aim.slope is None else [aim.slope]
    keys = plane.vectors(read.keys.rows, [*(f.key for f in factors), *slope])
    asked = queries.meant[: len(factors)]
    expected = aim.unit * (asked.T @ keys.meant[: len(factors)])
    if slope:
        expected[-1] += keys.meant[-1]
        if not _is_strict(keys.meant[-1], aim, plane):
            return None
    off = _apart(queries.placed, keys.placed, expected)
    if off is None or not stream.start:
        return off
    own = np.array([[float(stream.form_at_start(key))] for key in head.keys])
    at_start = _at_start(aim, asked, queries.meant[len(factors) :])
    start = _apart(queries.placed, own, at_start[:, None])
    return None if start is None else max(off, start)


def _at_start(aim: Aim, asked: Floats, tops: Floats) -> Floats:
    """Return the score of the start token as a form over queries."""
    if aim.below is not None:
        score: Floats = aim.unit * tops.sum(axis=0)
        score[-1] -= float(aim.below * aim.unit)
        return score
    outside = np.array([float(f.outside) for literal in aim.literals for f in literal.factors])
    score = aim.unit * (outside @ asked)
    if not aim.literals:
        score[-1] -= aim.unit
    return score


def _apart(queries: Floats, keys: Floats, expected: Floats) -> float | None:
    """Return how far products add up to something else; None where that is not by rounding."""
    found = queries.T @ keys
    off = np.abs(found - expected)
    size = np.abs(queries).T @ np.abs(keys) + np.abs(expected)
    return float(off.sum()) if (off <= SAME * size).all() else None


def _gap(aim: Aim, has_start: bool) -> Fraction | float | None:
    """Return the least distance of a winner's score from a loser's, infinite without losers.

    None where some table is not told. A selected key has at least the sum of the tops, and another
    at most that less the least lead of a literal, plus `rank`. The start token, where it stands in,
    is below the first and above the second; in a head that counts it is level with the first.
    """
    leads = [
        _lead(literal, start_below=has_start and aim.below is None) for literal in aim.literals
    ]
    known = [lead for lead in leads if lead is not None]
    if len(known) < len(leads):
        return None
    lead = min(known, default=inf) * aim.unit - aim.rank
    gaps = [lead]
    if aim.slope is not None:
        gaps.append(1)
    if has_start and aim.below:
        gaps += (float(aim.below * aim.unit), lead - float(aim.below * aim.unit))
    if has_start and not aim.literals:
        gaps.append(aim.unit)
    return min(gaps) if min(gaps) > 0 else None


def _lead(literal: Literal, *, start_below: bool) -> float | None:
    """Return by how much a literal's score tells the pairs of its table from all others.

    None if it does not.

    Args:
        literal: the literal.
        start_below: whether the start token's key has to be told from those of the table too.
    """
    n_query = len(literal.rows)
    n_key = max((len(f.keys) for f in literal.factors), default=1)
    tops = np.array([int(t) for t in literal.tops], dtype=np.int64)
    score = np.zeros((n_query, n_key), dtype=np.int64)
    outside = np.zeros(n_query, dtype=np.int64)
    for f in literal.factors:
        asked = np.array([int(q) for q in f.queries], dtype=np.int64)
        score += asked[:, None] * np.array([int(k) for k in f.keys], dtype=np.int64)
        outside += asked * int(f.outside)
    selected = _selected(literal.rows, n_key)
    below = tops[:, None] - score
    lead = float(below[~selected].min(initial=FAR))
    if start_below:
        lead = min(lead, float((tops - outside).min(initial=FAR)))
    if below[selected].any() or lead < 1:
        return None
    return inf if lead == FAR else lead


def _selected(rows: tuple[int, ...], n_key: int) -> Mask:
    """Return the table of zeros and ones whose rows are these bits."""
    size = (n_key + 7) // 8
    whole = b"".join((row & (1 << n_key) - 1).to_bytes(size, "little") for row in rows)
    packed = np.frombuffer(whole, dtype=np.uint8).reshape(len(rows), size)
    selected: Mask = np.unpackbits(packed, axis=1, count=n_key, bitorder="little") == 1
    return selected


def _is_strict(slope: Floats, aim: Aim, plane: Coordinates) -> bool:
    """Return whether no two positions have the same slope, and all slopes are from 0 to `rank`.

    What does not come from the position is a multiple of more than the position can make.
    """
    by_position, others = plane.parted(slope)
    least = float(by_position.min() + others.min(initial=0.0)) + float(slope[-1])
    span = float(by_position.max() - by_position.min())
    step = np.gcd.reduce(np.abs(others).astype(np.int64)) if len(others) else 0
    whole = (others == np.rint(others)).all() and (by_position == np.rint(by_position)).all()
    distinct = len(np.unique(by_position)) == len(by_position)
    reach = span + float(others.max(initial=0.0) - others.min(initial=0.0))
    return bool(
        whole and distinct and (step == 0 or step > span) and least >= 0 and reach <= aim.rank
    )


def _sum(parts: Iterable[tuple[Number, Writes]]) -> dict[Direction, Number]:
    total: dict[Direction, Number] = {}
    for factor, writes in parts:
        for d, c in writes:
            total[d] = total.get(d, 0) + factor * c
    return {d: c for d, c in total.items() if c}
