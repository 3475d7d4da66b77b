"""Mistakes in patterns are told at their place, with the way out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handcraft.errors import ProgramError, Source
from handcraft.patterns.build import automaton_of
from handcraft.patterns.parse import DEEPEST, parse_pattern
from handcraft.runtime.vocabulary import Kind, Vocabulary, vocabulary

AB = vocabulary("characters", "ab")
WORDS = vocabulary("words", ["hello", "world", "how", "?"], bos="^", eos=".")
KINDS: tuple[Kind, ...] = ("characters", "words", "integers")
DIGITS = vocabulary("integers", range(10))

BRACKETS = [
    ("(a", "(", "`(` is not closed", "write `)` where it ends, or `\\(` for the symbol"),
    ("a|(b|(a)", "(", "`(` is not closed", "write `)` where it ends, or `\\(` for the symbol"),
    ("a)", ")", "`)` closes nothing", "remove it; the symbol itself is `\\)`"),
    ("[ab", "[", "`[` is not closed", "write `]` where it ends, or `\\[` for the symbol"),
    ("[^ab", "[", "`[` is not closed", "write `]` where it ends, or `\\[` for the symbol"),
    ("a]", "]", "`]` closes nothing", "the symbol itself is `\\]`"),
    ("a{2", "{", "`{` is not closed", "write `{2}`, `{2,}` or `{2,4}`; the symbol itself is `\\{`"),
    ("a{{2}", "{", "`{` is not closed", None),
    ("a}", "}", "`}` closes nothing", "the symbol itself is `\\}`"),
]

REPETITIONS = [
    ("*a", "*", "`*` repeats nothing", "the symbol itself is `\\*`"),
    ("(a|+b)", "+", "`+` repeats nothing", "the symbol itself is `\\+`"),
    ("{2}", "{2}", "`{2}` repeats nothing", "the symbol itself is `\\{`"),
    ("(?:a)", "?", "`(?` begins no group", "write `(...)`; the symbol itself is `\\?`"),
    ("a+?", "?", "`?` follows the repetition `+`", None),
    ("a{2}{3}", "{3}", "`{3}` follows the repetition `{2}`", None),
    ("a{2,1}", "{2,1}", "at most 1 is fewer than at least 2", "write `{1,2}`"),
    ("a{b}", "{b}", "`{b}` is no number of repetitions", None),
    ("a{,}", "{,}", "`{,}` is no number of repetitions", None),
]

OPERATORS = [
    ("a&", "&", "nothing follows `&`", "the empty text is `()`; the symbol itself is `\\&`"),
    ("a|&b", "&", "nothing stands before `&`", None),
    ("a(~)", "~", "nothing follows `~`", None),
    ("^ab", "^", "`^` is no part of a pattern, which always tells the whole text", None),
    ("ab$", "$", "`$` is no part of a pattern, which always tells the whole text", None),
    ("a\\", "\\", "nothing follows the backslash", "a backslash itself is `\\\\`"),
    ("a\\d", "\\d", "`\\d` is no escape", "write the digits as a class: `[0-9]`"),
    ("a\\q", "\\q", "`\\q` is no escape", None),
    ("[\\ud800]", "\\ud800", "`\\ud800` is no character", None),
    ("\\U00110000", "\\U00110000", "`\\U00110000` is no character", None),
    ("[b-a]", "b-a", "the range goes down: `b` comes after `a`", "write `a-b`"),
    ("a[]", "[]", "the class has no symbols, so nothing matches it", "any one symbol is `.`"),
]


@pytest.mark.parametrize(
    ("pattern", "place", "message", "way_out"), [*BRACKETS, *REPETITIONS, *OPERATORS]
)
def test_a_syntax_mistake_is_told_where_it_is(
    pattern: str, place: str, message: str, way_out: str | None
) -> None:
    error = mistake(pattern, AB)
    assert (error.code, error.message) == ("syntax", message)
    assert error.span is not None
    assert error.span.text == place
    assert error.help is not None
    assert way_out in (None, error.help)


@pytest.mark.parametrize(
    ("pattern", "words", "place", "message", "way_out"),
    [
        ("a*c", AB, "c", "`c` is not in the vocabulary", "the symbols are `a` `b`"),
        ("a b", AB, " ", "` ` is not in the vocabulary", None),
        ("[^c]", AB, "c", "`c` is not in the vocabulary", None),
        ("[c-f]", AB, "c-f", "no symbol from `c` to `f` is in the vocabulary", None),
        ("helo*", WORDS, "helo", "`helo` is not in the vocabulary", "write `hello`"),
        (
            "helloworld",
            WORDS,
            "helloworld",
            "`helloworld` is not in the vocabulary",
            "white space stands between words: `hello world`",
        ),
        (
            "how\\?",
            WORDS,
            "how\\?",
            "`how?` is not in the vocabulary",
            "white space stands between words: `how \\?`",
        ),
        ("\\^ how", WORDS, "\\^", "`^` begins every text and is no symbol of a pattern", None),
        ("how \\.", WORDS, "\\.", "`.` ends every text and is no symbol of a pattern", None),
        ("12", DIGITS, "12", "`12` is not in the vocabulary", None),
    ],
)
def test_an_unknown_symbol_is_told_with_the_closest_one(
    pattern: str, words: Vocabulary, place: str, message: str, way_out: str | None
) -> None:
    error = mistake(pattern, words)
    assert (error.code, error.message) == ("unknown-symbol", message)
    assert error.span is not None
    assert error.span.text == place
    assert error.help is not None
    assert way_out in (None, error.help)


@pytest.mark.parametrize(
    ("pattern", "place", "message"),
    [
        ("a&b", "a&b", "no text is of all the parts"),
        ("a*(a&b)b", "a&b", "no text is of all the parts"),
        ("b*&(a(a&b))+", "a&b", "no text is of all the parts"),
        ("~(.*)", "~(.*)", "every text is of the part, so none is left"),
        ("a[^ab]", "[^ab]", "the class has every symbol, so none is left"),
        ("(a&b)|~.*", "(a&b)|~.*", "no text at all is of this pattern"),
    ],
)
def test_an_empty_language_is_told_at_the_smallest_part_that_makes_it_so(
    pattern: str, place: str, message: str
) -> None:
    error = mistake(pattern, AB)
    assert (error.code, error.message) == ("empty-language", message)
    assert error.span is not None
    assert error.span.text == place


@pytest.mark.parametrize("pattern", ["a.", "a|~b", "a[^b]"])
def test_what_speaks_of_every_symbol_needs_a_vocabulary(pattern: str) -> None:
    error = mistake(pattern, None)
    assert error.code == "needs-vocabulary"
    assert error.span is not None
    assert error.span.text in (".", "~b", "[^b]")


def test_a_pattern_of_no_symbol_needs_a_vocabulary() -> None:
    assert mistake("()", None).code == "needs-vocabulary"


def test_a_vocabulary_of_markers_alone_has_no_symbols() -> None:
    assert mistake(".", vocabulary("words", [], bos="^", eos="$")).code == "needs-vocabulary"


def test_a_range_without_a_vocabulary_has_a_measure() -> None:
    assert mistake("[\\x00-\\uffff]", None).code == "pattern-too-large"


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("((a{99}){99}){99}", "(a{99}){99}"),
        ("b|(a{50}b{50}){40}", "(a{50}b{50}){40}"),
        ("(a|b)*a(a|b){12}", "(a|b)*a(a|b){12}"),
    ],
)
def test_what_has_too_many_states_is_told_at_its_place(pattern: str, place: str) -> None:
    error = mistake(pattern, AB)
    assert error.code == "pattern-too-large"
    assert error.span is not None
    assert error.span.text == place


@pytest.mark.parametrize("kind", ["characters", "words"])
def test_a_tree_is_never_deeper_than_it_may_be(kind: Kind) -> None:
    def nested(levels: int) -> Source:
        return Source("(a " * levels + "a" + ")*" * levels)

    parse_pattern(nested(DEEPEST // 2 - 1), kind)
    with pytest.raises(ProgramError) as caught:
        parse_pattern(nested(DEEPEST // 2), kind)
    assert caught.value.code == "too-deep"


def test_an_error_draws_the_pattern() -> None:
    assert str(mistake("(ab|c)*", AB)) == (
        "<pattern>:1:5: unknown-symbol: `c` is not in the vocabulary\n"
        "1 | (ab|c)*\n"
        "        ^\n"
        "help: the symbols are `a` `b`"
    )


def mistake(pattern: str, words: Vocabulary | None) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        automaton_of(pattern, words)
    return caught.value


@given(st.text("ab()[]{}|&~.*+?^$\\-,2 \nd", max_size=12), st.sampled_from(KINDS))
@settings(max_examples=500)
def test_any_text_is_a_pattern_or_a_mistake_with_a_place(text: str, kind: Kind) -> None:
    try:
        parse_pattern(Source(text), kind)
    except ProgramError as error:
        assert error.span is not None  # noqa: PT017  # either outcome is right
        assert error.help is not None  # noqa: PT017
        assert 0 <= error.span.start <= len(text)  # noqa: PT017
