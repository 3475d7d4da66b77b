"""Programs with a source at every level and in both formats: every model says what is meant.

Each is held against the interpreter on every source up to three tokens with what is written from
it, and on random sources with random texts beside them.
"""

from __future__ import annotations

import pytest

import handcraft
from handcraft.checking import check

WORDS = 'source "ab" context 4;\nvocab "abcd01234";\ncontext 5;\nbos "^";\neos ".";\n'
NUMBERS = "source 0..2 context 3;\nvocab 0..9;\ncontext 4;\nbos 10;\neos 11;\n"
PLAIN = WORDS.replace("abcd01234", "ab")

AT = "here = select(source.indices, indices, ==);\n"
UP_TO = "here = select(source.indices, indices, <=);\n"
IS_A = 'is_a = indicator(source.tokens == "a");\n'

PROGRAMS = {
    "counts": WORDS + ("predict str(selector_width(select(source.tokens, tokens, ==)));"),
    "the length": WORDS + ("predict str(source.length);"),
    "a count for both sequences": WORDS
    + (
        'n = selector_width(select(source.tokens, "a", ==));\n'
        "m = aggregate(select(source.indices, indices, ==), n, 0);\n"
        "predict str(n) if indices < 2 else str(m);"
    ),
    "the first": WORDS
    + ('predict aggregate(first(select(source.tokens, tokens, !=)), source.tokens, "c");'),
    "the latest position": WORDS
    + (
        "f = latest(select(source.tokens, tokens, ==));\n"
        "predict str(aggregate(f, source.indices, 4));"
    ),
    "the best": WORDS
    + UP_TO
    + (
        "s = selector_width(select(source.tokens, source.tokens, ==) and source.past);\n"
        'predict aggregate(best(here, s), source.tokens, "d");'
    ),
    "either of two selectors": WORDS
    + (
        "h = select(source.indices, indices, ==) or select(source.tokens, tokens, ==);\n"
        "predict str(selector_width(h));"
    ),
    "a selector of four variables": WORDS
    + (
        'h = select(source.indices, indices, ==) and select(source.tokens, "a", ==);\n'
        "t = select(source.indices, indices, <);\n"
        "u = t and not select(source.tokens, tokens, ==);\n"
        'predict aggregate(latest(h or u), source.tokens, "d");'
    ),
    "both kinds of head": WORDS
    + (
        'p = aggregate(select(indices, indices - 1, ==), tokens, "0");\n'
        "s = latest(select(source.tokens, p, ==));\n"
        'predict aggregate(s, source.tokens, p if p == "c" else "d");'
    ),
    "counts of both sequences": WORDS
    + (
        'n = selector_width(select(tokens, "a", ==));\n'
        'm = selector_width(select(source.tokens, "a", ==));\n'
        'predict "a" if n < m else ".";'
    ),
    "a place that was counted": WORDS
    + (
        'n = selector_width(select(tokens, "a", ==));\n'
        'predict aggregate(select(source.indices, n, ==), source.tokens, ".");'
    ),
    "a mean": WORDS
    + UP_TO
    + IS_A
    + ('m = aggregate(here, is_a);\npredict "a" if m > 0.4 else "b" if m > 0.2 else ".";'),
    "a default that is an s-op": WORDS
    + AT
    + ("predict str(abs(aggregate(here, source.indices + 1, indices - 3)));"),
    "a sum": WORDS + UP_TO + IS_A + ("predict str(abs(sum(here, is_a * 2 - 1)));"),
    "the largest": WORDS + UP_TO + ("predict str(max(here, source.indices, 4));"),
    "allowed tokens": WORDS
    + AT
    + ('allow aggregate(here, source.tokens, ".");\nallow "c" if tokens == "a";'),
    "logits": PLAIN
    + UP_TO
    + IS_A
    + ('m = aggregate(here, is_a, 0.3);\nlogits {"a": m, "b": 0.4, ".": 1 - m * 2};'),
    "values": WORDS + AT + ("output aggregate(here, source.indices * 2 + 1, 0) + source.length;"),
    "a value that is a mean": WORDS
    + ("output aggregate(select(source.tokens, tokens, !=), source.indices, 0);"),
    "numbers": NUMBERS
    + UP_TO
    + ("predict sum(here, source.tokens) if indices < source.length else 11;"),
    "means in the encoder": WORDS
    + AT
    + IS_A
    + (
        "big = aggregate(source.past, is_a) >= 0.5;\n"
        'predict "a" if aggregate(here, big, False) else ".";'
    ),
    "not": WORDS + ("predict str(selector_width(not select(source.tokens, tokens, ==)));"),
    "a constant": WORDS + ('predict ".";'),
    "a source that nothing reads": WORDS + ('predict "a" if indices < 2 else ".";'),
    "the place of a key": WORDS
    + UP_TO
    + (
        'f = first(select(source.tokens, "b", ==));\n'
        "predict str(aggregate(f and here, source.indices, 4));"
    ),
    "sorting": WORDS
    + (
        "same = select(source.tokens, source.tokens, ==);\n"
        "less = select(source.tokens, source.tokens, <);\n"
        "place = selector_width(less or (same and source.before));\n"
        'predict aggregate(select(place, indices, ==), source.tokens, ".");'
    ),
    "an assumption on the length": WORDS
    + UP_TO
    + ("assume source.length > 0;\npredict aggregate(latest(here), source.tokens);"),
    "an assumption on the source": WORDS
    + (
        'assume source.tokens == "a";\npredict str(selector_width(select(source.tokens, "a", ==)));'
    ),
    "a head after a cross head": WORDS
    + AT
    + (
        'one = aggregate(here, source.tokens, "c");\n'
        'predict aggregate(select(indices, indices - 1, ==), one, "d");'
    ),
    "a pattern": PLAIN + ('predict next("a*b?");'),
    "a pattern beside": WORDS
    + AT
    + ('predict aggregate(here, source.tokens, ".") if accepts("(a|b|c)*") else "d";'),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_model_says_what_the_interpreter_says(name: str) -> None:
    program = handcraft.parse(PROGRAMS[name])
    models = {
        f"O{level} {dtype}": handcraft.compile(program, optimize=level, dtype=dtype)
        for level in (0, 1, 2)
        for dtype in ("float32", "float64")
    }
    report = check(program, models, longest=3, random=40)
    assert report.holds, report
    assert report.in_scope > 10
    assert report.compared > 30
