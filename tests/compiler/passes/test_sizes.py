"""How large layers are, by themselves and padded."""

from __future__ import annotations

from math import prod

import handcraft
from handcraft.compiler.assemble import assemble
from handcraft.compiler.describe import describe
from handcraft.compiler.levels import passes_of
from handcraft.compiler.lower import lower
from handcraft.compiler.passes.sizes import padded, parameters
from handcraft.compiler.place import place
from handcraft.runtime.config import LayerConfig
from handcraft.runtime.model import Model
from handcraft.runtime.weights import shapes

PROGRAM = (
    'vocab "abc"; context 5; attention bidirectional;'
    'output aggregate(select(indices, count(select(tokens, tokens, ==)) - 1, ==), tokens, "a");'
)


def test_padded_layers_are_as_large_as_the_largest_and_say_the_same() -> None:
    program = handcraft.parse(PROGRAM)
    placed = place(lower(program.typed, passes_of(1)))
    assert len(set(placed.sizes)) > 1
    wide = padded(placed)
    assert len(set(wide.sizes)) == 1
    models = [
        Model(
            assemble(p, program.typed.header, "float32"),
            program.typed.vocabulary,
            describe(p, program),
        )
        for p in (placed, wide)
    ]
    assert len(models[1].weights) > len(models[0].weights)
    for text in ("a", "abcab", "ccbba"):
        assert models[0].run(text) == models[1].run(text) == program.run(text)


def test_the_numbers_are_those_of_the_arrays() -> None:
    program = handcraft.parse(PROGRAM)
    placed = place(lower(program.typed, passes_of(1)))
    config = assemble(placed, program.typed.header, "float32").config
    rows = config.n_vocab + config.n_ctx + config.n_out
    total = sum(map(prod, shapes(config).values()))
    assert parameters(placed.sizes, placed.d_model, rows) == total


def test_an_absent_sublayer_costs_nothing() -> None:
    assert parameters([LayerConfig(0, 0, 0)], 7, 0) == 0
    assert parameters([LayerConfig(0, 0, 2)], 7, 0) == 2 * 15 + 7
    assert parameters([LayerConfig(2, 3, 0)], 7, 1) == 3 * 6 * 8 + 7 * 7 + 7
