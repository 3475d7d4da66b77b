"""Encoder and cross-attention against loops, and their laws."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from encoder_decoder_by_loops import Loops
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_models import random_weights, stock_config
from source_models import random_source_weights, source_config

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.cache import empty_cache, extend
from handcraft.runtime.config import Config, LayerConfig, NormPlace
from handcraft.runtime.encoder_decoder import read_source
from handcraft.runtime.transformer import forward, softmax
from handcraft.runtime.weights import Weights

if TYPE_CHECKING:
    from handcraft.runtime.trace import Trace

SOURCE = np.array([6, 0, 7, 3])
IDS = np.array([3, 8, 0, 3, 5])
NOTHING = np.array([], dtype=np.int64)


def run(weights: Weights, source: list[int], ids: list[int]) -> Trace:
    return forward(weights, np.array(ids), source=read_source(weights, np.array(source, int)))


@pytest.mark.parametrize("norm", [None, "before", "after"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("n_source", [4, 1])
def test_logits_equal_those_of_loops(norm: NormPlace | None, tied: bool, n_source: int) -> None:
    weights = random_source_weights(norm, tied=tied)
    source = SOURCE[:n_source].tolist()
    loops = Loops(
        {name: array.tolist() for name, array in weights.arrays.items()},
        norm or "none",
        weights.config.layer_norm_epsilon,
    )
    expected = loops.logits(
        source, IDS.tolist(), encoder_heads=[2, 0, 1], heads=[3, 0, 2], cross_heads=[2, 1, 0]
    )
    found = run(weights, source, IDS.tolist()).logits
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_source", [4, 1, 0])
def test_cross_attention_equals_that_of_loops(n_source: int) -> None:
    weights = random_source_weights()
    loops = Loops({n: array.tolist() for n, array in weights.arrays.items()}, "none", 0.0)
    trace = run(weights, SOURCE[:n_source].tolist(), IDS.tolist())
    encoded = loops.encode(SOURCE[:n_source].tolist(), [2, 0, 1])
    expected = loops.across("h.0", trace["resid_mid.0"].tolist(), encoded, 2)
    np.testing.assert_allclose(trace["cross_attn_out.0"], expected, rtol=1e-12, atol=1e-12)
    assert trace["cross_pattern.0"].shape == (2, 5, n_source)


@pytest.mark.parametrize("start", [False, True])
def test_sources_of_unequal_lengths_in_a_batch_say_what_they_say_alone(start: bool) -> None:
    weights = random_source_weights("after", start=start)
    first = [7] if start else []
    sources = [[*first, 1, 2, 3, 4], [*first], [*first, 6], [*first, 0, 5]]
    targets = [[3], [1, 2, 3], [4, 4, 4, 4, 4, 4], [0, 8]]
    lengths = np.array([len(source) for source in sources])
    padded = np.array([source + [0] * (lengths.max() - len(source)) for source in sources])
    target_lengths = np.array([len(ids) for ids in targets])
    batch = forward(
        weights,
        np.array([ids + [0] * (6 - len(ids)) for ids in targets]),
        target_lengths,
        read_source(weights, padded, lengths),
    ).logits
    assert np.isfinite(batch).all()
    for rows, source, ids in zip(batch, sources, targets, strict=True):
        alone = run(weights, source, ids).logits
        np.testing.assert_allclose(rows[: len(ids)], alone, rtol=1e-12, atol=1e-12)


def test_a_query_that_sees_no_source_mixes_nothing() -> None:
    weights = random_source_weights()
    trace = forward(weights, IDS, source=read_source(weights, NOTHING))
    bias = weights["h.0.crossattention.c_proj.bias"]
    assert np.array_equal(trace["cross_attn_out.0"], np.broadcast_to(bias, (5, 12)))
    assert np.isfinite(trace.logits).all()


def test_a_row_without_a_visible_entry_has_no_shares() -> None:
    rows = np.array([[-np.inf, -np.inf], [-np.inf, -1e300], [0.0, 0.0]])
    assert softmax(rows).tolist() == [[0, 0], [0, 1], [0.5, 0.5]]
    assert softmax(np.zeros((3, 0))).shape == (3, 0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 3), st.integers(1, 7))
def test_every_target_position_reads_the_whole_source(place: int, change: int) -> None:
    weights = random_source_weights()
    changed = SOURCE.copy()
    changed[place] = (changed[place] + change) % 8
    one, other = (run(weights, list(s), IDS.tolist()).logits for s in (SOURCE, changed))
    assert (np.abs(one - other).max(axis=-1) > 1e-9).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4))
def test_a_target_position_does_not_depend_on_later_ones(place: int) -> None:
    weights = random_source_weights()
    changed = IDS.copy()
    changed[place:] = (changed[place:] + 1) % 9
    one, other = (run(weights, SOURCE.tolist(), list(ids)).logits for ids in (IDS, changed))
    assert np.array_equal(one[:place], other[:place])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 4))
def test_the_cache_of_both_attentions_gives_the_logits_of_the_full_pass(
    pieces: list[int], n_source: int
) -> None:
    weights = random_source_weights("after")
    source = read_source(weights, SOURCE[:n_source])
    cache = empty_cache(weights, source)
    read = []
    for size in pieces:
        ids = IDS[cache.length : cache.length + size]
        if len(ids):
            cache, logits = extend(weights, cache, ids)
            read.append(logits)
    full = forward(weights, IDS[: cache.length], source=source).logits
    np.testing.assert_allclose(np.concatenate(read), full, rtol=1e-12, atol=1e-12)
    assert cache.source is source


def test_keys_and_values_of_the_source_are_those_that_the_heads_read() -> None:
    weights = random_source_weights()
    source = read_source(weights, SOURCE)
    trace = forward(weights, IDS, source=source)
    assert [read.k.shape for read in source.read] == [(2, 4, 5), (1, 4, 14), (0, 4, 0)]
    assert np.array_equal(trace["cross_k.1"], source.read[1].k)
    assert np.array_equal(trace["cross_v.1"], source.read[1].v)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_every_activation_keeps_the_format_of_the_weights(dtype: str) -> None:
    norms: tuple[NormPlace, ...] = ("before", "after")
    for norm in norms:
        trace = run(random_source_weights(norm, dtype=dtype), SOURCE.tolist(), IDS.tolist())
        assert {array.dtype.name for array in trace.named().values()} == {dtype}


def test_the_trace_tells_of_the_encoder_and_of_the_cross_heads_by_name() -> None:
    trace = run(random_source_weights(), SOURCE.tolist(), IDS.tolist())
    assert trace.encoder is not None
    assert trace["encoder.final"] is trace.encoder.final
    names = [name for name in trace if name.endswith(".1") and not name.startswith("encoder.")]
    assert names == [
        *("resid_pre.1", "resid_mid.1", "cross_attn_in.1", "cross_q.1", "cross_k.1", "cross_v.1"),
        *("cross_scores.1", "cross_pattern.1", "cross_mixed.1", "cross_attn_out.1"),
        *("resid_mid_cross.1", "resid_post.1"),
    ]
    assert trace["cross_pattern.1"].shape == (1, 5, 4)
    assert trace["encoder.pattern.0"].shape == (2, 4, 4)
    np.testing.assert_allclose(
        trace["resid_mid_cross.0"], trace["resid_mid.0"] + trace["cross_attn_out.0"], rtol=1e-15
    )


def test_norms_after_the_sublayers_leave_every_row_with_mean_0_and_variance_1() -> None:
    weights = random_source_weights("after")
    plain = {
        name: np.full(array.shape, float(name.endswith("weight")))
        for name, array in weights.arrays.items()
        if ".ln_" in name
    }
    trace = run(Weights(weights.config, {**weights.arrays, **plain}), SOURCE.tolist(), IDS.tolist())
    for name in ("resid_mid.0", "resid_mid_cross.0", "resid_post.0", "encoder.resid_post.0"):
        np.testing.assert_allclose(trace[name].mean(axis=-1), 0, atol=1e-12)
        np.testing.assert_allclose(trace[name].var(axis=-1), 1, rtol=1e-3)
    assert trace.final is trace["resid_post.2"]
    assert "ln_f.weight" not in weights.arrays


def test_ids_of_a_source_that_do_not_fit_are_refused() -> None:
    weights = random_source_weights()
    with pytest.raises(InputError, match="6 ids are more than the 5 of the source"):
        read_source(weights, np.zeros(6, int))
    with pytest.raises(InputError, match="ids are from 0 to 7"):
        read_source(weights, np.array([8]))


def test_overflow_in_the_encoder_is_refused_and_located() -> None:
    weights = random_source_weights(dtype="float16")
    large = np.full_like(weights["encoder.wte.weight"], 6e4)
    with pytest.raises(
        HandcraftError, match="in the encoder, `q, k, v of layer 0` leaves"
    ) as caught:
        read_source(
            Weights(weights.config, {**weights.arrays, "encoder.wte.weight": large}), SOURCE
        )
    assert caught.value.code == "not-finite"


def test_overflow_in_the_cross_heads_is_refused_and_located() -> None:
    weights = random_source_weights("after", dtype="float16")
    large = np.full_like(weights["h.1.crossattention.q_attn.weight"], 3e4)
    arrays = {**weights.arrays, "h.1.crossattention.q_attn.weight": large}
    with pytest.raises(HandcraftError, match="of the cross heads of layer 1` leaves the range"):
        run(Weights(weights.config, arrays), SOURCE.tolist(), IDS.tolist())


def test_a_model_without_source_and_a_source_without_model_are_faults_of_the_caller() -> None:
    weights = random_source_weights()
    with pytest.raises(AssertionError, match="an encoder reads the source"):
        forward(weights, IDS)
    with pytest.raises(AssertionError, match="only a model with an encoder reads a source"):
        read_source(random_weights(stock_config()), SOURCE)


ENCODER = source_config().encoder


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"encoder": None}, "layer 0 has cross heads, but the model has no encoder to read"),
        (
            {"layers": (LayerConfig(1, 2, 3, 4, 0),)},
            "layer 0 has 4 cross heads of width 0",
        ),
        (
            {"layers": (LayerConfig(1, 2, 3, -1, 2),)},
            "n_cross of layer 0 is a whole number from 0, not `-1`",
        ),
        ({"norm_place": "within"}, "norm_place is one of before, after, not `within`"),
        ({"encoder": source_config()}, "an encoder has no encoder of its own"),
        (
            {"encoder": Config(2, 3, 4, 3, ())},
            "an encoder reads in both directions, not `causal`",
        ),
        (
            {"encoder": Config(2, 3, 4, 3, (), attention="bidirectional", tied=False)},
            "an encoder has no unembedding of its own",
        ),
    ],
)
def test_configs_that_are_no_encoder_decoder_are_refused(
    change: dict[str, object], told: str
) -> None:
    with pytest.raises(HandcraftError) as caught:
        replace(source_config(), **change)  # type: ignore[arg-type]
    assert caught.value.message == told


def test_arrays_of_the_encoder_are_checked_and_counted() -> None:
    weights = random_source_weights()
    assert weights.encoder is not None
    assert weights.encoder["wte.weight"].tolist() == weights["encoder.wte.weight"].tolist()
    inside = sum(array.size for array in weights.encoder.arrays.values())
    beside = sum(a.size for n, a in weights.arrays.items() if not n.startswith("encoder."))
    assert weights.n_parameters == inside + beside
    arrays = dict(weights.arrays)
    del arrays["encoder.h.0.mlp.c_fc.bias"]
    with pytest.raises(HandcraftError, match=r"array `encoder\.h\.0\.mlp\.c_fc\.bias` is missing"):
        Weights(weights.config, arrays)
