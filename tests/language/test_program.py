"""Programs as Python holds them: what is no argument of a call is told in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import handcraft
from handcraft.errors import HandcraftError, InputError, ProgramError

if TYPE_CHECKING:
    from handcraft.language.program import Program

RESULT = "x = tokens;"


def program() -> Program:
    return handcraft.parse('vocab "abc"; context 5; predict tokens;')


@pytest.mark.parametrize("read", [handcraft.parse, handcraft.compile])
@pytest.mark.parametrize(
    ("given", "kind"), [(5, "int"), (None, "NoneType"), (b"x;", "bytes"), (["x;"], "list")]
)
def test_a_program_is_a_text_or_a_path(read: Any, given: Any, kind: str) -> None:
    with pytest.raises(ProgramError) as caught:
        read(given)
    expected = f"a program is its text or the path of a file, found `{kind}`"
    assert caught.value.message == expected


def test_a_model_is_not_compiled_again() -> None:
    compile_anything: Any = handcraft.compile
    with pytest.raises(ProgramError, match="found `Model`"):
        compile_anything(handcraft.compile(program()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": 4.0}, "`context` is a whole number, found `4.0`"),
        ({"context": "4"}, "`context` is a whole number, found `'4'`"),
        ({"context": True}, "`context` is a whole number, found `True`"),
        ({"attention": 5}, "`attention` is a word, found `5`"),
        ({"attention": "casual"}, "there is no attention `casual`"),
        ({"vocab": 5}, "`vocab` is a string, a list or a range, found `int`"),
        ({"output": 5}, "`output` is the text of an expression, found `int`"),
        ({"output": ""}, "`output` has no expression in it"),
        ({"output": " # tokens\n"}, "`output` has no expression in it"),
    ],
)
def test_what_is_given_for_the_header_is_checked(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"vocab": "ab", "context": 3, "output": "tokens"} | options
    with pytest.raises(ProgramError) as caught:
        handcraft.parse(RESULT, **given)
    assert caught.value.message == message


def test_a_context_may_be_a_whole_number_of_another_library() -> None:
    size: Any = np.int64(4)
    made = handcraft.parse(RESULT, vocab="ab", context=size, output="tokens")
    assert (made.context, type(made.context)) == (4, int)


def test_an_output_may_have_a_comment_and_a_string_with_its_sign() -> None:
    made = handcraft.parse(RESULT, vocab="ab", context=3, output='"#"  # everywhere')
    assert made.run("ba") == ["#", "#"]


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (-1, "cannot write -1 tokens"),
        (2.5, "`n` is a whole number of tokens, found `2.5`"),
        ("3", "`n` is a whole number of tokens, found `'3'`"),
        (True, "`n` is a whole number of tokens, found `True`"),
    ],
)
def test_a_program_writes_a_whole_number_of_tokens(n: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        program().complete("aab", n)
    assert (caught.value.code, caught.value.message) == ("bad-length", message)


@pytest.mark.parametrize("call", ["run", "predict", "complete", "meaning"])
@pytest.mark.parametrize(
    "texts", [["aab", "ab"], [["a"], ["b"]], ("a", "bc"), ["cab"], ["abz", ""]]
)
def test_a_program_refuses_a_list_of_texts(call: str, texts: Any) -> None:
    with pytest.raises(HandcraftError) as caught:
        getattr(program(), call)(texts)
    assert caught.value.code == "bad-text"
    assert caught.value.message == "a program reads one text at a time, and this is a list of texts"


def test_a_list_of_tokens_is_one_text_and_an_unknown_one_is_named() -> None:
    assert program().run(["b", "a", "c"]) == ["b", "a", "c"]
    with pytest.raises(InputError, match="`z` at position 1 is not in the vocabulary"):
        program().run(["a", "z"])
