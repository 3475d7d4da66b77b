"""Typed programs as text: every kind of node, whole texts compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import handcraft
from handcraft.language.typed_text import typed_text

if TYPE_CHECKING:
    from pathlib import Path


def emitted(text: str) -> str:
    return typed_text(handcraft.parse(text).typed)


def test_a_program_is_its_header_its_nodes_and_its_result() -> None:
    assert (
        emitted("""\
vocab "ab";
context 5;
both = aggregate(select(indices, indices - 1, >=), indicator(tokens == "a"));
predict "b" if both == 1 else "a";
example "aab" -> "aaba";
""")
        == """\
vocab "ab"
context 5
attention causal
%0 = tokens : {"a", "b"}  # line 1
%1 = indices : {0..4}  # line 1
%2 = 1 : {1}  # line 3
%3 = %1 - %2 : {-1..3}  # line 3
%4 = select(%1, %3, >=) : takes 1..2 keys  # line 3
%5 = "a" : {"a"}  # line 3
%6 = %0 == %5 : {False, True}  # line 3
%7 = indicator(%6) : {0, 1}  # line 3
%8 = 0 : {0}  # line 3
%9 both = aggregate(%4, %7, %8) : {0, 1/2, 1}  # line 3
%10 = %9 == %2 : {False, True}  # line 4
%11 = "b" : {"b"}  # line 4
%12 = %11 if %10 else %5 : {"a", "b"}  # line 4
predict %12
example ["a", "a", "b"] -> "aaba"
"""
    )


def test_selectors_say_how_many_keys_they_take() -> None:
    text = emitted("""\
vocab 1..3;
context 4;
attention bidirectional;
same = select(tokens, tokens, ==);
some = latest(same and not before) or first(full_s) or best(same, indices);
output sum(some, tokens) + selector_width(some);
example [3, 1] -> [4, 2];
""")
    assert text.startswith("vocab [1, 2, 3]\ncontext 4\nattention bidirectional\n")
    for line in (
        "same = select(%0, %0, ==) : takes 1..4 keys  # line 4",
        "= full_s : takes 1..4 keys",
        "= latest(%",
        "= first(%",
        ") : takes 1 key  #",
        "= not %",
        " and %",
        " or %",
        "= best(%",
        "= sum(%",
        "= selector_width(%",
        "example [3, 1] -> [4, 2]\n",
    ):
        assert line in text


def test_a_table_lists_its_entries() -> None:
    text = emitted('vocab "ab"; context 2; output {"a": 1, "b": indices}[tokens];')
    assert '= {"a": %2, "b": %1}[%0] : {0, 1}' in text


def test_several_next_tokens_and_scopes_are_listed() -> None:
    text = emitted("""\
vocab ["up", "down"];
bos "start";
eos "end";
context 3;
assume indices < 2;
allow "up" if indices > 0;
allow "down";
""")
    assert 'vocab ["up", "down", "start", "end"]\ncontext 3\nbos "start"\neos "end"\n' in text
    assert "\nassume %" in text
    assert text.count("\nallow %") == 2


def test_logits_list_every_token() -> None:
    text = emitted('vocab "ab"; context 3; logits {"a": indices, "b": 1};')
    assert text.endswith('logits {"a": %0, "b": %1}\n')


def test_a_node_of_a_loaded_file_names_its_file(tmp_path: Path) -> None:
    loaded = tmp_path / "twice.rasp"
    loaded.write_text("\ntwice = 2 * indices;", encoding="utf-8")
    text = emitted(f'vocab "ab"; context 3; load "{loaded.as_posix()}"; output twice;')
    assert f"# {loaded.as_posix()} line 2\n" in text
