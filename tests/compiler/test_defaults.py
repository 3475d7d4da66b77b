"""Nothing selected, and much selected: defaults of every kind, and counts over long contexts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

import handcraft
from handcraft.checking import check, same
from handcraft.testing import ATTENTIONS, inputs

if TYPE_CHECKING:
    from handcraft.runtime.vocabulary import Token

FORMATS = ("float32", "float64")
BEFORE = "select(indices, indices - 1, ==)"
THE_B = 'select(tokens, "b", ==) and before'


def assert_agrees(text: str, *, longest: int) -> None:
    program = handcraft.parse(text)
    models = {dtype: handcraft.compile(program, dtype=dtype) for dtype in FORMATS}
    report = check(program, models, longest=longest, random=20)
    assert report.holds, report
    assert report.compared > 3**longest


# Defaults ------------------------------------------------------------------------------------

NUMBERS = (
    *("-3", "1/3", "0", '"none"', "True", "tokens", "str(indices)", 'tokens == "c"'),
    *("indices - 2", 'indicator(tokens == "c")', "selector_width(past)"),
    *("aggregate(past, indices / 2)", '{"a": "x", "b": True, "c": 8}[tokens]'),
)
BOOLEANS = ("True", '"none"', "7", 'tokens == "c"', "indices % 2")
WORDS = ('"a"', '""', "False", "5", "tokens", "str(indices)", "indices")


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("default", NUMBERS)
@pytest.mark.parametrize("selector", [BEFORE, THE_B])
def test_a_mean_of_nothing_is_its_default(selector: str, default: str, attention: str) -> None:
    value = f"aggregate({selector}, {{'a': 2, 'b': -1, 'c': 0}}[tokens], {default})"
    assert_agrees(header(5, attention) + f"output {value};", longest=3)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("default", BOOLEANS)
def test_a_boolean_of_nothing_is_its_default(default: str, attention: str) -> None:
    value = f'aggregate({BEFORE}, tokens == "a", {default})'
    assert_agrees(header(6, attention) + f"output {value};", longest=3)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("default", WORDS)
def test_a_token_of_nothing_is_its_default(default: str, attention: str) -> None:
    value = f"aggregate(latest({THE_B}), tokens, {default})"
    assert_agrees(header(4, attention) + f"output {value};", longest=3)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("use", ["({}) == 1/3", "str({})", "({}) if indices > 1 else tokens"])
def test_a_default_is_read_like_any_other_value(use: str, attention: str) -> None:
    value = use.format(f"aggregate({THE_B}, indices, 1/3)")
    assert_agrees(header(5, attention) + f"output {value};", longest=3)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_mean_of_nothing_without_a_default_is_0_and_so_is_a_sum(attention: str) -> None:
    for gathered in ("aggregate", "sum"):
        text = header(4, attention) + f"output {gathered}({THE_B}, indices + 5);"
        assert_agrees(text, longest=3)
        assert handcraft.compile(text).run("ca") == [0, 0]


def test_the_default_is_read_at_the_query() -> None:
    model = handcraft.compile(header(5, "causal") + f"output aggregate({BEFORE}, 7, indices + 3);")
    assert model.run("abc") == [3, 7, 7]


def test_one_and_true_and_a_word_are_told_apart_as_defaults() -> None:
    for default, expected in (("1", 1), ("True", True), ('"1"', "1")):
        text = header(4, "causal") + f"output aggregate({BEFORE}, indices + 9, {default});"
        found = handcraft.compile(text).run("ab")
        assert same(expected, found[0])
        assert found[1] == 9


def header(context: int, attention: str) -> str:
    return f'vocab "abc"; context {context}; attention {attention};\n'


# Counts --------------------------------------------------------------------------------------

COUNTS = {
    "hist_so_far": "selector_width(select(tokens, tokens, ==))",
    "prefix_length": "selector_width(past)",
    "count_so_far": 'selector_width(select(tokens, "b", ==))',
    "earlier_copies": "selector_width(select(tokens, tokens, ==) and before)",
}


@pytest.mark.parametrize("context", [64, 256])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_over_long_contexts_are_exact_in_float32(name: str, context: int) -> None:
    program = handcraft.parse(header(context, "causal") + f"output {COUNTS[name]};")
    model = handcraft.compile(program)

    @settings(max_examples=2)
    @given(inputs(program, min_size=context - 3))
    def exact(text: tuple[Token, ...]) -> None:
        alike = ("b",) * context
        for given_, found in zip((text, alike), model.run_batch([text, alike]), strict=True):
            assert found == counted(name, given_)

    exact()


def counted(name: str, text: tuple[Token, ...]) -> list[int]:
    """Count in Python, which is much faster than the interpreter on long texts."""
    until = [text[: i + 1] for i in range(len(text))]
    match name:
        case "hist_so_far":
            return [seen.count(seen[-1]) for seen in until]
        case "prefix_length":
            return [len(seen) for seen in until]
        case "count_so_far":
            return [seen.count("b") for seen in until]
        case _:
            return [seen.count(seen[-1]) - 1 for seen in until]


def test_counts_over_a_whole_long_text_are_exact_in_float32() -> None:
    text = header(128, "bidirectional") + "output selector_width(select(tokens, tokens, ==));"
    model = handcraft.compile(text)
    for tokens in ("abc" * 42, "a" * 128, "c" + "b" * 126):
        assert model.run(tokens) == [tokens.count(t) for t in tokens]


def test_shares_of_a_long_text_are_exact_fractions_in_float32() -> None:
    text = header(64, "causal") + 'output aggregate(past, indicator(tokens == "a"));'
    tokens = ("aab" * 22)[:64]
    expected = [Fraction(tokens[: i + 1].count("a"), i + 1) for i in range(64)]
    assert handcraft.compile(text).run(tokens) == expected


def test_a_count_decides_rightly_at_every_threshold_of_a_long_context() -> None:
    text = header(96, "causal") + 'output selector_width(select(tokens, "a", ==)) % 3 == 1;'
    model = handcraft.compile(text)
    assert model.run("a" * 96) == [(i + 1) % 3 == 1 for i in range(96)]
