"""Wrong programs beside the whole message that each must give."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from handcraft.errors import ProgramError, Source, Span
from handcraft.language.parse import parse

EXAMPLES = Path(__file__).with_name("mistakes.txt")
"""Programs, each with `=>` and its message below, and `----` between two of them."""


def pairs() -> list[tuple[str, str]]:
    blocks = EXAMPLES.read_text(encoding="utf-8").removesuffix("\n").split("\n----\n")
    return [(program, message) for program, _, message in (b.partition("\n=>\n") for b in blocks)]


@pytest.mark.parametrize(("program", "message"), pairs(), ids=[each for each, _ in pairs()])
def test_a_wrong_program_is_told_what_is_wrong_and_where(program: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(Source(program, "p"))
    assert str(caught.value) == message
    assert caught.value.code == "syntax"


def test_a_character_that_cannot_be_seen_is_shown_by_its_number() -> None:
    with pytest.raises(ProgramError, match=r"`U\+200B` is not part of the language"):
        parse(Source("x\u200b = 1;"))


def test_a_number_too_long_to_compute_with_is_refused_at_once() -> None:
    for number in ("1e999999999", "1e1000", "1e-1001", "9" * 1001):
        with pytest.raises(ProgramError, match="the number is too long"):
            parse(Source(f"x = {number};"))


WORDS = """a f 1 .5 'b' True def for return if else or and not in ( ) [ ] { } , ; : . .. = == < ->
+ * ^ load vocab context bos source attention allow example predict draw( exit $ ! 1a \""""


def test_no_sequence_of_words_is_more_than_a_mistake() -> None:
    chance = random.Random(3)
    programs = [
        " ".join(chance.choices(WORDS.split(), k=chance.randint(1, 12))) for _ in range(1500)
    ]
    places = [place for program in programs if (place := mistake(program)) is not None]
    assert len(places) > 1000
    assert all(0 <= place.start <= place.end <= len(place.source.text) for place in places)


def mistake(program: str) -> Span | None:
    try:
        parse(Source(program))
    except ProgramError as error:
        return error.span
    return None
