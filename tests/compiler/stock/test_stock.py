"""Stock models: what stands where in their weights, and how near they are to the native ones."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import pytest
from comparing import expected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_files import FILES, GALLERY

import handcraft
from handcraft.compiler.assemble import assemble
from handcraft.compiler.pipeline import compile_program
from handcraft.compiler.stock.shape import NARROW
from handcraft.compiler.stock.stock import LayerNorm, StockModel, stock
from handcraft.runtime.config import Activation
from handcraft.runtime.model import Model
from handcraft.testing import inputs, programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from handcraft.compiler.pipeline import Compiled
    from handcraft.runtime.trace import Trace
    from handcraft.runtime.vocabulary import Token
    from handcraft.runtime.weights import Array

LEVELS = (0, 1, 2)
NORMS, ACTIVATIONS = get_args(LayerNorm), get_args(Activation)
REFUSED = {"not-yet", "domain-too-large", "no-meaning", "not-finite", "not-zero", "format"}
CAUSAL = [path for path in FILES if handcraft.parse(path).causal]
N_TEXT, LONGEST = 6, 24
UNEVEN = 2.0**-9
"""Shares of keys may differ by this much from those of the native model: scores are rounded."""

BALANCED = (GALLERY / "balanced.rasp").read_text()
BOS = """
    vocab ["<s>", "a", "b"]; bos "<s>"; context 5;
    logits {"a": count(tokens, "b"), "b": count(tokens, "a") - 2};
"""


class Pair(NamedTuple):
    """A program's native model in float64, and the stock model of the same graph in float32."""

    native: Model
    compiled: Compiled
    found: StockModel


def pair(program: handcraft.Program, level: int, norm: LayerNorm, activation: Activation) -> Pair:
    compiled = compile_program(program, optimize=level, dtype="float32")
    weights = assemble(compiled.placed, compiled.program.typed.header, "float64")
    exact = Model(weights, compiled.model.vocabulary, compiled.model.description)
    found = stock(compiled, layer_norm=norm, activation=activation, allow_unproved=True)
    return Pair(exact, compiled, found)


def error(model: Model) -> float:
    """Return how far logits are proved to be off; infinite without a proof."""
    certificate = model.description.certificate
    assert certificate is not None
    verdict = certificate.verdict(model.parameters.dtype.name)
    assert verdict is not None
    return verdict.error if verdict.proved else np.inf


def said(model: Model, n_out: int) -> list[int]:
    """Return the logits of what can be produced."""
    never = {model.config.start_id}
    if model.vocabulary.bos is not None:
        never.add(model.vocabulary.id(model.vocabulary.bos))
    is_values = model.description.kind == "output"
    return [i for i in range(n_out) if is_values or i not in never]


def assert_near(both: Pair, texts: Sequence[Sequence[Token]]) -> None:
    """Check the logits and the attention patterns of a proved stock model."""
    native, model = both.native, both.found.model
    bound = error(model) + error(native)
    if not np.isfinite(bound):
        return
    for text in texts:
        one, other = model.trace(text), native.trace(text)
        start = int(model.config.start)
        here = said(model, min(one.logits.shape[-1], other.logits.shape[-1]))
        off = one.logits[start:, here].astype(np.float64) - other.logits[start:, here]
        assert np.abs(off).max() <= bound
        if not model.config.tied or native.config.tied:
            for mine, theirs in zip(patterns(one), patterns(other), strict=False):
                n_head = len(theirs)
                assert np.abs(mine[:n_head] - theirs).max(initial=0.0) <= UNEVEN


def patterns(trace: Trace) -> Iterator[Array]:
    for layer in trace.layers:
        if layer.attention is None:
            yield np.zeros((0, 1, 1))
        else:
            yield layer.attention.pattern


def texts_of(program: handcraft.Program, seed: int) -> list[list[Token]]:
    vocabulary = program.typed.vocabulary
    tokens = [token for token in vocabulary.tokens if token != vocabulary.bos]
    generator = np.random.default_rng(seed)
    longest = max(1, min(LONGEST, program.context - (vocabulary.bos is not None)))
    sizes = generator.integers(1, longest + 1, N_TEXT)
    drawn = [[tokens[i] for i in generator.integers(0, len(tokens), n)] for n in sizes]
    return [text for text in drawn if expected(program, tuple(text)) is not None]


@pytest.mark.parametrize("path", CAUSAL, ids=lambda path: path.stem)
def test_a_proved_stock_model_is_as_near_to_the_native_one_as_its_certificate_says(
    path: Path,
) -> None:
    number = CAUSAL.index(path)
    program = handcraft.parse(path)
    norm, activation = NORMS[number // 3 % 2], ACTIVATIONS[number // 6 % 3]
    both = pair(program, LEVELS[number % 3], norm, activation)
    assert_near(both, texts_of(program, number))
    assert_told(both.found)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_random_program_is_as_near_in_its_stock_model(
    activation: Activation, norm: LayerNorm
) -> None:
    proved = 0

    @settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
    @given(programs(attention="causal"), st.sampled_from(LEVELS), st.data())
    def near(text: str, level: int, data: st.DataObject) -> None:
        nonlocal proved
        try:
            program = handcraft.parse(text)
            both = pair(program, level, norm, activation)
        except handcraft.HandcraftError as refused:
            if refused.code not in REFUSED | {"not-stock"}:
                raise
            return
        drawn = data.draw(inputs(program))
        assert_near(both, [drawn] if expected(program, drawn) is not None else [])
        assert_told(both.found)
        proved += np.isfinite(error(both.found.model))

    near()
    assert proved > 2


def assert_told(found: StockModel) -> None:
    """Check what stands where: sizes, empty columns, balance, and the description."""
    model, shape = found.model, found.shape
    config, weights = model.config, model.weights
    assert shape.n_head * shape.d_head == config.d_model == shape.d_model
    assert log(shape.d_head, NARROW).is_integer()
    assert {(s.n_head, s.d_head, s.d_mlp) for s in config.layers} == {
        (shape.n_head, shape.d_head, shape.d_mlp)
    }
    told = np.zeros((config.n_layer + 2, config.d_model), dtype=np.int64)
    for variable in model.description.residual:
        assert variable.layers is not None
        first, last = variable.layers
        here = slice(variable.first_direction, variable.last_direction + 1)
        told[first + 1 : last + 2, here] += 1
    assert told.max() == 1
    assert (told[0, written(weights, "wte", "wpe")] == 1).all()
    for number in range(config.n_layer):
        h = f"h.{number}"
        wrote = written(weights, f"{h}.attn.c_proj", f"{h}.mlp.c_proj")
        reads = np.flatnonzero(
            np.any(weights[f"{h}.attn.c_attn.weight"], axis=1)
            | np.any(weights[f"{h}.mlp.c_fc.weight"], axis=1)
        )
        assert shape.reference not in wrote
        assert (told[number + 1 : number + 3, wrote].max(axis=0) == 1).all()
        assert (told[number : number + 3, reads].max(axis=0) == 1).all()
        for name in (f"{h}.attn.c_proj", f"{h}.mlp.c_proj"):
            assert_balanced(weights[f"{name}.weight"])
            assert_balanced(weights[f"{name}.bias"])
    assert not weights["wte.weight"][:, shape.reference].any()
    assert not weights["wpe.weight"][:, shape.reference].any()


def written(arrays: Mapping[str, Array], *names: str) -> NDArray[np.int64]:
    """Return the directions that some of the weights or biases write."""
    found = [array for name, array in arrays.items() if name.rpartition(".")[0] in names]
    return np.flatnonzero(np.any(np.vstack(found), axis=0)).astype(np.int64)


def assert_balanced(array: Array) -> None:
    """Check that each row adds up to 0, but for the rounding of one entry."""
    exact = array.astype(np.float64)
    off = np.abs(exact.sum(axis=-1))
    assert (off <= np.finfo(np.float32).eps * np.abs(exact).sum(axis=-1)).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("text", [BOS, BALANCED], ids=["bos", "start"])
def test_every_row_of_the_embeddings_is_balanced_where_its_token_stands(
    text: str, norm: LayerNorm
) -> None:
    found = pair(handcraft.parse(text), 1, norm, "gelu_new").found
    model, one = found.model, found.shape.one
    wte, wpe = (model.weights[f"{name}.weight"].astype(np.float64) for name in ("wte", "wpe"))
    start = int(model.config.start)
    places = {} if model.config.start_id is None else {model.config.start_id: 0}
    if model.vocabulary.bos is not None:
        places[model.vocabulary.id(model.vocabulary.bos)] = start
    for token, row in enumerate(wte):
        others = set(range(len(wpe))) - set(places.values())
        for position in sorted(others) if token not in places else [places[token]]:
            whole = row + wpe[position]
            assert abs(whole.sum()) <= np.finfo(np.float32).eps * np.abs(whole).sum()
            assert whole[one] == wpe[-1, one]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("text", [BOS, BALANCED], ids=["bos", "start"])
def test_what_starts_a_text_can_never_be_the_largest(text: str, norm: LayerNorm) -> None:
    program = handcraft.parse(text)
    found = pair(program, 1, norm, "gelu_new").found
    model = found.model
    assert model.config.tied
    likely = said(model, model.config.n_out)
    never = sorted(set(range(model.config.n_out)) - set(likely))
    assert never
    for each in texts_of(program, 1):
        logits = model.trace(each).logits
        assert (logits[:, never].max(axis=1) < logits[:, likely].min(axis=1) - 1).all()


def test_heads_neurons_and_columns_that_nothing_uses_are_0() -> None:
    compiled = compile_program(handcraft.parse(BALANCED))
    found = stock(compiled)
    shape, weights = found.shape, found.model.weights
    own = {
        place
        for v in found.model.description.residual
        for place in range(v.first_direction, v.last_direction + 1)
    }
    empty = sorted(set(range(shape.d_model)) - own)
    assert empty
    for name, array in weights.items():
        if name.startswith("ln_") or ".ln_" in name:
            continue
        axis = 0 if name.endswith(("c_attn.weight", "c_fc.weight")) else -1
        if array.shape[axis] == shape.d_model and not name.endswith(("c_attn.bias", "c_fc.bias")):
            assert not np.take(array, empty, axis=axis).any(), name
    for number, layer in enumerate(compiled.placed.layers):
        h = f"h.{number}"
        first = len(layer.heads) * shape.d_head
        packed = weights[f"{h}.attn.c_attn.weight"].reshape(shape.d_model, 3, -1)
        assert not packed[:, :, first:].any()
        assert not weights[f"{h}.attn.c_proj.weight"][first:].any()
        neurons = sum(len(mlp.neurons) for mlp in layer.mlps)
        assert not weights[f"{h}.mlp.c_fc.weight"][:, neurons:].any()
        assert not weights[f"{h}.mlp.c_fc.bias"][neurons:].any()
        assert not weights[f"{h}.mlp.c_proj.weight"][neurons:].any()


def test_a_stock_model_has_the_same_bytes_each_time() -> None:
    one, other = (pair(handcraft.parse(BALANCED), 2, "pair", "gelu").found.model for _ in range(2))
    assert one.weights.keys() == other.weights.keys()
    for name, array in one.weights.items():
        assert array.tobytes() == other.weights[name].tobytes()
    assert one.description == other.description


@pytest.mark.parametrize("name", ["hist_so_far", "patterns/triangle"])
def test_programs_whose_columns_are_used_again_are_proved(name: str) -> None:
    """One has scores that are halved, the other clears most of its columns."""
    compiled = compile_program(handcraft.parse(GALLERY / f"{name}.rasp"), optimize=2)
    assert np.isfinite(error(stock(compiled).model))
