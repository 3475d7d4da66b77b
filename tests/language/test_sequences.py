"""Programs with a source, interpreted: which sequence an s-op is over, and what is written."""

from __future__ import annotations

import pytest

import handcraft
from handcraft.errors import InputError, MeaningError
from handcraft.language.sequences import SOURCE, TARGET
from handcraft.language.typed import Counts
from handcraft.language.typed_text import typed_text

HEADER = 'source "xyz" context 3;\nvocab "abxyz0123";\ncontext 5;\nbos "^";\neos ".";\n'


def program(body: str) -> handcraft.Program:
    return handcraft.parse(HEADER + body)


def values(expression: str, source: str, target: str = "") -> list[object]:
    """Return what an expression over the target is after each token of a target."""
    return list(program(f"output {expression};").run(source, target))


def test_a_text_is_written_from_a_source_to_its_end() -> None:
    copy = program('predict aggregate(select(source.indices, indices, ==), source.tokens, ".");')
    assert copy.written("zxy") == ("zxy", True)
    assert copy.written("") == ("", True)
    assert copy.complete("zxy", 2) == "zx"
    assert copy.predict("zxy", "z") == "x"
    assert copy.predict("zxy", "^z") == "x"
    assert copy.run("zxy", "ab") == ["x", "y"]
    assert copy.complete(["z", "y"]) == "zy"


def test_a_text_without_an_end_stops_at_the_context() -> None:
    assert program('predict "a";').written("x") == ("aaaaa", False)


def test_what_is_over_the_source_has_its_positions() -> None:
    assert values("aggregate(select(source.indices, 2, ==), source.indices, 9)", "xyz", "a") == [2]
    own = "selector_width(select(source.tokens, source.tokens, ==) and source.past)"
    last = f"aggregate(latest(select(source.indices, 3, <)), {own}, 0)"
    assert values(last, "yxy", "a") == [2]
    assert values(last.replace("past", "before"), "yxy", "a") == [1]
    assert values(last, "", "a") == [0]


def test_the_length_of_the_source_is_for_either_sequence() -> None:
    assert values("source.length - indices", "xy", "ab") == [1, 0]
    mirrored = "select(source.length - 1 - source.indices, indices, ==)"
    assert values(f"aggregate({mirrored}, source.tokens, '-')", "xyz", "ab") == ["y", "x"]


def test_what_every_query_selects_alike_is_for_either_sequence() -> None:
    counted = "selector_width(select(source.tokens, 'x', ==))"
    assert values(f"{counted} + indices", "xyx", "ab") == [3, 4]
    first = f"aggregate(select(source.indices, 0, ==), source.indices + {counted}, 9)"
    assert values(first, "xyx", "a") == [2]


def test_every_query_sees_the_whole_source_and_no_later_token_of_the_target() -> None:
    assert values("selector_width(select(source.tokens, tokens, ==))", "xyx", "xya") == [2, 1, 0]
    assert values("selector_width(select(tokens, tokens, ==))", "xyx", "xxx") == [1, 2, 3]


def test_a_selection_across_may_be_empty_whatever_it_says() -> None:
    typed = program("output selector_width(select(source.indices, 0, >=));").typed
    (counts,) = [node.counts for node in typed.nodes if node.counts is not None]
    assert counts == Counts(0, 3)


def test_nodes_know_their_sequences() -> None:
    text = "here = select(source.indices, indices, ==);\noutput aggregate(here, source.tokens, 1);"
    nodes = {node.name: node for node in program(text).typed.nodes}
    assert (nodes["here"].sequence, nodes["here"].keys) == (TARGET, SOURCE)
    assert "source.tokens" in typed_text(program(text).typed)


def test_an_input_without_meaning_is_told_with_its_place() -> None:
    unsure = program("predict aggregate(select(source.indices, indices, >=), source.tokens);")
    assert unsure.predict("x") == "x"
    with pytest.raises(MeaningError, match="different values are selected"):
        unsure.predict("xy")
    with pytest.raises(MeaningError, match="nothing is selected"):
        unsure.predict("")


def test_an_assumption_on_the_source_is_about_all_of_it() -> None:
    only = program('assume source.tokens == "x";\npredict ".";')
    assert only.meaning("xx").in_scope
    assert only.meaning("").in_scope
    assert not only.meaning("xyx").in_scope


def test_the_source_has_the_context_of_the_target_if_it_says_none() -> None:
    text = 'source 0..2;\nvocab "a";\ncontext 4;\nbos "^";\neos ".";\npredict ".";'
    header = handcraft.parse(text).typed.header
    assert header.source is not None
    assert (header.source.context, header.source.vocabulary.tokens) == (4, (0, 1, 2))


def test_a_text_from_a_source_never_slides() -> None:
    plain = program('predict ".";')
    assert not plain.window_safe
    with pytest.raises(InputError, match="never slides"):
        plain.complete("x", slide=True)


def test_a_target_belongs_to_a_source() -> None:
    without = handcraft.parse('vocab "ab"; context 3; predict "a";')
    with pytest.raises(InputError, match="only a program with a `source`"):
        without.run("ab", "a")


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("xyzx", "", "the source has 4 tokens, and its context holds 3"),
        ("xq", "", "`q` at position 1 is not in the vocabulary"),
        ("x", "aaaaa", "the text has 6 tokens with `bos`, and the context holds 5"),
        ("x", "aq", "`q` at position 1 is not in the vocabulary"),
    ],
)
def test_what_does_not_fit_is_refused(source: str, target: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        program('predict ".";').run(source, target)
    assert told in str(caught.value)
