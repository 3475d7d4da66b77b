"""Assumptions as don't-care: what is out of scope costs nothing, what is in scope stays right."""

from __future__ import annotations

import handcraft
from handcraft.checking import check

HEAD = 'vocab "abcd"; context 4; {} '
CHOICE = 'p = shift(tokens, 1, "a"); output 1 if p == "b" and tokens in ["b", "c"] else 0;'


def neurons(text: str) -> int:
    return sum(layer.d_mlp for layer in handcraft.compile(text).config.layers)


def test_what_is_assumed_away_takes_no_neurons() -> None:
    assumption = 'assume shift(tokens, 1, "a") != "b" or tokens == "d";'
    assert neurons(HEAD.format("") + CHOICE) == 1
    assert neurons(HEAD.format(assumption) + CHOICE) == 0


def test_what_is_in_scope_stays_right() -> None:
    table = '{"a": 5, "b": 2, "c": 2, "d": 7}'
    text = HEAD.format('assume tokens != "a";') + f"output {table}[tokens] * indices;"
    program = handcraft.parse(text)
    report = check(
        program, {str(level): handcraft.compile(program, optimize=level) for level in (1, 2)}
    )
    assert 0 < report.in_scope < report.every + report.random
    assert not any(verdict.differences for verdict in report.verdicts.values())


def test_an_assumption_that_never_holds_changes_nothing() -> None:
    text = 'vocab "ab"; context 3; assume tokens == "c"; output tokens == "a";'
    assert handcraft.compile(text).run("aba") == [True, False, True]
