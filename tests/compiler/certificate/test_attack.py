"""Attacks on the certificate: no input, in no format and order of sums, exceeds a stated bound."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from exact_graph import exact_stream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from narrow import Narrow
from program_files import FILES

import handcraft
from handcraft.compiler.assemble import assemble, config_of
from handcraft.compiler.certificate.certify import Bounds, bounds
from handcraft.compiler.certificate.formats import FORMATS
from handcraft.compiler.graph import writes
from handcraft.compiler.levels import passes_of
from handcraft.compiler.placement import placement
from handcraft.runtime.transformer import forward
from handcraft.testing import ATTENTIONS, inputs, programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from handcraft.compiler.forms import Direction
    from handcraft.compiler.place import Placed
    from handcraft.language.typed import Header
    from handcraft.runtime.vocabulary import Token

TESTS = Path(__file__).parents[2]
LEVELS = (0, 1, 2)
LONGEST = 7

REFUSED = {"not-yet", "domain-too-large", "no-meaning", "not-finite", "not-zero", "format"}
"""Why a random program, or a format, has no model."""


class Attacked:
    """A placed program with its bounds, and the directions that hold their value at the end."""

    def __init__(self, program: handcraft.Program, level: int) -> None:
        stages = placement(program.typed, passes_of(level))
        self.placed: Placed = stages.placed
        self.header: Header = stages.typed.header
        self.config = config_of(self.placed, self.header)
        self.bounds: Bounds = bounds(self.placed, self.config)
        self.cleared = {
            d
            for layer in self.placed.layers
            for mlp in layer.mlps
            if mlp.name in self.placed.clears
            for d in writes(mlp)
        }

    def ids(self, tokens: Sequence[Token]) -> list[int]:
        vocabulary = self.header.vocabulary
        first = [] if vocabulary.bos is None else [vocabulary.bos]
        start = [len(vocabulary)] if self.config.start else []
        found = [*start, *(vocabulary.id(token) for token in (*first, *tokens))]
        return found[: self.config.n_ctx]

    def excesses(self, tokens: Sequence[Token], seed: int) -> list[tuple[object, ...]]:
        """Return where a computed direction is further off than its bound."""
        ids = self.ids(tokens)
        exact = exact_stream(self.placed, ids, causal=self.config.attention == "causal")
        found: list[tuple[object, ...]] = []
        for number, format_ in enumerate(FORMATS):
            final = self._final(format_.name, ids, seed)
            if final is None:
                continue
            for position, here in enumerate(exact):
                for d, value in here.items():
                    if value is None or d in self.cleared:
                        continue
                    got = float(final[position, self.placed.columns[d]])
                    if not self._is_bounded(number, d, got, Fraction(value)):
                        found.append((format_.name, ids, position, d, got, value))
        return found

    def _is_bounded(self, number: int, d: Direction, got: float, value: Fraction) -> bool:
        stream = self.bounds.stream
        bound = float(stream.error[number, stream.index[d]])
        if not np.isfinite(got):
            return bound > 1e100
        return abs(Fraction(got) - value) <= bound

    def _final(self, name: str, ids: list[int], seed: int) -> NDArray[np.float64] | None:
        """Return the stream at the end; None where the format has no model or no number."""
        held = "float32" if name == "bfloat16" else name
        try:
            weights = assemble(self.placed, self.header, held)
        except handcraft.HandcraftError as error:
            if error.code not in REFUSED:
                raise
            return None
        if name == "float64":
            return forward(weights, np.array(ids)).final.astype(np.float64)
        return Narrow(weights, name, seed).final(ids)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_direction_of_a_program_exceeds_its_bound(path: Path) -> None:
    program = handcraft.parse(path)
    attacked = Attacked(program, LEVELS[FILES.index(path) % len(LEVELS)])
    tokens = [t for t in program.typed.vocabulary.tokens if t != program.typed.vocabulary.bos]
    for seed in (1, 2):
        text = [tokens[(i * i * seed + i) % len(tokens)] for i in range(LONGEST)]
        assert attacked.excesses(text[: program.context - 1] or text[:1], seed) == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_no_direction_of_a_random_program_exceeds_its_bound(attention: str, level: int) -> None:
    seen = 0

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(programs(attention=attention), st.data())
    def attack(text: str, data: st.DataObject) -> None:
        nonlocal seen
        try:
            program = handcraft.parse(text)
            attacked = Attacked(program, level)
        except handcraft.HandcraftError as error:
            if error.code not in REFUSED:
                raise
            return
        seen += 1
        assert attacked.excesses(data.draw(inputs(program)), seen) == []

    attack()
    assert seen > 5


def test_an_understated_bound_is_found() -> None:
    attacked = Attacked(handcraft.parse(TESTS.parent / "programs" / "hist.rasp"), 1)
    assert attacked.excesses("hello", 3) == []
    attacked.bounds.stream.error[:] = 0
    assert attacked.excesses("hello", 3) != []
