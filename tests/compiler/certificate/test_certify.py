"""Verdicts: what is proved, what is not and why, and what scales follow from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_files import FILES, GALLERY

import handcraft
from handcraft.checking import check
from handcraft.compiler.assemble import assemble, config_of
from handcraft.compiler.certificate.certify import bounds, certify, least
from handcraft.compiler.certificate.corruption import checked
from handcraft.compiler.certificate.scales import Scaling
from handcraft.compiler.graph import Head
from handcraft.compiler.pipeline import compile_program
from handcraft.errors import ProgramError
from handcraft.runtime.weights import Weights

TESTS = Path(__file__).parents[2]
PROGRAMS = TESTS.parent / "programs"

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@every_file
def test_every_program_is_proved_in_float32_and_float64_at_every_level(path: Path) -> None:
    program = handcraft.parse(path)
    for level in (0, 1, 2):
        certificate = handcraft.compile(program, optimize=level).certificate
        assert certificate is not None
        assert {"float32", "float64"} <= set(certificate.proved), (level, certificate.verdicts)


def test_counting_is_proved_at_context_256_in_float32() -> None:
    for text in (
        "output selector_width(select(tokens, tokens, ==));",
        'output count_so_far(tokens, "a");',
    ):
        model = handcraft.compile(f'vocab "ab"; context 256; {text}')
        assert model.certificate is not None
        verdict = model.certificate.verdict("float32")
        assert verdict is not None
        assert verdict.proved
        assert 0 < verdict.error < np.inf


def test_what_a_format_cannot_hold_is_refused_where_it_is() -> None:
    text = 'vocab "ab"; context 9;\noutput selector_width(select(tokens, tokens, ==));'
    with pytest.raises(handcraft.HandcraftError, match="not proved in float16") as caught:
        handcraft.compile(text, dtype="float16")
    assert caught.value.code == "format"
    assert caught.value.span is not None
    assert caught.value.span.line == 2


def test_what_is_not_proved_can_be_allowed() -> None:
    model = handcraft.compile(PROGRAMS / "parity.rasp", dtype="float16", allow_unproved=True)
    assert model.certificate is not None
    verdict = model.certificate.verdict("float16")
    assert verdict is not None
    assert not verdict.proved
    assert "can be off by" in verdict.reason
    assert {"float64", "float32"} <= set(model.certificate.proved)


def test_nothing_leaks_unless_the_least_gap_is_asked_for() -> None:
    model = handcraft.compile(PROGRAMS / "induction.rasp")
    assert model.certificate is not None
    assert all(head.leaks[:2] == (0, 0) for head in model.certificate.heads)
    least_ = handcraft.compile(PROGRAMS / "induction.rasp", gap="least")
    assert least_.certificate is not None
    assert "float32" in least_.certificate.proved
    assert all(0 < head.leaks[1] < 0.1 for head in least_.certificate.heads)


@pytest.mark.parametrize("stem", ["aab", "induction", "hist", "sort", "echo", "recall"])
def test_a_model_of_the_least_gap_is_right_and_a_smaller_one_is_not_proved(stem: str) -> None:
    program = handcraft.parse(PROGRAMS / f"{stem}.rasp")
    compiled = compile_program(program, gap="least")
    report = check(program, {"float32": compiled.model}, longest=3, random=20)
    assert report.holds, report
    scaling = least(compiled.placed, compiled.model.config, ("float32",))
    assert scaling.halvings > 0
    smaller = Scaling(scaling.halvings + 1)
    verdict = certify(compiled.placed, compiled.model.config, smaller).verdict("float32")
    assert verdict is not None
    assert not verdict.proved


def test_the_published_scale_leaks_what_was_published() -> None:
    model = handcraft.compile(PROGRAMS / "aab.rasp", scale=1024, dtype="float64")
    assert model.certificate is not None
    (head,) = model.certificate.heads
    assert head.leaks[0] < 1e-100
    assert "float64" in model.certificate.proved


@pytest.mark.parametrize("scale", [0, -2, 3, 1000, True, 2.0])
def test_a_scale_is_a_power_of_two(scale: int) -> None:
    with pytest.raises(handcraft.HandcraftError, match="a scale is a power of two"):
        handcraft.compile(PROGRAMS / "aab.rasp", scale=scale)


@pytest.mark.parametrize("exponent", [65, 5_000, 20_000])
def test_a_scale_is_a_number_that_formats_hold(exponent: int) -> None:
    with pytest.raises(handcraft.HandcraftError, match="a scale is at most 18446744073709551616"):
        handcraft.compile(PROGRAMS / "aab.rasp", scale=2**exponent)


def test_gap_and_scale_exclude_each_other() -> None:
    with pytest.raises(handcraft.HandcraftError, match="both say how scores are scaled"):
        handcraft.compile(PROGRAMS / "aab.rasp", scale=1024, gap="least")


@settings(max_examples=40)
@given(st.data())
def test_a_corrupted_weight_breaks_the_proof(data: st.DataObject) -> None:
    stem = data.draw(st.sampled_from(["aab", "hist", "induction", "sort"]))
    compiled = compile_program(handcraft.parse(PROGRAMS / f"{stem}.rasp"))
    header = compiled.program.typed.header
    weights = compiled.model.parameters
    certificate = compiled.model.certificate
    assert certificate is not None
    assert checked(certificate, weights, compiled.placed, header) == certificate
    name = data.draw(st.sampled_from(sorted(weights.arrays)))
    array = weights[name].copy()
    place = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    array[place] += data.draw(st.sampled_from([-3.0, -0.01, 0.5]))
    wrong = Weights(weights.config, {**weights.arrays, name: array})
    found = checked(certificate, wrong, compiled.placed, header)
    assert "float32" not in found.proved
    verdict = found.verdict("float32")
    assert verdict is not None
    assert verdict.reason.startswith(f"`{name}` at {list(place)} is ")


def test_scores_that_come_too_close_break_the_proof() -> None:
    compiled = compile_program(handcraft.parse(PROGRAMS / "induction.rasp"))
    placed = compiled.placed
    last = [op for op in placed.graph.ops if isinstance(op, Head)][-1]
    blunt = {last.name: replace(last, gap=last.gap * 2000)}
    layers = tuple(
        replace(layer, heads=tuple(blunt.get(h.name, h) for h in layer.heads))
        for layer in placed.layers
    )
    changed = replace(placed, layers=layers)
    assert "float32" in certify(placed, compiled.model.config).proved
    assert "float32" not in certify(changed, compiled.model.config).proved


def test_bounds_contain_the_exact_values_of_embeddings() -> None:
    compiled = compile_program(handcraft.parse(PROGRAMS / "hist.rasp"))
    config = config_of(compiled.placed, compiled.program.typed.header)
    stream = bounds(compiled.placed, config).stream
    weights = assemble(compiled.placed, compiled.program.typed.header, "float64")
    for embedding in compiled.placed.graph.embeddings:
        for i in range(len(embedding.rows[0])):
            place = stream.index[(embedding.variable, i)]
            column = compiled.placed.columns[(embedding.variable, i)]
            sums = weights["wte.weight"][:, column].max() + weights["wpe.weight"][:, column].max()
            assert sums <= max(stream.high[place], stream.at_start[place])


def test_a_refusal_names_the_nearest_level_that_is_proved() -> None:
    program = handcraft.parse(GALLERY / "induction.rasp")
    with pytest.raises(ProgramError) as caught:
        handcraft.compile(program, optimize=2, dtype="float16")
    assert str(caught.value.help).startswith("compile at level 1, where it is proved; or use")
    handcraft.compile(program, optimize=1, dtype="float16")
