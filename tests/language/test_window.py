"""Window-safety: what is proved is true, and what is false is not proved."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from program_files import FILES

import handcraft

if TYPE_CHECKING:
    from pathlib import Path

SAFE = [path for path in FILES if (program := handcraft.parse(path)).window_safe and program.causal]


def lookback(output: str, context: int = 9) -> int | None:
    return handcraft.parse(f'vocab "ab"; context {context}; output {output};').lookback


@pytest.mark.parametrize("path", SAFE, ids=lambda path: path.stem)
def test_a_window_safe_program_says_the_same_of_a_text_and_of_its_end(path: Path) -> None:
    program = handcraft.parse(path)
    reads = program.lookback
    assert reads is not None
    chance = random.Random(5)
    vocabulary = program.typed.vocabulary
    for _ in range(20):
        text = chance.choices(vocabulary.tokens, k=program.context)
        tokens = vocabulary.split(text)[: program.context]
        meaning = program.meaning(tokens)
        front = 0 if vocabulary.bos is None else 1
        for end in range(reads + front, len(tokens) + 1):
            window = tokens[:front] + tokens[end - reads : end]
            assert program.meaning(window).answers[-1] == meaning.answers[end - 1]


def test_some_programs_of_the_gallery_are_window_safe() -> None:
    names = {path.stem for path in SAFE}
    assert {"aab", "bigram", "copy"} <= names
    assert not names & {"hist", "first_token", "positions", "count_so_far"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("tokens", 1),
        ('tokens == "a"', 1),
        ('shift(tokens, 3, "")', 4),
        ('shift(shift(tokens, 1, ""), 2, "")', 4),
        ("aggregate(select(indices, indices - 2, >=), indicator(tokens == 'a'))", 3),
        ("aggregate(select(indices, indices - 2, >), indicator(tokens == 'a'))", 2),
        ("selector_width(select(tokens, tokens, ==) and select(indices, indices - 4, >=))", 5),
        ('shift(tokens, 1, "") + shift(tokens, 2, "")', 3),
    ],
)
def test_a_bounded_look_back_is_counted_in_tokens(output: str, expected: int) -> None:
    assert lookback(output) == expected


@pytest.mark.parametrize(
    "output",
    [
        "indices",
        "count(tokens, 'a')",
        "tokens[0]",
        "aggregate(latest(select(tokens, 'a', ==)), indices, -1)",
        "aggregate(select(indices, indices - 1, <=), indicator(tokens == 'a'))",
        "shift(indices, 1, 0)",
    ],
)
def test_what_looks_back_without_bound_is_not_window_safe(output: str) -> None:
    assert lookback(output) is None


def test_a_look_back_beyond_the_context_is_not_window_safe() -> None:
    program = handcraft.parse('vocab "ab"; context 3; output shift(tokens, 3, "");')
    assert not program.window_safe
    assert handcraft.parse('vocab "ab"; context 3; output shift(tokens, 2, "");').window_safe
