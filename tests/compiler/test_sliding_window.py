"""Beyond the context: a model says of a long text what the program says with a larger context."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_files import FILES

import handcraft
from handcraft.language.typed import Output
from handcraft.testing import inputs

WRITING = [p for p in FILES if not isinstance(handcraft.parse(p).typed.result, Output)]

MORE = (
    'vocab "ab"; context 4; predict {"a": "b", "b": "a"}[shift(tokens, 2, "a")];',
    'vocab "abc"; context 5; bos "^"; predict "c" if shift(tokens, 1, "b") == "a" else "b";',
    "vocab 0..2; context 3; predict max(select(indices, indices - 1, >=), tokens);",
)
EVERY: tuple[Path | str, ...] = (*WRITING, *MORE)
SAFE = [p for p in EVERY if handcraft.parse(p).window_safe]
UNSAFE = [p for p in WRITING if not handcraft.parse(p).window_safe]


def name(source: Path | str) -> str:
    return source.stem if isinstance(source, Path) else f"more{MORE.index(source)}"


@pytest.mark.parametrize("source", SAFE, ids=name)
def test_a_safe_program_says_the_same_with_a_larger_context(source: Path | str) -> None:
    program = handcraft.parse(source)
    model = handcraft.compile(program)
    wide = handcraft.parse(source, context=3 * program.context)
    lookback = program.lookback
    assert lookback is not None

    @settings(max_examples=25)
    @given(inputs(wide, min_size=lookback))
    def agree(text: tuple[str, ...]) -> None:
        meaning = wide.meaning(text)
        if meaning.in_scope:
            assert model.predict(text) == program.predict(text) == meaning.answers[-1]

    agree()


def test_some_of_them_are_safe_and_some_are_not() -> None:
    assert {name(source) for source in SAFE} >= {"aab", "bigram", "more0", "more1", "more2"}
    assert {name(source) for source in UNSAFE} >= {"unigram", "echo", "balanced"}


@pytest.mark.parametrize("source", SAFE, ids=name)
def test_a_safe_program_goes_on_beyond_its_context(source: Path | str) -> None:
    program = handcraft.parse(source)
    model = handcraft.compile(program)
    text = [program.typed.vocabulary.tokens[0]]
    assert model.complete(text, 17) == program.complete(text, 17)
    assert (model.description.window_safe, model.stop_reason) == (True, "length")


@pytest.mark.parametrize("source", UNSAFE, ids=name)
@settings(max_examples=4)
@given(data=st.data())
def test_other_programs_stop_at_the_context_unless_they_are_told_to_slide(
    source: Path, data: st.DataObject
) -> None:
    program = handcraft.parse(source)
    model = handcraft.compile(program)
    text = data.draw(inputs(program, min_size=program.context // 2))
    for slide in (False, True):
        try:
            expected = program.complete(text, program.context + 3, slide=slide)
        except handcraft.HandcraftError:
            continue
        assert model.complete(text, program.context + 3, slide=slide) == expected
