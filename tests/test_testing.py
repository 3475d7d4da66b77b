"""What tests of other projects get: accuracy, inputs and random programs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import find, given, settings

import handcraft
from handcraft.errors import InputError
from handcraft.testing import ATTENTIONS, accuracy, inputs, programs, sources

if TYPE_CHECKING:
    from handcraft.runtime.vocabulary import Token

ALTERNATE = 'vocab "ab"; context 4; predict {"a": "b", "b": "a"}[tokens];'
STARTED = handcraft.parse('vocab "ab"; bos "^"; eos "."; context 6; output tokens;')
NUMBERED = handcraft.parse("vocab 3..5; context 4; output tokens;")

WITHOUT_HYPOTHESIS = """
import sys
sys.modules["hypothesis"] = None
import handcraft
assert handcraft.compile('vocab "ab"; context 3; output tokens;').run("ab") == ["a", "b"]
import handcraft.testing
"""


# Accuracy ------------------------------------------------------------------------------------


def test_accuracy_counts_the_tokens_that_were_predicted() -> None:
    model = handcraft.compile(ALTERNATE)
    found = accuracy(model, "ababbbab", prefixes=range(1, 8))
    assert (found.hits, found.total, str(found)) == (5, 7, "5/7")


def test_accuracy_without_prefixes_begins_after_two_tokens_and_leaves_the_last_out() -> None:
    assert accuracy(handcraft.compile(ALTERNATE), "ab" * 5) == (7, 7)


def test_accuracy_does_not_count_a_start_token() -> None:
    model = handcraft.compile('vocab "ab"; bos "^"; context 4; predict "a";')
    assert accuracy(model, "ab", prefixes=(0, 1)) == accuracy(model, "^ab", prefixes=(0, 1))
    assert accuracy(model, "ab", prefixes=(0, 1)) == (1, 2)


@pytest.mark.parametrize("prefix", [-1, 3])
def test_a_prefix_that_nothing_follows_is_refused(prefix: int) -> None:
    with pytest.raises(InputError, match=f"no token follows a prefix of {prefix} tokens"):
        accuracy(handcraft.compile(ALTERNATE), "aba", prefixes=(prefix,))


# Inputs --------------------------------------------------------------------------------------


@given(inputs(STARTED))
def test_inputs_leave_the_start_token_out_and_fit_beside_it(text: tuple[Token, ...]) -> None:
    assert 1 <= len(text) <= 5
    assert set(text) <= {"a", "b", "."}
    assert STARTED.run(text) == list(text)


@given(inputs(NUMBERED, min_size=2, max_size=3))
def test_inputs_have_the_sizes_that_were_asked_for(text: tuple[Token, ...]) -> None:
    assert 2 <= len(text) <= 3
    assert NUMBERED.run(text) == list(text)


def test_inputs_reach_the_context_and_every_token() -> None:
    assert find(inputs(STARTED), lambda text: len(text) == 5)
    assert find(inputs(STARTED), lambda text: "." in text) == (".",)
    assert find(inputs(NUMBERED), lambda text: sum(map(int, text)) == 20) == (5, 5, 5, 5)


# Programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_random_programs_are_well_typed(attention: str) -> None:
    codes = []

    @given(programs(context=4, attention=attention))
    def parses(text: str) -> None:
        try:
            program = handcraft.parse(text)
        except handcraft.HandcraftError as error:
            codes.append(error.code)
        else:
            assert program.context == 4
            assert program.causal == (attention == "causal")

    parses()
    assert set(codes) <= {"domain-too-large", "no-meaning"}
    assert len(codes) <= 5


@settings(max_examples=30)
@given(programs(context=2, attention="causal"))
def test_a_smallest_context_is_enough(text: str) -> None:
    assert handcraft.parse(text).context == 2


# Without Hypothesis --------------------------------------------------------------------------


def test_only_the_module_for_tests_needs_hypothesis_and_says_how_to_get_it() -> None:
    command = [sys.executable, "-c", WITHOUT_HYPOTHESIS]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    last = found.stderr.strip().splitlines()[-1]
    assert 'pip install "handcraft[test]"' in last
    assert "During handling" not in found.stderr


# Sources -------------------------------------------------------------------------------------

ECHO = handcraft.parse(
    'source "xy" context 3; vocab "xy"; context 4; bos "^"; eos ".";\n'
    'predict aggregate(select(source.indices, indices, ==), source.tokens, ".");'
)


@given(source=sources(ECHO))
def test_sources_are_what_a_program_reads(source: tuple[Token, ...]) -> None:
    assert ECHO.complete(source) == "".join(map(str, source))


def test_sources_reach_from_nothing_to_the_context() -> None:
    assert find(sources(ECHO), lambda source: len(source) == 3) == ("x", "x", "x")
    assert find(sources(ECHO), lambda _: True) == ()
    with pytest.raises(InputError, match="no `source`"):
        sources(STARTED)
