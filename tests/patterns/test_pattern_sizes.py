"""Each kind of language gets its cheap construction, no deeper than it has to be."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from languages import A5, D4, LANGUAGES, asked, program

import handcraft
from handcraft.compiler.levels import passes_of
from handcraft.compiler.patterns.compositions import doublings
from handcraft.compiler.placement import placement
from handcraft.language.program import parse
from handcraft.testing import accuracy

if TYPE_CHECKING:
    from handcraft.runtime.model import Model

GENERAL = doublings(64)

DEPTH = {
    "(aab)*": (2, "the position decides until the first token that leaves for good"),
    "(ab)*": (2, "the position decides until the first token that leaves for good"),
    "a*b*": (2, "the last token decides until the first token that leaves for good"),
    "parity": (2, "the position decides until the first token that leaves for good"),
    "ends in abb": (1, "the last 3 tokens decide"),
    "fourth from the end": (1, "the last 4 tokens decide"),
    "two b": (1, "the count decides"),
    "even length": (0, "the position decides"),
    "a modulo 3": (2, "the count decides, as a number"),
    "a modulo 5": (2, "the count decides, as a number"),
    "no bb": (2, "the last token decides until the first token that leaves for good"),
    "D3": (GENERAL, "composition of maps in 6 doublings, by 6 elements of a monoid"),
    "D4": (GENERAL, "composition of maps in 6 doublings, by 8 elements of a monoid"),
    "flip-flop": (1, "the latest resetting token decides"),
    "nested": (2, "the last token decides until the first token that leaves for good"),
    "email": (GENERAL, "composition of maps in 6 doublings, by 15 elements of a monoid"),
    "date": (2, "the position decides until the first token that leaves for good"),
}
"""Layers of `state` at context 64, and the construction."""


def construction(model: Model) -> str:
    return model.description.provenance["patterns"].partition(": ")[2]


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_depth_of_each_language_at_context_64(name: str) -> None:
    model = handcraft.compile(program(name, "state", 64))
    told = model.description.provenance["patterns"]
    assert (model.config.n_layer, told.rpartition(": ")[2]) == DEPTH[name]


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("context", [5, 6, 12])
def test_aab_is_one_head_and_nothing_else(context: int, level: int) -> None:
    model = handcraft.pattern("(aab)*", context=context, optimize=level)
    config = model.config
    assert (config.n_layer, config.n_head, config.d_mlp) == (1, 1, 0)
    assert not config.start
    assert construction(model) == "the last 2 tokens decide by their mean"
    assert model.complete("aab") == "aabaabaaba"
    assert model.complete("aa") == "baabaabaab"
    assert model.complete("a") == "abaabaabaa"


def test_aab_at_context_5_is_smaller_than_the_model_made_by_hand() -> None:
    model = handcraft.pattern("(aab)*", context=5)
    assert model.config.d_model <= 8
    assert model.parameters.n_parameters <= 344
    assert handcraft.pattern("(aab)*", context=5, optimize=2).config.d_model == 5


@pytest.mark.parametrize("context", [2, 3, 5])
def test_aab_slides_over_a_long_text(context: int) -> None:
    model = handcraft.pattern("(aab)*", context=context)
    assert model.description.window_safe
    assert str(accuracy(model, "aab" * 10, prefixes=range(2, 29))) == "27/27"


@pytest.mark.parametrize("pattern", ["(aabb)*", "(aab|ab)*", "(abc)*d?", "a(ba|bba)*"])
def test_a_window_that_is_no_live_text_itself_is_continued_like_the_whole(pattern: str) -> None:
    model = handcraft.pattern(pattern, context=9, vocab="abcd", eos=".")
    program_ = parse(f'vocab "abcd"; context 9; eos "."; predict next("{pattern}");')
    assert model.description.window_safe
    for text in ("aabbaabbaabbaa", "aababaabaababaa", "abcabcabcabca", "abababbabbaba"):
        try:
            right = program_.complete(text)
        except handcraft.HandcraftError:
            continue
        assert model.complete(text) == right
        break
    else:
        raise AssertionError("no text of this pattern was tried")


def test_a_program_and_a_pattern_alone_have_the_same_weights() -> None:
    alone = handcraft.pattern("(aab)*", context=7)
    within = handcraft.compile('vocab "ab"; context 7; predict next("(aab)*");')
    assert alone.weights.keys() == within.weights.keys()
    for name, array in alone.weights.items():
        assert array.tobytes() == within.weights[name].tobytes()


def test_the_group_of_sixty_composes_by_its_table() -> None:
    stages = placement(
        parse(f'vocab "ab"; context 16; output state({asked(A5)});').typed, passes_of(1)
    )
    assert [size.d_mlp for size in stages.placed.sizes][-1] <= 3600
    assert len(stages.placed.sizes) == 4


def test_eight_states_at_context_64_take_less_than_two_seconds() -> None:
    source = f'vocab "ab"; context 64; output state({asked(D4)});'
    handcraft.compile(source.replace("64", "8"))  # what is loaded once
    begin = time.process_time()
    handcraft.compile(source)
    assert time.process_time() - begin < 2


def test_a_pattern_that_needs_too_many_neurons_is_refused_with_the_number() -> None:
    pattern = "(a|b)*a(a|b){4}(aa|bb)*a"
    with pytest.raises(handcraft.HandcraftError, match=r"needs [0-9,]+ neurons") as caught:
        handcraft.compile(f'vocab "ab"; context 40; output state("{pattern}");')
    assert caught.value.code == "pattern-too-large"
    assert caught.value.span is not None
    assert caught.value.span.text == f'state("{pattern}")'


def test_the_manifest_says_what_each_component_does() -> None:
    model = handcraft.compile('vocab "ab"; context 8; output state("(a|b)*abb");')
    texts = {operation.text for operation in model.description.operations}
    words = "pattern (a|b)*abb: the last 3 tokens decide"
    assert {words, f"{words}; the token before", f"{words}; 2 tokens before"} <= texts


def test_long_ends_are_told_by_halves_also_where_the_window_slides() -> None:
    model = handcraft.pattern("(a{11}b)*", context=14)
    assert construction(model) == "the last 11 tokens decide"
    assert model.config.n_layer == 2
    assert model.complete("a" * 11, 25) == "baaaaaaaaaaabaaaaaaaaaaab"
    source = 'vocab "ab"; context 11; output state("(a|b)*a(a|b){8}");'
    program_, states = parse(source), handcraft.compile(source)
    assert states.config.n_layer == 2
    for text in ("abababababa", "bbbbbbbbbbb", "baabbbabaab", "aaaaaaaaaab"):
        assert states.run(text) == program_.run(text)
