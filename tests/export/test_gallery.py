"""Every causal program of the gallery in PyTorch and in ONNX Runtime: the same answers as ours.

Inputs are all texts of up to five tokens (of a pattern, all beginnings of words; of other programs
with many tokens, random ones), and random texts that fill the context. Only positions at which the
program has a meaning are compared. Logits are held against the exact ones: those of the native
model in float64, up to its own certified error.
"""

from __future__ import annotations

from itertools import islice, product
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from program_files import FILES, GALLERY
from texts import inputs

import handcraft
from handcraft.exporting.export import export
from handcraft.exporting.onnx import onnx_model
from handcraft.language.values import Undefined
from handcraft.runtime.transformer import forward

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from onnxruntime import InferenceSession

    from handcraft.runtime.certificate import Verdict
    from handcraft.runtime.guide import Guide
    from handcraft.runtime.model import Model
    from handcraft.runtime.transformer import Mask
    from handcraft.runtime.vocabulary import Token
    from handcraft.runtime.weights import Array

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
onnxruntime = pytest.importorskip("onnxruntime")

LENGTH = 5
MOST = 60_000
OF_OTHERS = 4_000
"""So many short texts of the programs that are not in the gallery."""

RANDOM = 1000
CAUSAL = [
    path
    for path in sorted([*FILES, *(GALLERY / "patterns").glob("*.rasp")])
    if handcraft.parse(path).causal
]


class Texts(NamedTuple):
    """Texts of one length.

    Attributes:
        ids: `[n_text, n_seq]`, start token and `bos` included.
        logits: exact ones of what may be said, `[n_text, n_seq, n_said]`.
        meant: the positions at which the program has a meaning, `[n_text, n_seq]`.
    """

    ids: Array
    logits: Array
    meant: Mask


@pytest.mark.parametrize("path", CAUSAL, ids=lambda path: path.stem)
def test_the_same_tokens_are_best_in_every_software(path: Path, tmp_path: Path) -> None:
    program = handcraft.parse(path)
    native = handcraft.compile(program)
    certificate = export(native, tmp_path / "stock", to="gpt2")
    assert certificate is not None
    verdict, own = certificate.verdict("float32"), _verdict(native)
    assert verdict is not None
    assert verdict.proved
    every = [*_texts(program, path)]
    exact = _verdict(handcraft.compile(program, dtype="float64")).error
    session = _session(native)
    for texts in every:
        (found,) = session.run(["logits"], {"input_ids": texts.ids})
        said = found[..., _said(native)]
        _assert_same(texts, said, own.margin, own.error + exact)
    for kernel in ("eager", "sdpa"):
        model = transformers.AutoModelForCausalLM.from_pretrained(
            tmp_path / "stock", attn_implementation=kernel
        )
        assert model.config._attn_implementation == kernel
        for texts in every:
            with torch.no_grad():
                found = model(torch.from_numpy(texts.ids)).logits.numpy()
            first = native.config.n_vocab if native.description.kind == "output" else 0
            columns = [first + column for column in _said(native)]
            said = found[..., columns]
            _assert_same(texts, said, verdict.margin, verdict.error + exact)
            others = np.delete(found, columns, axis=-1)
            lead = said.max(axis=-1) - others.max(axis=-1, initial=-np.inf)
            assert (lead[texts.meant] > verdict.margin / 2).all()


PREDICTS = [path for path in CAUSAL if "\noutput " not in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", PREDICTS, ids=lambda path: path.stem)
def test_generation_is_ours_within_the_context(path: Path, tmp_path: Path) -> None:
    program = handcraft.parse(path)
    native = handcraft.compile(program)
    export(native, tmp_path / "stock", to="gpt2")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "stock")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "stock")
    room = program.context - (native.vocabulary.bos is not None)
    compared = 0
    for text in _prompts(program, path.stem, room):
        try:
            program.complete(list(text), room - len(text))
        except handcraft.HandcraftError:
            continue
        expected = native.complete(list(text), room - len(text))
        ids = tokenizer(native.vocabulary.join(text), return_tensors="pt").input_ids
        assert ids[0].tolist() == native.encode(list(text)).tolist()
        made = model.generate(ids, do_sample=False, max_new_tokens=room - len(text))
        said = tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)
        compared += 1
        if native.stop_reason == "finished":
            assert said.startswith(expected)
        else:
            assert said.lstrip() == expected, text
    assert compared


def _assert_same(texts: Texts, said: Array, margin: float, error: float) -> None:
    """Fail unless logits are near the exact ones, and the best ones are the same."""
    exact, found = texts.logits[texts.meant], said[texts.meant].astype(np.float64)
    assert np.isfinite(found).all()
    assert np.abs(found - exact).max() <= error
    best = exact >= exact.max(axis=-1, keepdims=True) - margin / 2
    assert (best == (found >= found.max(axis=-1, keepdims=True) - margin / 2)).all()


def _texts(program: handcraft.Program, path: Path) -> Iterator[Texts]:
    """Yield short texts and long ones, each with what is exactly right."""
    name, most = path.stem, MOST if path.is_relative_to(GALLERY) else OF_OTHERS
    native = handcraft.compile(program, dtype="float64")
    vocabulary = program.typed.vocabulary
    tokens = [token for token in vocabulary.tokens if token != vocabulary.bos]
    room = program.context - (vocabulary.bos is not None)
    chance = Random(name)
    for length in range(1, min(LENGTH, room) + 1):
        if program.guide is not None:
            drawn = [*_beginnings(program.guide, length)]
        elif len(tokens) ** length <= most:
            drawn = [*product(tokens, repeat=length)]
        else:
            drawn = [*islice(inputs(name, program, length, chance), most // 2)]
        if drawn and (told := _told(program, native, drawn)).meant.any():
            yield told
    drawn = [*islice(inputs(name, program, room, chance), RANDOM)]
    if program.guide is not None:
        drawn = [_word(program.guide, room, chance) for _ in range(RANDOM)]
    for length in sorted({len(text) for text in drawn}):
        told = _told(program, native, [text for text in drawn if len(text) == length])
        assert told.meant.any()
        yield told


def _beginnings(guide: Guide, length: int) -> Iterator[tuple[Token, ...]]:
    """Yield all beginnings of words of a pattern that have a length."""
    known: list[tuple[tuple[Token, ...], int]] = [((), 0)]
    for _ in range(length):
        known = [
            ((*text, token), after)
            for text, state in known
            for token, after in zip(guide.symbols, guide.rows[state], strict=True)
            if after is not None
        ]
    return (text for text, _ in known)


def _word(guide: Guide, length: int, chance: Random) -> tuple[Token, ...]:
    """Return the beginning of a word of a pattern, of that length if one is so long."""
    text: list[Token] = []
    state = 0
    while len(text) < length and guide.following(state):
        token = chance.choice(guide.following(state))
        after = guide.rows[state][guide.symbols.index(token)]
        assert after is not None
        text.append(token)
        state = after
    return tuple(text)


def _told(program: handcraft.Program, native: Model, drawn: list[tuple[Token, ...]]) -> Texts:
    ids = np.array([native.encode(list(text)) for text in drawn])
    logits = forward(native.parameters, ids).logits[..., _said(native)]
    meant = np.zeros(ids.shape, dtype=np.bool_)
    for row, text in zip(meant, drawn, strict=True):
        meaning = program.meaning(list(text))
        known = [not isinstance(answer, Undefined) for answer in meaning.answers]
        row[len(row) - len(known) :] = known if meaning.in_scope else False
    return Texts(ids, logits, meant)


def _said(native: Model) -> list[int]:
    """Return the columns of what a model may say."""
    if native.description.kind == "output":
        return [*range(native.config.n_out)]
    vocabulary = native.vocabulary
    return [vocabulary.id(token) for token in vocabulary.tokens if token != vocabulary.bos]


def _prompts(program: handcraft.Program, name: str, room: int) -> Iterator[tuple[Token, ...]]:
    """Yield texts that a model could go on with: those of examples, and random ones."""
    vocabulary = program.typed.vocabulary
    for example in program.examples:
        text = example.input[vocabulary.bos is not None :]
        if 0 < len(text) < room:
            yield text
    chance = Random(name)
    for length in range(min(4, room - 1), room):
        yield from islice(inputs(name, program, length, chance), 6)


def _verdict(model: Model) -> Verdict:
    assert model.certificate is not None
    found = model.certificate.verdict(model.parameters.dtype.name)
    assert found is not None
    return found


def _session(native: Model) -> InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        onnx_model(native), options, providers=["CPUExecutionProvider"]
    )
