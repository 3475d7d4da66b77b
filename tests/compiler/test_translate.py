"""The encoder-decoders of the gallery, compiled: every short source, every level, both formats."""

from __future__ import annotations

from itertools import product
from random import Random
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from program_files import GALLERY, WITH_SOURCE

import handcraft
from handcraft.checking import check
from handcraft.explain import explain, explain_lines, explain_run
from handcraft.trials import random_cases

if TYPE_CHECKING:
    from pathlib import Path

SPANISH = {"hello": "hola", "world": "mundo", "how": "cómo", "?": "?"}
LEVELS = (0, 1, 2)
FORMATS = ("float32", "float64")
SENTENCES = [words for n in range(6) for words in product(SPANISH, repeat=n)]


@pytest.fixture(scope="module")
def translate() -> handcraft.Program:
    return handcraft.parse(GALLERY / "translate.rasp")


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_sentence_up_to_five_words_is_translated(
    translate: handcraft.Program, level: int, dtype: str
) -> None:
    model = handcraft.compile(translate, optimize=level, dtype=dtype)
    written = model.complete(SENTENCES)
    assert written == [" ".join(SPANISH[word] for word in words) for words in SENTENCES]
    assert set(model.stop_reasons) == {"eos"}
    assert [g.steps for g in model.generations] == [len(words) + 1 for words in SENTENCES]


def test_each_step_is_by_the_same_weights(translate: handcraft.Program) -> None:
    model = handcraft.compile(translate)
    steps = ["", "hola", "hola mundo"]
    assert [model.predict("hello world", done) for done in steps] == ["hola", "mundo", "EOS"]
    assert model.run("hello world", "hola mundo") == ["mundo", "EOS"]
    sure = {"hola": 1.0, "mundo": 0.0, "cómo": 0.0, "?": 0.0, "SOS": 0.0, "EOS": 0.0}
    assert model.probabilities("hello world") == sure


def test_sources_of_unequal_length_are_read_side_by_side(translate: handcraft.Program) -> None:
    model = handcraft.compile(translate, optimize=2)
    sources = ["how ?", "", "hello hello world how ? ? how"]
    alone = [model.predict(source, "hola") for source in sources]
    assert model.predict(sources, "hola") == alone == ["?", "EOS", "hola"]


@pytest.mark.parametrize("path", WITH_SOURCE, ids=lambda path: path.stem)
def test_an_encoder_decoder_compiles_in_under_a_second(path: Path) -> None:
    program = handcraft.parse(path)
    handcraft.compile(program)
    begin = process_time()
    handcraft.compile(program, optimize=2)
    assert process_time() - begin < 1


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("path", WITH_SOURCE, ids=lambda path: path.stem)
def test_a_program_of_the_gallery_is_what_it_means(path: Path, level: int) -> None:
    program = handcraft.parse(path)
    models = {f: handcraft.compile(program, optimize=level, dtype=f) for f in FORMATS}
    report = check(program, models, longest=4, random=60)
    assert report.holds, report
    assert report.in_scope == report.every + report.random == 121 + 60
    assert report.without_meaning == 0
    assert program.examples


@pytest.mark.parametrize("path", WITH_SOURCE, ids=lambda path: path.stem)
def test_a_model_is_proved_stored_and_read_again(path: Path, tmp_path: Path) -> None:
    program = handcraft.parse(path)
    model = handcraft.compile(program, optimize=2)
    assert model.certificate is not None
    assert {"float32", "float64"} <= set(model.certificate.proved)
    model.save(tmp_path / "model.npz")
    again = handcraft.load(tmp_path / "model.npz")
    assert again.description == model.description
    assert again.source_vocabulary == model.source_vocabulary
    assert all(np.array_equal(again.weights[n], array) for n, array in model.weights.items())
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    for example in program.examples:
        assert again.complete(example.input) == example.expected
        assert again.stop_reason == "eos"


def test_the_certificate_tells_heads_of_both_sequences_apart() -> None:
    model = handcraft.compile(GALLERY / "translate_reorder.rasp", optimize=2)
    assert model.certificate is not None
    kinds = {(head.sequence, head.across) for head in model.certificate.heads}
    assert kinds == {("source", False), ("tokens", True)}
    assert {each.sequence for each in model.certificate.thresholds} <= {"source"}


def test_a_format_that_is_not_proved_is_refused_where_the_encoder_is_the_cause() -> None:
    text = (GALLERY / "transliterate.rasp").read_text(encoding="utf-8")
    longer = text.replace("context 6;", "context 40;").replace("context 13;", "context 81;")
    with pytest.raises(handcraft.HandcraftError) as caught:
        handcraft.compile(longer, dtype="float16")
    assert "format: not proved in float16: this " in str(caught.value)
    assert "begins = sum(source.before, width);" in str(caught.value)


def test_the_model_explains_both_sequences(translate: handcraft.Program) -> None:
    model = handcraft.compile(translate)
    told = explain(model)
    assert "source: context 8, tokens hello world how ?\n" in told
    assert "encoder residual stream: 13 directions\n" in told
    assert "layer 0: no heads, 1 cross head of width 9, no MLP\n  cross head 0  " in told
    lines = explain_lines(handcraft.compile(GALLERY / "translate_reorder.rasp"))
    assert "; encoder directions " in lines
    assert "cross head 0.0" in lines


def test_a_run_shows_what_each_step_looks_at(translate: handcraft.Program) -> None:
    run = explain_run(handcraft.compile(translate), "hello world")
    assert (
        "        start hello world\n"
        "    SOS     .     1     .\n"
        "   hola     .     .     1\n"
        "  mundo     1     .     .\n"
    ) in run
    assert run.endswith("answers\n    SOS  hola\n   hola  mundo\n  mundo  EOS\n")
    shorter = explain_run(handcraft.compile(translate), "hello world", "mundo")
    assert shorter.endswith("answers\n    SOS  hola\n  mundo  mundo\n")


def test_an_encoder_without_a_reader_is_empty() -> None:
    text = 'source "ab"; vocab "ab"; context 3; bos "^"; eos "."; predict "a";'
    model = handcraft.compile(text)
    assert model.config.encoder is not None
    assert (model.config.encoder.d_model, model.config.encoder.layers) == (1, ())
    assert model.complete("ab") == "aaa"
    assert model.stop_reason == "context"


def test_a_budget_of_two_sequences_is_refused(translate: handcraft.Program) -> None:
    with pytest.raises(handcraft.HandcraftError, match="cannot be checked yet"):
        handcraft.compile(translate, budget={"layers": 1})


@pytest.mark.parametrize("path", WITH_SOURCE, ids=lambda path: path.stem)
def test_no_logit_is_further_off_than_the_certificate_says(path: Path) -> None:
    program = handcraft.parse(path)
    exact, rounded = (
        handcraft.compile(program, optimize=2, dtype=f) for f in ("float64", "float32")
    )
    assert exact.certificate is not None
    verdicts = [exact.certificate.verdict(f) for f in ("float64", "float32")]
    bound = sum(verdict.error for verdict in verdicts if verdict is not None)
    for tokens, source in random_cases(program, 60, Random(path.stem)):
        assert source is not None
        off = np.abs(exact.logits(source, tokens) - rounded.logits(source, tokens)).max()
        assert off <= bound
