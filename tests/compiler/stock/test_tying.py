"""A stock GPT-2 has the logits of a `logits` program at the token directions: it is tied."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from program_files import GALLERY

import handcraft
from handcraft.compiler.certificate.certify import certify
from handcraft.compiler.graph import TokenReadout
from handcraft.compiler.pipeline import compile_program
from handcraft.compiler.stock.stock import LayerNorm, stock
from handcraft.compiler.stock.token_onehot import with_token_onehot
from handcraft.compiler.stock.tying import tied
from handcraft.runtime.config import Activation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.compiler.pipeline import Compiled
    from handcraft.compiler.stock.stock import StockModel
    from handcraft.runtime.arguments import Format
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Token

PROGRAMS = {
    "counts": (GALLERY / "unigram.rasp").read_text(),
    "negative": """
        vocab "ab"; context 5;
        logits {"a": 3 - count(tokens, "a") * 2, "b": -count(tokens, "b")};
    """,
    "bos": """
        vocab ["<s>", "a", "b"]; bos "<s>"; context 5;
        logits {"a": count(tokens, "b"), "b": count(tokens, "a") - 2};
    """,
    "bos has a logit": """
        vocab ["<s>", "a", "b"]; bos "<s>"; context 4;
        logits {"<s>": 90, "a": indices, "b": 3};
    """,
    "default": """
        vocab "abc"; context 5;
        before = aggregate(select(indices, indices - 1, ==), {"a": 2, "b": -1, "c": 0}[tokens], 7);
        logits {"a": before, "b": 1, "c": -before};
    """,
    "no token": 'vocab "abc"; context 4; logits {"a": 1, "b": indices, "c": -2};',
    "functions of the token": """
        vocab "abcd"; context 4;
        n = {"a": 1, "b": 2, "c": 3, "d": 4}[tokens];
        logits {"a": n, "b": aggregate(past, n), "c": n * n - 10, "d": 7 - n};
    """,
    "equal": 'vocab "ab"; context 4; logits {"a": count(tokens, "a"), "b": count(tokens, "a")};',
    "shared columns": """
        vocab "ab"; context 6;
        n = count(tokens, "a");
        s = count(n, 2);
        logits {"a": indicator(s == 3) + indicator(n * 7 + s == 3), "b": indicator(s == 3)};
    """,
}
LONGEST = 4
UNSAID = 1000
"""What lies so far below has no probability in any format."""

HUGE = """
    vocab "abc"; context 3;
    logits {"a": -10000000, "b": 0, "c": 10000000};
"""


def compiled(text: str, optimize: int = 1, dtype: Format = "float32") -> Compiled:
    return compile_program(handcraft.parse(text), optimize=optimize, dtype=dtype)


def texts(model: Model) -> Iterator[tuple[Token, ...]]:
    """Yield all short texts of a model."""
    bos = model.vocabulary.bos
    others = [token for token in model.vocabulary.tokens if token != bos]
    most = min(LONGEST, model.config.context - (bos is not None))
    for n in range(1, most + 1):
        yield from product(others, repeat=n)


def error(model: Model) -> float:
    """Return how far logits can be off, which is proved in the format of the weights."""
    certificate = model.description.certificate
    assert certificate is not None
    verdict = certificate.verdict(model.parameters.dtype.name)
    assert verdict is not None
    assert verdict.proved
    return verdict.error


def assert_tied(found: StockModel, native: Model) -> None:
    """Check that a stock model is tied and has the logits of the native one, and no others."""
    model = found.model
    assert model.config.tied
    assert model.config.n_out == model.config.n_vocab
    assert "lm_head.weight" not in model.weights
    bos = model.vocabulary.bos
    said = [i for i, token in enumerate(model.vocabulary.tokens) if token != bos]
    never = sorted(set(range(model.config.n_vocab)) - set(said))
    bound = error(model) + error(native)
    for text in texts(model):
        logits, expected = model.trace(text).logits, native.logits(text)
        here = logits[int(model.config.start) :]
        assert np.abs(here[:, said] - expected[:, said]).max() <= bound
        below = logits[:, never].max(axis=1, initial=-np.inf)
        assert (below < logits[:, said].min(axis=1) - UNSAID).all()
        assert model.run(text) == native.run(text)


@pytest.mark.parametrize("optimize", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stock_model_has_the_logits_of_the_native_one_at_each_level(
    name: str, optimize: int
) -> None:
    native = compiled(PROGRAMS[name], optimize)
    assert_tied(stock(native), native.model)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("activation", get_args(Activation))
@pytest.mark.parametrize("layer_norm", get_args(LayerNorm))
@pytest.mark.parametrize("name", ["negative", "bos"])
def test_it_has_them_with_every_norm_and_activation(
    name: str, layer_norm: LayerNorm, activation: Activation, dtype: Format
) -> None:
    native = compiled(PROGRAMS[name], dtype=dtype)
    assert_tied(stock(native, layer_norm=layer_norm, activation=activation), native.model)


def test_unigram_is_proved_with_little_of_its_margin_spent() -> None:
    for layer_norm in get_args(LayerNorm):
        model = stock(compiled(PROGRAMS["counts"]), layer_norm=layer_norm).model
        assert error(model) < 0.06


def test_probabilities_are_those_of_the_native_model() -> None:
    native = compiled(PROGRAMS["bos"])
    model = stock(native).model
    for text in texts(model):
        shares, expected = model.probabilities([*text]), native.model.probabilities([*text])
        assert isinstance(shares, dict)
        assert isinstance(expected, dict)
        assert shares.keys() == expected.keys()
        assert list(shares.values()) == pytest.approx(list(expected.values()), abs=0.05)
    assert model.complete("ab", 2) == native.model.complete("ab", 2)


def test_the_description_names_what_writes_the_logits_and_what_reads_them() -> None:
    native = compiled(PROGRAMS["counts"])
    model = stock(native).model
    *_, written, read = model.description.operations
    assert (written.kind, written.line) == ("mlp", 5)
    assert written.text == "the logit of each token, in place of the token here"
    assert (read.kind, read.text) == ("unembed", "reads the token directions (tied)")
    assert read.layer == model.config.n_layer
    (tokens,) = (v for v in model.description.residual if v.name == "tokens")
    assert tokens.labels == ("a", "b", "c")
    assert tokens.layers == (-1, model.config.n_layer)
    assert model.description.folded == native.model.description.folded


def test_the_token_has_columns_that_nothing_else_has() -> None:
    native = compiled(PROGRAMS["shared columns"], 2)
    assert {"clear start", "clear tokens"} <= native.placed.clears
    residual = stock(native).model.description.residual
    own = [v for v in residual if v.name in ("start", "tokens")]
    assert [len(v.labels) for v in own] == [1, 2]
    for one in own:
        for other in residual:
            apart = other.first_direction > one.last_direction
            assert other is one or apart or other.last_direction < one.first_direction


def test_what_is_written_is_held_against_the_logits_that_the_program_means() -> None:
    native = compiled(PROGRAMS["counts"])
    first, *others = native.graph.answers
    config, vocabulary = native.model.config, native.model.vocabulary
    span = native.program.typed.result.span
    for answers, is_proved in (((first, *others), True), ((*others, first), False)):
        graph = replace(native.graph, answers=answers)
        placed = tied(replace(native.placed, graph=graph), config, vocabulary, span)
        assert placed is not None
        verdict = certify(placed, config).verdict("float32")
        assert verdict is not None
        assert verdict.proved == is_proved
        assert is_proved or verdict.reason.endswith("does not compute what it is for")


def test_what_operations_add_to_the_embedded_token_is_not_taken_for_the_token() -> None:
    placed = compiled('vocab "ab"; context 3; predict tokens;').placed
    assert isinstance(placed.graph.readout, TokenReadout)
    assert with_token_onehot(placed, ("a", "b")) is None


def test_logits_too_large_to_be_held_beside_the_variance_keep_an_unembedding() -> None:
    native = compiled(HUGE)
    model = stock(native).model
    assert not model.config.tied
    assert np.abs(model.logits("ab") - native.model.logits("ab")).max() <= error(model)


def test_what_is_never_said_stays_below_logits_that_end_a_formats_whole_numbers() -> None:
    tokens = ["<s>", *(f"t{i}" for i in range(300))]
    vocab = ", ".join(f'"{token}"' for token in tokens)
    rest = ", ".join(f'"{token}": 0' for token in tokens[2:])
    native = compiled(f'vocab [{vocab}]; bos "<s>"; context 2; logits {{"t0": 3000000, {rest}}};')
    found = stock(native)
    assert found.model.config.tied
    assert found.low >= 2**24
    logits = found.model.logits("t1")
    assert (logits[:, 0] < logits[:, 1:].min(axis=1) - UNSAID).all()
