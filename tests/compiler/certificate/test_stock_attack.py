"""Attacks on the certificate of stock models: no software exceeds a bound, however it computes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from exact_graph import exact_stream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_files import FILES, GALLERY
from software import WAYS, Software

import handcraft
from handcraft.compiler.assemble import assemble, config_of
from handcraft.compiler.certificate.activations import Smooth
from handcraft.compiler.certificate.certify import bounds
from handcraft.compiler.certificate.formats import FORMATS
from handcraft.compiler.certificate.norms import Pinned, Stock
from handcraft.compiler.certificate.scales import Scaling
from handcraft.compiler.graph import LogitReadout, TokenReadout, readout_forms, writes
from handcraft.compiler.levels import passes_of
from handcraft.compiler.placement import placement
from handcraft.compiler.stock.shape import shape_of, widened
from handcraft.compiler.stock.stock import EPSILON, USUAL_EPSILON, LayerNorm
from handcraft.compiler.stock.weights import stock_arrays
from handcraft.runtime.config import Activation
from handcraft.runtime.weights import Weights
from handcraft.testing import inputs, programs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exact_graph import Values
    from numpy.typing import NDArray

    from handcraft.compiler.forms import Direction
    from handcraft.runtime.vocabulary import Token

FLOAT32 = [f.name for f in FORMATS].index("float32")
LEVELS = (0, 1, 2)
LONGEST = 7
PAIR = 2.0**12
SHARPNESS = 2**9
REFUSED = {"not-yet", "domain-too-large", "no-meaning", "not-finite", "not-zero", "format"}
NORMS, ACTIVATIONS = get_args(LayerNorm), get_args(Activation)


class Attacked:
    """A placed program as a stock GPT-2, with the bounds on its directions."""

    def __init__(
        self, program: handcraft.Program, level: int, norm: LayerNorm, activation: Activation
    ) -> None:
        stages = placement(program.typed, passes_of(level))
        header = stages.typed.header
        shape = shape_of(stages.placed, has_pair=norm == "pair")
        self.placed = widened(stages.placed, shape)
        epsilon = USUAL_EPSILON if norm == "pair" else EPSILON
        pinned = Pinned(epsilon, PAIR if norm == "pair" else 0.0, shape.d_model)
        smooth = None if activation == "relu" else Smooth(SHARPNESS)
        scaling = Scaling(alone="float32")
        own = assemble(self.placed, header, "float32", scaling)
        config = replace(
            config_of(self.placed, header),
            d_model=shape.d_model,
            activation=activation,
            layer_norm=True,
            layer_norm_epsilon=epsilon,
        )
        sharpness = 1 if smooth is None else smooth.sharpness
        arrays = stock_arrays(own.arrays, config, shape, pinned, sharpness, {}, 0)
        self.weights = Weights(config, {n: a.astype("float32") for n, a in arrays.items()})
        self.bounds = bounds(self.placed, config, scaling, Stock(pinned, smooth))
        self.vocabulary = header.vocabulary
        self.cleared = {
            d
            for layer in self.placed.layers
            for mlp in layer.mlps
            if mlp.name in self.placed.clears
            for d in writes(mlp)
        }

    def ids(self, tokens: Sequence[Token]) -> list[int]:
        first = [] if self.vocabulary.bos is None else [self.vocabulary.bos]
        start = [len(self.vocabulary)] if self.weights.config.start else []
        found = [*start, *(self.vocabulary.id(token) for token in (*first, *tokens))]
        return found[: self.weights.config.n_ctx]

    def excesses(self, tokens: Sequence[Token]) -> list[tuple[object, ...]]:
        """Return where a computed direction, or a logit, is further off than its bound."""
        ids = self.ids(tokens)
        exact = exact_stream(self.placed, ids, causal=True)
        known = {
            d: (column, self._bound(d))
            for d, column in self.placed.columns.items()
            if d not in self.cleared
        }
        found: list[tuple[object, ...]] = []
        for ways in WAYS:
            final, logits = Software(self.weights, ways, len(ids)).final(np.array([ids]))
            for position, here in enumerate(exact):
                for d, (column, bound) in known.items():
                    value, got = here[d], float(final[0, position, column])
                    if value is not None and not abs(Fraction(got) - Fraction(value)) <= bound:
                        found.append((ways, ids, position, d, got, value))
                if position >= self.weights.config.start:
                    found += self._logits(here, logits[0, position], (ways, ids, position))
        return found

    def _bound(self, d: Direction) -> float:
        stream = self.bounds.stream
        return float(stream.error[FLOAT32, stream.index[d]])

    def _logits(
        self, here: Values, logits: NDArray[np.float32], where: tuple[object, ...]
    ) -> list[tuple[object, ...]]:
        """Return the logits that are further off than the bound on all of them."""
        bound = float(self.bounds.decision.error[FLOAT32])
        graph = self.placed.graph
        is_tied = isinstance(graph.readout, TokenReadout)
        found: list[tuple[object, ...]] = []
        for number, form in enumerate([] if is_tied else readout_forms(graph.readout)):
            values = [here[d] for d, _ in form.terms]
            if None in values or isinstance(graph.readout, LogitReadout):
                continue
            exact = form.constant + sum(
                (c * v for (_, c), v in zip(form.terms, values, strict=True) if v is not None),
                Fraction(0),
            )
            got = float(logits[number])
            if not abs(Fraction(got) - Fraction(exact)) <= bound:
                found.append((*where, number, got, float(exact), bound))
        return found


def causal() -> list[Path]:
    """Return the programs that a GPT-2 can be."""
    return [p for p in FILES if handcraft.parse(p).causal]


CAUSAL = causal()


@pytest.mark.parametrize("path", CAUSAL, ids=lambda path: path.stem)
def test_no_direction_of_a_program_exceeds_its_bound_in_any_software(path: Path) -> None:
    number = CAUSAL.index(path)
    program = handcraft.parse(path)
    norm, activation = NORMS[number % 2], ACTIVATIONS[number // 2 % 3]
    attacked = Attacked(program, LEVELS[number // 6 % 3], norm, activation)
    tokens = [t for t in program.typed.vocabulary.tokens if t != program.typed.vocabulary.bos]
    text = [tokens[(i * i + i) % len(tokens)] for i in range(LONGEST)]
    assert attacked.excesses(text[: program.context - 1] or text[:1]) == []


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_no_direction_of_a_random_program_exceeds_its_bound_in_any_software(
    activation: Activation, norm: LayerNorm
) -> None:
    seen = 0

    @settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
    @given(programs(attention="causal"), st.sampled_from(LEVELS), st.data())
    def attack(text: str, level: int, data: st.DataObject) -> None:
        nonlocal seen
        try:
            program = handcraft.parse(text)
            attacked = Attacked(program, level, norm, activation)
        except handcraft.HandcraftError as error:
            if error.code not in REFUSED:
                raise
            return
        seen += 1
        assert attacked.excesses(data.draw(inputs(program))) == []

    attack()
    assert seen > 3


def test_an_understated_bound_is_found() -> None:
    attacked = Attacked(handcraft.parse(GALLERY / "balanced.rasp"), 1, "pair", "gelu_new")
    assert attacked.excesses("(()") == []
    attacked.bounds.stream.error[:] = 0
    assert attacked.excesses("(()") != []
