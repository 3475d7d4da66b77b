"""What norms do to what is read: sums with the mean, columns taken away, rows that are balanced."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from program_files import GALLERY

import handcraft
from handcraft.compiler.certificate.activations import Smooth
from handcraft.compiler.certificate.certify import bounds
from handcraft.compiler.certificate.formats import FORMATS, Floats, column
from handcraft.compiler.certificate.norms import (
    Pinned,
    Stock,
    left_over,
    normed,
    slip,
    unbalanced,
)
from handcraft.compiler.certificate.readings import Slip, constants
from handcraft.compiler.certificate.readouts import logit_bounds
from handcraft.compiler.certificate.rows import form_rows
from handcraft.compiler.certificate.scans import affine_in, cases_of
from handcraft.compiler.certificate.stream import Stream
from handcraft.compiler.forms import Form
from handcraft.compiler.pipeline import compile_program
from handcraft.runtime.config import Activation
from handcraft.runtime.transformer import activate

FLOAT32 = [f.name for f in FORMATS].index("float32")
U = FORMATS[FLOAT32].roundoff
TOKENS = 300
WIDE = "vocab [" + ", ".join(f'"t{i}"' for i in range(TOKENS)) + "]; context 3; predict tokens;"
SHARE = 'vocab "ab"; context 9; output count(tokens, "a") > 4;'
PINNED = Pinned(2.0**40, 0.0, 64)
LEAST = Pinned(2.0**40, 0.0, 16)


def stream_of(text: str) -> Stream:
    return Stream(compile_program(handcraft.parse(text), optimize=0).placed.graph)


def summed(terms: Floats) -> float:
    """Add numbers up in float32, one after the other."""
    total = np.float32(0)
    for term in terms.astype(np.float32):
        total += term
    return float(total)


def test_a_reader_rounds_the_mean_once_for_each_direction_that_it_reads() -> None:
    mean = 1.6 * U
    stream = stream_of(WIDE)
    stream.slip = Slip(
        column([0, U, 0, 0]), column([0, 4 * U * mean, 0, 0]), column([0, mean, 0, 0])
    )
    (name,) = {d[0] for d in stream.index}
    every = Form(tuple(((name, i), Fraction(1)) for i in range(TOKENS)))
    bound = stream.read(form_rows([every], stream.index)).error[FLOAT32, 0]
    row = np.zeros(TOKENS + 1)
    row[0] = 1
    norm = (row.astype(np.float32) - np.float32(mean)).astype(np.float64)
    read = summed(np.append(norm[:-1], -TOKENS * norm[-1]))
    assert abs(read - 1) > 100 * U
    assert abs(read - 1) <= bound


def test_no_number_that_neurons_scan_behind_a_norm_is_exact() -> None:
    compiled = compile_program(handcraft.parse(GALLERY / "parity.rasp"))
    placed = compiled.placed
    number = next(i for i, layer in enumerate(placed.layers) if any(m.scan for m in layer.mlps))
    op = next(mlp for mlp in placed.layers[number].mlps if mlp.scan)
    assert op.scan is not None
    affine = affine_in(op, op.scan)
    assert affine is not None
    last = replace(placed.layers[number], mlps=())
    cut = replace(placed, layers=(*placed.layers[:number], last), sizes=placed.sizes[: number + 1])
    found = bounds(cut, compiled.model.config)
    for stream, is_exact in ((found.stream, True), (normed(found.stream, PINNED), False)):
        ((pre, read),) = stream.read_each([[n.pre for n in op.neurons]])
        cases = cases_of(op.scan, affine, pre, read, stream)
        assert (cases.rounding[FLOAT32] == 0).any() == is_exact


@pytest.mark.parametrize("activation", get_args(Activation))
def test_what_clearing_leaves_is_within_its_bound(activation: Activation) -> None:
    """Numbers that should not be below 0 are cleared by one neuron, and stay where they are."""
    stream = stream_of(WIDE)
    stream.low[0], stream.high[0], stream.error[:, 0] = 0, 9, 1e-3
    smooth = None if activation == "relu" else Smooth(2**9)
    stock = Stock(PINNED, smooth)
    sharp = 1 if smooth is None else smooth.sharpness
    x = np.concatenate((np.linspace(0, 9, 1001), [-1e-3, 9 + 1e-3])).astype(np.float32)

    up, down = (
        activate(sign * sharp * x, activation).astype(np.float64) / sharp
        for sign in (np.float32(1), np.float32(-1))
    )
    one, two = np.abs(x - up), np.abs(x - up + down)
    for left, both in ((one, False), (two, True)):
        mask = np.full(len(stream.low), both)
        assert left.max() <= left_over(stream, stock, both=mask)[FLOAT32, 0]
    assert one.max() > 5e-4
    assert two.max() < 1e-5


def test_a_balance_is_rounded_as_often_as_all_that_is_written_has_terms() -> None:
    stream = stream_of(WIDE)
    (name,) = {d[0] for d in stream.index}
    each = 1 + 2.0**-16
    adds = [constants((((name, i), Fraction(each)),), stream.index) for i in range(TOKENS)]
    more = unbalanced(stream, replace(LEAST, one=0.0), adds)[FLOAT32, 0]
    alone = unbalanced(stream, replace(LEAST, one=0.0))[FLOAT32, 0]
    off = abs(summed(np.full(TOKENS, each)) - TOKENS * each)
    assert alone < off <= more


def test_a_row_is_as_large_as_all_that_the_start_token_has_of_a_one_hot() -> None:
    stream = stream_of(SHARE)
    group = int(np.flatnonzero(stream.onehot)[0])
    here = np.flatnonzero(stream.group[:-1] == group)
    assert len(here) > 1

    def squares() -> float:
        """Return the sum of squares of a row, its balance included, from its share in float64."""
        return 2 * PINNED.d_model * PINNED.epsilon * float(slip(stream, PINNED).share[0, 0])

    before = squares()
    stream.at_start[here[0]] = 1
    alone = squares() - before
    stream.at_start[here] = 1
    assert squares() - before >= 2 * alone


def test_what_a_narrow_format_cannot_hold_is_no_loss_to_others() -> None:
    stream = stream_of(WIDE)
    before = slip(stream, PINNED).share[FLOAT32]
    stream.error[FLOAT32 + 1 :] = 1e100
    assert slip(stream, PINNED).share[FLOAT32] == before


def test_how_far_rows_are_from_balance_counts_in_their_mean() -> None:
    stream = stream_of(WIDE)
    before = slip(stream, PINNED).mean
    stream.uneven = stream.uneven + 1
    assert (slip(stream, PINNED).mean > before).all()


def test_the_logits_of_the_start_token_are_among_those_that_are_pushed_past() -> None:
    compiled = compile_program(handcraft.parse(SHARE))
    graph = compiled.placed.graph
    stream = bounds(compiled.placed, compiled.model.config).stream
    before = logit_bounds(graph, stream)
    stream.at_start[:-1] += 1000
    assert logit_bounds(graph, stream) != before
