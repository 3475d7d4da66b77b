"""`handcraft.pattern`: a text or a table becomes a model."""

from __future__ import annotations

import pytest

import handcraft
from handcraft.errors import HandcraftError

TABLE = {"start": "p", "accept": ["q"], "p": {"a": "q"}, "q": {"b": "p"}}


def test_the_vocabulary_is_that_of_the_pattern_in_order_of_appearance() -> None:
    model = handcraft.pattern("(ba|c)*", context=6)
    assert model.vocabulary.tokens == ("b", "a", "c")
    assert handcraft.pattern("b", context=6, vocab="ab", eos="$").vocabulary.tokens == (
        *("a", "b", "$"),
    )


def test_a_table_is_a_pattern() -> None:
    model = handcraft.pattern(table=TABLE, context=5)
    assert model.complete("a") == "bababababa"
    text = (
        f'vocab "ab"; context 5; predict next(automaton({str(TABLE).replace(chr(39), chr(34))}));'
    )
    again = handcraft.compile(text)
    assert {n: a.tobytes() for n, a in model.weights.items()} == {
        n: a.tobytes() for n, a in again.weights.items()
    }


def test_a_table_over_words_or_numbers_makes_their_vocabulary() -> None:
    words = {"start": 0, "accept": [0], 0: {"so": 1}, 1: {"long": 0}}
    assert handcraft.pattern(table=words, context=5).complete("so", 3) == "long so long"
    numbers = {"start": 0, "accept": [0], 0: {10: 1}, 1: {20: 0}}
    assert handcraft.pattern(table=numbers, context=5).complete("10", 3) == "20 10 20"


def test_quotes_and_backslashes_are_symbols_like_any_other() -> None:
    model = handcraft.pattern(r'("\\)*', context=5)
    assert model.vocabulary.tokens == ('"', "\\")
    assert model.complete('"', 3) == '\\"\\'


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (None, {}, "bad-option"),
        ("a", {"table": TABLE}, "bad-option"),
        (7, {}, "type"),
        ("a", {"vocab": 5}, "type"),
        ("a", {"vocab": "ab", "eos": "xy"}, "bad-vocabulary"),
        ("a", {"context": 0}, "no-context"),
        ("a", {"optimize": 9}, "bad-option"),
        ("a", {"dtype": "float8"}, "bad-dtype"),
        (None, {"table": []}, "bad-automaton"),
        (None, {"table": {"start": "p", "accept": [], "p": {"a": 1.5}}}, "bad-automaton"),
        (None, {"table": {"start": "p", "accept": [], "p": {"a": "p"}}}, "empty-language"),
        ("(", {}, "syntax"),
    ],
)
def test_a_call_that_makes_no_model_is_refused(
    text: str | None, options: dict[str, object], code: str
) -> None:
    with pytest.raises(HandcraftError) as caught:
        handcraft.pattern(text, **({"context": 4} | options))  # type: ignore[arg-type]
    assert caught.value.code == code


def test_a_mistake_is_placed_in_the_pattern() -> None:
    with pytest.raises(HandcraftError) as caught:
        handcraft.pattern('a"(b', context=4)
    assert caught.value.span is not None
    assert caught.value.span.place() == "<pattern>:1:3"


def test_a_mistake_in_a_program_is_placed_in_its_literal() -> None:
    with pytest.raises(HandcraftError) as caught:
        handcraft.parse('vocab "ab";\ncontext 4;\noutput state("a\\x62\\\\*(b");')
    assert caught.value.span is not None
    assert caught.value.span.place() == "<text>:3:23"
    assert caught.value.span.text == "("
