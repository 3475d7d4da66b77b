"""ONNX files in ONNX Runtime against the model itself: every program file, every kind of model."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from program_files import EVERY
from runtime_models import number_model, random_model, random_weights, stock_config, table_model
from source_models import SEQUENCES, random_source_weights, translator

import handcraft
from handcraft.errors import HandcraftError
from handcraft.exporting import onnx as onnx_export
from handcraft.exporting.onnx import onnx_model
from handcraft.runtime.description import Description
from handcraft.runtime.encoder_decoder import read_source
from handcraft.runtime.manifest import read_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.transformer import forward
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from onnxruntime import InferenceSession

    from handcraft.runtime.config import Activation, Attention, Config, NormPlace
    from handcraft.runtime.trace import Trace
    from handcraft.runtime.transformer import Ids
    from handcraft.runtime.vocabulary import Vocabulary
    from handcraft.runtime.weights import Array

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

BATCH = 3


class Input(NamedTuple):
    """The ids of a batch of texts, and those of their sources."""

    ids: Ids
    source: Ids | None = None


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_program_says_in_onnx_what_its_model_says(path: Path) -> None:
    model = handcraft.compile(handcraft.parse(path))
    assert_alike(model, 2 * proved_error(model, "float32"))


@pytest.mark.parametrize(
    "name", ["count_so_far", "dyck1_ptf", "reverse", "running_mean", "translate", "copy"]
)
def test_a_program_in_float64_says_what_its_model_says(name: str) -> None:
    path = next(path for path in EVERY if path.stem == name)
    model = handcraft.compile(handcraft.parse(path)).astype("float64")
    assert_alike(model, 2 * proved_error(model, "float64"))


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_new"])
@pytest.mark.parametrize("norm", [None, "before", "after"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_random_weights_of_every_kind_give_the_same_numbers(
    attention: Attention, activation: Activation, norm: NormPlace | None, dtype: str
) -> None:
    config = stock_config(
        activation, attention, layer_norm=norm is not None, tied=attention == "causal"
    )
    config = replace(config, norm_place=norm or "before", layer_norm_epsilon=1e-3)
    assert_alike(model_of(random_weights(config, dtype=dtype)))


@pytest.mark.parametrize("norm", [None, "before", "after"])
@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_weights_that_read_a_source_give_the_same_numbers(
    norm: NormPlace | None, start: bool, dtype: str
) -> None:
    weights = random_source_weights(norm, start=start, tied=start, dtype=dtype)
    # Scores above 100 would turn rounding into visible differences of shares.
    smaller = {name: array / 2 for name, array in weights.arrays.items()}
    assert_alike(model_of(Weights(weights.config, smaller)))


def test_a_source_without_tokens_is_read_as_nothing() -> None:
    model = model_of(random_source_weights("before"))
    nothing = np.zeros((2, 0), np.int64)
    assert_equal(model, session(model), Input(np.array([[1, 2, 3], [4, 5, 6]]), nothing))


def test_an_encoder_that_nothing_reads_still_shows_its_patterns() -> None:
    config = random_source_weights().config
    alone = replace(config, layers=tuple(replace(x, n_cross=0, d_cross=0) for x in config.layers))
    assert_alike(model_of(random_weights(alone)))


@pytest.mark.parametrize(
    "model",
    [
        table_model({"a": [1, 2], "b": [3, 5]}),
        table_model({"a": [1, 2, 7], "b": [3, 5, 9]}, (2, 3, 5)),
        number_model((1, 2), {"a": 1.25, "b": 1.75}),
    ],
    ids=["tokens", "values", "number"],
)
def test_a_model_without_layers_has_logits_of_every_readout(model: Model) -> None:
    assert_alike(model)


def test_a_text_is_read_as_the_model_encodes_it() -> None:
    model = translator()
    feed = {
        "input_ids": model.encode_source("how world")[None],
        "decoder_input_ids": model.encode("cómo")[None],
    }
    (logits,) = session(model, patterns=False).run(None, feed)
    assert np.array_equal(logits[0], model.trace("how world", "cómo").logits)


def test_keys_that_are_not_seen_have_no_share_at_all() -> None:
    model = random_model()
    found = run(session(model), Input(np.arange(6)[None]))
    for number in (0, 1):
        assert not np.triu(found[f"h.{number}.attn.pattern"], 1).any()


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
def test_the_division_is_not_drawn_into_the_product(attention: Attention, tmp_path: Path) -> None:
    options = runtime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    file = onnx_model(model_of(random_weights(stock_config(attention=attention), dtype="float32")))
    runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    optimized = onnx.load(tmp_path / "optimized.onnx")
    assert "FusedMatMul" not in {node.op_type for node in optimized.graph.node}


@pytest.mark.parametrize("n_ctx", [1, 6])
def test_a_text_longer_than_the_context_fails(n_ctx: int) -> None:
    model = model_of(random_weights(replace(stock_config(), n_ctx=n_ctx), dtype="float32"))
    made = session(model)
    run(made, Input(np.ones((2, n_ctx), np.int64)))
    with pytest.raises(Exception, match="cannot be reshaped"):
        run(made, Input(np.ones((2, n_ctx + 1), np.int64)))


def test_a_source_longer_than_its_context_fails() -> None:
    model = model_of(random_source_weights())
    ids = np.ones((1, 6), np.int64)
    with pytest.raises(Exception, match="cannot be reshaped"):
        run(session(model), Input(ids, ids))


@pytest.mark.parametrize("unknown", [-1, 9])
def test_an_id_that_the_model_does_not_know_fails(unknown: int) -> None:
    with pytest.raises(Exception, match="out of data bounds"):
        run(session(random_model()), Input(np.array([[0, unknown]])))


def test_the_arrays_keep_their_names_and_the_manifest_is_in_the_file() -> None:
    model = translator()
    made = onnx.load_model_from_string(onnx_model(model))
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in made.graph.initializer}
    assert list(arrays)[: len(model.weights)] == list(model.weights)
    assert all(np.array_equal(arrays[name], array) for name, array in model.weights.items())
    (entry,) = made.metadata_props
    assert entry.key == "handcraft.json"
    assert read_manifest(entry.value).config == model.config
    assert (made.producer_name, made.producer_version) == ("handcraft", handcraft.__version__)


def test_patterns_are_outputs_only_where_they_are_asked_for() -> None:
    model = model_of(random_source_weights())
    assert names(session(model, patterns=False)) == ["logits"]
    assert names(session(model)) == [
        "logits",
        *("encoder.h.0.attn.pattern", "encoder.h.2.attn.pattern"),
        *("h.0.attn.pattern", "h.0.crossattention.pattern", "h.1.crossattention.pattern"),
        "h.2.attn.pattern",
    ]


def test_the_same_model_gives_the_same_bytes() -> None:
    first, second = (onnx_model(random_model(3), patterns=True) for _ in range(2))
    assert first == second
    assert first != onnx_model(random_model(4), patterns=True)


def test_a_model_that_is_too_large_for_one_file_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onnx_export, "LARGEST", 1000)
    with pytest.raises(HandcraftError, match="more than the 1000 that an ONNX file can have"):
        onnx_model(random_model())


def test_a_missing_library_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(HandcraftError, match="the extra `export`") as caught:
        onnx_model(random_model())
    assert caught.value.code == "missing-extra"


def model_of(weights: Weights) -> Model:
    """Return weights over letters as a model."""
    config, encoder = weights.config, weights.config.encoder
    if encoder is None:
        return Model(weights, letters(config), Description("logits"))
    return Model(weights, letters(config), replace(SEQUENCES, kind="logits"), letters(encoder))


def letters(config: Config) -> Vocabulary:
    return vocabulary("characters", "abcdefghijklm"[: config.n_vocab - config.start])


def proved_error(model: Model, format_: str) -> float:
    """Return how far logits are at most from the exact ones."""
    assert model.certificate is not None
    verdict = model.certificate.verdict(format_)
    assert verdict is not None
    assert verdict.proved
    return verdict.error


def assert_alike(model: Model, tolerance: float | None = None) -> None:
    """Compare a model with its file on batches of several lengths, patterns included."""
    made = session(model)
    for batch in batches(model):
        assert_equal(model, made, batch, tolerance)


def assert_equal(
    model: Model, made: InferenceSession, batch: Input, tolerance: float | None = None
) -> None:
    """Compare all outputs, logits within a tolerance, or else a small multiple of rounding."""
    source = None if batch.source is None else read_source(model.parameters, batch.source)
    trace = forward(model.parameters, batch.ids, source=source)
    found = run(made, batch)
    assert found["logits"].dtype == trace.logits.dtype
    rounding = 64 * float(np.finfo(trace.logits.dtype).eps)
    if tolerance is None:
        tolerance = rounding * (1 + float(abs(trace.logits).max()))
    np.testing.assert_allclose(found.pop("logits"), trace.logits, rtol=0, atol=tolerance)
    expected = patterns(trace)
    assert set(found) == set(expected)
    for name, pattern in found.items():
        np.testing.assert_allclose(pattern, expected[name], rtol=0, atol=rounding, err_msg=name)


def session(model: Model, *, patterns: bool = True) -> InferenceSession:
    """Return the model in ONNX Runtime, with all its optimisations, in one thread."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    file = onnx_model(model, patterns=patterns)
    return runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def names(made: InferenceSession) -> list[str]:
    return [output.name for output in made.get_outputs()]


def run(made: InferenceSession, batch: Input) -> dict[str, Array]:
    """Return all outputs by name."""
    feed = {"input_ids": batch.ids}
    if batch.source is not None:
        feed = {"input_ids": batch.source, "decoder_input_ids": batch.ids}
    return dict(zip(names(made), made.run(None, feed), strict=True))


def batches(model: Model) -> Iterator[Input]:
    """Yield random texts of the shortest length, the longest, and one between them."""
    draw = drawing(np.random.default_rng(0))
    hidden = model.config.start + (model.vocabulary.bos is not None)
    for length in sorted({max(hidden, 1), (hidden + model.config.n_ctx) // 2, model.config.n_ctx}):
        ids = draw(model.config, model.vocabulary, max(length, 1))
        encoder, words = model.config.encoder, model.source_vocabulary
        if encoder is None or words is None:
            yield Input(ids)
        else:
            yield Input(ids, draw(encoder, words, max(1 + encoder.start, encoder.n_ctx - length)))


def drawing(generator: np.random.Generator) -> Callable[[Config, Vocabulary, int], Ids]:
    """Return a function that draws sequences which begin with what the model begins with."""

    def draw(config: Config, words: Vocabulary, length: int) -> Ids:
        possible = [words.id(t) for t in words.tokens if t not in {words.bos, words.eos}]
        ids = generator.choice(possible, (BATCH, length))
        begin = [] if config.start_id is None else [config.start_id]
        begin += [] if words.bos is None else [words.id(words.bos)]
        ids[:, : len(begin)] = begin
        return ids

    return draw


def patterns(trace: Trace) -> Mapping[str, Array]:
    """Return the patterns of a trace under the names that outputs have."""
    found: dict[str, Array] = {}
    stacks = {"": trace.layers, "encoder.": () if trace.encoder is None else trace.encoder.layers}
    for prefix, layers in stacks.items():
        for number, layer in enumerate(layers):
            if layer.attention is not None:
                found[f"{prefix}h.{number}.attn.pattern"] = layer.attention.pattern
            if layer.cross is not None:
                found[f"{prefix}h.{number}.crossattention.pattern"] = layer.cross.pattern
    return found
