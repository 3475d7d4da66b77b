"""Whatever the language can say compiles, at every level, and keeps its meaning."""

from __future__ import annotations

from random import Random

import pytest

import handcraft
from handcraft.checking import check

LEVELS = (0, 1, 2)

ABC = 'vocab "abc"; context 5; '
DIGITS = "vocab 0..9; context {}; "
COUNTS = 'a = count(select(tokens, "a", ==)); b = count(select(tokens, "b", ==)); '

PROGRAMS = {
    "product of counts": ABC + COUNTS + "output a * b;",
    "product of many counts": 'vocab "abc"; context 40; ' + COUNTS + "output a * b;",
    "product of means": ABC + 'output frac_prevs(tokens, "a") * frac_prevs(tokens, "b");',
    "quotient of counts": ABC + COUNTS + "output a / (b + 1);",
    "whole quotients": DIGITS.format(6) + "s = sum(past, tokens); output s // 3 + s % 7;",
    "remainder by a position": DIGITS.format(6) + "output sum(past, tokens) % (indices + 2);",
    "power": "vocab 0..5; context 4; output tokens ^ indices;",
    "negative power": "vocab 1..5; context 4; output tokens ^ (-indices);",
    "sum times position": DIGITS.format(20) + "output sum(past, tokens) * (indices + 1);",
    "mean above a token": DIGITS.format(12) + "output aggregate(past, tokens) > tokens;",
    "mean above a mean": DIGITS.format(12)
    + "output aggregate(past, tokens) >= aggregate(before, tokens, 0);",
    "mean that is a token": DIGITS.format(8) + "output aggregate(past, tokens) == tokens;",
    "mean times token": DIGITS.format(8) + "output aggregate(past, tokens) * tokens;",
    "distance of a mean": DIGITS.format(12) + "output abs(aggregate(past, tokens) - tokens);",
    "larger of two": DIGITS.format(12) + "output max(aggregate(past, tokens), tokens);",
    "smaller of two": DIGITS.format(12) + "output min(aggregate(past, tokens), tokens);",
    "chosen mean": DIGITS.format(12) + "output aggregate(past, tokens) if tokens > 3 else 0;",
    "rounded mean": DIGITS.format(30) + "output round(aggregate(past, tokens));",
    "ceiling and floor": DIGITS.format(30)
    + "m = aggregate(past, tokens); output ceil(m) - floor(m);",
    "sign of a mean": DIGITS.format(30) + "output sign(aggregate(past, tokens) - 4);",
    "root": DIGITS.format(5) + "output sqrt(sum(past, tokens));",
    "joined texts": ABC + 'output shift(tokens, 1, "_") + tokens + str(indices);',
    "order of texts": ABC + 'output shift(tokens, 1, "_") < tokens;',
    "mean as a key": 'vocab "abcd"; context 6; x = frac_prevs(tokens, "a"); '
    "output aggregate(select(x, x, <=), indices);",
    "mean that is counted": 'vocab "abcd"; context 5; x = frac_prevs(tokens, "a"); '
    "output selector_width(select(x, x, ==));",
    "best mean": 'vocab "abcd"; context 5; x = frac_prevs(tokens, "a"); '
    "output aggregate(best(past, x), tokens);",
    "counts of counts": ABC + "hh = selector_width(select(hist, hist, ==)); "
    "output selector_width(select(hh, hist, <));",
    "default of another kind": ABC
    + 'output aggregate(select(tokens, "a", ==) and before, indices, "none");',
    "default by position": ABC
    + 'output aggregate(select(tokens, "a", ==) and before, indices, tokens);',
    "tokens and positions compared": DIGITS.format(7)
    + "output selector_width(select(tokens, indices, ==));",
    "selectors combined": ABC + "s = (select(tokens, tokens, ==) and before) or not "
    '(select(indices, 2, <=) or select(tokens, "c", ==)); output selector_width(s);',
    "mean of a disjunction beside other conditions": ABC + "h = hist_so_far; "
    'chosen = (select(tokens, "a", ==) or select(h, h, <)) and '
    "not select(indices, indices, ==) and select(indices + h, 4, !=); "
    "output aggregate(chosen, indices, -1);",
    "sum of means that may be of nothing": ABC
    + "output aggregate(before, indices) + aggregate(before, 2 * indices + 1);",
    "difference of values that may be nowhere": ABC
    + "output aggregate(latest(before), indices) - aggregate(latest(before), indices ^ 2, 0);",
    "default that is the same everywhere": ABC + "output aggregate(before, indices, 0 * indices);",
    "values that are assumed away": 'vocab "(x)"; context 5; d = bracket_depth("(", ")"); '
    'assume d >= 0; output selector_width(select(d + indicator(tokens == ")"), d, ==));',
    "count of nothing": ABC
    + 'output count(select(tokens, "a", ==) and select(tokens, "a", !=)) + indices;',
    "count of nothing alone": ABC
    + 'output count(select(tokens, "a", ==) and select(tokens, "a", !=));',
    "sum of nothing": ABC
    + 'output sum(select(tokens, "a", ==) and select(tokens, "a", !=), indices);',
    "s-op that is allowed": ABC + 'allow tokens if True; allow "a" if indices > 1;',
    "s-op that may be allowed": ABC + 'allow shift(tokens, 1, "c") if indices > 1; '
    'allow "a" if tokens == "b"; allow "b" if True;',
    "logits too close for a format": 'vocab "abc"; context 30; '
    'm = frac_prevs(tokens, "a"); k = aggregate(before, indices, 0); '
    'logits {"a": m, "b": k, "c": m / 3 + k / 7};',
    "assumption": 'vocab "abcd"; context 4; assume tokens != "d"; '
    'output {"a": 1, "b": 2, "c": 2, "d": 7}[tokens];',
    "token that is read where it is written": 'vocab "ab"; eos "."; context 3; '
    'allow "a" if True; allow "." if tokens == ".";',
    "list of means": ABC + "s = before and select(tokens, tokens, ==); "
    "output [selector_width(s), aggregate(s, indices, 1/2)][indices % 2];",
    "no tokens": 'vocab "ab"; context 6; output indices * indices % 4;',
    "constant": 'vocab "ab"; context 4; output 7;',
    "always one token": 'vocab "ab"; context 4; predict "b";',
    "look ahead": 'vocab "abc"; context 5; attention bidirectional; '
    'output aggregate(select(indices, indices + 1, ==), tokens, "end");',
    "whole input": 'vocab "abc"; context 5; attention bidirectional; '
    "output sort(tokens, -indices) == tokens and length > 2;",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_compiles_and_keeps_its_meaning(name: str) -> None:
    program = handcraft.parse(PROGRAMS[name])
    models = {str(level): handcraft.compile(program, optimize=level) for level in LEVELS}
    report = check(program, models, longest=2, random=25)
    assert report.compared >= 20
    assert {name: verdict.smallest for name, verdict in report.verdicts.items()} == dict.fromkeys(
        models
    )


M = 'm = aggregate(select(tokens, "b", ==) and before, {}); '
NOT_TAKEN = {
    "missing key": 'output {"a": 1, "b": 2}[tokens] if tokens != "c" else indices;',
    "missing key as a key": 'output selector_width(select({"a": 1, "b": 2}[tokens] '
    'if tokens != "c" else indices, indices, ==));',
    "division by zero": 'output 6 / (indices - 1) if indices != 1 else count_so_far(tokens, "a");',
    "no text": M.format("tokens")
    + 'output m if tokens == "a" else ("u" if indices == 0 else "v");',
    "no truth": M.format("indices % 2 == 0")
    + 'output (m or tokens == "c") if tokens != "b" else (indices > 1);',
    "compared text": M.format("tokens") + 'output (m == "b") if tokens == "a" else (indices > 1);',
    "no largest": 'm = max(select(tokens, "b", ==) and before, indices); '
    'output 2 * (m if tokens == "a" else indices) + 1;',
    "looked up": 'm = max(select(tokens, "b", ==) and before, indices); '
    "output [indices, m, 7][indices % 3];",
    "predicted": M.format("shift(tokens, 1, tokens)")
    + 'predict m if tokens == "a" else ("c" if indices > 1 else "a");',
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NOT_TAKEN)
def test_a_branch_that_is_not_taken_needs_no_value(name: str, level: int) -> None:
    program = handcraft.parse(ABC + NOT_TAKEN[name])
    model = handcraft.compile(program, optimize=level)
    report = check(program, {"it": model}, longest=4, random=20)
    assert report.compared > 150
    assert report.verdicts["it"].smallest is None


LONG = {
    "count": 'vocab "abc"; context 256; output count(select(tokens, "a", ==));',
    "hist": 'vocab "abc"; context 256; attention bidirectional; output hist;',
    "length": 'vocab "abc"; context 256; attention bidirectional; output length;',
    "depth": 'vocab "()"; context 256; output bracket_depth("(", ")");',
    "prefix": 'vocab "abc"; context 256; output selector_width(before) - 2;',
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LONG)
def test_counting_lasts_to_256_tokens(name: str, level: int) -> None:
    program = handcraft.parse(LONG[name])
    model = handcraft.compile(program, optimize=level)
    chance = Random(7)
    tokens = program.typed.vocabulary.tokens
    texts = [[chance.choice(tokens) for _ in range(256)], [tokens[0]] * 256, [tokens[1]] * 255]
    for text, row in zip(texts, model.run_batch(texts), strict=True):
        assert row == program.run(text)
