"""What a pattern says comes out exactly: on all short texts, dead ones too, and on long walks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from languages import (
    A5,
    LANGUAGES,
    PYTHON,
    asked,
    automaton,
    every_text,
    expected,
    program,
    walks,
)

import handcraft
from handcraft.patterns.simulate import run
from handcraft.patterns.tables import from_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.patterns.automaton import Automaton
    from handcraft.runtime.model import Model

LONGEST = {2: 9, 3: 6, 4: 5}
"""The size of all texts that are tried, by the number of symbols."""

QUESTIONS = ("state", "accepts", "predict")


def assert_exact(model: Model, automaton: Automaton, question: str, texts: Sequence[str]) -> None:
    filled = [text for text in texts if text]
    for text, found in zip(filled, model.run_batch(filled), strict=True):
        right = expected(automaton, question, text)
        told = [None if r is None else f for r, f in zip(right, found, strict=True)]
        assert told == right, text


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", LANGUAGES)
def test_every_short_text(name: str, question: str) -> None:
    symbols, _ = LANGUAGES[name]
    size = LONGEST[len(symbols)]
    model = handcraft.compile(program(name, question, size))
    assert_exact(model, automaton(name), question, every_text(symbols, size))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", LANGUAGES)
def test_walks_at_context_32(name: str, question: str) -> None:
    model = handcraft.compile(program(name, question, 32))
    language = automaton(name)
    assert_exact(model, language, question, list(walks(language, 32, 60)))


@pytest.mark.parametrize("name", LANGUAGES)
def test_walks_at_context_64(name: str) -> None:
    model = handcraft.compile(program(name, "state", 64))
    language = automaton(name)
    assert_exact(model, language, "state", list(walks(language, 64, 40)))


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("question", ["next", "predict"])
@pytest.mark.parametrize("name", ["(aab)*", "two b", "no bb", "D3", "flip-flop", "date"])
def test_other_levels(name: str, question: str, level: int) -> None:
    symbols, _ = LANGUAGES[name]
    size = LONGEST[len(symbols)] - 2
    model = handcraft.compile(program(name, question, size), optimize=level)
    assert_exact(model, automaton(name), question, every_text(symbols, size))


@pytest.mark.parametrize("name", PYTHON)
def test_words_are_those_of_pythons_re(name: str) -> None:
    symbols, _ = LANGUAGES[name]
    size = LONGEST[len(symbols)] - 2
    model = handcraft.compile(program(name, "accepts", size))
    pattern = re.compile(PYTHON[name])
    texts = every_text(symbols, size)
    for text, found in zip(texts, model.run_batch(texts), strict=True):
        ends = range(1, size + 1)
        assert found == [pattern.fullmatch(text[:end]) is not None for end in ends], text


def test_the_alternating_group_of_five() -> None:
    group = from_table(A5, tuple("ab"))
    assert len(group) == 60
    model = handcraft.compile(f'vocab "ab"; context 8; output state({asked(A5)});')
    assert_exact(model, group, "state", every_text("ab", 8))
    assert model.config.n_layer == 3


@pytest.mark.parametrize("name", ["(aab)*", "a*b*", "two b", "D3"])
def test_start_and_end_tokens_stand_around_a_text(name: str) -> None:
    symbols, pattern = LANGUAGES[name]
    source = f'vocab "{symbols}"; context 8; bos "^"; eos "."; predict next({asked(pattern)});'
    model, language = handcraft.compile(source), automaton(name)
    for text in ["", *every_text(symbols, 6)]:
        found = run(language, text)
        if not all(found.alive):
            continue
        state = found.states[-1] if text else language.start
        allowed = (*language.following(state), *("." if state in language.accepting else ""))
        shares = model.probabilities(text)
        for token, share in shares.items():
            right = 1 / len(allowed) if token in allowed else 0
            assert share == pytest.approx(right, abs=1e-3), text


def test_a_text_with_an_end_token_within_it_has_no_state() -> None:
    source = 'vocab "ab"; context 8; eos "."; output state("(aab)*");'
    with pytest.raises(handcraft.HandcraftError, match="start or end token within") as caught:
        handcraft.parse(source).run("aa.b")
    assert caught.value.code == "no-symbol"


def test_words_and_numbers_are_whole_symbols() -> None:
    model = handcraft.compile(
        'vocab ["so", "long", "bye"]; context 7; eos "!"; predict next("(so long)+ bye");'
    )
    assert model.complete("so long", 1) == "so"
    assert model.complete("so long bye") == ""
    assert model.stop_reason == "eos"
    numbers = handcraft.compile('vocab 0..12; context 6; output accepts("(1 12)*");')
    assert numbers.run("1 12 1 12 2") == [False, True, False, True, False]


def test_what_a_pattern_says_is_computed_with_like_any_s_op() -> None:
    source = (
        'vocab "ab"; context 6; s = state("(aab)*");'
        ' output aggregate(select(s, s, ==), indices) if accepts("(ab)*") else 10 * s;'
    )
    program, model = handcraft.parse(source), handcraft.compile(source)
    for text in every_text("ab", 6):
        assert model.run(text) == program.run(text), text


def test_a_token_may_be_asked_to_be_among_the_next_ones() -> None:
    header = 'vocab "ab"; context 9; eos "."; '
    ends = handcraft.compile(header + 'output "." in next("(aab)*");')
    assert ends.run("aabaab") == [False, False, True, False, False, True]
    again = handcraft.compile(header + 'output tokens in next("a*b");')
    assert again.run("aaba") == [True, True, False, False]
    other = handcraft.compile(header + 'output "a" not in next("a*b");')
    assert other.run("aaba") == [False, False, True, True]
