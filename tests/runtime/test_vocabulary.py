"""Splitting text into tokens and joining them again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.vocabulary import Vocabulary, vocabulary

LETTERS = vocabulary("characters", "ab c")
WORDS = vocabulary("words", ["hello", "hell", "?", "o"])
NUMBERS = vocabulary("integers", range(-2, 12))


@pytest.mark.parametrize(
    ("words", "text", "tokens"),
    [
        (LETTERS, " ab c ", (" ", "a", "b", " ", "c", " ")),
        (LETTERS, "", ()),
        (LETTERS, ["b", "a"], ("b", "a")),
        (WORDS, "hello  hell\n?", ("hello", "hell", "?")),
        (WORDS, "hellohell?o", ("hello", "hell", "?", "o")),
        (WORDS, ("o", "hello"), ("o", "hello")),
        (NUMBERS, "3 1 11 -2", (3, 1, 11, -2)),
        (NUMBERS, [3, "1", 11], (3, 1, 11)),
    ],
)
def test_text_is_split_by_kind(words: Vocabulary, text: Any, tokens: tuple[Any, ...]) -> None:
    assert words.split(text) == tokens


def test_characters_are_code_points() -> None:
    assert vocabulary("characters", "e\u0301").split("e\u0301e") == ("e", "\u0301", "e")


def test_bos_is_put_in_front_only_where_it_is_missing() -> None:
    words = vocabulary("characters", "ab", bos="^")
    assert words.tokens == ("a", "b", "^")
    assert words.split("ab") == ("^", "a", "b")
    assert words.split("^ab") == ("^", "a", "b")
    assert words.split("") == ("^",)
    assert words.split(["a", "^"]) == ("^", "a", "^")


@given(st.lists(st.sampled_from(LETTERS.tokens)))
def test_joining_and_splitting_characters_gives_them_back(tokens: list[str]) -> None:
    assert LETTERS.split(LETTERS.join(tokens)) == tuple(tokens)


@given(st.lists(st.sampled_from(NUMBERS.tokens)))
def test_joining_and_splitting_numbers_gives_them_back(tokens: list[int]) -> None:
    assert NUMBERS.split(NUMBERS.join(tokens)) == tuple(tokens)


@given(st.lists(st.sampled_from(WORDS.tokens)))
def test_joining_and_splitting_words_gives_them_back(tokens: list[str]) -> None:
    assert WORDS.split(WORDS.join(tokens)) == tuple(tokens)


def test_an_unknown_character_is_told_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        LETTERS.split("abx")
    assert str(caught.value) == (
        "<input>:1:3: unknown-token: `x` at position 2 is not in the vocabulary\n"
        "1 | abx\n"
        "      ^\n"
        "help: the vocabulary is `a` `b` ` ` `c`"
    )


def test_an_unknown_word_is_told_with_the_nearest_one() -> None:
    with pytest.raises(InputError) as caught:
        WORDS.split("hello ? helo")
    assert str(caught.value) == (
        "<input>:1:9: unknown-token: `helo` at position 2 is not in the vocabulary\n"
        "1 | hello ? helo\n"
        "            ^^^^\n"
        "help: write `hello`"
    )


def test_words_that_touch_leave_the_unknown_rest_to_the_error() -> None:
    with pytest.raises(InputError) as caught:
        WORDS.split("? hellox")
    assert caught.value.message == "`x` at position 2 is not in the vocabulary"
    assert caught.value.span is not None
    assert (caught.value.span.start, caught.value.span.end) == (7, 8)


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (NUMBERS, "3 314", "`314` at position 1 is not in the vocabulary"),
        (NUMBERS, "03", "`03` at position 0 is not in the vocabulary"),
        (NUMBERS, [3, True], "`True` at position 1 is not in the vocabulary"),
        (NUMBERS, [3.0], "`3.0` at position 0 is not in the vocabulary"),
        (NUMBERS, [12], "`12` at position 0 is not in the vocabulary"),
        (LETTERS, ["ab"], "`ab` at position 0 is not in the vocabulary"),
        (LETTERS, [0], "`0` at position 0 is not in the vocabulary"),
        (LETTERS, None, "a text is a string or a list of tokens, found `NoneType`"),
        (LETTERS, b"ab", "a text is a string or a list of tokens, found `bytes`"),
        (LETTERS, 7, "a text is a string or a list of tokens, found `int`"),
    ],
)
def test_what_is_no_text_is_refused(words: Vocabulary, text: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        words.split(text)
    assert caught.value.message == message


def test_a_long_vocabulary_is_listed_in_part() -> None:
    with pytest.raises(InputError) as caught:
        vocabulary("integers", range(100)).split("x")
    assert caught.value.help is not None
    assert caught.value.help.endswith("`18` `19` ...")


def test_ids_are_places_in_the_vocabulary() -> None:
    assert [NUMBERS.id(token) for token in NUMBERS.tokens] == list(range(14))
    with pytest.raises(InputError, match="`12`"):
        NUMBERS.id(12)


def test_an_integer_vocabulary_may_have_markers_of_text() -> None:
    words = vocabulary("integers", range(3), bos="^", eos=".")
    assert words.split("1 2 .") == ("^", 1, 2, ".")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("characters", []), "a vocabulary needs at least one token"),
        (("characters", ["a", "b", "a"]), "the token `a` is there twice"),
        (("integers", [1, "1"]), "the token `1` is there twice"),
        (("characters", ["ab"]), "`ab` is not one character"),
        (("characters", [1]), "a vocabulary of characters has no number `1`"),
        (("words", ["new york"]), "`new york` is not one word: words are what stands between"
         " white space"),
        (("words", [""]), "`` is not one word: words are what stands between white space"),
        (("integers", [True]), "a token is text or a number, not `True`"),
        (("characters", ["a"], "b"), "bos `b` is not in the vocabulary"),
        (("characters", ["a"], "a", "a"), "`a` cannot both begin and end a text: bos is never"
         " produced"),
    ],
)  # fmt: skip
def test_a_vocabulary_that_text_cannot_tell_apart_is_refused(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(HandcraftError) as caught:
        Vocabulary(*arguments)
    assert caught.value.message == message
