"""Winners whose scores are rounded: exponentials that are not 1, whose sum is rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import handcraft
from handcraft.compiler.certificate.formats import FORMATS
from handcraft.compiler.certificate.heads import Seen, Sharpness, moved, read_heads
from handcraft.compiler.certificate.stream import Stream
from handcraft.compiler.pipeline import compile_program

if TYPE_CHECKING:
    from handcraft.compiler.certificate.readings import Written

FLOAT32 = [f.name for f in FORMATS].index("float32")
WINNERS = 511
APART = 2.0**-16 * (1 + 2.0**-7)
"""So much below 1, each exponential is rounded down by as much again where the sum is above 256."""

COUNTS = f'vocab "ab"; context {WINNERS - 1}; output count(tokens, "a") > 100;'


def written(uneven: float) -> Written:
    """Return what a head adds that takes the share of the start token."""
    placed = compile_program(handcraft.parse(COUNTS)).placed
    (head,) = placed.layers[0].heads
    stream = Stream(placed.graph)
    n_format = len(FORMATS)
    sharp = Sharpness(head.gap, (1e6,) * n_format, (0.0,) * n_format, (uneven,) * n_format)
    read = read_heads([head], stream)[0].columns
    adds, _ = moved(head, stream, read, sharp, Seen(stream, WINNERS, is_masked=True))
    return adds


def share_of_the_first() -> float:
    """Return what the first of the winners gets: its score is the largest, the others' lower."""
    shares = np.exp(np.array([0.0] + [-APART] * (WINNERS - 1), dtype=np.float32))
    total = np.float32(0)
    for each in shares[::-1]:
        total += each
    return float(shares[0] / total)


def test_a_share_of_uneven_winners_is_off_by_no_more_than_its_part_of_itself() -> None:
    adds = written(APART)
    assert np.isfinite(adds.relative[FLOAT32]).all()
    assert abs(share_of_the_first() * WINNERS - 1) <= adds.relative[FLOAT32].min()


def test_nor_by_more_than_the_bound_on_a_mean() -> None:
    adds = written(APART)
    assert abs(share_of_the_first() - 1 / WINNERS) <= adds.error[FLOAT32].min()


def test_even_winners_share_exactly_where_a_format_counts_them() -> None:
    adds = written(0.0)
    assert (adds.relative[FLOAT32] <= 5 * FORMATS[FLOAT32].roundoff).all()
