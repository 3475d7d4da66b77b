"""A model with a guide refuses texts that nothing can follow, also when read from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import handcraft
from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.guide import Guide
from handcraft.runtime.manifest import Manifest, read_manifest, write_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary

if TYPE_CHECKING:
    from pathlib import Path

AB = vocabulary("characters", "ab")
GUIDE = Guide(("a", "b"), ((1, None), (2, None), (None, 0)), (0,))


@pytest.mark.parametrize(
    ("text", "position", "help_"),
    [
        ("b", 1, "first comes `a`"),
        ("ab", 2, 'after "a" comes `a`'),
        ("aabaabb", 7, 'after "aabaab" comes `a`'),
    ],
)
def test_a_dead_text_is_told_with_its_first_dead_token(
    text: str, position: int, help_: str
) -> None:
    with pytest.raises(InputError) as caught:
        GUIDE.check(tuple(text + "aa"), AB)
    assert caught.value.code == "dead-text"
    assert caught.value.message == f'text "{text}aa" cannot be continued: position {position}'
    assert caught.value.help == help_
    assert caught.value.span is not None
    assert (caught.value.span.column, caught.value.span.text) == (position, text[-1])


def test_the_place_in_words_counts_characters() -> None:
    words = vocabulary("words", ("so", "many", "words"), bos="<s>")
    guide = Guide(("so", "many", "words"), ((1, None, None), (None, 1, None)), (1,))
    with pytest.raises(InputError) as caught:
        guide.check(("<s>", "so", "many", "words", "so"), words)
    assert caught.value.span is not None
    assert caught.value.span.text == "words"
    assert caught.value.span.column == 9
    assert 'text "so many words so"' in caught.value.message


def test_a_finished_text_is_refused_only_where_no_end_token_can_say_so() -> None:
    guide = Guide(("a",), ((1,), (None,)), (1,))
    with pytest.raises(InputError, match="is finished") as caught:
        guide.check(("a",), vocabulary("characters", "a"))
    assert caught.value.code == "finished-text"
    guide.check(("a",), vocabulary("characters", "a", eos="."))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((), ()),
        (((0,),), ()),
        (((0, 2), (None, 1)), ()),
        (((0, -1), (None, 1)), ()),
        (((0, 1), (None, 1)), (2,)),
    ],
)
def test_an_automaton_that_leads_nowhere_is_refused(
    rows: tuple[tuple[int | None, ...], ...], words: tuple[int, ...]
) -> None:
    with pytest.raises(HandcraftError) as caught:
        Guide(("a", "b"), rows, words)
    assert caught.value.code == "bad-guide"


def test_a_file_keeps_the_guide(tmp_path: Path) -> None:
    model = handcraft.compile('vocab "ab"; context 5; predict next("(aab)*");')
    model.save(tmp_path / "p.npz")
    read = handcraft.load(tmp_path / "p.npz")
    assert read.description.guide == GUIDE
    for call in (read.complete, read.predict, read.probabilities):
        with pytest.raises(InputError, match="position 3"):
            call("aaa")


@pytest.mark.parametrize(
    "change",
    [
        {"symbols": ["a"]},
        {"symbols": ["b", "a"]},
        {"rows": [[1, None]]},
        {"rows": [[1, None], [2, None], [None, 3]]},
        {"rows": [[1, None], [2, None], [None, True]]},
        {"rows": [[1, None], [2, None], "ab"]},
        {"words": [7]},
        {"words": None},
    ],
)
def test_a_hostile_guide_is_refused(change: dict[str, object]) -> None:
    model = handcraft.compile('vocab "ab"; context 5; predict next("(aab)*");')
    members = json.loads(
        write_manifest(Manifest(model.config, model.vocabulary, model.description))
    )
    members["guide"] |= change
    with pytest.raises(HandcraftError):
        Model(model.parameters, AB, read_manifest(json.dumps(members)).description)


def test_a_guide_about_other_tokens_is_refused() -> None:
    model = handcraft.compile('vocab "ab"; context 5; predict next("(aab)*");')
    other = replace(model.description, guide=Guide(("a", "c"), ((0, 0),), ()))
    with pytest.raises(HandcraftError, match="not about the model's tokens"):
        Model(model.parameters, AB, other)
