"""FLOPs against the products that the forward pass really makes, and against a count by hand."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from program_files import GALLERY
from runtime_models import random_model, random_weights, table_model
from source_models import SEQUENCES, random_source_weights, translator

import handcraft
from handcraft.errors import InputError
from handcraft.runtime.cache import empty_cache, extend
from handcraft.runtime.config import Config, LayerConfig
from handcraft.runtime.cost import Cost, Flops, cost
from handcraft.runtime.description import Description
from handcraft.runtime.encoder_decoder import Source, read_source
from handcraft.runtime.model import Model
from handcraft.runtime.transformer import Ids, forward
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import ENCODER, Weights, shapes

PROGRAMS = ("aab", "echo", "sort", "hist", "recall", "transduce", "translate_reorder")
"""Causal, with a start token, bidirectional, and with a source."""


class Counting(np.ndarray[Any, Any]):
    """An array that counts the multiply-adds of the matrix products it takes part in.

    `made` has two counts: all of them, and those of weights that are not zero; a matrix of weights
    has two axes, that of activations has the heads in front.
    """

    made = (0, 0)
    __array_priority__ = 1.0  # what is concatenated with it counts too

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [_plain(each) for each in inputs]
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            left, right = plain
            rows = left.shape[-2] if right.ndim == 2 else 0
            every, nonzero = Counting.made
            every += result.size * left.shape[-1]
            Counting.made = (every, nonzero + rows * int(np.count_nonzero(right)))
        return result.view(Counting) if isinstance(result, np.ndarray) else result


def _plain(given: Any) -> Any:
    return given.view(np.ndarray) if isinstance(given, Counting) else given


@pytest.fixture(autouse=True)
def _from_zero() -> None:
    Counting.made = (0, 0)


def instrumented(model: Model) -> Weights:
    """Return the weights of a model, all of them counting."""
    weights = Weights(model.config, dict(model.weights))
    arrays = {name: array.view(Counting) for name, array in weights.arrays.items()}
    object.__setattr__(weights, "arrays", MappingProxyType(arrays))
    if weights.encoder is not None:
        own = {name: arrays[f"{ENCODER}{name}"] for name in shapes(weights.encoder.config)}
        object.__setattr__(weights.encoder, "arrays", MappingProxyType(own))
    return weights


def zeros(n: int) -> Ids:
    return np.zeros(n, dtype=np.int64)


def source_of(weights: Weights, n_source: int | None) -> Source | None:
    encoder = weights.config.encoder
    if encoder is None or n_source is None:
        return None
    return read_source(weights, zeros(n_source + encoder.start))


def random_encoder_decoder(*, start: bool = False) -> Model:
    weights = random_source_weights("before", start=start)
    source = vocabulary("integers", range(8 - start))
    return Model(weights, vocabulary("characters", "abcdefghi"), SEQUENCES, source)


def thinned(model: Model) -> Model:
    """Return a model in which about half of the weights are zero."""
    generator = np.random.default_rng(5)
    arrays = {n: a * generator.integers(0, 2, a.shape) for n, a in model.weights.items()}
    weights = Weights(model.config, arrays)
    return Model(weights, model.vocabulary, model.description, model.source_vocabulary)


MODELS = {
    **{name: handcraft.compile(GALLERY / f"{name}.rasp") for name in PROGRAMS},
    "random": thinned(random_model()),
    "random, both directions": thinned(random_model(attention="bidirectional")),
    "random with a source": thinned(random_encoder_decoder()),
    "random with a source and its start": thinned(random_encoder_decoder(start=True)),
    "translator": translator(),
    "no layers": table_model({"a": [0.0, 1.0], "b": [1.0, 0.0]}),
    "no layers and a start": table_model({"a": [0.0, 1.0], "": [1.0, 0.0]}, (1, 2), start=True),
}
LENGTHS = ((None, None), (3, 2), (1, 0))


def of(model: Model, tokens: int | None, n_source: int | None) -> Cost:
    return cost(model, tokens, source=None if model.config.encoder is None else n_source)


@pytest.mark.parametrize(("tokens", "n_source"), LENGTHS)
@pytest.mark.parametrize("name", MODELS)
def test_a_pass_is_what_the_forward_pass_multiplies(
    name: str, tokens: int | None, n_source: int | None
) -> None:
    model = MODELS[name]
    found = of(model, tokens, n_source)
    weights = instrumented(model)
    source = source_of(weights, found.source_tokens)
    once = Counting.made[0]
    trace = forward(weights, zeros(found.positions), source=source)
    every, nonzero = Counting.made
    seen = sum(
        np.isfinite(trace[key]).sum() * trace[key.replace("scores", "q")].shape[-1]
        for key in trace
        if "scores." in key
    )
    assert found.flops == Flops(2 * every, 2 * (nonzero + 2 * seen))
    assert found.source_flops.total == 2 * once
    assert found.flops.nonzero <= found.flops.total
    assert found.source_flops.nonzero <= found.source_flops.total


@pytest.mark.parametrize(("tokens", "n_source"), LENGTHS)
@pytest.mark.parametrize("name", MODELS)
def test_without_a_cache_every_token_takes_a_pass(
    name: str, tokens: int | None, n_source: int | None
) -> None:
    model = MODELS[name]
    found = of(model, tokens, n_source)
    weights = instrumented(model)
    for length in range(1, found.tokens + 1):
        source = source_of(weights, found.source_tokens)
        forward(weights, zeros(length + model.config.start), source=source)
    passes = [of(model, length, n_source).flops for length in range(1, found.tokens + 1)]
    assert found.without_cache.total == 2 * Counting.made[0]
    assert found.without_cache.nonzero == sum(flops.nonzero for flops in passes)


CAUSAL = [name for name, model in MODELS.items() if model.config.attention == "causal"]


@pytest.mark.parametrize(("tokens", "n_source"), LENGTHS)
@pytest.mark.parametrize("name", CAUSAL)
def test_with_a_cache_each_position_is_multiplied_once(
    name: str, tokens: int | None, n_source: int | None
) -> None:
    model = MODELS[name]
    found = of(model, tokens, n_source)
    weights = instrumented(model)
    cache = empty_cache(weights, source_of(weights, found.source_tokens))
    cache, _ = extend(weights, cache, zeros(1 + model.config.start))
    for _ in range(1, found.tokens):
        cache, _ = extend(weights, cache, zeros(1))
    every, nonzero = Counting.made
    assert found.with_cache is not None
    assert found.with_cache == Flops(2 * every, found.flops.nonzero)
    assert found.with_cache.total <= found.without_cache.total
    assert found.with_cache.nonzero >= 2 * nonzero
    size = sum(array.nbytes for array in (*cache.keys, *cache.values))
    assert found.cache_bytes is not None
    assert found.cache_bytes * cache.length == size
    if cache.source is not None:
        across = sum(each.k.nbytes + each.v.nbytes for each in cache.source.read)
        assert found.source_cache_bytes * cache.source.mask.shape[-1] == across


def test_complete_multiplies_what_writing_with_a_cache_costs() -> None:
    model = MODELS["aab"]
    found = cost(model)
    counted = Model(instrumented(model), model.vocabulary, model.description)
    assert counted.complete("a", 5) == "baaba"
    assert found.with_cache is not None
    assert found.with_cache.total == 2 * Counting.made[0]


def test_the_cost_of_aab_is_that_counted_by_hand() -> None:
    # 5 positions; d_model 7, one head of width 4; 25 pairs, of which 15 are seen.
    found = cost(MODELS["aab"])
    parts = {f"{part.where} {part.name}".strip(): part.flops for part in found.parts}
    assert parts == {
        "embedding": Flops(0, 0),
        "layer 0 q, k, v": Flops(2 * 5 * 7 * 12, 2 * 5 * 20),
        "layer 0 scores": Flops(2 * 25 * 4, 2 * 15 * 4),
        "layer 0 mixing": Flops(2 * 25 * 4, 2 * 15 * 4),
        "layer 0 output": Flops(2 * 5 * 4 * 7, 2 * 5 * 2),
        "unembedding": Flops(2 * 5 * 7 * 2, 2 * 5 * 2),
    }
    assert found.flops == Flops(1660, 480)
    # One position costs 252 beside its pairs, and each pair 16: 1 + 2 + 3 + 4 + 5 = 15 positions
    # and 1 + 4 + 9 + 16 + 25 = 55 pairs without a cache; 5 and 15 with it.
    assert found.without_cache.total == 15 * 252 + 55 * 16
    assert found.with_cache == Flops(5 * 252 + 15 * 16, 480)
    assert (found.parameters.total, found.parameters.nonzero) == (180, 31)
    assert found.parameter_bytes == 180 * 4
    assert found.cache_bytes == 2 * 4 * 4
    assert cost(MODELS["aab"].astype("float16")).cache_bytes == 2 * 4 * 2


def test_every_layer_of_a_model_and_of_its_encoder_is_told_apart() -> None:
    found = cost(MODELS["random with a source"])
    names = [f"{part.where}: {part.name}" for part in found.parts if part.name]
    heads, neurons = ["q, k, v", "scores", "mixing", "output"], ["MLP in", "MLP out"]
    across = [f"cross {name}" for name in ("q", "k, v", "scores", "mixing", "output")]
    assert names == [
        *(f"encoder layer 0: {name}" for name in (*heads, *neurons)),
        *(f"encoder layer 1: {name}" for name in neurons),
        *(f"encoder layer 2: {name}" for name in heads),
        *(f"layer 0: {name}" for name in (*heads, *across, *neurons)),
        *(f"layer 1: {name}" for name in across),
        *(f"layer 2: {name}" for name in heads),
    ]
    of_source = {part.name for part in found.parts if part.sequence == "source"}
    assert of_source == {"", *heads, *neurons, "cross k, v"}


def test_what_sees_the_future_has_no_cache() -> None:
    found = cost(MODELS["sort"])
    assert (found.with_cache, found.cache_bytes) == (None, None)
    assert found.without_cache.total > found.flops.total


def test_a_long_text_costs_as_usual_two_flops_a_weight_and_token() -> None:
    # Beside wide matrices the pairs of a short text hardly count: 2 N FLOPs a token.
    config = Config(4, 3, 120, 3, (LayerConfig(2, 60, 480),), layer_norm=True)
    model = Model(random_weights(config), vocabulary("characters", "abc"), Description("predict"))
    matrices = sum(array.size for name, array in model.weights.items() if name.startswith("h."))
    assert cost(model).flops.total == pytest.approx(2 * 4 * matrices, rel=0.02)


@pytest.mark.parametrize(
    ("name", "tokens", "n_source", "code", "message"),
    [
        ("aab", 6, None, "too-long", "the text has 6 tokens, its context is 5"),
        ("aab", 0, None, "bad-length", "the text has at least 1 token, not 0"),
        ("aab", 2.0, None, "bad-length", "the length of the text is a whole number, found `2.0`"),
        ("aab", True, None, "bad-length", "the length of the text is a whole number, found `True`"),
        ("aab", 1, 2, "no-source", "this model has no encoder"),
        ("translator", 1, 6, "too-long", "the source has 6 tokens, its context is 5"),
        ("translator", 1, -1, "bad-length", "the source has at least 0 tokens, not -1"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(
    name: str, tokens: Any, n_source: int | None, code: str, message: str
) -> None:
    with pytest.raises(InputError) as told:
        cost(MODELS[name], tokens, source=n_source)
    assert (told.value.code, told.value.message) == (code, message)
