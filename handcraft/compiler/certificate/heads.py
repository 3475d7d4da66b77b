"""Heads: how far apart scores are, what losers take, and how far off a mean can be.

Exact scores are multiples of one step, found from the coefficients: two different ones are at
least that far apart, and where every product and sum is a number of the format, equal ones are
equal bit for bit. So the keys with the largest exact score win, in shares that are equal. Where
scores of winners are rounded, their exponentials are not all 1: they differ by a little, and so
much more are they off (`EXPONENTIAL`); and their sum is rounded as any sum is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import frexp, inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.compiler.certificate.formats import (
    BEYOND,
    DIGITS,
    FINE,
    FORMATS,
    ROUNDOFF,
    TINY,
    Floats,
    fits,
    gamma,
    held,
    largest_exp,
    outward,
)
from handcraft.compiler.certificate.means import mean_error
from handcraft.compiler.certificate.readings import (
    SYMBOL,
    UNKNOWN,
    Read,
    Reading,
    Written,
    constants,
)
from handcraft.compiler.certificate.rows import Rows, is_power_of_two, rows_of
from handcraft.compiler.forms import START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.certificate.errands import Detour
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.forms import Direction, Form, Number
    from handcraft.compiler.graph import Head


EXPONENTIAL = 8
"""Roundings by which the exponentials of two scores can be off, beside their distance."""


@dataclass(frozen=True, slots=True)
class Sharpness:
    """How surely a head looks where it should.

    Attributes:
        gap: the least distance of a winner's score from a loser's, in units.
        distance: the same after scale, errors and division, for each format.
        leak: the largest share of all losers together.
        uneven: how far apart winners can be, as scores after the division.
    """

    gap: Fraction
    distance: tuple[float, ...]
    leak: tuple[float, ...]
    uneven: tuple[float, ...]


class HeadRead(NamedTuple):
    """What a head reads: by its queries, keys and columns."""

    queries: Read
    keys: Read
    columns: Read


class Seen(NamedTuple):
    """The keys that a head sees.

    Attributes:
        stream: what is read at them.
        n_ctx: how many they are at most.
        is_masked: the start token sees none but itself, which it must do anyway.
    """

    stream: Stream
    n_ctx: int
    is_masked: bool


def read_across(heads: Sequence[Head], stream: Stream, source: Stream) -> list[HeadRead]:
    """Return what each of the cross heads of a layer reads: here by queries, else of the source."""
    queries = stream.read_each([head.queries for head in heads])
    keys = source.read_each([head.keys for head in heads])
    columns = source.read_each([[column.form for column in head.columns] for head in heads])
    return [HeadRead(*parts) for parts in zip(queries, keys, columns, strict=True)]


def read_heads(heads: Sequence[Head], stream: Stream) -> list[HeadRead]:
    """Return what each of the heads of a layer reads."""
    groups: list[Sequence[Form]] = []
    for head in heads:
        groups += (head.queries, head.keys, [column.form for column in head.columns])
    found = stream.read_each(groups)
    return [HeadRead(*found[i : i + 3]) for i in range(0, len(found), 3)]


def sharpness(
    head: Head,
    stream: Stream,
    read: HeadRead,
    scales: Sequence[Fraction],
    d_head: int,
    seen: Seen,
    *,
    way: Detour | None,
) -> Sharpness:
    """Return how surely a head looks where it should.

    Args:
        head: the head.
        stream: the stream before it.
        read: what it reads.
        scales: what the queries are multiplied by in each format, a power of two.
        d_head: width of a head; scores are divided by its root.
        seen: the keys.
        way: how exact scores tell winners from losers; None if that is unknown.
    """
    if not head.queries:
        nothing = (0.0,) * len(FORMATS)
        return Sharpness(head.gap, (BEYOND,) * len(FORMATS), nothing, nothing)
    (queries, q), (keys, k) = read.queries, read.keys
    both = (q.error * k.error).sum(axis=1)
    off = _weighted(keys, q.error, seen.stream) + _weighted(queries, k.error, stream) + both
    mass = np.minimum(
        _weighted(queries, np.broadcast_to(k.size, k.error.shape), stream),
        _weighted(keys, np.broadcast_to(q.size, q.error.shape), seen.stream),
    )
    mass = outward(mass + off)
    grids = np.where((q.grid == UNKNOWN) | (k.grid == UNKNOWN), UNKNOWN, q.grid + k.grid)
    exact = ((q.error == 0) & (k.error == 0)).all(axis=1) & fits(
        mass[:, None], grids.min(keepdims=True)
    )[:, 0]
    off = outward(off + gamma(len(queries))[:, 0] * mass + TINY[:, 0] * len(queries))
    off = np.where(exact, 0.0, off) + (0.0 if way is None else way.score)
    gap = head.gap if way is None else way.gap
    if not seen.is_masked and START in stream.index:
        gap = min(gap, _lead_of_start(head, stream, k, seen.stream))
    is_root_exact = frexp(sqrt(d_head))[0] == 0.5
    distances, leaks, uneven = [], [], []
    for number, (format_, scale) in enumerate(zip(FORMATS, scales, strict=True)):
        unit = float(scale) / sqrt(d_head)
        u = format_.roundoff
        distance = unit * (float(gap) - 2 * off[number]) * (1 - 4 * u)
        distance -= 2.1 * u * unit * mass[number]
        if mass[number] * float(scale) > format_.largest:
            distance = 0.0
        distance = max(0.0, float(distance))
        distances.append(min(distance, BEYOND))
        vanishes = distance >= format_.vanishing
        leaks.append(0.0 if vanishes else min(1.0, seen.n_ctx * largest_exp(distance)))
        apart = 2.1 * off[number] * unit
        if apart and not is_root_exact:
            apart += 2.1 * u * unit * mass[number]
        uneven.append(float(apart))
    return Sharpness(gap, tuple(distances), tuple(leaks), tuple(uneven))


def moved(
    head: Head, stream: Stream, read: Read, sharp: Sharpness, seen: Seen, detour: float = 0.0
) -> tuple[Written, dict[Direction, Number]]:
    """Return what a head adds to the stream, and what it adds at the start token.

    Args:
        head: the head.
        stream: the stream before it.
        read: what its columns read.
        sharp: how surely it looks where it should.
        seen: the keys.
        detour: how far exact results can be from what they are for.
    """
    if not head.columns:
        return constants(head.bias, stream.index), dict(head.bias)
    v, n_ctx = read.reading, seen.n_ctx
    low, high = np.minimum(v.low, v.start), np.maximum(v.high, v.start)
    leak, uneven = np.array(sharp.leak)[:, None], np.array(sharp.uneven)[:, None]
    winners = n_ctx if head.winners is None else head.winners
    is_single = winners == 1
    only_start = (v.low == 0) & (v.high == 0)
    is_uneven, is_whole = uneven > 0, np.ldexp(1.0, DIGITS) >= winners
    total = np.where(is_uneven | ~is_whole, winners, 0)
    terms = np.where(only_start & (v.error == 0), 1, winners) + total + 2
    size = v.size + v.error
    tilt = np.expm1(np.minimum(uneven, 1.0) + np.where(is_uneven, EXPONENTIAL * ROUNDOFF, 0.0))
    tilt = np.where(uneven < 1, tilt, 1.0)
    mean = gamma(terms) * size
    if winners > 1:
        is_digital = (v.grid >= 0) & (v.size <= 1) & (v.error == 0) & ~is_uneven
        tighter = mean_error(winners, size * (1 + tilt), is_digital)
        summed = mean_error(winners, 1 + tilt, np.zeros_like(is_uneven))
        tighter = tighter + np.where(is_uneven, 2 * summed, 0.0) * size
        mean = np.where(is_whole, np.minimum(mean, tighter), mean)
    mean = mean + (0.0 if head.alike else tilt * (high - low))
    most = v.wide + v.error
    leaking = leak * 2 * most + gamma(n_ctx + 3) * (size + leak * most) + TINY * n_ctx
    error = v.error + detour + np.where(is_single, 0.0, mean) + np.where(leak > 0, leaking, 0.0)
    grids = v.grid if is_single else np.full(len(head.columns), UNKNOWN)
    even = (uneven < 1) & only_start
    mixed = np.where(v.error == 0, 0, winners) + total + 4
    share = (1 + gamma(mixed)) * (1 + tilt) * (1 + 2 * leak) - 1
    relative = np.where(even, outward(share), inf)
    reading = Reading(
        low,
        high,
        v.start,
        np.maximum(np.abs(low), np.abs(high)),
        v.wide,
        outward(error),
        error,
        size,
        grids,
    )
    at_start = [seen.stream.form_at_start(column.form) for column in head.columns]
    added: dict[Direction, Number] = dict(head.bias)
    for value, column in zip(at_start, head.columns, strict=True):
        for d, c in column.writes:
            added[d] = added.get(d, 0) + value * c
    return _projected(head, reading, (relative, 2 * v.error), stream), added


def _projected(head: Head, moved_: Reading, near: tuple[Floats, Floats], stream: Stream) -> Written:
    """Return what the mixed columns add to the directions that they are written to."""
    bias = dict(head.bias)
    by_target: dict[int, list[tuple[int, Number]]] = {}
    constants = {stream.index[d]: value for d, value in bias.items()}
    for number, column in enumerate(head.columns):
        for d, c in column.writes:
            by_target.setdefault(stream.index[d], []).append((number, c))
    one = len(head.columns)
    targets = sorted({*by_target, *constants})
    rows = rows_of([[*by_target.get(t, ()), (one, constants.get(t, Fraction(0)))] for t in targets])
    return linear(rows, np.array(targets, dtype=np.int64), with_one(moved_), near)


def linear(rows: Rows, targets: object, read: Reading, near: tuple[Floats, Floats]) -> Written:
    """Return what rows over columns `read`, the last of which is the constant 1, add.

    `near` are the share and the floor of each column's error.
    """
    relative, floor = near
    at, value = rows.index, np.abs(rows.value)
    is_read = rows.value != 0
    low = rows.sums(np.minimum(rows.exact * read.low[at], rows.exact * read.high[at]))
    high = rows.sums(np.maximum(rows.exact * read.low[at], rows.exact * read.high[at]))
    carried = rows.sums(value * read.error[:, at] + rows.off * read.size[at])
    mass = outward(rows.sums(value * (read.size[at] + read.error[:, at])))
    alive = is_read & ((read.size[at] > 0) | (read.error[:, at] > 0))
    count = rows.sums(alive.astype(np.float64))
    exact_products = np.minimum.reduceat(is_power_of_two(rows.value), rows.first, axis=-1)
    ones = np.minimum.reduceat((at == at.max()) | ~is_read, rows.first, axis=-1)
    roundings = np.maximum(count - 1, 0) + ~(exact_products | ones)
    rounding = np.where(roundings > 0, gamma(roundings) * mass + TINY * (count + 1), 0.0)
    grids = np.where(is_read, np.maximum(rows.grid + read.grid[at], UNKNOWN), FINE)
    grids = np.where(read.grid[at] == UNKNOWN, np.where(is_read, UNKNOWN, FINE), grids)
    lowest = np.minimum.reduceat(grids, rows.first, axis=-1)
    exact = (carried == 0) & fits(mass, lowest)
    scaled = np.where((count == 1) & exact_products, 1.0, inf)
    main = at[rows.first]
    keeps = np.where(main < relative.shape[-1], main, 0)
    padded = relative[:, keeps] * scaled
    return Written(
        target=np.asarray(targets, dtype=np.int64),
        low=low,
        high=high,
        wide=outward(rows.sums(np.abs(rows.exact) * read.wide[at])),
        error=held(outward(carried + np.where(exact, 0.0, rounding)), mass),
        carried=outward(carried),
        mass=mass,
        count=count + 1,
        grid=np.where(rows.sums(rows.off)[0] == 0, lowest[0], UNKNOWN),
        relative=np.where(main < relative.shape[-1], padded, inf),
        floor=floor[:, keeps] * value[:, rows.first],
    )


def with_one(read: Reading) -> Reading:
    """Return a reading with the constant 1 behind its last column."""
    ones = np.ones(1)
    nothing = np.zeros((len(FORMATS), 1))

    def joined(array: Floats, last: Floats) -> Floats:
        whole: Floats = np.concatenate((array, last), axis=-1)
        return whole

    return Reading(
        joined(read.low, ones),
        joined(read.high, ones),
        joined(read.start, ones),
        joined(read.size, ones),
        joined(read.wide, ones),
        joined(read.error, nothing),
        joined(read.carried, nothing),
        joined(np.broadcast_to(read.mass, read.error.shape), nothing + 1),
        np.concatenate((read.grid, np.zeros(1, dtype=np.int64))),
    )


def _weighted(rows: Rows, factors: Floats, stream: Stream) -> Floats:
    """Return a bound on the sum of the terms of all rows, each row times a factor, `[n_format]`.

    Rows are summed for each direction first: of a one-hot only one direction counts.
    """
    at = rows.index
    terms = factors[:, rows.row] * np.abs(rows.value)
    size = np.maximum(np.abs(stream.low), np.abs(stream.high))
    free = stream.group != SYMBOL
    group = stream.group[free]
    bounds = []
    for weights in terms:
        weight = np.bincount(at, weights, minlength=len(size))
        ordinary = sum(
            float((np.abs(symbol.table) @ weight[symbol.places]).max()) for symbol in stream.symbols
        )
        alone = weight[free] * size[free]
        largest = np.zeros(len(stream.onehot))
        np.maximum.at(largest, group, alone)
        total = np.bincount(group, alone, minlength=len(largest))
        ordinary += float(np.where(stream.onehot, largest, total).sum())
        start = float((weights * np.abs(stream.at_start[at])).sum())
        bounds.append(max(ordinary, start))
    return outward(np.array(bounds))


def _lead_of_start(head: Head, stream: Stream, k: Reading, seen: Stream) -> Fraction:
    """Return how far the start token scores itself above all others, 0 if it does not.

    In a head that looks across it is the start token of the source that it must look at.
    """
    at_start = [stream.form_at_start(query) for query in head.queries]
    own = sum(
        (value * seen.form_at_start(key) for value, key in zip(at_start, head.keys, strict=True)),
        Fraction(0),
    )
    others = [
        max(float(value) * k.low[r], float(value) * k.high[r]) for r, value in enumerate(at_start)
    ]
    other = float(sum(others))
    return max(Fraction(0), own - Fraction(other + 1e-9 * abs(other)))
