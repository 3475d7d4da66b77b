"""Every name of the library, on one small input each."""

from __future__ import annotations

import re
from fractions import Fraction
from importlib.resources import files

import pytest

import handcraft
from handcraft.errors import ProgramError

LETTERS = 'vocab "abc()";'
NUMBERS = "vocab 0..5;"
NEXT_COPY = 'aggregate(select_next_identical(tokens), indices, "-")'
PREVIOUS_COPY = 'aggregate(select_prev_identical(tokens), indices, "-")'

WHOLE = [
    ("length", "abca", [4, 4, 4, 4]),
    ("prefix_length", "abc", [1, 2, 3]),
    ("hist", "abca", [2, 1, 1, 2]),
    ("hist_so_far", "abca", [1, 1, 1, 2]),
    ("double_hist", "abca", [1, 2, 2, 1]),
    ('has_focus(select(tokens, "b", ==) and before)', "abca", [False, False, True, True]),
    ('count_of(tokens, "a")', "abca", [2, 2, 2, 2]),
    ('count(tokens, "c")', "abca", [1, 1, 1, 1]),
    ("count_of(tokens, tokens)", "abca", [2, 1, 1, 2]),
    ('contains(tokens, "c")', "ab", [False, False]),
    ('contains(tokens, "b")', "ab", [True, True]),
    ('every(tokens != "c")', "aba", [True, True, True]),
    ('every(tokens != "b")', "aba", [False, False, False]),
    ('some(tokens == "b")', "aba", [True, True, True]),
    ('some(tokens == "c")', "aba", [False, False, False]),
    ("average(indices)", "abca", [Fraction(3, 2)] * 4),
    ("total(indices)", "abca", [6, 6, 6, 6]),
    ("maximum(indices)", "abc", [2, 2, 2]),
    ("minimum(indices)", "abc", [0, 0, 0]),
    ("histogram(indices > 0)", "abc", [1, 2, 2]),
    ("most_frequent(tokens)", "bcacb", ["b", "b", "b", "b", "b"]),
    ('count_so_far(tokens, "a")', "abca", [1, 1, 1, 2]),
    ('contains_so_far(tokens, "b")', "abc", [False, True, True]),
    ('frac_prevs(tokens, "b")', "abc", [0, Fraction(1, 2), Fraction(1, 3)]),
    ('num_prevs(tokens != "b")', "abca", [1, 1, 2, 3]),
    ("load_from_location(tokens, 2)", "abc", ["c", "c", "c"]),
    ("load_from_location(tokens, length - 1 - indices)", "abc", ["c", "b", "a"]),
    ('shift(tokens, 2, "-")', "abca", ["-", "-", "a", "b"]),
    ('shift(tokens, -1, "-")', "abca", ["b", "c", "a", "-"]),
    ('previous(tokens, "-")', "abc", ["-", "a", "b"]),
    ("reverse(tokens)", "abc", ["c", "b", "a"]),
    ('carry_forward(tokens, tokens != "c", "-")', "cacb", ["-", "a", "a", "b"]),
    ('induction(tokens, "-")', "abcab", ["-", "-", "-", "b", "c"]),
    ('induction(tokens, "-")', "aab", ["-", "a", "-"]),
    ("has_prev(tokens)", "abca", [False, False, False, True]),
    ("has_next(tokens)", "abca", [True, False, False, False]),
    ('first_index_of(tokens, "b")', "abcb", [1, 1, 1, 1]),
    ('first_index_of(tokens, "b")', "aca", [-1, -1, -1]),
    ('last_index_of(tokens, "b")', "abcb", [3, 3, 3, 3]),
    ("previous_index(tokens)", "abca", [-1, -1, -1, 0]),
    ('mark_first_instance(tokens, "a")', "aba", [True, False, False]),
    ('mark_last_instance(tokens, "a")', "aba", [False, False, True]),
    ('aggregate(select_from_first(tokens, "a"), indices)', "bacaa", [1, 1, 1, 1, 1]),
    ('aggregate(select_from_last(tokens, "a"), indices)', "bacaa", [4, 4, 4, 4, 4]),
    (NEXT_COPY, "abaa", [2, "-", 3, "-"]),
    (PREVIOUS_COPY, "abaa", ["-", "-", 0, 2]),
    ("rank(tokens)", "bcab", [1, 3, 0, 2]),
    ("sort(tokens, tokens)", "bcab", ["a", "b", "b", "c"]),
    ("sort(indices, tokens)", "bcab", [2, 0, 3, 1]),
    ("sort(vals=indices, keys=tokens, assume_bos=False)", "bcab", [2, 0, 3, 1]),
    ("sort(tokens, tokens, assume_bos=True)", "cbab", ["c", "a", "b", "b"]),
    ("sort(indices, tokens, True)", "(bcab", [0, 3, 1, 4, 2]),
    ("rank(tokens, assume_bos=True)", "abca", [0, 1, 2, 0]),
    ("histogram(tokens, assume_bos=False)", "abca", [2, 1, 1, 2]),
    ("histogram(tokens, assume_bos=True)", "abcca", [1, 1, 2, 2, 1]),
    ("selector_width(full_s, assume_bos=False)", "abca", [4, 4, 4, 4]),
    ("selector_width(full_s, assume_bos=True)", "abca", [3, 3, 3, 3]),
    ("selector_width(past, True)", "abc", [0, 1, 2]),
    ('bracket_depth(["("], [")"])', "(()a)", [1, 2, 1, 1, 0]),
    ('dyckk_ptf(["()"])', "())", ["P", "T", "F"]),
    ('dyckk_ptf(["()", "ab"])', "(ab)", ["P", "P", "P", "T"]),
    ('dyckk_ptf(["()", "ab"])', "(a)b", ["P", "P", "F", "F"]),
]

SO_FAR = [
    ("cumulative_sum(tokens)", "3 1 2", [3, 4, 6]),
    ("running_mean(tokens)", "3 1 2 4", [3, 2, 2, Fraction(5, 2)]),
    ("running_max(tokens)", "3 1 4 0", [3, 3, 4, 4]),
    ("running_min(tokens)", "3 1 4 0", [3, 1, 1, 0]),
    ("maximum(tokens)", "3 1 4 0", [3, 3, 4, 4]),
    ("average(tokens)", "3 1 2", [3, 2, 2]),
]


@pytest.mark.parametrize(("expression", "text", "expected"), WHOLE)
def test_a_library_name_over_the_whole_input(
    expression: str, text: str, expected: list[object]
) -> None:
    header = f"{LETTERS} context 6; attention bidirectional;"
    assert handcraft.parse(f"{header} output {expression};").run(text) == expected


@pytest.mark.parametrize(("expression", "text", "expected"), SO_FAR)
def test_a_library_name_over_the_input_so_far(
    expression: str, text: str, expected: list[object]
) -> None:
    assert handcraft.parse(f"{NUMBERS} context 6; output {expression};").run(text) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("1", "`assume_bos` is `True` or `False`, and this is a number"),
        ("tokens", "`assume_bos` needs a constant, and this is an s-op"),
    ],
)
def test_whether_a_start_token_is_assumed_is_known_before_the_program_runs(
    given: str, message: str
) -> None:
    text = f"{LETTERS} context 6; output selector_width(past, assume_bos={given});"
    with pytest.raises(ProgramError) as caught:
        handcraft.parse(text)
    assert caught.value.message == message


def test_every_library_name_is_tried_here() -> None:
    text = files("handcraft.language").joinpath("library.rasp").read_text(encoding="utf-8")
    defined = re.findall(r"^(?:def )?(\w+)(?: =|\()", text, flags=re.MULTILINE)
    tried = "\n".join(expression for expression, _, _ in WHOLE + SO_FAR)
    assert len(defined) == len(set(defined))
    assert [name for name in defined if not re.search(rf"\b{name}\b", tried)] == []
